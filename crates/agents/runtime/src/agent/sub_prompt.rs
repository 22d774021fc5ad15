//! Prompts that a prompt calls as tools: one question to a model, whose answer is the result of the call.
//!
//! The question and the answer are stored below the message that called, one level deeper: no model of the conversation
//! sees them. A sub-prompt that is interrupted is asked again.

use std::time::Instant;

use serde_json::{Map, Value, json};
use threadkeep_calls::NewMessage;
use threadkeep_model::{FilePath, MessageBody, MessageId, ModelCall, RunSide, Uuid};
use threadkeep_providers::{self as providers, Answer, AnswerPart, Piece, Prices, Request};

use super::ask::{message, usage};
use super::assemble::{assemble, choice, image, text_of, tools};
use super::calls::MESSAGE;
use super::models::{NoModel, chosen};
use super::work::Working;
use crate::attempt::{Attempt, Call, Cancel, Outcome, ToolResult, cancelled, schema};
use crate::definitions::{Kind, Name, Prompt, UsedTool};
use crate::{Runtime, RuntimeError};

/// A prompt that is called.
pub(super) struct SubPrompt {
    name: Name,
    prompt: Prompt,
    used: UsedTool,
    /// The run, and the message that calls.
    run: Uuid,
    parent: Option<MessageId>,
    side: RunSide,
}

/// What came of a call: its outcome, and what a model was asked for it.
pub(super) struct Came {
    pub(super) outcome: Outcome,
    /// The words of a sub-prompt, to be stored with the result.
    pub(super) said: Vec<NewMessage>,
    pub(super) model: Option<ModelCall>,
}

impl From<Outcome> for Came {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, said: Vec::new(), model: None }
    }
}

impl From<ToolResult> for Came {
    fn from(result: ToolResult) -> Self {
        Outcome::from(result).into()
    }
}

impl Working {
    /// The prompt that a call names, and how it is used; none if it is a tool or an agent.
    pub(super) fn prompt_called(&self, used: &[UsedTool], name: &str, parent: Option<MessageId>) -> Option<SubPrompt> {
        let used = used.iter().find(|used| used.name == name)?;
        let (definitions, package) = (&self.on.definitions, self.on.package());
        if [Kind::Tool, Kind::Agent].iter().any(|kind| definitions.find(*kind, name, package).is_some()) {
            return None;
        }
        let (name, prompt) = definitions.prompt(name, package).ok()?;
        let (name, prompt, used) = (name.clone(), prompt.clone(), used.clone());
        Some(SubPrompt { name, prompt, used, run: self.run, parent, side: self.speaks })
    }
}

impl SubPrompt {
    /// Asks the model of the prompt once.
    ///
    /// # Errors
    /// If the thread cannot be read. A model that fails is an outcome.
    pub(super) async fn ask(
        &self,
        runtime: &Runtime,
        on: &Attempt,
        call: &Call,
        cancel: &Cancel,
    ) -> Result<Came, RuntimeError> {
        if let Some(wrong) = self.prompt.required_schema.as_ref().and_then(|schema| schema::wrong(schema, &call.args)) {
            return Ok(ToolResult::failure(format!("the arguments are wrong: {wrong}")).into());
        }
        let property = self.used.called.init_user_message_property.as_deref().unwrap_or(MESSAGE);
        let asked = match call.args.get(property).and_then(Value::as_str) {
            Some(text) => text.to_owned(),
            None => Value::Object(call.args.clone()).to_string(),
        };
        if asked.trim().is_empty() {
            let what = format!("the arguments are wrong: args.{property}: is empty");
            return Ok(ToolResult::failure(what).into());
        }
        // Its variables are those of the prompt that is asked, and hooks see the conversation alone.
        let on = Attempt { prompt: Some(self.name.clone()), quiet: true, ..on.clone() };
        let record = on.who.thread(on.thread).await?.record;
        let chosen = match Box::pin(chosen(runtime, &on, &self.prompt, &record)).await {
            Ok(chosen) => chosen,
            Err(NoModel::Ends(ending)) => return Ok(self.failed(ending.said.unwrap_or_default())),
            Err(NoModel::Error(error)) => return Err(error),
        };
        let mut request = self.request(runtime, &on, call).await?;
        let mut parts = vec![providers::Part::Text(asked.clone())];
        parts.extend(self.pictures(&on, &call.args).await?);
        request.messages.push(providers::Message { role: providers::Role::User, parts });
        request.options = chosen.options;
        request.tokens_max = request.tokens_max.into_iter().chain(chosen.tokens_max).min();
        let prices: Vec<(String, Prices)> =
            chosen.models.iter().map(|model| (model.name.clone(), model.prices)).collect();
        let (began, messages) = (Instant::now(), request.messages.len() as u64);
        let mut asking = runtime.shared.models.ask(chosen.models, request);
        let answer = loop {
            let piece = tokio::select! {
                piece = asking.next() => piece,
                () = cancelled(cancel) => return Ok(ToolResult::failure("the call was cancelled").into()),
            };
            match piece {
                Ok(Some(Piece::Ended(answer))) => break answer,
                Ok(Some(_)) => {}
                Ok(None) => return Ok(self.failed("The model gave no answer.".to_owned())),
                Err(failure) => return Ok(self.failed(failure.to_string())),
            }
        };
        let model = ModelCall {
            model: answer.model.clone(),
            as_of: None,
            first_message: None,
            messages,
            prompt: Some(self.name.text()),
            side: None,
            usage: usage(&answer, &prices),
            first_response_ms: None,
            duration_ms: u64::try_from(began.elapsed().as_millis()).ok(),
        };
        let below = |mut body: MessageBody| -> NewMessage {
            (body.depth, body.parent_id, body.name) = (1, self.parent, Some(self.name.text()));
            body.into()
        };
        let said = vec![below(MessageBody::user(&asked)), below(message(&answer)?)];
        let outcome = ToolResult::success(self.result(&answer)).into();
        Ok(Came { outcome, said, model: Some(model) })
    }

