//! Who acts, as a header says it: `Threadkeep-Actor: human Ann`, or `agent reviewer`.

use std::fmt::Write;

use threadkeep_model::{Actor, ActorKind, Invalid};

/// The header by which keys with scope `admin` say who acts.
pub const ACTOR_HEADER: &str = "threadkeep-actor";

/// The header by which a surface in front of a model says what it is. With [`SURFACE_MCP`], the caller acts as an agent,
/// whatever its key says, and secrets are taken out of the answer.
pub const SURFACE_HEADER: &str = "threadkeep-surface";
/// The surface that speaks the Model Context Protocol.
pub const SURFACE_MCP: &str = "mcp";

const RULE: &str = "is not who acts: human NAME, or agent NAME, with %XX for what is not plain text";

/// The value of the header. What is not plain text in a name is escaped as `%XX`, byte by byte.
pub fn actor_header(actor: &Actor) -> String {
    let kind = match actor.kind {
        ActorKind::Human => "human",
        ActorKind::Agent => "agent",
        ActorKind::System => "system",
    };
    let mut value = format!("{kind} ");
    for byte in actor.name.bytes() {
        if (b'!'..=b'~').contains(&byte) && byte != b'%' {
            value.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(value, "%{byte:02X}");
        }
    }
    value
}

/// The actor that the header names. A caller cannot act as Threadkeep itself.
///
/// # Errors
/// If it is malformed, or the name breaks a rule.
pub fn parse_actor_header(value: &str) -> Result<Actor, Invalid> {
    let wrong = || Invalid::parameter("Threadkeep-Actor", RULE);
    let (kind, name) = value.split_once(' ').ok_or_else(wrong)?;
    let kind = match kind {
        "human" => ActorKind::Human,
        "agent" => ActorKind::Agent,
        _ => return Err(wrong()),
    };
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((plain, escaped)) = rest.split_once('%') {
        bytes.extend_from_slice(plain.as_bytes());
        let digits = escaped.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        bytes.push(digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or_else(wrong)?);
        rest = escaped.get(2..).ok_or_else(wrong)?;
    }
    bytes.extend_from_slice(rest.as_bytes());
    Actor::new(kind, String::from_utf8(bytes).map_err(|_| wrong())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_acts_is_read_as_they_are_told() {
        for name in ["ann", "Ann B.", "Größe 100% 🦀", "%41"] {
            for kind in [ActorKind::Human, ActorKind::Agent] {
                let actor = Actor::new(kind, name).expect("an actor");
                let header = actor_header(&actor);
                assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{header}");
                assert_eq!(parse_actor_header(&header).expect("an actor"), actor);
            }
        }
        for value in ["", "human", "human ", "system x", "robot x", "human %", "human %4", "human %zz", "human %FF"] {
            assert!(parse_actor_header(value).is_err(), "{value}");
        }
    }
}
