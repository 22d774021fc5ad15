//! The role of each character in uncased BERT models: part of a word, a word of its own, a gap, or nothing.
//!
//! By today's Unicode: some 700 marks and signs that were added since the reference's tables were made, and that no
//! vocabulary has, are taken for what they are.

use unicode_normalization::char::decompose_canonical;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// The role of a character.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Part of a word.
    Letter,
    /// A word of its own: punctuation, symbols of ASCII, CJK characters.
    Alone,
    /// It ends a word.
    Space,
    /// As if it were not there.
    Nothing,
}

/// The role of `character`.
pub(crate) fn kind(character: char) -> Kind {
    match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' => Kind::Letter,
        ' ' | '\t' | '\n' | '\r' => Kind::Space,
        // The replacement character stands for what could not be read.
        '\0'..='\x1F' | '\x7F' | '\u{FFFD}' => Kind::Nothing,
        '!'..='~' => Kind::Alone,
        _ => kind_beyond_ascii(character),
    }
}

fn kind_beyond_ascii(character: char) -> Kind {
    if is_cjk(character) {
        return Kind::Alone;
    }
    match character.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::NonspacingMark => Kind::Nothing,
        GeneralCategory::SpaceSeparator | GeneralCategory::LineSeparator | GeneralCategory::ParagraphSeparator => {
            Kind::Space
        }
        _ if character.general_category_group() == GeneralCategoryGroup::Punctuation => Kind::Alone,
        _ => Kind::Letter,
    }
}

/// Gives `character` to `each` in small letters and without accents.
pub(crate) fn fold(character: char, mut each: impl FnMut(char)) {
    if character.is_ascii() {
        return each(character.to_ascii_lowercase());
    }
    decompose_canonical(character, |part| {
        if part.general_category() != GeneralCategory::NonspacingMark {
            part.to_lowercase()
                .filter(|part| part.general_category() != GeneralCategory::NonspacingMark)
                .for_each(&mut each);
        }
    });
}

/// Ideographs: the blocks that BERT's rules name, without kana and hangul.
fn is_cjk(character: char) -> bool {
    matches!(
        character,
        '\u{4E00}'..='\u{9FFF}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{20000}'..='\u{2A6DF}'
            | '\u{2A700}'..='\u{2B73F}'
            | '\u{2B740}'..='\u{2B81F}'
            | '\u{2B820}'..='\u{2CEAF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{2F800}'..='\u{2FA1F}'
    )
}
