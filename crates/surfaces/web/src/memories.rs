//! Memories: the texts that an account keeps across its threads. They are listed, searched, added, edited and forgotten.

use maud::{Markup, html};
use threadkeep_calls::{MEMORY_BYTES_MAX, Memory, MemoryScope, Project};

use crate::text::{brief, time};
use crate::threads::percent;

/// Memories on the screen.
pub struct Memories<'a> {
    /// The question that was asked; empty for the whole list.
    pub query: &'a str,
    /// The project whose memories are shown; empty for all.
    pub project: &'a str,
    /// The projects of the account.
    pub projects: &'a [Project],
    /// The memories, in the order of the call.
    pub found: &'a [Memory],
    /// The cursor of the next page.
    pub next_cursor: Option<&'a str>,
    /// Whether the reader may change them.
    pub may_write: bool,
}

/// The screen of memories.
pub fn memories(shown: &Memories<'_>) -> Markup {
    let Memories { query, project, projects, found, next_cursor, may_write } = *shown;
    let name =
        |id: &str| projects.iter().find(|known| known.id == id).map_or(id, |known| known.name.as_str()).to_owned();
    html! {
        div.head { h1 { "Memories" } @if query.is_empty() { span.count { (found.len()) @if next_cursor.is_some() { "+" } } } }
        form.filters action="/memories" method="get" role="search" {
            input type="search" name="q" value=(query) placeholder="Search by words and meaning" aria-label="Search memories" autocomplete="off";
            @if !projects.is_empty() {
                select name="project" aria-label="Project" {
                    option value="" { "Account and all projects" }
                    @for known in projects { option value=(known.id) selected[known.id == project] { (brief(&known.name, 40)) } }
                }
            }
            button { "Search" }
        }
        @if may_write { (adding(project, &name(project))) }
        @if found.is_empty() { (empty(query)) }
        ul.memories #rows { @for memory in found { (row(memory, name, may_write)) } }
        @if let Some(cursor) = next_cursor {
            p.more { a href=(format!("/memories?project={}&cursor={}", percent(project), percent(cursor))) { "Newer memories" } }
        }
    }
}

/// The form that adds a memory: to the project that is shown, or to the account.
fn adding(project: &str, name: &str) -> Markup {
    let (call, place) = if project.is_empty() {
        ("POST /v1/memories".to_owned(), "all threads of the account".to_owned())
    } else {
        (format!("POST /v1/projects/{}/memories", percent(project)), format!("the threads of {}", brief(name, 40)))
    };
    html! {
        details.fold #adding { summary { "Remember something" }
            form data-call=(call) data-then="reload" {
                label { "Text, for " bdi { (place) } textarea name="text" rows="2" required maxlength=(MEMORY_BYTES_MAX) dir="auto" {} }
                p.actions { button.primary { "Remember" } }
            }
        }
    }
}

fn empty(query: &str) -> Markup {
    html! {
        section.empty {
            @if query.is_empty() {
                h2 { "Nothing is remembered" }
                p { "A memory is a short text that all threads share: a preference, a fact, a decision. Models get those that fit." }
                pre tabindex="0" { code { "threadkeep memory add \"Answers in German, with metric units.\"" } }
            } @else {
                h2 { "No memory matches" }
                p.actions { a.button href="/memories" { "Show all memories" } }
            }
        }
    }
}

fn row(memory: &Memory, name: impl Fn(&str) -> String, may_write: bool) -> Markup {
    let path = format!("/v1/memories/{}", memory.id);
    html! {
        li.card id=(format!("memory-{}", memory.id)) {
            p.plain dir="auto" { (memory.text) }
            div.facts {
                @match (memory.scope, &memory.project_id) {
                    (MemoryScope::Project, Some(project)) => span.tag { "project " bdi { (brief(&name(project), 40)) } },
                    (MemoryScope::Account | MemoryScope::Project, _) => span.tag { "account" },
                }
                @if memory.edited { span.tag { "edited" } }
                (source(memory))
                span { (time(memory.updated_at)) }
                @if may_write {
                    div.acts {
                        details.fold { summary { "Edit" }
                            form data-call=(format!("PATCH {path}")) data-then="reload" {
                                label { "Text" textarea name="text" rows="3" required maxlength=(MEMORY_BYTES_MAX) dir="auto" { (memory.text) } }
                                p.actions { button.primary { "Save" } }
                            }
                        }
                        form data-call=(format!("DELETE {path}")) data-then="reload" data-sure="Forget this memory? This cannot be undone." { button.danger { "Forget" } }
                    }
                }
            }
        }
    }
}

/// Where a memory was taken from.
fn source(memory: &Memory) -> Markup {
    html! {
        @if let (Some(thread), Some(first)) = (memory.thread_id, memory.sources.first()) {
            a href=(format!("/t/{}?m={}", thread.short(), percent(&first.to_string()))) { "from a message" }
        }
    }
}

/// Memories in a list beside something else.
pub(crate) fn gists(found: &[Memory]) -> Markup {
    html! { ul.tree.large { @for memory in found { li { span.plain dir="auto" { (memory.text) } span.small { (source(memory)) } } } } }
}
