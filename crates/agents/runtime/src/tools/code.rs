//! Tools that are code: what goes to their worker, and what comes back.

use serde_json::{Map, Value as Json};
use threadkeep_calls::NewAttachment;
use threadkeep_sandbox::Value;

use crate::attempt::{Attempt, Call, Cancel, Declared, Outcome, ToolResult};
use crate::code::{Ended, Host, Returned, said};
use crate::definitions::Name;
use crate::{Runtime, RuntimeError};

/// Most files that come with a result.
pub(crate) const ATTACHED_MAX: usize = 100;

impl Runtime {
    /// Runs a tool in a worker once. Also says whether another attempt may end otherwise: if it threw or was killed.
    pub(super) async fn run_code_tool(
        &self,
        (on, name): (&Attempt, &Name),
        declared: &Declared,
        call: &Call,
        cancel: &Cancel,
    ) -> Result<(Outcome, bool), RuntimeError> {
        let reaches = (declared.variable_names(), declared.hosts.clone());
        let host = Host::new(self, (on, name), reaches, &call.id, cancel);
        let task = self.task(on, &host, &call.args).await?;
        let ended = self.execute((on, name), task, &host, (declared.timeout, cancel)).await?;
        Ok(match ended {
            Ended::Returned(returned) => {
                let result = match read(&returned.result) {
                    Ok((mut result, paths)) => {
                        for path in paths {
                            match self.attached(on, &path).await? {
                                Some(file) => result.attachments.push(file),
                                None => result = ToolResult::failure(format!("the attachment {path} is no file")),
                            }
                        }
                        result
                    }
                    Err(rule) => ToolResult::failure(rule),
                };
                let Returned { context, stop, force_turn, .. } = returned;
                (Outcome { result, held: host.take_held(), context: Some(context), stop, force_turn }, false)
            }
            Ended::Failed(failure) => {
                let may_pass = !matches!(failure.name.as_str(), "cancelled" | "ArgumentError");
                (ToolResult::failure(said(&failure)).into(), may_pass)
            }
        })
    }

    /// What the driver of a worker gets.
    pub(crate) async fn task(
        &self,
        on: &Attempt,
        host: &Host,
        args: &Map<String, Json>,
    ) -> Result<Vec<(String, Value)>, RuntimeError> {
        let json = |value: &Json| Value::from_json(value);
        Ok(vec![
            ("args".to_owned(), json(&Json::Object(args.clone()))),
            ("record".to_owned(), json(&host.record(on.thread).await?)),
            ("context".to_owned(), json(&Json::Object(on.context.clone()))),
            ("options".to_owned(), json(&Json::Object(on.options()))),
            ("execution".to_owned(), on.execution.as_ref().map_or(Value::Null, json)),
            (
                "runtimeContext".to_owned(),
                self.shared.context.clone().map_or(Value::Undefined, |context| json(&Json::Object(context))),
            ),
        ])
    }

    /// A file of the thread that a result names.
    pub(crate) async fn attached(&self, on: &Attempt, path: &str) -> Result<Option<NewAttachment>, RuntimeError> {
        let path: threadkeep_model::FilePath = path.parse().map_err(threadkeep_engine::Error::from)?;
        let engine = on.who.for_code();
        let Some(found) = engine.stat(on.thread, &path, None).await? else { return Ok(None) };
        let Some(file) = found.file() else { return Ok(None) };
        let bytes = engine.file_content(file, None).await?.to_vec();
        let name = path.to_string().rsplit('/').next().unwrap_or_default().to_owned();
        Ok(Some(NewAttachment { name, mime_type: file.mime_type.clone(), bytes }))
    }
}

/// Reads what a tool returned: `{status, result?, error?, attachments?}`, or any other value, which is the result. Also the
/// paths of files that it attaches.
fn read(returned: &Value) -> Result<(ToolResult, Vec<String>), String> {
    let Value::Object(fields) = returned else { return Ok((ToolResult::success(returned.to_json()), Vec::new())) };
    let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let mut result = match field("status").and_then(Value::as_str) {
        Some("success") => ToolResult { result: field("result").map(Value::to_json), ..ToolResult::default() },
        Some("error") => {
            let said = field("error").or_else(|| field("result")).map(Value::to_json);
            let said = said.map(|said| said.as_str().map_or_else(|| said.to_string(), str::to_owned));
            ToolResult::failure(said.unwrap_or_else(|| "the tool failed, and did not say why".to_owned()))
        }
        Some(_) | None => return Ok((ToolResult::success(returned.to_json()), Vec::new())),
    };
    let mut paths = Vec::new();
    let attached = match field("attachments") {
        Some(Value::Array(attached)) => attached.as_slice(),
        None | Some(Value::Undefined | Value::Null) => &[],
        Some(_) => return Err("`attachments` of a result is a list".to_owned()),
    };
    if attached.len() > ATTACHED_MAX {
        return Err(format!("a result has at most {ATTACHED_MAX} attachments"));
    }
    for file in attached {
        let Value::Object(fields) = file else { return Err("an attachment is an object".to_owned()) };
        let field = |name: &str| fields.iter().find(|(known, _)| known == name).map(|(_, value)| value);
        let text = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
        match (field("data"), text("path")) {
            (Some(data), _) => {
                let bytes = match data {
                    Value::Buffer(bytes) | Value::Typed(_, bytes) => bytes.clone(),
                    Value::String(text) => text.clone().into_bytes(),
                    _ => return Err("`data` of an attachment is text or bytes".to_owned()),
                };
                let name = text("name").filter(|name| !name.is_empty() && !name.contains(['/', '\\', '\0']));
                let name = name.ok_or("an attachment has a `name` without slashes")?;
                let mime_type = text("mimeType").unwrap_or_else(|| "application/octet-stream".to_owned());
                result.attachments.push(NewAttachment { name, mime_type, bytes });
            }
            (None, Some(path)) => paths.push(path),
            (None, None) => return Err("an attachment has `data`, or the `path` of a file of the thread".to_owned()),
        }
    }
    Ok((result, paths))
}
