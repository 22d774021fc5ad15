//! Which server, database and schema to use: `postgres://user@host/database?schema=threadkeep&max_connections=16`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use threadkeep_model::Invalid;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::tls::{Tls, Verify};

/// Where the tables are, unless the URL says otherwise.
const SCHEMA: &str = "threadkeep";
/// Connections for commits and reads, unless the URL says otherwise.
const MAX_CONNECTIONS: usize = 16;
/// Most connections that are kept for plain appends: more would make their batches smaller.
const LINES_MAX: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a call waits for the server, unless the URL says otherwise.
const CALL_TIMEOUT_SECONDS: u64 = 10;
const CALL_TIMEOUT_SECONDS_MAX: u64 = 600;
/// How late lists from a replica may be, unless the URL says otherwise.
const READ_LAG_SECONDS: u64 = 10;
const READ_LAG_SECONDS_MAX: u64 = 3_600;
/// Most replicas of a store.
const REPLICAS_MAX: usize = 16;
/// A server that vanished without a word is noticed after about this long.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// The URL of a store: what PostgreSQL's own clients accept, and some parameters of ours.
///
/// `schema` (by default `threadkeep`) names the schema that holds the tables; `max_connections` (16) is the most
/// connections a process opens for commits and reads; `call_timeout` (10) is how many seconds a call waits for the
/// server before it fails with [`Unavailable`](threadkeep_store::StoreError::Unavailable). `read_from` names replicas,
/// `HOST[:PORT]` with commas between them, which take expensive lists and totals and contents that never change;
/// `read_lag` (10) is how many seconds those lists may be late. `sslmode` may also be `verify-ca` or `verify-full`, with the file
/// of those who are trusted to sign in `sslrootcert`. A password that is not in the URL is taken from `PGPASSWORD`. It
/// is shown as a URL without its password. Two are equal if they name the same place, with any user and options.
#[derive(Clone)]
pub struct PostgresUrl {
    pub(crate) config: Config,
    pub(crate) schema: String,
    pub(crate) max_connections: usize,
    pub(crate) call_timeout: Duration,
    pub(crate) tls: Tls,
    /// Standbys that take reads off the primary.
    pub(crate) replicas: Vec<PostgresUrl>,
    /// How late a list from a replica may be.
    pub(crate) read_lag: Duration,
    /// Its parameters, as they are shown.
    query: String,
    has_password: bool,
}

impl FromStr for PostgresUrl {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Self::in_schema(text, SCHEMA)
    }
}

impl PostgresUrl {
    /// The URL of a database of another program: its tables are in `public`, unless the URL names a schema.
    ///
    /// # Errors
    /// If it is not such a URL. The reason does not quote it: it may hold a password.
    pub fn of_another_program(text: &str) -> Result<Self, Invalid> {
        Self::in_schema(text, "public")
    }

