//! A thread: its header with actions, the conversation, the way back in time, and the composer.

use maud::{Markup, html};
use threadkeep_calls::{Checkpoint, Message, Queued, Scope, Thread};
use threadkeep_model::Lifecycle;

use crate::aside::{Aside, aside};
use crate::head::{Section, close, dialogs, header, tabs};
use crate::message::{Shows, messages};
use crate::runs::work;
use crate::text::brief;

/// A version that stands out in the history of a thread.
pub struct Mark {
    /// The version.
    pub version: u64,
    /// What happened, or its name.
    pub says: String,
}

/// A thread on the screen.
pub struct Conversation<'a> {
    /// The thread as it is now.
    pub thread: &'a Thread,
    /// The messages on the screen, in their order.
    pub messages: &'a [Message<'static>],
    /// The index of the first one.
    pub first: u64,
    /// How many messages there are at this version.
    pub total: u64,
    /// How messages are shown.
    pub shows: Shows<'a>,
    /// Names of versions.
    pub checkpoints: &'a [Checkpoint],
    /// Versions that stand out, rising.
    pub marks: &'a [Mark],
    /// Messages that wait to be delivered.
    pub queue: &'a [Queued],
    /// Whether this server runs the thread's agent.
    pub works_here: bool,
    /// What is beside the conversation.
    pub aside: &'a Aside<'a>,
    /// The rights of the reader.
    pub scope: Scope,
}

impl Conversation<'_> {
    fn may_write(&self) -> bool {
        self.scope >= Scope::Write
    }
}

/// The screen of a thread.
pub fn conversation(view: &Conversation<'_>) -> Markup {
    let Conversation { thread, first, total, shows, .. } = *view;
    let short = thread.short_id.to_string();
    html! {
        div.thread #thread data-thread=(thread.id) data-short=(short) data-version=(thread.v) data-as-of=[shows.as_of]
            data-total=(total) data-running=[thread.run.as_ref().map(|run| run.id)] data-view=(if shows.json { "json" } else { "talk" }) {
            div.roof { (header(thread, view.may_write())) (tabs(thread, if shows.json { Section::Json } else { Section::Talk })) }
            div.columns {
                div.talk {
                    section.log #log aria-label="Conversation" {
                        @if total == 0 {
                            div.empty { h2 { "Nothing said yet" } p { "Write the first message below, or from a terminal:" }
                                pre tabindex="0" { code { "threadkeep say " (short) " \"Hello\"" } } }
                        }
                        div.spacer data-before=(first) {}
                        (messages(view.messages, first, shows))
                        div.spacer data-after=(total.saturating_sub(first + view.messages.len() as u64)) {}
                    }
                    button.newer #newer type="button" hidden { "↓ " span { "New messages" } }
                    (slider(view))
                    @if view.may_write() { (composer(view)) }
                }
                (aside(view.aside))
            }
            @if view.may_write() { (dialogs(thread, view.checkpoints, shows.as_of)) (editor(thread)) }
        }
    }
}

/// What changed of a thread, for pages that show it: its header, its queue and whether its agent works here, what is beside
/// it, and the new messages, the first of which has this index.
pub fn tail(
    thread: &Thread,
    (waiting, works_here): (&[Queued], bool),
    beside: Option<&Aside<'_>>,
    (found, first): (&[Message<'_>], u64),
    shows: Shows<'_>,
    may_write: bool,
) -> Markup {
    html! {
        (header(thread, may_write))
        (queue(thread, waiting, works_here))
        @if let Some(beside) = beside { (aside(beside)) }
        (work(thread))
        (messages(found, first, shows))
    }
}

/// The way back in time.
fn slider(view: &Conversation<'_>) -> Markup {
    let now = view.thread.v.0;
    let at = view.shows.as_of.unwrap_or(now);
    html! {
        form.slider #slider action=(format!("/t/{}", view.thread.short_id)) method="get" {
            label for="as-of" { "As of" }
            input #as-of type="range" name="v" min="0" max=(now) value=(at) list="marks" aria-valuetext=(format!("version {at}"));
            datalist #marks {
                @for mark in view.marks { option value=(mark.version) label=(brief(&mark.says, 40)) {} }
            }
            output for="as-of" { "v" (at) }
            @if !view.marks.is_empty() {
                details.menu.marks { summary.button { "Marks " (view.marks.len()) }
                    div { @for mark in view.marks.iter().rev() {
                        a href=(format!("/t/{}?v={}", view.thread.short_id, mark.version)) aria-current=[(view.shows.as_of == Some(mark.version)).then_some("true")] { bdi { (brief(&mark.says, 60)) } small { "v" (mark.version) } }
                    } }
                }
            }
            @if view.shows.as_of.is_some() {
                span.past { "You read the past." }
                @if view.may_write() { button type="button" data-open="fork" { "Fork from here" } button type="button" data-open="rollback" { "Roll back to here" } }
                a.button href=(format!("/t/{}", view.thread.short_id)) { "Now" }
            }
            noscript { button { "Show" } }
        }
    }
}

