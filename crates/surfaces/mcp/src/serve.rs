//! The two ways in: stdin and stdout, and streamable HTTP.

use std::convert::Infallible;
use std::fmt::Display;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};

use crate::dispatch::Dispatcher;

/// The protocol is compiled here, once for both ways, and not in the crates that serve it.
impl Dispatcher {
    /// Serves one client on stdin and stdout, until it goes away.
    ///
    /// # Errors
    /// If the client does not speak the protocol.
    pub fn serve_stdio(self) -> Pin<Box<dyn Future<Output = io::Result<()>> + Send>> {
        Box::pin(serve_stdio(self))
    }

    /// [`answer`] for this dispatcher.
    pub fn answer(
        self,
        request: http::Request<String>,
    ) -> Pin<
        Box<
            dyn Future<Output = http::Response<impl http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static>>
                + Send,
        >,
    > {
        let bytes_max = request.body().len();
        Box::pin(answer(self, request, bytes_max))
    }
}

/// Serves one client on stdin and stdout, until it goes away.
///
/// # Errors
/// If the client does not speak the protocol.
async fn serve_stdio(handler: impl ServerHandler) -> io::Result<()> {
    let running = match handler.serve(rmcp::transport::stdio()).await {
        Ok(running) => running,
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    running.waiting().await.map(drop).map_err(io::Error::other)
}

/// Answers one request over HTTP. There are no sessions: each request stands for itself.
pub async fn answer<H, B>(
    handler: H,
    request: http::Request<B>,
    body_bytes_max: usize,
) -> http::Response<impl http_body::Body<Data = Bytes, Error = Infallible> + Send + 'static>
where
    H: ServerHandler + Clone,
    B: http_body::Body + Send + 'static,
    B::Error: Display,
{
    // The server checks host and origin before.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(body_bytes_max);
    let service =
        StreamableHttpService::new(move || Ok(handler.clone()), Arc::new(NeverSessionManager::default()), config);
    service.handle(request).await
}
