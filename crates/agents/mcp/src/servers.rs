//! Connections to servers, their tools, and calls of tools.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    ContentBlock, Implementation, PaginatedRequestParams, ProtocolVersion, ServerResult,
};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, PeerRequestOptions, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{Peer, RoleClient};
use serde_json::Value;
use threadkeep_outgoing::{Limits, Outgoing};

use crate::definition::{Definition, Place};
use crate::http::Http;
use crate::program::{Program, start};

/// Time until a server answers for the first time. Some download themselves first.
const CONNECT_MAX: Duration = Duration::from_secs(60);
/// Tools of one server.
const TOOLS_MAX: usize = 1_000;
/// Pages of tools of one server.
const TOOL_PAGES_MAX: usize = 100;

/// A tool of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Its full name: `server/tool`.
    pub name: String,
    /// Its description, for a model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input: Value,
    /// Whether it says that it changes nothing.
    pub is_read_only: bool,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// Whether the tool says that it failed. The parts explain it.
    pub is_error: bool,
    /// The content, for a model.
    pub parts: Vec<Part>,
    /// The result as JSON, for a program.
    pub structured: Option<Value>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text for a model.
    Text(String),
    /// An image in base64.
    Image {
        /// The media type of the bytes.
        mime_type: String,
        /// Its bytes in base64.
        base64: String,
    },
    /// A part of another kind, as the protocol has it.
    Other(Value),
}

/// Why a server could not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// No server or tool has this name.
    #[error("there is no tool '{0}'; tools are named server/tool")]
    Unknown(String),
    /// The server could not be reached, or does not speak the protocol. Nothing was called.
    #[error("the MCP server '{server}' cannot be used: {why}")]
    Unreachable {
        /// The name of the server.
        server: String,
        /// The reason.
        why: String,
    },
    /// The server refused the call.
    #[error("the MCP server '{server}' refused the call: {why}")]
    Refused {
        /// The name of the server.
        server: String,
        /// The reason that it gave.
        why: String,
    },
    /// The connection ended after the call was sent. Whether it was carried out is unknown.
    #[error("the connection to the MCP server '{server}' ended; it is not known whether the call was carried out")]
    Broken {
        /// The name of the server.
        server: String,
    },
    /// The call took too long. The server was told to stop.
    #[error("the MCP server '{server}' did not answer within {timeout:?}")]
    TimedOut {
        /// The name of the server.
        server: String,
        /// The time that it had.
        timeout: Duration,
    },
    /// The caller cancelled. The server was told to stop.
    #[error("the call was cancelled")]
    Cancelled,
}

/// Connections to servers. Clones share them; the last clone ends them.
#[derive(Clone, Default)]
pub struct Servers(Arc<Mutex<BTreeMap<String, Arc<Server>>>>);

/// A connection to one server.
struct Server {
    definition: Definition,
    tools: Vec<Tool>,
    running: RunningService<RoleClient, ClientConfig>,
    _program: Option<Program>,
}

/// A request to a server. It is boxed, so that this crate compiles the protocol once for all the crates that use it.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, Failed>> + Send + 'a>>;