fn composer(view: &Conversation<'_>) -> Markup {
    let thread = view.thread;
    let refused = match thread.lifecycle {
        Lifecycle::Active | Lifecycle::Suspended if thread.terminated.is_some() => Some("This thread was terminated."),
        Lifecycle::Active | Lifecycle::Suspended => None,
        Lifecycle::Completed => Some("This thread is completed. Fork it to go on."),
        Lifecycle::Cancelled => Some("This thread was cancelled. Fork it to go on."),
        Lifecycle::Archived => Some("This thread is archived. Fork it to go on."),
    };
    html! {
        div.compose #compose hidden[view.shows.as_of.is_some()] {
            (queue(thread, view.queue, view.works_here))
            @if let Some(refused) = refused {
                p.refused { (refused) }
            } @else {
                form #say {
                    label.hidden for="text" { "Message" }
                    textarea #text name="text" rows="1" placeholder=(says(thread, view.works_here)) dir="auto" { (thread.draft.as_deref().unwrap_or_default()) }
                    div.row {
                        span.small #kept role="status" {}
                        span.spring {}
                        (work(thread))
                        button.primary #send aria-keyshortcuts="Control+Enter" { (sends(thread)) }
                    }
                }
            }
        }
    }
}

/// The label of the button that sends.
fn sends(thread: &Thread) -> &'static str {
    if thread.run.is_some() { "Queue" } else { "Send" }
}

/// What the empty field says.
fn says(thread: &Thread, works_here: bool) -> String {
    let agent = thread.agent_id.as_deref().map(|agent| brief(agent, 30));
    match (&thread.run, agent) {
        (Some(_), Some(agent)) => format!("Queued while {agent} works…"),
        (Some(_), None) => "Queued while the agent works…".to_owned(),
        (None, Some(agent)) if works_here => format!("Say something to {agent}…"),
        (None, _) => "Say something…".to_owned(),
    }
}

/// The messages that wait to be delivered, and how the next one is sent. A queued message starts a run where the agent works.
fn queue(thread: &Thread, items: &[Queued], works_here: bool) -> Markup {
    let to = if thread.run.is_some() || works_here { "queue" } else { "messages" };
    html! {
        ul.queue #queue aria-label="Queued messages" data-to=(to) data-sends=(sends(thread)) data-says=(says(thread, works_here)) {
            @for item in items {
                li {
                    span.tag { "queued" } " "
                    span { bdi { (brief(&item.queued_message.content.to_text(), 160)) } }
                    form data-call=(format!("DELETE /v1/threads/{}/queue/{}", thread.id, item.id)) data-then="reload" { button aria-label="Remove from the queue" { "×" } }
                }
            }
        }
    }
}

/// The dialog in which a message is changed.
fn editor(thread: &Thread) -> Markup {
    let path = format!("/v1/threads/{}", thread.id);
    html! {
        dialog #edit aria-labelledby="edit-title" {
            h2 #edit-title { "Change a message" }
            p { "A fork keeps both. An edit changes this thread; earlier versions still show the old text." }
            form #edit-form data-call=(format!("PATCH {path}/messages/")) data-then="reload" {
                label { "Text" textarea name="content" rows="8" dir="auto" {} }
                p.actions { button.primary type="button" #edit-fork { "Fork, then write there" } button { "Edit here" } (close()) }
            }
        }
    }
}
