//! `invokeTool`: one call at once, without a run. Its events are logged, and what it held back is committed with its result.

use serde_json::{Map, Value, json};
use threadkeep_calls::{ToolFile, ToolStatus, ToolTold};
use threadkeep_engine::{Engine, Error, NewFile};
use threadkeep_model::{Event, EventKind, Json, ThreadId};

use super::Held;
use crate::attempt::{Attempt, Call, Cancel, Outcome, ToolResult};
use crate::{Runtime, RuntimeError};

/// Where files that come with a result lie.
const ATTACHMENTS: &str = "/attachments";

impl ToolResult {
    /// The result for the wire. `files` are its attachments, as they lie in the thread.
    pub(crate) fn shown(&self, files: &[ToolFile]) -> ToolTold {
        let status = if self.is_success() { ToolStatus::Success } else { ToolStatus::Error };
        ToolTold { status, result: self.result.clone(), error: self.error.clone(), attachments: files.to_vec() }
    }
}

impl Runtime {
    /// Runs a tool on a thread at once, for the caller of `who`, and logs its call and its result.
    ///
    /// # Errors
    /// As [`Runtime::run_tool`]. A tool that fails is no error: its result says so.
    pub async fn invoke(
        &self,
        who: &Engine,
        thread: ThreadId,
        (name, args): (&str, Map<String, Value>),
        cancel: &Cancel,
    ) -> Result<ToolTold, RuntimeError> {
        let on = self.attempt(who, thread).await?;
        let call = Call { id: who.new_id().to_string(), name: name.to_owned(), args };
        self.invoke_on(&on, &call, cancel).await
    }

    /// Runs one call and logs it, as part of an attempt.
    pub(crate) async fn invoke_on(&self, on: &Attempt, call: &Call, cancel: &Cancel) -> Result<ToolTold, RuntimeError> {
        let log = on.who.for_code();
        let ready = match self.prepared(on, call).await? {
            Ok(ready) => ready,
            // What did not begin is not logged.
            Err(refused) => return Ok(refused.shown(&[])),
        };
        let used = json!({ "id": call.id, "name": call.name, "input": call.args });
        log.append_event(on.thread, event(EventKind::ToolUse, &used)?).await?;
        let outcome = match self.carry_out(on, &ready, call, cancel).await {
            Ok(outcome) => outcome,
            Err(error) => {
                let told = ToolResult::failure(error.to_string());
                log_result(&log, on.thread, call, &told.shown(&[]), Held::default()).await?;
                return Err(error);
            }
        };
        let Outcome { result, held, .. } = outcome;
        let told = match files(&log, on.thread, call, &result).await {
            Ok(files) => result.shown(&files),
            Err(error @ Error::ApprovalRequired { .. }) => return Err(error.into()),
            Err(error) => ToolResult::failure(error.to_string()).shown(&[]),
        };
        let held = if told.status == ToolStatus::Success { held } else { Held::default() };
        match log_result(&log, on.thread, call, &told, held).await {
            Ok(()) => Ok(told),
            // The commit refused what was held back: the result is an error, without it.
            Err(error) => {
                let told = ToolResult::failure(error.to_string()).shown(&[]);
                log_result(&log, on.thread, call, &told, Held::default()).await?;
                Ok(told)
            }
        }
    }
}

fn event(kind: EventKind, data: &Value) -> Result<Event, Error> {
    Ok(Event { kind, data: Json::parse("data", &data.to_string())? })
}

/// Logs the result with all that was held back, in one commit.
async fn log_result(log: &Engine, thread: ThreadId, call: &Call, told: &ToolTold, held: Held) -> Result<(), Error> {
    let mut data = json!({ "toolUseId": call.id, "name": call.name });
    if let (Some(data), Value::Object(told)) = (data.as_object_mut(), json!(told)) {
        data.extend(told);
    }
    log.log_tool(thread, Some(event(EventKind::Result, &data)?), held).await.map(drop)
}

/// Writes the attachments of a result to the thread.
async fn files(log: &Engine, thread: ThreadId, call: &Call, result: &ToolResult) -> Result<Vec<ToolFile>, Error> {
    let mut written = Vec::new();
    for file in &result.attachments {
        let path = format!("{ATTACHMENTS}/{}-{}", call.id, file.name);
        let mut new = NewFile::new(&path, bytes::Bytes::from(file.bytes.clone()))?;
        new.mime_type = Some(file.mime_type.clone());
        log.write_file(thread, new).await?;
        let (name, mime_type, size) = (file.name.clone(), file.mime_type.clone(), file.bytes.len() as u64);
        written.push(ToolFile { path, name, mime_type, size });
    }
    Ok(written)
}
