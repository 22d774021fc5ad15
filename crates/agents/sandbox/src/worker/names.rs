//! Where sources use a name, by their syntax trees. Comments, and texts that only contain the name, do not count.

use std::collections::BTreeMap;

use oxc_allocator::Allocator;
use oxc_ast::ast::{BindingIdentifier, IdentifierName, IdentifierReference, StringLiteral, TemplateElement};
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_span::{SourceType, Span};

use super::typescript::{place, syntax_error};
use crate::code::Failure;
use crate::value::Value;

/// Every use of `name` in these sources: the source, the line and the column.
///
/// # Errors
/// If a source is not understood.
pub(super) fn found(sources: &BTreeMap<String, String>, name: &str) -> Result<Value, Failure> {
    let mut all = Vec::new();
    for (file, source) in sources {
        let allocator = Allocator::default();
        // TypeScript has JavaScript in it.
        let parsed = Parser::new(&allocator, source, SourceType::ts().with_module(true)).parse();
        if let Some(error) = parsed.diagnostics.iter().next() {
            let offset = error.labels.first().map_or(0, |label| label.span().start as usize);
            return Err(syntax_error(file, source, error.message.to_string(), offset));
        }
        let mut uses = Uses { name, at: Vec::new() };
        uses.visit_program(&parsed.program);
        for offset in uses.at {
            let (line, column) = place(source, offset as usize);
            all.push(Value::Array(vec![file.clone().into(), f64::from(line).into(), f64::from(column).into()]));
        }
    }
    Ok(Value::Array(all))
}

struct Uses<'n> {
    name: &'n str,
    /// Offsets in the source.
    at: Vec<u32>,
}

impl Uses<'_> {
    fn look(&mut self, text: &str, span: Span) {
        if text == self.name {
            self.at.push(span.start);
        }
    }
}

impl<'a> Visit<'a> for Uses<'_> {
    fn visit_identifier_name(&mut self, it: &IdentifierName<'a>) {
        self.look(it.name.as_str(), it.span);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.look(it.name.as_str(), it.span);
    }

    fn visit_binding_identifier(&mut self, it: &BindingIdentifier<'a>) {
        self.look(it.name.as_str(), it.span);
    }

    fn visit_string_literal(&mut self, it: &StringLiteral<'a>) {
        self.look(it.value.as_str(), it.span);
    }

    fn visit_template_element(&mut self, it: &TemplateElement<'a>) {
        if let Some(cooked) = &it.value.cooked {
            self.look(cooked.as_str(), it.span);
        }
    }
}
