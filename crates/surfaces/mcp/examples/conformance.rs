//! The dispatcher with the tools, resources and prompts that the official conformance suite calls, at `/mcp`.
//!
//! `conformance URL KEY` asks the Threadkeep server at URL, listens on a free port, and prints its own URL. The suite
//! needs no key, so this is for tests alone.

use std::error::Error;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::ServerHandler;
use rmcp::model::{
    AudioContent, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, EmbeddedResource, ErrorData,
    GetPromptRequestParams, GetPromptResponse, GetPromptResult, ImageContent, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument, PromptMessage,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    Role, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use threadkeep_client::{Client, Key};
use threadkeep_mcp::{Chosen, Dispatcher, rmcp};
use tokio::sync::watch;

/// A picture of one pixel, and a sound without samples.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";
const TOOLS: [&str; 7] = [
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
];

/// The dispatcher, and what the suite wants beside it.
#[derive(Clone)]
struct Tested(Dispatcher);

impl Tested {
    async fn tool(&self, name: &str, context: &RequestContext<RoleServer>) -> Option<CallToolResult> {
        let text = || ContentBlock::text("This is a simple text response for testing.");
        let image = || ContentBlock::Image(ImageContent::new(PNG, "image/png"));
        let resource = |uri: &str| {
            let contents = ResourceContents::text("This is an embedded resource content.", uri);
            ContentBlock::Resource(EmbeddedResource::new(contents))
        };
        let content = match name {
            "test_simple_text" => vec![text()],
            "test_image_content" => vec![image()],
            "test_audio_content" => vec![ContentBlock::Audio(AudioContent::new(WAV, "audio/wav"))],
            "test_embedded_resource" => vec![resource("test://embedded-resource")],
            "test_multiple_content_types" => vec![
                ContentBlock::text("Multiple content types test:"),
                image(),
                resource("test://mixed-content-resource"),
            ],
            "test_error_handling" => {
                let text = ContentBlock::text("This tool intentionally returns an error for testing");
                return Some(CallToolResult::error(vec![text]));
            }
            "test_tool_with_progress" => {
                if let Some(token) = context.meta.get_progress_token() {
                    for progress in [0.0, 50.0, 100.0] {
                        let told = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
                        context.peer.notify_progress(told).await.ok()?;
                    }
                }
                vec![text()]
            }
            _ => return None,
        };
        Some(CallToolResult::success(content))
    }
}

fn read(uri: &str) -> Option<ResourceContents> {
    match uri {
        "test://static-text" => Some(ResourceContents::text("This is the content of the static text resource.", uri)),
        "test://static-binary" => Some(ResourceContents::blob(PNG, uri).with_mime_type("image/png")),
        _ => {
            let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
            let text = serde_json::json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(ResourceContents::text(text.to_string(), uri).with_mime_type("application/json"))
        }
    }
}

fn prompt(name: &str, arguments: &JsonObject) -> Option<GetPromptResult> {
    let said = |name: &str| arguments.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    let messages = match name {
        "test_simple_prompt" => vec![PromptMessage::new_text(Role::User, "This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let text = format!("Prompt with arguments: arg1='{}', arg2='{}'", said("arg1"), said("arg2"));
            vec![PromptMessage::new_text(Role::User, text)]
        }
        "test_prompt_with_embedded_resource" => {
            let contents = ResourceContents::text("Embedded resource content for testing.", said("resourceUri"));
            vec![
                PromptMessage::new(Role::User, ContentBlock::Resource(EmbeddedResource::new(contents))),
                PromptMessage::new_text(Role::User, "Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            PromptMessage::new(Role::User, ContentBlock::Image(ImageContent::new(PNG, "image/png"))),
            PromptMessage::new_text(Role::User, "Please analyze the image above."),
        ],
        _ => return None,
    };
    Some(GetPromptResult::new(messages))
}

impl ServerHandler for Tested {
    fn get_info(&self) -> ServerConfig {
        self.0.get_info()
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.0.initialize(request, context).await
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = self.0.list_tools(request, context).await?;
        let input = serde_json::json!({ "type": "object", "properties": {} });
        let input = input.as_object().cloned().unwrap_or_default();
        listed.tools.extend(TOOLS.map(|name| Tool::new(name, "For the conformance suite.", input.clone())));
        Ok(listed)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.tool(&request.name, &context).await {
            Some(result) => Ok(result.into()),
            None => self.0.call_tool(request, context).await,
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let mut listed = self.0.list_resources(request, context).await?;
        let text = Resource::new("test://static-text", "text").with_mime_type("text/plain");
        let binary = Resource::new("test://static-binary", "binary").with_mime_type("image/png");
        listed.resources.extend([text, binary]);
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut listed = self.0.list_resource_templates(request, context).await?;
        listed.resource_templates.push(ResourceTemplate::new("test://template/{id}/data", "template"));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match read(&request.uri) {
            Some(contents) => Ok(ReadResourceResult::new(vec![contents]).into()),
            None => self.0.read_resource(request, context).await,
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut listed = self.0.list_prompts(request, context).await?;
        let argument = |name: &str| PromptArgument::new(name).with_required(true);
        for (name, arguments) in [
            ("test_simple_prompt", vec![]),
            ("test_prompt_with_arguments", vec![argument("arg1"), argument("arg2")]),
            ("test_prompt_with_embedded_resource", vec![argument("resourceUri")]),
            ("test_prompt_with_image", vec![]),
        ] {
            listed.prompts.push(Prompt::new(name, Some("For the conformance suite."), Some(arguments)));
        }
        Ok(listed)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match prompt(&request.name, &request.arguments.clone().unwrap_or_default()) {
            Some(result) => Ok(result.into()),
            None => self.0.get_prompt(request, context).await,
        }
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.0.accepted_subscription_filter(requested)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.listen(context).await
    }
}

/// Answers as the server does, which checks host and origin at its edge.
async fn answer(State(tested): State<Tested>, request: Request) -> Response {
    if !is_local(&request, "host") || !is_local(&request, "origin") {
        return axum::http::StatusCode::FORBIDDEN.into_response();
    }
    threadkeep_mcp::answer(tested, request, 32 << 20).await.map(Body::new)
}

fn is_local(request: &Request, header: &str) -> bool {
    let text = request.headers().get(header).and_then(|value| value.to_str().ok()).unwrap_or("localhost");
    let host = text.trim_start_matches("http://").split(':').next().unwrap_or_default();
    ["localhost", "127.0.0.1"].contains(&host)
}

#[tokio::main(flavor = "current_thread")]
#[expect(clippy::print_stdout, reason = "the suite reads the address")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(key)) = (arguments.next(), arguments.next()) else {
        return Err("usage: conformance URL KEY".into());
    };
    let client = Client::connect(&url, Key::new(key))?;
    let running = watch::Sender::new(false);
    let tested = Tested(Dispatcher::http(&client, Chosen::default(), running.subscribe()));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    axum::serve(listener, Router::new().route("/mcp", any(answer)).with_state(tested)).await?;
    Ok(())
}
