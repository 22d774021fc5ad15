//! Identities: names that tell one account, key, actor or project from another.
//!
//! A name that is mended on its way in lets one caller pass for another, so a name with a second spelling is refused.

use unicode_normalization::is_nfc;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::Invalid;

/// `given` as it is, if it has one spelling: 1 to `max` bytes in Unicode's normal form C, of characters that show,
/// with single spaces between words.
///
/// # Errors
/// Names `field` and the rule it breaks.
pub fn identity<T: AsRef<str>>(field: &str, given: T, max: usize) -> Result<T, Invalid> {
    let name = given.as_ref();
    let refused = |rule: &str| Err(Invalid::parameter(field, rule));
    if name.trim().is_empty() {
        return refused("a name must not be blank");
    }
    if name.len() > max {
        return refused(&format!("a name has at most {max} bytes"));
    }
    if let Some(odd) = name.chars().find(|character| is_unseen(*character)) {
        return refused(&format!("a name has no control or invisible characters, such as U+{:04X}", u32::from(odd)));
    }
    if name.starts_with(' ') || name.ends_with(' ') || name.contains("  ") {
        return refused("a name has single spaces between words, and none at its ends");
    }
    if !is_nfc(name) {
        return refused("a name is in Unicode's normal form C");
    }
    Ok(given)
}

/// The JSON Schema pattern of an identity. It cannot say that a name is in normal form C.
#[cfg(feature = "schema")]
pub const IDENTITY: &str = concat!(
    r"^[^\x00-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]+",
    r"( [^\x00-\x20\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufe00-\ufe0f\ufeff]+)*$"
);

/// Whether a reader cannot see a character, or cannot tell it from a space.
fn is_unseen(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control();
    }
    match character.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator
        | GeneralCategory::SpaceSeparator => true,
        // Letters and marks that are drawn as nothing.
        _ => matches!(
            u32::from(character),
            0x034F | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x180B..=0x180F | 0x3164 | 0xFE00..=0xFE0F | 0xFFA0 | 0xE0100..=0xE01EF
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_another_spelling_is_refused_and_never_mended() {
        for name in ["ann", "Ann B.", "ann@example.org", "auth0|12", "Größe 100% 🦀", "安", "a\u{e9}", "x:y/z"] {
            assert_eq!(identity("account", name, 255), Ok(name));
        }
        let long = "x".repeat(256);
        for name in [
            "",
            " ",
            "\0",
            "a\0",
            "\0a",
            "a\tb",
            "a\n",
            "\x7f",
            "a\u{85}",
            " a",
            "a ",
            "a  b",
            "a\u{a0}b",
            "a\u{3000}",
            "a\u{200b}",
            "a\u{200d}b",
            "\u{feff}a",
            "a\u{202e}b",
            "a\u{ad}b",
            "e\u{301}",
            "\u{212b}",
            "a\u{2028}b",
            "a\u{fe0f}",
            "\u{3164}",
            &long,
        ] {
            let refused = identity("account", name, 255).expect_err(name);
            assert_eq!(refused.field, "account", "{name:?}");
        }
    }
}
