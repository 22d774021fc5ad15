//! What happens to a thread as JSON Patches (RFC 6902): against the thread as the wire shows it, with `messages`, all
//! of them and silent ones too, as one more field. Only what changed is built.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::value::RawValue;
use threadkeep_calls::{Message, Thread};
use threadkeep_engine::{Error, MessageChange, ThreadStep};
use threadkeep_model::{Record, Version};
use threadkeep_store::StoreError;

/// Most operations in one patch. What is larger comes in several patches of one version.
const OPERATIONS_MAX: usize = 1_000;

/// One step of a thread: `{version, patch, complete?}`.
#[derive(Debug, Clone, Serialize)]
pub struct Patch {
    /// The thread after it, without its messages.
    #[serde(skip)]
    pub thread: threadkeep_model::Thread,
    /// The version to which it leads.
    pub version: Version,
    /// What to do, in order.
    #[serde(rename = "patch")]
    pub operations: Vec<PatchOperation>,
    /// Whether that is all that leads to this version: false if more patches of the same version follow.
    #[serde(skip_serializing_if = "Clone::clone")]
    pub complete: bool,
}

/// An operation of RFC 6902.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum PatchOperation {
    /// A value comes in.
    Add {
        /// Where, as a JSON Pointer.
        path: String,
        /// The value that is added.
        value: Box<RawValue>,
    },
    /// A value takes the place of another.
    Replace {
        /// Where, as a JSON Pointer.
        path: String,
        /// The value that replaces the old one.
        value: Box<RawValue>,
    },
    /// Removes the value at a path.
    Remove {
        /// Where, as a JSON Pointer.
        path: String,
    },
}

/// Turns the steps of a thread into patches.
#[derive(Debug)]
pub struct Patches {
    thread: threadkeep_model::Thread,
    /// Messages in the list, as far as it was patched.
    count: u64,
    waiting: VecDeque<Waiting>,
    /// Whether the last step was all of its version, and whether a patch said so.
    complete: bool,
    told: bool,
}

/// Something that is to be said.
#[derive(Debug)]
enum Waiting {
    Operation(PatchOperation),
    /// So many messages go, all from the same place.
    Remove {
        index: u64,
        count: u64,
    },
}

impl Patches {
    /// Patches that follow on `thread`.
    pub fn of(thread: threadkeep_model::Thread) -> Self {
        let count = thread.head.tally.messages();
        Self { thread, count, waiting: VecDeque::new(), complete: true, told: true }
    }

    /// The thread took a step.
    ///
    /// # Errors
    /// If a message's body on disk is damaged.
    pub fn push(&mut self, step: ThreadStep) -> Result<(), Error> {
        let before = std::mem::replace(&mut self.thread, step.thread);
        for operation in changed_fields(&before, &self.thread)? {
            self.waiting.push_back(Waiting::Operation(operation));
        }
        for change in step.messages {
            self.change(change)?;
        }
        (self.complete, self.told) = (step.complete, false);
        Ok(())
    }

    fn change(&mut self, change: MessageChange) -> Result<(), Error> {
        match change {
            MessageChange::Added { index, message } => {
                let path = if index == self.count { "/messages/-".to_owned() } else { format!("/messages/{index}") };
                self.count += 1;
                let value = raw(&Message::new(&message)?)?;
                self.waiting.push_back(Waiting::Operation(PatchOperation::Add { path, value }));
            }
            MessageChange::Edited { index, message, content, metadata } => {
                let shown = Message::new(&message)?;
                let mut replace = |field: &str, value: Box<RawValue>| {
                    let path = format!("/messages/{index}/{field}");
                    self.waiting.push_back(Waiting::Operation(PatchOperation::Replace { path, value }));
                };
                if content {
                    replace("content", shown.content.clone().into_owned());
                }
                if metadata {
                    replace("metadata", shown.metadata.clone().into_owned());
                }
                replace("version", raw(&shown.version)?);
            }
            MessageChange::Removed { index: 0, count } if count == self.count && count > 0 => {
                self.count = 0;
                let operation = PatchOperation::Replace { path: "/messages".to_owned(), value: raw(&[(); 0])? };
                self.waiting.push_back(Waiting::Operation(operation));
            }
            MessageChange::Removed { index, count } => {
                self.count = self.count.saturating_sub(count);
                if count > 0 {
                    self.waiting.push_back(Waiting::Remove { index, count });
                }
            }
        }
        Ok(())
    }
}

/// The patches of the steps that were taken; none if all was said, until the next step.
impl Iterator for Patches {
    type Item = Patch;

