//! A client for Threadkeep servers: every route as a method, typed errors, retries that never double anything, and
//! streams that reconnect by themselves.
//!
//! ```no_run
//! use threadkeep_client::{After, Client, Key, News};
//! use threadkeep_client::model::MessageBody;
//!
//! # async fn example() -> Result<(), threadkeep_client::Error> {
//! let client = Client::connect("http://127.0.0.1:8473", Key::from_environment())?;
//! let thread = client.create(&Default::default()).await?;
//! client.append(thread.id, MessageBody::user("Hello!")).await?;
//!
//! let mut stream = client.stream(thread.id, After::Start).await?;
//! while let Some(news) = stream.next().await? {
//!     if let News::Entry(entry) = news {
//!         println!("{} {}", entry.version, entry.kind);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A [`Client`] is cheap to clone, and what a request carries beside its body is said on a clone of it:
//! [`Client::expecting`] a version, [`Client::writing_under`] a lease, [`Client::keyed`] for retries,
//! [`Client::acting_as`] somebody. Requests and answers are the types of [`api`].
//!
//! [`Transport`] is how requests travel: over HTTP ([`Client::connect`]), or in any other way that is handed in
//! ([`Client::over`]), such as to a server in the same process.
//!
//! Lengths, times and how often something is tried again are plain data: [`Settings`].

mod access;
mod admin;
mod ask;
mod authority;
mod client;
mod error;
mod files;
mod http;
mod list;
mod merge;
mod messages;
mod primitives;
mod query;
mod search;
mod sse;
mod stream;
mod threads;
mod transport;
mod tree;
mod values;
mod work;

pub use admin::Export;
pub use authority::ListApprovals;
pub use client::{Client, Key, Settings};
pub use error::Error;
pub use files::{At, Download, FileContent, GrepFiles, ListFiles, NewFile};
pub use list::{Archived, ListThreads, Sort};
pub use messages::{ListMessages, MessagePage, Order};
pub use stream::{After, Emitted, News, Stream};
pub use threadkeep_calls as api;
pub use threadkeep_model as model;
pub use threadkeep_outgoing::Retry;
pub use transport::{Body, BoxError, Exchange, Failed, Request, Response, Transport};
pub use values::ListValues;
