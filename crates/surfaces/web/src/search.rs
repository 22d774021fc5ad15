//! The search: what was asked, and the messages that answer, opened at their place.

use std::ops::Range;

use maud::{Markup, html};
use threadkeep_calls::{SearchFound, SearchMessage, SearchStatus};

use crate::text::{brief, grouped, time, title};

/// Characters around a hit that are shown.
const AROUND: usize = 160;

/// The screen of a search. `found` is none where nothing was asked.
pub fn search(query: &str, role: &str, found: Option<&SearchFound>, status: Option<&SearchStatus>) -> Markup {
    html! {
        div.head { h1 { "Search" } }
        form.filters action="/search" method="get" role="search" {
            input type="search" name="q" value=(query) placeholder="Words, a question, \"an exact phrase\"" aria-label="Search" autocomplete="off" autofocus[query.is_empty()];
            select name="role" aria-label="Speaker" {
                @for (value, label) in [("", "Everyone"), ("user", "User"), ("assistant", "Assistant")] { option value=(value) selected[role == value] { (label) } }
            }
            button.primary { "Search" }
        }
        @if let Some(status) = status.filter(|status| !status.caught_up) {
            p.warn role="status" { "The index is behind by " (grouped(status.behind)) @if status.behind >= 1_000 { "+" } " entries. The newest messages may be missing." }
        }
        @match found {
            None => section.empty {
                h2 { "Search by words or meaning" }
                p { @if let Some(status) = status { (grouped(status.messages)) " messages are indexed." } }
                pre tabindex="0" { code { "threadkeep search \"which parser\"" } }
            },
            Some(found) if found.results.is_empty() => section.empty {
                h2 { "Nothing matches" }
                p { "Other words may. Messages of users and assistants are searched, files are not." }
            },
            Some(found) => {
                p.small { (grouped(found.results.len() as u64)) " threads in " (format!("{:.0}", found.took_ms)) " ms" }
                ol.hits #rows {
                    @for result in &found.results {
                        li.row.hit {
                            a.name href=(format!("/t/{}?m={}", result.thread_id.short(), result.message_id)) { bdi { (title(result.thread_title.as_deref())) } }
                            span.when { (time(result.timestamp)) }
                            @if result.also_in > 0 { span.tag { "also in " (result.also_in) } }
                            @if result.superseded { span.tag { "superseded" } }
                            @for message in result.messages.iter().filter(|message| message.is_match) { (hit(message)) }
                        }
                    }
                }
            }
        }
    }
}

/// The text around the first words that match, with these marked.
fn hit(message: &SearchMessage) -> Markup {
    let marks = message.highlighted();
    let begin = marks.first().map_or(0, |mark| mark.start);
    let text = &message.text;
    let start = text[..begin].char_indices().rev().nth(AROUND / 2).map_or(0, |(at, _)| at);
    let end = text[begin..].char_indices().nth(AROUND * 2).map_or(text.len(), |(at, _)| begin + at);
    html! {
        p.excerpt dir="auto" {
            span.role { (message.role.as_str()) } " "
            @if start > 0 { "…" }
            (marked(text, start..end, &marks))
            @if end < text.len() { "…" }
        }
    }
}

fn marked(text: &str, shown: Range<usize>, marks: &[Range<usize>]) -> Markup {
    let mut at = shown.start;
    let mut pieces: Vec<(bool, &str)> = Vec::new();
    for mark in marks.iter().filter(|mark| mark.start >= shown.start && mark.end <= shown.end) {
        if mark.start < at {
            continue;
        }
        pieces.push((false, &text[at..mark.start]));
        pieces.push((true, &text[mark.clone()]));
        at = mark.end;
    }
    pieces.push((false, &text[at..shown.end]));
    html! { @for (is_mark, piece) in pieces { @if is_mark { mark { (piece) } } @else { (brief_line(piece)) } } }
}

/// A piece of text in one line; spaces at its ends stay.
fn brief_line(text: &str) -> String {
    let inner = brief(text, usize::MAX - 1);
    let lead = if text.starts_with(char::is_whitespace) { " " } else { "" };
    let trail = if text.ends_with(char::is_whitespace) && !inner.is_empty() { " " } else { "" };
    format!("{lead}{inner}{trail}")
}
