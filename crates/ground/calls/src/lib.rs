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
mod env;
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
mod run_code;
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

// Every call and shape is exported; a new one in these files needs no line here.
pub use actor::*;
pub use append::*;
pub use asked::*;
pub use at::*;
pub use authority::*;
pub use call::*;
pub use code::*;
pub use env::*;
pub use event::*;
pub use event_calls::*;
pub use family::*;
pub use file::*;
pub use history::*;
pub use key::*;
pub use list::*;
pub use merge::*;
pub use message::*;
pub use message_calls::*;
pub use observer::*;
pub use page::*;
pub use primitives::*;
pub use problem::*;
pub use project::*;
pub use reference::*;
pub use rollback::*;
pub use run_code::*;
pub use schema::*;
pub use search::*;
pub use snapshot::*;
pub use subagent::*;
pub use summary::*;
pub use thread::*;
pub use thread_calls::*;
pub use threadkeep_model::Child;
pub use tree::*;
pub use upkeep::*;
pub use value::*;
pub use work::*;
pub use writer::*;
