//! Hooks: code of definitions that is called at twelve moments, and may change what happens then.
//!
//! A hook is a file of `hooks/` that an agent or a prompt lists. It runs in a worker like a tool, with the authority of the
//! actor who caused the moment. What it queues and schedules is committed with what it was called for. Its own writes run no
//! hooks.

use std::time::Duration;

use serde_json::{Map, Value as Json, json};
use threadkeep_engine::Held;
use threadkeep_model::{Event, EventKind, Json as Written};
use threadkeep_sandbox::Value;

use crate::attempt::{Attempt, Cancel, Declared};
use crate::code::{Ended, Host, said};
use crate::definitions::{Definition, Definitions, Kind, Name, Problem, Problems, nearest, position_of};
use crate::{Runtime, RuntimeError};

/// Time for one hook.
const TIMEOUT: Duration = Duration::from_secs(30);

/// When hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the first run of a thread.
    AfterThreadCreated,
    /// On the parent: a subagent has its thread.
    AfterSubagentCreated,
    /// The system prompt is made; the request alone has what the hook gives.
    AfterSystemMessage,
    /// The messages of a request are chosen; the request alone has what the hook gives.
    FilterMessages,
    /// The messages are as the model is given them; the request alone has what the hook gives.
    PrefilterLlmHistory,
    /// A message is about to be stored.
    BeforeCreateMessage,
    /// A message was stored.
    AfterCreateMessage,
    /// A message is about to be changed.
    BeforeUpdateMessage,
    /// A message was changed.
    AfterUpdateMessage,
    /// The result of a tool is about to be stored.
    BeforeStoreToolResult,
    /// A tool succeeded.
    AfterToolCallSuccess,
    /// A tool failed.
    AfterToolCallFailure,
}

impl Moment {
    const ALL: [Self; 12] = [
        Self::AfterThreadCreated,
        Self::AfterSubagentCreated,
        Self::AfterSystemMessage,
        Self::FilterMessages,
        Self::PrefilterLlmHistory,
        Self::BeforeCreateMessage,
        Self::AfterCreateMessage,
        Self::BeforeUpdateMessage,
        Self::AfterUpdateMessage,
        Self::BeforeStoreToolResult,
        Self::AfterToolCallSuccess,
        Self::AfterToolCallFailure,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AfterThreadCreated => "after_thread_created",
            Self::AfterSubagentCreated => "after_subagent_created",
            Self::AfterSystemMessage => "after_system_message",
            Self::FilterMessages => "filter_messages",
            Self::PrefilterLlmHistory => "prefilter_llm_history",
            Self::BeforeCreateMessage => "before_create_message",
            Self::AfterCreateMessage => "after_create_message",
            Self::BeforeUpdateMessage => "before_update_message",
            Self::AfterUpdateMessage => "after_update_message",
            Self::BeforeStoreToolResult => "before_store_tool_result",
            Self::AfterToolCallSuccess => "after_tool_call_success",
            Self::AfterToolCallFailure => "after_tool_call_failure",
        }
    }

    /// The moment of this name.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|moment| moment.as_str() == name)
    }

    /// The place of what a hook may change, among what it is given.
    fn changes(self) -> Option<usize> {
        match self {
            Self::AfterSystemMessage | Self::FilterMessages | Self::PrefilterLlmHistory | Self::BeforeCreateMessage => {
                Some(0)
            }
            Self::BeforeUpdateMessage
            | Self::BeforeStoreToolResult
            | Self::AfterToolCallSuccess
            | Self::AfterToolCallFailure => Some(1),
            Self::AfterThreadCreated
            | Self::AfterSubagentCreated
            | Self::AfterCreateMessage
            | Self::AfterUpdateMessage => None,
        }
    }
}

/// What hooks made of a moment.
#[derive(Debug, Default)]
pub(crate) struct Hooked {
    /// What the hooks were given, as they left it.
    pub(crate) about: Vec<Json>,
    /// What they held back, to be committed with what they were called for.
    pub(crate) held: Held,
    /// The scratch of the run as they left it; none if no hook ran.
    pub(crate) context: Option<Map<String, Json>>,
    /// Why what they were called for must not happen.
    pub(crate) blocked: Option<String>,
}

impl Hooked {
    /// What the hooks may change, as they left it: none if they dropped it.
    pub(crate) fn changed(mut self, moment: Moment) -> Option<Json> {
        let at = moment.changes().filter(|at| *at < self.about.len())?;
        Some(self.about.swap_remove(at)).filter(|changed| !changed.is_null())
    }
}

impl Runtime {
    /// Whether an attempt has hooks for a moment.
    ///
    /// # Errors
    /// If a hook that it lists is broken.
    pub(crate) async fn has_hooks(&self, on: &Attempt, moment: Moment) -> Result<bool, RuntimeError> {
        Ok(!self.hooks_of(on, moment).await?.is_empty())
    }

