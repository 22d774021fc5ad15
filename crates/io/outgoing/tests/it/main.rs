//! Requests to real servers on loopback.

mod failures;
mod guard;
mod pool;
mod streams;
mod support;
mod tls;
