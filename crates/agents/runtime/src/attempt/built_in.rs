//! The names of tools that every program has: the calls about a thread as `threadkeep/NAME`, `skill`, and `remember`.

use serde_json::{Value, json};
use threadkeep_calls::{Call as _, Needs, SetEnv};
use threadkeep_engine::{CARRIERS, Carrier};

use super::Declared;
use crate::run_code::named;

/// Begins the names of tools that are calls.
const PREFIX: &str = "threadkeep/";
/// The tool that activates a skill.
const SKILL: &str = "skill";

/// The tool that remembers a text across threads.
pub(crate) const REMEMBER: &str = "remember";

/// Whether every program has a tool of this name.
pub(crate) fn is_built_in(name: &str) -> bool {
    name == SKILL || name == REMEMBER || call_of(name).is_some()
}

/// The call that a tool makes. Those about variables and those that need an admin key are no tools.
pub(crate) fn call_of(name: &str) -> Option<&'static Carrier> {
    let name = name.strip_prefix(PREFIX)?;
    CARRIERS.iter().filter(|carrier| named(carrier, name)).find(|carrier| {
        let declaration = carrier.declaration;
        declaration.names_thread()
            && declaration.needs != Needs::Admin
            && declaration.group != SetEnv::DECLARATION.group
    })
}

/// What such a tool says of itself. The engine checks the authority of its calls.
pub(crate) fn declared(name: &str) -> Declared {
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    match call_of(name) {
        Some(carrier) => {
            let thread = json!({ "type": "string", "description": "Another thread that it is about" });
            let args = json!({ "type": "object", "properties": { "thread": thread } });
            Declared::new(carrier.declaration.about, object(args))
        }
        None if name == REMEMBER => {
            let args = json!({ "type": "object", "required": ["text"], "additionalProperties": false, "properties": {
                "text": { "type": "string", "description": "One fact, in a sentence that is understood by itself" },
                "scope": { "type": "string", "enum": ["account", "project"],
                    "description": "In all conversations, or in those of this project [default: account]" } } });
            let about = "Remembers a fact for later conversations, such as a preference or a decision that stays.";
            Declared::new(about, object(args))
        }
        None => {
            let args = json!({ "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string", "description": "The name of the skill" }, "arguments": {} } });
            Declared::new("Activates a skill, and gives its text.", object(args))
        }
    }
}
