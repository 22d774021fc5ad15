//! Text for people.

use super::{Lost, active, result_text};
use crate::shape::{Part, Role, Session};

pub(super) fn write(session: &Session, lost: &mut Lost) -> String {
    let title = session.title.as_deref().unwrap_or(&session.id);
    let mut text = format!("# {}\n", title.replace('\n', " "));
    for message in active(session, lost) {
        if message.scaffolding && message.compaction.is_none() {
            lost.add("messages that programs wrote");
            continue;
        }
        let heading = match (message.role, &message.compaction) {
            (_, Some(_)) => "Summary",
            (Role::User, None) => "User",
            (Role::Assistant, None) => "Assistant",
            (Role::System, None) => "System",
            (Role::Tool, None) => "Tool",
        };
        let time = message.time.map(|time| format!(" ({time})")).unwrap_or_default();
        text.push_str(&format!("\n## {heading}{time}\n"));
        for part in &message.parts {
            text.push('\n');
            text.push_str(&shown(part, lost));
            text.push('\n');
        }
    }
    text
}

fn shown(part: &Part, lost: &mut Lost) -> String {
    match part {
        Part::Text(text) => text.clone(),
        Part::Thinking(thinking) if thinking.text.is_empty() => {
            lost.add("sealed reasoning");
            "> (sealed reasoning)".to_owned()
        }
        Part::Thinking(thinking) => format!("> {}", thinking.text.replace('\n', "\n> ")),
        Part::ToolCall { name, input, .. } => format!("**{name}**\n\n{}", fenced("json", &format!("{input:#}"))),
        Part::ToolResult { parts, is_error, .. } => {
            let mark = if *is_error { "Failed:\n\n" } else { "" };
            format!("{mark}{}", fenced("", &result_text(parts, lost)))
        }
        Part::File(file) => {
            lost.add("files");
            format!("(file {})", file.name.as_deref().or(file.mime.as_deref()).unwrap_or("without a name"))
        }
        Part::Raw(raw) => fenced("json", &format!("{raw:#}")),
    }
}

/// A fence that is longer than any in the text.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|it| it != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(3.max(longest + 1));
    format!("{fence}{language}\n{text}\n{fence}")
}
