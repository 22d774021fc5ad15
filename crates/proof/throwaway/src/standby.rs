//! A second server that follows a first one by streaming replication, and can take its place.

use std::time::{Duration, Instant};

use crate::cluster::{Cluster, SUPERUSER};
use crate::installation::run;
use crate::{Error, sql};

/// How long a standby may take to connect.
const CONNECTED_MAX: Duration = Duration::from_secs(60);

impl Cluster {
    /// A standby of this server: a copy of its data that follows it and answers reads. It accepts connections once this
    /// returns. See [`waits_for_standby`](Self::waits_for_standby) and [`promote`](Self::promote).
    ///
    /// # Errors
    /// If the copy cannot be made, or its server does not start.
    pub fn standby(&self) -> Result<Cluster, Error> {
        let (port, password) = (self.port, &self.password);
        let primary = format!("host=127.0.0.1 port={port} user={SUPERUSER} password={password}");
        Cluster::start_from(password.clone(), |standby| {
            let mut command = standby.command("pg_basebackup")?;
            command.args(["--dbname", &primary, "--wal-method=stream", "--checkpoint=fast", "--no-sync"]);
            // The same settings as the primary, and how to reach it.
            run(command.arg("--write-recovery-conf").arg("--pgdata").arg(standby.data())).map(drop)
        })
    }

    /// From now on, a commit is acknowledged once a standby has it on disk, too. One is connected when this returns.
    ///
    /// # Panics
    /// If no standby connects.
    pub fn waits_for_standby(&self) {
        sql(&self.url(), "ALTER SYSTEM SET synchronous_standby_names = '*'");
        sql(&self.url(), "SELECT pg_reload_conf()");
        let connected = "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')";
        let began = Instant::now();
        while sql(&self.url(), connected).is_empty() {
            assert!(began.elapsed() < CONNECTED_MAX, "no standby follows the server");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Makes this standby a primary. It accepts writes once this returns.
    ///
    /// # Errors
    /// If it is no standby.
    pub fn promote(&self) -> Result<(), Error> {
        run(self.pg_ctl("promote")?.arg("--wait")).map(drop)
    }

    /// The URL of both servers, which leads to the one that accepts writes.
    #[must_use]
    pub fn url_with(&self, other: &Cluster) -> String {
        format!(
            "postgres://{SUPERUSER}:{}@127.0.0.1:{},127.0.0.1:{}/postgres?target_session_attrs=read-write",
            self.password, self.port, other.port
        )
    }
}
