//! HTTP requests of tools, through the one client with its address guard.
//!
//! A host that a definition names by its address, or as `localhost`, may be on this machine or in a private network: the
//! operator wrote it. Every other name has to lead to a public address when the connection is made. So has every redirect,
//! whatever the definition says.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Uri, header};
use serde_json::{Map, Value as Json};
use threadkeep_model::Invalid;
use threadkeep_outgoing::{Address, Failed, Limits, Outgoing, Reach, empty, full};
use tokio::time::Instant;

/// Most bytes of an answer.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Redirects that are followed.
const REDIRECTS_MAX: usize = 5;
/// Time for a request of code, unless it names another.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The header by which a server knows a request that is sent again.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The hosts that a definition lists: `HOST` or `HOST:PORT`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Hosts(Vec<String>);

impl Hosts {
    /// Reads the list of a definition.
    ///
    /// # Errors
    /// Says which entry is no host.
    pub(crate) fn read(listed: &[String]) -> Result<Self, String> {
        for host in listed {
            let parsed = host.parse::<http::uri::Authority>().ok().filter(|read| !read.as_str().contains('@'));
            if parsed.is_none_or(|read| read.host().is_empty()) {
                return Err(format!("'{host}' is no host such as api.example.com or 127.0.0.1:9000"));
            }
        }
        Ok(Self(listed.iter().map(|host| host.to_ascii_lowercase()).collect()))
    }

    fn lists(&self, to: &Address) -> bool {
        let (authority, host) = (to.authority().to_ascii_lowercase(), to.host().to_ascii_lowercase());
        self.0.iter().any(|listed| *listed == authority || (*listed == host && authority == host))
    }
}

/// A request to a listed host.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Bytes,
    pub(crate) timeout: Duration,
}

/// An answer, read to its end.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Unanswered {
    /// Whether the same request may succeed later.
    pub(crate) again: bool,
    pub(crate) what: String,
}

impl Asked {
    /// Reads what code passes to `fetch`. `call` is the id of its call.
    pub(crate) fn read(mut asked: Map<String, Json>, call: &str) -> Result<Self, threadkeep_engine::Error> {
        let mut text = |name: &str| asked.remove(name).and_then(|value| value.as_str().map(str::to_owned));
        let wrong = |field: &'static str, rule: &str| Invalid::parameter(field, rule);
        let method = text("method").unwrap_or_else(|| "GET".to_owned());
        let method = method.to_ascii_uppercase().parse().map_err(|_| wrong("method", "is no method of HTTP"))?;
        let uri = text("url").unwrap_or_default().parse().map_err(|_| wrong("url", "is no URL"))?;
        let body = text("body").unwrap_or_default();
        let mut headers = Vec::new();
        if let Some(Json::Object(given)) = asked.get("headers") {
            for (name, value) in given {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                headers.push(header_of(name, &value).map_err(|rule| wrong("headers", &rule))?);
            }
        }
        let mut asked = Self { method, uri, headers, body: body.into_bytes().into(), timeout: TIMEOUT };
        asked.key(call);
        Ok(asked)
    }

    /// Says which call it is, so that a server knows one that is sent again.
    pub(crate) fn key(&mut self, call: &str) {
        let name = HeaderName::from_static(IDEMPOTENCY_KEY);
        if let Ok(value) = HeaderValue::from_str(call)
            && !self.headers.iter().any(|(known, _)| *known == name)
        {
            self.headers.push((name, value));
        }
    }
}

/// A header, or what is wrong with it. Those that the connection itself needs are refused.
pub(crate) fn header_of(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    let read: HeaderName = name.parse().map_err(|_| format!("'{name}' is no name of a header"))?;
    let of_connection = [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION];
    if of_connection.contains(&read) {
        return Err(format!("the header '{name}' is set by the connection"));
    }
    let mut value = HeaderValue::from_str(value).map_err(|_| format!("the value of '{name}' is none of a header"))?;
    value.set_sensitive(true);
    Ok((read, value))
}

/// The client of all tools.
pub(crate) struct Http {
    anywhere: Outgoing,
    public: Outgoing,
}

impl Default for Http {
    fn default() -> Self {
        let limits = Limits { bytes: ANSWER_BYTES_MAX, answer: Duration::from_secs(600), ..Limits::default() };
        Self { anywhere: Outgoing::new(Reach::Anywhere, limits), public: Outgoing::new(Reach::Public, limits) }
    }
}

impl Http {
    /// Sends a request to a host that the definition lists. A redirect has to lead to a listed host, too.
    pub(crate) async fn ask_listed(&self, asked: Asked, hosts: &Hosts) -> Result<Answered, String> {
        self.ask(asked, Some(hosts)).await.map_err(|failed| failed.what)
    }

