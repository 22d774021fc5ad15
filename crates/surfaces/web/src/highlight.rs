//! Colours for code: keywords, strings, numbers and comments, by one pass over the text. It knows families of languages,
//! not grammars, so that its time is bounded by the length of the text whatever it holds.

use crate::text::escape_into;

/// Longest code that is coloured, in bytes.
const COLOURED_BYTES_MAX: usize = 100_000;

/// How a family of languages writes comments and strings.
struct Family {
    line_comments: &'static [&'static str],
    block_comment: Option<(&'static str, &'static str)>,
    quotes: &'static [char],
    any_case: bool,
}

const C_LIKE: Family =
    Family { line_comments: &["//"], block_comment: Some(("/*", "*/")), quotes: &['"', '`'], any_case: false };
const SCRIPT: Family = Family { line_comments: &["#"], block_comment: None, quotes: &['"', '\''], any_case: false };
const SQL: Family =
    Family { line_comments: &["--"], block_comment: Some(("/*", "*/")), quotes: &['\'', '"'], any_case: true };
const JS: Family = Family { quotes: &['"', '\'', '`'], ..C_LIKE };
const MARKUP: Family =
    Family { line_comments: &[], block_comment: Some(("<!--", "-->")), quotes: &['"'], any_case: false };

fn family(language: &str) -> Option<&'static Family> {
    Some(match language.to_ascii_lowercase().as_str() {
        "rust" | "rs" | "c" | "h" | "cpp" | "c++" | "go" | "java" | "kotlin" | "swift" | "scala" | "zig" | "cs" => {
            &C_LIKE
        }
        "js" | "javascript" | "ts" | "typescript" | "jsx" | "tsx" | "mjs" | "json" | "jsonc" | "css" | "php"
        | "dart" => &JS,
        "py" | "python" | "sh" | "bash" | "shell" | "zsh" | "console" | "rb" | "ruby" | "yaml" | "yml" | "toml"
        | "ini" | "dockerfile" | "makefile" | "make" | "perl" | "r" | "elixir" | "conf" => &SCRIPT,
        "sql" | "lua" | "haskell" | "hs" => &SQL,
        "html" | "xml" | "svg" => &MARKUP,
        _ => return None,
    })
}

/// Words that are keywords in common languages, in order.
const KEYWORDS: &[&str] = &[
    "abstract",
    "alter",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "begin",
    "bool",
    "boolean",
    "break",
    "by",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constructor",
    "continue",
    "crate",
    "create",
    "def",
    "default",
    "defer",
    "del",
    "delete",
    "do",
    "done",
    "double",
    "drop",
    "dyn",
    "echo",
    "elif",
    "else",
    "elsif",
    "end",
    "enum",
    "esac",
    "except",
    "exit",
    "export",
    "extends",
    "extern",
    "false",
    "fi",
    "final",
    "finally",
    "float",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "global",
    "group",
    "if",
    "impl",
    "implements",
    "import",
    "in",
    "insert",
    "instanceof",
    "int",
    "interface",
    "into",
    "is",
    "join",
    "lambda",
    "let",
    "limit",
    "local",
    "long",
    "loop",
    "match",
    "mod",
    "module",
    "mut",
    "namespace",
    "new",
    "nil",
    "none",
    "not",
    "null",
    "on",
    "or",
    "order",
    "override",
    "package",
    "pass",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "readonly",
    "ref",
    "return",
    "select",
    "self",
    "set",
    "short",
    "static",
    "struct",
    "super",
    "switch",
    "table",
    "then",
    "this",
    "throw",
    "throws",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "undefined",
    "union",
    "unless",
    "unsafe",
    "until",
    "update",
    "use",
    "using",
    "values",
    "var",
    "void",
    "where",
    "while",
    "with",
    "yield",
];

fn is_keyword(word: &str, any_case: bool) -> bool {
    let known = |word: &str| KEYWORDS.binary_search(&word).is_ok();
    // Python and others write some of them with a capital.
    known(word) || matches!(word, "True" | "False" | "None" | "Self") || (any_case && known(&word.to_ascii_lowercase()))
}

