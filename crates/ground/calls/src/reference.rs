//! References: one thread reads another one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Actor, Binding, ReferenceScope, ThreadId, ThreadName, Timestamp, Uuid, Version};

use crate::call::Declaration;
use crate::group::REFERENCES;
use crate::object::{parsed, thread};
use crate::shape::reads;

/// Makes a reference to another thread: to read it as it is now, or to follow it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewReference")]
pub struct Refer {
    /// The thread that is read.
    #[serde(deserialize_with = "thread")]
    pub target: ThreadName,
    /// The parts that are read: `all`, `messages`, `files`, `kv`, or patterns for paths of files. Default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = ReferenceScope::COUNT_MAX))]
    pub scope: Vec<ReferenceScope>,
    /// Whether it follows the target. Default: frozen.
    #[serde(default)]
    pub binding: Binding,
}

impl Refer {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("reference", "referThread"), "/v1/threads/{thread}/reference", REFERENCES)
            .about("Makes a reference to another thread: to read it as it is now, or to follow it.")
            .creates("The reference.")
            .example(r#"{"target":"T-5928a90d-d53b-488f-a829-4e36442142ee","scope":["messages"],"binding":"frozen"}"#);

    /// A reference to all of `target` as it is now, which stays as it is.
    pub fn to(target: impl Into<ThreadName>) -> Self {
        Self { target: target.into(), scope: Vec::new(), binding: Binding::Frozen }
    }
}

/// A reference: one thread reads another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reference {
    /// The id of the reference.
    pub ref_id: Uuid,
    /// The thread that reads.
    pub thread_id: ThreadId,
    /// The thread that is read.
    pub target: ThreadId,
    /// The parts that are read.
    pub scope: Vec<ReferenceScope>,
    /// Whether it is frozen, or follows the target.
    pub binding: Binding,
    /// The version of the target when the reference was made. A frozen reference shows this version.
    pub snapshot_version: Version,
    /// The actor that made it.
    pub created_by: Actor,
    /// When it was made.
    pub created_at: Timestamp,
    /// Whether the entry that made it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

/// The references of a thread that hold, from both sides.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct References {
    /// The references that this thread made.
    pub outgoing: Vec<Reference>,
    /// The references to this thread that the caller may see.
    pub incoming: Vec<Reference>,
}

reads! {
    /// Lists the references of a thread, and the references to it.
    ListReferences = Declaration::get(("references", "listReferences"), "/v1/threads/{thread}/references", REFERENCES)
        .about("Lists the references of a thread, and the references to it.")
        .gives("The references that hold.");
}

/// Shows one reference by its id.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetReference {
    /// The id of the reference.
    #[serde(deserialize_with = "parsed")]
    #[schemars(skip)]
    pub reference: Uuid,
}

impl GetReference {
    pub(crate) const DECLARATION: Declaration =
        Declaration::get(("get-reference", "getReference"), "/v1/references/{reference}", REFERENCES)
            .about("Shows a reference.")
            .gives("The reference.");
}
