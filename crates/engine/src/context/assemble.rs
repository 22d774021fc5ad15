//! Reads a thread backwards until its budget is full.

use threadkeep_calls::{ContextSummary, ModelMessage};
use threadkeep_model::{Content, Covered, Message, Part, Thread, Version};
use threadkeep_store::BoxFuture;

use super::shorten::left_out;
use super::window::{Backwards, Said, begin_with, begin_within, beginnings, unanswered, without_past_tools};
use super::{CUT_AT_PERCENT, CUT_TO_PERCENT, Conversation, Cut, SUMMARY_PERCENT, shorten};
use crate::ground::policy::{Standing, Verb};
use crate::model_view::{NO_RESULT, for_model};
use crate::open_calls::no_result;
use crate::request::{Counts, Wanted, nested, nesting, of_content};
use crate::summary::summarize;
use crate::{Engine, Page, Result};

/// Messages that are read at once.
const READ_AT_ONCE: usize = 100;
/// Messages that are read beyond the budget for the call of a result.
const LOOKS_BACK: usize = 64;
/// Messages of the beginning that a first summary looks at.
const FIRST_READ: usize = 20;

/// The newest messages of a thread, oldest first.
struct Newest {
    said: Vec<Said>,
    tokens: u64,
    /// Whether the message before them is the last of the summary, or there is none.
    complete: bool,
}

