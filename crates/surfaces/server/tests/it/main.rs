//! The server, as clients meet it: a real one on a port of its own, and requests byte by byte.

mod access;
mod around;
mod authority;
mod described;
mod doors;
mod files;
mod hostile;
mod jwt;
mod keys;
mod lists;
mod matrix;
mod merge;
mod pages;
mod primitives;
mod public;
mod revoked;
mod routes;
mod search;
mod shared;
mod storm;
mod streams;
mod support;
mod terminate;
mod values;
mod webhooks;
