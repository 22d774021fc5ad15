//! The one way in: a call arrives with its envelope, and is carried out by the verb of its type.
//!
//! The envelope is honoured in one place, where commits are made ([`Engine::commit`]): the version that the caller
//! expects, the lease under which it writes, and the key under which the call may be repeated.

use std::sync::Arc;

use threadkeep_calls::{At, Call, Declaration, Honours, Lease, Method, NewMessage};
use threadkeep_model::{
    BlobId, Idempotency, IdempotencyKey, Invalid, LeaseToken, Thread, ThreadId, ThreadName, Version,
};
use threadkeep_store::BoxFuture;
use threadkeep_vault::Redactor;
use tracing::Instrument;

use crate::ground::redacted::redacted;
use crate::ground::show::{Show, Shown};
use crate::ground::way_out::WayOut;
use crate::{Engine, Error, Result};

/// A call that the engine carries out.
pub trait Carry: Call {
    /// The result for callers of the library. On the wire it is the answer of the call.
    type Made: Show + Send + 'static;

    /// Carries it out. `thread` is the one that the envelope names; calls that name none ignore it.
    fn carry(self, engine: &Engine, thread: ThreadId) -> impl Future<Output = Result<Self::Made>> + Send;

    /// The result if the thread does not exist, where that is no error.
    fn without_thread() -> Option<Self::Made> {
        None
    }

    /// The thread that it is about, where something in it names one: a run, for example.
    ///
    /// # Errors
    /// If that is unknown to the caller.
    fn names(&self, _engine: &Engine) -> impl Future<Output = Result<Option<ThreadId>>> + Send {
        std::future::ready(Ok(None))
    }

    /// The same call without the secrets that `redactor` knows.
    ///
    /// # Errors
    /// If a secret is in a file, or where its name cannot stand for it.
    fn redacted(self, redactor: &Redactor) -> Result<Self> {
        redacted(self, redactor)
    }

    /// The messages in it that may bring files.
    fn new_messages(&mut self) -> Vec<&mut NewMessage> {
        Vec::new()
    }

    /// The result as the wire shows it.
    ///
    /// # Errors
    /// If a body on disk is damaged.
    fn told(made: Self::Made, _engine: &Engine) -> impl Future<Output = Result<Shown>> + Send {
        std::future::ready(made.show())
    }
}

/// A call with its way into the engine. Every call has it, by its row in the list.
///
/// The way is compiled in this crate, once for each call. Futures without it would be compiled again in every crate
/// that makes the call.
pub trait Enter: Carry {
    /// Carries the call out.
    ///
    /// # Errors
    /// Every error of the call; nothing has changed then.
    fn enter(self, engine: &Engine, at: At) -> BoxFuture<'_, Result<Self::Made>>;
}

/// A call on its way through the engine, whatever its type: the steps that are the same for all calls are compiled once.
pub(crate) trait Underway: Send {
    /// Gives the result for a thread that does not exist, if that is no error.
    fn goes_without_thread(&mut self) -> bool;
    /// [`Carry::names`].
    fn names<'a>(&'a self, engine: &'a Engine) -> BoxFuture<'a, Result<Option<ThreadId>>>;
    /// [`Carry::redacted`].
    fn redact(&mut self, redactor: &Redactor) -> Result<()>;
    /// The hash stored with an idempotency key: the call's name with all its parameters.
    fn hash(&self) -> Result<BlobId>;
    /// [`Carry::carry`].
    fn carry<'a>(&'a mut self, engine: &'a Engine, thread: ThreadId) -> BoxFuture<'a, Result<()>>;
    /// The threads in the result whose records it shows.
    fn threads(&mut self) -> Vec<&mut Thread>;
    /// [`Carry::told`].
    fn tell<'a>(&'a mut self, engine: &'a Engine) -> BoxFuture<'a, Result<Shown>>;
}

/// A call until it is carried out, and then its result.
pub(crate) enum Passage<C: Carry> {
    /// The call.
    Asked(C),
    /// It is being carried out.
    Between,
    /// Its result.
    Made(C::Made),
}

impl<C: Carry> Passage<C> {
    fn asked(&self) -> Result<&C> {
        match self {
            Self::Asked(call) => Ok(call),
            Self::Between | Self::Made(_) => Err(Error::broken("a call is carried out once")),
        }
    }

    fn take(&mut self) -> Result<C> {
        match std::mem::replace(self, Self::Between) {
            Self::Asked(call) => Ok(call),
            Self::Between | Self::Made(_) => Err(Error::broken("a call is carried out once")),
        }
    }

