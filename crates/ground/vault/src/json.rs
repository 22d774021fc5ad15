//! Secrets in JSON: each string, key and number is looked at as the text it stands for. All else stays to the letter.

use std::borrow::Cow;

use serde_json::Value;

use crate::Redactor;

impl Redactor {
    /// A JSON text without secrets; `json` must be well-formed.
    ///
    /// Null characters do not hide a secret: they are left out of a string before it is compared, as they are before
    /// it is stored. A number that holds a secret becomes a string. In lists, a part of the type `thinking` that holds a
    /// secret is left out, unless it is the only one.
    pub fn json<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.walked(json, Mode::Named)
    }

    /// The same, with numbers left as they are: for JSON whose numbers are not a caller's.
    pub fn json_strings<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.walked(json, Mode::Strings)
    }

    /// A JSON text with as many asterisks in the place of each secret as it has bytes there, so that it is as long as
    /// before. Numbers stay as they are, and nothing is left out.
    pub fn json_masked<'a>(&self, json: &'a str) -> Cow<'a, str> {
        self.walked(json, Mode::Masked)
    }

    fn walked<'a>(&self, json: &'a str, mode: Mode) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(json);
        }
        let mut walk = Walk { redactor: self, json, mode, at: 0, out: String::new(), copied: 0 };
        walk.value();
        if walk.copied == 0 {
            return Cow::Borrowed(json);
        }
        walk.out.push_str(&json[walk.copied..]);
        Cow::Owned(walk.out)
    }

    /// A JSON value without secrets, by the rules of [`Redactor::json`].
    pub fn value(&self, value: &mut Value) {
        if let Cow::Owned(json) = self.json(&value.to_string()) {
            *value = serde_json::from_str(&json).unwrap_or(Value::Null);
        }
    }
}

/// What takes the place of a secret.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Its name, in strings and numbers.
    Named,
    /// Its name, in strings alone.
    Strings,
    /// Asterisks, in strings alone.
    Masked,
}

/// A walk over well-formed JSON. Text before `copied` is in `out`, changed or not.
struct Walk<'a> {
    redactor: &'a Redactor,
    json: &'a str,
    mode: Mode,
    at: usize,
    out: String,
    copied: usize,
}

/// What was found in a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Clean,
    Changed,
    /// A part of the type `thinking` that held a secret.
    ChangedThinking,
}

