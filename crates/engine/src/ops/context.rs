//! `context`: what a model is given of a thread.

use threadkeep_calls::{Context, ContextMessage, ContextSummary, ContextTokens, GetContext, Memory};
use threadkeep_model::{MessageId, ModelCall, Thread, ThreadId, Version};
use threadkeep_store::BoxFuture;

use crate::context::Conversation;
use crate::ground::carry::Carry;
use crate::memory::Among;
use crate::request::{Request, Wanted};
use crate::{Engine, Error, Result};

/// Memories that are looked for.
const MEMORIES_FOUND: usize = 20;
/// Characters of the last message by which memories are looked for.
const ASKED_CHARS_MAX: usize = 2_000;

impl Carry for GetContext {
    type Made = Context;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Context> {
        let thread = engine.thread(thread).await?;
        let step = match self.run_id {
            Some(run) => Some(engine.last_model_call(&thread, run).await?),
            None => None,
        };
        let mut request = engine.request_of(&thread);
        let (mut as_of, mut from) = (self.as_of, None);
        if let Some((version, Some(call))) = &step {
            as_of = as_of.or(call.as_of).or(Some(*version));
            from = call.first_message;
            request.model = Some(call.model.clone());
        } else if let Some((version, None)) = &step {
            as_of = as_of.or(Some(*version));
        }
        engine.context(&thread, as_of, from, request).await
    }
}

impl Engine {
    /// How the model of a thread's agent is asked.
    pub fn request_of(&self, thread: &Thread) -> Request {
        self.defined.as_ref().and_then(|defined| defined.request(thread)).unwrap_or_default()
    }

    async fn last_model_call(
        &self,
        thread: &Thread,
        run: threadkeep_model::Uuid,
    ) -> Result<(Version, Option<ModelCall>)> {
        if self.thread_of_run(run).await? != thread.id {
            return Err(Error::RunNotFound { run });
        }
        let mut steps = self.steps_of_run(thread, run).await?;
        let call = steps.iter().rposition(|step| step.model.is_some()).map(|at| steps.swap_remove(at));
        Ok(match call.or_else(|| steps.pop()) {
            Some(step) => (step.version, step.model),
            None => (thread.head.version, None),
        })
    }

    async fn context(
        &self,
        thread: &Thread,
        as_of: Option<Version>,
        from: Option<MessageId>,
        request: Request,
    ) -> Result<Context> {
        let Request { model, wanted, system, tools, skills, memory } = request;
        let wanted = Wanted { from, ..wanted };
        let budget = wanted.tokens + system + tools + skills + memory;
        let told = self.conversation(thread, as_of, &wanted).await?;
        let (memories, remembered) = self.remembered(thread, &told, memory, &wanted).await?;
        let summary = told.summary.clone().or_else(|| {
            let cut = told.cut.as_ref()?;
            let (covers, text) = (cut.covers, cut.built_in.clone());
            Some(ContextSummary { covers, tokens: wanted.tokenizer.count(&text), text, model: None, version: None })
        });
        let tokens = ContextTokens {
            system,
            tools,
            skills,
            summary: summary.as_ref().map_or(0, |summary| summary.tokens),
            memories: remembered,
            messages: told.tokens.iter().sum(),
            total: 0,
        };
        let messages = self.indexed(thread, &told).await?;
        let cut = match &summary {
            Some(summary) => summary.covers.count,
            None => self.before_window(thread, &told).await?,
        };
        Ok(Context {
            version: told.version,
            model,
            budget,
            estimated: wanted.tokenizer.is_estimate(),
            summary,
            cut,
            cuts_next: told.cut.is_some(),
            memories,
            messages,
            tokens: tokens.summed(),
        })
    }

    /// The memories that hold in a thread and fit a text, the best first, within a budget; and their tokens.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn memories_for<'a>(
        &'a self,
        thread: &'a Thread,
        text: &'a str,
        tokens: u64,
        wanted: &'a Wanted,
    ) -> BoxFuture<'a, Result<(Vec<Memory>, u64)>> {
        Box::pin(async move {
            let query: String = text.chars().take(ASKED_CHARS_MAX).collect();
            if query.trim().is_empty() {
                return Ok((Vec::new(), 0));
            }
            let among = Among::Project(thread.record.project_id.clone());
            let (mut memories, mut sum) = (Vec::new(), 0);
            for found in self.find_memories(&query, &among, Some(MEMORIES_FOUND)).await? {
                let count = wanted.tokenizer.count(&found.memory.text);
                if sum + count <= tokens {
                    sum += count;
                    memories.push(found.memory);
                }
            }
            Ok((memories, sum))
        })
    }

    /// The messages with their places in the default list.
    async fn indexed(&self, thread: &Thread, told: &Conversation) -> Result<Vec<ContextMessage>> {
        let mut found = Vec::with_capacity(told.messages.len());
        let view = self.view(thread.id, &self.thread(thread.id).await?.head, Some(told.version)).await?;
        for (message, tokens) in told.messages.iter().zip(&told.tokens) {
            let index = match message.id {
                None => None,
                Some(id) => {
                    let located = self.locate(&view, id).await?;
                    let body = self.assemble(&located.base, located.item()).await?.body()?;
                    if body.silent { None } else { Some(self.index_of(&view, &located).await?) }
                }
            };
            found.push(ContextMessage { id: message.id, index, role: message.role, tokens: *tokens });
        }
        Ok(found)
    }

    /// Messages before the first one that is given.
    async fn before_window(&self, thread: &Thread, told: &Conversation) -> Result<u64> {
        let Some(given) = &told.given else { return Ok(0) };
        let view = self.view(thread.id, &self.thread(thread.id).await?.head, Some(told.version)).await?;
        Ok(self.locate(&view, given.first).await?.root)
    }
}
