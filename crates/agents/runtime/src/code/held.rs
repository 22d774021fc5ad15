//! What code holds back until its commit: messages, tools and effects.
//!
//! Code queues and schedules on its own thread, and all of it is committed with its result. A failure commits nothing. On
//! another thread there is no such commit, so the call is made at once.

use std::sync::{MutexGuard, PoisonError};

use serde_json::{Map, Value as Json, json};
use threadkeep_calls::{Effect, ListEffects, NewMessage, Queue, QueueTool, RemoveEffect, ScheduleEffect};
use threadkeep_engine::{Error, Held, WayOut};
use threadkeep_model::{Json as Written, ThreadId, Timestamp, Uuid};
use threadkeep_sandbox::Value;

use super::host::{Host, invalid};
use crate::RuntimeError;
use crate::attempt::schema;
use crate::definitions::{Kind, Name, Problems};

/// Most effects, messages and tools that one call holds back.
const HELD_MAX: usize = 1_000;

impl Host {
    /// What was held back, to be committed with the result.
    pub(crate) fn take_held(&self) -> Held {
        std::mem::take(&mut self.held())
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds something back for the commit of the result. Bounds are checked here and at the commit.
    pub(super) async fn hold(
        &self,
        thread: ThreadId,
        what: &str,
        fields: Map<String, Json>,
    ) -> Result<Value, RuntimeError> {
        // It is committed as it is, so secrets leave it here.
        let mut fields = Json::Object(fields);
        self.on.who.redactor(WayOut::Call, Some(thread)).await?.value(&mut fields);
        let Json::Object(fields) = fields else { return Ok(Value::Undefined) };
        if self.held().count() >= HELD_MAX {
            return Err(invalid("call", format!("one call holds at most {HELD_MAX} effects and queued items")));
        }
        match what {
            "message" => self.hold_message(thread, fields).await,
            "tool" => self.hold_tool(thread, &fields).await,
            "effect" => self.hold_effect(thread, &fields).await,
            _ => Err(invalid("call", "cannot be held back")),
        }
    }

    async fn hold_message(&self, thread: ThreadId, fields: Map<String, Json>) -> Result<Value, RuntimeError> {
        let message: NewMessage =
            serde_json::from_value(fields.into()).map_err(|error| invalid("message", error.to_string()))?;
        if thread != self.on.thread {
            self.on.who.call(thread, Queue { message }).await?;
            return Ok(Value::Undefined);
        }
        let silent = message.body.silent;
        let beside = self.held().messages.iter().filter(|held| held.body.silent == silent).count();
        self.on.who.may_queue(thread, silent, beside).await?;
        self.held().messages.push(message);
        Ok(Value::Undefined)
    }

    async fn hold_tool(&self, thread: ThreadId, fields: &Map<String, Json>) -> Result<Value, RuntimeError> {
        let call = QueueTool { tool: text(fields, "name"), args: Some(args(fields)?) };
        if thread != self.on.thread {
            self.on.who.call(thread, call).await?;
            return Ok(Value::Undefined);
        }
        self.runtime.shared.present.queueable(&self.on.definitions, &call.tool, self.on.package())?;
        self.on.who.may_queue(thread, true, 0).await?;
        self.held().tools.push(call);
        Ok(Value::Undefined)
    }

    /// The id of the effect, which it has before it is committed.
    async fn hold_effect(&self, thread: ThreadId, fields: &Map<String, Json>) -> Result<Value, RuntimeError> {
        let name = self.effect_name(&text(fields, "name"))?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
        let delay = match fields.get("delay").and_then(Json::as_f64).unwrap_or_default() {
            #[allow(clippy::cast_precision_loss, reason = "it is far below 2^53")]
            delay if (0.0..=ScheduleEffect::DELAY_MS_MAX as f64).contains(&delay) => delay as u64,
            _ => return Err(invalid("delay", format!("is not between 0 and {}", ScheduleEffect::DELAY_MS_MAX))),
        };
        self.refuse_args(&name, fields).await?;
        let id = self.on.who.new_id();
        let effect = ScheduleEffect { name: name.parse()?, args: Some(args(fields)?), delay, id: Some(id) };
        if thread == self.on.thread {
            let beside = self.held().effects.len();
            self.on.who.may_schedule(thread, &effect, beside).await?;
            self.held().effects.push(effect);
        } else {
            self.on.who.call(thread, effect).await?;
        }
        Ok(id.to_string().into())
    }

    /// The full name of an effect. Where none is defined, another process may know any name.
    fn effect_name(&self, name: &str) -> Result<String, RuntimeError> {
        match self.on.definitions.get(Kind::Effect, name, self.on.package()) {
            Ok((found, _)) => Ok(found.text()),
            Err(Problems::NotFound { .. }) if self.on.definitions.names(Kind::Effect).next().is_none() => {
                Ok(name.to_owned())
            }
            Err(Problems::NotFound { .. }) => Err(Error::EffectNotFound { name: name.parse()? }.into()),
            Err(broken @ Problems::Invalid { .. }) => Err(broken.into()),
        }
    }

    /// Refuses arguments that the handler would refuse, if it is code that is defined here.
    async fn refuse_args(&self, name: &str, fields: &Map<String, Json>) -> Result<(), RuntimeError> {
        let definitions = &self.on.definitions;
        let found = definitions.find(Kind::Effect, name, None);
        let is_here = |found: &&Name| !definitions.is_brought(found);
        let Some(found) = found.filter(is_here) else { return Ok(()) };
        let declared = self.runtime.declared_effect(definitions, found).await?;
        let given = fields.get("args").and_then(Json::as_object).cloned().unwrap_or_default();
        match schema::wrong(&declared.args, &given) {
            Some(wrong) => Err(invalid("args", format!("do not fit the effect '{name}': {wrong}"))),
            None => Ok(()),
        }
    }

    /// The effects of a thread that have not ended: those that are stored, then those that are held back.
    pub(super) async fn effects(&self, thread: ThreadId, name: Option<&str>) -> Result<Value, RuntimeError> {
        let name = name.map(|name| self.effect_name(name).unwrap_or_else(|_| name.to_owned()));
        let mut shown = Vec::new();
        let mut asked = ListEffects { name: name.clone(), limit: Some(1_000), cursor: None };
        loop {
            let page = self.on.who.call(thread, asked.clone()).await?;
            shown.extend(page.items.iter().map(|effect| {
                let Effect { id, name, args, scheduled_at, created_at, .. } = effect;
                record(*id, name.as_str(), args, *scheduled_at, *created_at)
            }));
            asked.cursor = page.next_cursor;
            if asked.cursor.is_none() {
                break;
            }
        }
        if thread == self.on.thread {
            let now = self.on.who.now();
            let held = self.held();
            let chosen =
                held.effects.iter().filter(|effect| name.as_ref().is_none_or(|name| effect.name.as_str() == name));
            shown.extend(chosen.filter_map(|effect| {
                let delay = i64::try_from(effect.delay.saturating_mul(1_000)).unwrap_or(i64::MAX);
                Some(record(effect.id?, effect.name.as_str(), effect.args.as_ref()?, now.plus_micros(delay), now))
            }));
        }
        Ok(Value::from_json(&shown.into()))
    }

    /// Removes an effect that is held back, or that is stored and waits.
    pub(super) async fn remove_effect(&self, thread: ThreadId, id: &str) -> Result<Value, RuntimeError> {
        let Ok(id) = id.parse::<Uuid>() else { return Ok(false.into()) };
        if thread == self.on.thread {
            let mut held = self.held();
            let before = held.effects.len();
            held.effects.retain(|effect| effect.id != Some(id));
            if held.effects.len() < before {
                return Ok(true.into());
            }
        }
        Ok(self.on.who.remove_effect(thread, RemoveEffect { effect: id }).await?.into())
    }
}

/// An effect as the contract shows it.
fn record(id: Uuid, name: &str, args: &Written, due: Timestamp, created: Timestamp) -> Json {
    let args: Json = serde_json::from_str(args.as_str()).unwrap_or_default();
    json!({ "id": id, "name": name, "args": args, "scheduledAt": due.as_micros(), "createdAt": created.as_micros() })
}

fn text(fields: &Map<String, Json>, name: &str) -> String {
    fields.get(name).and_then(Json::as_str).unwrap_or_default().to_owned()
}

fn args(fields: &Map<String, Json>) -> Result<Written, RuntimeError> {
    let args = match fields.get("args") {
        Some(args @ Json::Object(_)) => args.to_string(),
        None | Some(Json::Null) => "{}".to_owned(),
        Some(_) => return Err(invalid("args", "is no object")),
    };
    Ok(Written::parse("args", &args)?)
}