    fn in_schema(text: &str, schema: &str) -> Result<Self, Invalid> {
        let refuse = |rule: String| Invalid::parameter("store", rule);
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        // The text after the first one would be taken for the host, and shown.
        if base.matches('@').count() > 1 {
            return Err(refuse("has more than one @; write one that belongs to a password as %40".into()));
        }
        let (mut schema, mut max_connections) = (schema.to_owned(), MAX_CONNECTIONS);
        let (mut call_timeout, mut read_lag) = (CALL_TIMEOUT_SECONDS, READ_LAG_SECONDS);
        let mut read_from = "";
        let mut rest = Vec::new();
        let mut tls = Tls::default();
        let mut shown = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            if is_shown(parameter) {
                shown.push(parameter);
            }
            match parameter.split_once('=') {
                Some(("schema", name)) if is_name(name) => name.clone_into(&mut schema),
                Some(("schema", name)) => {
                    let rule = "a schema has 1 to 63 lower-case letters, digits and _, and begins with no digit";
                    return Err(refuse(format!("'{name}': {rule}")));
                }
                Some(("max_connections", number)) => {
                    let number = number.parse().ok().filter(|number| (1..=1_000).contains(number));
                    max_connections =
                        number.ok_or_else(|| refuse("max_connections is a number from 1 to 1000".into()))?;
                }
                Some(("call_timeout", seconds)) => {
                    let rule = || refuse(format!("call_timeout is 1 to {CALL_TIMEOUT_SECONDS_MAX} seconds"));
                    let seconds = seconds.parse().ok();
                    let seconds = seconds.filter(|seconds| (1..=CALL_TIMEOUT_SECONDS_MAX).contains(seconds));
                    call_timeout = seconds.ok_or_else(rule)?;
                }
                Some(("read_from", hosts)) => read_from = hosts,
                Some(("read_lag", seconds)) => {
                    let rule = || refuse(format!("read_lag is 1 to {READ_LAG_SECONDS_MAX} seconds"));
                    let seconds = seconds.parse().ok();
                    let seconds = seconds.filter(|seconds| (1..=READ_LAG_SECONDS_MAX).contains(seconds));
                    read_lag = seconds.ok_or_else(rule)?;
                }
                Some(("sslmode", "verify-ca")) => tls.verify = Verify::Authority,
                Some(("sslmode", "verify-full")) => tls.verify = Verify::Host,
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", path)) => tls.roots = Some(path.into()),
                _ => rest.push(parameter),
            }
        }
        let url = if rest.is_empty() { base.to_owned() } else { format!("{base}?{}", rest.join("&")) };
        // What is wrong is said without the URL itself: it may hold a password.
        let mut config = Config::from_str(&url).map_err(|error| {
            let source = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            refuse(format!("not a PostgreSQL URL ({source}); use postgres://user:password@host:port/database"))
        })?;
        if tls.verify != Verify::Nothing {
            config.ssl_mode(SslMode::Require);
        }
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_user().is_none() {
            let user = std::env::var("PGUSER").or_else(|_| std::env::var("USER"));
            let user = user.map_err(|_| refuse("names no user; use postgres://user@host/database".into()))?;
            config.user(user);
        }
        let has_password = config.get_password().is_some();
        if !has_password && let Ok(password) = std::env::var("PGPASSWORD") {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("threadkeep");
        }
        config.keepalives_idle(SILENCE_MAX / 2).tcp_user_timeout(SILENCE_MAX);
        let replicas = Self::replicas(base, query, read_from, &schema)?;
        let (call_timeout, read_lag) = (Duration::from_secs(call_timeout), Duration::from_secs(read_lag));
        let query = shown.join("&");
        Ok(Self { config, schema, max_connections, call_timeout, tls, replicas, read_lag, query, has_password })
    }

    /// The URLs of the replicas in `read_from`: the same database and user on other hosts.
    fn replicas(base: &str, query: &str, read_from: &str, schema: &str) -> Result<Vec<Self>, Invalid> {
        let refuse =
            || Invalid::parameter("store", format!("read_from is HOST[:PORT], at most {REPLICAS_MAX} with commas"));
        let hosts: Vec<&str> = read_from.split(',').filter(|host| !host.is_empty()).collect();
        if hosts.len() > REPLICAS_MAX || hosts.iter().any(|host| host.contains(['@', '/', '#'])) {
            return Err(refuse());
        }
        let (scheme, place) = base.split_once("://").ok_or_else(refuse)?;
        let (login, place) = place.rsplit_once('@').map_or(("", place), |(login, place)| (login, place));
        let at = if login.is_empty() { "" } else { "@" };
        let database = place.split_once('/').map_or("", |(_, database)| database);
        // A standby accepts no writes, and has no replicas of ours.
        let is_kept = |parameter: &&str| {
            let key = parameter.split('=').next().unwrap_or_default();
            !["read_from", "target_session_attrs", "host", "hostaddr", "port"].contains(&key)
        };
        let query = query.split('&').filter(is_kept).collect::<Vec<_>>().join("&");
        hosts
            .iter()
            .map(|host| Self::in_schema(&format!("{scheme}://{login}{at}{host}/{database}?{query}"), schema))
            .collect()
    }
}

/// Whether a parameter holds no password. Keys that are not plain may spell anything.
fn is_shown(parameter: &str) -> bool {
    let key = parameter.split('=').next().unwrap_or_default();
    key != "password" && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
    (1..=63).contains(&name.len())
        && name.bytes().all(|byte| letter(byte) || byte.is_ascii_digit())
        && name.bytes().next().is_some_and(letter)
        && !name.starts_with("pg_")
}

impl PostgresUrl {
    /// Whether the URL itself holds a password, so that the URL as it is shown lacks something.
    pub fn has_password(&self) -> bool {
        self.has_password
    }

    /// How many of the connections are kept for plain appends and quick forks.
    pub(crate) fn lines(&self) -> usize {
        (self.max_connections / 2).clamp(1, LINES_MAX)
    }

    /// How many are for everything else.
    pub(crate) fn pool(&self) -> usize {
        self.max_connections.saturating_sub(self.lines()).max(1)
    }

    /// The user who connects.
    pub(crate) fn user(&self) -> &str {
        self.config.get_user().unwrap_or_default()
    }

    /// The database; PostgreSQL takes the user's name where none is given.
    pub(crate) fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.user())
    }

    /// How long a server may take to authenticate a connection. The timeout of the URL is only for reaching it.
    pub(crate) fn entry_timeout(&self) -> Duration {
        2 * *self.config.get_connect_timeout().unwrap_or(&CONNECT_TIMEOUT)
    }

    /// Settings for every connection, on top of the caller's own: which schema, how long anything may take, and plans
    /// that do not depend on how full the tables were when a statement was first used.
    pub(crate) fn with_settings(&self, settings: &[(&str, &str)]) -> Config {
        let mut options = self.config.get_options().unwrap_or_default().to_owned();
        for (name, value) in settings {
            let value = value.replace('\\', "\\\\").replace(' ', "\\ ");
            options.push_str(&format!(" -c {name}={value}"));
        }
        let mut config = self.config.clone();
        config.options(options.trim_start());
        config
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "postgres://{}@", Encoded(self.user()))?;
        let ports = self.config.get_ports();
        for (at, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) if name.contains(':') => write!(f, "{comma}[{name}]")?,
                Host::Tcp(name) => write!(f, "{comma}{}", Encoded(name))?,
                Host::Unix(path) => write!(f, "{comma}{}", Encoded(&path.to_string_lossy()))?,
            }
            if let Some(port) = ports.get(at).or(ports.first()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", Encoded(self.database()))?;
        if self.query.is_empty() { Ok(()) } else { write!(f, "?{}", self.query) }
    }
}

