//! What is beside a conversation: family, runs, files, values and observers.

use maud::{Markup, html};
use threadkeep_calls::{Child, FileRecord, FileStats, Observer, Relationship, RelationshipRole, Run, Value};
use threadkeep_model::RelationKind;

use crate::files::tree_row;
use crate::observers;
use crate::runs::newest;
use crate::text::{brief, counted, grouped, size, time};

/// What is beside a conversation.
pub struct Aside<'a> {
    /// The short id of the thread.
    pub thread: &'a str,
    /// The version that is read, if it is not the newest.
    pub as_of: Option<u64>,
    /// The relations of the thread, each with the title of the other one.
    pub relations: &'a [(Relationship, Option<String>)],
    /// The subagents of the thread.
    pub subagents: &'a [Child],
    /// The entries of the root folder.
    pub files: &'a [FileRecord],
    /// How many files there are.
    pub stats: FileStats,
    /// Some values.
    pub values: &'a [Value],
    /// Whether there are more values.
    pub more_values: bool,
    /// The newest runs.
    pub runs: &'a [Run],
    /// Whether there are more runs.
    pub more_runs: bool,
    /// What the thread observes, each with the title of the other one.
    pub observers: &'a [(Observer, Option<String>)],
}

/// Rows of a list beside the conversation.
const SHOWN_MAX: usize = 8;

/// The column beside a conversation.
pub fn aside(beside: &Aside<'_>) -> Markup {
    let Aside { thread, as_of, relations, subagents, files, stats, values, more_values, runs, more_runs, observers } =
        *beside;
    let at = as_of.map(|version| format!("?v={version}")).unwrap_or_default();
    html! {
        aside.beside #beside aria-label="About this thread" {
            section {
                h2 { a href=(format!("/t/{thread}/map")) { "Family" } span.count { (grouped((relations.len() + subagents.len()) as u64)) } }
                @if relations.is_empty() && subagents.is_empty() { p.small { "No forks, handoffs or subagents yet." } }
                ul.kin {
                    @for (relation, title) in relations.iter().take(SHOWN_MAX) {
                        li data-kind=(relation.kind.as_str()) {
                            span.kind { (says(relation)) }
                            a href=(format!("/t/{}", relation.thread_id.short())) { bdi { (crate::text::title(title.as_deref())) } }
                        }
                    }
                    @for child in subagents.iter().take(SHOWN_MAX) {
                        li data-kind="subagent" {
                            span.kind { "subagent " bdi { (brief(&child.name, 30)) } }
                            a href=(format!("/t/{}", child.reference.short())) { bdi { (brief(child.title.as_deref().unwrap_or(&child.name), 60)) } }
                            span.small { bdi { (brief(&child.status, 40)) } }
                        }
                    }
                }
                @if relations.len() > SHOWN_MAX { p.small { a href=(format!("/t/{thread}/map")) { "All " (counted(relations.len() as u64, "relation")) } } }
            }
            (newest(thread, runs, more_runs))
            section {
                h2 { a href=(format!("/t/{thread}/files{at}")) { "Files" } span.count { (grouped(stats.file_count)) } }
                @if files.is_empty() { p.small { "No files. " code { "threadkeep files put " (thread) " FILE" } } }
                @else {
                    ul.tree { @for record in files.iter().take(SHOWN_MAX) { (tree_row(record, thread, as_of)) } }
                    p.small { (size(stats.total_size)) @if files.len() > SHOWN_MAX { ", " a href=(format!("/t/{thread}/files{at}")) { "all files" } } }
                }
            }
            section {
                h2 { a href=(format!("/t/{thread}/values{at}")) { "Values" } span.count { (values.len()) @if more_values { "+" } } }
                @if values.is_empty() { p.small { "No values. " code { "threadkeep kv set " (thread) " KEY JSON" } } }
                dl.values {
                    @for value in values.iter().take(SHOWN_MAX) {
                        div { dt { bdi { (brief(value.key.as_str(), 40)) } } dd { code { bdi { (brief(value.value.as_str(), 60)) } } " " @if let Some(at) = value.updated_at { span.small { (time(at)) } } } }
                    }
                }
            }
            (observers::beside(thread, observers, SHOWN_MAX))
        }
    }
}

/// How this thread is related to the other one, in words.
fn says(relation: &Relationship) -> &'static str {
    match (relation.kind, relation.role) {
        (RelationKind::Fork, RelationshipRole::Parent) => "forked to",
        (RelationKind::Fork, RelationshipRole::Child) => "forked from",
        (RelationKind::Handoff, RelationshipRole::Parent) => "handed off to",
        (RelationKind::Handoff, RelationshipRole::Child) => "handed off from",
        (RelationKind::Mention, RelationshipRole::Parent) => "mentions",
        (RelationKind::Mention, RelationshipRole::Child) => "mentioned by",
        (RelationKind::Spawn, RelationshipRole::Parent) => "spawned",
        (RelationKind::Spawn, RelationshipRole::Child) => "spawned by",
        (RelationKind::Reference, RelationshipRole::Parent) => "refers to",
        (RelationKind::Reference, RelationshipRole::Child) => "referred to by",
    }
}
