//! The hooks of a run: called on its way, and stopped with it.
//!
//! Hooks that change something come before the commit of what they change, so both are stored or neither. Hooks after a
//! commit are noted in the log with all that they held back: an attempt that goes on calls those that have no note.

use std::collections::HashSet;

use serde_json::{Value, json};
use threadkeep_calls::{self as calls, ListSubagents, ListThreadRuns};
use threadkeep_engine::Held;
use threadkeep_model::{Message, MessageBody, Position, Version};

use super::tail::{Called, Tail};
use super::work::{Working, is_over, may_pass};
use crate::RuntimeError;
use crate::attempt::{Outcome, ToolResult, never};
use crate::hooks::{Hooked, Moment, hook_event};

/// A message that is about to be stored.
pub(super) enum Checked {
    /// As the hooks left it, with what they held back.
    Passed(MessageBody, Held),
    /// A hook refuses it for this reason.
    Blocked(String),
    /// The run is to stop.
    Stopped,
}

/// A result that is about to be stored.
pub(super) enum Settled {
    Kept(Outcome),
    /// It goes, and its call with it. What was held back stays.
    Dropped(Outcome),
    /// The run is to stop.
    Stopped,
}

impl Working {
    /// Calls the hooks of a moment. None if the run is to stop.
    async fn hook(&mut self, moment: Moment, about: Vec<Value>) -> Result<Option<Hooked>, RuntimeError> {
        self.on.execution = Some(self.execution());
        let (runtime, on, cancel) = (self.runtime.clone(), self.on.clone(), never());
        let Some(hooked) = self.unless_stopped(Box::pin(runtime.hook(&on, moment, about, &cancel))).await else {
            return Ok(None);
        };
        let hooked = hooked?;
        if let Some(context) = &hooked.context {
            self.on.context = context.clone();
        }
        Ok(Some(hooked))
    }

    /// Has the hooks see a message before it is stored.
    pub(super) async fn check_message(&mut self, body: MessageBody) -> Result<Checked, RuntimeError> {
        let moment = Moment::BeforeCreateMessage;
        if !self.runtime.has_hooks(&self.on, moment).await? {
            return Ok(Checked::Passed(body, Held::default()));
        }
        let Some(mut hooked) = self.hook(moment, vec![json!(body)]).await? else { return Ok(Checked::Stopped) };
        if let Some(why) = hooked.blocked {
            return Ok(Checked::Blocked(why));
        }
        let held = std::mem::take(&mut hooked.held);
        let Some(changed) = hooked.changed(moment) else { return Ok(Checked::Passed(body, held)) };
        match serde_json::from_value::<MessageBody>(changed) {
            Ok(changed) => Ok(Checked::Passed(changed, held)),
            Err(error) => Ok(Checked::Blocked(format!("A hook made a message that cannot be stored: {error}"))),
        }
    }

    /// Tells the hooks of a message that was stored.
    pub(super) async fn message_stored(&mut self, message: &Message) -> Result<(), RuntimeError> {
        let moment = Moment::AfterCreateMessage;
        if !self.runtime.has_hooks(&self.on, moment).await? {
            return Ok(());
        }
        let shown = calls::Message::new(message).map_err(threadkeep_engine::Error::from)?;
        self.tell_hooks(moment, message.id.to_string(), vec![json!(shown)]).await
    }

    /// Has the hooks see the result of a call before it is stored.
    pub(super) async fn settle(&mut self, called: &Called, mut outcome: Outcome) -> Result<Settled, RuntimeError> {
        let function = json!({ "name": called.name, "arguments": called.input.to_string() });
        let call = json!({ "id": called.id, "type": "function", "function": function });
        let after =
            if outcome.result.is_success() { Moment::AfterToolCallSuccess } else { Moment::AfterToolCallFailure };
        for moment in [after, Moment::BeforeStoreToolResult] {
            if !self.runtime.has_hooks(&self.on, moment).await? {
                continue;
            }
            // The hooks share the scratch with the tool.
            if let Some(context) = outcome.context.take() {
                self.on.context = context;
            }
            let before = shown(&outcome.result);
            let about = vec![call.clone(), before.clone()];
            let Some(mut hooked) = self.hook(moment, about).await? else { return Ok(Settled::Stopped) };
            outcome.held.extend(std::mem::take(&mut hooked.held));
            match hooked.changed(moment) {
                Some(same) if same == before => {}
                Some(changed) => outcome.result = read(&changed, std::mem::take(&mut outcome.result)),
                // A run that is to stop is stopped by its result.
                None if outcome.stop || outcome.force_turn.is_some() => {}
                None => return Ok(Settled::Dropped(outcome)),
            }
        }
        Ok(Settled::Kept(outcome))
    }

