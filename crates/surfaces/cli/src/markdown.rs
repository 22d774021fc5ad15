//! Markdown for terminals: headings, emphasis, lists, quotes and code. Text that it does not know stays as it is.

use crate::screen::Paint;

/// Words that most languages share.
const KEYWORDS: &str = " as async await break case catch class const continue def default do elif else enum except export \
    false False fi finally fn for from func function if impl import in interface is let loop match mod mut new nil None \
    not null or and pass pub raise return self static struct super switch then this throw trait true True try type use \
    var void while with yield done esac echo local package public private SELECT FROM WHERE INSERT UPDATE DELETE ";

/// `text` as lines for a terminal with colours.
pub(crate) fn rendered(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut code: Option<(String, String)> = None;
    for line in text.lines() {
        let bare = line.trim_start();
        let fence: String = bare.chars().take_while(|c| matches!(c, '`' | '~')).collect();
        match &code {
            Some((open, _)) if bare.starts_with(open.as_str()) && bare.trim_end() == fence => code = None,
            Some((_, language)) => lines.push(format!("  {}", highlighted(line, language))),
            None if fence.len() >= 3 && (fence.starts_with("```") || fence.starts_with("~~~")) => {
                let language = bare[fence.len()..].trim().to_lowercase();
                if !language.is_empty() {
                    lines.push(format!("  {}", Paint::Dim.always(&language)));
                }
                code = Some((fence, language));
            }
            None => lines.push(block(line)),
        }
    }
    lines
}

/// One line outside of code.
fn block(line: &str) -> String {
    let bare = line.trim_start();
    let indent = &line[..line.len() - bare.len()];
    let level = bare.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&level) && bare[level..].starts_with(' ') {
        return format!("{indent}{}", Paint::Bold.always(bare[level..].trim()));
    }
    if let Some(quote) = bare.strip_prefix('>') {
        return format!("{indent}{}", Paint::Dim.always(&format!(">{quote}")));
    }
    let is_rule =
        bare.len() >= 3 && ["-", "*", "_"].iter().any(|mark| bare.replace(' ', "").replace(mark, "").is_empty());
    if is_rule {
        return Paint::Dim.always(bare);
    }
    for mark in ["- ", "* ", "+ "] {
        if let Some(item) = bare.strip_prefix(mark) {
            return format!("{indent}{} {}", Paint::Cyan.always("-"), inline(item));
        }
    }
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && (bare[digits..].starts_with(". ") || bare[digits..].starts_with(") ")) {
        let (number, item) = bare.split_at(digits + 1);
        return format!("{indent}{}{}", Paint::Cyan.always(number), inline(item));
    }
    format!("{indent}{}", inline(bare))
}

/// Emphasis and code within a line. A mark without its partner stays as it is.
fn inline(text: &str) -> String {
    const MARKS: [(&str, Paint); 5] =
        [("`", Paint::Yellow), ("**", Paint::Bold), ("__", Paint::Bold), ("*", Paint::Italic), ("_", Paint::Italic)];
    let mut shown = String::new();
    let mut rest = text;
    let mut before = ' ';
    'text: while let Some(first) = rest.chars().next() {
        for (mark, paint) in MARKS {
            // `snake_case` and `2*3` are no emphasis.
            if (before.is_alphanumeric() && mark != "`") || !rest.starts_with(mark) {
                continue;
            }
            let within = &rest[mark.len()..];
            let is_open = within.starts_with(|c: char| !c.is_whitespace());
            let close = within.match_indices(mark).map(|(at, _)| at).find(|at| {
                let after = within[at + mark.len()..].chars().next();
                *at > 0 && (mark == "`" || !after.is_some_and(char::is_alphanumeric))
            });
            if let Some(end) = close.filter(|end| is_open && !within[..*end].ends_with(char::is_whitespace)) {
                shown.push_str(&paint.always(&within[..end]));
                rest = &within[end + mark.len()..];
                before = ' ';
                continue 'text;
            }
        }
        shown.push(first);
        before = first;
        rest = &rest[first.len_utf8()..];
    }
    shown
}

/// A line of code: comments, texts, numbers and keywords stand out.
fn highlighted(line: &str, language: &str) -> String {
    if language == "diff" || language == "patch" {
        return match line.chars().next() {
            Some('+') => Paint::Green.always(line),
            Some('-') => Paint::Red.always(line),
            Some('@') => Paint::Cyan.always(line),
            _ => line.to_owned(),
        };
    }
    let comment = match language {
        "sql" | "lua" | "haskell" => "--",
        "python" | "py" | "sh" | "bash" | "console" | "shell" | "zsh" | "ruby" | "rb" | "yaml" | "yml" | "toml"
        | "dockerfile" | "make" | "makefile" | "r" | "perl" => "#",
        _ => "//",
    };
    let (mut shown, mut rest) = (String::new(), line);
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let (paint, end) = if rest.starts_with(comment) && (shown.is_empty() || shown.ends_with(' ')) {
            (Some(Paint::Dim), rest.len())
        } else if matches!(first, '"' | '\'' | '`') {
            let close = rest[1..].find(first).map(|at| at + 2);
            (close.map(|_| Paint::Green), close.unwrap_or(1))
        } else if is_word(first) {
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let word = &rest[..end];
            let paint = match first {
                _ if KEYWORDS.contains(&format!(" {word} ")) => Some(Paint::Magenta),
                first if first.is_ascii_digit() => Some(Paint::Cyan),
                _ => None,
            };
            (paint, end)
        } else {
            (None, first.len_utf8())
        };
        let piece = &rest[..end];
        match paint {
            Some(paint) => shown.push_str(&paint.always(piece)),
            None => shown.push_str(piece),
        }
        rest = &rest[end..];
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        rendered(text)
            .join("\n")
            .replace("\u{1b}[0m", ">")
            .replace("\u{1b}[", "<")
            .replace('m', ":")
            .replace("::", "m:")
    }

    #[test]
    fn headings_lists_quotes_and_emphasis_are_painted_and_their_marks_go() {
        assert_eq!(shown("# Top\nso **it** is"), "<1:Top>\nso <1:it> is");
        assert_eq!(shown("- a `b`\n2. c\n> d"), "<36:-> a <33:b>\n<36:2.> c\n<2:> d>");
    }

    #[test]
    fn marks_that_mean_nothing_stay() {
        for text in ["2 * 3 * 4", "a_b_c", "**open", "`open", "#hash", "-x", "", "größer *", "*", "_"] {
            assert_eq!(rendered(text).join("\n"), text);
        }
    }

    #[test]
    fn code_is_highlighted_and_its_fence_goes() {
        let lines = rendered("```rust\nlet x = \"**no**\"; // why\n```\nafter");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[1].contains("\u{1b}[35mlet\u{1b}[0m") && lines[1].contains("\u{1b}[32m\"**no**\"\u{1b}[0m"));
        assert!(lines[1].ends_with("\u{1b}[2m// why\u{1b}[0m"), "{lines:?}");
        assert_eq!(rendered("```\nnever closed"), ["  never closed"]);
        for text in ["```", "`'\"", "~~~ü\n'ü\n\"", "> ", "####### x", "1.", "*é*"] {
            drop(rendered(text));
        }
    }
}
