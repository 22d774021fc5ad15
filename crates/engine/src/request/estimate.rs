//! Estimates tokens by the shapes of words, where no tokenizer is there.
//!
//! The weights were fitted to OpenAI's tables `o200k_base` and `cl100k_base`: on code, prose and data of many projects, and
//! on the translations of programs into forty languages. Texts of 2,000 characters are within 15 %, with a few languages
//! in Latin letters as exceptions.

use super::tokens::CountTokens;

/// Estimates tokens by the shapes of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    table: Table,
    /// What the model's tokenizer makes of a text, in percent of what the table makes of it.
    percent: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    O200k,
    Cl100k,
}

impl Estimate {
    /// For OpenAI's newer models.
    pub const O200K: Self = Self { table: Table::O200k, percent: 100 };
    /// For `gpt-4` and `gpt-3.5`.
    pub const CL100K: Self = Self { table: Table::Cl100k, percent: 100 };
    /// For any other model: most make more tokens of a text.
    pub const OTHER: Self = Self { table: Table::O200k, percent: 115 };
}

impl Default for Estimate {
    fn default() -> Self {
        Self::OTHER
    }
}

impl CountTokens for Estimate {
    fn count(&self, text: &str) -> u64 {
        (hundredths(text, self.table) * self.percent).div_ceil(10_000)
    }

    fn name(&self) -> &str {
        match (self.table, self.percent) {
            (Table::O200k, 100) => "estimate-o200k",
            (Table::Cl100k, _) => "estimate-cl100k",
            (Table::O200k, _) => "estimate",
        }
    }

    fn is_estimate(&self) -> bool {
        true
    }
}

/// Letters that tokenizers know equally well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    Caucasian,
    Hebrew,
    Arabic,
    Devanagari,
    Indic,
    Thai,
    Kana,
    Hangul,
    Han,
    Other,
}

/// The script of a letter or of a sign that is written on one.
fn script(character: char) -> Option<Script> {
    Some(match character {
        'a'..='z' | 'A'..='Z' => Script::Latin,
        '\0'..='\u{bf}' | '×' | '÷' => return None,
        '\u{c0}'..='\u{24f}' | '\u{300}'..='\u{36f}' | '\u{1e00}'..='\u{1eff}' => Script::Latin,
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Script::Greek,
        '\u{400}'..='\u{52f}' => Script::Cyrillic,
        '\u{530}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' => Script::Caucasian,
        '\u{591}'..='\u{5ff}' => Script::Hebrew,
        '\u{610}'..='\u{77f}' | '\u{fb50}'..='\u{fdff}' => Script::Arabic,
        '\u{964}' | '\u{965}' => return None,
        '\u{900}'..='\u{97f}' => Script::Devanagari,
        '\u{980}'..='\u{dff}' => Script::Indic,
        '\u{e00}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => Script::Thai,
        '\u{3041}'..='\u{30ff}' => Script::Kana,
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7ff}' => Script::Hangul,
        '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Script::Han,
        other if other.is_alphabetic() => Script::Other,
        _ => return None,
    })
}

/// The languages of a text, as far as that changes the weights of its words.
struct Languages {
    latin: Latin,
    /// Cyrillic letters that Russian does not have.
    is_beside_russian: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Latin {
    English,
    /// German, French, Spanish and others that tokenizers know well.
    West,
    /// Polish, Czech, Turkish, Finnish and others that they know less well.
    East,
    Vietnamese,
}

impl Languages {
    fn of(text: &str) -> Self {
        let mut found = Self { latin: Latin::English, is_beside_russian: false };
        if text.is_ascii() {
            return found;
        }
        found.is_beside_russian = text.contains(['і', 'ї', 'є', 'ґ']);
        let (mut words, mut accented, mut extended, mut northern, mut vietnamese) = (0, 0, 0, 0, 0);
        for word in text.split(|character| script(character) != Some(Script::Latin)).filter(|word| !word.is_empty()) {
            words += 1;
            if word.is_ascii() {
                continue;
            }
            let has = |is: &dyn Fn(char) -> bool| u64::from(word.chars().any(is));
            accented += 1;
            extended += has(&|character| ('\u{100}'..'\u{1e00}').contains(&character));
            northern += has(&|character| "äöåÄÖÅ".contains(character));
            vietnamese += has(&|character| character >= '\u{1e00}');
        }
        found.latin = if accented * 50 < words || words == 0 {
            Latin::English
        } else if vietnamese * 7 >= words {
            Latin::Vietnamese
        } else if extended * 30 >= words || northern * 7 >= words {
            Latin::East
        } else {
            Latin::West
        };
        found
    }

