//! Webhooks: events of observed threads, posted to addresses outside, signed, and tried again.
//!
//! Private addresses are refused by [`threadkeep_outgoing::Reach::Public`], unless the settings allow them.

mod post;

use std::time::Duration;

use ring::hmac;
use threadkeep::{BoxFuture, Courier, Delivery, Engine};
use threadkeep_calls as api;
use threadkeep_outgoing::{Failed, Limits, Outgoing, Reach};

use self::post::post;

/// The header with the time and the signature of a post.
const SIGNATURE: &str = "threadkeep-signature";
/// How often a post is tried.
const TRIES: u32 = 8;
/// The pause after the first try; it doubles.
const PAUSE: Duration = Duration::from_secs(1);

/// Where webhooks may lead, and how long they are waited for.
#[derive(Debug, Clone)]
pub struct WebhookSettings {
    /// Whether they may lead to this machine and to private networks, too.
    pub allow_private: bool,
    /// How long an answer may take: 10 s.
    pub timeout: Duration,
    /// The pause after the first try that failed: 1 s. It doubles with each.
    pub pause: Duration,
}

impl Default for WebhookSettings {
    fn default() -> Self {
        Self { allow_private: false, timeout: Duration::from_secs(10), pause: PAUSE }
    }
}

/// Brings events to webhooks.
pub(crate) struct Webhooks {
    engine: Engine,
    outgoing: Outgoing,
    settings: WebhookSettings,
}

impl Webhooks {
    pub(crate) fn new(engine: Engine, settings: WebhookSettings) -> Self {
        let reach = if settings.allow_private { Reach::Anywhere } else { Reach::Public };
        let limits = Limits { connect: settings.timeout, answer: settings.timeout, ..Limits::default() };
        Self { engine, outgoing: Outgoing::new(reach, limits), settings }
    }

    async fn try_all(&self, url: &str, delivery: &Delivery) -> Result<(), String> {
        let body = serde_json::to_string(&api::WebhookEvent::from(delivery)).map_err(|error| error.to_string())?;
        let secret = self.engine.observer_secret(delivery.observer).await.map_err(|error| error.to_string())?;
        let (timeout, mut why) = (self.settings.timeout, String::new());
        for tried in 0..TRIES {
            if tried > 0 {
                tokio::time::sleep(self.settings.pause.saturating_mul(1 << (tried - 1))).await;
            }
            let seconds = self.engine.now().as_micros().div_euclid(1_000_000);
            let signature = sign(&secret, seconds, &body);
            let posted = tokio::time::timeout(timeout, post(&self.outgoing, url, &body, &signature)).await;
            match posted.unwrap_or_else(|_| Err(Failed::after(format!("no answer within {timeout:?}")))) {
                Ok(()) => return Ok(()),
                Err(failed) if failed.for_good => return Err(failed.what),
                Err(failed) => why = failed.what,
            }
        }
        Err(format!("{why} ({TRIES} tries)"))
    }
}

impl Courier for Webhooks {
    fn bring(&self, url: String, delivery: Delivery) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move { self.try_all(&url, &delivery).await })
    }
}

/// `t=SECONDS,v1=HEX`: the HMAC-SHA256 of `SECONDS.BODY` under the secret.
fn sign(secret: &str, seconds: i64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    format!("t={seconds},v1={}", hex(tag.as_ref()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::sign;

    #[test]
    fn a_signature_is_the_hmac_of_time_and_body() {
        // As printf '1700000000.{}' | openssl dgst -sha256 -hmac whsec_x has it.
        let signed = sign("whsec_x", 1_700_000_000, "{}");
        assert_eq!(signed, "t=1700000000,v1=be8cb8325f2202445260a855532f967e30ad2a9394ce28da66ee02880ddcb661");
        assert_ne!(signed, sign("whsec_x", 1_700_000_001, "{}"));
        assert_ne!(signed, sign("whsec_y", 1_700_000_000, "{}"));
        assert_ne!(signed, sign("whsec_x", 1_700_000_000, "{ }"));
    }
}
