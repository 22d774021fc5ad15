//! Merges: which thread to merge, what would change, and conflicts with both sides next to each other.

use maud::{Markup, html};
use threadkeep_calls::{MergeTold, Thread};
use threadkeep_model::{ConflictType, Json, MergeAction, MergeConflict, MergeStatus, ShortId};

use crate::head::{Section, head};
use crate::text::{brief, counted, time, title};

/// Both sides of a conflict, as text.
#[derive(Debug, Clone, Default)]
pub struct Sides {
    /// The target's side; none if it is gone there.
    pub ours: Option<String>,
    /// The source's side; none if it is gone there.
    pub theirs: Option<String>,
}

fn action(action: MergeAction) -> &'static str {
    match action {
        MergeAction::Added => "added",
        MergeAction::Taken => "taken",
        MergeAction::Merged => "merged",
        MergeAction::Removed => "removed",
    }
}

/// The screen on which the thread to merge is chosen. Relatives come first.
pub fn choose_source(thread: &Thread, relatives: &[Thread]) -> Markup {
    let short = thread.short_id.to_string();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Other, true))
            section.card {
                h2 { "Merge another thread into this one" }
                p { "Files, values and decisions come together; conversations stay apart. Nothing changes before you confirm." }
                (relatives_list(relatives, |other| format!("/t/{short}/merge?source={other}")))
                form.filters action=(format!("/t/{short}/merge")) method="get" {
                    input type="text" name="source" required placeholder="Id of a thread" aria-label="Id of a thread" autocomplete="off";
                    button.primary { "Continue" }
                }
            }
        }
    }
}

/// The family of a thread, each with the address that `to` gives its short id.
pub(crate) fn relatives_list(relatives: &[Thread], to: impl Fn(ShortId) -> String) -> Markup {
    html! {
        @if !relatives.is_empty() {
            ul.rows.relatives {
                @for other in relatives {
                    li.row {
                        span.dot data-state=(other.lifecycle.as_str()) {}
                        a.name href=(to(other.short_id)) { bdi { (title(other.title.as_deref())) } }
                        span.number { (counted(other.message_count, "message")) }
                        span.when { (time(other.updated)) }
                    }
                }
            }
        }
    }
}

/// The screen of a merge that was tried without changing anything.
pub fn merge(thread: &Thread, source: &Thread, tried: &MergeTold, sides: &[Sides]) -> Markup {
    let short = thread.short_id.to_string();
    let open = tried.conflicts.iter().filter(|conflict| conflict.resolved.is_none()).count();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Other, true))
            section.merge #merge data-thread=(thread.id) data-short=(short) data-source=(source.id) {
                h2 { "Merge " a href=(format!("/t/{}", source.short_id)) { bdi { (title(source.title.as_deref())) } } " into " bdi { (title(thread.title.as_deref())) } }
                ol.steps {
                    li.done { "Collect: " (counted(tried.files.len() as u64, "file")) ", " (counted(tried.values.len() as u64, "value")) }
                    li .done[open == 0] { "Conflicts " span #resolved { "0" } "/" (open) }
                    li { "Merge" }
                }
                @if tried.status == MergeStatus::Failed { p.warn { "The check of the result failed." } }
                @if tried.files.is_empty() && tried.values.is_empty() && tried.conflicts.is_empty() {
                    p.empty { "Nothing differs: there is nothing to merge." }
                }
                @if !tried.files.is_empty() {
                    ul.tree.large { @for file in &tried.files { li { code { bdi { (file.path.as_str()) } } span.tag { (action(file.action)) } } } }
                }
                @if !tried.values.is_empty() {
                    ul.tree.large { @for value in &tried.values { li { code { bdi { (value.key.as_str()) } } span.tag { (action(value.action)) } } } }
                }
                form #merge-form {
                    @for (place, (conflict, sides)) in tried.conflicts.iter().zip(sides).enumerate() { (choice(place, conflict, sides)) }
                    p.small #merge-state role="status" {}
                    p.actions {
                        button.primary #merge-now disabled[open > 0] { "Merge" }
                        label.check { input type="checkbox" name="approval"; " Ask for an approval first" }
                        a href=(format!("/t/{short}")) { "Cancel" }
                    }
                }
            }
        }
    }
}

fn choice(place: usize, conflict: &MergeConflict, sides: &Sides) -> Markup {
    let (field, name) = match (&conflict.path, &conflict.key, &conflict.question) {
        (Some(path), _, _) => ("path", path.as_str().to_owned()),
        (_, Some(key), _) => ("key", key.as_str().to_owned()),
        (_, _, Some(question)) => ("question", question.clone()),
        (None, None, None) => ("", String::new()),
    };
    let side = |text: &Option<String>, json: &Option<Json>| match (text, json) {
        (Some(text), _) => text.clone(),
        (None, Some(json)) => json.as_str().to_owned(),
        (None, None) => String::new(),
    };
    let (ours, theirs) = (side(&sides.ours, &conflict.ours), side(&sides.theirs, &conflict.theirs));
    let result = conflict.merged.clone().unwrap_or_else(|| theirs.clone());
    let is_file = conflict.kind == ConflictType::File;
    let radio = format!("take-{place}");
    html! {
        fieldset.conflict data-field=(field) data-name=(name) data-open=(conflict.resolved.is_none()) tabindex="-1" {
            legend { span.tag { (kind(conflict.kind)) } " " code { bdi { (brief(&name, 200)) } } @if conflict.resolved.is_some() { " " span.tag { "resolved" } } }
            div.sides {
                div { label { input type="radio" name=(radio) value="ours"; " Ours (target) " kbd { "o" } } pre tabindex="0" { code { (ours) @if ours.is_empty() { em { "removed here" } } } } }
                div { label { input type="radio" name=(radio) value="theirs"; " Theirs " kbd { "t" } } pre tabindex="0" { code { (theirs) @if theirs.is_empty() { em { "removed there" } } } } }
                div {
                    @if is_file { label { input type="radio" name=(radio) value="union"; " Both " kbd { "u" } } }
                    label { input type="radio" name=(radio) value="edit"; " Written " kbd { "e" } }
                    textarea aria-label=(format!("Result for {}", brief(&name, 80))) rows="8" spellcheck="false" dir="auto" { (result) }
                }
            }
        }
    }
}

fn kind(kind: ConflictType) -> &'static str {
    match kind {
        ConflictType::File => "file",
        ConflictType::Decision => "decision",
        ConflictType::CodeDependency => "check",
        ConflictType::State => "value",
    }
}
