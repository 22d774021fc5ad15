//! A thread's exclusive writer on the wire.

use serde::{Deserialize, Serialize};
use threadkeep_model::{Lease, Timestamp};

/// The lease of a thread's exclusive writer: `{token?, holder, expiresAt}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Writer {
    /// What writes under the lease carry; only whoever took the lease gets to see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<u64>,
    /// Who holds it, in words for people.
    pub holder: String,
    /// When it ends unless it is renewed.
    pub expires_at: Timestamp,
}

impl Writer {
    /// The lease as whoever holds it sees it.
    pub fn held(lease: &Lease) -> Self {
        Self { token: Some(lease.token), ..Self::seen(lease) }
    }

    /// The lease as everybody else sees it.
    pub fn seen(lease: &Lease) -> Self {
        Self { token: None, holder: lease.holder.clone(), expires_at: lease.until }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_sees_the_token() {
        let lease = Lease { token: 7, holder: "ann".into(), until: Timestamp::from_micros(0) };
        let shown = |writer: Writer| serde_json::to_string(&writer).expect("json");
        let seen = r#"{"holder":"ann","expiresAt":"1970-01-01T00:00:00.000000Z"}"#;
        assert_eq!(shown(Writer::seen(&lease)), seen);
        assert_eq!(shown(Writer::held(&lease)), seen.replace('{', r#"{"token":7,"#));
    }
}