impl PartialEq for PostgresUrl {
    fn eq(&self, other: &Self) -> bool {
        fn place(url: &PostgresUrl) -> (&[Host], &[u16], &str, &str) {
            let ports = url.config.get_ports();
            let ports = if ports.is_empty() { &[5432] } else { ports };
            (url.config.get_hosts(), ports, url.database(), &url.schema)
        }
        place(self) == place(other)
    }
}

impl Eq for PostgresUrl {}

/// A part of a URL: characters that could end it are written as %XX.
struct Encoded<'a>(&'a str);

impl fmt::Display for Encoded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.bytes().try_for_each(|byte| match byte {
            b'-' | b'.' | b'_' | b'~' => write!(f, "{}", char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => write!(f, "{}", char::from(byte)),
            byte => write!(f, "%{byte:02X}"),
        })
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (text, shown) in [
            ("postgres://ann:secret@db.example:6432/work", "postgres://ann@db.example:6432/work"),
            (
                "postgresql://ann:secret@db/work?schema=team_1&sslmode=disable",
                "postgres://ann@db:5432/work?schema=team_1&sslmode=disable",
            ),
            ("postgres://ann:secret@one,two/work", "postgres://ann@one:5432,two:5432/work"),
            (
                "postgres://ann@db/work?password=secret&connect_timeout=3",
                "postgres://ann@db:5432/work?connect_timeout=3",
            ),
            ("postgres://ann@db/work?pass%77ord=secret", "postgres://ann@db:5432/work"),
            ("postgres://ann%40home:sec%40ret@[::1]/a%2Fb", "postgres://ann%40home@[::1]:5432/a%2Fb"),
            ("postgres://ann:secret@%2Frun%2Fpg/work", "postgres://ann@%2Frun%2Fpg:5432/work"),
        ] {
            let url: PostgresUrl = text.parse().expect("a url");
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
            assert!(url.has_password());
            let again: PostgresUrl = shown.parse().expect("what is shown is a URL");
            assert_eq!((again.to_string().as_str(), again.has_password()), (shown, false));
        }
        let refused = "postgres://ann:sec@ret@db/work".parse::<PostgresUrl>().expect_err("two @");
        assert!(!refused.to_string().contains("ret"), "{refused}");
    }

    #[test]
    fn two_urls_are_equal_if_they_name_the_same_place() {
        let parsed = |text: &str| text.parse::<PostgresUrl>().expect("a url");
        let place = parsed("postgres://ann@localhost/work");
        for same in ["postgres://bob:secret@localhost:5432/work?max_connections=3", "postgres://ann@/work"] {
            assert_eq!(parsed(same), place, "{same}");
        }
        for other in ["ann@localhost/other", "ann@localhost/work?schema=x", "ann@localhost:1/work", "ann@db/work"] {
            assert_ne!(parsed(&format!("postgres://{other}")), place, "{other}");
        }
    }

    #[test]
    fn replicas_are_the_same_database_on_other_hosts() {
        let text =
            "postgres://ann:secret@one,two/work?schema=x&target_session_attrs=read-write&read_from=three:6432,four";
        let url: PostgresUrl = text.parse().expect("a url");
        let shown: Vec<String> = url.replicas.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["postgres://ann@three:6432/work?schema=x", "postgres://ann@four:5432/work?schema=x"]);
        assert!(url.replicas.iter().all(|replica| replica.config.get_password() == url.config.get_password()));
        assert_eq!(url.read_lag, Duration::from_secs(READ_LAG_SECONDS));
        let none: PostgresUrl = "postgres://ann@one/work".parse().expect("a url");
        assert!(none.replicas.is_empty());
    }

    #[test]
    fn our_own_parameters_are_taken_out_and_checked() {
        let url: PostgresUrl = "postgres://a@h/d?max_connections=3&schema=x&connect_timeout=2".parse().expect("a url");
        assert_eq!((url.max_connections, url.schema.as_str()), (3, "x"));
        assert_eq!(url.call_timeout, Duration::from_secs(CALL_TIMEOUT_SECONDS));
        assert_eq!(url.config.get_connect_timeout(), Some(&Duration::from_secs(2)));
        for bad in [
            "schema=",
            "schema=A",
            "schema=1a",
            "schema=pg_x",
            "schema=a-b",
            "max_connections=0",
            "call_timeout=0",
            "read_lag=0",
            "read_from=b@c",
            "read_from=b/c",
            "nonsense=1",
        ] {
            let refused = format!("postgres://a:secret@h/d?{bad}").parse::<PostgresUrl>().expect_err(bad);
            assert!(!refused.to_string().contains("secret"), "{refused}");
        }
    }
}
