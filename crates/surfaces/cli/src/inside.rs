//! The server's own routes in this process, on a store that is open here: commands talk to it if no server runs.

use std::sync::Arc;

use http_body_util::BodyExt;
use threadkeep::{Engine, sandbox};
use threadkeep_client::{Client, Error, Exchange, Key, Request, Retry, Settings, Transport};
use threadkeep_server::{Local, ValidationSettings};

/// How requests travel within this process.
#[derive(Clone)]
struct Inside(Local);

impl Transport for Inside {
    fn exchange(&self, request: Request) -> Exchange<'_> {
        Box::pin(async {
            let response = self.0.answer(request).await;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }

    fn apart(&self) -> Arc<dyn Transport> {
        Arc::new(self.clone())
    }
}

/// A client of the store that `engine` has open, with these checks of merges and this cage for code. If the store is away, that is
/// reported at once.
pub(crate) fn client(
    engine: Engine,
    validation: ValidationSettings,
    sandbox: sandbox::Settings,
) -> Result<Client, Error> {
    let local = Local::new(engine, validation, sandbox);
    let key = Key::new(local.key());
    let settings = Settings { retry: Retry::never(), answer_max: NEVER, silence_max: NEVER, ..Settings::default() };
    Client::over(Arc::new(Inside(local)), "this process", key, settings)
}

/// A server in this process answers, however long the store takes.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 3_600);
