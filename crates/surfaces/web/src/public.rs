//! A public thread as a visitor reads it: whole without any script.

use maud::{Markup, html};
use threadkeep_calls::{Message, Thread};

use crate::message::{Shows, is_said, messages, plain_text};
use crate::text::{brief, counted, time, title};

/// Characters of a preview.
const LEAD_MAX: usize = 200;

/// The first line of a conversation, for previews of links to it.
pub fn lead(found: &[Message<'_>]) -> String {
    let said = found.iter().filter(|message| is_said(message)).map(plain_text).find(|text| !text.trim().is_empty());
    brief(&said.unwrap_or_default(), LEAD_MAX)
}

/// The screen of a public thread, with messages of which the first has this index.
pub fn public(
    thread: &Thread,
    (found, first): (&[Message<'static>], u64),
    total: u64,
    shows: Shows<'_>,
    may_fork: bool,
) -> Markup {
    let next = first + found.len() as u64;
    html! {
        div.thread.public data-short=(thread.short_id) {
            header.top {
                div.name {
                    h1 { bdi { (title(thread.title.as_deref())) } }
                    p.facts { span.tag.public { "public" } span { (counted(total, "message")) } span { "changed " (time(thread.updated)) } }
                }
                @if may_fork {
                    form data-call=(format!("POST /v1/threads/{}/fork", thread.id)) data-then="open" {
                        input type="hidden" name="version:number" value=(thread.v);
                        button.primary { "Fork to my threads" }
                    }
                }
            }
            section.log #log aria-label="Conversation" { (messages(found, first, shows)) }
            nav.pages aria-label="Pages" {
                @if first > 0 { a.button href=(format!("/t/{}?from={}", thread.short_id, first.saturating_sub(100))) { "Earlier" } }
                @if next < total { a.button href=(format!("/t/{}?from={next}", thread.short_id)) { "Later" } }
            }
        }
    }
}
