//! Requests of a surface in front of a model: the caller is an agent.

use axum::http::HeaderMap;
use threadkeep::Invalid;
use threadkeep_calls::{SURFACE_HEADER, SURFACE_MCP};

use crate::answer::Refused;

/// Whether a model reads the answer.
pub(crate) fn is_mcp(headers: &HeaderMap) -> bool {
    headers.get(SURFACE_HEADER).is_some_and(|surface| surface == SURFACE_MCP)
}

/// Refuses a surface that is not known: it would expect something of the server.
pub(crate) fn admit(headers: &HeaderMap) -> Result<(), Refused> {
    if headers.contains_key(SURFACE_HEADER) && !is_mcp(headers) {
        return Err(Invalid::parameter("Threadkeep-Surface", "is not mcp").into());
    }
    Ok(())
}
