//! The log of a thread, entry by entry.

use maud::{Markup, PreEscaped, html};
use threadkeep_calls::{HistoryEntry, Page, Thread};

use crate::head::{Section, head};
use crate::markdown::code_block;
use crate::text::{actor, brief, time};

/// The screen of a thread's entries.
pub fn entries(thread: &Thread, page: &Page<HistoryEntry<'static>>, may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    html! {
        div.thread #thread data-thread=(thread.id) data-short=(short) data-version=(thread.v) data-view="entries" {
            (head(thread, Section::Entries, may_write))
            ol.entries #rows { (entry_rows(&short, page)) }
        }
    }
}

/// Rows of entries, and where to go on.
pub fn entry_rows(short: &str, page: &Page<HistoryEntry<'static>>) -> Markup {
    html! {
        @for entry in &page.items {
            li.entry data-version=(entry.version) {
                details {
                    summary {
                        code { "v" (entry.version) }
                        strong { (entry.kind) }
                        (actor(&entry.actor))
                        span.gist { bdi { (brief(entry.data.get(), 100)) } }
                        (time(entry.time))
                    }
                    (PreEscaped(code_block("json", &pretty(entry.data.get()))))
                }
            }
        }
        @if let Some(next) = &page.next_cursor {
            li.more { a href=(format!("/t/{short}?view=entries&after={next}")) data-more=(format!("/t/{short}/entries?after={next}")) { "More entries" } }
        }
    }
}

fn pretty(json: &str) -> String {
    let read: Option<serde_json::Value> = serde_json::from_str(json).ok();
    read.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.to_owned())
}
