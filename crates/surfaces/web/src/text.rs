//! Small pieces of text: escaped, cut, counted, and times.

use maud::{Markup, html};
use threadkeep_model::{Actor, ActorKind, Timestamp};

/// `text` as HTML shows it to the letter.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    escape_into(text, &mut safe);
    safe
}

/// Adds `text` to `html`, escaped.
pub(crate) fn escape_into(text: &str, html: &mut String) {
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            other => html.push(other),
        }
    }
}

/// The beginning of `text`, at most `max` characters, in one line.
pub fn brief(text: &str, max: usize) -> String {
    let mut short = String::new();
    let mut words = text.split_whitespace();
    for word in words.by_ref() {
        if !short.is_empty() {
            short.push(' ');
        }
        short.extend(word.chars().take(max + 1));
        if short.chars().count() > max {
            break;
        }
    }
    match short.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &short[..end]),
        None => short,
    }
}

/// A count with its noun, such as `2 files`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", grouped(count)) }
}

/// A number with separators between thousands.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size in bytes, as people say it.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

/// A stretch of time in microseconds, as people say it.
pub(crate) fn duration(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    match seconds {
        0 => format!("{} ms", micros / 1_000),
        1..10 => format!("{:.1} s", micros as f64 / 1e6),
        10..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// A moment. The browser shows it in the reader's zone.
pub(crate) fn time(moment: Timestamp) -> Markup {
    let text = moment.to_string();
    let plain = text.get(..16).unwrap_or(&text).replace('T', " ");
    html! { time datetime=(text) { (plain) } }
}

/// Who wrote something.
pub(crate) fn actor(actor: &Actor) -> Markup {
    html! { span.actor data-kind=(kind_of(actor.kind)) { bdi { (brief(&actor.name, 60)) } } }
}

/// The kind of an actor, in a word.
pub(crate) fn kind_of(kind: ActorKind) -> &'static str {
    match kind {
        ActorKind::Human => "human",
        ActorKind::Agent => "agent",
        ActorKind::System => "system",
    }
}

/// The title of a thread, or what stands in for one.
pub(crate) fn title(title: Option<&str>) -> String {
    match title.map(|title| brief(title, 140)) {
        Some(title) if !title.is_empty() => title,
        _ => "Untitled".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(brief("a\n b   c", 10), "a b c");
        assert_eq!(brief("ééééé", 3), "ééé…");
        assert_eq!(brief("  ", 3), "");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        let shown = [0, 999_999, 1_250_000, 59_000_000, 61_000_000, 3_720_000_000].map(duration);
        assert_eq!(shown, ["0 ms", "999 ms", "1.2 s", "59 s", "1 min 1 s", "1 h 2 min"]);
        assert_eq!((counted(1, "file"), counted(0, "file")), ("1 file".into(), "0 files".into()));
    }
}
