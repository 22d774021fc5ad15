//! The screen: whether a person reads stdout on a terminal, how large it is, and how text looks on it.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::{Args, ValueEnum};

/// Columns and rows where neither the terminal nor the environment tells them.
const COLUMNS: usize = 100;
const ROWS: usize = 24;

/// How output looks to people.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Look {
    /// Colours and rendered Markdown: auto (on terminals), always or never
    #[arg(long, global = true, value_name = "WHEN", value_enum, default_value_t = Color::Auto, hide_default_value = true,
          hide_possible_values = true, hide_short_help = true)]
    color: Color,
    /// Exact times on terminals too, instead of "3 min ago"
    #[arg(long, global = true, hide_short_help = true)]
    exact_times: bool,
    /// No pager on terminals
    #[arg(long, global = true, hide_short_help = true)]
    no_pager: bool,
}

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    Auto,
    /// Always, also into pipes
    Always,
    /// Never
    Never,
}

/// What is known about the screen.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Screen {
    /// Whether a person reads stdout.
    pub(crate) is_terminal: bool,
    pub(crate) is_coloured: bool,
    /// Whether long output goes through a pager.
    pub(crate) is_paged: bool,
    /// Whether times are told as "3 min ago".
    pub(crate) has_relative_times: bool,
}

static SCREEN: OnceLock<Screen> = OnceLock::new();

impl Look {
    /// Settles how output looks, once, before anything is printed. JSON has no looks.
    pub(crate) fn settle(self, json: bool) {
        // Without a name, a terminal can do as little as a dumb one; only Windows gives none.
        let is_dumb = std::env::var_os("TERM").map_or(cfg!(unix), |term| term.is_empty() || term == "dumb");
        let is_plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) || is_dumb;
        let is_terminal = !json && std::io::stdout().is_terminal();
        let screen = Screen {
            is_terminal,
            is_coloured: match self.color {
                Color::Auto => is_terminal && !is_plain,
                Color::Always => !json,
                Color::Never => false,
            },
            is_paged: is_terminal && !is_dumb && !self.no_pager,
            has_relative_times: is_terminal && !self.exact_times,
        };
        // A second time there is nothing to settle.
        let _ = SCREEN.set(screen);
    }
}

/// The screen as it was settled; before that, and in tests, a plain one.
pub(crate) fn screen() -> Screen {
    SCREEN.get().copied().unwrap_or_default()
}

fn of_environment(name: &str) -> Option<usize> {
    std::env::var(name).ok().and_then(|size| size.parse().ok()).filter(|size| *size > 0)
}

/// The columns of the terminal.
pub(crate) fn columns() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(columns, _)| columns.0.into()).filter(|size| *size > 0);
    of_environment("COLUMNS").or_else(terminal).unwrap_or(COLUMNS)
}

/// The rows of the terminal.
pub(crate) fn rows() -> usize {
    let terminal = || terminal_size::terminal_size().map(|(_, rows)| rows.0.into()).filter(|size| *size > 0);
    of_environment("LINES").or_else(terminal).unwrap_or(ROWS)
}

/// How a piece of text is painted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Bold,
    Italic,
    Dim,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
    /// Words that were searched for.
    Marked,
}

impl Paint {
    fn code(self) -> &'static str {
        match self {
            Self::Bold => "1",
            Self::Italic => "3",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Magenta => "35",
            Self::Cyan => "36",
            Self::Marked => "1;33",
        }
    }

    /// `text` in this paint, where there are colours.
    pub(crate) fn on(self, text: &str) -> String {
        if screen().is_coloured { self.always(text) } else { text.to_owned() }
    }

    /// `text` in this paint.
    pub(crate) fn always(self, text: &str) -> String {
        if text.is_empty() { String::new() } else { format!("\u{1b}[{}m{text}\u{1b}[0m", self.code()) }
    }
}

/// `line`, cut to the columns of the terminal; whole where no person reads it.
pub(crate) fn fitted(line: &str) -> String {
    if !screen().is_terminal {
        return line.to_owned();
    }
    cut(line, columns())
}

/// `line` with at most so many characters; escape sequences have no width.
fn cut(line: &str, most: usize) -> String {
    let width = line.chars().count();
    if width <= most || line.contains('\u{1b}') {
        return line.to_owned();
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_too_long_ends_where_the_screen_does() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größer", 4), "grö…");
        assert_eq!(Paint::Bold.always("x"), "\u{1b}[1mx\u{1b}[0m");
    }
}
