//! The head of every screen of a thread: title, facts, the way between its screens, and actions with their dialogs.

use maud::{Markup, html};
use threadkeep_calls::{Checkpoint, Thread};
use threadkeep_model::{Lifecycle, Visibility};

use crate::text::{brief, counted, grouped, time, title};

/// The screens of a thread, in the order of their tabs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Talk,
    Files,
    Values,
    Runs,
    Context,
    Map,
    Entries,
    Json,
    /// A screen that is reached by an action, and has no tab.
    Other,
}

/// The head of a screen beside the conversation, with the dialogs of its actions.
pub(crate) fn head(thread: &Thread, own: Section, may_write: bool) -> Markup {
    html! { div.roof { (header(thread, may_write)) (tabs(thread, own)) } @if may_write { (dialogs(thread, &[], None)) } }
}

/// The way between the screens of a thread. Talk, entries and JSON show the same log.
pub(crate) fn tabs(thread: &Thread, own: Section) -> Markup {
    let at = format!("/t/{}", thread.short_id);
    let tab = |section: Section, rest: &str, label: &str| {
        html! { a href=(format!("{at}{rest}")) aria-current=[(section == own).then_some("page")] { (label) } }
    };
    html! {
        nav.tabs aria-label="Screens of this thread" {
            (tab(Section::Talk, "", "Talk"))
            (tab(Section::Files, "/files", "Files"))
            (tab(Section::Values, "/values", "Values"))
            (tab(Section::Runs, "/runs", "Runs"))
            (tab(Section::Context, "/context", "Context"))
            (tab(Section::Map, "/map", "Map"))
            span.spring {}
            (tab(Section::Entries, "?view=entries", "Entries"))
            (tab(Section::Json, "?view=json", "JSON"))
        }
    }
}

/// The header of a thread: title, facts, actions.
pub(crate) fn header(thread: &Thread, may_write: bool) -> Markup {
    let short = thread.short_id.to_string();
    let state = if thread.run.is_some() { "running" } else { thread.lifecycle.as_str() };
    html! {
        header.top #top {
            a.back href="/" aria-label="All threads" { "‹" }
            div.name {
                h1 { a href=(format!("/t/{short}")) { bdi { (title(thread.title.as_deref())) } } }
                p.facts {
                    span.state { span.dot data-state=(state) {} (state) }
                    code title=(thread.id) { (short) }
                    span { "v" (thread.v) }
                    span { (counted(thread.message_count, "message")) }
                    @if let Some(agent) = &thread.agent_id { span { "agent " bdi { (brief(agent, 40)) } } }
                    @if thread.visibility == Visibility::Public { span.tag.public { "public" } }
                    @if thread.archived { span.tag { "archived" } }
                    @if let Some(origin) = thread.origin_thread_id { a href=(format!("/t/{}", origin.short())) { "forked from " (origin.short()) } }
                    @if let Some(status) = &thread.status { span { bdi { (brief(status, 60)) } } }
                    span { "changed " (time(thread.updated)) }
                }
            }
            div.acts {
                @if may_write {
                    button type="button" data-open="fork" aria-keyshortcuts="f" { "Fork" }
                    details.menu #actions {
                        summary.button aria-label="More actions" { "⋯" }
                        div {
                            button type="button" data-open="rename" { "Rename" }
                            button type="button" data-open="share" { "Share" }
                            button type="button" data-open="checkpoint" { "Set checkpoint" }
                            button type="button" data-open="rollback" { "Roll back" }
                            a href=(format!("/t/{short}/compare")) { "Compare" }
                            a href=(format!("/t/{short}/merge")) { "Merge" }
                            a href=(format!("/t/{short}/observers")) { "Observers" }
                            button type="button" data-open="assign" { "Choose agent" }
                            button type="button" data-open="handoff" { "Hand off" }
                            (lifecycle(thread))
                            button.danger type="button" data-open="remove" { "Delete" }
                        }
                    }
                }
            }
        }
    }
}

/// The moves of the lifecycle that are allowed now, and the archive.
fn lifecycle(thread: &Thread) -> Markup {
    let moves: &[(&str, &str)] = match thread.lifecycle {
        Lifecycle::Active => &[("done", "Complete"), ("suspend", "Suspend"), ("cancel", "Cancel")],
        Lifecycle::Suspended => &[("resume", "Resume")],
        Lifecycle::Completed | Lifecycle::Cancelled => &[("archive", "Archive for good")],
        Lifecycle::Archived => &[],
    };
    let path = format!("/v1/threads/{}", thread.id);
    html! {
        @for (action, label) in moves {
            form data-call=(format!("POST {path}/lifecycle")) data-then="reload" {
                input type="hidden" name="action" value=(action);
                button { (label) }
            }
        }
        @if thread.archived && thread.lifecycle != Lifecycle::Archived {
            form data-call=(format!("POST {path}/unarchive")) data-then="reload" { button { "Unarchive" } }
        } @else if !thread.archived {
            form data-call=(format!("POST {path}/archive")) data-then="reload" { button { "Archive" } }
        }
    }
}

