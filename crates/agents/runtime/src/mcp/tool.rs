//! Tools of MCP servers: `mcp:SERVER/TOOL`.

use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use threadkeep_calls::NewAttachment;
use threadkeep_mcp_client::{Answer, Failed, Part};
use tokio::sync::oneshot;

use super::Connection;
use crate::attempt::{Attempt, Call, Cancel, Declared, ToolResult, cancelled};
use crate::definitions::{Kind, MCP_PREFIX, McpServer, Name, Problem, Problems};
use crate::{Runtime, RuntimeError};

/// A tool of a server.
pub(crate) struct McpTool<'a> {
    /// The definition of the server.
    pub(crate) name: &'a Name,
    pub(crate) server: &'a McpServer,
    /// The tool, as the server names it.
    pub(crate) tool: String,
}

impl McpTool<'_> {
    /// As callers write it.
    fn text(&self) -> String {
        format!("{MCP_PREFIX}{}/{}", self.name.text(), self.tool)
    }

    /// As the connection knows it.
    fn on_server(&self) -> String {
        format!("{}/{}", self.name.name, self.tool)
    }
}

impl Runtime {
    async fn connected(&self, on: &Attempt, of: &McpTool<'_>) -> Result<Result<Arc<Connection>, Failed>, RuntimeError> {
        let folder: Option<&Path> = self.folder();
        self.shared.mcp.connection(on, (of.name, of.server), folder).await
    }

    /// What a tool of a server says of itself. Without declared needs, it needs the use of itself.
    ///
    /// # Errors
    /// If the server cannot be used, or has no such tool.
    pub(crate) async fn declared_mcp(&self, on: &Attempt, of: &McpTool<'_>) -> Result<Declared, RuntimeError> {
        let connection = self.connected(on, of).await?.map_err(|failed| broken(on, of, &failed))?;
        let tools = connection.servers.tools();
        let Some(found) = tools.iter().find(|tool| tool.name == of.on_server()) else {
            let near = crate::definitions::nearest(&of.on_server(), tools.iter().map(|tool| tool.name.as_str()));
            let near = near.map(|near| format!("{MCP_PREFIX}{near}"));
            return Err(Problems::NotFound { kind: Kind::Tool.word(), name: of.text(), near }.into());
        };
        let args = found.input.as_object().cloned().unwrap_or_default();
        let declared = Declared { parallel: found.is_read_only, ..Declared::new(found.description.clone(), args) };
        let declared = declared.of_mcp(&of.text(), of.server).map_err(|(_, what)| what);
        declared.map_err(|what| invalid(on, of, what))
    }

    /// Calls a tool of a server once.
    ///
    /// # Errors
    /// If a variable is missing, or the secrets cannot be read.
    pub(crate) async fn call_mcp(
        &self,
        (on, of): (&Attempt, &McpTool<'_>),
        call: &Call,
        cancel: &Cancel,
    ) -> Result<ToolResult, RuntimeError> {
        let connection = tokio::select! {
            connection = self.connected(on, of) => connection?,
            () = cancelled(cancel) => Err(Failed::Cancelled),
        };
        let answer = match connection {
            Ok(connection) => {
                // A task of its own: if this future is dropped, the server is told to stop.
                let (_guard, gone) = oneshot::channel::<()>();
                let (name, args, cancel) = (of.on_server(), Value::Object(call.args.clone()), cancel.clone());
                let calling = tokio::spawn(async move {
                    let stop = async {
                        tokio::select! {
                            _ = gone => {}
                            () = cancelled(&cancel) => {}
                        }
                    };
                    let answer = connection.servers.call(&name, args, stop).await;
                    connection.use_it();
                    answer
                });
                calling.await.unwrap_or_else(|_| Err(Failed::Broken { server: of.name.text() }))
            }
            Err(failed) => Err(failed),
        };
        Ok(answer.map_or_else(|failed| ToolResult::failure(failed.to_string()), told))
    }
}

/// A server that cannot be used, as a mistake of its definition.
fn broken(on: &Attempt, of: &McpTool<'_>, failed: &Failed) -> RuntimeError {
    invalid(on, of, failed.to_string())
}

fn invalid(on: &Attempt, of: &McpTool<'_>, what: String) -> RuntimeError {
    let file = on.definitions.source(of.name).map(|source| source.file.clone()).unwrap_or_default();
    let problems = vec![Problem { file, line: 1, column: 1, what }];
    Problems::Invalid { name: of.text(), kind: Kind::Tool.word(), problems }.into()
}

/// The answer as a result: JSON if the tool gives some, else its texts. Images are attachments.
fn told(answer: Answer) -> ToolResult {
    let Answer { is_error, parts, structured } = answer;
    let (mut texts, mut others, mut attachments) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match part {
            Part::Text(text) => texts.push(text),
            Part::Image { mime_type, base64 } => match STANDARD.decode(base64) {
                Ok(bytes) => {
                    let ending =
                        mime_type.rsplit('/').next().filter(|ending| ending.chars().all(char::is_alphanumeric));
                    let name = format!("image-{}.{}", attachments.len() + 1, ending.unwrap_or("bin"));
                    attachments.push(NewAttachment { name, mime_type, bytes });
                }
                Err(_) => return ToolResult::failure("the server sent an image that is no base64"),
            },
            Part::Other(other) => others.push(other),
        }
    }
    let text = texts.join("\n");
    if is_error {
        let said = if text.is_empty() { "the tool failed, and did not say why".to_owned() } else { text };
        return ToolResult::failure(said);
    }
    let result = match structured {
        Some(structured) => structured,
        None if others.is_empty() => Value::String(text),
        None => {
            let texts = texts.into_iter().map(|text| json!({ "type": "text", "text": text }));
            Value::Array(texts.chain(others).collect())
        }
    };
    ToolResult { attachments, ..ToolResult::success(result) }
}

/// The arguments, as the check of a schema takes them. A server may use keywords that are not known here.
pub(crate) fn is_checked_here(args: &Map<String, Value>) -> bool {
    crate::attempt::schema::unknown(&Value::Object(args.clone())).is_none()
}
