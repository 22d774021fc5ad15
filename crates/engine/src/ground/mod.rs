//! The ground floor: every verb rests on it, and it knows none of them.
//!
//! [`engine`] is the front door with its stores, caches and limits; [`carry`] the way in, with the envelope of a
//! call; [`plan`] the way from a decision to a commit; [`view`] the state that a thread shows.

pub(crate) mod apart;
pub(crate) mod beside;
pub(crate) mod cache;
pub(crate) mod carry;
pub(crate) mod cursor;
pub(crate) mod defined;
pub(crate) mod draft;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod gate;
pub(crate) mod index;
pub(crate) mod open_run;
pub(crate) mod part;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod redacted;
pub(crate) mod shape;
pub(crate) mod show;
pub(crate) mod slot;
pub(crate) mod turns;
pub(crate) mod validate;
pub(crate) mod view;
pub(crate) mod way_out;
pub(crate) mod world;
