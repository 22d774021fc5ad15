//! Facts about the queue: messages that wait until a run takes them up.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{BlobId, Derived, ItemIs, ItemKind, Json, MessageBody, QueuedId};

/// A message was queued. The place of this entry names the item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageQueued {
    /// The message that waits.
    pub message: MessageBody,
}

impl Fact for MessageQueued {
    fn derived(&self) -> Derived {
        let kind = ItemKind::of_queued(self.message.silent);
        Derived::Item { kind, key: None, is: ItemIs::There, due: None }
    }

    fn blobs(&self) -> Vec<BlobId> {
        self.message.blobs()
    }
}

/// A queued message was replaced by another version of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuedEdited {
    /// The item that was edited.
    pub item: QueuedId,
    /// The message as it is now, whole.
    pub message: MessageBody,
}

impl Fact for QueuedEdited {
    fn derived(&self) -> Derived {
        Derived::there(ItemKind::of_queued(self.message.silent), &self.item)
    }

    fn blobs(&self) -> Vec<BlobId> {
        self.message.blobs()
    }
}

/// A queued message was withdrawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct QueuedRemoved {
    /// The item that was withdrawn.
    pub item: QueuedId,
    /// Whether it was silent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub silent: bool,
}

impl Fact for QueuedRemoved {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::of_queued(self.silent), &self.item)
    }
}

/// A tool was queued. The place of this entry names the item; its actor is the one whose authority holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolQueued {
    /// The name of the tool, or of an agent to hand off to.
    pub tool: String,
    /// Its arguments: a JSON object.
    pub args: Json,
}

impl Fact for ToolQueued {
    fn derived(&self) -> Derived {
        Derived::Item { kind: ItemKind::QueuedTool, key: None, is: ItemIs::There, due: None }
    }
}

/// A queued tool was taken up by a run, or withdrawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolTaken {
    /// The item that waited.
    pub item: QueuedId,
}

impl Fact for ToolTaken {
    fn derived(&self) -> Derived {
        Derived::gone(ItemKind::QueuedTool, &self.item)
    }
}

/// A queued message joined the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageDelivered {
    /// The item: the message keeps its id and its number.
    pub item: QueuedId,
    /// A copy of the message: forks see delivered messages, never the queue.
    pub message: MessageBody,
}

impl Fact for MessageDelivered {
    fn derived(&self) -> Derived {
        let MessageBody { role, silent, depth, .. } = self.message;
        Derived::Delivered { item: self.item, role, silent, depth }
    }

    fn blobs(&self) -> Vec<BlobId> {
        self.message.blobs()
    }
}
