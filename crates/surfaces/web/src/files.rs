//! The files of a thread: a folder, a file with its versions, differences, and lines that match.

use maud::{Markup, PreEscaped, html};
use threadkeep_calls::{FileRecord, FileVersion, Grepped, Thread};

use crate::diff::diff;
use crate::head::{Section, head};
use crate::markdown::{code_block, markdown};
use crate::text::{actor, brief, counted, size, time};
use crate::threads::percent;

/// Where in the files of a thread a screen is.
pub struct FileAt<'a> {
    /// The thread.
    pub thread: &'a Thread,
    /// The path of the folder or file.
    pub path: &'a str,
    /// The version that is read, if it is not the newest.
    pub as_of: Option<u64>,
    /// Whether the reader may change it.
    pub may_write: bool,
}

/// A file on the screen.
pub struct FileShown<'a> {
    /// Its record.
    pub record: &'a FileRecord,
    /// Its text; none if it is no text, or too long.
    pub text: Option<&'a str>,
    /// Its versions, the newest first.
    pub versions: &'a [FileVersion],
    /// The difference that was asked for, and since which version.
    pub difference: Option<(u64, &'a str)>,
}

fn below(path: &str) -> String {
    path.split('/').filter(|name| !name.is_empty()).map(percent).collect::<Vec<_>>().join("/")
}

fn address(thread: &str, path: &str, as_of: Option<u64>) -> String {
    let at = as_of.map(|version| format!("?v={version}")).unwrap_or_default();
    match below(path).as_str() {
        "" => format!("/t/{thread}/files{at}"),
        below => format!("/t/{thread}/files/{below}{at}"),
    }
}

/// A row of a folder.
pub(crate) fn tree_row(record: &FileRecord, thread: &str, as_of: Option<u64>) -> Markup {
    html! {
        li .folder[record.is_directory] {
            a href=(address(thread, record.path.as_str(), as_of)) { bdi { (brief(&record.name, 80)) } @if record.is_directory { "/" } }
            @if !record.is_directory { span.small { (size(record.size)) } }
            @if let Some(at) = record.updated_at { span.small { (time(at)) } }
        }
    }
}

/// The way from the root to a path.
fn crumbs(at: &FileAt<'_>) -> Markup {
    let short = at.thread.short_id.to_string();
    let mut so_far = String::new();
    let mut steps = vec![("files".to_owned(), address(&short, "", at.as_of))];
    for name in at.path.split('/').filter(|name| !name.is_empty()) {
        so_far.push('/');
        so_far.push_str(name);
        steps.push((name.to_owned(), address(&short, &so_far, at.as_of)));
    }
    html! {
        nav.crumbs aria-label="Path" {
            @for (place, (name, to)) in steps.iter().enumerate() {
                @if place > 0 { span { "/" } }
                a href=(to) { bdi { (brief(name, 60)) } }
            }
            @if let Some(version) = at.as_of { span.tag { "as of v" (version) } a href=(address(&short, at.path, None)) { "now" } }
        }
    }
}

/// The screen of a folder, or of lines that match.
pub fn files(at: &FileAt<'_>, entries: &[FileRecord], asked: &str, found: Option<&Grepped>) -> Markup {
    let short = at.thread.short_id.to_string();
    html! {
        div.thread data-thread=(at.thread.id) data-short=(short) {
            (head(at.thread, Section::Files, at.may_write))
            (crumbs(at))
            form.filters method="get" role="search" {
                input type="search" name="grep" value=(asked) placeholder="Find in files" aria-label="Find in files" autocomplete="off";
                @if let Some(version) = at.as_of { input type="hidden" name="v" value=(version); }
                button { "Find" }
            }
            @if let Some(found) = found {
                @if found.files.is_empty() { section.empty { h2 { "No line matches" } } }
                @for file in &found.files {
                    section.hit {
                        h2 { a href=(address(&short, file.path.as_str(), at.as_of)) { bdi { (file.path.as_str()) } } span.count { (counted(file.matches.len() as u64, "line")) } }
                        ol.lines { @for line in &file.matches { li { code { (line.line) } span { bdi { (line.text) } } } } }
                    }
                }
                @if found.truncated { p.small { "There may be more lines." } }
            } @else if entries.is_empty() {
                section.empty { h2 { "No files here" } pre tabindex="0" { code { "threadkeep files put " (short) " FILE" } } }
            } @else {
                ul.tree.large { @for record in entries { (tree_row(record, &short, at.as_of)) } }
            }
        }
    }
}

/// The screen of a file.
pub fn file(at: &FileAt<'_>, shown: &FileShown<'_>) -> Markup {
    let short = at.thread.short_id.to_string();
    let FileShown { record, text, versions, difference } = *shown;
    let raw = format!("/v1/threads/{}/files/{}", at.thread.id, below(at.path));
    let raw_at = at.as_of.map(|version| format!("?asOf={version}")).unwrap_or_default();
    let mime = record.mime_type.as_deref().unwrap_or("application/octet-stream");
    let is_picture = matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp");
    let ending = record.name.rsplit_once('.').map_or("", |(_, ending)| ending);
    html! {
        div.thread data-thread=(at.thread.id) data-short=(short) {
            (head(at.thread, Section::Files, at.may_write))
            (crumbs(at))
            div.columns {
                section.file aria-label="Content" {
                    p.facts {
                        span { (mime) } span { (size(record.size)) }
                        @if let Some(version) = record.version { span { "written at v" (version) } }
                        a href=(format!("{raw}{raw_at}")) download=(record.name) { "Download" }
                    }
                    @if let Some((since, text)) = difference {
                        p { "Changes since version " (since) ". " a href=(address(&short, at.path, at.as_of)) { "Show the file" } }
                        @if text.is_empty() { p.small { "Nothing changed." } } @else { (diff(text)) }
                    } @else if is_picture {
                        img.picture src=(format!("{raw}?thumbnail=1024{}", raw_at.replace('?', "&"))) alt=(brief(&record.name, 200));
                    } @else if let Some(text) = text {
                        @if matches!(ending, "md" | "markdown") {
                            div.body { (markdown(text)) }
                            details.fold { summary { "Source" } (PreEscaped(code_block("", text))) }
                        } @else { (PreEscaped(code_block(ending, text))) }
                    } @else { p.small { "This file is not shown here: it is no text, or too long." } }
                }
                aside.beside aria-label="Versions" {
                    section {
                        h2 { "Versions" span.count { (versions.len()) } }
                        ol.versions {
                            @for (place, version) in versions.iter().enumerate() {
                                li {
                                    a href=(address(&short, at.path, Some(version.version.0))) aria-current=[(record.version == Some(version.version)).then_some("true")] { "v" (version.version) }
                                    " " (actor(&version.actor)) " "
                                    @if version.deleted { span.tag { "deleted" } }
                                    @if let Some(bytes) = version.size { span.small { (size(bytes)) } }
                                    span.small { (time(version.created_at)) }
                                    @if let Some(before) = versions.get(place + 1).filter(|before| !before.deleted && !version.deleted) {
                                        a.small href=(format!("/t/{short}/files/{}?v={}&diff={}", below(at.path), version.version, before.version)) { "what changed" }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
