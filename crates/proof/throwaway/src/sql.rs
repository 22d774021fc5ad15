//! Asks a server as a test would: blocking, and everything as text.

use std::time::Duration;

use tokio_postgres::{Config, NoTls, SimpleQueryMessage};

use crate::Error;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

type Rows = Vec<Vec<Option<String>>>;

/// Runs one or more statements on the server at `url`, and gives the rows of all of them. In the schema that the URL names
/// with `schema=NAME`, if it does. Works from inside a runtime as well.
///
/// # Panics
/// If the server is not there or refuses a statement, with its reason.
#[track_caller]
pub fn sql(url: &str, sql: &str) -> Vec<Vec<Option<String>>> {
    match try_sql(url, sql) {
        Ok(rows) => rows,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) fn try_sql(url: &str, sql: &str) -> Result<Rows, Error> {
    let (url, schema) = without_schema(url);
    let mut config: Config = url.parse().map_err(|error| Error::because("the URL of a PostgreSQL server", &error))?;
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    // A thread of its own, because a runtime cannot block on another one in the same thread.
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| Error::because("starting a runtime", &error))?.block_on(ask(&config, schema, sql))
        });
        asking.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

async fn ask(config: &Config, schema: Option<&str>, sql: &str) -> Result<Rows, Error> {
    let (client, connection) =
        config.connect(NoTls).await.map_err(|error| Error::because("connecting to PostgreSQL", &error))?;
    let connection = tokio::spawn(connection);
    if let Some(schema) = schema {
        let search_path = format!("set search_path to \"{}\"", schema.replace('"', "\"\""));
        client
            .batch_execute(&search_path)
            .await
            .map_err(|error| Error::because(format_args!("`{search_path}`"), &error))?;
    }
    let answer = client.simple_query(sql).await.map_err(|error| Error::because(format_args!("`{sql}`"), &error))?;
    // The farewell is sent before the runtime goes. How the connection ended no longer matters: the answer is here.
    drop(client);
    let _ = connection.await;
    Ok(answer
        .into_iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some((0..row.len()).map(|i| row.get(i).map(str::to_owned)).collect()),
            _ => None,
        })
        .collect())
}

/// Takes our own parameter out of a URL: the driver refuses what it does not know.
fn without_schema(url: &str) -> (String, Option<&str>) {
    let Some((server, query)) = url.split_once('?') else { return (url.to_owned(), None) };
    let schema = query.split('&').find_map(|parameter| parameter.strip_prefix("schema="));
    let others: Vec<_> = query.split('&').filter(|parameter| !parameter.starts_with("schema=")).collect();
    let url = if others.is_empty() { server.to_owned() } else { format!("{server}?{}", others.join("&")) };
    (url, schema)
}
