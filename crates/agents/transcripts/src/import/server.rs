//! Conversations in the database of a server, which is read over a connection that cannot write.

use std::time::SystemTime;

use threadkeep_model::Invalid;

use super::places::Found;
use crate::shape::Source;

/// The address of a server, with its password.
#[cfg(feature = "postgres")]
pub(crate) type Address = threadkeep_postgres::PostgresUrl;

/// The address of a server: this program can read none.
#[cfg(not(feature = "postgres"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Address {}

/// Whether `place` is the URL of a server, and not a path.
pub fn is_server(place: &str) -> bool {
    place.starts_with("postgres://") || place.starts_with("postgresql://")
}

/// The conversations of `source` at the server that `url` names. What is found is shown without the password.
///
/// # Errors
/// If the source has none on servers, or the URL is not one. The reason does not quote the URL.
pub fn server(source: Source, url: &str) -> Result<Found, Invalid> {
    if source != Source::LangGraph {
        let rule = format!("{source} keeps no conversations on a PostgreSQL server; name a file or a folder");
        return Err(Invalid::parameter("path", rule));
    }
    let address = address(url)?;
    // Nothing tells how much it holds or when it changed: the rows themselves are asked.
    Ok(Found { source, path: shown(&address).into(), bytes: 0, modified: SystemTime::now(), server: Some(address) })
}

#[cfg(feature = "postgres")]
fn address(url: &str) -> Result<Address, Invalid> {
    Address::of_another_program(url).map_err(|invalid| Invalid::parameter("path", invalid.rule))
}

#[cfg(feature = "postgres")]
fn shown(address: &Address) -> String {
    address.to_string()
}

#[cfg(not(feature = "postgres"))]
fn address(_: &str) -> Result<Address, Invalid> {
    Err(Invalid::parameter("path", "this program was built without PostgreSQL (feature `postgres`)"))
}

#[cfg(not(feature = "postgres"))]
fn shown(address: &Address) -> String {
    match *address {}
}