impl Engine {
    /// The part of a thread that a model is given, now or as of a version. Nothing is written.
    ///
    /// # Errors
    /// [`crate::Error::ThreadNotFound`]; [`crate::Error::VersionInFuture`].
    pub fn conversation<'a>(
        &'a self,
        thread: &'a Thread,
        as_of: Option<Version>,
        wanted: &'a Wanted,
    ) -> BoxFuture<'a, Result<Conversation>> {
        Box::pin(async move {
            let (head, standing) = self.head_and_standing(thread.id, Verb::Read).await?;
            let version = as_of.unwrap_or(head.version);
            let view = self.view(thread.id, &head, Some(version)).await?;
            let mut summary = match standing {
                Standing::Owner => self.context_summary(thread, &view).await?,
                Standing::Visitor => None,
            };
            if let Some(summary) = &mut summary {
                summary.tokens = wanted.tokenizer.count(&summary.text);
            }
            let newest = self.newest_that_fit(thread, version, wanted, summary.as_ref()).await?;
            let starts = beginnings(&newest.said, wanted.side);
            let summarized = summary.as_ref().map_or(0, |summary| summary.tokens);
            let room = |percent: u64| (wanted.tokens * percent / 100).saturating_sub(summarized);
            if wanted.from.is_some() {
                return self.given(version, summary, None, newest.said, 0, wanted);
            }
            if let Some(count) = wanted.recent_messages {
                // A sliding window: what is before it is not asked for.
                let begin = begin_with(&newest.said, &starts, count.max(1));
                let fits = begin_within(&newest.said, &starts, wanted.tokens).max(begin);
                return self.given(version, None, None, newest.said, fits, wanted);
            }
            let total = newest.tokens;
            if newest.complete && total <= room(CUT_AT_PERCENT) {
                return self.given(version, summary, None, newest.said, 0, wanted);
            }
            let kept = (wanted.tokens * (CUT_TO_PERCENT - SUMMARY_PERCENT) / 100).max(1);
            let begin = begin_within(&newest.said, &starts, kept);
            if begin == 0 && newest.complete {
                // One exchange is longer than the budget: nothing can be cut, only shortened.
                return self.given(version, summary, None, newest.said, 0, wanted);
            }
            let cut = self.cut(thread, version, summary.as_ref(), &newest, begin, wanted).await?;
            self.given(version, None, cut, newest.said, begin, wanted)
        })
    }

    /// Reads backwards until the budget is full, a summary begins, or the thread does.
    async fn newest_that_fit(
        &self,
        thread: &Thread,
        version: Version,
        wanted: &Wanted,
        summary: Option<&ContextSummary>,
    ) -> Result<Newest> {
        let enough = wanted.tokens * CUT_AT_PERCENT / 100;
        let many = wanted.recent_messages.unwrap_or(usize::MAX);
        let (mut said, mut tokens): (Vec<Said>, u64) = (Vec::new(), 0);
        let (mut backwards, mut beyond) = (Backwards::default(), 0);
        let mut began = false;
        let mut page = Page::first().newest_first().as_of(version);
        let complete = 'read: loop {
            let asked = page.include_silent().max_depth(0).uncounted().limit(READ_AT_ONCE);
            let found = self.messages(thread.id, asked).await?;
            for message in &found.items {
                if summary.is_some_and(|summary| summary.covers.last == message.id) {
                    break 'read true;
                }
                // One more than fits: then it is known that something is cut.
                let is_full = wanted.from.is_none() && (tokens > enough || said.len() > many);
                beyond += usize::from(is_full);
                // And the one before it: a question may be needed to which a long step answers.
                let is_enough = is_full && backwards.begins;
                if (is_enough && began) || beyond > LOOKS_BACK {
                    break 'read false;
                }
                began = is_enough;
                let one = self.said(thread, version, message, wanted).await?;
                tokens += one.tokens;
                backwards.read(&one.body, wanted.side);
                said.push(one);
                if wanted.from == Some(message.id) {
                    break 'read false;
                }
            }
            match found.next {
                Some(cursor) => page = Page::after(cursor),
                None => break true,
            }
        };
        said.reverse();
        for (at, open) in unanswered(&said, wanted.side) {
            let results: Vec<Part> = open.into_iter().map(|call| no_result(call, NO_RESULT)).collect();
            let more = of_content(&Content::parts(&results)?, &*wanted.tokenizer);
            said[at].tokens += more;
            tokens += more;
        }
        Ok(Newest { said, tokens, complete })
    }

    /// A message with its files and its tokens.
    async fn said(&self, thread: &Thread, version: Version, message: &Message, wanted: &Wanted) -> Result<Said> {
        let mut body = message.body()?;
        let is_pinned = self.with_files(thread, version, &mut body).await?;
        let tokens = if is_pinned {
            let counts = self.shared.room::<Counts>();
            counts.of(message.id, message.version, &body, &*wanted.tokenizer)
        } else {
            of_content(&body.content, &*wanted.tokenizer)
        };
        Ok(Said { id: message.id, body, tokens })
    }

    /// What is to be summarized, where the window begins at `begin`.
    async fn cut(
        &self,
        thread: &Thread,
        version: Version,
        summary: Option<&ContextSummary>,
        newest: &Newest,
        begin: usize,
        wanted: &Wanted,
    ) -> Result<Option<Cut>> {
        let mut last = newest.said[..begin].to_vec();
        let mut first = Vec::new();
        if summary.is_none() && !newest.complete {
            let page = Page::first().as_of(version).include_silent().max_depth(0).limit(FIRST_READ);
            first = self.messages(thread.id, page).await?.items;
        }
        let Some(end) = last.last().map(|said| said.id) else {
            // The last exchange alone takes the whole budget, and what is before it was not read: that is read now.
            return self.cut_before(thread, version, summary, newest, wanted).await;
        };
        let beginning = first.first().map(|message| message.id).or_else(|| last.first().map(|said| said.id));
        let covers = Covered {
            first: summary.map(|summary| summary.covers.first).or(beginning).unwrap_or(end),
            last: end,
            count: 0,
        };
        let mut told: Vec<Said> = Vec::new();
        for message in &first {
            if !last.iter().any(|said| said.id == message.id) {
                told.push(self.said(thread, version, message, wanted).await?);
            }
        }
        let covered = self.covered(thread, version, &covers).await?;
        told.append(&mut last);
        Ok(Some(cut_of(covered, summary, &told, wanted)))
    }

    async fn cut_before(
        &self,
        thread: &Thread,
        version: Version,
        summary: Option<&ContextSummary>,
        newest: &Newest,
        wanted: &Wanted,
    ) -> Result<Option<Cut>> {
        let page = Page::first().newest_first().as_of(version).include_silent().max_depth(0).uncounted();
        let older = self.messages(thread.id, page.limit(READ_AT_ONCE + newest.said.len())).await?.items;
        let is_cut = |message: &&Message| !newest.said.iter().any(|said| said.id == message.id);
        let mut told = Vec::new();
        for message in older.iter().filter(is_cut) {
            if summary.is_some_and(|summary| summary.covers.last == message.id) {
                break;
            }
            told.push(self.said(thread, version, message, wanted).await?);
        }
        told.reverse();
        let Some(last) = told.last().map(|said| said.id) else { return Ok(None) };
        let first = summary.map_or(told[0].id, |summary| summary.covers.first);
        let covered = self.covered(thread, version, &Covered { first, last, count: 0 }).await?;
        Ok(Some(cut_of(covered, summary, &told, wanted)))
    }

    /// The same range, with the number of messages that lists show in it.
    async fn covered(&self, thread: &Thread, version: Version, covers: &Covered) -> Result<Covered> {
        let head = self.head(thread.id, Verb::Read).await?;
        let view = self.view(thread.id, &head, Some(version)).await?;
        let located = self.locate(&view, covers.last).await?;
        Ok(Covered { count: located.root + 1, ..*covers })
    }

    /// The messages from `begin` on as the model is given them.
    fn given(
        &self,
        version: Version,
        summary: Option<ContextSummary>,
        cut: Option<Cut>,
        said: Vec<Said>,
        begin: usize,
        wanted: &Wanted,
    ) -> Result<Conversation> {
        let mut said = said;
        let said = said.split_off(begin.min(said.len()));
        let given = said.first().zip(said.last()).map(|(first, last)| Covered {
            first: first.id,
            last: last.id,
            count: said.len() as u64,
        });
        let said = if wanted.past_tools { said } else { without_past_tools(said, wanted.side) };
        let said = said.into_iter().map(|said| (said.id, said.body)).collect();
        let mut messages = for_model(said, wanted.side)?;
        drop_images(&mut messages, wanted.images)?;
        let mut tokens: Vec<u64> =
            messages.iter().map(|message| of_content(&message.content, &*wanted.tokenizer)).collect();
        let summarized = match (&summary, &cut) {
            (Some(summary), _) => summary.tokens,
            // Room for the summary that will be made.
            (None, Some(_)) => wanted.tokens * SUMMARY_PERCENT / 100,
            (None, None) => 0,
        };
        let room = wanted.tokens.saturating_sub(summarized);
        shorten::fit(&mut messages, &mut tokens, room, &*wanted.tokenizer);
        Ok(Conversation { version, summary, messages, tokens, given, cut })
    }
}