    /// The request without the question: the prompt alone, or with the conversation up to the call.
    async fn request(&self, runtime: &Runtime, on: &Attempt, call: &Call) -> Result<Request, RuntimeError> {
        if !self.prompt.include_chat {
            let thread = on.who.thread(on.thread).await?;
            return Ok(Request {
                system: vec![text_of(on, &self.prompt).await?],
                tools: tools(runtime, on, &self.prompt).await?,
                choice: choice(&self.prompt),
                parallel: self.prompt.parallel_tool_calls,
                tokens_max: thread.record.max_tokens,
                reasoning: self.prompt.reasoning.clone(),
                ..Request::default()
            });
        }
        let mut request = Box::pin(assemble(runtime, on, &self.prompt, self.side, (self.run, 100))).await?.request;
        let is_own = |part: &providers::Part| matches!(part, providers::Part::Call { id, .. } if *id == call.id);
        if let Some(at) = request.messages.iter().rposition(|said| said.parts.iter().any(is_own)) {
            // The step that calls is not over: its words stay, its calls are not for this model.
            request.messages.truncate(at + 1);
            let is_call = |part: &providers::Part| matches!(part, providers::Part::Call { .. });
            request.messages[at].parts.retain(|part| !is_call(part));
            request.messages.retain(|said| !said.parts.is_empty());
        }
        request.answered = 0;
        Ok(request)
    }

    /// The pictures that the arguments name; other files by their names.
    async fn pictures(&self, on: &Attempt, args: &Map<String, Value>) -> Result<Vec<providers::Part>, RuntimeError> {
        let Some(property) = &self.used.called.init_attachments_property else { return Ok(Vec::new()) };
        let mut parts = Vec::new();
        let paths = args.get(property).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        for path in paths.take(self.prompt.recent_image_threshold as usize) {
            let Ok(parsed) = path.parse::<FilePath>() else { continue };
            let found = on.who.stat(on.thread, &parsed, None).await?;
            let mime_type = found.as_ref().and_then(|found| found.file()).map(|file| file.mime_type.clone());
            let picture = match mime_type.filter(|mime_type| mime_type.starts_with("image/")) {
                Some(mime_type) => image(on, path, &mime_type).await?,
                None => None,
            };
            let named = || providers::Part::Text(format!("[file {path}]"));
            parts.push(picture.map_or_else(named, providers::Part::Image));
        }
        Ok(parts)
    }

    /// What the caller gets of an answer.
    fn result(&self, answer: &Answer) -> Value {
        let (mut text, mut calls) = (String::new(), Vec::new());
        for part in &answer.parts {
            match part {
                AnswerPart::Text(more) => text.push_str(more),
                AnswerPart::Call { name, arguments, .. } => {
                    let arguments = arguments.clone().unwrap_or_else(Value::String);
                    calls.push(json!({ "name": name, "arguments": arguments }));
                }
                AnswerPart::Thinking(_) => {}
            }
        }
        match (self.used.called.include_text_response, self.used.called.include_tool_calls && !calls.is_empty()) {
            (true, false) => text.into(),
            (true, true) => json!({ "text": text, "toolCalls": calls }),
            (false, true) => calls.into(),
            (false, false) => "".into(),
        }
    }

    fn failed(&self, why: String) -> Came {
        let why = if self.used.called.include_errors { format!(": {why}") } else { String::new() };
        ToolResult::failure(format!("the prompt '{}' could not be asked{why}", self.name.text())).into()
    }
}
