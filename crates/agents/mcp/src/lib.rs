//! Tools of MCP servers: programs on this machine, and servers on the network.
//!
//! [`Servers`] connects to servers by their [`Definition`], lists their tools, and calls them with a time limit and a
//! way to cancel. Both revisions of the protocol are spoken: `server/discover` is tried first, then `initialize`.
//!
//! ```no_run
//! # async fn example() -> Result<(), threadkeep_mcp_client::Failed> {
//! use threadkeep_mcp_client::{Definition, Servers};
//!
//! let servers = Servers::default();
//! servers.connect(Definition::program("clock", ["uvx", "mcp-server-time"])).await?;
//! let answer = servers.call("clock/get_current_time", serde_json::json!({ "timezone": "UTC" }), std::future::pending()).await?;
//! println!("{:?}", answer.parts);
//! # Ok(())
//! # }
//! ```
//!
//! A program runs in a process group of its own, with an environment that holds `PATH` and the variables of its
//! definition. The group ends with the connection. Its stderr goes to the caller line by line, who redacts it. Servers
//! on the network are reached through `threadkeep-outgoing`, so its address guard holds. This crate knows no threads.

mod definition;
mod http;
mod lines;
mod program;
mod servers;

pub use definition::{Definition, Place, Stderr};
pub use servers::{Answer, Asked, Failed, Part, Servers, Tool};
pub use threadkeep_outgoing::Reach;
