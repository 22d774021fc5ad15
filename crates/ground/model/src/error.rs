//! Errors of values from outside: one type, stable codes, and the rule that failed.

/// A value that breaks a rule. The error names the rule, so that the caller can correct the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct Invalid {
    /// The stable code of the failure.
    pub code: Code,
    /// The field of the request, by its name on the wire.
    pub field: String,
    /// The rule that failed, as a sentence a person can act on.
    pub rule: String,
}

impl Invalid {
    /// A refusal of `field` with `code`, because of `rule`.
    pub fn new(code: Code, field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self { code, field: field.into(), rule: rule.into() }
    }

    /// A refusal of a field of the request body.
    pub fn body(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::new(Code::InvalidBody, field, rule)
    }

    /// A refusal of a parameter of the request.
    pub fn parameter(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self::new(Code::InvalidParameter, field, rule)
    }
}

/// The stable codes of validation failures on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// Not a thread id in either spelling.
    InvalidThreadId,
    /// Not the id of a message.
    InvalidMessageId,
    /// Not a cursor of this store, or a cursor of another list.
    InvalidCursor,
    /// The body breaks a rule.
    InvalidBody,
    /// A parameter breaks a rule.
    InvalidParameter,
    /// JSON nested deeper than the limit.
    JsonTooDeep,
    /// Larger than a limit, which the message names.
    TooLarge,
    /// A path that leads out of the thread.
    PathEscapesRoot,
}

impl Code {
    /// Every code, in the order of declaration.
    pub const ALL: [Code; 8] = [
        Self::InvalidThreadId,
        Self::InvalidMessageId,
        Self::InvalidCursor,
        Self::InvalidBody,
        Self::InvalidParameter,
        Self::JsonTooDeep,
        Self::TooLarge,
        Self::PathEscapesRoot,
    ];

    /// The code by its text.
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == text)
    }

    /// The code as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidThreadId => "invalid_thread_id",
            Self::InvalidMessageId => "invalid_message_id",
            Self::InvalidCursor => "invalid_cursor",
            Self::InvalidBody => "invalid_body",
            Self::InvalidParameter => "invalid_parameter",
            Self::JsonTooDeep => "json_too_deep",
            Self::TooLarge => "too_large",
            Self::PathEscapesRoot => "path_escapes_root",
        }
    }
}
