//! A pattern as a regular expression that cannot match a line end.

use regex_syntax::ast::{self, Ast, ClassSetItem, Visitor};
use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};
use regex_syntax::{Error, ParserBuilder};

use super::{Case, GrepError, Mode};

/// Text that is shorter than this is in too many lines to be worth looking for first.
const REQUIRED_BYTES_MIN: usize = 3;

/// A pattern that matches within lines only.
pub(super) struct WithinLines {
    /// The rewritten regular expression.
    pub(super) regex: String,
    /// Text that every match has in it, if the regular expression does not begin with it or with something as good.
    pub(super) required: Option<Vec<u8>>,
    /// Of how many characters a match may consist, each alternative and repetition counted. A text alone is one: it is
    /// found without any of this.
    pub(super) positions: u64,
}

/// Rewrites a pattern so that each of its matches lies within one line.
pub(super) fn within_lines(pattern: &str, mode: Mode, case: Case) -> Result<WithinLines, GrepError> {
    let pattern = match mode {
        Mode::Regex => pattern.to_owned(),
        Mode::Literal => regex_syntax::escape(pattern),
    };
    let ignores_case = match case {
        Case::Sensitive => false,
        Case::Ignore => true,
        Case::Smart => !has_upper_case(&pattern)?,
    };
    let parsed = ParserBuilder::new()
        .multi_line(true)
        .crlf(true)
        .utf8(false)
        .case_insensitive(ignores_case)
        .build()
        .parse(&pattern)
        .map_err(syntax)?;
    let within = without_line_ends(parsed)?;
    let positions = if matches!(within.kind(), HirKind::Literal(_)) { 1 } else { positions(&within) };
    Ok(WithinLines { regex: within.to_string(), required: worth_looking_for(&within), positions })
}

/// Of how many characters a match may consist. A search follows at most so many at once.
fn positions(hir: &Hir) -> u64 {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Class(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            positions(&repetition.sub).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => positions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(positions).fold(0, u64::saturating_add)
        }
    }
}

/// The crate `regex` looks by itself for text at the beginning of a pattern, but mostly not for text that comes later.
fn worth_looking_for(hir: &Hir) -> Option<Vec<u8>> {
    let HirKind::Concat(parts) = hir.kind() else { return None };
    let begins_well = |part: &Hir| required(part).is_some_and(|text| text.len() >= REQUIRED_BYTES_MIN);
    if parts.iter().find(|part| !matches!(part.kind(), HirKind::Look(_))).is_some_and(begins_well) {
        return None;
    }
    required(hir).filter(|text| text.len() >= REQUIRED_BYTES_MIN).map(<[u8]>::to_vec)
}

/// The longest text that every match has in it.
fn required(hir: &Hir) -> Option<&[u8]> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(&literal.0),
        HirKind::Concat(parts) => parts.iter().filter_map(required).max_by_key(|text| text.len()),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Repetition(_) | HirKind::Alternation(_) | HirKind::Class(_) | HirKind::Look(_) | HirKind::Empty => {
            None
        }
    }
}

fn syntax(error: Error) -> GrepError {
    let (at, reason) = match error {
        Error::Parse(error) => (error.span().start, error.kind().to_string()),
        Error::Translate(error) => (error.span().start, error.kind().to_string()),
        other => return GrepError::Syntax { at: 1, reason: other.to_string() },
    };
    // Columns begin anew on every line of a pattern; a pattern with several is one that goes on over a line end.
    GrepError::Syntax { at: at.column, reason }
}

/// Takes line ends out of every class, and refuses them where nothing else would do.
fn without_line_ends(hir: Hir) -> Result<Hir, GrepError> {
    Ok(match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) if literal.0.contains(&b'\n') => return Err(GrepError::LineEnd),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(Class::Unicode(mut class)) => {
            class.difference(&regex_syntax::hir::ClassUnicode::new([unicode_line_end()]));
            Hir::class(Class::Unicode(class))
        }
        HirKind::Class(Class::Bytes(mut class)) => {
            class.difference(&regex_syntax::hir::ClassBytes::new([byte_line_end()]));
            Hir::class(Class::Bytes(class))
        }
        HirKind::Look(look) => Hir::look(within_its_line(look)),
        HirKind::Repetition(repetition) => {
            let sub = Box::new(without_line_ends(*repetition.sub)?);
            Hir::repetition(Repetition { sub, ..repetition })
        }
        // The content of a group is never used.
        HirKind::Capture(capture) => without_line_ends(*capture.sub)?,
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(without_line_ends).collect::<Result<_, _>>()?),
        HirKind::Alternation(parts) => {
            Hir::alternation(parts.into_iter().map(without_line_ends).collect::<Result<_, _>>()?)
        }
    })
}

/// The beginning and the end of the text are those of the line: a line is all that a pattern sees.
fn within_its_line(look: Look) -> Look {
    match look {
        Look::Start => Look::StartCRLF,
        Look::End => Look::EndCRLF,
        other => other,
    }
}

fn unicode_line_end() -> regex_syntax::hir::ClassUnicodeRange {
    regex_syntax::hir::ClassUnicodeRange::new('\n', '\n')
}

fn byte_line_end() -> regex_syntax::hir::ClassBytesRange {
    regex_syntax::hir::ClassBytesRange::new(b'\n', b'\n')
}

/// Whether a pattern names an upper-case letter. `\S` and `\p{Lu}` do not name one.
fn has_upper_case(pattern: &str) -> Result<bool, GrepError> {
    let parsed = ast::parse::Parser::new().parse(pattern).map_err(|error| syntax(Error::Parse(error)))?;
    let found = ast::visit(&parsed, UpperCase { found: false });
    Ok(match found {
        Ok(found) => found,
        Err(never) => match never {},
    })
}

struct UpperCase {
    found: bool,
}

impl UpperCase {
    fn look_at(&mut self, literal: &ast::Literal) {
        self.found |= literal.c.is_uppercase();
    }
}

impl Visitor for UpperCase {
    type Output = bool;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<bool, Self::Err> {
        Ok(self.found)
    }

    fn visit_pre(&mut self, ast: &Ast) -> Result<(), Self::Err> {
        if let Ast::Literal(literal) = ast {
            self.look_at(literal);
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        match item {
            ClassSetItem::Literal(literal) => self.look_at(literal),
            ClassSetItem::Range(range) => {
                self.look_at(&range.start);
                self.look_at(&range.end);
            }
            ClassSetItem::Empty(_)
            | ClassSetItem::Ascii(_)
            | ClassSetItem::Unicode(_)
            | ClassSetItem::Perl(_)
            | ClassSetItem::Bracketed(_)
            | ClassSetItem::Union(_) => {}
        }
        Ok(())
    }
}
