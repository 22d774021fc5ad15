//! Threads for every agent that speaks the Model Context Protocol.
//!
//! [`Dispatcher`] answers requests of the protocol, in both of its revisions (2025-11-25 and 2026-07-28), through a
//! [`Client`](threadkeep_client::Client). [`Dispatcher::serve_stdio`] serves it on stdin and stdout, [`Dispatcher::answer`] over HTTP. Tools are
//! printed from the list of calls: a new call is a tool of its group without code here. Only files have tools by hand.
//!
//! An agent always acts as an agent here: the client of a dispatcher says so with every request
//! ([`Client::through_mcp`](threadkeep_client::Client::through_mcp)), and the server takes secrets out of its answers.
//! No tool approves or denies: people answer approvals.

mod answer;
mod calling;
mod dispatch;
mod files;
mod prompts;
mod resources;
mod schema;
mod serve;
mod tools;
mod watch;

pub use dispatch::Dispatcher;
pub use rmcp;
pub use serve::answer;
pub use tools::{Chosen, UnknownTools};
