//! Python: types from schemas, a class of methods for each room, and the sync half from the async one.

mod methods;
mod schema;
mod sync;
mod types;

pub use methods::{facts, methods};
pub use sync::sync;
pub use types::types;

use crate::words::{snake, wrapped};

const HEAD: &str = "# Printed from the table of calls. Do not edit: BLESS=1 cargo test -p threadkeep-print\n";
/// Characters of a line of a docstring.
const WIDTH: usize = 100;

/// A docstring at this depth, of one text.
fn docstring(indent: &str, text: &str) -> String {
    docstring_of(indent, &wrapped(text.trim(), WIDTH - indent.len()))
}

/// A docstring at this depth, of lines.
fn docstring_of(indent: &str, lines: &[String]) -> String {
    let text = lines.join(&format!("\n{indent}")).replace('\\', r"\\").replace("\"\"\"", "'''");
    let text = text.strip_suffix('"').map_or(text.clone(), |rest| format!("{rest}\\\""));
    let text: Vec<&str> = text.split('\n').map(str::trim_end).collect();
    let end = if lines.len() > 1 { format!("\n{indent}") } else { String::new() };
    format!("{indent}\"\"\"{}{end}\"\"\"\n", text.join("\n"))
}

/// A name that Python takes: its own words get an underscore.
fn name(wire: &str) -> String {
    let name = snake(wire);
    match name.as_str() {
        "from" | "for" | "in" | "is" | "not" | "with" | "as" | "class" | "import" | "global" | "pass" | "extra" => {
            format!("{name}_")
        }
        _ => name,
    }
}

/// A text as Python writes it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn truth(is_so: bool) -> String {
    (if is_so { "True" } else { "False" }).to_owned()
}

/// A tuple, on one line if it fits there.
fn tuple(indent: &str, items: &[String]) -> String {
    match items {
        [one] => format!("({one},)"),
        all => enclosed(indent, "(", all, ")"),
    }
}

/// Items in brackets, on one line if they fit there. `indent` is that of the line they begin in.
fn enclosed(indent: &str, open: &str, items: &[String], close: &str) -> String {
    let line = format!("{open}{}{close}", items.join(", "));
    if indent.len() + line.len() <= WIDTH - 16 {
        return line;
    }
    let items: String = items.iter().map(|item| format!("{indent}    {item},\n")).collect();
    format!("{open}\n{items}{indent}{close}")
}
