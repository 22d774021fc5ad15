//! A thread's exclusive writer: take the lease, renew it, release it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use threadkeep_model::{Lease, LeaseToken, Timestamp};

use crate::ErrorCode;
use crate::call::{Declaration, Honours};
use crate::group::TREE;
use crate::shape::reads;

/// The lease of a thread's exclusive writer: `{token?, holder, expiresAt}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Writer {
    /// The token that writes under the lease carry; only the holder sees it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", regex(pattern = "^[0-7][0-9a-f]{15}$"))]
    pub token: Option<LeaseToken>,
    /// Who holds it, in words for people.
    pub holder: String,
    /// When it ends unless it is renewed.
    pub expires_at: Timestamp,
}

impl Writer {
    /// The lease as its holder sees it.
    pub fn held(lease: &Lease) -> Self {
        Self { token: Some(lease.token), ..Self::seen(lease) }
    }

    /// The lease as other callers see it.
    pub fn seen(lease: &Lease) -> Self {
        Self { token: None, holder: lease.holder.clone(), expires_at: lease.until }
    }
}

reads! {
    /// Shows who is the exclusive writer of a thread.
    GetWriter = Declaration::get(("writer", "getWriter"), "/v1/threads/{thread}/writer", TREE)
        .about("Shows who is the exclusive writer of a thread.")
        .gives("The lease, without its token; null if there is none.");
    /// Releases a lease.
    ReleaseWriter = Declaration::delete(("release-writer", "releaseWriter"), "/v1/threads/{thread}/writer", TREE)
        .about("Releases a lease.")
        .gives("Whether the lease was still held.")
        .honours(Honours::LEASE)
        .never(ErrorCode::WriterLost);
}

/// Makes the caller the exclusive writer of a thread, for a time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TakeWriter {
    /// How long it lasts, in milliseconds.
    #[schemars(range(min = 100, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Who holds it, in words for others.
    #[schemars(length(max = 255), regex(pattern = threadkeep_model::schema::IDENTITY))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

impl TakeWriter {
    pub(crate) const DECLARATION: Declaration =
        Declaration::post(("take-writer", "takeWriter"), "/v1/threads/{thread}/writer", TREE)
            .about("Makes the caller the exclusive writer of a thread, for a time.")
            .creates("The lease, with its token.")
            .honours(Honours::NOTHING)
            .fails(&[ErrorCode::WriterHeld])
            .identities(&["holder"])
            .example(r#"{"ttl":30000,"holder":"build 12"}"#);
}

/// Renews a lease.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RenewWriter {
    /// How long it lasts from now on, in milliseconds.
    #[schemars(range(min = 100, max = 86_400_000))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u64>,
    /// Who holds it; a renewal does not change that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
}

impl RenewWriter {
    pub(crate) const DECLARATION: Declaration =
        Declaration::put(("renew-writer", "renewWriter"), "/v1/threads/{thread}/writer", TREE)
            .about("Renews a lease.")
            .gives("The lease as it is now.")
            .honours(Honours::LEASE)
            .example(r#"{"ttl":30000}"#);
}

/// `{"released": …}`: whether a lease was still held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// Whether a lease was still held, and is released now.
    pub released: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_holder_sees_the_token() {
        let lease = Lease { token: LeaseToken::from_bits(7), holder: "ann".into(), until: Timestamp::from_micros(0) };
        let shown = |writer: Writer| serde_json::to_string(&writer).expect("json");
        let seen = r#"{"holder":"ann","expiresAt":"1970-01-01T00:00:00.000000Z"}"#;
        assert_eq!(shown(Writer::seen(&lease)), seen);
        assert_eq!(shown(Writer::held(&lease)), seen.replace('{', r#"{"token":"0000000000000007","#));
    }
}
