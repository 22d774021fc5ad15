//! Entries: the facts that a log holds, and their form on disk.
//!
//! A new kind is a struct in `facts` with its impl of `Fact`, a row of the table below, and a golden file. The compiler
//! asks for the rest. Old formats are decoded for ever; a new one gets a new number.

use bytes::Bytes;

use crate::fact::Fact;
use crate::{
    AgentAssigned, ApprovalAnswered, ApprovalAsked, BlobId, CheckpointSet, Child, ChildRemoved, Class,
    ContextSummarized, Decided, Delegation, DelegationRevoked, Derived, EffectClaimed, EffectEnded, EffectScheduled,
    EnvChanged, Event, ExecutionBegan, ExecutionEnded, ExecutionStepped, FilesChanged, Forked, Injected,
    InjectionTaken, Inserted, Invalid, LifecycleChanged, Merged, MessageBody, MessageDelivered, MessageEdited,
    MessageQueued, MessagesDeleted, ObserverAdded, ObserverRemoved, OwnerChanged, QueuedEdited, QueuedRemoved, Record,
    Referenced, Related, RolledBack, RunEnded, RunStarted, RunStepped, RunStopAsked, RunTurnAsked, RunWoken,
    SkillActivated, ThreadChanged, ToolQueued, ToolTaken, Truncated, ValuesChanged,
};

/// The change that an entry makes to the list of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewChange {
    /// The list stays as it is.
    Nothing,
    /// The entry is a new message at the end.
    Appends,
    /// The entry is a new message before another one.
    Inserts,
    /// Messages get new content or metadata.
    Edits,
    /// Single messages are left out.
    Deletes,
    /// All messages from an index on are left out.
    Truncates,
    /// The list of an earlier version is shown again.
    Rewinds,
}

/// Whether a kind of entry can make a decision stale that was taken before it.
#[derive(PartialEq)]
enum Era {
    Stays,
    Moves,
}

/// Whether a lease keeps others from writing entries of a kind.
#[derive(PartialEq)]
enum Guard {
    Guarded,
    Free,
}

/// Whether visitors of a public thread see entries of a kind.
#[derive(PartialEq)]
enum Visitors {
    Shown,
    Hidden,
}

/// One row of the table.
struct Declared {
    class: Class,
    era: Era,
    guard: Guard,
    view: ViewChange,
    visitors: Visitors,
}

macro_rules! entries {
    ($($code:literal $text:literal $kind:ident($body:ty) $class:ident $era:ident $guard:ident $view:ident $visitors:ident;)*) => {
        /// The kind of an entry, by its code on disk.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "each is the kind of the entry of the same name")]
        pub enum Kind {
            $($kind = $code,)*
        }

        /// A fact about a thread.
        #[derive(Debug, Clone, PartialEq)]
        #[expect(missing_docs, reason = "each is documented at its body")]
        pub enum Entry {
            $($kind($body),)*
        }

        impl Kind {
            /// All kinds, in the order of their codes.
            pub const ALL: [Kind; [$($code),*].len()] = [$(Kind::$kind),*];

            /// The kind by its code on disk.
            pub fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// The kind as text, on the wire and in exports.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $text,)*
                }
            }

            fn declared(self) -> Declared {
                match self {
                    $(Self::$kind => Declared {
                        class: Class::$class,
                        era: Era::$era,
                        guard: Guard::$guard,
                        view: ViewChange::$view,
                        visitors: Visitors::$visitors,
                    },)*
                }
            }

            const fn changes_record(self) -> bool {
                match self {
                    $(Self::$kind => <$body as Fact>::RECORD.is_some(),)*
                }
            }
        }

        impl Entry {
            /// The kind of the entry.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// The body as it goes to disk.
            pub fn encode(&self) -> Bytes {
                let encoded = match self {
                    $(Self::$kind(fact) => serde_json::to_vec(fact),)*
                };
                encoded.expect("entry bodies have text keys and plain values").into()
            }

            /// Reads a body from disk.
            ///
            /// # Errors
            /// If the body is damaged, or the format is newer than this program.
            pub fn decode(kind: Kind, format: u8, body: &[u8]) -> Result<Self, String> {
                if format != Kind::FORMAT {
                    let (kind, known) = (kind.as_str(), Kind::FORMAT);
                    return Err(format!("a {kind} entry has format {format}; this program reads {known}"));
                }
                let decoded = match kind {
                    $(Kind::$kind => serde_json::from_slice(body).map(Self::$kind),)*
                };
                decoded.map_err(|error| error.to_string())
            }

            /// The rows that follow from the entry.
            pub fn derived(&self) -> Derived {
                match self {
                    $(Self::$kind(fact) => fact.derived(),)*
                }
            }

            /// The blobs that the entry names beside its own body.
            pub fn blobs(&self) -> Vec<BlobId> {
                match self {
                    $(Self::$kind(fact) => fact.blobs(),)*
                }
            }
        }

        impl Record {
            /// The record after an entry.
            ///
            /// Invariant: a record follows from its entries by this rule alone.
            ///
            /// # Errors
            /// If the entry sets fields that make no valid record.
            pub fn after(self, entry: &Entry) -> Result<Self, Invalid> {
                match entry {
                    $(Entry::$kind(fact) => match <$body as Fact>::RECORD {
                        Some(change) => change(fact, self),
                        None => Ok(self),
                    },)*
                }
            }
        }
    };
}

