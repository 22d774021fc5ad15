//! Any call of the list. Its request is made from its declaration.

use std::collections::BTreeMap;

use http::Method;
use serde_json::value::RawValue;
use threadkeep_calls as calls;
use threadkeep_calls::{At, BodyIs, Call, Declaration, Lease};
use threadkeep_model::{Invalid, Json, Version};

use crate::ask::{Answer, Ask, Repeat, Underway, fresh_key};
use crate::client::{Carried, Client};
use crate::error::Error;
use crate::query::{Query, part};

/// Calls that take as long as their work does: a command checks a merge, a store or an index is read whole.
const UNHURRIED: [&str; 5] = ["approve", "backfill", "doctor", "gc", "merge"];

/// The fields of a call, each as its JSON.
type Fields = BTreeMap<String, Box<RawValue>>;

impl Client {
    /// Carries out a call: `client.call(thread, Decide::new("Which store?", "SQLite"))`.
    ///
    /// Conditions that `at` leaves open come from this client ([`Client::expecting`], [`Client::writing_under`],
    /// [`Client::keyed`]), as far as the call honours them. A change is made once, however often it has to be sent:
    /// where sending it twice would matter it goes under a fresh key, unless there is one already.
    ///
    /// # Errors
    /// As the server refuses it, or if `at` names a condition that the call does not honour. If the connection breaks
    /// while a call goes out that honours no key, such as a new API key, it is not sent again: there could be two.
    pub async fn call<C: Call>(&self, at: impl Into<At>, call: C) -> Result<C::Answer, Error> {
        let text = serde_json::to_string(&call).map_err(|error| Invalid::body("body", error.to_string()))?;
        let answer = self.carry(&C::DECLARATION, at.into(), text).await?;
        self.read(&answer)
    }

    /// Carries out a call that is known by its declaration alone. `call` is one object with all its fields, those of
    /// the path too.
    ///
    /// # Errors
    /// As [`Client::call`], or if a field of the path is missing.
    pub async fn call_json(&self, declaration: &Declaration, at: impl Into<At>, call: &Json) -> Result<Json, Error> {
        let answer = self.carry(declaration, at.into(), call.as_str().to_owned()).await?;
        self.read(&answer)
    }

    /// Carries out a call whose answer also tells the version of the thread.
    pub(crate) async fn call_versioned<C: Call>(
        &self,
        at: At,
        call: &C,
    ) -> Result<(C::Answer, Option<Version>), Error> {
        let text = serde_json::to_string(call).map_err(|error| Invalid::body("body", error.to_string()))?;
        let answer = self.carry(&C::DECLARATION, at, text).await?;
        Ok((self.read(&answer)?, answer.version()))
    }

    fn carry<'a>(&'a self, declaration: &'a Declaration, at: At, text: String) -> Underway<'a, Result<Answer, Error>> {
        Box::pin(self.carried_out(declaration, at, text))
    }

    async fn carried_out(&self, declaration: &Declaration, at: At, text: String) -> Result<Answer, Error> {
        let mut request = Asking::new(declaration, &at, text)?;
        let carried = self.honoured(declaration, at, request.value_version.take())?;
        let repeat = match declaration.repeat {
            calls::Repeat::Freely if carried.expected.is_none() => Repeat::Freely,
            calls::Repeat::Freely | calls::Repeat::Keyed if carried.idempotency_key.is_some() => Repeat::Freely,
            calls::Repeat::Freely | calls::Repeat::Keyed => Repeat::IfNotDone,
        };
        let method = match declaration.method {
            calls::Method::Get => Method::GET,
            calls::Method::Post => Method::POST,
            calls::Method::Put => Method::PUT,
            calls::Method::Patch => Method::PATCH,
            calls::Method::Delete => Method::DELETE,
        };
        let mut ask = Ask::new(method, request.path, repeat).query(request.query);
        if let Some(body) = request.body {
            ask = ask.json(body);
        }
        ask.unhurried = UNHURRIED.contains(&declaration.name);
        Self { carried, ..self.clone() }.answer(ask).await
    }

    /// The headers of the request: those from `at`, then those of this client, if the call honours them; and a fresh
    /// key where that makes it safe to send the call again.
    fn honoured(&self, declaration: &Declaration, at: At, value: Option<Version>) -> Result<Carried, Error> {
        let At { thread: _, expected, lease, key } = at;
        let honours = declaration.honours;
        let has_lease = honours.lease != Lease::No;
        for (field, refused) in [
            ("If-Match", expected.is_some() && !honours.expected),
            ("Threadkeep-Writer", lease.is_some() && !has_lease),
            ("Idempotency-Key", key.is_some() && !honours.key),
        ] {
            if refused {
                return Err(Invalid::parameter(field, format!("'{}' does not honour it", declaration.name)).into());
            }
        }
        let Carried { expected: usual, writer, idempotency_key, actor, is_mcp } = self.carried.clone();
        let expected = if honours.expected { expected.or(usual) } else { value };
        let writer = if has_lease { lease.or(writer) } else { None };
        let key = if honours.key { key.or(idempotency_key) } else { None };
        // A value that another writer set meanwhile would be overwritten, and a version that was expected is gone.
        let needs_key = declaration.repeat == calls::Repeat::Keyed || honours.value_version || expected.is_some();
        let tries_again = !self.settings.retry.give_up_after.is_zero();
        let key = match key {
            None if needs_key && honours.key && tries_again => Some(fresh_key()?),
            key => key,
        };
        Ok(Carried { expected, writer, idempotency_key: key, actor, is_mcp })
    }
}

/// Where the fields of a call go.
struct Asking {
    path: String,
    query: Query,
    body: Option<String>,
    /// The version that a value has to be at, which is a header.
    value_version: Option<Version>,
}