    /// The result.
    ///
    /// # Errors
    /// If it was not carried out.
    pub(crate) fn made(&mut self) -> Result<C::Made> {
        match std::mem::replace(self, Self::Between) {
            Self::Made(made) => Ok(made),
            Self::Between | Self::Asked(_) => Err(Error::broken("a call that was carried out has a result")),
        }
    }
}

impl<C: Carry> Underway for Passage<C> {
    fn goes_without_thread(&mut self) -> bool {
        let made = C::without_thread();
        let goes = made.is_some();
        if let Some(made) = made {
            *self = Self::Made(made);
        }
        goes
    }

    fn names<'a>(&'a self, engine: &'a Engine) -> BoxFuture<'a, Result<Option<ThreadId>>> {
        match self.asked() {
            Ok(call) => Box::pin(call.names(engine)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }

    fn redact(&mut self, redactor: &Redactor) -> Result<()> {
        *self = Self::Asked(self.take()?.redacted(redactor)?);
        Ok(())
    }

    fn hash(&self) -> Result<BlobId> {
        hash_of(self.asked()?)
    }

    fn carry<'a>(&'a mut self, engine: &'a Engine, thread: ThreadId) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            *self = Self::Made(self.take()?.carry(engine, thread).await?);
            Ok(())
        })
    }

    fn threads(&mut self) -> Vec<&mut Thread> {
        match self {
            Self::Made(made) => made.threads(),
            Self::Asked(_) | Self::Between => Vec::new(),
        }
    }

    fn tell<'a>(&'a mut self, engine: &'a Engine) -> BoxFuture<'a, Result<Shown>> {
        match self.made() {
            Ok(made) => Box::pin(C::told(made, engine)),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}

/// Fields of a call beside its parameters.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope {
    /// The thread it is about; found later, where something names it.
    thread: Option<ThreadId>,
    expected: Option<Version>,
    lease: Option<LeaseToken>,
    idempotency: Option<Idempotency>,
}