entries! {
    // code and text       kind and body                        class    era   lease   view      visitors
    1  "message_appended"   MessageAppended(MessageBody)         Messages Stays Guarded Appends   Shown;
    2  "event_logged"       EventLogged(Event)                   Messages Stays Guarded Nothing   Shown;
    3  "message_inserted"   MessageInserted(Inserted)            Changes  Moves Guarded Inserts   Shown;
    4  "message_edited"     MessageEdited(MessageEdited)         Changes  Moves Guarded Edits     Shown;
    5  "messages_deleted"   MessagesDeleted(MessagesDeleted)     Changes  Moves Guarded Deletes   Shown;
    6  "truncated"          Truncated(Truncated)                 Record   Moves Guarded Truncates Shown;
    7  "rolled_back"        RolledBack(RolledBack)               Record   Moves Guarded Rewinds   Shown;
    8  "thread_changed"     ThreadChanged(ThreadChanged)         Record   Moves Free    Nothing   Hidden;
    9  "checkpoint_set"     CheckpointSet(CheckpointSet)         Record   Moves Free    Nothing   Hidden;
    10 "forked"             Forked(Forked)                       Record   Stays Free    Nothing   Hidden;
    11 "related"            Related(Related)                     Record   Stays Free    Nothing   Hidden;
    12 "message_queued"     MessageQueued(MessageQueued)         Record   Moves Free    Nothing   Hidden;
    13 "queued_edited"      QueuedEdited(QueuedEdited)           Record   Moves Free    Nothing   Hidden;
    14 "queued_removed"     QueuedRemoved(QueuedRemoved)         Record   Moves Free    Nothing   Hidden;
    15 "message_delivered"  MessageDelivered(MessageDelivered)   Messages Moves Guarded Appends   Shown;
    16 "execution_began"    ExecutionBegan(Box<ExecutionBegan>)  Record   Moves Guarded Nothing   Hidden;
    17 "execution_stepped"  ExecutionStepped(ExecutionStepped)   Record   Moves Free    Nothing   Hidden;
    18 "execution_ended"    ExecutionEnded(ExecutionEnded)       Record   Moves Free    Nothing   Hidden;
    19 "skill_activated"    SkillActivated(SkillActivated)       Values   Moves Guarded Nothing   Hidden;
    20 "agent_assigned"     AgentAssigned(AgentAssigned)         Values   Moves Guarded Nothing   Hidden;
    21 "child_changed"      ChildChanged(Child)                  Record   Moves Free    Nothing   Hidden;
    22 "child_removed"      ChildRemoved(ChildRemoved)           Record   Moves Free    Nothing   Hidden;
    23 "owner_changed"      OwnerChanged(OwnerChanged)           Record   Moves Guarded Nothing   Hidden;
    24 "files_changed"      FilesChanged(FilesChanged)           Files    Moves Guarded Nothing   Shown;
    25 "values_changed"     ValuesChanged(ValuesChanged)         Values   Moves Guarded Nothing   Shown;
    26 "lifecycle_changed"  LifecycleChanged(LifecycleChanged)   Record   Moves Free    Nothing   Hidden;
    27 "injected"           Injected(Injected)                   Record   Moves Free    Nothing   Hidden;
    28 "injection_taken"    InjectionTaken(InjectionTaken)       Record   Moves Free    Nothing   Hidden;
    29 "decided"            Decided(Decided)                     Record   Moves Free    Nothing   Hidden;
    30 "referenced"         Referenced(Referenced)               Record   Moves Free    Nothing   Hidden;
    31 "approval_requested" ApprovalRequested(ApprovalAsked)     Record   Moves Free    Nothing   Hidden;
    32 "approval_answered"  ApprovalAnswered(ApprovalAnswered)   Record   Moves Free    Nothing   Hidden;
    33 "delegated"          Delegated(Delegation)                Record   Moves Free    Nothing   Hidden;
    34 "delegation_revoked" DelegationRevoked(DelegationRevoked) Record   Moves Free    Nothing   Hidden;
    35 "observed"           Observed(ObserverAdded)              Record   Moves Free    Nothing   Hidden;
    36 "observer_removed"   ObserverRemoved(ObserverRemoved)     Record   Moves Free    Nothing   Hidden;
    37 "merged"             Merged(Box<Merged>)                  Record   Moves Free    Nothing   Hidden;
    38 "env_changed"        EnvChanged(EnvChanged)               Record   Moves Free    Nothing   Hidden;
    39 "effect_scheduled"   EffectScheduled(EffectScheduled)     Record   Moves Free    Nothing   Hidden;
    40 "effect_claimed"     EffectClaimed(EffectClaimed)         Record   Moves Free    Nothing   Hidden;
    41 "effect_ended"       EffectEnded(EffectEnded)             Record   Moves Free    Nothing   Hidden;
    45 "tool_queued"        ToolQueued(ToolQueued)               Record   Moves Free    Nothing   Hidden;
    46 "tool_taken"         ToolTaken(ToolTaken)                 Record   Moves Free    Nothing   Hidden;
    50 "run_started"        RunStarted(Box<RunStarted>)          Record   Moves Guarded Nothing   Hidden;
    51 "run_stepped"        RunStepped(Box<RunStepped>)          Record   Moves Free    Nothing   Hidden;
    52 "run_stop_asked"     RunStopAsked(Box<RunStopAsked>)      Record   Moves Free    Nothing   Hidden;
    53 "run_woken"          RunWoken(Box<RunWoken>)              Record   Moves Free    Nothing   Hidden;
    54 "run_ended"          RunEnded(Box<RunEnded>)              Record   Moves Free    Nothing   Hidden;
    55 "run_turn_asked"     RunTurnAsked(Box<RunTurnAsked>)      Record   Moves Free    Nothing   Hidden;
    60 "context_summarized" ContextSummarized(ContextSummarized) Values   Moves Free    Nothing   Hidden;
}

