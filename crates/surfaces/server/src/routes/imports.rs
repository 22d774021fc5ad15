//! Conversations of other agents, sent as a file.

use serde::Deserialize;
use threadkeep_calls::{ErrorCode, ImportReport, Problem, Status};
use threadkeep_transcripts::import::{Failed, Options, Received};
use threadkeep_transcripts::shape::Source;

use crate::access::Writing;
use crate::answer::{Answer, Refused, json};
use crate::input::{Flag, Lines, Query};
use crate::table::{self, Gives, Routes};

/// What a file is.
#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    /// The agent that wrote it, such as `claude-code`, `codex` or `chatgpt`.
    source: String,
    /// The name of the file. Its ending tells the format where an agent has several.
    name: Option<String>,
    /// Counts what an import would do, and writes nothing.
    #[serde(default)]
    dry_run: Flag,
}

pub(crate) fn routes() -> Routes {
    let import = table::post(
        ("importSessions", "/v1/import"),
        "Imports a file of another agent's conversations. Sending it again adds only what is new.",
        import,
        Gives::json::<ImportReport>("What was imported."),
    );
    let import = import.fails([ErrorCode::TooLarge, ErrorCode::CannotRead, ErrorCode::Forbidden]);
    Routes::new("Upkeep", "", [import])
}

async fn import(Writing(access): Writing, Query(asked): Query<Asked>, Lines(mut chunks): Lines) -> Answer {
    let source: Source = asked.source.parse()?;
    let bytes_max = access.engine.limits().file_bytes_max as u64;
    let unwritten = |error: std::io::Error| -> Refused {
        let detail = format!("the file cannot be received: {error}");
        Problem::new(Status::Unavailable, ErrorCode::CannotWrite, detail).into()
    };
    let mut received = Received::begin(source, asked.name.as_deref().unwrap_or_default()).map_err(unwritten)?;
    while let Some(chunk) = chunks.next().await? {
        if received.bytes() + chunk.len() as u64 > bytes_max {
            let detail = format!("a file has at most {bytes_max} bytes");
            return Err(Problem::new(Status::TooLarge, ErrorCode::TooLarge, detail).into());
        }
        received.write(&chunk).map_err(unwritten)?;
    }
    let options = Options { is_dry: asked.dry_run.0, ..Options::default() };
    match received.import(&access.engine, &options).await {
        Ok(report) => Ok(json(&report)),
        Err(Failed::Store(error)) => Err(error.into()),
        Err(Failed::Ledger(refused)) => {
            Err(Problem::new(Status::Unavailable, ErrorCode::CannotWrite, refused.to_string()).into())
        }
    }
}
