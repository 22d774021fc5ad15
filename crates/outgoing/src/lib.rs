//! The one HTTP client of Threadkeep: the Rust client, webhooks and the embeddings endpoint send their requests with it.
//!
//! [`Outgoing`] sends a [`Request`] to an [`Address`] and returns a [`Response`] as soon as its head has arrived. Bodies
//! are streams in both directions. Connections are HTTP/1.1, are kept for the next request, and ignore proxy settings.
//! Redirects are answers like any other: the caller decides whether to follow them.
//!
//! ```no_run
//! use threadkeep_outgoing::{Address, Limits, Outgoing, Reach, full};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let outgoing = Outgoing::new(Reach::Anywhere, Limits::default());
//! let model = Address::parse("https://models.example/v1")?;
//! let request = http::Request::post("/v1/embeddings").body(full(r#"{"input":"hello"}"#))?;
//! match outgoing.ask(&model, request).await {
//!     Ok(answer) => println!("{}: {} bytes", answer.status(), answer.body().len()),
//!     Err(failed) if failed.was_sent => println!("perhaps it was done: {failed}"),
//!     Err(failed) => println!("it was not sent: {failed}"),
//! }
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
pub use pool::{Limits, Outgoing};
pub use retry::{Pauses, Retry, retry_after};