impl Kind {
    /// The format in which this program writes entries of every kind.
    pub const FORMAT: u8 = 1;

    /// The code on disk.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The kind by its text.
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// The class that bounds entries of this kind when they are seen through a link.
    pub fn class(self) -> Class {
        self.declared().class
    }

    /// Whether an entry of this kind can make a decision stale that was taken before it. Appended
    /// conversation cannot, nor can the back-link of a relation: they never conflict with anything.
    pub fn moves_era(self) -> bool {
        self.declared().era == Era::Moves
    }

    /// Whether a lease keeps others from writing entries of this kind.
    pub fn is_guarded(self) -> bool {
        self.declared().guard == Guard::Guarded
    }

    /// The change that entries of this kind make to the list of messages.
    pub fn view_change(self) -> ViewChange {
        self.declared().view
    }

    /// Whether an entry of this kind is a message: its place is the id of the message.
    pub fn brings_message(self) -> bool {
        matches!(self.view_change(), ViewChange::Appends | ViewChange::Inserts)
    }

    /// Whether visitors of a public thread see entries of this kind.
    pub fn is_public(self) -> bool {
        self.declared().visitors == Visitors::Shown
    }
}

impl Record {
    /// The kinds of entries that change a record.
    pub const CHANGED_BY: [Kind; 14] = {
        let (mut kinds, mut found, mut at) = ([Kind::ThreadChanged; 14], 0, 0);
        while at < Kind::ALL.len() {
            if Kind::ALL[at].changes_record() {
                kinds[found] = Kind::ALL[at];
                found += 1;
            }
            at += 1;
        }
        assert!(found == kinds.len(), "the length of the array is the number of such kinds");
        kinds
    };
}

/// Where the body of an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// In the row of the entry.
    Inline(Bytes),
    /// In the blob store, under this hash.
    Blob(BlobId),
    /// Nowhere: it was erased.
    Absent,
    /// It is not what was written: the checksum of the row differs. Only reads give it.
    Damaged,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_texts_of_kinds_are_unique_and_found_again() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(kind));
            assert_eq!(Kind::from_text(kind.as_str()), Some(kind));
        }
        assert_eq!(Kind::from_code(0), None);
    }
}