impl Engine {
    /// Carries out a call: the same for every surface.
    ///
    /// # Errors
    /// Every error of the call; nothing has changed then.
    pub fn call<C: Enter>(&self, at: impl Into<At>, call: C) -> BoxFuture<'_, Result<C::Made>> {
        call.enter(self, at.into())
    }

    /// Takes a call through the steps that are the same for all of them. It has its result then.
    pub(crate) fn pass<'a>(
        &'a self,
        at: At,
        declaration: &'static Declaration,
        call: &'a mut dyn Underway,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.pass_through(at, declaration, call))
    }

    async fn pass_through(&self, mut at: At, declaration: &Declaration, call: &mut dyn Underway) -> Result<()> {
        self.caller.actor.checked()?;
        refuse_unhonoured(&at, declaration)?;
        let thread = match self.resolve(at.thread).await {
            Err(Error::ThreadNotFound { .. }) if call.goes_without_thread() => return Ok(()),
            resolved => resolved?,
        };
        let thread = match thread {
            Some(thread) => Some(thread),
            None => call.names(self).await?,
        };
        // Invariant: secrets leave the call before anything is decided, hashed or kept.
        match declaration.method {
            Method::Get => {}
            Method::Post | Method::Put | Method::Patch | Method::Delete => {
                if let Some(redactor) = self.guard(WayOut::Call, thread).await? {
                    at.key = redacted_key(at.key, &redactor)?;
                    call.redact(&redactor)?;
                }
            }
        }
        let idempotency = match at.key.clone() {
            Some(key) => Some(Idempotency { key, hash: call.hash()? }),
            None => None,
        };
        let engine = self.under(&at, thread, idempotency);
        let (named, thread) = (thread, thread.unwrap_or(NO_THREAD));
        // Neither message text nor any secret is part of a span.
        let span = tracing::debug_span!("call", name = declaration.name, %thread, version = tracing::field::Empty);
        call.carry(&engine, thread).instrument(span).await?;
        self.conceal_origins(call.threads(), named).await
    }

    /// The same engine for one call that is no struct of its own: `request` is hashed for its idempotency key.
    pub(crate) async fn enter(&self, mut at: At, name: &str, request: &[&[u8]]) -> Result<(Self, ThreadId)> {
        self.caller.actor.checked()?;
        let thread = self.resolve(at.thread).await?;
        if at.key.is_some()
            && let Some(redactor) = self.guard(WayOut::Call, thread).await?
        {
            at.key = redacted_key(at.key, &redactor)?;
        }
        let idempotency = at.key.clone().map(|key| {
            let mut all = name.as_bytes().to_vec();
            for part in request {
                all.extend_from_slice(&(part.len() as u64).to_le_bytes());
                all.extend_from_slice(part);
            }
            Idempotency { key, hash: BlobId::of(&all) }
        });
        Ok((self.under(&at, thread, idempotency), thread.unwrap_or(NO_THREAD)))
    }

    fn under(&self, at: &At, thread: Option<ThreadId>, idempotency: Option<Idempotency>) -> Self {
        if at.expected.is_none() && at.lease.is_none() && idempotency.is_none() {
            return self.clone();
        }
        let envelope = Envelope { thread, expected: at.expected, lease: at.lease, idempotency };
        Self { envelope: Some(Arc::new(envelope)), ..self.clone() }
    }

    /// The id of the thread with this name. A full id is not looked up: the later read of the thread reports if it
    /// does not exist.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] if no thread has this short id.
    pub fn resolve(&self, name: Option<ThreadName>) -> BoxFuture<'_, Result<Option<ThreadId>>> {
        Box::pin(async move {
            match name {
                None => Ok(None),
                Some(ThreadName::Full(id)) => Ok(Some(id)),
                Some(short @ ThreadName::Short(_)) => match self.shared.stores.store.thread(short).await? {
                    Some(thread) => Ok(Some(thread.id)),
                    None => Err(Error::ThreadNotFound { thread: short }),
                },
            }
        })
    }

    /// The same engine for a call whose thread was found by something it holds.
    pub(crate) fn about(&self, thread: ThreadId) -> Self {
        let Some(envelope) = &self.envelope else { return self.clone() };
        let envelope = Envelope { thread: Some(thread), ..(**envelope).clone() };
        Self { envelope: Some(Arc::new(envelope)), ..self.clone() }
    }

    /// The same engine without the envelope, for commits that are not the call's own.
    pub(crate) fn aside(&self) -> Self {
        Self { envelope: None, ..self.clone() }
    }

    /// The version that the caller expects.
    pub(crate) fn expects(&self) -> Option<Version> {
        self.envelope.as_ref().and_then(|envelope| envelope.expected)
    }

    /// The version that the caller expects of this thread.
    pub(crate) fn expects_of(&self, thread: ThreadId) -> Option<Version> {
        self.envelope.as_ref().filter(|envelope| envelope.thread == Some(thread)).and_then(|envelope| envelope.expected)
    }

    /// The token of the lease under which the caller writes to this thread.
    pub(crate) fn lease_on(&self, thread: ThreadId) -> Option<LeaseToken> {
        let held = self.writes_to.filter(|(own, _)| *own == thread).map(|(_, token)| token);
        let carried = || self.envelope.as_ref().filter(|envelope| envelope.thread == Some(thread))?.lease;
        held.or_else(carried)
    }

    /// The key under which the call may be repeated.
    pub(crate) fn idempotency(&self) -> Option<&Idempotency> {
        self.envelope.as_ref().and_then(|envelope| envelope.idempotency.as_ref())
    }

    /// Whether the call has no conditions to check and no key to remember.
    pub(crate) fn carries_nothing(&self) -> bool {
        self.envelope.is_none()
    }
}

/// The id used for calls without a thread.
const NO_THREAD: ThreadId = ThreadId::from_bits(0);

/// A key is kept with what it did, so it must not hold a secret.
fn redacted_key(key: Option<IdempotencyKey>, redactor: &Redactor) -> Result<Option<IdempotencyKey>> {
    Ok(key.map(|key| IdempotencyKey::new(redactor.text(key.as_str()).into_owned())).transpose()?)
}

/// Refuses a condition that the call would pass over.
fn refuse_unhonoured(at: &At, declaration: &Declaration) -> Result<()> {
    let Honours { expected, lease, key, value_version: _ } = declaration.honours;
    for (field, given, honoured) in [
        ("expected", at.expected.is_some(), expected),
        ("lease", at.lease.is_some(), lease != Lease::No),
        ("key", at.key.is_some(), key),
    ] {
        if given && !honoured {
            return Err(Invalid::parameter(field, format!("'{}' does not honour it", declaration.name)).into());
        }
    }
    Ok(())
}

/// The hash stored with an idempotency key: the call's name with all its parameters.
fn hash_of<C: Call>(call: &C) -> Result<BlobId> {
    let mut request = C::DECLARATION.name.as_bytes().to_vec();
    request.push(0);
    serde_json::to_writer(&mut request, call).map_err(|_| Error::broken("a call can be written as JSON"))?;
    Ok(BlobId::of(&request))
}
