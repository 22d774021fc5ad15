//! Access: the key or ticket of a request, and an engine that acts for its caller.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use threadkeep::{
    ActorKind, Caller, Engine, Error, Key, Opened, Scope, Standing, SystemWorld, Thread, ThreadName, Verb, World as _,
};
use threadkeep_calls::{ACTOR_HEADER, ErrorCode, Problem, Status, parse_actor_header};
use tokio::sync::SetOnce;

use crate::answer::Refused;
use crate::app::App;
use crate::serve::Peer;
use crate::{sessions, surface};

/// The caller of a request, with an engine that acts for it.
pub(crate) struct Access {
    pub(crate) engine: Engine,
    pub(crate) opened: Opened,
}

impl Access {
    /// The thread that a path names.
    pub(crate) async fn thread(&self, name: &str) -> Result<Thread, Refused> {
        let name: ThreadName = name.parse()?;
        Ok(self.engine.thread(name).await?)
    }

    /// Refuses an action that the key does not allow.
    pub(crate) fn may(&self, needed: Scope) -> Result<(), Refused> {
        if self.opened.key.scope >= needed {
            return Ok(());
        }
        let what = match needed {
            Scope::Read => "read",
            Scope::Write => "write",
            Scope::Admin => "do upkeep",
        };
        let problem = Problem::new(Status::Forbidden, ErrorCode::Forbidden, format!("this key may not {what}"));
        Err(problem.hint("use a key with a wider scope").into())
    }
}

impl FromRequestParts<App> for Access {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let opened = presented(parts, app).await?.ok_or_else(unauthorized)?;
        Ok(Self { engine: app.engine.acting_as(acting(parts, &opened.key)?), opened })
    }
}

/// A caller with a key that may write. It is checked before the body is read.
pub(crate) struct Writing(pub(crate) Access);

impl FromRequestParts<App> for Writing {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let access = Access::from_request_parts(parts, app).await?;
        access.may(Scope::Write)?;
        Ok(Self(access))
    }
}

/// A caller with a key that may do upkeep. It is checked before the body is read.
pub(crate) struct Admin(pub(crate) Access);

impl FromRequestParts<App> for Admin {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let access = Access::from_request_parts(parts, app).await?;
        access.may(Scope::Admin)?;
        Ok(Self(access))
    }
}

/// A caller that reads: with a key, or without one, and then only public threads.
pub(crate) struct Reader {
    pub(crate) engine: Engine,
    pub(crate) opened: Option<Opened>,
}

impl Reader {
    /// The thread that a path names, for a caller that wants this access. Without a key, a thread that is not public
    /// answers that a key is needed, whether it exists or not.
    pub(crate) async fn seen(&self, name: &str, verb: Verb) -> Result<(Thread, Standing), Refused> {
        let name: ThreadName = name.parse()?;
        match self.engine.seen(name, verb).await {
            Err(Error::ThreadNotFound { .. }) if self.opened.is_none() => Err(unauthorized()),
            seen => Ok(seen?),
        }
    }
}

impl FromRequestParts<App> for Reader {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let opened = presented(parts, app).await?;
        let caller = opened.as_ref().map_or_else(|| Ok(Caller::nobody()), |opened| acting(parts, &opened.key))?;
        Ok(Self { engine: app.engine.acting_as(caller), opened })
    }
}

/// A caller of a thread endpoint: with a key that may write, or any caller if the endpoint is public.
pub(crate) struct Calling(pub(crate) Reader);

impl FromRequestParts<App> for Calling {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        Reader::from_request_parts(parts, app).await.map(Self)
    }
}

/// The caller that a request acts for: that of the key, by another name if the key may do that.
fn acting(parts: &Parts, key: &Key) -> Result<Caller, Refused> {
    let mut caller = named(parts, key)?;
    // Invariant: whoever comes through a model is an agent, whatever the key says.
    if surface::is_mcp(&parts.headers) {
        caller.actor.kind = ActorKind::Agent;
    }
    Ok(caller)
}

/// The caller of the key, by the name that the request gives.
fn named(parts: &Parts, key: &Key) -> Result<Caller, Refused> {
    let caller = key.caller();
    let Some(value) = parts.headers.get(ACTOR_HEADER) else { return Ok(caller) };
    if key.scope < Scope::Admin {
        let problem =
            Problem::new(Status::Forbidden, ErrorCode::Forbidden, "this key may not say who acts: it acts as itself");
        return Err(problem.hint("leave out Threadkeep-Actor, or use a key with scope admin").into());
    }
    let actor = parse_actor_header(value.to_str().unwrap_or_default())?;
    if key.actor.kind == ActorKind::Agent && actor.kind != ActorKind::Agent {
        let what = "the key of an agent acts for agents only";
        return Err(Problem::new(Status::Forbidden, ErrorCode::Forbidden, what).into());
    }
    Ok(Caller { actor, ..caller })
}

/// Whether this is the path of a stream. A file or a value may be called so, too.
pub(crate) fn is_stream(path: &str) -> bool {
    match path.split('/').collect::<Vec<_>>()[..] {
        ["", "v1", last] | ["", "v1", "threads" | "runs", _, last] => matches!(last, "stream" | "ws"),
        _ => false,
    }
}

/// The pass of a request: the edge ends the request once its key is revoked.
#[derive(Clone, Default)]
pub(crate) struct Pass(Arc<SetOnce<Opened>>);

