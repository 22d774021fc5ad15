//! Errors of code, with their positions in the source as it was given.

use rquickjs::Value as Js;

use super::convert::{Helpers, text_of};
use super::engine::START;
use super::modules::Modules;
use crate::code::Failure;
use crate::limits::ERROR_BYTES_MAX;

/// The failure that a thrown value tells.
pub(super) fn failure<'js>(helpers: &Helpers<'js>, modules: &Modules, thrown: &Js<'js>) -> Failure {
    let Some(object) = thrown.as_object().filter(|object| object.is_error()) else {
        return Failure::new("Error", cut(format!("thrown: {}", told(helpers, thrown))));
    };
    let name = text_of(helpers, object, "name").unwrap_or_else(|| "Error".to_owned());
    let message = text_of(helpers, object, "message").unwrap_or_default();
    let mut failure = Failure::new(&cut(name), cut(message));
    if let Some(stack) = text_of(helpers, object, "stack") {
        let mut lines = Vec::new();
        // The calls of the worker itself say nothing to its reader.
        for line in cut(stack).lines().take_while(|line| !line.contains(START)) {
            let (line, place) = mapped(modules, line);
            if let Some((filename, line, column)) = place
                && failure.line.is_none()
            {
                (failure.filename, failure.line, failure.column) = (Some(filename), Some(line), Some(column));
            }
            lines.push(line);
        }
        if lines.last().is_some_and(|line| line.ends_with("at apply (native)")) {
            lines.pop();
        }
        failure.stack = Some(lines.join("\n")).filter(|stack| !stack.is_empty());
    }
    failure
}

fn told<'js>(helpers: &Helpers<'js>, thrown: &Js<'js>) -> String {
    let text = helpers.get("text").and_then(|text| text.call((thrown.clone(),)));
    text.and_then(|text| helpers.text(&text)).unwrap_or_default()
}

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(ERROR_BYTES_MAX));
    text
}

/// A line of a stack, such as `    at f (main.ts:3:9)`, with its original position; and that position.
fn mapped(modules: &Modules, line: &str) -> (String, Option<(String, u32, u32)>) {
    let read = || {
        let (start, rest) = match line.rfind('(') {
            Some(open) if line.ends_with(')') => (open + 1, &line[open + 1..line.len() - 1]),
            _ => (line.find("at ")? + 3, &line[line.find("at ")? + 3..]),
        };
        let (rest, column) = rest.rsplit_once(':')?;
        let (name, row) = rest.rsplit_once(':')?;
        Some((start, name.to_owned(), row.parse::<u32>().ok()?, column.parse::<u32>().ok()?))
    };
    let Some((start, name, row, column)) = read() else { return (line.to_owned(), None) };
    let (row, column) = modules.original(&name, row, column);
    let end = if line.ends_with(')') { ")" } else { "" };
    let text = format!("{}{name}:{row}:{column}{end}", &line[..start]);
    (text, Some((name, row, column)))
}
