//! One question to the model: its text goes to the readers of the run as it comes, and the whole answer becomes a step.

use std::time::Instant;

use serde_json::Value;
use threadkeep_calls::StepRun;
use threadkeep_engine::Beside;
use threadkeep_model::{Content, MessageBody, MessageStatus, ModelCall, Part, Role, RunOutcome, RunSide, Usage};
use threadkeep_providers::{Answer, AnswerPart, Piece, Prices, Problem, Protocol};

use super::assemble::assemble;
use super::hooked::Checked;
use super::models::{NoModel, chosen};
use super::next::Ending;
use super::reason;
use super::tail::{other, spoken_by};
use super::watch::Why;
use super::work::{Flow, Working};
use crate::RuntimeError;

/// The part of the budget that is used after a provider said that a request was too long, in percent.
const SHORTER_PERCENT: u64 = 75;

impl Working {
    /// Asks the model, and stores its answer as the next step.
    pub(super) async fn ask(&mut self) -> Result<Flow, RuntimeError> {
        let Some(prompt) = self.prompt()? else { return self.end(Ending::tools_done()).await };
        let record = self.engine.thread(self.thread).await?.record;
        let chosen = match Box::pin(chosen(&self.runtime, &self.on, &prompt, &record)).await {
            Ok(chosen) => chosen,
            Err(NoModel::Ends(ending)) => return self.end(ending).await,
            Err(NoModel::Error(error)) => return Err(error),
        };
        self.on.execution = Some(self.execution());
        let (runtime, on) = (self.runtime.clone(), self.on.clone());
        let assembling = Box::pin(assemble(&runtime, &on, &prompt, self.speaks, (self.run, self.percent)));
        let Some(assembled) = self.unless_stopped(assembling).await else { return Ok(Flow::On) };
        if self.injected {
            // It came meanwhile, and is part of the question.
            return Ok(Flow::On);
        }
        let assembled = assembled?;
        if let Some(context) = assembled.context {
            self.on.context = context;
        }
        let mut request = assembled.request;
        request.options = chosen.options;
        request.tokens_max = match (request.tokens_max, chosen.tokens_max) {
            (Some(thread), Some(model)) => Some(thread.min(model)),
            (thread, model) => thread.or(model),
        };
        let prices: Vec<(String, Prices)> =
            chosen.models.iter().map(|model| (model.name.clone(), model.prices)).collect();
        // A script plays a conversation, and knows nothing of titles.
        let is_played = chosen.models.iter().any(|model| matches!(model.protocol, Protocol::Script(_)));
        let (began, place) = (Instant::now(), (self.run, self.attempt, self.steps + 1));
        let mut first = None;
        let mut asking = self.runtime.shared.models.ask(chosen.models, request);
        let answer = loop {
            let piece = tokio::select! {
                biased;
                why = self.watch.next() => match why {
                    Why::Over => return Ok(Flow::Over),
                    Why::Stop => {
                        drop(asking);
                        return self.stopped(self.engine.shown_text(place)).await;
                    }
                    Why::Injected => {
                        drop(asking);
                        self.engine.discard_text(place);
                        // The question is asked anew, with what was injected.
                        self.deliver().await?;
                        return Ok(Flow::On);
                    }
                },
                piece = asking.next() => piece,
            };
            match piece {
                Ok(Some(Piece::Text(text))) => {
                    first.get_or_insert_with(|| began.elapsed());
                    self.engine.stream_text(self.thread, place, self.began, &text).await?;
                }
                Ok(Some(Piece::Thinking(_) | Piece::Call { .. })) => {
                    first.get_or_insert_with(|| began.elapsed());
                }
                // The first bytes came: a title that is asked for now does not delay them.
                Ok(Some(Piece::Began { .. })) if !is_played => Box::pin(self.ask_title(&prompt)).await?,
                Ok(Some(Piece::Began { .. })) => {}
                Ok(Some(Piece::Discarded { why })) => {
                    tracing::warn!(thread = %self.thread, %why, "an answer broke off, and the model is asked again");
                    self.engine.discard_text(place);
                }
                Ok(Some(Piece::Ended(answer))) => break answer,
                Ok(None) => return self.end(Ending::failed(reason::STEP_ERROR, "The model gave no answer.")).await,
                Err(failure) if failure.problem == Problem::TooLong && self.percent > SHORTER_PERCENT => {
                    self.engine.discard_text(place);
                    self.percent = SHORTER_PERCENT;
                    return Ok(Flow::On);
                }
                Err(failure) => return self.end(Ending::failed(reason::STEP_ERROR, failure.to_string())).await,
            }
        };
        let millis = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let model = ModelCall {
            model: answer.model.clone(),
            as_of: Some(assembled.as_of),
            first_message: assembled.first,
            messages: assembled.messages,
            prompt: self.on.prompt.as_ref().map(crate::definitions::Name::text),
            side: self.is_dual().then(|| self.speaks.as_str().to_owned()),
            usage: usage(&answer, &prices).plus(assembled.summarizing),
            first_response_ms: first.map(millis),
            duration_ms: Some(millis(began.elapsed())),
        };
        let body = spoken_by(self.speaks, message(&answer)?)?;
        let (body, held) = match Box::pin(self.check_message(body)).await? {
            // Whose words they are is not for a hook to say.
            Checked::Passed(body, held) => (spoken_by(self.speaks, body)?, held),
            Checked::Blocked(why) => {
                self.engine.discard_text(place);
                return self.end(Ending::failed(reason::HOOK_BLOCKED, why)).await;
            }
            Checked::Stopped => return Ok(Flow::On),
        };
        let mut step = StepRun::of(self.run).attempt(self.attempt).message(body);
        (step.delivers_nothing, step.model) = (true, Some(model));
        let turn = self.turn_after_answer(&answer);
        let progressed = self.step(step, Beside { held, turn, ..Beside::default() }).await?;
        if let Some(message) = progressed.messages.first() {
            Box::pin(self.message_stored(message)).await?;
        }
        Ok(Flow::On)
    }

