//! The values of a thread, each with an editor that refuses to overwrite what it has not seen.

use maud::{Markup, html};
use threadkeep_calls::{Page, Thread, Value};

use crate::head::{Section, head};
use crate::text::{brief, time};
use crate::threads::percent;

/// The screen of a thread's values.
pub fn values(thread: &Thread, page: &Page<Value>, prefix: &str, as_of: Option<u64>, may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    let may_write = may_write && as_of.is_none();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Values, may_write))
            nav.crumbs aria-label="Path" {
                a href=(format!("/t/{short}/values")) { "values" }
                @if let Some(version) = as_of { span.tag { "as of v" (version) } a href=(format!("/t/{short}/values")) { "now" } }
            }
            form.filters method="get" role="search" {
                input type="search" name="prefix" value=(prefix) placeholder="Keys that begin with…" aria-label="Keys that begin with" autocomplete="off";
                button { "Filter" }
            }
            @if page.items.is_empty() {
                section.empty { h2 { "No values" } pre tabindex="0" { code { "threadkeep kv set " (short) " KEY '{\"any\": \"JSON\"}'" } } }
            }
            ul.values.large {
                @for value in &page.items {
                    @let path = format!("/v1/threads/{}/kv/{}", thread.id, percent(value.key.as_str()));
                    @let json = pretty(value.value.as_str());
                    li {
                        details {
                            summary { code { bdi { (brief(value.key.as_str(), 120)) } } span.gist { bdi { (brief(value.value.as_str(), 100)) } } @if let Some(at) = value.updated_at { (time(at)) } }
                            @if may_write {
                                form data-call=(format!("PUT {path}")) data-body="json" data-if-match=(value.version) data-then="reload" {
                                    label { "JSON, set at version " (value.version) textarea name="json" rows=(json.lines().count().clamp(2, 16)) spellcheck="false" { (json) } }
                                    p.actions { button.primary { "Save" } }
                                }
                                form data-call=(format!("DELETE {path}")) data-then="reload" { p.actions { button.danger { "Delete" } } }
                            } @else { pre tabindex="0" { code { (json) } } }
                        }
                    }
                }
            }
            @if let Some(cursor) = &page.next_cursor { p { a href=(format!("/t/{short}/values?cursor={}&prefix={}", percent(cursor), percent(prefix))) { "More values" } } }
            @if may_write {
                details.fold { summary { "New value" }
                    form data-call=(format!("PUT /v1/threads/{}/kv/{{key}}", thread.id)) data-body="json" data-then="reload" {
                        label { "Key" input type="text" name="key" required autocomplete="off"; }
                        label { "JSON" textarea name="json" rows="3" spellcheck="false" required { "\"\"" } }
                        p.actions { button.primary { "Set" } }
                    }
                }
            }
        }
    }
}

fn pretty(json: &str) -> String {
    let read: Option<serde_json::Value> = serde_json::from_str(json).ok();
    read.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.to_owned())
}
