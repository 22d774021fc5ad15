//! Queries and paths, escaped.

use std::fmt::{Display, Write};

use threadkeep_model::ThreadName;

/// A query that is being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(String);

impl Query {
    pub(crate) fn with(mut self, name: &str, value: impl Display) -> Self {
        self.0.push(if self.0.is_empty() { '?' } else { '&' });
        self.0.push_str(name);
        self.0.push('=');
        escape(&value.to_string(), &mut self.0);
        self
    }

    /// With `name=value`, if there is a value.
    pub(crate) fn maybe(self, name: &str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// With `name=true`, if that is so.
    pub(crate) fn flag(self, name: &str, is_so: bool) -> Self {
        if is_so { self.with(name, "true") } else { self }
    }

    /// With its question mark; empty if nothing is asked.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// The path of a thread, or of something that belongs to it.
pub(crate) fn of(thread: impl Into<ThreadName>, rest: &str) -> String {
    format!("/v1/threads/{}{rest}", part(&thread.into().to_string()))
}

/// A part of a path.
pub(crate) fn part(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    escape(text, &mut escaped);
    // A part that is all dots would be taken for a step in the path.
    if text == "." || text == ".." { escaped.replace('.', "%2E") } else { escaped }
}

fn escape(text: &str, to: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            to.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(to, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_escaped() {
        let query = Query::default().with("metadata", r#"{"a":"b&c=ä"}"#).flag("total", true).maybe("x", None::<u8>);
        assert_eq!(query.as_str(), "?metadata=%7B%22a%22%3A%22b%26c%3D%C3%A4%22%7D&total=true");
        assert_eq!(part("a/b?c"), "a%2Fb%3Fc");
        assert_eq!(part(".."), "%2E%2E");
    }
}
