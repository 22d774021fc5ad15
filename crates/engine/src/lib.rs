//! The engine: operations on threads.
//!
//! [`Engine`] is the front door. Every change of a thread is a call ([`Carry`]): a pure function decides it from
//! the thread's state, it becomes one commit, and a store keeps it whole or not at all. Reads show the *view*
//! (the thread's state, now or as of a version) or the *history* (all entries logged to it).

mod approvals;
mod authority;
mod context;
mod copied;
mod copy;
mod delegations;
mod digest;
mod directory;
mod doctor;
mod effects;
mod env;
mod events;
mod export;
mod family;
mod feed;
mod files;
mod ground;
mod history;
mod import;
mod incoming;
mod keys;
mod kin;
mod lines;
mod live;
mod memory;
mod merge;
mod messages;
mod model_view;
mod moving;
mod observers;
mod open;
mod open_calls;
mod ops;
mod process;
mod projects;
mod reference;
mod request;
mod search;
mod secrets;
mod shown;
mod store_id;
mod summary;
mod timers;
mod verbs;
mod writer;

pub use context::{Conversation, Cut, Picture};
pub use copy::CopyReport;
pub use digest::ContentHash;
pub use directory::{CellNames, Directory, Neighbours};
pub use doctor::DoctorReport;
pub use effects::{CLAIMS_MAX, ClaimedEffect, DueBy, DueEffect, EffectEnd, PassedOver};
pub use env::{KeyKeeper, KeyProblem};
pub use events::Logged;
pub use export::{ExportItem, Exporter, Lost, Selection};
pub use feed::{Fed, FeedReader};
pub use files::{FileIs, FileRecord, FileVersion, Files, Find, Grep, ReferredPage, Values};
pub use ground::carry::{Carry, Enter};
pub use ground::cursor::{cursor, place};
pub use ground::defined::{Defined, KnowEffects};
pub use ground::draft::{Draft, DraftStep, Refused};
pub use ground::engine::{Engine, Limits};
pub use ground::error::Error;
pub use ground::policy::{Standing, Verb, standing};
pub use ground::show::{Show, Shown};
pub use ground::validate::{MergedTree, Validate};
pub use ground::way_out::WayOut;
pub use ground::world::World;
pub use history::{HistoryEntry, Subscription};
pub use import::Importer;
pub use keys::{Key, NewKey, Opened};
pub use kin::{Family, FamilyPage};
pub use live::{
    Emitted, EmittedEvent, Events, Exclusive, LiveSettings, LiveThread, MessageChange, Observed, Observer, ReadWriter,
    RunNews, RunStream, Snapshot, ThreadChanges, ThreadStep, Unflushed,
};
pub use memory::Among as AmongMemories;
pub use messages::{MessagePage, Page};
pub use moving::{MoveAccount, MoveStep, Moved};
pub use observers::{Courier, Delivery};
pub use open_calls::OpenCalls;
pub use ops::bring::{After, Arrival, Begins, ToldMessage};
pub use ops::files::{DeleteFile, MakeDirectory, MoveFile, NewFile, Over, RemoveDirectory, WriteFiles};
pub use ops::list::{List, ThreadPage, ThreadSummary};
pub use ops::run::{Beside, CallFacts, DEFAULT_AGENT, Progressed, Taking, Titling, Work, reason};
pub use ops::subagent::SubagentThread;
pub use ops::tool::Held;
pub use ops::upload::{FileContent, Upload, Uploaded};
pub use process::Owned;
pub use request::{CONVERSATION_TOKENS, CountTokens, Estimate, Request, Tokenizer, Wanted};
pub use search::{Hit, HitMessage, IndexStatus, Search};
pub use shown::{AppendedMessages, Seen, ShownHistory, ShownMessages, ShownValues, gc_shown};
pub use threadkeep_tree::{Case, Match, Mode};
pub use threadkeep_vault::{KeyFile, KeyFileWrong, Redacting, Redactor, Searching};
pub use verbs::{CARRIERS, Carrier};

/// The result type of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;
