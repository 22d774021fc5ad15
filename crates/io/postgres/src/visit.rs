//! A look into a database of another program, over a connection that cannot write.

use threadkeep_store::{Result, StoreError};
use tokio_postgres::Client;

use crate::error::{cannot_open, silent};
use crate::url::PostgresUrl;

/// Longest time of one statement, in seconds.
const STATEMENT_SECONDS_MAX: u64 = 600;

/// Connects to the database at `url` for reading. Every transaction is read-only, and unqualified names are looked up in
/// the schema of the URL. The current runtime carries the connection until the client is dropped.
///
/// # Errors
/// If the server cannot be reached, or does not let the user in.
pub async fn visit(url: &PostgresUrl) -> Result<Client> {
    let limit = format!("{STATEMENT_SECONDS_MAX}s");
    let config = url.with_settings(&[
        ("default_transaction_read_only", "on"),
        ("statement_timeout", &limit),
        ("search_path", &url.schema),
    ]);
    let tls = url.tls.connector().map_err(|what| StoreError::CannotOpen { path: url.to_string(), what })?;
    let connecting = tokio::time::timeout(url.entry_timeout(), config.connect(tls));
    let connected = connecting.await.map_err(|_| silent(url))?;
    let (client, connection) = connected.map_err(|error| cannot_open(&error, url))?;
    tokio::spawn(connection);
    Ok(client)
}
