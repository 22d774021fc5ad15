//! Thread endpoints: files in `api/` that answer HTTP requests about a thread.
//!
//! `foo.ts` answers `GET …/api/foo`, `bar.post.ts` answers `POST …/api/bar`, and `index.ts` is its folder. `[id].ts` takes
//! one segment, `[*].ts` takes the rest. A static segment comes before a dynamic one, and that before the rest.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Map;
use threadkeep_engine::{Engine, WayOut};
use threadkeep_model::ThreadId;
use threadkeep_sandbox::Value;

use crate::attempt::{Cancel, Declared};
use crate::code::{Ended, Host, said as said_of};
use crate::definitions::endpoint::{METHODS, pattern};
use crate::definitions::{Definitions, Kind, Name};
use crate::{Runtime, RuntimeError};

/// Time for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// A request to an endpoint.
#[derive(Debug, Clone)]
pub struct EndpointRequest {
    /// The method, in capitals.
    pub method: String,
    /// The whole URL, without the scheme and the host.
    pub url: String,
    /// The segments behind `api/`, each decoded.
    pub path: Vec<String>,
    /// The query as pairs, decoded. The last of a name counts.
    pub query: BTreeMap<String, String>,
    /// The headers by their small names. Credentials are left out.
    pub headers: BTreeMap<String, String>,
    /// The body as it came.
    pub body: Bytes,
}

/// The answer of an endpoint, without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointAnswer {
    /// The status that the code chose.
    pub status: u16,
    /// The headers that the code set. The surface decides which of them it sends.
    pub headers: BTreeMap<String, String>,
    /// The body to send.
    pub body: Bytes,
}

/// How an endpoint answered.
#[derive(Debug)]
pub enum Answered {
    /// It gave an answer.
    Answer(EndpointAnswer),
    /// It threw, took too long, or gave something that is no answer.
    Failed(String),
}

/// An endpoint that answers a request, and the parts of the path that it took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    name: Name,
    params: BTreeMap<String, String>,
}

/// How a path is answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// This endpoint answers the request.
    Endpoint(Endpoint),
    /// By other methods only.
    Methods(Vec<&'static str>),
    /// No endpoint answers it.
    Nothing,
}

/// The endpoint that answers a request, among these definitions.
pub fn find(definitions: &Definitions, method: &str, path: &[String]) -> Found {
    let method = if method.eq_ignore_ascii_case("head") { METHODS[0].to_owned() } else { method.to_ascii_lowercase() };
    let mut best: Option<(Vec<u8>, Endpoint)> = None;
    let mut others = Vec::new();
    for name in definitions.names(Kind::Endpoint) {
        let text = name.text();
        let Ok(pattern) = pattern(&text) else { continue };
        let Some((rank, params)) = pattern.matches(path) else { continue };
        if pattern.method != method {
            others.push(pattern.method);
        } else if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            best = Some((rank, Endpoint { name: name.clone(), params }));
        }
    }
    others.sort_unstable();
    others.dedup();
    match best {
        Some((_, endpoint)) => Found::Endpoint(endpoint),
        None if others.is_empty() => Found::Nothing,
        None => Found::Methods(others),
    }
}

impl Endpoint {
    /// Its name, as definitions write it.
    pub fn name(&self) -> String {
        self.name.text()
    }
}

impl Runtime {
    /// Whether an endpoint declares that every caller may use it.
    ///
    /// # Errors
    /// If its code is broken, or no worker loads it.
    pub async fn is_public(&self, definitions: &Definitions, endpoint: &Endpoint) -> Result<bool, RuntimeError> {
        let said = self.described(definitions, &endpoint.name).await?;
        Ok(said.get("access").is_some_and(|access| access == "public"))
    }

    /// Answers a request, for the caller of `who`. What the code queues is committed before the answer is given.
    ///
    /// # Errors
    /// If the endpoint is broken, the thread is missing, or no worker runs code.
    pub async fn answer(
        &self,
        (who, thread): (&Engine, ThreadId),
        endpoint: &Endpoint,
        request: EndpointRequest,
        cancel: &Cancel,
    ) -> Result<Answered, RuntimeError> {
        let on = self.attempt(who, thread).await?;
        let mut said = self.described(&on.definitions, &endpoint.name).await?;
        said.remove("access");
        let declared = match Declared::of_code(said) {
            Ok(declared) => declared,
            Err((_, what)) => return Ok(Answered::Failed(what)),
        };
        let reaches = (declared.variable_names(), declared.hosts.clone());
        let id = who.new_id().to_string();
        let host = Host::new(self, (&on, &endpoint.name), reaches, &id, cancel);
        let mut task = self.task(&on, &host, &Map::new()).await?;
        let texts = |all: BTreeMap<String, String>| -> Value {
            Value::Object(all.into_iter().map(|(name, text)| (name, Value::String(text))).collect())
        };
        let EndpointRequest { method, url, path, query, headers, body } = request;
        let request = Value::Object(vec![
            ("method".to_owned(), method.into()),
            ("url".to_owned(), url.into()),
            ("path".to_owned(), format!("/{}", path.join("/")).into()),
            ("query".to_owned(), texts(query)),
            ("headers".to_owned(), texts(headers)),
            ("body".to_owned(), Value::Buffer(body.to_vec())),
        ]);
        task.push(("request".to_owned(), request));
        task.push(("params".to_owned(), texts(endpoint.params.clone())));
        let ended = self.execute((&on, &endpoint.name), task, &host, (TIMEOUT, cancel)).await?;
        let returned = match ended {
            Ended::Returned(returned) => returned,
            Ended::Failed(failure) => return Ok(Answered::Failed(said_of(&failure))),
        };
        let redactor = on.who.redactor(WayOut::Tool, Some(on.thread)).await?;
        let Some(answer) = read(&returned.result) else {
            return Ok(Answered::Failed("the endpoint returned no answer".to_owned()));
        };
        let body = Bytes::from(redactor.bytes(&answer.body).into_owned());
        let held = host.take_held();
        if held.count() > 0 {
            on.who.for_code().log_tool(on.thread, None, held).await?;
        }
        Ok(Answered::Answer(EndpointAnswer { body, ..answer }))
    }
}

/// The answer that the driver made of what the code returned.
fn read(returned: &Value) -> Option<EndpointAnswer> {
    let Value::Object(fields) = returned else { return None };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let status = match field("status")? {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        Value::Number(status) if (200.0..600.0).contains(status) => *status as u16,
        _ => return None,
    };
    let headers = match field("headers")? {
        Value::Object(headers) => {
            let text = |(name, value): &(String, Value)| Some((name.to_ascii_lowercase(), value.as_str()?.to_owned()));
            headers.iter().filter_map(text).collect()
        }
        _ => return None,
    };
    let body = match field("body")? {
        Value::String(text) => Bytes::from(text.clone().into_bytes()),
        Value::Buffer(bytes) | Value::Typed(_, bytes) => Bytes::from(bytes.clone()),
        Value::Undefined | Value::Null => Bytes::new(),
        _ => return None,
    };
    Some(EndpointAnswer { status, headers, body })
}
