//! Every call of Threadkeep: its parameters, its answer, its declaration; and the JSON shapes that go with them.
//!
//! [`Call`] is the trait, [`for_each_call!`] the one list, [`At`] the envelope that every change of a thread may carry,
//! and [`Asked`] the way from a request to a call. Names on the wire are camelCase. JSON that the log stores (contents,
//! metadata, bodies) is passed through as text, so numbers and the order of keys stay exact. [`ErrorCode`] is the one
//! table of codes, and a [`Problem`] is an error on the wire.

mod actor;
mod append;
mod asked;
mod at;
mod authority;
mod call;
mod code;
mod event;
mod event_calls;
mod family;
mod file;
mod group;
mod history;
mod key;
mod list;
mod merge;
mod message;
mod message_calls;
mod object;
mod observer;
mod page;
mod primitives;
mod problem;
mod project;
mod public;
mod reference;
mod rollback;
mod schema;
mod search;
mod shape;
mod snapshot;
mod subagent;
mod summary;
mod thread;
mod thread_calls;
mod tree;
mod upkeep;
mod value;
mod work;
mod writer;

pub use actor::{ACTOR_HEADER, actor_header, parse_actor_header};
pub use append::{Append, Appended, NewAttachment, NewMessage};
pub use asked::{Asked, fields_of, parse, read_object};
pub use at::At;
pub use authority::{
    Approval, Approve, Delegation, Deny, Direction, GetApproval, ListApprovals, ListDelegations, ListedState,
    RevokeApproval, RevokeDelegation, Transfer, Transferred,
};
pub use call::{BodyIs, Call, Declaration, Group, Honours, Lease, Method, Needs, Repeat};
pub use code::ErrorCode;
pub use event::LoggedEvent;
pub use event_calls::{AppendEvent, ListEvents, Logged, SaidMessage};
pub use family::{Family, FamilySubagent, Relation, Relationship, RelationshipRole};
pub use file::{
    ArtifactVersion, Directory, FileMatches, FileRecord, FileStats, FileVersion, Found, Grepped, LineMatch,
    METADATA_HEADER, Moved,
};
pub use history::{FeedEntry, HistoryEntry};
pub use key::{CreateKey, CreatedKey, Key, ListKeys, NewTicket, RevokeKey, Revoked, Scope, SignIn, Ticket};
pub use list::DECLARATIONS;
pub use merge::{GetMerge, ListMerges, Merge, MergeTold};
pub use message::Message;
pub use message_calls::{
    DeleteMessage, Deleted, EditMessage, GetHistory, GetMessage, GetModelMessages, ListMessages, Order,
};
pub use observer::{Deliver, GetObserver, ListObservers, Observe, Observer, ThreadEvent, Unobserve, WebhookEvent};
pub use page::Page;
pub use primitives::{
    Acknowledge, ChangeLifecycle, Decide, Decision, Inherit, InheritItem, Inject, Injected, Injection, InjectionState,
    ListDecisions, ListInjections, Spawn, Spawned,
};
pub use problem::{HeldBy, Life, Problem, Status};
pub use project::{
    CreateProject, DeleteProject, GetProject, ListProjects, Project, PutProject, Sandbox, UpdateProject,
};
pub use reference::{GetReference, ListReferences, Refer, Reference, References};
pub use rollback::{Rollback, RollbackTo, StepName, Truncate, TruncateFrom};
pub use schema::ProblemTold;
pub use search::{
    Backfilled, RunBackfill, SearchFound, SearchMessage, SearchResult, SearchStatus, SearchThreads, SearchWhy, in_units,
};
pub use snapshot::Snapshot;
pub use subagent::{GetParent, ListSubagents, Notified, NotifyParent, SetStatus, StatusSet, Subagent, SubagentThread};
pub use summary::{Changed, DiffStats, ThreadSummary};
pub use thread::Thread;
pub use thread_calls::{
    Archive, Archived, ChangeOwner, Create, Delete, GetThread, JsonText, ListSort, ListThreads, Unarchive, Update,
};
pub use threadkeep_model::Child;
pub use tree::{
    Checkpoint, Fork, ForkPoint, GetFamily, GetSummary, Handoff, ListCheckpoints, ListRelationships, Mention,
    SetCheckpoint, Summary,
};
pub use upkeep::{Copied, Doctor, Gc, Imported, RunDoctor, RunGc};
pub use value::{DeleteValue, GetValue, ListValues, SetValue, Value};
pub use work::{
    ActivateSkill, Assign, Begin, Cancel, EditQueued, Emit, EmitTold, End, Execution, ListQueue, ModelMessage,
    Progressed, Queue, Queued, RemoveQueued, Step, Terminate,
};
pub use writer::{GetWriter, ReleaseWriter, Released, RenewWriter, TakeWriter, Writer};