    /// The side whose turn it is after an answer: one that calls nothing ends the turn. None for an agent with one side.
    fn turn_after_answer(&self, answer: &Answer) -> Option<RunSide> {
        let own = self.side().filter(|_| self.is_dual())?;
        let calls = answer.parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
        Some(if own.stop_on_response && !calls { other(self.speaks) } else { self.speaks })
    }

    /// Ends the run because somebody asked for it, and keeps the text that readers were shown.
    pub(super) async fn stopped(&mut self, shown: String) -> Result<Flow, RuntimeError> {
        let mut messages = Vec::new();
        if !shown.trim().is_empty() {
            let mut body = spoken_by(self.speaks, MessageBody::assistant(&shown))?;
            body.status = MessageStatus::Failed;
            messages.push(body.into());
        }
        self.end_with(RunOutcome::Stopped, reason::ABORTED, messages).await
    }
}

/// The answer as a message.
pub(super) fn message(answer: &Answer) -> Result<MessageBody, RuntimeError> {
    let mut parts = Vec::new();
    for part in &answer.parts {
        parts.push(match part {
            AnswerPart::Text(text) => Part::Text { text: text.clone() },
            AnswerPart::Thinking(thought) => Part::Thinking {
                text: thought.text.clone(),
                provider: Some(thought.provider.clone()),
                signature: thought.signature.clone(),
                data: thought.data.clone(),
            },
            AnswerPart::Call { id, name, arguments } => {
                let input = arguments.clone().unwrap_or_else(Value::String);
                Part::ToolUse { id: id.clone(), name: name.clone(), input }
            }
        });
    }
    let content = match &parts[..] {
        [] => Content::text(""),
        [Part::Text { text }] => Content::text(text),
        parts => Content::parts(parts)?,
    };
    Ok(MessageBody::with_content(Role::Assistant, content))
}

/// What an answer took, at the prices of the model that gave it.
pub(super) fn usage(answer: &Answer, prices: &[(String, Prices)]) -> Usage {
    let Some(used) = answer.usage else { return Usage::default() };
    let prices = prices.iter().find(|(name, _)| *name == answer.model).map(|(_, prices)| *prices).unwrap_or_default();
    Usage {
        input_tokens: used.input + used.cache_read + used.cache_write,
        output_tokens: used.output,
        cache_read_tokens: used.cache_read,
        cache_write_tokens: used.cache_write,
        cost_micros: prices.cost(&used),
    }
}
