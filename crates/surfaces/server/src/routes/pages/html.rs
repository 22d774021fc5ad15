//! HTML: text is escaped, and every page has the same frame.

use std::fmt::Write;

/// Nothing is loaded, nothing runs, nothing is sent; the style is in the page itself.
pub(crate) const CSP: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE: &str = include_str!("style.css");

/// `text` as HTML shows it to the letter.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A sentence in which backticks mark `code`, and `[text](/path)` is a link.
pub(crate) fn sentence(text: &str) -> String {
    let mut html = String::new();
    for part in linked(text) {
        match part {
            Part::Text(text) => html.push_str(&coded(text)),
            Part::Link { text, to } => {
                let (to, text) = (escaped(to), coded(text));
                write!(html, r#"<a href="/{to}">{text}</a>"#).expect("a string takes everything");
            }
        }
    }
    html
}

/// A piece of a sentence.
enum Part<'a> {
    Text(&'a str),
    /// A link to a path of this server, without its first slash.
    Link {
        text: &'a str,
        to: &'a str,
    },
}

fn linked(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    fn first(text: &str) -> Option<(&str, &str, &str, &str)> {
        let (before, behind) = text.split_once('[')?;
        let (label, behind) = behind.split_once("](/")?;
        let (to, after) = behind.split_once(')')?;
        Some((before, label, to, after))
    }
    while let Some((before, label, to, after)) = first(rest) {
        parts.push(Part::Text(before));
        parts.push(Part::Link { text: label, to });
        rest = after;
    }
    parts.push(Part::Text(rest));
    parts
}

fn coded(text: &str) -> String {
    let parts = text.split('`').enumerate().map(|(place, part)| {
        let part = escaped(part);
        if place % 2 == 1 { format!("<code>{part}</code>") } else { part }
    });
    parts.collect()
}

pub(crate) fn page(title: &str, navigation: &str, content: &str) -> String {
    let title = escaped(title);
    format!(
        concat!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
            "<meta name=\"color-scheme\" content=\"light dark\">\n",
            "<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n",
            "<header><a href=\"/docs\"><strong>Threadkeep</strong></a> <a href=\"/docs/errors\">Errors</a> ",
            "<a href=\"/openapi.json\">OpenAPI</a> <a href=\"/llms.txt\">llms.txt</a></header>\n",
            "{navigation}<main>\n{content}</main>\n</body>\n</html>\n"
        ),
        title = title,
        style = STYLE,
        navigation = navigation,
        content = content
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_text_stays_text() {
        assert_eq!(sentence("a <b> & `<c>`"), "a &lt;b&gt; &amp; <code>&lt;c&gt;</code>");
        assert_eq!(sentence("[`x`](/docs/errors/x), y"), r#"<a href="/docs/errors/x"><code>x</code></a>, y"#);
        assert_eq!(sentence("[x](javascript:y)"), "[x](javascript:y)");
    }
}