/// What is summarized, with the summary that needs no model.
fn cut_of(covers: Covered, summary: Option<&ContextSummary>, told: &[Said], wanted: &Wanted) -> Cut {
    let picked: Vec<(threadkeep_model::Role, String)> =
        told.iter().map(|said| (said.body.role, said.body.content.to_text().into_owned())).collect();
    let before = summary.map(|summary| summary.text.clone());
    let room = wanted.tokens * SUMMARY_PERCENT / 100;
    let built_in = wanted.fitted(&summarize(before.as_deref(), &picked), room);
    let messages = told.iter().map(|said| ModelMessage {
        id: Some(said.id),
        role: said.body.role,
        name: said.body.name.clone(),
        content: said.body.content.clone(),
    });
    Cut { covers, before, messages: messages.collect(), built_in, room }
}

/// Leaves out all pictures but the newest, also those in results.
fn drop_images(messages: &mut [ModelMessage], mut kept: usize) -> Result<()> {
    for message in messages.iter_mut().rev() {
        if !message.content.as_json().as_str().starts_with('[') {
            continue;
        }
        let mut parts = message.content.to_parts();
        if drop_pictures(&mut parts, &mut kept) {
            message.content = Content::parts(&parts)?;
        }
    }
    Ok(())
}

/// Says whether one was left out.
fn drop_pictures(parts: &mut [Part], kept: &mut usize) -> bool {
    let mut changed = false;
    for part in parts.iter_mut().rev() {
        match part {
            Part::Image { .. } if *kept > 0 => *kept -= 1,
            Part::Image { path, name, .. } => {
                *part = left_out(path, name.as_deref());
                changed = true;
            }
            Part::ToolResult { content, .. } => {
                let Some(mut inner) = nested(content) else { continue };
                if drop_pictures(&mut inner, kept) {
                    *content = nesting(&inner);
                    changed = true;
                }
            }
            Part::Text { .. } | Part::File { .. } | Part::ToolUse { .. } | Part::Thinking { .. } => {}
        }
    }
    changed
}