impl Servers {
    /// Connects to a server and reads its tools. A connection of the same name ends.
    ///
    /// # Errors
    /// [`Failed::Unreachable`].
    pub fn connect(&self, definition: Definition) -> Asked<'_, ()> {
        Box::pin(self.connected(definition))
    }

    async fn connected(&self, definition: Definition) -> Result<(), Failed> {
        let server = definition.name.clone();
        let too_slow = |_| Failed::Unreachable {
            server: server.clone(),
            why: format!("it did not answer within {CONNECT_MAX:?}"),
        };
        let connected = tokio::time::timeout(CONNECT_MAX, Server::connect(definition)).await;
        let connected = Arc::new(connected.map_err(too_slow)??);
        self.all().insert(server, connected);
        Ok(())
    }

    /// Ends the connection to a server. A program and all that it started are killed.
    pub fn disconnect(&self, server: &str) {
        self.all().remove(server);
    }

    /// The tools of all servers, as far as their definitions allow them.
    pub fn tools(&self) -> Vec<Tool> {
        self.all().values().flat_map(|server| server.tools.clone()).collect()
    }

    /// Calls `server/tool`. The call ends when the tool answers, its time is over, or `cancel` resolves. A connection that
    /// ended before is opened again.
    ///
    /// # Errors
    /// See [`Failed`]. A tool that fails is an [`Answer`].
    pub fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: Value,
        cancel: impl Future<Output = ()> + Send + 'a,
    ) -> Asked<'a, Answer> {
        self.call_until(name, arguments, Box::pin(cancel))
    }

    fn call_until<'a>(
        &'a self,
        name: &'a str,
        arguments: Value,
        cancel: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    ) -> Asked<'a, Answer> {
        Box::pin(self.called(name, arguments, cancel))
    }

    async fn called(
        &self,
        name: &str,
        arguments: Value,
        mut cancel: Pin<Box<dyn Future<Output = ()> + Send + '_>>,
    ) -> Result<Answer, Failed> {
        let unknown = || Failed::Unknown(name.to_owned());
        let (server, tool) = name.split_once('/').ok_or_else(unknown)?;
        let find = || self.all().get(server).cloned();
        let mut found = find().ok_or_else(unknown)?;
        if !found.tools.iter().any(|tool| tool.name == name) {
            return Err(unknown());
        }
        if found.running.is_transport_closed() {
            tokio::select! {
                connected = self.connect(found.definition.clone()) => connected?,
                () = &mut cancel => return Err(Failed::Cancelled),
            }
            found = find().ok_or_else(unknown)?;
        }
        tokio::select! {
            biased;
            // Nothing is sent that is not wanted any more.
            () = &mut cancel => return Err(Failed::Cancelled),
            () = std::future::ready(()) => {}
        }
        found.call(tool, arguments, cancel).await
    }

    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Server>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    async fn connect(definition: Definition) -> Result<Self, Failed> {
        let wrong = |why: String| Failed::Unreachable { server: definition.name.clone(), why };
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        let own = Implementation::new("threadkeep", env!("CARGO_PKG_VERSION"));
        let client = ClientConfig::new(ClientCapabilities::default(), own);
        let (running, program) = match &definition.place {
            Place::Program { command, env, folder } => {
                let started = start(command, env, folder.as_deref(), definition.stderr.clone());
                let (program, stdout, stdin) = started.map_err(|error| wrong(error.to_string()))?;
                (client.serve_with_lifecycle((stdout, stdin), lifecycle).await, Some(program))
            }
            Place::Url { url, headers, reach } => {
                let limits = Limits { answer: definition.timeout, ..Limits::default() };
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.custom_headers = sent(headers).map_err(wrong)?;
                let http = Http(Outgoing::new(*reach, limits));
                let transport = StreamableHttpClientTransport::with_client(http, config);
                (client.serve_with_lifecycle(transport, lifecycle).await, None)
            }
        };
        let running = running.map_err(|error| wrong(error.to_string()))?;
        let tools = tools(&definition, running.peer()).await.map_err(wrong)?;
        Ok(Self { definition, tools, running, _program: program })
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        mut cancel: impl Future<Output = ()> + Unpin,
    ) -> Result<Answer, Failed> {
        let server = || self.definition.name.clone();
        let refused = |why: String| Failed::Refused { server: server(), why };
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            Value::Null => serde_json::Map::new(),
            _ => return Err(refused("the arguments are not a JSON object".to_owned())),
        };
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let sent = self.running.peer().send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let mut handle = sent.map_err(|error| Failed::Unreachable { server: server(), why: error.to_string() })?;
        let timeout = self.definition.timeout;
        let (why, failed) = tokio::select! {
            answer = &mut handle.rx => return match answer {
                Ok(Ok(ServerResult::CallToolResult(result))) => Ok(result.into()),
                Ok(Ok(_)) => Err(refused("it asks for more input, which is not given".to_owned())),
                Ok(Err(ServiceError::McpError(error))) => Err(refused(error.message.into_owned())),
                Ok(Err(_)) | Err(_) => Err(Failed::Broken { server: server() }),
            },
            () = tokio::time::sleep(timeout) => ("timeout", Failed::TimedOut { server: server(), timeout }),
            () = &mut cancel => ("cancelled", Failed::Cancelled),
        };
        // The call is over for the caller, whether the server hears of it or not.
        drop(handle.cancel(Some(why.to_owned())).await);
        Err(failed)
    }
}

/// The tools of a server that its definition allows.
async fn tools(definition: &Definition, peer: &Peer<RoleClient>) -> Result<Vec<Tool>, String> {
    let mut tools = Vec::new();
    let mut cursor = None;
    for _ in 0..TOOL_PAGES_MAX {
        let page = PaginatedRequestParams::default().with_cursor(cursor);
        let page = peer.list_tools(Some(page)).await.map_err(|error| error.to_string())?;
        tools.extend(page.tools.into_iter().filter(|tool| definition.allows(&tool.name)).map(|tool| Tool {
            name: format!("{}/{}", definition.name, tool.name),
            description: tool.description.as_deref().unwrap_or_default().to_owned(),
            is_read_only: tool.annotations.as_ref().and_then(|hints| hints.read_only_hint).unwrap_or(false),
            input: tool.schema_as_json_value(),
        }));
        if tools.len() > TOOLS_MAX {
            return Err(format!("it has more than {TOOLS_MAX} tools"));
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            return Ok(tools);
        }
    }
    Err(format!("its list of tools has more than {TOOL_PAGES_MAX} pages"))
}

fn sent(headers: &BTreeMap<String, String>) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let header = |(name, value): (&String, &String)| {
        let wrong = || format!("the header '{name}' cannot be sent");
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?, value))
    };
    headers.iter().map(header).collect()
}

impl From<CallToolResult> for Answer {
    fn from(result: CallToolResult) -> Self {
        let part = |block: ContentBlock| match block {
            ContentBlock::Text(text) => Part::Text(text.text),
            ContentBlock::Image(image) => Part::Image { mime_type: image.mime_type, base64: image.data },
            other => Part::Other(serde_json::to_value(&other).unwrap_or_default()),
        };
        Self {
            is_error: result.is_error.unwrap_or(false),
            parts: result.content.into_iter().map(part).collect(),
            structured: result.structured_content,
        }
    }
}