impl Asking {
    fn new(declaration: &Declaration, at: &At, text: String) -> Result<Self, Invalid> {
        let has_body = declaration.method.has_body();
        let all_in_body = has_body && declaration.body == BodyIs::Fields && declaration.path_fields().next().is_none();
        // Most bodies are the call as it is: they are not taken apart.
        let mut fields = if all_in_body { Fields::new() } else { read(&text)? };
        let path = path(declaration, at, &mut fields)?;
        let taken = if declaration.honours.value_version { fields.remove("ifVersion") } else { None };
        let value_version = taken.map(|version| plain(&version).parse()).transpose()?;
        let query = fields.iter().filter(|(_, value)| !has_body && value.get() != "null");
        let query = query.fold(Query::default(), |query, (name, value)| query.with(name, plain(value)));
        let body = match declaration.body {
            _ if !has_body => None,
            BodyIs::Fields if all_in_body => Some(text),
            BodyIs::Fields => {
                let left = serde_json::to_string(&fields);
                Some(left.map_err(|error| Invalid::body("body", error.to_string()))?)
            }
            BodyIs::Field(name) => Some(fields.remove(name).ok_or_else(|| missing(name))?.get().to_owned()),
        };
        Ok(Self { path, query, body, value_version })
    }
}

/// The path, with the thread and the fields that it names.
fn path(declaration: &Declaration, at: &At, fields: &mut Fields) -> Result<String, Invalid> {
    let mut path = String::new();
    for segment in declaration.path.split('/').skip(1) {
        path.push('/');
        match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            None => path.push_str(segment),
            Some("thread") => {
                let thread = at.thread.ok_or_else(|| Invalid::parameter("thread", "is missing"))?;
                path.push_str(&part(&thread.to_string()));
            }
            Some(name) => path.push_str(&part(&plain(&fields.remove(name).ok_or_else(|| missing(name))?))),
        }
    }
    Ok(path)
}

fn missing(field: &str) -> Invalid {
    Invalid::body(field, format!("missing field `{field}`"))
}

fn read(text: &str) -> Result<Fields, Invalid> {
    serde_json::from_str(text).map_err(|_| Invalid::body("body", "must be a JSON object"))
}

/// JSON as paths and queries hold it: a string as it is, anything else as its text.
fn plain(json: &RawValue) -> String {
    serde_json::from_str(json.get()).unwrap_or_else(|_| json.get().to_owned())
}

impl Query {
    /// The query of a call that reads.
    pub(crate) fn of<C: Call>(call: &C) -> Result<Self, Invalid> {
        let text = serde_json::to_string(call).map_err(|error| Invalid::body("query", error.to_string()))?;
        let fields = read(&text)?;
        let given = fields.iter().filter(|(_, value)| value.get() != "null");
        Ok(given.fold(Self::default(), |query, (name, value)| query.with(name, plain(value))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use threadkeep_calls::{Acknowledge, Append, DeleteValue, ListThreads, PutProject, RevokeKey, SetValue};
    use threadkeep_model::{MessageBody, Position, ThreadId, Uuid};

    fn asking<C: Call>(call: &C) -> Asking {
        let thread: ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("an id");
        let text = serde_json::to_string(call).expect("json");
        Asking::new(&C::DECLARATION, &At::of(thread), text).expect("a request")
    }

    #[test]
    fn each_field_goes_where_the_declaration_says() {
        let list = ListThreads { title: Some("a&b".into()), limit: Some(5), total: true, ..Default::default() };
        let list = asking(&list);
        assert_eq!((list.path.as_str(), list.body), ("/v1/threads", None));
        assert_eq!(list.query.as_str(), "?limit=5&title=a%26b&total=true");

        let append = asking(&Append::from(MessageBody::user("hi")));
        assert!(append.path.ends_with("/messages") && append.query.as_str().is_empty());
        assert_eq!(append.body.as_deref(), Some(r#"{"role":"user","content":"hi"}"#));

        let value = Json::parse("value", r#"{"z": 1.0}"#).expect("json");
        let set = SetValue { if_version: Some(Position(3)), ..SetValue::new("a/b", value).expect("a key") };
        let set = asking(&set);
        assert!(set.path.ends_with("/kv/a%2Fb"), "{}", set.path);
        assert_eq!((set.body.as_deref(), set.value_version), (Some(r#"{"z": 1.0}"#), Some(Position(3))));

        let delete = DeleteValue { key: "k".parse().expect("a key"), if_version: None };
        assert_eq!(asking(&delete).query.as_str(), "");
        let put = PutProject { project: "p q".into(), id: None, name: "P".into(), icon_name: None, sandbox: None };
        let put = asking(&put);
        assert_eq!((put.path.as_str(), put.body.as_deref()), ("/v1/projects/p%20q", Some(r#"{"name":"P"}"#)));
        let injection = Acknowledge { injection: Uuid::from_chance(7) };
        assert_eq!(asking(&injection).body.as_deref(), Some("{}"));
        assert_eq!(asking(&RevokeKey { key: "..".into() }).path, "/v1/keys/%2E%2E");
    }

    #[test]
    fn a_thread_or_a_field_of_the_path_that_is_missing_is_told() {
        let refused = |declaration: &Declaration, text: &str| {
            let refused = Asking::new(declaration, &At::none(), text.to_owned()).err().expect("refused");
            (refused.field.to_string(), refused.rule.to_string())
        };
        assert_eq!(refused(&Append::DECLARATION, "{}").0, "thread");
        assert_eq!(refused(&RevokeKey::DECLARATION, "{}"), ("key".into(), "missing field `key`".into()));
        assert_eq!(refused(&RevokeKey::DECLARATION, "[]").0, "body");
    }
}
