//! Agents on threads.
//!
//! [`definitions`] reads a folder of agents, prompts, models, tools, effects, hooks, endpoints and skills, checks it, and
//! gives each by its name. [`Runtime`] holds the definitions of a process, and runs the agents, the [`tools`] and the [`effects`]
//! in them. It changes threads only by calls, as any other program does.

mod agent;
mod attempt;
mod background;
mod bpe;
mod builder;
mod code;
pub mod context;
mod default_agent;
pub mod definitions;
pub mod effects;
pub mod endpoints;
mod error;
mod hooks;
mod http;
mod mcp;
mod pack;
mod reload;
pub mod run_code;
mod runtime;
pub mod starter;
pub mod state;
pub mod tools;

pub use background::Background;
pub use builder::Builder;
pub use default_agent::LocalModels;
pub use error::RuntimeError;
pub use pack::NotPacked;
pub use runtime::Runtime;
