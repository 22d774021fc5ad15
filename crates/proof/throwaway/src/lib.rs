//! Throwaway servers for tests: PostgreSQL, PgBouncer and Redis, from Debian's packages `postgresql`, `pgbouncer` and
//! `redis-server` or from the path.
//!
//! A test asks for a [`schema`] of its own on the server that its process shares, and hands [`Schema::url`] to the store.
//! A test that crashes its server starts a [`Cluster`] of its own, and a standby of it with [`Cluster::standby`]. Nothing
//! outlives the test process, however it ends.
//!
//! `cluster` starts and stops a server, `standby` makes one that follows another, `installation` finds its programs and
//! runs them, `sql` asks a server. [`RedisServer`] is a Redis, [`Pooler`] a PgBouncer, and
//! `s3` (feature `s3`) an S3 service.

mod cluster;
mod error;
mod installation;
mod pooler;
mod redis;
#[cfg(feature = "s3")]
pub mod s3;
mod sql;
mod standby;

pub use cluster::{Cluster, Hung};
pub use error::Error;
pub use pooler::Pooler;
pub use redis::RedisServer;
pub use sql::sql;

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names a server that is used instead of one of our own. It is neither started nor stopped, and every [`Schema`] made on
/// it is dropped again.
const URL_VARIABLE: &str = "THREADKEEP_TEST_POSTGRES_URL";

enum Server {
    /// Held so that it runs for as long as this process does.
    Ours {
        url: String,
        _cluster: Cluster,
    },
    Foreign {
        url: String,
    },
}

impl Server {
    fn url(&self) -> &str {
        match self {
            Server::Ours { url, .. } | Server::Foreign { url } => url,
        }
    }
}

/// The server of this process. A failure is kept, so that every test says the reason and not only the first.
fn server() -> &'static Server {
    static SERVER: LazyLock<Result<Server, Error>> = LazyLock::new(|| match std::env::var(URL_VARIABLE) {
        Ok(url) => Ok(Server::Foreign { url }),
        Err(_) => Cluster::start().map(|cluster| Server::Ours { url: cluster.url(), _cluster: cluster }),
    });
    match &*SERVER {
        Ok(server) => server,
        Err(error) => panic!(
            "no PostgreSQL for this test: {error}\n\
             Install it (apt-get install postgresql), or set {URL_VARIABLE} to the URL of a server that tests may use."
        ),
    }
}

/// The URL of the server that the tests of this process share: the one in `THREADKEEP_TEST_POSTGRES_URL` if that is set,
/// else a [`Cluster`] that is started at the first call.
///
/// # Panics
/// If there is no PostgreSQL, with what to install. A test is never skipped.
#[must_use]
pub fn postgres() -> &'static str {
    server().url()
}

/// A schema for one test, on the server that [`postgres`] names. See [`schema`].
#[derive(Debug)]
pub struct Schema {
    name: String,
}

/// A fresh schema name that no other test uses. The schema itself is made by the store that is given [`Schema::url`].
///
/// # Panics
/// As [`postgres`] does.
#[must_use]
pub fn schema() -> Schema {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    server();
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Schema { name: format!("test_{process}_{count}_{}", random_hex::<4>()) }
}

impl Schema {
    /// The name: lower case letters, digits and underscores, so that it needs no quotes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The server's URL with `schema=NAME` in its query, as the PostgreSQL store and [`sql`] understand it.
    #[must_use]
    pub fn url(&self) -> String {
        let server = postgres();
        let separator = if server.contains('?') { '&' } else { '?' };
        format!("{server}{separator}schema={}", self.name)
    }
}

impl Drop for Schema {
    /// Leaves nothing behind on a foreign server; our own goes as a whole.
    fn drop(&mut self) {
        match server() {
            Server::Ours { .. } => {}
            Server::Foreign { url } => {
                // A connection that the test left open may hold a lock for as long as it likes.
                let drop = format!("set lock_timeout = '10s'; drop schema if exists {} cascade", self.name);
                if let Err(error) = sql::try_sql(url, &drop) {
                    // A second panic would abort the process and hide the first.
                    assert!(std::thread::panicking(), "schema {} is left behind: {error}", self.name);
                    eprintln!("schema {} is left behind: {error}", self.name);
                }
            }
        }
    }
}

/// Below the ports that systems hand out for outgoing connections, so that none of those takes a crashed server's port.
const PORTS: std::ops::Range<u16> = 15_000..32_000;

fn random_port() -> u16 {
    let random = getrandom::u32().expect("the system has random bytes");
    let below_length = random % u32::from(PORTS.end - PORTS.start);
    PORTS.start + u16::try_from(below_length).expect("the range is shorter than 65536")
}

/// `BYTES` random bytes as lower case hex.
fn random_hex<const BYTES: usize>() -> String {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    bytes.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes what is written to it");
        hex
    })
}
