//! The redactor: finds secrets by value, in every form of `encodings`, and puts their names in their place.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::encodings::{REDACTED_BYTES_MIN, forms};

/// Bytes of a form by which it is found. The rest is compared where these occur, so long secrets cost little memory.
const NEEDLE_BYTES_MAX: usize = 32;

/// Secrets by name, prepared for finding.
pub struct Secrets {
    names: Vec<String>,
    forms: Vec<Form>,
    /// The beginnings of all forms, sorted: the texts that may begin a match.
    needles: Vec<Vec<u8>>,
    finder: Option<AhoCorasick>,
}

struct Form {
    bytes: Vec<u8>,
    name: usize,
}

/// The secrets found in a text.
pub(crate) struct Found {
    /// Where they are, in order and apart from each other, with the index of a name.
    pub(crate) spans: Vec<(Range<usize>, usize)>,
    /// From here on, more text may complete a match.
    pub(crate) open: usize,
}

impl Secrets {
    /// Prepares secrets, given as name and value. Values with fewer than [`REDACTED_BYTES_MIN`] bytes are left out.
    pub fn new<'a>(secrets: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let (mut names, mut all) = (Vec::new(), BTreeMap::new());
        for (name, value) in secrets {
            if value.len() >= REDACTED_BYTES_MIN {
                for form in forms(value) {
                    all.entry(form).or_insert(names.len());
                }
                names.push(name.to_owned());
            }
        }
        let forms: Vec<Form> = all.into_iter().map(|(bytes, name)| Form { bytes, name }).collect();
        let mut needles: Vec<Vec<u8>> = forms.iter().map(|form| form.needle().to_vec()).collect();
        let finder = (!forms.is_empty()).then(|| {
            let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&needles);
            built.expect("the bounds on variables keep the automaton far below its limit of states")
        });
        needles.dedup();
        Self { names, forms, needles, finder }
    }

    /// Whether there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.finder.is_none()
    }

    /// Finds secrets in `text`; `is_whole` says that no more text follows.
    pub(crate) fn find(&self, text: &[u8], is_whole: bool) -> Found {
        let (mut spans, mut open) = (Vec::new(), text.len());
        let Some(finder) = &self.finder else { return Found { spans, open } };
        for found in finder.find_overlapping_iter(text) {
            let form = &self.forms[found.pattern().as_usize()];
            let (start, end) = (found.start(), found.start() + form.bytes.len());
            let rest = &form.bytes[found.end() - start..];
            if end <= text.len() {
                if &text[found.end()..end] == rest {
                    spans.push((start..end, form.name));
                }
            } else if !is_whole && rest.starts_with(&text[found.end()..]) {
                open = open.min(start);
            }
        }
        if !is_whole {
            let from = text.len().saturating_sub(NEEDLE_BYTES_MAX - 1);
            open = (from..open).find(|start| self.begins(&text[*start..])).unwrap_or(open);
        }
        spans.sort_unstable_by_key(|(span, _)| (span.start, Reverse(span.end)));
        // Secrets that overlap are one span, so that no piece of either is left.
        let mut apart: Vec<(Range<usize>, usize)> = Vec::with_capacity(spans.len());
        for (span, name) in spans {
            match apart.last_mut() {
                Some((last, _)) if span.start < last.end => last.end = last.end.max(span.end),
                _ => apart.push((span, name)),
            }
        }
        // A span that reaches into what is open waits with it.
        while let Some((last, _)) = apart.last().filter(|(last, _)| last.end > open) {
            open = open.min(last.start);
            apart.pop();
        }
        Found { spans: apart, open }
    }

    /// Whether a needle begins with `text`.
    fn begins(&self, text: &[u8]) -> bool {
        let at = self.needles.partition_point(|needle| needle.as_slice() < text);
        self.needles.get(at).is_some_and(|needle| needle.starts_with(text))
    }

    /// Writes `text` to `out`, with labels in the place of spans.
    pub(crate) fn write(&self, text: &[u8], spans: &[(Range<usize>, usize)], label: Label, out: &mut Vec<u8>) {
        let mut written = 0;
        for (span, name) in spans {
            out.extend_from_slice(&text[written..span.start]);
            match label {
                Label::Named => out.extend_from_slice(format!("[secret:{}]", self.names[*name]).as_bytes()),
                Label::Unnamed => out.extend_from_slice(b"[secret]"),
                Label::SameLength => out.resize(out.len() + span.len(), b'*'),
            }
            written = span.end;
        }
        out.extend_from_slice(&text[written..]);
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        &self.names[index]
    }
}

impl Form {
    fn needle(&self) -> &[u8] {
        &self.bytes[..self.bytes.len().min(NEEDLE_BYTES_MAX)]
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Secrets").field(&self.names).finish()
    }
}

/// The text that takes the place of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Label {
    #[default]
    Named,
    Unnamed,
    SameLength,
}

