//! Readings as text, one line a message.

use std::fmt::Write as _;

use threadkeep_transcripts::shape::{FileData, Message, OriginKind, Part, Session};
use threadkeep_transcripts::{Reading, Resume, Window};

/// Compares a reading with the lines of `expected`.
#[track_caller]
pub fn check(reading: &Reading, expected: &str) {
    let lines = |text: &str| text.trim().lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    let found = lines(&show(reading));
    assert!(found == lines(expected), "found:\n{found}\n\nexpected:\n{}", lines(expected));
}

pub fn show(reading: &Reading) -> String {
    let mut text = String::new();
    for session in &reading.sessions {
        show_session(&mut text, session);
    }
    for record in &reading.skipped.named {
        writeln!(text, "skipped {}: {}", record.place, record.reason).expect("memory takes it");
    }
    text
}

fn show_session(text: &mut String, session: &Session) {
    let some =
        |name: &str, value: &Option<String>| value.as_ref().map(|it| format!(" {name} {it}")).unwrap_or_default();
    write!(text, "= {} {}", session.source, session.id).expect("memory takes it");
    let title = session.title.as_ref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
    let tags = if session.tags.is_empty() { String::new() } else { format!(" [{}]", session.tags.join(", ")) };
    let origin = session.origin.as_ref().map(|origin| {
        let kind = match origin.kind {
            OriginKind::Subagent => "subagent of",
            OriginKind::Fork => "fork of",
        };
        format!(" {kind} {}{}{}", origin.session, some("at", &origin.message), some("by", &origin.call))
    });
    let usage = session.usage.map(|it| format!(" tokens {}/{}", it.input, it.output)).unwrap_or_default();
    let (folder, branch) = (some("in", &session.folder), some("on", &session.git_branch));
    writeln!(text, "{title}{folder}{branch}{tags}{}{usage}", origin.unwrap_or_default()).expect("memory takes it");
    for message in &session.messages {
        writeln!(text, "{}", show_message(message)).expect("memory takes it");
    }
    if !session.records.is_empty() {
        writeln!(text, "records: {}", session.records.len()).expect("memory takes it");
    }
    writeln!(text, "active: {}", session.active.as_deref().unwrap_or("none")).expect("memory takes it");
}

fn show_message(message: &Message) -> String {
    let parent = message.parent.as_ref().map(|parent| format!(" < {parent}")).unwrap_or_default();
    let mut marks = String::new();
    if message.scaffolding {
        marks.push_str(" scaffolding");
    }
    if message.out_of_context {
        marks.push_str(" out-of-context");
    }
    if let Some(mark) = &message.compaction {
        marks.push_str(if mark.summary { " summary" } else { " compaction" });
        marks.extend(mark.first_kept.as_ref().map(|kept| format!(" kept {kept}")));
        marks.extend(mark.tokens_before.map(|tokens| format!(" before {tokens}")));
    }
    marks.extend(message.subagents.iter().map(|it| format!(" started {}", it.session)));
    let model = message.model.as_ref().map(|model| format!(" {model}")).unwrap_or_default();
    let usage = message.usage.map(|it| format!(" {}/{}/{}/{}", it.input, it.output, it.cache_read, it.cache_write));
    let parts: Vec<String> = message.parts.iter().map(show_part).collect();
    let raw = if message.raw.is_empty() {
        String::new()
    } else {
        let mut names: Vec<&str> = message.raw.keys().map(String::as_str).collect();
        names.sort_unstable();
        format!(" +{}", names.join(","))
    };
    let role = message.role.as_str();
    format!("{}{parent} {role}{marks}{model}{}: {}{raw}", message.id, usage.unwrap_or_default(), parts.join(" | "))
}

pub fn show_part(part: &Part) -> String {
    match part {
        Part::Text(text) => format!("{text:?}"),
        Part::Thinking(it) => {
            let bound = if it.is_bound() {
                format!(" bound to {}", it.provider.as_deref().unwrap_or("?"))
            } else {
                String::new()
            };
            format!("thinks {:?}{bound}", it.text)
        }
        Part::ToolCall { id, name, input } => format!("calls {name} {id} {input}"),
        Part::ToolResult { call, parts, is_error } => {
            let parts: Vec<String> = parts.iter().map(show_part).collect();
            format!("{} {call} [{}]", if *is_error { "failed" } else { "answers" }, parts.join(" | "))
        }
        Part::File(file) => {
            let data = match &file.data {
                FileData::Bytes(bytes) => format!("{} bytes", bytes.len()),
                FileData::Link(link) => format!("at {link}"),
            };
            let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
            format!("file {} {} {data}", or(&file.name), or(&file.mime))
        }
        Part::Raw(value) => format!("raw {value}"),
    }
}

/// Reads a file that grows: once after each of its lines, each time from where the last reading ended. Later readings
/// of a message replace earlier ones. The result must be the same as that of one reading.
#[track_caller]
pub fn check_growing(name: &str, text: &str, read: impl Fn(&Window<'_>, &Resume) -> Reading) {
    let whole = read(&Window::whole(name, text.as_bytes()), &Resume::default());
    let mut grown: Vec<Session> = Vec::new();
    let mut resume = Resume::default();
    let ends = text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]);
    for end in ends {
        let start = usize::try_from(resume.offset).expect("it fits");
        let window = Window { name, bytes: &text.as_bytes()[start..end], is_last: true };
        let reading = read(&window, &resume);
        for session in reading.sessions {
            merge(&mut grown, session);
        }
        // The state goes to disk between two readings.
        let json = serde_json::to_string(&reading.resume).expect("it is plain data");
        resume = serde_json::from_str(&json).expect("it was written so");
    }
    let shown = |sessions: &[Session]| {
        let mut text = String::new();
        for session in sessions {
            for message in &session.messages {
                let parent = message.parent.as_ref().map(|parent| named(session, parent));
                writeln!(
                    text,
                    "{} {} {}",
                    session.id,
                    parent.unwrap_or_default(),
                    show_message(&Message { parent: None, ..message.clone() })
                )
                .expect("memory takes it");
            }
            writeln!(text, "active {:?}", session.active.as_ref().map(|active| named(session, active)))
                .expect("memory takes it");
        }
        text
    };
    let (grown, whole) = (shown(&grown), shown(&whole.sessions));
    assert!(grown == whole, "grown:\n{grown}\n\nwhole:\n{whole}");
}

/// The id of a message, by its id or an alias.
fn named(session: &Session, name: &str) -> String {
    let mut name = name;
    while let Some((_, to)) = session.aliases.iter().find(|(from, _)| from == name) {
        name = to;
    }
    name.to_owned()
}

fn merge(all: &mut Vec<Session>, session: Session) {
    let Some(known) = all.iter_mut().find(|known| known.id == session.id) else {
        all.push(session);
        return;
    };
    known.aliases.extend(session.aliases);
    known.active = session.active.or(known.active.take());
    for message in session.messages {
        match known.messages.iter_mut().find(|it| it.id == message.id) {
            Some(place) => *place = message,
            None => known.messages.push(message),
        }
    }
}
