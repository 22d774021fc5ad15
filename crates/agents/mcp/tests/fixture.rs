//! A server for tests, with tools that behave badly: `fixture` on stdio, `fixture http` over HTTP.

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::routing::any;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, DiscoverRequestMethod, DiscoverResult,
    ErrorData, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt};

const TOOLS: [&str; 7] = ["echo", "fail", "environment", "wait", "large", "child", "die"];

/// The fixture, in the revisions that it speaks.
#[derive(Clone)]
struct Fixture {
    is_old: bool,
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if self.is_old {
            return Err(ErrorData::method_not_found::<DiscoverRequestMethod>());
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info()))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let input = serde_json::json!({ "type": "object", "properties": { "text": { "type": "string" } } });
        let input = Arc::new(input.as_object().cloned().unwrap_or_default());
        let tool = |name: &&'static str| Tool::new(*name, format!("Does {name}."), Arc::clone(&input));
        // Two pages.
        let is_second = request.is_some_and(|request| request.cursor.is_some());
        let (first, second) = TOOLS.split_at(4);
        let mut listed =
            ListToolsResult::with_all_items(if is_second { second } else { first }.iter().map(tool).collect());
        listed.next_cursor = (!is_second).then(|| "second".to_owned());
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text =
            request.arguments.as_ref().and_then(|arguments| arguments.get("text")).and_then(|text| text.as_str());
        let text = text.unwrap_or_default().to_owned();
        let said = match request.name.as_ref() {
            "echo" => text,
            "fail" => return Ok(CallToolResult::error(vec![ContentBlock::text("it failed")]).into()),
            "environment" => std::env::vars().map(|(name, _)| name).collect::<Vec<_>>().join(","),
            "wait" => {
                // Says that the caller told it to stop; a call that is cancelled is dropped.
                let cancelled = context.ct.clone();
                std::fs::write(format!("{text}.begun"), "begun")
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                tokio::spawn(async move {
                    cancelled.cancelled().await;
                    std::fs::write(text, "cancelled").expect("the file is written");
                });
                std::future::pending().await
            }
            "large" => "x".repeat(17 << 20),
            "child" => {
                let child = std::process::Command::new("sleep").arg("1000").spawn();
                child.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.id().to_string()
            }
            "die" => std::process::exit(3),
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

type Http = StreamableHttpService<Fixture, LocalSessionManager>;

async fn answer(State(service): State<Http>, request: Request) -> axum::response::Response {
    service.handle(request).await.map(Body::new)
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the test reads the address")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let fixture = Fixture { is_old: has("old") };
    if !has("http") {
        eprintln!("the fixture started");
        fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    let service: Http = StreamableHttpService::new(
        move || Ok(fixture.clone()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    axum::serve(listener, Router::new().route("/mcp", any(answer)).with_state(service)).await?;
    Ok(())
}
