//! Observers: the threads that a thread is told of, which of their events, and where these go.

use maud::{Markup, html};
use threadkeep_calls::{Deliver, Observer, Thread, ThreadEvent};

use crate::head::{Section, head};
use crate::text::{actor, brief, time, title};

/// An event, in words.
fn event(event: ThreadEvent) -> &'static str {
    match event {
        ThreadEvent::StatusChanged => "its status changed",
        ThreadEvent::ArtifactCreated => "a file was created",
        ThreadEvent::ArtifactUpdated => "a file was changed",
        ThreadEvent::ErrorOccurred => "a run failed",
        ThreadEvent::ApprovalRequested => "an approval was asked for",
        ThreadEvent::Done => "the work is done",
    }
}

/// Which events an observer is told of, in a few words.
fn events(observer: &Observer) -> String {
    match observer.events.len() {
        0 => "all events".to_owned(),
        count if count == ThreadEvent::ALL.len() => "all events".to_owned(),
        _ => observer.events.join(", ").replace('_', " "),
    }
}

/// Observers beside a conversation.
pub(crate) fn beside(thread: &str, observers: &[(Observer, Option<String>)], shown_max: usize) -> Markup {
    html! {
        section {
            h2 { a href=(format!("/t/{thread}/observers")) { "Observes" } span.count { (observers.len()) } }
            @if observers.is_empty() { p.small { "It is told of no other thread." } }
            ul.kin {
                @for (observer, name) in observers.iter().take(shown_max) {
                    li {
                        a href=(format!("/t/{}", observer.target.short())) { bdi { (title(name.as_deref())) } }
                        span.small { (brief(&events(observer), 60)) @if let Deliver::Webhook(_) = observer.deliver { ", to a webhook" } }
                    }
                }
            }
        }
    }
}

/// The screen of a thread's observers, each with the title of the thread that it observes.
pub fn observers(thread: &Thread, found: &[(Observer, Option<String>)], may_write: bool) -> Markup {
    let (short, path) = (thread.short_id.to_string(), format!("/v1/threads/{}", thread.id));
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Other, may_write))
            @if may_write { (adding(&path)) }
            div #observers data-live="" {
                @if found.is_empty() {
                    section.empty {
                        h2 { "It observes no thread" }
                        p { "An observer tells this thread, or a webhook, what happens to another thread." }
                        pre tabindex="0" { code { "threadkeep thread observe " (short) " OTHER --events done" } }
                    }
                }
                @for (observer, name) in found {
                    article.card id=(format!("o-{}", observer.id)) {
                        div.head {
                            h2 { a href=(format!("/t/{}", observer.target.short())) { bdi { (title(name.as_deref())) } } }
                            code { (observer.target.short()) }
                            @if !observer.holds { span.tag { "undone by a rollback" } }
                            span.spring {}
                            @if may_write { button.danger type="button" data-call=(format!("DELETE {path}/observers/{}", observer.id)) { "Remove" } }
                        }
                        p.facts {
                            span { (events(observer)) }
                            span { @match &observer.deliver {
                                Deliver::Thread => "to this thread",
                                Deliver::Webhook(url) => { "to " code { bdi { (brief(url, 120)) } } }
                            } }
                            span { "asked for by " (actor(&observer.created_by)) " " (time(observer.created_at)) }
                        }
                    }
                }
            }
        }
    }
}

fn adding(path: &str) -> Markup {
    html! {
        details.fold #observing { summary { "Observe a thread" }
            form data-call=(format!("POST {path}/observe")) data-then="shows" data-shows="secret" {
                label { "Id of the thread" input type="text" name="target" required autocomplete="off"; }
                fieldset.checks { legend { "Tell this thread when" }
                    @for each in ThreadEvent::ALL { label.check { input type="checkbox" name="events[]" value=(each.as_str()); (event(each)) } }
                }
                label { "Webhook that is told instead (an address; optional)" input type="url" name="deliver.webhook" placeholder="https://" autocomplete="off"; }
                p.actions { button.primary { "Observe" } }
            }
            p.shown-once #new-secret hidden { "This secret signs the posts, and is shown once: " code {} " " button type="button" { "Copy" } }
        }
    }
}