    /// Sends a request, and follows redirects. Only its first address may be private, if the definition wrote it as one.
    /// A redirect to another server drops all headers.
    pub(crate) async fn ask(&self, mut asked: Asked, hosts: Option<&Hosts>) -> Result<Answered, Unanswered> {
        let ends = Instant::now() + asked.timeout;
        let refused = |what: String| Unanswered { again: false, what };
        let mut to = Address::of(&asked.uri).map_err(|wrong| refused(wrong.to_string()))?;
        let mut is_written = true;
        for _ in 0..=REDIRECTS_MAX {
            if hosts.is_some_and(|hosts| !hosts.lists(&to)) {
                return Err(refused(format!("'{}' is not among the hosts of the definition", to.authority())));
            }
            let outgoing = if is_written && names_itself(&to) { &self.anywhere } else { &self.public };
            let answer = tokio::time::timeout_at(ends, outgoing.ask(&to, request(&asked)));
            let answer = answer
                .await
                .map_err(|_| refused(format!("no answer from '{}' within {:?}", to.authority(), asked.timeout)))?
                .map_err(|Failed { was_sent: _, for_good, what }| Unanswered { again: !for_good, what })?;
            let Some(next) = redirected(&answer, &asked.uri).map_err(refused)? else { return Ok(read(&answer)) };
            let before = std::mem::replace(&mut to, Address::of(&next).map_err(|wrong| refused(wrong.to_string()))?);
            if !before.is_same_server(&to) {
                // Invariant: what is secret goes to the server for which it was written, and to no other.
                asked.headers.clear();
                is_written = false;
            }
            if !matches!(answer.status().as_u16(), 307 | 308) && asked.method != Method::HEAD {
                (asked.method, asked.body) = (Method::GET, Bytes::new());
            } else if !is_written {
                asked.body = Bytes::new();
            }
            asked.uri = next;
        }
        Err(refused(format!("more than {REDIRECTS_MAX} redirects")))
    }
}

/// Whether a host is written as an address or as this machine, and not as a name that others answer for.
pub(crate) fn names_itself(to: &Address) -> bool {
    to.host().parse::<IpAddr>().is_ok() || to.host().eq_ignore_ascii_case("localhost")
}

fn request(asked: &Asked) -> threadkeep_outgoing::Request {
    let body = if asked.body.is_empty() { empty() } else { full(asked.body.clone()) };
    let mut request = http::Request::new(body);
    *request.method_mut() = asked.method.clone();
    let target = asked.uri.path_and_query().map_or("/", |target| target.as_str());
    *request.uri_mut() = target.parse().unwrap_or_default();
    request.headers_mut().extend(asked.headers.iter().cloned());
    request
}

/// Where a redirect leads; none if the answer is no redirect.
fn redirected(answer: &http::Response<Bytes>, from: &Uri) -> Result<Option<Uri>, String> {
    if !matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some(location) = answer.headers().get(header::LOCATION) else { return Ok(None) };
    let wrong = || "the redirect leads to no URL".to_owned();
    let location = location.to_str().map_err(|_| wrong())?;
    let next: Uri = location.parse().map_err(|_| wrong())?;
    if next.authority().is_some() && next.scheme().is_some() {
        return Ok(Some(next));
    }
    let mut parts = from.clone().into_parts();
    if let Some(rest) = location.strip_prefix("//") {
        let scheme = from.scheme_str().unwrap_or("https");
        return format!("{scheme}://{rest}").parse().map(Some).map_err(|_| wrong());
    }
    let path = if location.starts_with('/') {
        location.to_owned()
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{folder}/{location}")
    };
    parts.path_and_query = Some(path.parse().map_err(|_| wrong())?);
    Uri::from_parts(parts).map(Some).map_err(|_| wrong())
}

fn read(answer: &http::Response<Bytes>) -> Answered {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = answer.headers().iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect();
    Answered { status: answer.status().as_u16(), headers, body: answer.body().clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_host_is_listed_with_its_port() {
        let hosts = Hosts::read(&["api.example".to_owned(), "127.0.0.1:9000".to_owned()]).expect("hosts");
        for (url, lists) in [
            ("https://api.example/x", true),
            ("https://API.example", true),
            ("https://api.example:8443/x", false),
            ("https://evil.api.example", false),
            ("http://127.0.0.1:9000/x", true),
            ("http://127.0.0.1:9001/x", false),
            ("http://127.0.0.1", false),
        ] {
            assert_eq!(hosts.lists(&Address::parse(url).expect("an address")), lists, "{url}");
        }
        for wrong in ["", "https://x", "a b", "ann@x"] {
            assert!(Hosts::read(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_redirect_is_read_against_the_url_before_it() {
        let from: Uri = "https://a.example/b/c?d=e".parse().expect("a url");
        let to = |location: &str| {
            let answer = http::Response::builder().status(302).header("Location", location).body(Bytes::new());
            redirected(&answer.expect("an answer"), &from).map(|next| next.expect("a redirect").to_string())
        };
        for (location, next) in [
            ("http://x.example/y", "http://x.example/y"),
            ("//x.example/y", "https://x.example/y"),
            ("/y?z", "https://a.example/y?z"),
            ("y", "https://a.example/b/y"),
        ] {
            assert_eq!(to(location).as_deref(), Ok(next), "{location}");
        }
    }
}
