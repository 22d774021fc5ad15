//! A client for Threadkeep servers: every call, typed errors, retries that never double anything, and streams that
//! reconnect by themselves.
//!
//! ```no_run
//! use threadkeep_client::calls::{Create, Decide};
//! use threadkeep_client::model::MessageBody;
//! use threadkeep_client::{After, At, Client, Key, News};
//!
//! # async fn example() -> Result<(), threadkeep_client::Error> {
//! let client = Client::connect("http://127.0.0.1:8473", Key::from_environment())?;
//! let thread = client.call(At::none(), Create::titled("Hello")).await?;
//! let said = client.append(thread.id, MessageBody::user("Hello!")).await?;
//! client.call(At::of(thread.id).expecting(said.version), Decide::new("Which store?", "SQLite")).await?;
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
//! [`Client::call`] carries out any call of [`calls`]; its fields are the parameters, and it answers with a type
//! of its own. [`At`] names the thread, and the conditions of this one call. A [`Client`] is cheap to clone, and
//! a clone carries conditions for many calls: [`Client::expecting`] a version, [`Client::writing_under`] a lease,
//! [`Client::keyed`] for retries, [`Client::acting_as`] another actor. Named methods are for work that is more
//! than one call, or none: files, streams, exports.
//!
//! [`Transport`] is how requests travel: over HTTP ([`Client::connect`]), or in any other way that is handed in
//! ([`Client::over`]), such as to a server in the same process.
//!
//! Lengths, times and how often something is tried again are plain data: [`Settings`].

mod ask;
mod call;
mod client;
mod error;
mod files;
mod http;
mod messages;
mod query;
mod run_stream;
mod server;
mod sse;
mod stream;
mod transport;

pub use client::{Client, Key, Settings};
pub use error::Error;
pub use files::{Download, FileAt, FileContent, GrepFiles, ListFiles, NewFile};
pub use messages::MessagePage;
pub use run_stream::RunStream;
pub use server::Export;
pub use stream::{After, Emitted, News, Stream};
pub use threadkeep_calls as calls;
pub use threadkeep_calls::At;
pub use threadkeep_model as model;
pub use threadkeep_outgoing::Retry;
pub use transport::{Body, BoxError, Exchange, Failed, Request, Response, Transport};
