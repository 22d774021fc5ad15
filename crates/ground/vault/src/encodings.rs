//! The forms in which a secret is looked for.

use std::collections::BTreeSet;

/// Secrets with fewer bytes are not redacted: they would match by chance.
pub const REDACTED_BYTES_MIN: usize = 8;

/// Characters beside letters and digits that encoders of URLs leave as they are: RFC 3986, Python's `quote`,
/// JavaScript's `encodeURIComponent` and `encodeURI`, forms.
const KEPT_IN_URLS: [&[u8]; 5] = [b"-._~", b"-._~/", b"-._~!'()*", b"-._~!'()*;/?:@&=+$,#", b"*-._"];

/// All forms of `secret` in bytes, each once: raw, JSON-escaped, percent-encoded, hexadecimal, base64, UTF-16.
pub(crate) fn forms(secret: &str) -> BTreeSet<Vec<u8>> {
    let bytes = secret.as_bytes();
    let mut forms = BTreeSet::from([bytes.to_vec()]);
    for (ascii, slash) in [(false, false), (true, false), (false, true), (true, true)] {
        forms.insert(json_escaped(secret, ascii, slash, "0123456789abcdef").into_bytes());
        forms.insert(json_escaped(secret, ascii, slash, "0123456789ABCDEF").into_bytes());
    }
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        forms.insert(bytes.iter().flat_map(|byte| hex(*byte, digits)).collect());
        for kept in KEPT_IN_URLS {
            forms.insert(percent(bytes, |byte| byte.is_ascii_alphanumeric() || kept.contains(&byte), false, digits));
            forms.insert(percent(bytes, |byte| byte.is_ascii_alphanumeric() || kept.contains(&byte), true, digits));
        }
        forms.insert(percent(bytes, |_| false, false, digits));
    }
    for alphabet in [STANDARD, URL_SAFE] {
        forms.extend((0..3).map(|offset| base64_inside(bytes, offset, alphabet)));
    }
    for utf16 in [u16::to_le_bytes, u16::to_be_bytes] {
        let utf16: Vec<u8> = secret.encode_utf16().flat_map(utf16).collect();
        // Texts lose their null bytes before they are stored.
        forms.insert(utf16.iter().copied().filter(|byte| *byte != 0).collect());
        forms.insert(utf16);
    }
    forms
}

fn hex(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
}

fn percent(bytes: &[u8], keeps: impl Fn(u8) -> bool, plus: bool, digits: &[u8; 16]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len() * 3);
    for &byte in bytes {
        match byte {
            b' ' if plus => encoded.push(b'+'),
            byte if keeps(byte) => encoded.push(byte),
            byte => {
                encoded.push(b'%');
                encoded.extend(hex(byte, digits));
            }
        }
    }
    encoded
}

/// The text inside a JSON string: with everything beyond ASCII, and with slashes, escaped or not.
fn json_escaped(text: &str, ascii: bool, slash: bool, digits: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '/' if slash => escaped.push_str("\\/"),
            character if character < ' ' || (ascii && !character.is_ascii()) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    escaped.push_str("\\u");
                    let digit = |shift: u16| digits.as_bytes()[usize::from(*unit >> shift & 15)] as char;
                    escaped.extend([12, 8, 4, 0].map(digit));
                }
            }
            character => escaped.push(character),
        }
    }
    escaped
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The characters of base64 that `bytes` alone decide, where `offset` other bytes come before them in their group of
/// three. The characters at both ends, which also hold bits of the neighbours, are left out.
fn base64_inside(bytes: &[u8], offset: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bit = |at: usize| {
        let byte = (at / 8).checked_sub(offset).and_then(|at| bytes.get(at)).copied().unwrap_or(0);
        usize::from(byte >> (7 - at % 8) & 1)
    };
    let (first, end) = ((offset * 8).div_ceil(6), (offset + bytes.len()) * 8 / 6);
    (first..end).map(|at| alphabet[(at * 6..at * 6 + 6).fold(0, |six, at| six << 1 | bit(at))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(secret: &str, form: &[u8]) {
        assert!(forms(secret).contains(form), "{secret} as {}", String::from_utf8_lossy(form));
    }

    #[test]
    fn the_forms_are_those_that_common_encoders_write() {
        let secret = "pä/\"ss wörd+\n";
        for form in [
            "pä/\"ss wörd+\n",
            r#"pä/\"ss wörd+\n"#,
            r#"p\u00e4/\"ss w\u00f6rd+\n"#,
            r#"p\u00E4/\"ss w\u00F6rd+\n"#,
            r#"pä\/\"ss wörd+\n"#,
            "p%C3%A4%2F%22ss%20w%C3%B6rd%2B%0A",
            "p%c3%a4%2f%22ss%20w%c3%b6rd%2b%0a",
            "p%C3%A4/%22ss%20w%C3%B6rd%2B%0A",
            "p%C3%A4%2F%22ss+w%C3%B6rd%2B%0A",
            "p%C3%A4/%22ss%20w%C3%B6rd+%0A",
            "70c3a42f2273732077c3b672642b0a",
            "70C3A42F2273732077C3B672642B0A",
        ] {
            has(secret, form.as_bytes());
        }
        has("𝄞clefs", br"\ud834\udd1eclefs");
        has("ab", b"%61%62");
        has("ab", b"a\0b\0");
        has("ab", b"\0a\0b");
        has("a☃b", b"a\x03&b");
    }

    #[test]
    fn base64_is_found_at_each_of_its_three_offsets() {
        // base64 of `s3cr3t-k3y`, `xs3cr3t-k3y` and `xxs3cr3t-k3y`.
        for (whole, form) in [
            ("czNjcjN0LWszeQ==", "czNjcjN0LWsze"),
            ("eHMzY3IzdC1rM3k=", "MzY3IzdC1rM3"),
            ("eHhzM2NyM3QtazN5", "zM2NyM3QtazN5"),
        ] {
            assert!(whole.contains(form), "{form}");
            has("s3cr3t-k3y", form.as_bytes());
        }
        has("~~~???>>>", b"fn5-Pz8_Pj4-");
        has("~~~???>>>", b"fn5+Pz8/Pj4+");
    }

    #[test]
    fn a_plain_secret_has_few_forms() {
        assert_eq!(forms("sk-abcdefgh12345678").len(), 10);
    }
}
