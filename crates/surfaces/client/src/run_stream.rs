//! The stream of a run: text as it is made, calls of tools, and the status, until the run ends.

use threadkeep_calls::RunEvent;
use threadkeep_model::Uuid;

use crate::ask::Ask;
use crate::client::Client;
use crate::error::Error;
use crate::stream::{News, Stream};

/// Follows a run from its start. It reconnects by itself, and ends with the run.
pub struct RunStream {
    stream: Stream,
    is_over: bool,
}

impl Client {
    /// Follows a run from its start. Nothing is opened before [`RunStream::next`].
    pub fn run_stream(&self, run: Uuid) -> RunStream {
        let ask = Ask::get(format!("/v1/runs/{run}/stream"));
        RunStream { stream: Stream::new(self, ask, None, false), is_over: false }
    }
}

impl RunStream {
    /// Waits for the next event; none once the run has ended. Dropping the future loses nothing.
    ///
    /// # Errors
    /// As [`Stream::next`].
    pub async fn next(&mut self) -> Result<Option<RunEvent>, Error> {
        while !self.is_over {
            let Some(news) = self.stream.next().await? else { return Ok(None) };
            // A later version of the server may tell more.
            let News::Other { data, .. } = news else { continue };
            let Ok(event) = serde_json::from_str::<RunEvent>(&data) else { continue };
            if let RunEvent::Status { status, .. } = &event {
                self.is_over = matches!(status.as_str(), "completed" | "failed" | "stopped");
            }
            return Ok(Some(event));
        }
        Ok(None)
    }
}
