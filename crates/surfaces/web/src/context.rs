//! What a model is given of a thread: the parts and their tokens, the summary of what was cut, memories, and messages.

use std::collections::HashMap;

use maud::{Markup, html};
use threadkeep_calls::{Context, ContextMessage, ContextSummary, ContextTokens, Message, Thread};
use threadkeep_model::{MessageName, Uuid};

use crate::head::{Section, head};
use crate::markdown::markdown;
use crate::memories::gists;
use crate::message::plain_text;
use crate::text::{brief, counted, grouped};
use crate::threads::percent;

/// Width of the bar, in its own units.
const BAR: u64 = 1_000;

/// What a model is given, on the screen.
pub struct ContextShown<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// What the call told.
    pub context: &'a Context,
    /// The version that was asked for.
    pub as_of: Option<u64>,
    /// The run whose last step is shown.
    pub run: Option<Uuid>,
    /// The texts of the newest messages.
    pub messages: &'a [Message<'static>],
    /// Whether the reader may change the thread.
    pub may_write: bool,
}

/// The screen of what a model is given.
pub fn context(shown: &ContextShown<'_>) -> Markup {
    let ContextShown { thread, context, as_of, run, messages, may_write } = *shown;
    let short = thread.short_id.to_string();
    let given = context.messages.len() as u64;
    let fact = |name: &str, said: Markup| html! { div { dt { (name) } dd { (said) } } };
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Context, may_write))
            div #context data-live=[(as_of.is_none() && run.is_none()).then_some("")] {
                section.card {
                    div.head {
                        @match (run, as_of) {
                            (Some(run), _) => { h2 { "What the model saw" } a href=(format!("/t/{short}/runs/{run}")) { "in the last step of the run" } }
                            (None, Some(version)) => { h2 { "What the model saw" } span { "at " a href=(format!("/t/{short}?v={version}")) { "v" (version) } } }
                            (None, None) => h2 { "What the model would see now" },
                        }
                        @if run.is_some() || as_of.is_some() { span.spring {} a href=(format!("/t/{short}/context")) { "Now" } }
                    }
                    dl.figures {
                        (fact("Tokens", html! { (grouped(context.tokens.total)) @if context.estimated { small { "estimated" } } }))
                        (fact("Budget", html! { (grouped(context.budget)) }))
                        (fact("Messages", html! { (grouped(given)) @if context.cut > 0 { small { (grouped(context.cut)) " before them cut" } } }))
                        (fact("Memories", html! { (context.memories.len()) }))
                        (fact("Model", html! { @match &context.model { Some(model) => bdi { (brief(model, 40)) }, None => "–" } }))
                    }
                    (parts(context.tokens))
                    @if context.cuts_next { p.small { "The next request cuts older messages, and makes a summary of them first." } }
                }
                @if let Some(summary) = &context.summary { (summarized(&short, summary)) }
                @if !context.memories.is_empty() {
                    h2 { a href="/memories" { "Memories" } }
                    (gists(&context.memories))
                }
                h2 { "Messages" }
                @if context.messages.is_empty() { p.small { "No message would be sent." } }
                (list(&short, as_of, context, messages))
            }
        }
    }
}

/// The parts of a request, on a bar and in words.
fn parts(tokens: ContextTokens) -> Markup {
    let ContextTokens { system, tools, skills, summary, memories, messages, total } = tokens;
    let parts = [
        ("system prompt", system),
        ("tools", tools),
        ("skills", skills),
        ("summary", summary),
        ("memories", memories),
        ("messages", messages),
    ];
    let whole = total.max(1);
    let mut from = 0;
    let mut placed = Vec::new();
    for (place, (name, count)) in parts.into_iter().enumerate().filter(|(_, (_, count))| *count > 0) {
        let (x, to) = (from * BAR / whole, (from + count) * BAR / whole);
        placed.push((place, name, count, x, to.saturating_sub(x).max(2)));
        from += count;
    }
    html! {
        svg.timeline.parts viewBox=(format!("0 0 {BAR} 8")) preserveAspectRatio="none" aria-hidden="true" {
            rect.track width=(BAR) height="8" {}
            @for (place, _, _, x, width) in &placed { rect.(format!("p{place}")) x=(x) width=(width) height="8" {} }
        }
        ul.legend.parts { @for (place, name, count, ..) in &placed { li.(format!("p{place}")) { (name) " " (grouped(*count)) } } }
    }
}

fn summarized(short: &str, summary: &ContextSummary) -> Markup {
    html! {
        h2 { "Summary of what was cut" }
        section.card {
            div.body { (markdown(&summary.text)) }
            p.facts {
                span { "stands for " (counted(summary.covers.count, "message")) }
                a href=(link(short, &summary.covers.last.into(), summary.version.map(|version| version.0))) { "the last of them" }
                span { @match &summary.model { Some(model) => { "written by " bdi { (brief(model, 60)) } } None => "picked from the messages" } }
                span { @if summary.version.is_some() { "kept in the thread" } @else { "not kept yet" } }
                span { (grouped(summary.tokens)) " tokens" }
            }
        }
    }
}

fn link(short: &str, message: &MessageName, as_of: Option<u64>) -> String {
    let at = as_of.map(|version| format!("&v={version}")).unwrap_or_default();
    format!("/t/{short}?m={}{at}", percent(&message.to_string()))
}

/// The messages that are given, with the beginning of their texts where these are known.
fn list(short: &str, as_of: Option<u64>, context: &Context, known: &[Message<'static>]) -> Markup {
    let known: HashMap<u64, &Message<'_>> =
        known.iter().filter_map(|message| Some((message.index?, message))).collect();
    let told = |given: &ContextMessage| given.index.and_then(|index| known.get(&index));
    // Silent messages have no index, so the first one that is known begins the list.
    let unread = context.messages.iter().take_while(|given| told(given).is_none()).count();
    let unread = if context.messages.iter().any(|given| told(given).is_some()) { unread } else { 0 };
    html! {
        ol.given {
            @if unread > 0 { li.small { (counted(unread as u64, "older message")) ", " (grouped(context.messages[..unread].iter().map(|given| given.tokens).sum())) " tokens" } }
            @for given in &context.messages[unread..] {
                li {
                    span.role { (given.role.as_str()) }
                    span.gist dir="auto" {
                        @match (told(given).map(|message| plain_text(message)), given.id) {
                            (Some(text), _) if !text.trim().is_empty() => (brief(&text, 160)),
                            (Some(_), _) => em { "calls or results of tools" },
                            (None, Some(_)) => em { "a silent message" },
                            (None, None) => em { "results of tools" },
                        }
                    }
                    span.number { (grouped(given.tokens)) }
                    @match (told(given), given.id) {
                        (Some(message), _) => a href=(link(short, &message.id, as_of)) { "#" (message.index.unwrap_or_default()) },
                        (None, Some(id)) => a href=(link(short, &id.into(), as_of)) { "open" },
                        (None, None) => span {},
                    }
                }
            }
        }
    }
}
