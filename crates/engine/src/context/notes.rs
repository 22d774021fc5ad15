//! The conversation with what goes along: the summary of what was cut, and memories.

use threadkeep_calls::{Memory, ModelMessage};
use threadkeep_model::{Content, Entry, Invalid, Role, Thread, ThreadId, Version};
use threadkeep_store::BoxFuture;

use super::{Conversation, MEMORY_PERCENT};
use crate::ground::policy::{Standing, Verb};
use crate::request::{MEMORY_TOKENS, Request, Wanted};
use crate::{Engine, Result};

/// Tokens that a caller may ask for.
const TOKENS_MIN: u64 = 256;
const TOKENS_MAX: u64 = 10_000_000;

impl Conversation {
    /// What the other side said last, as the model sees it: the place, and the text.
    pub fn asked(&self) -> Option<(usize, String)> {
        let at = self.messages.iter().rposition(|message| message.role == Role::User)?;
        Some((at, self.messages[at].content.to_text().into_owned()))
    }

    /// The messages with what goes along: the summary first, memories before the last message of the other side. So
    /// everything before that message stays as it was, and a provider's cache has it.
    pub fn with_notes(self, memories: &[Memory]) -> Vec<ModelMessage> {
        let note =
            |text: String| ModelMessage { id: None, role: Role::User, name: None, content: Content::text(&text) };
        let at = self.asked().map(|(at, _)| at);
        let summary = self.summary.map(|summary| summary.text).or(self.cut.map(|cut| cut.built_in));
        let mut messages = self.messages;
        if !memories.is_empty() {
            let texts: Vec<&str> = memories.iter().map(|memory| memory.text.as_str()).collect();
            let text = format!("[What is remembered from earlier conversations]\n- {}", texts.join("\n- "));
            messages.insert(at.unwrap_or(messages.len()), note(text));
        }
        if let Some(summary) = summary {
            messages.insert(0, note(format!("[Summary of the earlier conversation]\n{summary}")));
        }
        messages
    }
}

impl Engine {
    /// The messages of a thread as a model is given them, now or as of a version: the newest that fit, after a summary of
    /// those before them, with the memories that fit. Silent messages are given, those at a depth are not. Results come
    /// right after their call, each once; a call without one is closed by an error.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`]; [`crate::Error::VersionInFuture`].
    pub fn model_messages(&self, thread: ThreadId, as_of: Option<Version>) -> BoxFuture<'_, Result<Vec<ModelMessage>>> {
        Box::pin(async move { self.model_messages_within(thread, as_of, None).await })
    }

    /// The same, within so many tokens. Without a number, the agent of the thread says how many.
    ///
    /// # Errors
    /// As [`Engine::model_messages`]; a number that is out of range.
    pub fn model_messages_within(
        &self,
        thread: ThreadId,
        as_of: Option<Version>,
        tokens: Option<u64>,
    ) -> BoxFuture<'_, Result<Vec<ModelMessage>>> {
        Box::pin(async move {
            let (thread, standing) = self.seen(thread, Verb::Read).await?;
            let Request { wanted, memory, .. } = self.request_within(&thread, tokens)?;
            let told = self.conversation(&thread, as_of, &wanted).await?;
            match standing {
                Standing::Owner => {
                    let memories = self.remembered(&thread, &told, memory, &wanted).await?.0;
                    Ok(told.with_notes(&memories))
                }
                // Visitors of a public thread see neither summaries nor memories.
                Standing::Visitor => Ok(told.messages),
            }
        })
    }

    /// The summary that a run needs which starts now: what it stands for does not fit any more.
    pub(crate) async fn needed_summary(&self, thread: &Thread, tokens: Option<u64>) -> Result<Option<Entry>> {
        let wanted = self.request_within(thread, tokens)?.wanted;
        let cut = self.conversation(thread, None, &wanted).await?.cut;
        Ok(cut.map(|cut| Entry::ContextSummarized(cut.summarized())))
    }

    /// The memories that fit what was said last, and their tokens.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn remembered<'a>(
        &'a self,
        thread: &'a Thread,
        told: &'a Conversation,
        tokens: u64,
        wanted: &'a Wanted,
    ) -> BoxFuture<'a, Result<(Vec<Memory>, u64)>> {
        Box::pin(async move {
            match told.asked() {
                Some((_, text)) if tokens > 0 => self.memories_for(thread, &text, tokens, wanted).await,
                Some(_) | None => Ok((Vec::new(), 0)),
            }
        })
    }

    fn request_within(&self, thread: &Thread, tokens: Option<u64>) -> Result<Request> {
        let mut request = self.request_of(thread);
        if let Some(tokens) = tokens {
            if !(TOKENS_MIN..=TOKENS_MAX).contains(&tokens) {
                let rule = format!("is a number of tokens from {TOKENS_MIN} to {TOKENS_MAX}");
                return Err(Invalid::parameter("contextTokens", rule).into());
            }
            request.memory = (tokens * MEMORY_PERCENT / 100).min(MEMORY_TOKENS);
            request.wanted.tokens = tokens - request.memory;
        }
        Ok(request)
    }
}
