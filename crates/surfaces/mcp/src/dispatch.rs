//! The dispatcher: every request of the protocol, answered through a client.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourceUpdatedNotificationParam, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, SubscriptionContext};
use rmcp::{Peer, ServerHandler};
use threadkeep_client::Client;
use threadkeep_client::model::{Actor, ActorKind};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use crate::prompts::refused;
use crate::tools::Chosen;
use crate::watch::{WATCHED_MAX, Watch, is_watchable};
use crate::{calling, prompts, resources};

const INSTRUCTIONS: &str = "Threadkeep keeps conversations of people and agents as threads: durable, forkable, searchable. \
    Find threads with search or list_threads, read them with read_messages, and write with append. Nothing is overwritten: \
    fork to try another way, checkpoint before risky work, rollback to go back. Risky actions answer approval_required with \
    an approval id: tell the user, who approves it; you cannot. Lists have nextCursor: give it as cursor to go on.";
/// The name of an agent whose host does not say what it is.
const UNNAMED: &str = "mcp";
/// Characters of an agent's name.
const NAME_MAX: usize = 64;

/// The way by which requests come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// On stdin and stdout: one client, for as long as the process lives.
    Stdio,
    /// Over HTTP: each request by itself.
    Http,
}

/// Answers requests of the protocol. Clones share the resources that they watch.
#[derive(Clone)]
pub struct Dispatcher {
    client: Client,
    chosen: Chosen,
    way: Way,
    /// Whether the agent is logged by the name that its host gives.
    names_agent: bool,
    /// Says when subscriptions end.
    stopping: Option<watch::Receiver<bool>>,
    watched: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

impl Dispatcher {
    /// A dispatcher for one client on stdin and stdout, which offers the `chosen` tools. With `names_agent`, each request
    /// acts as an agent with the name of the client; the key of `client` must have scope admin.
    pub fn stdio(client: &Client, chosen: Chosen, names_agent: bool) -> Self {
        Self::new(client, chosen, Way::Stdio, names_agent, None)
    }

    /// A dispatcher for requests over HTTP, which come one by one. Subscriptions end once `stopping` says so.
    pub fn http(client: &Client, chosen: Chosen, stopping: watch::Receiver<bool>) -> Self {
        Self::new(client, chosen, Way::Http, false, Some(stopping))
    }

    fn new(
        client: &Client,
        chosen: Chosen,
        way: Way,
        names_agent: bool,
        stopping: Option<watch::Receiver<bool>>,
    ) -> Self {
        Self { client: client.through_mcp(), chosen, way, names_agent, stopping, watched: Arc::default() }
    }

    /// The client for a request.
    fn client(&self, context: &RequestContext<RoleServer>) -> Client {
        if !self.names_agent {
            return self.client.clone();
        }
        let said = context.client_info().map(|info| info.name).unwrap_or_default();
        let plain = |c: &char| c.is_ascii_alphanumeric() || "-_. /@".contains(*c);
        let name: String = said.chars().filter(plain).take(NAME_MAX).collect();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let actor = Actor::new(ActorKind::Agent, if name.is_empty() { UNNAMED } else { &name });
        match actor {
            Ok(actor) => self.client.acting_as(actor),
            // The server makes an agent of the key's own name.
            Err(_) => self.client.clone(),
        }
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn stopped(&self) {
        match self.stopping.clone() {
            // A sender that is gone has stopped, too.
            Some(mut stopping) => drop(stopping.wait_for(|stopping| *stopping).await),
            None => std::future::pending().await,
        }
    }
}

impl ServerHandler for Dispatcher {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        let own = Implementation::new("threadkeep", env!("CARGO_PKG_VERSION")).with_title("Threadkeep");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        // Without a session there is no way to tell a client of the older revision.
        if let (Way::Http, Some(resources)) = (self.way, &mut info.capabilities.resources) {
            resources.subscribe = None;
        }
        Ok(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.chosen.tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.chosen.find(name).map(|entry| entry.tool.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no tool '{}'", request.name), None);
        let entry = self.chosen.find(&request.name).ok_or_else(unknown)?;
        let client = self.client(&context);
        let meta = request.meta.clone().unwrap_or_else(|| context.meta.clone());
        let called = calling::call(&client, entry, request.arguments.unwrap_or_default(), &meta);
        tokio::select! {
            result = called => Ok(result.into()),
            () = context.ct.cancelled() => Err(ErrorData::invalid_request("the request was cancelled", None)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let (listed, next) = resources::list(&self.client(&context), cursor).await.map_err(refused)?;
        let mut result = ListResourcesResult::with_all_items(listed);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = resources::read(&self.client(&context), &request.uri).await.map_err(refused)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Ok(prompts::get(&self.client(&context), &request.name, request.arguments.as_ref()).await?.into())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        let uris = requested.resource_subscriptions.iter().flatten();
        let accepted: Vec<String> = uris.filter(|uri| is_watchable(uri)).take(WATCHED_MAX).cloned().collect();
        Some(SubscriptionFilter::builder().resource_subscriptions(accepted).build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let client = self.client(context.request_context());
        let mut watches = JoinSet::new();
        for uri in context.accepted().resource_subscriptions.iter().flatten() {
            let mut watch = Watch::open(&client, uri).await.map_err(refused)?;
            let (sink, uri) = (context.sink().clone(), uri.clone());
            watches.spawn(async move {
                while let Ok(true) = watch.changed().await {
                    if sink.notify_resource_updated(uri.as_str()).await.is_err() {
                        break;
                    }
                }
            });
        }
        tokio::select! {
            () = context.cancelled() => {}
            () = self.stopped() => {}
            // Every thread is gone.
            () = async { while watches.join_next().await.is_some() {} }, if !watches.is_empty() => {}
        }
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.way == Way::Http {
            return Err(ErrorData::invalid_request("subscriptions of this revision need stdio", None));
        }
        if self.watched().len() >= WATCHED_MAX {
            return Err(ErrorData::invalid_request(format!("at most {WATCHED_MAX} resources are watched"), None));
        }
        let watch = Watch::open(&self.client(&context), &request.uri).await.map_err(refused)?;
        let task = tokio::spawn(tell(watch, context.peer, request.uri.clone()));
        if let Some(before) = self.watched().insert(request.uri, task.abort_handle()) {
            before.abort();
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if let Some(task) = self.watched().remove(&request.uri) {
            task.abort();
        }
        Ok(())
    }

    async fn on_initialized(&self, _: NotificationContext<RoleServer>) {}
}

/// Tells a client of the older revision of each change, until it is gone.
async fn tell(mut watch: Watch, peer: Peer<RoleServer>, uri: String) {
    while let Ok(true) = watch.changed().await {
        if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri.as_str())).await.is_err() {
            break;
        }
    }
}
