//! Two threads side by side: where they part, what each says after that, and how their files and values differ.

use maud::{Markup, html};
use threadkeep_calls::{Message, Thread};

use crate::diff::diff;
use crate::head::{Section, head};
use crate::merge::relatives_list;
use crate::message::{Shows, messages};
use crate::text::{brief, counted, grouped, title};
use crate::threads::percent;

/// One of the two threads.
pub struct Side<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// The first messages that the other one does not have.
    pub messages: &'a [Message<'static>],
}

/// How a file differs.
pub struct FileDifference {
    /// Its path.
    pub path: String,
    /// Whether each thread has it.
    pub has: (bool, bool),
    /// From the first thread's text to the second one's; none if it is no text, or too long.
    pub unified: Option<String>,
}

/// Two threads that are compared.
pub struct Compared<'a> {
    /// The thread from which the comparison was asked for, and the other one.
    pub sides: (Side<'a>, Side<'a>),
    /// Number of messages that both begin with.
    pub shared: u64,
    /// The last of them.
    pub last_shared: Option<&'a str>,
    /// Files that differ.
    pub files: &'a [FileDifference],
    /// Whether more files differ than these.
    pub more_files: bool,
    /// Values that differ: the key, and the JSON of each.
    pub values: &'a [(String, Option<String>, Option<String>)],
    /// Whether the reader may change the threads.
    pub may_write: bool,
}

/// The screen on which the thread to compare with is chosen.
pub fn choose_other(thread: &Thread, relatives: &[Thread], may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Other, may_write))
            section.card {
                h2 { "Compare this thread with another one" }
                p { "You see where they part, what each says after that, and how their files and values differ." }
                (relatives_list(relatives, |other| format!("/t/{short}/compare?with={other}")))
                form.filters action=(format!("/t/{short}/compare")) method="get" {
                    input type="text" name="with" required placeholder="Id of a thread" aria-label="Id of a thread" autocomplete="off";
                    button.primary { "Compare" }
                }
            }
        }
    }
}

/// The screen of two threads that are compared.
pub fn compare(compared: &Compared<'_>) -> Markup {
    let (own, other) = &compared.sides;
    let (short, with) = (own.thread.short_id, other.thread.short_id);
    let shared = compared.shared;
    html! {
        div.thread data-thread=(own.thread.id) data-short=(short) {
            (head(own.thread, Section::Other, compared.may_write))
            div.head {
                h2 { "Compared with " a href=(format!("/t/{with}")) { bdi { (title(other.thread.title.as_deref())) } } }
                span.spring {}
                a.button href=(format!("/t/{with}/compare?with={short}")) { "Swap" }
                @if compared.may_write { a.button href=(format!("/t/{short}/merge?source={with}")) { "Merge it into this one" } }
            }
            p.facts {
                @if shared == 0 { span { "They share no message." } }
                @else {
                    span { "They share the first " (counted(shared, "message")) "." }
                    @if let Some(last) = compared.last_shared { a href=(format!("/t/{short}?m={}", percent(last))) { "See where they part" } }
                }
                span { (counted(compared.files.len() as u64, "file")) @if compared.more_files { "+" } " and " (counted(compared.values.len() as u64, "value")) " differ." }
            }
            div.pair { (side(own, shared)) (side(other, shared)) }
            h2 { "Files" span.count { " " (compared.files.len()) @if compared.more_files { "+" } } }
            @if compared.files.is_empty() { p.small { "All files are the same." } }
            @for file in compared.files { (file_row(compared, file)) }
            h2 { "Values" span.count { " " (compared.values.len()) } }
            @if compared.values.is_empty() { p.small { "All values are the same." } }
            @else {
                div.scroll tabindex="0" role="region" aria-label="Values that differ" { table.compared {
                    thead { tr { th { "Key" } th { bdi { (title(own.thread.title.as_deref())) } } th { bdi { (title(other.thread.title.as_deref())) } } } }
                    tbody { @for (key, ours, theirs) in compared.values { tr { td { code { bdi { (brief(key, 80)) } } } (cell(ours)) (cell(theirs)) } } }
                } }
            }
        }
    }
}

fn cell(json: &Option<String>) -> Markup {
    html! { td { @match json { Some(json) => code { bdi { (brief(json, 200)) } }, None => span.small { "none" } } } }
}

/// What one thread says after the point where they part.
fn side(side: &Side<'_>, shared: u64) -> Markup {
    let thread = side.thread;
    let short = thread.short_id.to_string();
    let own = thread.message_count.saturating_sub(shared);
    let rest = own.saturating_sub(side.messages.len() as u64);
    let shows = Shows { thread: &short, as_of: None, json: false, marked: None, whole: false };
    html! {
        section aria-label=(title(thread.title.as_deref())) {
            h3 { a href=(format!("/t/{short}")) { bdi { (title(thread.title.as_deref())) } } span.count { (grouped(own)) " of its own" } }
            @if side.messages.is_empty() { p.small { "It says nothing after that." } }
            (messages(side.messages, shared, shows))
            @if let Some(last) = side.messages.last().filter(|_| rest > 0) { p.small { a href=(format!("/t/{short}?m={}", percent(&last.id.to_string()))) { (counted(rest, "more message")) } } }
        }
    }
}

fn file_row(compared: &Compared<'_>, file: &FileDifference) -> Markup {
    let (own, other) =
        (title(compared.sides.0.thread.title.as_deref()), title(compared.sides.1.thread.title.as_deref()));
    html! {
        details.fold {
            summary {
                code { bdi { (brief(&file.path, 160)) } } span.spring {}
                @match file.has {
                    (true, false) => span.tag { "only in " bdi { (brief(&own, 30)) } },
                    (false, true) => span.tag { "only in " bdi { (brief(&other, 30)) } },
                    (true, true) | (false, false) => span.tag { "changed" },
                }
            }
            div { @match &file.unified { Some(text) => (diff(text)), None => p.small { "It is no text, or too long to compare here." } } }
        }
    }
}