impl Walk<'_> {
    fn peek(&mut self) -> u8 {
        let bytes = self.json.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(b'\0')
    }

    fn value(&mut self) -> Is {
        match self.peek() {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => self.string().0,
            _ => self.scalar(),
        }
    }

    fn object(&mut self) -> Is {
        let (mut is, mut is_thinking) = (Is::Clean, false);
        self.at += 1;
        while !matches!(self.peek(), b'}' | b'\0') {
            let (changed, key) = self.string();
            if changed != Is::Clean {
                is = Is::Changed;
            }
            self.peek();
            // The colon.
            self.at += 1;
            let value = self.peek();
            let changed = if value == b'"' {
                let (changed, text) = self.string();
                is_thinking |= key == "type" && text == "thinking";
                changed
            } else {
                self.value()
            };
            if changed != Is::Clean {
                is = Is::Changed;
            }
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        if is == Is::Changed && is_thinking { Is::ChangedThinking } else { is }
    }

    fn list(&mut self) -> Is {
        let mut is = Is::Clean;
        self.at += 1;
        // Where `out` and `copied` were before each element that goes, and the number of those that stay.
        let mut kept = 0_usize;
        while !matches!(self.peek(), b']' | b'\0') {
            let (start, length, copied) = (self.at, self.out.len(), self.copied);
            let changed = self.value();
            if changed != Is::Clean {
                is = Is::Changed;
            }
            let is_last = self.peek() == b']';
            if changed == Is::ChangedThinking && self.mode != Mode::Masked && (kept > 0 || !is_last) {
                // The element goes, with the comma after it; the last one goes with the comma before it.
                self.out.truncate(length);
                self.copied = copied;
                self.copy_to(start);
                if is_last {
                    let end = self.out.trim_end().len();
                    self.out.truncate(self.out[..end].strip_suffix(',').map_or(end, str::len));
                } else {
                    self.at += 1;
                }
                self.copied = self.at;
                continue;
            }
            kept += 1;
            if !is_last {
                self.at += 1;
            }
        }
        self.at += 1;
        is
    }

    /// Reads a string, and gives its text, if it is short enough to be the name of something.
    fn string(&mut self) -> (Is, String) {
        let (start, bytes) = (self.at, self.json.as_bytes());
        let (mut end, mut is_plain) = (start + 1, true);
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => break,
                b'\\' => {
                    is_plain = false;
                    end += 2;
                }
                _ => end += 1,
            }
        }
        self.at = end + 1;
        let inside = self.json.get(start + 1..end).unwrap_or_default();
        let text: Cow<'_, str> = if is_plain {
            Cow::Borrowed(inside)
        } else {
            let token = self.json.get(start..=end).unwrap_or_default();
            let text: String = serde_json::from_str(token).unwrap_or_default();
            Cow::Owned(if text.contains('\0') { text.replace('\0', "") } else { text })
        };
        match self.redactor.text(&text) {
            Cow::Borrowed(text) => (Is::Clean, if text.len() <= 16 { text.to_owned() } else { String::new() }),
            Cow::Owned(redacted) => {
                match self.mode {
                    Mode::Named | Mode::Strings => self.replace(start, &redacted),
                    Mode::Masked => {
                        let masked = self.masked(inside, is_plain);
                        self.copy_to(start + 1);
                        self.out.push_str(&masked);
                        self.copied = end;
                    }
                }
                (Is::Changed, String::new())
            }
        }
    }

    /// The inside of a string that holds a secret, as long as before.
    fn masked(&self, inside: &str, is_plain: bool) -> String {
        let masked = String::from_utf8(self.redactor.masked(inside.as_bytes()).into_owned()).ok().filter(|masked| {
            // Escapes that no encoder of ours writes hide a secret in the text, and not in what it means.
            let meant = serde_json::from_str::<String>(&format!("\"{masked}\""));
            is_plain || meant.is_ok_and(|meant| self.redactor.held_by(meant.replace('\0', "").as_bytes()).is_none())
        });
        masked.unwrap_or_else(|| "*".repeat(inside.len()))
    }

    /// A number, or one of `true`, `false` and `null`.
    fn scalar(&mut self) -> Is {
        let start = self.at;
        let rest = &self.json.as_bytes()[start..];
        let length = rest.iter().position(|byte| b",]} \n\r\t".contains(byte)).unwrap_or(rest.len());
        self.at += length.max(1).min(rest.len());
        match self.mode {
            Mode::Named => {}
            Mode::Strings | Mode::Masked => return Is::Clean,
        }
        match self.redactor.text(&self.json[start..self.at]) {
            Cow::Borrowed(_) => Is::Clean,
            Cow::Owned(redacted) => {
                self.replace(start, &redacted);
                Is::Changed
            }
        }
    }

    /// Puts a string in the place of the token from `start` to here.
    fn replace(&mut self, start: usize, text: &str) {
        self.copy_to(start);
        self.out.push_str(&Value::from(text).to_string());
        self.copied = self.at;
    }

    fn copy_to(&mut self, at: usize) {
        self.out.push_str(&self.json[self.copied..at]);
        self.copied = at;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Secrets;

    fn redacted(json: &str) -> String {
        let secrets = Secrets::new([("A", "sk-12345678"), ("Q", "qu\"ote\\sec/ret"), ("N", "1234567890")]);
        let out = Redactor::new([Arc::new(secrets)]).json(json).into_owned();
        serde_json::from_str::<Value>(&out).unwrap_or_else(|error| panic!("{out}: {error}"));
        out
    }

    #[test]
    fn strings_keys_and_numbers_are_redacted_and_the_rest_stays_to_the_letter() {
        for (json, expected) in [
            (r#"{"a":1.50,"b":[1e3,true,null],"c":{}}"#, r#"{"a":1.50,"b":[1e3,true,null],"c":{}}"#),
            (r#"{"x":"a sk-12345678 b", "n" : 1.50}"#, r#"{"x":"a [secret:A] b", "n" : 1.50}"#),
            (r#"{"sk-12345678":[["sk-12345678"],[]]}"#, r#"{"[secret:A]":[["[secret:A]"],[]]}"#),
            (r#"["sk-\u00312345678","s\u0000k-12345678"]"#, r#"["[secret:A]","[secret:A]"]"#),
            (
                r#"["qu\"ote\\sec\/ret",{"s":"{\"k\":\"qu\\\"ote\\\\sec/ret\"}"}]"#,
                r#"["[secret:Q]",{"s":"{\"k\":\"[secret:Q]\"}"}]"#,
            ),
            (r#"{"id":1234567890,"big":-91234567890.5}"#, r#"{"id":"[secret:N]","big":"-9[secret:N].5"}"#),
            (r#""sk-12345678""#, r#""[secret:A]""#),
            ("1234567890", r#""[secret:N]""#),
            ("[]", "[]"),
        ] {
            assert_eq!(redacted(json), expected);
        }
    }

    #[test]
    fn thinking_that_holds_a_secret_is_left_out() {
        let thinking = r#"{"type":"thinking","text":"use sk-12345678"}"#;
        let text = r#"{"type":"text","text":"hi"}"#;
        for (json, expected) in [
            (format!("[{thinking},{text}]"), format!("[{text}]")),
            (format!("[{text}, {thinking}]"), format!("[{text}]")),
            (format!("[{text},{thinking},{thinking},{text}]"), format!("[{text},{text}]")),
            (format!("[{thinking},{thinking}]"), r#"[{"type":"thinking","text":"use [secret:A]"}]"#.to_owned()),
            (format!("[{thinking}]"), r#"[{"type":"thinking","text":"use [secret:A]"}]"#.to_owned()),
            (format!(r#"{{"content":[{text},{thinking}],"x":1}}"#), format!(r#"{{"content":[{text}],"x":1}}"#)),
        ] {
            assert_eq!(redacted(&json), expected);
        }
    }

    #[test]
    fn masked_json_is_as_long_as_before() {
        let secrets = Secrets::new([("A", "sk-12345678"), ("Q", "qu\"ote\\sec/ret"), ("U", "ü☃ümlaut")]);
        let redactor = Redactor::new([Arc::new(secrets)]);
        for (json, expected) in [
            (r#"{"x":"a sk-12345678 b","n":1.50}"#, r#"{"x":"a *********** b","n":1.50}"#),
            (r#"{"sk-12345678":["x qu\"ote\\sec/ret"]}"#, r#"{"***********":["x ****************"]}"#),
            (r#"["a\u0073k-12345678","\n ü☃ümlaut"]"#, r#"["*****************","\n ************"]"#),
            (r#"[{"type":"thinking","text":"sk-12345678"},1]"#, r#"[{"type":"thinking","text":"***********"},1]"#),
        ] {
            assert_eq!(redactor.json_masked(json), expected);
            assert_eq!(redactor.json_masked(json).len(), json.len());
        }
    }

    #[test]
    fn a_value_is_redacted_in_place() {
        let redactor = Redactor::new([Arc::new(Secrets::new([("A", "sk-12345678")]))]);
        let mut value = serde_json::json!({ "a": ["sk-12345678", 3], "b": null });
        redactor.value(&mut value);
        assert_eq!(value, serde_json::json!({ "a": ["[secret:A]", 3], "b": null }));
    }
}