pub(crate) fn close() -> Markup {
    html! { button type="button" data-close="" { "Cancel" } }
}

/// The dialogs of the actions in the header.
pub(crate) fn dialogs(thread: &Thread, checkpoints: &[Checkpoint], as_of: Option<u64>) -> Markup {
    let path = format!("/v1/threads/{}", thread.id);
    let now = as_of.unwrap_or(thread.v.0);
    html! {
        dialog #fork aria-labelledby="fork-title" {
            h2 #fork-title { "Fork this thread" }
            p { "The fork shares the history up to its point. Both go on by themselves." }
            form data-call=(format!("POST {path}/fork")) data-then="open" {
                label { "Title" input type="text" name="title" maxlength="200" placeholder=(format!("Forked: {}", title(thread.title.as_deref()))) autocomplete="off"; }
                input type="hidden" name="messageId" value="";
                input type="hidden" name="version:number" value=(now);
                p.small #fork-point { "From version " (now) "." }
                p.actions { button.primary { "Fork" } (close()) }
            }
        }
        dialog #rename aria-labelledby="rename-title" {
            h2 #rename-title { "Rename" }
            form data-call=(format!("PATCH {path}")) data-then="reload" {
                label { "Title" input type="text" name="title" value=(thread.title.as_deref().unwrap_or_default()) maxlength="200" autocomplete="off"; }
                p.actions { button.primary { "Rename" } (close()) }
            }
        }
        dialog #share aria-labelledby="share-title" {
            h2 #share-title { "Share" }
            @if thread.visibility == Visibility::Public {
                p { "Anyone with the link reads this thread. Taking it back does not reach forks that others made." }
                p { a href=(format!("/t/{}", thread.short_id)) data-copy="" { "/t/" (thread.short_id) } }
                form data-call=(format!("PATCH {path}")) data-then="reload" {
                    input type="hidden" name="visibility" value="private";
                    p.actions { button.primary { "Make private" } (close()) }
                }
            } @else {
                p { "A public thread is read by anyone with its link: " (counted(thread.message_count, "message")) ", its files and its values." }
                p.warn { "Its history becomes public too: what was edited or deleted can be read at earlier versions." }
                p { a href=(format!("/t/{}?preview=visitor", thread.short_id)) target="_blank" { "See what a visitor would see" } }
                form data-call=(format!("PATCH {path}")) data-then="reload" {
                    input type="hidden" name="visibility" value="public";
                    p.actions { button.primary { "Make public" } (close()) }
                }
            }
        }
        dialog #checkpoint aria-labelledby="checkpoint-title" {
            h2 #checkpoint-title { "Set a checkpoint" }
            form data-call=(format!("POST {path}/checkpoint")) data-then="reload" {
                label { "Name of version " (thread.v) input type="text" name="name" required maxlength="200" autocomplete="off"; }
                p.actions { button.primary { "Set" } (close()) }
            }
        }
        dialog #rollback aria-labelledby="rollback-title" {
            h2 #rollback-title { "Roll back" }
            p { "Messages, files and values go back. Nothing is lost: an undo brings everything back." }
            form data-call=(format!("POST {path}/rollback")) data-then="now" {
                label { "To version" input type="number" name="version:number" min="0" max=(thread.v) value=(now) required; }
                @if !checkpoints.is_empty() {
                    p.small { "Checkpoints: " @for checkpoint in checkpoints { button.chip type="button" data-fill=(checkpoint.version) { bdi { (brief(&checkpoint.name, 40)) } " v" (checkpoint.version) } " " } }
                }
                p.actions { button.primary { "Roll back" } (close()) }
            }
            form data-call=(format!("POST {path}/rollback")) data-then="now" {
                input type="hidden" name="undo:boolean" value="true";
                p.actions { button { "Undo the last rollback" } }
            }
        }
        dialog #handoff aria-labelledby="handoff-title" {
            h2 #handoff-title { "Hand off" }
            form data-call=(format!("POST {path}/handoff")) data-then="open" {
                label { "Goal of the new thread" input type="text" name="goal" required autocomplete="off"; }
                label { "Agent" input type="text" name="agentId" list="agents" autocomplete="off"; }
                label { "Summary (a short one is made if this is empty)" textarea name="summary" rows="3" {} }
                p.actions { button.primary { "Hand off" } (close()) }
            }
        }
        dialog #assign aria-labelledby="assign-title" {
            h2 #assign-title { "Choose the agent" }
            p { "The agent answers the messages that you send from here on, if this server runs it." }
            form data-call=(format!("POST {path}/assign")) data-then="reload" {
                label { "Agent" input type="text" name="agentId" value=(thread.agent_id.as_deref().unwrap_or_default()) list="agents" required autocomplete="off"; }
                p.actions { button.primary { "Choose" } (close()) }
            }
        }
        dialog #remove aria-labelledby="remove-title" {
            h2 #remove-title { "Delete this thread" }
            p { "It has " (grouped(thread.message_count)) " messages. Its forks keep what they share. This cannot be undone." }
            form data-call=(format!("DELETE {path}")) data-then="home" {
                p.actions { button.danger { "Delete" } (close()) }
            }
        }
    }
}
