//! Which Redis: `redis://host:port/number`.

use std::fmt;
use std::str::FromStr;

use redis::{ConnectionInfo, IntoConnectionInfo};
use threadkeep_model::Invalid;

/// The password, where it is not in the URL.
const PASSWORD: &str = "REDIS_PASSWORD";

/// Which Redis.
#[derive(Clone)]
pub struct RedisUrl {
    pub(crate) info: ConnectionInfo,
    shown: String,
}

impl FromStr for RedisUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // The URL is not repeated: it may hold a password.
        let wrong = |rule: &str| Invalid::parameter("streams", rule);
        let Some(rest) = text.strip_prefix("redis://") else {
            return Err(wrong("is not an address such as redis://redis.example:6379/0"));
        };
        let shown = format!("redis://{}", rest.rsplit_once('@').map_or(rest, |(_, host)| host));
        let mut info =
            text.into_connection_info().map_err(|_| wrong("is not an address such as redis://redis.example:6379/0"))?;
        let password = std::env::var(PASSWORD).ok().filter(|password| !password.is_empty());
        if let Some(password) = password
            && info.redis_settings().password().is_none()
        {
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        Ok(Self { info, shown })
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
        let url: RedisUrl = "redis://ann:secret@redis.example:6380/2".parse().expect("a url");
        assert_eq!(url.to_string(), "redis://redis.example:6380/2");
        assert!(!format!("{url:?}").contains("secret"));
        for wrong in ["", "secret", "http://secret@x", "redis://", "redis://x:secret"] {
            let refused = wrong.parse::<RedisUrl>().expect_err(wrong).to_string();
            assert!(refused.contains("streams") && !refused.contains("secret"), "{refused}");
        }
    }
}
