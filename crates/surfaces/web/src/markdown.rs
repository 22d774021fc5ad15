//! Markdown as HTML. The text comes from anybody, so nothing in it can run, load, or leave the page by itself.
//!
//! Raw HTML shows as text. Links lead to http, https, mailto, and to threads and docs of this server. Pictures become links:
//! a picture from elsewhere would carry data out as soon as it is shown.

use std::fmt::Write;

use maud::{Markup, PreEscaped};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

use crate::highlight::highlighted;
use crate::text::escaped;

/// Longest text that is read as Markdown, in bytes. Longer text is shown as it is.
pub const MARKDOWN_BYTES_MAX: usize = 100_000;
/// Most cells that are drawn as tables. A text with more is drawn without tables: a browser takes long for them.
const CELLS_MAX: usize = 4_000;
/// Blocks within blocks that are drawn. Deeper ones are shown at this depth.
const NESTED_MAX: usize = 24;

/// `text` as HTML, read as Markdown.
pub fn markdown(text: &str) -> Markup {
    if text.len() > MARKDOWN_BYTES_MAX {
        return plain(text);
    }
    let mut options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    options.set(Options::ENABLE_TABLES, text.matches('|').count() <= CELLS_MAX);
    let mut writer = Writer { html: String::with_capacity(text.len() * 2), ..Writer::default() };
    for event in Parser::new_ext(text, options) {
        writer.event(event);
    }
    PreEscaped(writer.html)
}

/// `text` as it is, with its line breaks.
pub fn plain(text: &str) -> Markup {
    PreEscaped(format!("<div class=\"plain\" dir=\"auto\">{}</div>", escaped(text)))
}

/// Whether a link may lead to `to`.
fn is_allowed(to: &str) -> bool {
    if to.chars().any(|c| c.is_control() || c.is_whitespace() || c == '\\') {
        return false;
    }
    let lower = to.to_ascii_lowercase();
    ["http://", "https://", "mailto:", "#"].iter().any(|scheme| lower.starts_with(scheme)) || is_own(to)
}

/// Whether a link leads to a page of this server that a click cannot change anything by.
fn is_own(to: &str) -> bool {
    to.starts_with("/t/") || to == "/docs" || to.starts_with("/docs/")
}

#[derive(Default)]
struct Writer {
    html: String,
    /// The open tags, each with whether it was written: those that are nested too deep are not.
    open: Vec<Option<&'static str>>,
    /// The language and text of the code block that is read.
    code: Option<(String, String)>,
    in_head: bool,
    columns: usize,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(end) => self.end(end),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.html.push_str(&escaped(&text)),
            },
            Event::Code(text) => self.put(format_args!("<code>{}</code>", escaped(&text))),
            Event::Html(text) | Event::InlineHtml(text) => self.html.push_str(&escaped(&text)),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            Event::TaskListMarker(done) => {
                let (mark, label) = if done { ("☑", "done") } else { ("☐", "open") };
                self.put(format_args!("<span class=\"task\" role=\"img\" aria-label=\"{label}\">{mark}</span> "));
            }
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.html.push_str(&escaped(&text));
            }
        }
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.html.write_fmt(text).expect("a string takes everything");
    }

    fn open(&mut self, name: &'static str, attributes: &str) {
        if self.open.len() >= NESTED_MAX {
            self.open.push(None);
            return;
        }
        self.put(format_args!("<{name}{attributes}>"));
        self.open.push(Some(name));
    }

    fn close(&mut self) {
        if let Some(Some(name)) = self.open.pop() {
            self.put(format_args!("</{name}>"));
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph => self.open("p", " dir=\"auto\""),
            // The page has the first two levels for itself.
            Tag::Heading { level, .. } => match level as u8 {
                1 => self.open("h3", " class=\"h1\" dir=\"auto\""),
                2 => self.open("h4", " class=\"h2\" dir=\"auto\""),
                3 => self.open("h5", " class=\"h3\" dir=\"auto\""),
                _ => self.open("h6", " dir=\"auto\""),
            },
            Tag::BlockQuote(_) => self.open("blockquote", ""),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default().to_owned(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(None) => self.open("ul", ""),
            Tag::List(Some(first)) => self.open("ol", &format!(" start=\"{first}\"")),
            Tag::Item => self.open("li", " dir=\"auto\""),
            Tag::Table(_) => {
                self.open("div", " class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Table\"");
                self.open("table", "");
            }
            Tag::TableHead => {
                self.in_head = true;
                self.columns = 0;
                self.open("tr", "");
            }
            Tag::TableRow => self.open("tr", ""),
            Tag::TableCell => self.open(if self.in_head { "th" } else { "td" }, " dir=\"auto\""),
            Tag::Emphasis => self.open("em", ""),
            Tag::Strong => self.open("strong", ""),
            Tag::Strikethrough => self.open("del", ""),
            Tag::Superscript => self.open("sup", ""),
            Tag::Subscript => self.open("sub", ""),
            Tag::Link { dest_url, .. } => self.link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.link(&dest_url, "picture: "),
            Tag::HtmlBlock => self.open("p", " class=\"raw\" dir=\"auto\""),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.open("div", ""),
        }
    }

    fn link(&mut self, to: &CowStr<'_>, prefix: &str) {
        if is_allowed(to) {
            let away = if is_own(to) || to.starts_with('#') {
                ""
            } else {
                " target=\"_blank\" rel=\"noopener noreferrer nofollow\""
            };
            self.open("a", &format!(" href=\"{}\"{away}", escaped(to)));
        } else {
            self.open("span", &format!(" class=\"nolink\" title=\"{}\"", escaped(to)));
        }
        self.html.push_str(prefix);
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::CodeBlock => {
                if let Some((language, code)) = self.code.take() {
                    self.html.push_str(&code_block(&language, &code));
                }
            }
            TagEnd::Table => {
                self.close();
                self.close();
            }
            TagEnd::TableHead => {
                self.in_head = false;
                self.close();
            }
            _ => self.close(),
        }
    }
}

