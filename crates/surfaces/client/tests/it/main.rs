//! The client against a real server over real sockets: errors, retries through a proxy that cuts connections, streams
//! across disconnects and restarts.

mod errors;
mod files;
mod requests;
mod retries;
mod streams;
mod support;
