//! Stdout: data, and nothing else. When its reader has gone, the command ends silently.

use std::io::{BufWriter, Stdout, Write};

use serde::Serialize;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::failure::{Failure, cannot_write};

/// Buffered stdout.
pub(crate) struct Out(BufWriter<Stdout>);

impl Out {
    pub(crate) fn new() -> Self {
        Self(BufWriter::with_capacity(64 << 10, std::io::stdout()))
    }

    /// Some bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.0.write_all(bytes).map_err(|error| cannot_write("to stdout", &error))
    }

    /// One line of text.
    pub(crate) fn line(&mut self, line: impl AsRef<str>) -> Result<(), Failure> {
        self.bytes(line.as_ref().as_bytes())?;
        self.bytes(b"\n")
    }

    /// One line of JSON.
    pub(crate) fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = one_line(value)?;
        line.push(b'\n');
        self.bytes(&line)
    }

    /// JSON as part of a line.
    pub(crate) fn json_part(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let part = one_line(value)?;
        self.bytes(&part)
    }

    /// Writes out the buffer.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.0.flush().map_err(|error| cannot_write("to stdout", &error))
    }
}

/// JSON without line breaks. JSON that is passed through may hold some between its tokens, where a space means
/// the same; within strings they are always escaped.
fn one_line(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    let internal = |error: serde_json::Error| Problem::new(Status::Internal, ErrorCode::Internal, error.to_string());
    let mut line = serde_json::to_vec(value).map_err(internal)?;
    for byte in &mut line {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
    Ok(line)
}
