//! From a request to a call, and back: fields of the path, the query and the body are one struct.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use threadkeep_model::{Code, Invalid, Json};

use crate::{BodyIs, Call, Declaration};

/// The parts of a request, before the call is read from them.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Fields that the path or a header names, as text.
    pub fields: Vec<(&'static str, String)>,
    /// The query, without its question mark.
    pub query: String,
    /// The text of the body.
    pub body: String,
}

impl Asked {
    /// A request whose fields come as one object: those of the path, the query and the body.
    ///
    /// # Errors
    /// Names a field of the path that is missing.
    pub fn flat(declaration: &Declaration, mut fields: serde_json::Map<String, Value>) -> Result<Self, Invalid> {
        let mut asked = Self::default();
        let plain = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        for name in declaration.path_fields() {
            let missing = || Invalid::body(name, format!("missing field `{name}`"));
            asked.fields.push((name, plain(fields.remove(name).ok_or_else(missing)?)));
        }
        if declaration.honours.value_version {
            let version = fields.remove("ifVersion").filter(|version| !version.is_null());
            asked.fields.extend(version.map(|version| ("ifVersion", plain(version))));
        }
        match declaration.body {
            _ if !declaration.method.has_body() => {
                let given = fields.into_iter().filter(|(_, value)| !value.is_null());
                let pairs: Vec<(String, String)> = given.map(|(name, value)| (name, plain(value))).collect();
                asked.query = serde_urlencoded::to_string(pairs).unwrap_or_default();
            }
            BodyIs::Fields => asked.body = Value::Object(fields).to_string(),
            // A field that is missing is told by its reader.
            BodyIs::Field(name) => asked.body = fields.remove(name).map(|value| value.to_string()).unwrap_or_default(),
        }
        Ok(asked)
    }

    /// Reads the call.
    ///
    /// # Errors
    /// Names the field and the rule it breaks.
    pub fn read<C: Call>(&self) -> Result<C, Invalid> {
        let declaration = &C::DECLARATION;
        self.refuse_nulls(declaration)?;
        if declaration.method.has_body() { self.read_body(declaration) } else { self.read_query() }
    }

    /// Refuses null bytes in the path and in identities. Elsewhere they are stripped, and a name would become another.
    fn refuse_nulls(&self, declaration: &Declaration) -> Result<(), Invalid> {
        if let Some((field, _)) = self.fields.iter().find(|(_, text)| text.contains('\0')) {
            return Err(Invalid::parameter(*field, "has no null bytes"));
        }
        if declaration.identities.is_empty() || !self.body.contains("u0000") {
            return Ok(());
        }
        // A body that is no object is refused later, in words of its own.
        let fields: BTreeMap<String, Value> = serde_json::from_str(&self.body).unwrap_or_default();
        let named = |name: &str| declaration.identities.contains(&name.replace('\0', "").as_str());
        let odd = fields.iter().find(|(name, value)| named(name) && has_null(value));
        odd.map_or(Ok(()), |(name, _)| Err(Invalid::body(name.as_str(), "has no null bytes")))
    }

    fn read_body<T: DeserializeOwned>(&self, declaration: &Declaration) -> Result<T, Invalid> {
        let body = if self.body.trim().is_empty() { "{}" } else { self.body.as_str() };
        let within = match declaration.body {
            BodyIs::Fields if self.fields.is_empty() => return read_object(body),
            BodyIs::Fields => {
                let Some(rest) = body.trim_start().strip_prefix('{') else { return Err(no_object()) };
                // A field that the body repeats is found below, as any key that occurs twice.
                let comma = if rest.trim_start().starts_with('}') { "" } else { "," };
                format!("{{{}{comma}{rest}", self.named_fields())
            }
            BodyIs::Field(field) => {
                // An empty body is no JSON: a field that is missing is told as such.
                if self.body.trim().is_empty() {
                    return Err(Invalid::body(field, "is missing: the body is its JSON"));
                }
                let value = Json::parse(field, &self.body)?;
                let comma = if self.fields.is_empty() { "" } else { "," };
                format!("{{{}{comma}\"{field}\":{}}}", self.named_fields(), value.as_str())
            }
        };
        read_object(&within)
    }

