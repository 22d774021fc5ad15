//! The server, as clients meet it: a real one on a port of its own, and requests byte by byte.

mod access;
mod authority;
mod described;
mod files;
mod hostile;
mod jwt;
mod keys;
mod lists;
mod matrix;
mod merge;
mod primitives;
mod public;
mod routes;
mod search;
mod shared;
mod streams;
mod support;
mod terminate;
mod values;
mod webhooks;