    /// Calls the hooks of a moment, one after the other: each is given what the one before left.
    ///
    /// A hook that fails changes nothing and is logged; before a message is stored, it blocks.
    ///
    /// # Errors
    /// If a hook that the agent lists is broken, or no worker runs code now.
    pub(crate) async fn hook(
        &self,
        on: &Attempt,
        moment: Moment,
        about: Vec<Json>,
        cancel: &Cancel,
    ) -> Result<Hooked, RuntimeError> {
        let mut hooked = Hooked { about, ..Hooked::default() };
        let hooks = self.hooks_of(on, moment).await?;
        let mut on = Attempt { quiet: true, ..on.clone() };
        for (name, declared) in hooks {
            let host = Host::new(self, (&on, &name), (declared.variable_names(), declared.hosts), &name.text(), cancel);
            let mut task = self.task(&on, &host, &Map::new()).await?;
            let given = hooked.about.iter().map(Value::from_json).collect();
            task.push(("about".to_owned(), Value::Array(given)));
            match self.execute((&on, &name), task, &host, (TIMEOUT, cancel)).await? {
                Ended::Returned(returned) => {
                    if let Some(place) = moment.changes().and_then(|at| hooked.about.get_mut(at)) {
                        *place = returned.result.to_json();
                    }
                    on.context = returned.context;
                    hooked.context = Some(on.context.clone());
                    hooked.held.extend(host.take_held());
                    // What was dropped is nothing to the hooks after it.
                    if moment.changes().is_some_and(|at| hooked.about.get(at).is_some_and(Json::is_null)) {
                        break;
                    }
                }
                Ended::Failed(failure) => {
                    let why = format!("The hook {} failed: {}", name.text(), said(&failure));
                    tracing::warn!(thread = %on.thread, hook = %moment.as_str(), %why, "a hook failed");
                    let event = hook_event(&json!({ "hook": moment.as_str(), "name": name.text(), "error": why }))?;
                    if let Err(error) = on.who.for_code().append_event(on.thread, event).await {
                        tracing::warn!(thread = %on.thread, %error, "the failure of a hook was not logged");
                    }
                    if moment == Moment::BeforeCreateMessage {
                        hooked.blocked = Some(why);
                        break;
                    }
                }
            }
        }
        Ok(hooked)
    }

    /// The hooks of an attempt for a moment: those that its prompt lists, else those of its agent.
    async fn hooks_of(&self, on: &Attempt, moment: Moment) -> Result<Vec<(Name, Declared)>, RuntimeError> {
        let mut hooks = Vec::new();
        for name in listed(on) {
            let (declared, of) = self.declared_hook(&on.definitions, &name).await?;
            if of == moment {
                hooks.push((name, declared));
            }
        }
        Ok(hooks)
    }

    async fn declared_hook(&self, definitions: &Definitions, name: &Name) -> Result<(Declared, Moment), RuntimeError> {
        let said = self.described(definitions, name).await?;
        let read = moment_in(name, &said).and_then(|moment| Ok((Declared::of_code(said)?, moment)));
        read.map_err(|(field, what)| {
            let (file, line, column) = position_of(definitions, name, &field);
            let problems = vec![Problem { file, line, column, what }];
            Problems::Invalid { name: name.text(), kind: Kind::Hook.word(), problems }.into()
        })
    }
}

/// The names of the hooks that count for an attempt. A prompt's list replaces its agent's.
fn listed(on: &Attempt) -> Vec<Name> {
    if on.quiet {
        return Vec::new();
    }
    let of = |name: &Option<Name>| {
        let name = name.as_ref()?;
        let listed = match on.definitions.definition(name)? {
            Definition::Prompt(prompt) => prompt.hooks.as_ref()?,
            Definition::Agent(agent) => &agent.hooks,
            Definition::Model(_) | Definition::Mcp(_) | Definition::HttpTool(_) | Definition::Text(_) => return None,
        };
        let package = name.package.as_deref();
        // A name that is missing is a problem of the prompt or the agent, which no run takes then.
        Some(listed.iter().filter_map(|hook| on.definitions.find(Kind::Hook, hook, package)).cloned().collect())
    };
    of(&on.prompt).or_else(|| of(&on.agent)).unwrap_or_default()
}

/// The moment that the code of a hook names.
///
/// # Errors
/// Says which field is wrong, and how.
pub(crate) fn moment_in(name: &Name, said: &Map<String, Json>) -> Result<Moment, (String, String)> {
    let told = |field: &str, rule: String| Err((field.to_owned(), rule));
    if let Some(id) = said.get("id").and_then(Json::as_str).filter(|id| *id != name.name) {
        return told("id", format!("the file is named '{}', and `id` says '{id}'", name.name));
    }
    let Some(hook) = said.get("hook").and_then(Json::as_str) else {
        return told("hook", "the field 'hook' is missing".to_owned());
    };
    let names = || Moment::ALL.iter().map(|moment| moment.as_str());
    Moment::of(hook).map_or_else(
        || {
            let near = nearest(hook, names()).map(|near| format!(": did you mean '{near}'?")).unwrap_or_default();
            told("hook", format!("there is no hook '{hook}'{near} (known: {})", names().collect::<Vec<_>>().join(", ")))
        },
        Ok,
    )
}

/// An event that tells of a hook.
pub(crate) fn hook_event(data: &Json) -> Result<Event, RuntimeError> {
    let data = Written::from_value("data", data).map_err(threadkeep_engine::Error::from)?;
    Ok(Event { kind: EventKind::Result, data })
}