impl Pass {
    /// What the key of the request opened; none without a key.
    pub(crate) fn opened(&self) -> Option<&Opened> {
        self.0.get()
    }

    /// Resolves once the key of the request is revoked.
    pub(crate) async fn revoked(&self) {
        self.0.wait().await.over().await;
    }
}

/// What the key of a request opens, presented by itself, by a ticket or by a session; none if it presents nothing.
async fn presented(parts: &Parts, app: &App) -> Result<Option<Opened>, Refused> {
    let opened = key_of(parts, app).await?;
    if let (Some(opened), Some(pass)) = (&opened, parts.extensions.get::<Pass>()) {
        // A request presents one key, however often it is read.
        drop(pass.0.set(opened.clone()));
    }
    Ok(opened)
}

/// What the key of a request opens, found by the front and handed on: a ticket is redeemed once.
#[derive(Clone)]
struct Found(Opened);

/// What the key of a request opens, for the front of several cells. None for a key that is missing or wrong: the cell that
/// gets the request says so, and counts it.
pub(crate) async fn known(parts: &mut Parts, app: &App) -> Result<Option<Opened>, Refused> {
    let found = found(parts, app).await?;
    if let Some(opened) = &found {
        parts.extensions.insert(Found(opened.clone()));
    }
    Ok(found)
}

/// The id of a request that the edge did not see.
pub(crate) fn drawn_id() -> String {
    format!("{:032x}", SystemWorld.chance())
}

async fn key_of(parts: &Parts, app: &App) -> Result<Option<Opened>, Refused> {
    let found = match parts.extensions.get::<Found>() {
        Some(Found(opened)) => Some(opened.clone()),
        None => found(parts, app).await?,
    };
    // A key that ended is refused; it is no guess, and does not count as one.
    if let Some(opened) = found {
        return if opened.key.holds(app.engine.now()) { Ok(Some(opened)) } else { Err(unauthorized()) };
    }
    let presents = parts.headers.contains_key(header::AUTHORIZATION) || parts.uri.query().and_then(ticket).is_some();
    if !presents {
        return Ok(None);
    }
    let peer = parts.extensions.get::<Peer>().map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0.ip());
    match app.guard.wrong(peer, Instant::now()) {
        Some(wait) => {
            let problem = Problem::new(Status::RateLimited, ErrorCode::RateLimited, "too many wrong keys from here");
            Err(Refused::from(problem.hint("wait, then use a valid key")).after(wait))
        }
        None => Err(unauthorized()),
    }
}

/// What the key of a request opens, whether it holds or not; none if there is none, or no such key.
async fn found(parts: &Parts, app: &App) -> Result<Option<Opened>, Refused> {
    // Routes see the rest of the path; a ticket is for all of it.
    let path = parts.extensions.get::<OriginalUri>().map_or(parts.uri.path(), |OriginalUri(uri)| uri.path());
    Ok(match parts.headers.get(header::AUTHORIZATION) {
        Some(value) => {
            let said = value.to_str().ok().and_then(|value| value.split_once(' '));
            let secret = said.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            match secret {
                Some((_, secret)) => app.keys.find(secret.trim()).await?,
                None => None,
            }
        }
        None => match parts.uri.query().and_then(ticket) {
            // A ticket opens streams, and nothing else.
            Some(_) if !is_stream(path) => return Err(unauthorized()),
            Some(ticket) => match app.tickets.redeem(ticket, path, Instant::now()) {
                // A ticket ends with its key.
                Some(key) => Some(app.keys.again(&key).await?.ok_or_else(unauthorized)?),
                None => None,
            },
            // An expired session counts as none: public threads stay readable.
            None => in_session(parts, app).await?,
        },
    })
}

/// What the key of a browser that is signed in opens.
async fn in_session(parts: &Parts, app: &App) -> Result<Option<Opened>, Error> {
    match sessions::carried(parts).and_then(|secret| app.sessions.find(secret, Instant::now())) {
        Some(key) => app.keys.again(&key).await,
        None => Ok(None),
    }
}

/// A browser, signed in or not.
pub(crate) struct Session {
    /// The secret of its session.
    pub(crate) secret: Option<String>,
    /// The key it is signed in with.
    pub(crate) key: Option<Key>,
    /// The colours that its reader chose.
    pub(crate) theme: Option<threadkeep_web::Theme>,
}

impl FromRequestParts<App> for Session {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let secret = sessions::carried(parts).map(str::to_owned);
        // Without the store, its pages are shown as to a visitor.
        let opened = in_session(parts, app).await.ok().flatten();
        Ok(Self { secret, key: opened.map(|opened| opened.key), theme: theme(&parts.headers) })
    }
}

/// The colours that the reader chose, as a cookie keeps them.
pub(crate) fn theme(headers: &HeaderMap) -> Option<threadkeep_web::Theme> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|pairs| pairs.split(';'))
        .find_map(|pair| threadkeep_web::Theme::named(pair.trim().strip_prefix("threadkeep_theme=")?))
}

fn ticket(query: &str) -> Option<&str> {
    query.split('&').find_map(|pair| pair.strip_prefix("ticket="))
}

pub(crate) fn unauthorized() -> Refused {
    let problem = Problem::new(Status::Unauthorized, ErrorCode::Unauthorized, "missing or invalid API key");
    problem.hint("send Authorization: Bearer KEY; `threadkeep keys create` makes one").into()
}
