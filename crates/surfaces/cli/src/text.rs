//! Text for people: control characters are made visible, so that no text can steer the terminal.

use std::borrow::Cow;

use threadkeep::{SystemWorld, Timestamp, World};

use crate::screen::screen;

/// Characters of a title in a list.
pub(crate) const TITLE_SHOWN_MAX: usize = 48;
/// Characters of what somebody typed, in an error.
pub(crate) const TYPED_SHOWN_MAX: usize = 80;

/// `text` with every control character but line breaks and tabs made visible.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(steers) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if steers(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown.into()
}

/// `text` on one line, cut after `most` characters.
pub(crate) fn brief(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (at, c) in visible(text).chars().enumerate() {
        if at == most {
            shown.push('…');
            break;
        }
        shown.push(if c.is_whitespace() { ' ' } else { c });
    }
    shown
}

/// A time for people: on a terminal how long ago, else to the second, in the reader's zone.
pub(crate) fn moment(time: Timestamp) -> String {
    let relative = screen().has_relative_times.then(|| ago(time, SystemWorld.now())).flatten();
    relative.unwrap_or_else(|| exact(time, &jiff::tz::TimeZone::system()))
}

/// A time to the second. UTC is told by a `Z`.
fn exact(time: Timestamp, zone: &jiff::tz::TimeZone) -> String {
    let Ok(at) = jiff::Timestamp::from_microsecond(time.as_micros()) else { return time.to_string() };
    let at = at.to_zoned(zone.clone());
    let format = if at.offset().is_zero() { "%Y-%m-%d %H:%M:%SZ" } else { "%Y-%m-%d %H:%M:%S%:z" };
    at.strftime(format).to_string()
}

/// How long ago `time` was, if that is less than a week and not in the future.
fn ago(time: Timestamp, now: Timestamp) -> Option<String> {
    let seconds = now.as_micros().checked_sub(time.as_micros())? / 1_000_000;
    match seconds {
        ..0 => None,
        0..10 => Some("just now".to_owned()),
        10..60 => Some(format!("{seconds} s ago")),
        60..3_600 => Some(format!("{} min ago", seconds / 60)),
        3_600..86_400 => Some(format!("{} h ago", seconds / 3_600)),
        86_400..604_800 => Some(counted(seconds.unsigned_abs() / 86_400, "day ago", "days ago")),
        604_800.. => None,
    }
}

/// The title of a thread, or `Untitled`.
pub(crate) fn or_untitled(title: Option<&str>) -> &str {
    title.filter(|title| !title.is_empty()).unwrap_or("Untitled")
}

/// `count` things, in words that agree.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

/// `text` as one word of a shell command.
pub(crate) fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_steers_a_terminal() {
        assert_eq!(visible("a\u{1b}[31mb\r\u{9b}c\nd\te"), "a\\u{1b}[31mb\\r\\u{9b}c\nd\te");
        assert_eq!(visible("Größe 🦀"), "Größe 🦀");
    }

    #[test]
    fn brief_is_one_line_and_says_where_it_was_cut() {
        assert_eq!(brief("one\ntwo", 20), "one two");
        assert_eq!(brief("größer", 3), "grö…");
    }

    #[test]
    fn a_time_is_told_in_the_zone_of_the_reader_or_as_how_long_ago_it_was() {
        let time: Timestamp = "2026-01-31T23:30:00.5Z".parse().expect("a time");
        let zone = |offset| jiff::tz::TimeZone::fixed(jiff::tz::offset(offset));
        assert_eq!(exact(time, &zone(0)), "2026-01-31 23:30:00Z");
        assert_eq!(exact(time, &zone(2)), "2026-02-01 01:30:00+02:00");
        let after = |seconds: i64| ago(time, time.plus_micros(seconds * 1_000_000));
        for (seconds, expected) in
            [(3, "just now"), (59, "59 s ago"), (61, "1 min ago"), (7_200, "2 h ago"), (90_000, "1 day ago")]
        {
            assert_eq!(after(seconds).as_deref(), Some(expected));
        }
        assert_eq!((after(-1), after(700_000)), (None, None));
    }

    #[test]
    fn a_quoted_word_is_one_word() {
        assert_eq!(quoted("sqlite:./a.db"), "sqlite:./a.db");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }
}