/// `code` as escaped HTML, with spans around words that have a colour.
pub(crate) fn highlighted(language: &str, code: &str) -> String {
    let mut html = String::with_capacity(code.len() + code.len() / 2);
    if language.eq_ignore_ascii_case("diff") || language.eq_ignore_ascii_case("patch") {
        difference(code, &mut html);
        return html;
    }
    match family(language) {
        Some(family) if code.len() <= COLOURED_BYTES_MAX => coloured(family, code, &mut html),
        _ => escape_into(code, &mut html),
    }
    html
}

/// The lines of a unified difference, by whether they come or go.
pub(crate) fn difference(code: &str, html: &mut String) {
    for line in code.split_inclusive('\n') {
        let class = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => "dh",
            Some(b'+') => "di",
            Some(b'-') => "dd",
            Some(b'@') => "dh",
            _ => {
                escape_into(line, html);
                continue;
            }
        };
        span(class, line, html);
    }
}

fn span(class: &str, text: &str, html: &mut String) {
    html.push_str("<span class=\"");
    html.push_str(class);
    html.push_str("\">");
    escape_into(text, html);
    html.push_str("</span>");
}

fn coloured(family: &Family, code: &str, html: &mut String) {
    let mut rest = code;
    // Invariant: each turn takes at least one character, and looks at no text that it does not take.
    while let Some(first) = rest.chars().next() {
        let taken = if let Some(length) = comment(family, rest) {
            span("c", &rest[..length], html);
            length
        } else if family.quotes.contains(&first) {
            let length = string(rest, first);
            span("s", &rest[..length], html);
            length
        } else if first.is_ascii_digit() {
            let length = run(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
            span("n", &rest[..length], html);
            length
        } else if first.is_alphabetic() || first == '_' {
            let length = run(rest, |c| c.is_alphanumeric() || c == '_');
            let word = &rest[..length];
            if is_keyword(word, family.any_case) {
                span("k", word, html);
            } else if rest[length..].starts_with('(') {
                span("f", word, html);
            } else {
                escape_into(word, html);
            }
            length
        } else {
            escape_into(&rest[..first.len_utf8()], html);
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
}

fn comment(family: &Family, rest: &str) -> Option<usize> {
    if family.line_comments.iter().any(|mark| rest.starts_with(mark)) {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    let (open, close) = family.block_comment?;
    let body = rest.strip_prefix(open)?;
    Some(body.find(close).map_or(rest.len(), |end| open.len() + end + close.len()))
}

/// The length of a string that begins with `quote`. One that does not end ends with its line.
fn string(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' if quote != '`' => return at,
            _ if character == quote => return at + quote.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

fn run(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_get_their_colours() {
        assert_eq!(
            highlighted("rust", "let a = \"<\"; // b"),
            "<span class=\"k\">let</span> a = <span class=\"s\">&quot;&lt;&quot;</span>; <span class=\"c\">// b</span>"
        );
        assert_eq!(highlighted("sql", "SELECT 1"), "<span class=\"k\">SELECT</span> <span class=\"n\">1</span>");
        assert_eq!(highlighted("", "let <"), "let &lt;");
    }

    #[test]
    fn the_text_is_never_lost() {
        for language in ["rust", "js", "py", "sql", "html", "diff", "nothing"] {
            for code in ["\"", "/*", "'\\", "é\"ü", "<!--", "+a\n-b\n", "`${x}\n", "0x1F_u8", "\u{202e}x"] {
                let html = highlighted(language, code);
                let mut text = String::new();
                let mut inside = false;
                for c in html.chars() {
                    match c {
                        '<' => inside = true,
                        '>' if inside => inside = false,
                        c if !inside => text.push(c),
                        _ => {}
                    }
                }
                let mut expected = String::new();
                escape_into(code, &mut expected);
                assert_eq!(text, expected, "{language} {code}");
            }
        }
    }

    #[test]
    fn the_list_of_keywords_is_in_order() {
        assert!(KEYWORDS.is_sorted());
    }
}
