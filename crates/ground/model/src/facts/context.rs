//! Facts about what models are given.

use serde::{Deserialize, Serialize};

use crate::fact::Fact;
use crate::{CellIs, Derived, DiffStats, MessageId, NewCell, Space, ValueKey};

/// The older part of a conversation was summarized for models. It is kept as a value under a reserved key, so forks share
/// it and rollbacks drop it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextSummarized {
    /// The messages that it stands for.
    pub covers: Covered,
    /// The summary itself.
    pub text: String,
    /// The model that wrote it; none if it was picked from the messages without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Messages from one to another, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Covered {
    /// The first message of the thread that is covered.
    pub first: MessageId,
    /// The last one. Messages after it are sent as they are.
    pub last: MessageId,
    /// Number of messages.
    pub count: u64,
}

impl ContextSummarized {
    /// Longest summary, in bytes.
    pub const TEXT_BYTES_MAX: usize = 256 << 10;
    /// The name of its cell among the values of a thread.
    pub const CELL: &str = "\u{1}context";
}

impl Fact for ContextSummarized {
    fn derived(&self) -> Derived {
        debug_assert!(Self::CELL.starts_with(ValueKey::RESERVED));
        let cells = vec![NewCell { name: Self::CELL.to_owned(), is: CellIs::InEntry }];
        Derived::Cells { space: Space::Values, cells, stats: DiffStats::default(), bytes: 0 }
    }
}
