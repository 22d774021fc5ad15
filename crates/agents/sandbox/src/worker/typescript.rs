//! TypeScript without its types, and the way back to its positions.

use std::path::Path;

use oxc_allocator::Allocator;
use oxc_codegen::{Codegen, CodegenOptions};
use oxc_diagnostics::OxcDiagnostic;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;
use oxc_transformer::{TransformOptions, Transformer};

use crate::code::Failure;

/// A line and a column.
type Place = (u32, u32);

/// The positions of a compiled source.
#[derive(Debug, Default)]
pub(super) struct Positions {
    /// Places in the compiled source, rising, each with its place in the original.
    places: Vec<(Place, Place)>,
}

impl Positions {
    /// The original position of a compiled one, both from 1.
    pub(super) fn original(&self, line: u32, column: u32) -> (u32, u32) {
        let place = (line.saturating_sub(1), column.saturating_sub(1));
        let after = self.places.partition_point(|(compiled, _)| *compiled <= place);
        match after.checked_sub(1).and_then(|index| self.places.get(index)) {
            Some((_, (line, column))) => (line + 1, column + 1),
            None => (line, column),
        }
    }
}

/// Removes types and lowers what only TypeScript has.
pub(super) fn compile(name: &str, source: &str) -> Result<(String, Positions), Failure> {
    let refused = |diagnostics: &mut dyn Iterator<Item = (String, usize)>| {
        diagnostics.next().map(|(message, offset)| syntax_error(name, source, message, offset))
    };
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::ts().with_module(true)).parse();
    let told = |error: &OxcDiagnostic| {
        let offset = error.labels.first().map_or(0, |label| label.span().start as usize);
        (error.message.to_string(), offset)
    };
    if let Some(failure) = refused(&mut parsed.diagnostics.iter().map(told)) {
        return Err(failure);
    }
    let mut program = parsed.program;
    let semantic = SemanticBuilder::new().with_check_syntax_error(true).with_enum_eval(true).build(&program);
    if let Some(failure) = refused(&mut semantic.diagnostics.iter().map(told)) {
        return Err(failure);
    }
    let (path, options) = (Path::new(name), TransformOptions::default());
    let transformed =
        Transformer::new(&allocator, path, &options).build_with_scoping(semantic.semantic.into_scoping(), &mut program);
    if let Some(failure) = refused(&mut transformed.diagnostics.iter().map(told)) {
        return Err(failure);
    }
    let options = CodegenOptions { source_map_path: Some(path.to_owned()), ..CodegenOptions::default() };
    let printed = Codegen::new().with_options(options).build(&program);
    let places = printed
        .map
        .iter()
        .flat_map(|map| map.get_tokens())
        .map(|token| ((token.get_dst_line(), token.get_dst_col()), (token.get_src_line(), token.get_src_col())));
    let mut places: Vec<_> = places.collect();
    places.sort_unstable();
    Ok((printed.code, Positions { places }))
}

/// Line and column, from 1, of an offset in a source.
pub(super) fn place(source: &str, offset: usize) -> Place {
    let before = source.get(..offset).unwrap_or_default();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count();
    (count(before.matches('\n').count() + 1), count(column + 1))
}

pub(super) fn syntax_error(name: &str, source: &str, message: String, offset: usize) -> Failure {
    let (line, column) = place(source, offset);
    Failure {
        stack: Some(format!("    at {name}:{line}:{column}")),
        line: Some(line),
        column: Some(column),
        filename: Some(name.to_owned()),
        ..Failure::new("SyntaxError", message)
    }
}
