//! A PostgreSQL server to measure on, and the one schema on it that this program makes, uses and drops.

use std::error::Error as _;
use std::future::Future;

use threadkeep::{PostgresUrl, SystemWorld, World};
use tokio::runtime::Handle;
use tokio_postgres::{Client, Config, NoTls, Row};

use crate::Result;
use crate::meter::typical_micros;
use crate::report::Unit;

/// A server and a schema. Nothing else there is touched.
pub(crate) struct Server {
    runtime: Handle,
    config: Config,
    schema: String,
    /// With the schema and, if it has one, the password: never shown.
    url: String,
    shown: String,
}

impl Server {
    /// The server at `url`. If the URL names no schema, a new one is made up.
    ///
    /// # Errors
    /// If the server cannot be reached, or the schema is there already: it is dropped in the end.
    pub(crate) fn reach(url: &str, runtime: &Handle) -> Result<Self> {
        // The store's own checks, which never say the password.
        url.parse::<PostgresUrl>()?;
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut for_us, mut for_all) = (None, Vec::new(), Vec::new());
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("schema", name)) => schema = Some(name.to_owned()),
                Some(("max_connections", _)) => for_us.push(parameter),
                _ => for_all.push(parameter),
            }
        }
        let schema = schema.unwrap_or_else(|| format!("threadkeep_bench_{:016x}", SystemWorld.chance() as u64));
        let mut config: Config = format!("{base}?{}", for_all.join("&")).parse()?;
        if config.get_hosts().is_empty() {
            config.host("localhost");
        }
        if config.get_user().is_none() {
            config.user(std::env::var("PGUSER").or_else(|_| std::env::var("USER"))?);
        }
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        let options = config.get_options().unwrap_or_default().to_owned();
        config.options(format!("{options} -c search_path={schema}").trim_start());
        let named = format!("schema={schema}");
        let parameters: Vec<&str> = for_all.into_iter().chain(for_us).chain([named.as_str()]).collect();
        let url = format!("{base}?{}", parameters.join("&"));
        let shown = url.parse::<PostgresUrl>()?.to_string();
        let server = Self { runtime: runtime.clone(), config, schema, url, shown };
        let found = server.ask("SELECT 1 FROM pg_namespace WHERE nspname = current_setting('search_path')")?;
        if !found.is_empty() {
            let schema = &server.schema;
            return Err(format!("schema '{schema}' is there already; name a new one, it is dropped in the end").into());
        }
        Ok(server)
    }

    /// The URL of the store in the schema. It may hold a password.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A connection that looks into the schema.
    pub(crate) async fn connect(&self) -> Result<Client> {
        let (client, connection) = self.config.connect(NoTls).await.map_err(|error| self.explain(&error))?;
        // It ends with the client.
        self.runtime.spawn(connection);
        Ok(client)
    }

    /// The rows that one statement gives, on a connection of its own.
    pub(crate) fn ask(&self, sql: &str) -> Result<Vec<Row>> {
        self.wait(async { Ok(self.connect().await?.query(sql, &[]).await.map_err(|error| self.explain(&error))?) })
    }

    /// Runs statements on a connection of their own.
    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.wait(async { Ok(self.connect().await?.batch_execute(sql).await.map_err(|error| self.explain(&error))?) })
    }

    /// Waits for `work` on the server.
    pub(crate) fn wait<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.runtime.block_on(work)
    }

    /// Leaves all tables as they are at rest.
    pub(crate) fn settle(&self) -> Result<()> {
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()";
        for table in self.ask(tables)? {
            self.run(&format!("VACUUM (ANALYZE) {}", table.get::<_, &str>(0)))?;
        }
        Ok(())
    }

    /// Bytes of the tables whose names are `LIKE` this, or are not, with their indexes.
    pub(crate) fn bytes(&self, like: &str) -> Result<u64> {
        let sql = format!(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
             WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname {like}"
        );
        let found = self.ask(&sql)?;
        Ok(found.first().map_or(0, |row| row.get::<_, i64>(0)) as u64)
    }

    /// Drops the schema, if it is there.
    pub(crate) fn clear(&self) {
        let drop = format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        if let Err(error) = self.run(&drop) {
            eprintln!("schema '{}' is left behind: {error}", self.schema);
        }
    }

    /// The server's version, its durability settings, and its distance.
    pub(crate) fn about(&self) -> Result<String> {
        let client = self.wait(self.connect())?;
        let ask = |sql: &str| self.wait(async { Ok(client.query_one(sql, &[]).await?) });
        let mut shown = vec![self.shown.clone()];
        for setting in ["server_version", "fsync", "synchronous_commit"] {
            shown.push(format!("{setting} {}", ask(&format!("SHOW {setting}"))?.get::<_, &str>(0)));
        }
        for (what, sql) in [
            ("a round trip takes", "SELECT 1"),
            ("8 KiB and a commit take", "SELECT 1 FROM pg_logical_emit_message(true, 'bench', repeat('x', 8192))"),
        ] {
            let statement = self.wait(async { Ok(client.prepare(sql).await?) })?;
            let took = typical_micros(50, || self.wait(async { Ok(client.execute(&statement, &[]).await.map(drop)?) }));
            shown.push(format!("{what} {}", Unit::Micros.show(took?)));
        }
        Ok(shown.join("; "))
    }

    /// The error, without the password.
    fn explain(&self, error: &tokio_postgres::Error) -> String {
        let reason = match error.as_db_error() {
            Some(said) => said.message().to_owned(),
            None => error.source().map_or_else(|| error.to_string(), ToString::to_string),
        };
        format!("{}: {reason}", self.shown)
    }
}
