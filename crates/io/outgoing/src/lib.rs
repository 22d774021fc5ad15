//! The one HTTP client of Threadkeep: the Rust client, webhooks and the embeddings endpoint send their requests with it.
//!
//! [`Outgoing`] sends a [`Request`] to an [`Address`] and returns a [`Response`] as soon as its head has arrived. Bodies
//! are streams in both directions. Connections are HTTP/1.1, are kept for the next request, and ignore proxy settings.
//! The caller decides whether to follow a redirect.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use threadkeep_outgoing::{Address, Limits, Outgoing, Reach, empty};
//!
//! let outgoing = Outgoing::new(Reach::Anywhere, Limits::default());
//! let request = http::Request::get("/v1/models").body(empty())?;
//! let answer = outgoing.ask(&Address::parse("https://models.example")?, request).await?;
//! println!("{}: {} bytes", answer.status(), answer.body().len());
//! # Ok(())
//! # }
//! ```
//!
//! - A failure ([`Failed`]) says whether the server may have received the request, and whether the same request can
//!   ever succeed. Its text contains no header and no query.
//! - [`Limits`] bound the time for a connection and for an answer, and the size of an answer. A stream is read piece by
//!   piece, with a limit for silence: [`piece`].
//! - [`Reach::Public`] guards requests to addresses that others chose: private and local addresses are refused. The name
//!   is resolved once, and the connection goes to the address that was checked.
//! - The caller repeats requests, because only the caller knows what may be repeated. [`Pauses`] says how long to wait.
//! - Encryption (feature `tls`) is set up once per process, with the certificates that the system trusts.

mod address;
mod body;
mod failed;
mod guard;
mod pool;
mod retry;
#[cfg(feature = "tls")]
mod tls;

pub use address::{Address, WrongAddress};
pub use body::{Body, BoxError, Request, Response, boxed, empty, full, piece, whole};
pub use failed::Failed;
pub use guard::Reach;
pub use pool::{Limits, Outgoing, Sending};
pub use retry::{Pauses, Retry, retry_after};