    /// `"name":"text"` for each field of the path.
    fn named_fields(&self) -> String {
        let quoted = |text: &str| Json::string(text).as_str().to_owned();
        let fields = self.fields.iter().map(|(name, text)| format!("\"{name}\":{}", quoted(text)));
        fields.collect::<Vec<_>>().join(",")
    }

    fn read_query<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        let mut query = String::new();
        for (name, text) in &self.fields {
            let mut pair = serde_urlencoded::to_string([(name, text)]).unwrap_or_default();
            pair.push('&');
            query.push_str(&pair);
        }
        query.push_str(&self.query);
        serde_urlencoded::from_str(&query).map_err(|error| {
            let said = error.to_string();
            carried(&said).unwrap_or_else(|| {
                let field = named(&said).or_else(|| unreadable::<T>(&query, &said));
                let field = field.unwrap_or_else(|| "query".to_owned());
                let plain = match said.as_str() {
                    "invalid digit found in string" | "cannot parse integer from empty string" => {
                        "must be a whole number"
                    }
                    "number too large to fit in target type" => "is too large",
                    "provided string was not `true` or `false`" => "must be true or false",
                    other => other,
                };
                Invalid::parameter(field, plain)
            })
        })
    }
}

/// The parameter of a query that cannot be read: without it, the same is not `said`. Numbers do not tell their names.
fn unreadable<T: DeserializeOwned>(query: &str, said: &str) -> Option<String> {
    let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).ok()?;
    let without = |left_out: usize| -> Option<String> {
        let others: Vec<_> = pairs.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, pair)| pair).collect();
        serde_urlencoded::to_string(others).ok()
    };
    let culprit = (0..pairs.len()).find(|at| {
        let read = without(*at).map(|others| serde_urlencoded::from_str::<T>(&others));
        !matches!(read, Some(Err(error)) if error.to_string() == said)
    })?;
    Some(pairs[culprit].0.clone())
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_null),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Reads a `T` from JSON that came from outside. The whole text is checked first: how deep it nests, lone surrogates, keys
/// that occur twice; null bytes are stripped. `T` refuses unknown fields itself.
///
/// # Errors
/// [`json_too_deep`](Code::JsonTooDeep), or [`invalid_body`](Code::InvalidBody) with what is wrong and where.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Invalid> {
    serde_json::from_str(&Json::check("body", text)?).map_err(|error| wrong(&error))
}

/// The same for an object; an empty text is an empty object. Derived readers would also accept an array as a struct,
/// field by field, and the schema does not allow that.
///
/// # Errors
/// As [`parse`].
pub fn read_object<T: DeserializeOwned>(text: &str) -> Result<T, Invalid> {
    let text = Json::check("body", if text.trim().is_empty() { "{}" } else { text })?;
    if !text.trim_start().starts_with('{') {
        return Err(no_object());
    }
    serde_json::from_str(&text).map_err(|error| wrong(&error))
}

fn no_object() -> Invalid {
    Invalid::body("body", "must be a JSON object")
}

/// What is wrong with a body, and with which field, as far as that is said.
fn wrong(error: &serde_json::Error) -> Invalid {
    let said = error.to_string();
    if let Some(invalid) = carried(&said) {
        return invalid;
    }
    Invalid::body(named(&said).as_deref().unwrap_or("body"), said)
}

/// The field that serde names.
fn named(said: &str) -> Option<String> {
    let rest =
        ["unknown field `", "missing field `", "duplicate field `"].iter().find_map(|kind| said.strip_prefix(kind))?;
    rest.split_once('`').map(|(field, _)| field.to_owned())
}

/// Begins a refusal that travels through serde as text: serde keeps neither its code nor its field.
const MARK: char = '\u{1}';

/// A refusal as an error of serde.
pub(crate) fn refuse<E: serde::de::Error>(invalid: &Invalid) -> E {
    E::custom(format!("{MARK}{}{MARK}{}{MARK}{}{MARK}", invalid.code.as_str(), invalid.field, invalid.rule))
}

/// The refusal that an error of serde carries.
fn carried(said: &str) -> Option<Invalid> {
    let (_, rest) = said.split_once(MARK)?;
    let mut parts = rest.split(MARK);
    let (code, field, rule) = (parts.next()?, parts.next()?, parts.next()?);
    Some(Invalid::new(Code::named(code)?, field, rule))
}