    /// Tells the hooks of subagents that this step made.
    pub(super) async fn subagents_made(&mut self, told: &HashSet<(String, String)>) -> Result<(), RuntimeError> {
        let moment = Moment::AfterSubagentCreated;
        if !self.runtime.has_hooks(&self.on, moment).await? {
            return Ok(());
        }
        let group = Some(self.spawn_group());
        let children = self.engine.call(self.thread, ListSubagents::default()).await?.items;
        for child in children.into_iter().filter(|child| child.spawn_group_id == group) {
            let about = child.reference.to_string();
            if !told.contains(&(moment.as_str().to_owned(), about.clone())) {
                self.tell_hooks(moment, about, vec![json!(child)]).await?;
            }
        }
        Ok(())
    }

    /// Calls hooks for what happened before this attempt, if no attempt did: those of the thread before its first run, and
    /// those of the last message.
    pub(super) async fn catch_up(&mut self) -> Result<(), RuntimeError> {
        let moment = Moment::AfterThreadCreated;
        if self.steps == 0 && self.runtime.has_hooks(&self.on, moment).await? {
            let runs = self.engine.call(self.thread, ListThreadRuns { limit: Some(2), cursor: None }).await?.items;
            let about = self.thread.to_string();
            if runs.len() < 2 && !self.was_told(moment, &about, Position(0)).await? {
                self.tell_hooks(moment, about, Vec::new()).await?;
            }
        }
        if !self.resumed || self.steps == 0 || !self.runtime.has_hooks(&self.on, Moment::AfterCreateMessage).await? {
            return Ok(());
        }
        let tail = Tail::read(&self.engine, self.thread, self.is_dual(), None).await?;
        let Some((id, _)) = tail.message().filter(|(_, said)| *said >= self.began) else { return Ok(()) };
        self.speak_as(tail.side());
        if !self.was_told(Moment::AfterCreateMessage, &id.to_string(), id.position).await? {
            let message = self.engine.message(self.thread, id, None).await?;
            self.message_stored(&message).await?;
        }
        Ok(())
    }

    /// Whether the hooks of a moment were called about this, by an attempt at this run.
    async fn was_told(&self, moment: Moment, about: &str, since: Version) -> Result<bool, RuntimeError> {
        let key = (moment.as_str().to_owned(), about.to_owned());
        if self.told.contains(&key) || !self.resumed {
            return Ok(self.told.contains(&key));
        }
        Ok(self.engine.call_facts(self.thread, self.run, since).await?.hooked.contains(&key))
    }

    /// Calls the hooks after something, and notes that in the log with what they held back.
    async fn tell_hooks(&mut self, moment: Moment, about: String, given: Vec<Value>) -> Result<(), RuntimeError> {
        let key = (moment.as_str().to_owned(), about);
        if self.told.contains(&key) {
            return Ok(());
        }
        let Some(hooked) = self.hook(moment, given).await? else { return Ok(()) };
        let note = hook_event(&json!({ "hook": key.0, "about": key.1, "runId": self.run }))?;
        match self.engine.log_tool(self.thread, Some(note.clone()), hooked.held).await {
            Ok(_) => {}
            Err(error) if is_over(&error) || may_pass(&error) => return Err(error.into()),
            // What was held back is refused: the hook was called all the same.
            Err(error) => {
                tracing::warn!(thread = %self.thread, hook = %key.0, %error, "what a hook held back was refused");
                self.engine.log_tool(self.thread, Some(note), Held::default()).await?;
            }
        }
        self.told.insert(key);
        Ok(())
    }
}

/// A result as hooks see it.
fn shown(result: &ToolResult) -> Value {
    let files = |result: &ToolResult| -> Vec<Value> {
        let file = |file: &calls::NewAttachment| json!({ "type": "file", "name": file.name, "mimeType": file.mime_type, "size": file.bytes.len() });
        result.attachments.iter().map(file).collect()
    };
    match &result.error {
        Some(error) => json!({ "status": "error", "error": error, "attachments": files(result) }),
        None => json!({ "status": "success", "result": result.result, "attachments": files(result) }),
    }
}

/// The result that a hook gave in the place of `old`. Its files stay.
fn read(told: &Value, old: ToolResult) -> ToolResult {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let result = match told["status"].as_str() {
        Some("error") => ToolResult::failure(text(&told["error"])),
        Some(_) | None => ToolResult { result: told.get("result").cloned(), ..ToolResult::default() },
    };
    ToolResult { attachments: old.attachments, ..result }
}
