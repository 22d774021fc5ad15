//! The server's own routes in this process, on a store that is open here: commands talk to it if no server runs.

use std::path::PathBuf;
use std::sync::Arc;

use http_body_util::BodyExt;
use threadkeep::runtime::LocalModels;
use threadkeep::{Engine, sandbox};
use threadkeep_client::{Client, Error, Exchange, Key, Request, Retry, Settings, Transport};
use threadkeep_server::{Cells, Local, ValidationSettings};

/// How this process serves itself.
#[derive(Debug, Clone)]
pub(crate) struct Inside {
    /// How merges are checked.
    pub(crate) validation: ValidationSettings,
    /// How code is caged.
    pub(crate) sandbox: sandbox::Settings,
    /// The folder of definitions.
    pub(crate) definitions: PathBuf,
    /// Where model servers on this machine are looked for.
    pub(crate) local_models: LocalModels,
}

/// How requests travel within this process.
#[derive(Clone)]
struct Within(Local);

impl Transport for Within {
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

/// A client of the store that `engine` has open, or of all `cells`, of which that is the home cell. If the store is away, that
/// is reported at once.
pub(crate) fn client(engine: Engine, cells: Option<Cells>, inside: Inside) -> Result<Client, Error> {
    let Inside { validation, sandbox, definitions, local_models } = inside;
    let local = Local::with_cells(engine, cells, validation, sandbox, Some(definitions), local_models);
    let key = Key::new(local.key());
    let settings = Settings { retry: Retry::never(), answer_max: NEVER, silence_max: NEVER, ..Settings::default() };
    Client::over(Arc::new(Within(local)), "this process", key, settings)
}

/// A server in this process answers, however long the store takes.
const NEVER: std::time::Duration = std::time::Duration::from_secs(365 * 24 * 3_600);
