//! Writing to a thread alone: a lease that is taken, renewed for as long as the program works, and released.
//!
//! The store refuses writes under a lease that has ended, so nothing here has to be exact: renewals that come too
//! late cost the lease, and nothing else.

use std::time::Duration;

use clap::Args;
use threadkeep::model::LeaseToken;
use threadkeep::{Lease, ThreadId};
use threadkeep_calls::{At, ErrorCode, Problem, ReleaseWriter, RenewWriter, Status, TakeWriter, Writer};
use threadkeep_client::{Client, Error, Retry};
use tokio::sync::oneshot;

use crate::context::Context;
use crate::duration::{duration, milliseconds};
use crate::failure::{Failure, note};

/// How many times the lease is renewed before it would end.
const RENEWALS: u32 = 3;
/// How soon a renewal is tried again when the store is away.
const RENEW_AGAIN_MS: u64 = 50;
/// Longest time for letting go of a lease: it ends by itself too.
const RELEASE_MS_MAX: u64 = 2_000;
/// Exit codes of programs that were asked to end: 128 and the number of the signal.
const INTERRUPTED: u8 = 130;
#[cfg(unix)]
const TERMINATED: u8 = 143;

/// Whether to write alone.
#[derive(Debug, Args)]
pub(crate) struct Exclusively {
    /// Hold the thread's lock from the first message to the last
    #[arg(long, conflicts_with = "writer")]
    exclusive: bool,
    /// How long others have to wait if this program is stopped or cut off, such as 500ms, 30s or 5m [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "exclusive")]
    ttl: Option<Duration>,
}

impl Exclusively {
    /// Becomes the exclusive writer of `thread`, if that is wanted.
    pub(crate) async fn take(&self, context: &Context, thread: ThreadId) -> Result<Option<Exclusive>, Failure> {
        if !self.exclusive {
            return Ok(None);
        }
        let client = context.client.clone();
        let take = TakeWriter { ttl: self.ttl.map(milliseconds), holder: Some(default_holder(context)) };
        let token = token_of(&client.call(thread, take).await?)?;
        let ttl = self.ttl.unwrap_or(Duration::from_micros(Lease::TTL_MICROS.unsigned_abs()));
        let ((stop, stopped), (ends, ended), json) = (oneshot::channel(), oneshot::channel(), context.json);
        let renewal =
            Renewal { client: client.apart().retrying(Retry::never()), thread, token, ttl, json, _ends: ends };
        // A thread of its own: renewals must not wait for the reader of our output.
        std::thread::Builder::new().name("threadkeep-renew".into()).spawn(move || renewal.run(stopped)).map_err(
            |error| Problem::new(Status::Internal, ErrorCode::Internal, format!("cannot start a thread: {error}")),
        )?;
        Ok(Some(Exclusive { client, thread, token, stop, ended, json }))
    }
}

/// The token of a lease that was just taken.
pub(crate) fn token_of(lease: &Writer) -> Result<LeaseToken, Problem> {
    let missing = || Problem::new(Status::Internal, ErrorCode::Internal, "the server gave a lease without its token");
    lease.token.ok_or_else(missing)
}

/// Who holds a lease, unless the caller says otherwise: who acts, and in which process.
pub(crate) fn default_holder(context: &Context) -> String {
    let process = format!(" (process {})", std::process::id());
    let name = &context.actor().name;
    let end = name.floor_char_boundary(Lease::HOLDER_BYTES_MAX - process.len());
    format!("{}{process}", &name[..end])
}

/// A lease that is held, and renewed until this is dropped.
pub(crate) struct Exclusive {
    client: Client,
    thread: ThreadId,
    token: LeaseToken,
    stop: oneshot::Sender<()>,
    /// Resolves when the renewals have ended.
    ended: oneshot::Receiver<()>,
    json: bool,
}

impl Exclusive {
    /// The token that writes under the lease carry.
    pub(crate) fn token(&self) -> LeaseToken {
        self.token
    }

    /// Does `work`, unless the program is asked to end, and releases the lease in either case.
    pub(crate) async fn during(self, work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
        let done = tokio::select! {
            done = work => done,
            code = interrupted() => Err(Failure::Interrupted(code)),
        };
        let Self { client, thread, token, stop, ended, json } = self;
        drop(stop);
        // The error of the command comes last on stderr: nothing may be said beside it.
        drop(ended.await);
        let released = client.call(At::of(thread).under(token), ReleaseWriter {});
        let released = tokio::time::timeout(Duration::from_millis(RELEASE_MS_MAX), released).await;
        let is_gone = |error: &Error| error.is_refused_as("thread_not_found");
        if !released.is_ok_and(|released| released.as_ref().map_or_else(is_gone, |_| true)) && !json {
            note("the store is away: the writer's lease ends by itself");
        }
        done
    }
}

struct Renewal {
    client: Client,
    thread: ThreadId,
    token: LeaseToken,
    ttl: Duration,
    /// Whether programs read along: then only the command itself reports an error.
    json: bool,
    _ends: oneshot::Sender<()>,
}

impl Renewal {
    fn run(self, stopped: oneshot::Receiver<()>) {
        // Without one, the lease ends by itself, and the next write is refused.
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            tokio::select! {
                biased;
                _ = stopped => {}
                () = self.renew() => {}
            }
        });
    }

    async fn renew(&self) {
        let mut pause = self.ttl / RENEWALS;
        loop {
            tokio::time::sleep(pause).await;
            let renew = RenewWriter { ttl: Some(milliseconds(self.ttl)), holder: None };
            pause = match self.client.call(At::of(self.thread).under(self.token), renew).await {
                Ok(_) => self.ttl / RENEWALS,
                Err(error) if error.is_away() => Duration::from_millis(RENEW_AGAIN_MS),
                Err(_) if self.json => return,
                Err(error) => return note(&format!("{error}; what comes next is refused")),
            };
        }
    }
}

/// Does `work`, and stops if the program is asked to end: then processes that it started end before the program
/// does.
pub(crate) async fn unless_interrupted<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    tokio::select! {
        done = work => Ok(done?),
        code = interrupted() => Err(Failure::Interrupted(code)),
    }
}

/// Resolves when the program is asked to end, with its exit code.
pub(crate) async fn interrupted() -> u8 {
    #[cfg(unix)]
    if let Ok(mut terminated) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        return tokio::select! {
            _ = tokio::signal::ctrl_c() => INTERRUPTED,
            _ = terminated.recv() => TERMINATED,
        };
    }
    // If signals are unavailable, it goes on to its end.
    match tokio::signal::ctrl_c().await {
        Ok(()) => INTERRUPTED,
        Err(_) => std::future::pending().await,
    }
}