/// Replaces secrets by `[secret:NAME]`, in texts, JSON and streams of bytes.
///
/// It holds the secrets of several layers, such as a thread, its account and the instance. Clones are cheap.
///
/// ```
/// use std::sync::Arc;
/// use threadkeep_vault::{Redactor, Secrets};
///
/// let secrets = Arc::new(Secrets::new([("API_KEY", "sk-1234567890")]));
/// let redactor = Redactor::new([secrets]);
/// assert_eq!(redactor.text("curl -H 'x: sk-1234567890'"), "curl -H 'x: [secret:API_KEY]'");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Redactor {
    pub(crate) layers: Vec<Arc<Secrets>>,
    pub(crate) label: Label,
}

impl Redactor {
    /// A redactor for these layers. The name of the first layer counts where two have the same value.
    pub fn new(layers: impl IntoIterator<Item = Arc<Secrets>>) -> Self {
        let layers = layers.into_iter().filter(|layer| !layer.is_empty()).collect();
        Self { layers, label: Label::Named }
    }

    /// The same, which writes `[secret]` without a name.
    #[must_use]
    pub fn unnamed(&self) -> Self {
        Self { layers: self.layers.clone(), label: Label::Unnamed }
    }

    /// Whether there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The text with its secrets replaced.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            // A form in UTF-16 may end inside a character of UTF-8.
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The bytes with their secrets replaced.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.replaced(bytes, self.label)
    }

    /// `bytes` with as many asterisks in the place of each secret as it has bytes.
    pub fn masked<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.replaced(bytes, Label::SameLength)
    }

    fn replaced<'a>(&self, bytes: &'a [u8], label: Label) -> Cow<'a, [u8]> {
        let mut now = Cow::Borrowed(bytes);
        for layer in &self.layers {
            let found = layer.find(&now, true);
            if !found.spans.is_empty() {
                let mut out = Vec::with_capacity(now.len());
                layer.write(&now, &found.spans, label, &mut out);
                now = Cow::Owned(out);
            }
        }
        now
    }

    /// The name of a secret that `bytes` hold.
    pub fn held_by(&self, bytes: &[u8]) -> Option<&str> {
        self.layers.iter().find_map(|layer| {
            let (_, name) = layer.find(bytes, true).spans.into_iter().next()?;
            Some(layer.name(name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redactor(secrets: &[(&str, &str)]) -> Redactor {
        Redactor::new([Arc::new(Secrets::new(secrets.iter().copied()))])
    }

    #[test]
    fn every_form_is_replaced_and_the_rest_stays() {
        let secret = "pä/\"ss wörd+";
        let redactor = redactor(&[("P", secret)]);
        for form in forms(secret) {
            let text = [b"<".as_slice(), &form, b">"].concat();
            assert_eq!(redactor.bytes(&text), b"<[secret:P]>".as_slice(), "{}", String::from_utf8_lossy(&form));
            assert_eq!(redactor.unnamed().bytes(&text), b"<[secret]>".as_slice());
            assert_eq!(redactor.masked(&text).len(), text.len());
            assert_eq!(redactor.held_by(&text), Some("P"));
        }
        assert!(matches!(redactor.text("pä/\"ss"), Cow::Borrowed(_)));
        assert_eq!(redactor.held_by(b"nothing here"), None);
    }

    #[test]
    fn short_values_are_left_out_and_long_ones_found_whole() {
        assert!(redactor(&[("A", "seven77"), ("B", "")]).is_empty());
        let long = "0123456789".repeat(100);
        let redactor = redactor(&[("LONG", &long), ("SAME_BEGIN", &format!("{}x", &long[..50]))]);
        assert_eq!(redactor.text(&format!("a{long}b")), "a[secret:LONG]b");
        assert_eq!(redactor.text(&format!("a{}xb", &long[..50])), "a[secret:SAME_BEGIN]b");
        assert!(matches!(redactor.text(&long[..999]), Cow::Borrowed(_)));
    }

    #[test]
    fn overlapping_secrets_leave_no_piece() {
        let redactor = redactor(&[("IN", "secretsecret"), ("OUT", "my-secretsecret-2"), ("NEXT", "secret-2-and-more")]);
        assert_eq!(redactor.text("my-secretsecret-2-and-more!"), "[secret:OUT]!");
        assert_eq!(redactor.text("secretsecret"), "[secret:IN]");
    }

    #[test]
    fn layers_are_taken_in_their_order() {
        let layer = |name, value| Arc::new(Secrets::new([(name, value)]));
        let redactor =
            Redactor::new([layer("THREAD", "one-value"), layer("ACCOUNT", "one-value"), layer("C", "two-value")]);
        assert_eq!(redactor.text("one-value two-value"), "[secret:THREAD] [secret:C]");
        assert!(Redactor::default().is_empty() && Redactor::default().text("x") == "x");
    }
}
