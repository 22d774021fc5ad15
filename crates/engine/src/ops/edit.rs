//! `edit`: new content or metadata for a message.

use std::collections::BTreeMap;

use threadkeep_model::{
    Content, Entry, Invalid, Json, Message, MessageBody, MessageEdited, MessageId, NewEntry, ThreadId, Version,
};

use super::write;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result};

/// New content or metadata for a message: a logged change, so as-of reads still show what was.
#[derive(Debug, Clone)]
pub struct EditMessage {
    /// Which one.
    pub message: MessageId,
    /// New content.
    pub content: Option<Content>,
    /// Fields to merge into the metadata; null clears one.
    pub metadata: Option<Json>,
    /// The version the caller expects the thread to be at.
    pub expected: Option<Version>,
}

impl EditMessage {
    /// New content.
    pub fn content(message: MessageId, content: Content) -> Self {
        Self { message, content: Some(content), metadata: None, expected: None }
    }

    /// Fields to merge into the metadata.
    pub fn metadata(message: MessageId, metadata: Json) -> Self {
        Self { message, content: None, metadata: Some(metadata), expected: None }
    }

    /// Checks what its type does not already prove.
    pub(crate) fn checked(self) -> Result<Self> {
        if self.content.is_none() && self.metadata.is_none() {
            return Err(Invalid::body("content", "an edit names new content, new metadata, or both").into());
        }
        if self.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Invalid::body("metadata", "must be a JSON object").into());
        }
        Ok(Self { content: self.content.map(Content::checked).transpose()?, ..self })
    }

    /// Makes the edit on `body`, the message as it shows, in the slot of `root`; gives what goes to the log.
    pub(crate) fn apply(&self, body: &mut MessageBody, root: u64) -> Result<MessageEdited> {
        let changes = self.metadata.as_ref();
        let metadata = changes.map(|changes| merge(body.metadata.as_ref(), changes)).transpose()?;
        if let Some(content) = &self.content {
            body.content = content.clone();
        }
        if metadata.is_some() {
            body.metadata = metadata.clone();
        }
        Ok(MessageEdited { target: self.message, root, content: self.content.clone(), metadata })
    }
}

impl Engine {
    /// Edits a message, and gives it as it is now.
    ///
    /// # Errors
    /// [`Error::MessageNotFound`] if the thread does not show it; [`Error::ThreadClosed`];
    /// [`Error::VersionConflict`]; content that breaks a rule.
    pub async fn edit_message(&self, thread: ThreadId, edit: EditMessage) -> Result<Message> {
        let edit = edit.checked()?;
        let (committed, mut after) = self
            .settle(thread, || async {
                let thread = self.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = self.view(thread.id, &thread.head, None).await?;
                let located = self.locate(&view, edit.message).await?;
                let message = self.assemble(&located.base, located.item()).await?;
                let mut body = message.body()?;
                let edited = edit.apply(&mut body, located.root)?;
                let entry = NewEntry::new(&Entry::MessageEdited(edited));
                self.refuse_large(entry.bytes)?;
                let json = serde_json::to_vec(&body)
                    .map_err(|error| Error::from(Invalid::body("message", error.to_string())))?;
                let commit = self.commit(vec![write(&thread, edit.expected, None, vec![entry], None)]);
                Ok((commit, Message { json: json.into(), ..message }))
            })
            .await?;
        if let Some(place) = committed.threads.first() {
            after.version = place.first;
        }
        Ok(after)
    }
}

/// A shallow merge of two objects; null clears a field.
pub(crate) fn merge(before: Option<&Json>, changes: &Json) -> Result<Json> {
    let fields = |json: &Json| json.read::<BTreeMap<String, Json>>();
    let invalid = |error: serde_json::Error| Invalid::body("metadata", error.to_string());
    let mut merged = before.map_or_else(|| Ok(BTreeMap::new()), fields).map_err(invalid)?;
    for (field, value) in fields(changes).map_err(invalid)? {
        if value.as_str() == "null" {
            merged.remove(&field);
        } else {
            merged.insert(field, value);
        }
    }
    Ok(Json::from_value("metadata", &merged)?)
}