    /// Hundredths of a token for a word, and for each of its letters.
    fn weights(&self, script: Script, table: Table) -> (u64, u64) {
        let (o200k, cl100k) = match script {
            Script::Latin => match self.latin {
                Latin::English | Latin::West => ((76, 11), (56, 20)),
                Latin::East => ((45, 26), (20, 40)),
                Latin::Vietnamese => ((93, 9), (166, 8)),
            },
            Script::Greek => ((21, 36), (13, 102)),
            Script::Cyrillic if self.is_beside_russian => ((54, 27), (51, 53)),
            Script::Cyrillic => ((115, 10), (94, 30)),
            Script::Caucasian => ((58, 27), (100, 200)),
            Script::Hebrew => ((61, 29), (77, 101)),
            Script::Arabic => ((37, 27), (19, 82)),
            Script::Devanagari => ((10, 36), (117, 93)),
            Script::Indic => ((30, 30), (150, 135)),
            Script::Thai => ((51, 38), (93, 92)),
            Script::Kana => ((0, 66), (0, 95)),
            Script::Hangul => ((36, 57), (25, 103)),
            Script::Han => ((0, 77), (0, 116)),
            Script::Other => ((0, 100), (0, 200)),
        };
        match table {
            Table::O200k => o200k,
            Table::Cl100k => cl100k,
        }
    }
}

/// What comes before a run of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Space,
    Mark,
}

/// The tokens of a text, in hundredths.
fn hundredths(text: &str, table: Table) -> u64 {
    let languages = Languages::of(text);
    let (mut sum, mut rest, mut before) = (0, text, Before::Nothing);
    while let Some(first) = rest.chars().next() {
        let is_line = |character: char| matches!(character, '\r' | '\n');
        let run = |is: &dyn Fn(char) -> bool| rest.find(|character| !is(character)).unwrap_or(rest.len());
        let end;
        if let Some(of) = script(first) {
            end = run(&|character| script(character) == Some(of));
            let word = &rest[..end];
            sum += if of == Script::Latin && languages.latin == Latin::English && word.is_ascii() {
                english(word)
            } else {
                let (each, letter) = languages.weights(of, table);
                each + letter * word.chars().count() as u64
            };
            before = Before::Nothing;
        } else if first.is_ascii_digit() {
            end = run(&|character| character.is_ascii_digit());
            sum += 140 * (end as u64).div_ceil(3);
            before = Before::Nothing;
        } else if is_line(first) {
            end = run(&is_line);
            // A mark and the end of its line are one token.
            sum += if before == Before::Mark { 0 } else { 138 };
            before = Before::Nothing;
        } else if first.is_whitespace() {
            end = run(&|character| character.is_whitespace() && !is_line(character));
            // One space belongs to what comes after it.
            let is_last = rest[end..].chars().next().is_none_or(is_line);
            sum += if is_last || rest[..end].chars().nth(1).is_some() { 87 } else { 0 };
            before = Before::Space;
        } else {
            let is_mark = |c: char| script(c).is_none() && !c.is_ascii_digit() && !c.is_whitespace();
            end = run(&is_mark);
            let is_attached = rest[end..].chars().next().is_some_and(|next| script(next).is_some());
            sum += marks(&rest[..end], table, before, is_attached);
            before = Before::Mark;
        }
        rest = &rest[end..];
    }
    sum
}

/// Marks between words. `is_attached` says whether a word comes right after them.
fn marks(run: &str, table: Table, before: Before, is_attached: bool) -> u64 {
    let bytes = run.len() as u64;
    match (run.is_ascii(), bytes) {
        (false, _) if table == Table::Cl100k => 33 * bytes,
        (false, _) => 25 * bytes,
        (true, 1) if before == Before::Space => 119,
        // It is often one token with the word.
        (true, 1) if is_attached => 32,
        (true, 1) => 96,
        (true, 2) => 109,
        (true, more) => 78 + 12 * more,
    }
}

/// English words and names in code. Words in camelCase are several.
fn english(run: &str) -> u64 {
    if run.len() > 1 && run.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return 24 * run.len() as u64;
    }
    let (mut sum, mut length, mut parts, mut was_lower) = (0, 0, 0, false);
    for byte in run.bytes() {
        if byte.is_ascii_uppercase() && was_lower {
            sum += word(length);
            (length, parts) = (0, parts + 1);
        }
        was_lower = byte.is_ascii_lowercase();
        length += 1;
    }
    sum + word(length) - 18 * parts
}

fn word(letters: u64) -> u64 {
    match letters {
        0 => 0,
        1..=3 => 94,
        4..=7 => 105,
        8..=13 => 128,
        more => 17 * more,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_grows_with_the_text() {
        assert_eq!(Estimate::OTHER.count(""), 0);
        assert!(Estimate::O200K.count("hello") >= 1);
        assert!(Estimate::OTHER.count(&"a few words ".repeat(50)) > Estimate::O200K.count(&"a few words ".repeat(50)));
        assert!(Estimate::CL100K.count("Το τρένο φεύγει") > Estimate::O200K.count("Το τρένο φεύγει"));
    }
}
