//! Signing in: a link that works once gives a browser a session, which has the rights of the link's key.
//!
//! A browser sends the session with every request to this server by itself, so a session counts only where the request
//! comes from a page of this server, or from no page at all and changes nothing.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use threadkeep::model::BlobId;
use threadkeep::{Key, SystemWorld, World};

/// How long a link is good.
pub(crate) const LINK_TTL: Duration = Duration::from_secs(60 * 60);
/// How long a session lasts.
pub(crate) const SESSION_TTL: Duration = Duration::from_secs(12 * 60 * 60);
/// Links, and sessions, that are out at the same time; the oldest goes first.
const OUT_MAX: usize = 10_000;
/// The name of the cookie.
const COOKIE: &str = "threadkeep_session";

/// The links and sessions that are out, by the hashes of their secrets.
#[derive(Default)]
pub(crate) struct Sessions {
    links: Out,
    sessions: Out,
}

#[derive(Default)]
struct Out(Mutex<HashMap<BlobId, (Key, Instant)>>);

impl Out {
    /// A new secret for `key`.
    fn draw(&self, key: Key, now: Instant, ttl: Duration) -> String {
        let secret = format!("{:032x}{:032x}", SystemWorld.chance(), SystemWorld.chance());
        let mut out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        out.retain(|_, (_, drawn)| now.saturating_duration_since(*drawn) < ttl);
        if out.len() >= OUT_MAX {
            let oldest = out.iter().min_by_key(|(_, (_, drawn))| *drawn).map(|(hash, _)| *hash);
            drop(oldest.and_then(|oldest| out.remove(&oldest)));
        }
        out.insert(BlobId::of(secret.as_bytes()), (key, now));
        secret
    }

    fn find(&self, secret: &str, now: Instant, ttl: Duration) -> Option<Key> {
        let out = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (key, drawn) = out.get(&BlobId::of(secret.as_bytes()))?;
        (now.saturating_duration_since(*drawn) < ttl).then(|| key.clone())
    }

    fn take(&self, secret: &str, now: Instant, ttl: Duration) -> Option<Key> {
        let found = self.find(secret, now, ttl);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&BlobId::of(secret.as_bytes()));
        found
    }
}

impl Sessions {
    /// The path of a link that signs in with `key`, once.
    pub(crate) fn draw_link(&self, key: Key, now: Instant) -> String {
        format!("/sign-in?code={}", self.links.draw(key, now, LINK_TTL))
    }

    /// The key behind the code of a link. The link is used up in any case.
    pub(crate) fn redeem(&self, code: &str, now: Instant) -> Option<Key> {
        self.links.take(code, now, LINK_TTL)
    }

    /// Begins a session, and gives the cookie that a browser is to keep; it goes over TLS alone if people reach the server so.
    pub(crate) fn begin(&self, key: Key, now: Instant, public_url: Option<&str>) -> String {
        let secret = self.sessions.draw(key, now, SESSION_TTL);
        let secure = if public_url.is_some_and(|url| url.starts_with("https://")) { "; Secure" } else { "" };
        format!("{COOKIE}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", SESSION_TTL.as_secs())
    }

    /// Ends a session, and gives the cookie that replaces the browser's.
    pub(crate) fn end(&self, secret: Option<&str>, now: Instant) -> String {
        if let Some(secret) = secret {
            drop(self.sessions.take(secret, now, SESSION_TTL));
        }
        format!("{COOKIE}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0")
    }

    /// The key of the session with this secret.
    pub(crate) fn find(&self, secret: &str, now: Instant) -> Option<Key> {
        self.sessions.find(secret, now, SESSION_TTL)
    }
}

/// The secret of the session that a request carries, if it may use it.
pub(crate) fn carried(parts: &Parts) -> Option<&str> {
    cookie(&parts.headers).filter(|_| is_own_page(parts))
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    pairs.flat_map(|pairs| pairs.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE).then_some(value)
    })
}

/// Whether a request comes from a page of this server; or from none, and only reads.
fn is_own_page(parts: &Parts) -> bool {
    let text = |name: header::HeaderName| parts.headers.get(name).and_then(|value| value.to_str().ok());
    match text(header::ORIGIN) {
        Some(origin) => {
            let host = origin.split_once("://").map(|(_, host)| host);
            host.is_some() && host == text(header::HOST)
        }
        None => matches!(parts.method, Method::GET | Method::HEAD),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(method: &str, headers: &[(&str, &str)]) -> Parts {
        let request = headers.iter().fold(axum::http::Request::builder().method(method), |request, (name, value)| {
            request.header(*name, *value)
        });
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn a_session_counts_from_a_page_of_this_server_alone() {
        let (host, own, other) = (("host", "h:1"), ("origin", "http://h:1"), ("origin", "http://h.evil:1"));
        for (method, origin, counts) in [
            ("GET", None, true),
            ("POST", None, false),
            ("DELETE", None, false),
            ("POST", Some(own), true),
            ("GET", Some(own), true),
            ("GET", Some(other), false),
            ("POST", Some(other), false),
            ("POST", Some(("origin", "null")), false),
        ] {
            let headers: Vec<_> = [host].into_iter().chain(origin).collect();
            assert_eq!(is_own_page(&parts(method, &headers)), counts, "{method} {origin:?}");
        }
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let found = |text| cookie(&parts("GET", &[("cookie", text)]).headers).map(str::to_owned);
        assert_eq!(found("a=b; threadkeep_session=s; c=d").as_deref(), Some("s"));
        assert_eq!(found("xthreadkeep_session=s"), None);
        assert_eq!(found("threadkeep_session"), None);
    }
}