/// A block of code, with its language named and its words coloured.
pub(crate) fn code_block(language: &str, code: &str) -> String {
    let label = if language.is_empty() { "Code" } else { language };
    let mut html = String::with_capacity(code.len() * 2);
    html.push_str("<div class=\"code\" data-language=\"");
    html.push_str(&escaped(language));
    html.push_str("\"><pre tabindex=\"0\" aria-label=\"");
    html.push_str(&escaped(label));
    html.push_str("\"><code>");
    html.push_str(&highlighted(language, code));
    html.push_str("</code></pre></div>");
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(text: &str) -> String {
        markdown(text).into_string()
    }

    #[test]
    fn plain_markdown_is_drawn() {
        assert_eq!(html("a *b* `c<d`"), "<p dir=\"auto\">a <em>b</em> <code>c&lt;d</code></p>");
        assert!(html("| a |\n|---|\n| b |").contains("<tr><td dir=\"auto\">b</td></tr>"));
        assert!(html("- [x] done").contains('☑'));
        assert!(html("```rust\nfn a() {}\n```").contains("<span class=\"k\">fn</span>"));
    }

    #[test]
    fn nothing_in_a_text_runs_or_loads() {
        for text in [
            "<script>alert(1)</script>",
            "<img src=x onerror=alert(1)>",
            "a <b onclick=x>",
            "[a](javascript:alert(1))",
            "[a](JaVaScRiPt:alert(1))",
            "[a](java\tscript:alert(1))",
            "[a](data:text/html,x)",
            "[a](//evil.example)",
            "[a](/\\evil.example)",
            "[a](/v1/threads)",
            "[a](/sign-in?code=1)",
            "![a](https://evil.example/p.png)",
            "![a](x\" onerror=\"alert(1))",
            "<https://a.example/\"onmouseover=x>",
            "```\"><script>\nx\n```",
            "&lt;script&gt;",
            "[a]: javascript:x\n[a]",
            "<!-- --><iframe src=//e>",
        ] {
            let html = html(text);
            for bad in [
                "<script",
                "<img",
                "<iframe",
                "href=\"java",
                "href=\"data",
                "href=\"//",
                "href=\"/\\",
                "href=\"/v1",
                "href=\"/sign",
                " onclick=x>",
                "src=",
            ] {
                let shown = html.replace("&lt;img src=", "").replace("&lt;iframe src=", "");
                assert!(!shown.contains(bad), "{text} became {html}");
            }
        }
    }

    #[test]
    fn a_table_of_very_many_cells_is_drawn_as_text() {
        let row = |cell: &str, count: usize| format!("{}|\n", cell.repeat(count));
        let table = |count: usize| row("|a", count) + &row("|-", count) + &row("|b", count);
        assert!(html(&table(10)).contains("<table>"));
        assert!(!html(&table(2_000)).contains("<table>"));
    }

    #[test]
    fn deep_nesting_stays_shallow_and_tags_stay_balanced() {
        for text in [">".repeat(10_000), "- ".repeat(5_000), format!("{}a", "*_".repeat(2_000)), "[".repeat(20_000)] {
            let html = html(&text);
            assert!(html.matches("<blockquote").count() <= NESTED_MAX);
            for name in ["blockquote", "ul", "li", "em", "p"] {
                let (open, close) =
                    (html.matches(&format!("<{name}")).count(), html.matches(&format!("</{name}>")).count());
                assert_eq!(open, close, "{name} in {:.20}", text);
            }
        }
    }
}
