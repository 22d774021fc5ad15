//! Providers against a real HTTP server that says what a provider would say, cut and broken in every way.

mod asked;
mod faults;
mod server;
mod shapes;
