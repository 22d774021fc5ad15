//! The web page of the server: answers of calls as HTML, and the scripts and styles that it needs.
//!
//! Everything here is a function from answers to text. The server makes the calls with the rights of the reader, so a page
//! shows nothing that the reader could not ask for, and decides nothing. Actions of the page are calls of the API.

mod aside;
mod assets;
mod compare;
mod context;
mod conversation;
mod diff;
mod entries;
mod files;
mod frame;
mod head;
mod highlight;
mod import;
mod inbox;
mod map;
mod markdown;
mod memories;
mod merge;
mod message;
mod observers;
mod public;
mod runs;
mod search;
mod settings;
mod sign_in;
mod text;
mod threads;
mod values;

pub use aside::{Aside, aside};
pub use assets::{Asset, asset};
pub use compare::{Compared, FileDifference, Side, choose_other, compare};
pub use context::{ContextShown, context};
pub use conversation::{Conversation, Mark, conversation, tail};
pub use diff::unified;
pub use entries::{entries, entry_rows};
pub use files::{FileAt, FileShown, file, files};
pub use frame::{CSP, Frame, Place, Theme, heading, problem, screen};
pub use import::import;
pub use inbox::{approvals, inbox};
pub use map::{layout, map};
pub use markdown::{MARKDOWN_BYTES_MAX, markdown, plain};
pub use maud::Markup;
pub use memories::{Memories, memories};
pub use merge::{Sides, choose_source, merge};
pub use message::{Shows, message, messages};
pub use observers::observers;
pub use public::{lead, public};
pub use runs::{run, runs};
pub use search::search;
pub use settings::{Health, projects, settings};
pub use sign_in::sign_in;
pub use text::{brief, escaped};
pub use threads::{Filters, rows, threads};
pub use values::values;
