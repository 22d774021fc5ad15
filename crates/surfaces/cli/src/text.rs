//! Text for people: control characters are made visible, so that no text can steer the terminal.

use std::borrow::Cow;

use threadkeep::Timestamp;

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

/// A time to the second, in UTC.
pub(crate) fn moment(time: Timestamp) -> String {
    let shown = time.to_string();
    match shown.split_at_checked(19) {
        Some((second, _)) => format!("{}Z", second.replace('T', " ")),
        None => shown,
    }
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
    fn a_quoted_word_is_one_word() {
        assert_eq!(quoted("sqlite:./a.db"), "sqlite:./a.db");
        assert_eq!(quoted("it's here"), r"'it'\''s here'");
        assert_eq!(quoted(""), "''");
    }
}
