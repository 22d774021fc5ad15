//! The list of threads: filters of the call, rows, and what to do where there is none yet.

use maud::{Markup, html};
use threadkeep_calls::{Page, ThreadSummary};
use threadkeep_model::{Lifecycle, Visibility};

use crate::text::{brief, counted, grouped, time, title};

/// The filters of a list as the address names them: name and text, in the order of the call.
#[derive(Debug, Clone, Default)]
pub struct Filters(pub Vec<(String, String)>);

impl Filters {
    /// The filters as the query of the call.
    pub fn query(&self) -> String {
        encoded(self.0.iter())
    }

    fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text)
    }

    /// The address of the list without one of its filters.
    fn without(&self, name: &str) -> String {
        let pairs = self.0.iter().filter(|(known, _)| known != name && known != "cursor");
        format!("/?{}", encoded(pairs))
    }

    /// The same filters, from a cursor on.
    fn after(&self, cursor: &str) -> String {
        let cursor = ("cursor".to_owned(), cursor.to_owned());
        encoded(self.0.iter().filter(|(known, _)| known != "cursor").chain([&cursor]))
    }

    /// The filters that narrow the list, which chips show.
    fn narrowing(&self) -> impl Iterator<Item = &(String, String)> {
        self.0.iter().filter(|(name, text)| !text.is_empty() && !matches!(name.as_str(), "title" | "sort" | "cursor"))
    }
}

fn encoded<'a>(pairs: impl Iterator<Item = &'a (String, String)>) -> String {
    let pairs = pairs.filter(|(_, text)| !text.is_empty());
    pairs.map(|(name, text)| format!("{name}={}", percent(text))).collect::<Vec<_>>().join("&")
}

/// `text` as a part of an address.
pub(crate) fn percent(text: &str) -> String {
    let mut safe = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => safe.push(char::from(byte)),
            other => safe.push_str(&format!("%{other:02X}")),
        }
    }
    safe
}

/// Filters that are typed: the field of the call, and its label.
const FIELDS: [(&str, &str); 3] = [("agentId", "Agent"), ("tag", "Tag"), ("projectId", "Project")];

/// Whether a filter has a control of its own.
fn is_shown(name: &str) -> bool {
    matches!(name, "lifecycle" | "archived") || FIELDS.iter().any(|(field, _)| *field == name)
}

/// The screen of all threads.
pub fn threads(page: &Page<ThreadSummary>, filters: &Filters, may_write: bool) -> Markup {
    let is_filtered = filters.narrowing().next().is_some() || !filters.get("title").is_empty();
    html! {
        div.head {
            h1 { "Threads" }
            span.count { @if let Some(total) = page.total { (grouped(total)) @if !page.total_is_exact { "+" } } }
            span.spring {}
            @if may_write { button.primary type="button" data-open="new-thread" aria-keyshortcuts="n" { "New thread" } }
        }
        form.filters action="/" method="get" role="search" {
            input type="search" name="title" value=(filters.get("title")) placeholder="Filter by title" aria-label="Filter by title" autocomplete="off";
            select name="lifecycle" aria-label="State" {
                option value="" { "Any state" }
                @for state in [Lifecycle::Active, Lifecycle::Suspended, Lifecycle::Completed, Lifecycle::Cancelled] {
                    option value=(state.as_str()) selected[filters.get("lifecycle") == state.as_str()] { (state.as_str()) }
                }
            }
            select name="archived" aria-label="Archive" {
                @for (value, label) in [("", "Not archived"), ("true", "Archived"), ("any", "All")] {
                    option value=(value) selected[filters.get("archived") == value] { (label) }
                }
            }
            select name="sort" aria-label="Order" {
                @for (value, label) in [("", "Last changed"), ("created", "Newest")] {
                    option value=(value) selected[filters.get("sort") == value] { (label) }
                }
            }
            details.menu.more-filters {
                summary.button { "More filters" }
                div {
                    @for (name, label) in FIELDS { label { (label) input type="text" name=(name) value=(filters.get(name)) autocomplete="off"; } }
                    button.primary { "Filter" }
                }
            }
            @for (name, text) in filters.narrowing().filter(|(name, _)| !is_shown(name)) {
                input type="hidden" name=(name) value=(text);
            }
            button { "Filter" }
        }
        @if is_filtered {
            p.chips {
                @for (name, text) in filters.narrowing() {
                    a.chip href=(filters.without(name)) { span { (name) } " " bdi { (brief(text, 40)) } " " span aria-label="remove" { "×" } }
                }
                @if !filters.get("title").is_empty() {
                    a.chip href=(filters.without("title")) { span { "title" } " " bdi { (brief(filters.get("title"), 40)) } " " span aria-label="remove" { "×" } }
                }
            }
        }
        @if page.items.is_empty() {
            (empty(is_filtered, may_write))
        } @else {
            div #changed hidden { button type="button" { "Show what changed" } }
            ul.rows #rows { (rows(page, filters)) }
        }
    }
}