    fn next(&mut self) -> Option<Patch> {
        if self.told {
            return None;
        }
        let mut operations = Vec::new();
        while operations.len() < OPERATIONS_MAX
            && let Some(waiting) = self.waiting.front_mut()
        {
            match waiting {
                Waiting::Remove { index, count } => {
                    operations.push(PatchOperation::Remove { path: format!("/messages/{index}") });
                    *count -= 1;
                    if *count == 0 {
                        self.waiting.pop_front();
                    }
                }
                Waiting::Operation(_) => {
                    if let Some(Waiting::Operation(operation)) = self.waiting.pop_front() {
                        operations.push(operation);
                    }
                }
            }
        }
        self.told = self.waiting.is_empty();
        let complete = self.told && self.complete;
        Some(Patch { version: self.thread.head.version, thread: self.thread.clone(), operations, complete })
    }
}

/// What leads from the fields of one thread to those of the other.
fn changed_fields(
    before: &threadkeep_model::Thread,
    after: &threadkeep_model::Thread,
) -> Result<Vec<PatchOperation>, Error> {
    // Most steps leave the record alone, and it may be large.
    let same = before.record == after.record;
    let fields = |thread: &threadkeep_model::Thread| -> Result<BTreeMap<String, Box<RawValue>>, Error> {
        let record = if same { Record::default() } else { thread.record.clone() };
        let thread = threadkeep_model::Thread { record, account: thread.account.clone(), ..*thread };
        let json = serde_json::to_string(&Thread::from(&thread)).map_err(broken)?;
        serde_json::from_str(&json).map_err(broken)
    };
    let (mut old, new) = (fields(before)?, fields(after)?);
    let mut operations = Vec::new();
    for (field, value) in new {
        let path = format!("/{field}");
        match old.remove(&field) {
            None => operations.push(PatchOperation::Add { path, value }),
            Some(old) if old.get() != value.get() => operations.push(PatchOperation::Replace { path, value }),
            Some(_) => {}
        }
    }
    operations.extend(old.into_keys().map(|field| PatchOperation::Remove { path: format!("/{field}") }));
    Ok(operations)
}

fn raw(value: &impl Serialize) -> Result<Box<RawValue>, Error> {
    serde_json::value::to_raw_value(value).map_err(broken)
}

fn broken(error: serde_json::Error) -> Error {
    Error::Store(StoreError::corrupt(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_model::{Account, Head, Json, Position, SegmentId, Tally, Timestamp};

    fn thread(version: u64, messages: u64) -> threadkeep_model::Thread {
        let tally = Tally { ordinals: messages, ..Tally::default() };
        let (segment, updated) = (SegmentId::from_bits(1), Timestamp::from_micros(0));
        threadkeep_model::Thread {
            id: "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id"),
            account: Account::local(),
            created: Timestamp::from_micros(0),
            head: Head { version: Position(version), segment, era: 0, fence: 0, updated, tally },
            record: Record::default(),
        }
    }

    fn patches(patches: &mut Patches) -> Vec<String> {
        patches.map(|patch| serde_json::to_string(&patch).expect("json")).collect()
    }

    #[test]
    fn a_patch_holds_what_changed_and_nothing_else() {
        let mut following = Patches::of(thread(1, 1));
        let mut changed = thread(2, 1);
        changed.record.title = Some("T".into());
        changed.record.metadata = Some(Json::parse("metadata", r#"{"z":1.0}"#).expect("json"));
        following.push(ThreadStep { thread: changed, messages: Vec::new(), complete: true }).expect("a step");
        assert_eq!(
            patches(&mut following),
            [concat!(
                r#"{"version":2,"patch":[{"op":"add","path":"/metadata","value":{"z":1.0}},"#,
                r#"{"op":"replace","path":"/nextMessageId","value":3},{"op":"replace","path":"/title","value":"T"},"#,
                r#"{"op":"replace","path":"/v","value":2}]}"#
            )]
        );
    }

    #[test]
    fn a_large_step_comes_in_several_patches_of_one_version() {
        let mut following = Patches::of(thread(2_001, 2_001));
        let messages = vec![MessageChange::Removed { index: 1, count: 2_000 }];
        following.push(ThreadStep { thread: thread(2_002, 1), messages, complete: true }).expect("a step");
        let patches = patches(&mut following);
        assert_eq!(patches.len(), 3);
        assert!(patches[..2].iter().all(|patch| patch.ends_with(r#""complete":false}"#)));
        assert!(patches[2].ends_with(r#"{"op":"remove","path":"/messages/1"}]}"#), "{}", patches[2]);
        following
            .push(ThreadStep {
                thread: thread(2_003, 0),
                messages: vec![MessageChange::Removed { index: 0, count: 1 }],
                complete: true,
            })
            .expect("a step");
        assert!(following.next().is_some_and(
            |patch| matches!(&patch.operations[..], [.., PatchOperation::Replace { path, .. }] if path == "/messages")
        ));
    }
}
