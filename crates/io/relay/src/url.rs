//! Which Redis: `redis://host:port/number`, or `rediss://…` for encrypted connections.

use std::fmt;
use std::str::FromStr;

use redis::{Client, ConnectionInfo, IntoConnectionInfo, RedisResult, TlsCertificates};
use threadkeep_model::Invalid;

/// The password, where it is not in the URL.
const PASSWORD: &str = "REDIS_PASSWORD";
/// What an address looks like.
const EXAMPLE: &str = "is not an address such as redis://redis.example:6379/0 or rediss://redis.example:6379/0";

/// Which Redis, and whom to trust.
///
/// `rediss://` encrypts connections. The certificate of the server has to be in the name of its host, and signed by an
/// authority that the system trusts, or by one in the file of the parameter `ca`.
#[derive(Clone)]
pub struct RedisUrl {
    info: ConnectionInfo,
    tls: Option<Tls>,
    shown: String,
}

/// How connections are encrypted.
#[derive(Clone)]
struct Tls {
    /// The authorities that are trusted, as PEM; those of the system if none.
    authorities: Option<Vec<u8>>,
}

impl FromStr for RedisUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // The URL is not repeated: it may hold a password.
        let wrong = |rule: String| Invalid::parameter("streams", rule);
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let (scheme, rest) = match address.split_once("://") {
            Some((scheme @ ("redis" | "rediss"), rest)) if !text.contains('#') => (scheme, rest),
            _ => return Err(wrong(EXAMPLE.into())),
        };
        let mut tls = (scheme == "rediss").then_some(Tls { authorities: None });
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match (parameter.split_once('='), &mut tls) {
                (Some(("ca", file)), Some(tls)) => {
                    let read = std::fs::read(file).map_err(|error| wrong(format!("ca={file}: {error}")))?;
                    tls.authorities = Some(read);
                }
                _ => return Err(wrong("takes one parameter: ca=FILE, with rediss://".into())),
            }
        }
        let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
        let shown = if query.is_empty() { format!("{scheme}://{host}") } else { format!("{scheme}://{host}?{query}") };
        let mut info = address.into_connection_info().map_err(|_| wrong(EXAMPLE.into()))?;
        let password = std::env::var(PASSWORD).ok().filter(|password| !password.is_empty());
        if let Some(password) = password
            && info.redis_settings().password().is_none()
        {
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        let url = Self { info, tls, shown };
        // A file that holds no certificate is told now, and not when the first connection is made.
        url.client().map_err(|error| wrong(format!("cannot be used: {error}")))?;
        Ok(url)
    }
}

impl RedisUrl {
    /// A client, which is not connected yet.
    pub(crate) fn client(&self) -> RedisResult<Client> {
        let Some(tls) = &self.tls else { return Client::open(self.info.clone()) };
        // Invariant: the process has one provider of cryptography before the first encrypted connection. A provider that
        // the program chose itself stays.
        drop(rustls::crypto::ring::default_provider().install_default());
        let certificates = TlsCertificates { client_tls: None, root_cert: tls.authorities.clone() };
        Client::build_with_tls(self.info.clone(), certificates)
    }
}

/// Without the password.
impl fmt::Display for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RedisUrl").field(&self.shown).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_server_and_shows_no_password() {
        for (text, shown) in [
            ("redis://ann:secret@redis.example:6380/2", "redis://redis.example:6380/2"),
            ("rediss://ann:secret@redis.example:6380/2", "rediss://redis.example:6380/2"),
        ] {
            let url: RedisUrl = text.parse().expect("a url");
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?}").contains("secret"));
        }
        for wrong in [
            "",
            "secret",
            "http://secret@x",
            "redis://",
            "redis://x:secret",
            "rediss://:secret@x#insecure",
            "redis://:secret@x?ca=file",
            "rediss://:secret@x?nonsense=1",
            "rediss://:secret@x?ca=/no/such/file",
        ] {
            let refused = wrong.parse::<RedisUrl>().expect_err(wrong).to_string();
            assert!(refused.contains("streams") && !refused.contains("secret"), "{refused}");
        }
    }
}