fn empty(is_filtered: bool, may_write: bool) -> Markup {
    html! {
        section.empty {
            @if is_filtered {
                h2 { "No thread matches" }
                p { "Fewer words or fewer filters find more." }
                p.actions { a.button href="/" { "Show all threads" } }
            } @else {
                h2 { "No threads yet" }
                p { "Make one here, or from a terminal:" }
                pre tabindex="0" { code { "threadkeep demo\nthreadkeep new \"Ship the parser\"\nthreadkeep import auto" } }
                p.actions { @if may_write { button.primary type="button" data-open="new-thread" { "New thread" } a.button href="/import" { "Import files" } } }
            }
        }
    }
}

/// The rows of a page of threads, and where to go on.
pub fn rows(page: &Page<ThreadSummary>, filters: &Filters) -> Markup {
    html! {
        @if filters.get("cursor").is_empty() {
            li.titles aria-hidden="true" { span {} span { "Title" } span {} span { "Agent" } span.number { "Messages" } span { "Lines" } span.when { "Changed" } }
        }
        @for thread in &page.items { (row(thread)) }
        @if let Some(cursor) = &page.next_cursor {
            li.more { a href=(format!("/?{}", filters.after(cursor))) data-more=(format!("/web/threads?{}", filters.after(cursor))) { "More threads" } }
        }
    }
}

fn row(thread: &ThreadSummary) -> Markup {
    let lines = thread.diff_stats.lines;
    let (added, removed) = (lines.added + lines.changed, lines.removed + lines.changed);
    let state = if thread.run.is_some() { "running" } else { thread.lifecycle.as_str() };
    html! {
        li.row data-thread=(thread.id) data-version=(thread.v) {
            span.dot data-state=(state) role="img" aria-label=(state) title=(state) {}
            a.name href=(format!("/t/{}", thread.short_id)) { bdi { (title(thread.title.as_deref())) } }
            span.tags {
                @if thread.visibility == Visibility::Public { span.tag.public { "public" } }
                @if thread.archived { span.tag { "archived" } }
                @if let Some(parent) = thread.parent_relationships.first() { span.tag { (parent.kind.as_str()) } }
                @if thread.main_thread_id.is_some() { span.tag { "subagent" } }
                @if thread.draft.is_some() { span.tag { "draft" } }
            }
            span.agent {
                @if let Some(agent) = &thread.agent_id { a href=(format!("/?agentId={}", percent(agent))) title="Threads of this agent" { bdi { (brief(agent, 30)) } } }
                @else if let Some(user) = &thread.user_id { bdi { (brief(user, 30)) } }
            }
            span.number title=(counted(thread.message_count, "message")) { (grouped(thread.message_count)) span.hidden { " messages" } }
            span.changes {
                @if added > 0 { span.plus { "+" (grouped(added)) } }
                @if removed > 0 { span.minus { "−" (grouped(removed)) } }
            }
            span.when { (time(thread.updated)) }
        }
    }
}
