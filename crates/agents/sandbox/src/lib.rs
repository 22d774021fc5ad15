//! Runs JavaScript and TypeScript that nobody has to trust.
//!
//! Each run has a process of its own, started from the running executable: [`worker_if_asked`], called first in `main`,
//! turns such a process into a worker. The worker gives up all rights that it does not need, then reads the code. It
//! reaches its host by one socket, and there only the functions that the host gives it ([`Code::imports`]). The host kills
//! it at its deadline.
//!
//! [`Sandbox`] is the host's side, [`Code`] what it runs, [`Outcome`] what comes of it.

#[cfg(not(unix))]
compile_error!("the sandbox needs processes and sockets of Unix");

mod cage;
mod cbor;
mod code;
mod frame;
mod host;
pub mod limits;
mod task;
mod value;
mod worker;

pub use cage::Protections;
pub use code::{
    Answering, Code, Event, Execute, Failure, Given, HostError, HostFunction, Language, Log, Origin, Outcome, Reports,
    Status, host_function,
};
pub use host::{Execution, Level, Sandbox, Settings, Terminator, Unavailable};
pub use value::{Elements, Value};
pub use worker::worker_if_asked;
