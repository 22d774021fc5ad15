//! Text that a command is given: as an argument, or from stdin.

use std::io::Read;

use threadkeep::model::Code;
use threadkeep::{Invalid, Limits};

use crate::failure::{Failure, cannot_read};

/// `text`, or all of stdin if it is `-`, less its last line break.
pub(crate) fn or_stdin(text: &str) -> Result<String, Failure> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let max = Limits::default().message_bytes_max;
    // One byte for a last line break, and one to notice that there is more.
    let bytes = read_at_most(&mut std::io::stdin().lock(), max + 2).map_err(|error| cannot_read("stdin", &error))?;
    if bytes.len() > max + 1 {
        return Err(too_large("content", format!("a message has at most {max} bytes of JSON; this one has more")));
    }
    let mut text =
        String::from_utf8(bytes).map_err(|_| Invalid::body("content", "what stdin gives is not UTF-8 text"))?;
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// At most so many bytes.
pub(crate) fn read_at_most(from: &mut impl Read, most: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A text or file that has too many bytes.
pub(crate) fn too_large(field: &str, rule: String) -> Failure {
    Invalid::new(Code::TooLarge, field, rule).into()
}
