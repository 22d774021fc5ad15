//! Stdout: data, and nothing else; on a terminal, long output goes through a pager. When its reader has gone, the
//! command ends silently.

use std::io::{self, BufWriter, Stdout, Write};
use std::process::ChildStdin;

use serde::Serialize;
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::failure::{Failure, cannot_write};
use crate::pager::Pager;
use crate::screen::{fitted, screen};

/// Bytes that wait to be written together.
const BUFFER_BYTES: usize = 64 << 10;

/// Buffered stdout, or the pager before it.
pub(crate) struct Out {
    to: BufWriter<To>,
    pager: Option<Pager>,
}

enum To {
    Stdout(Stdout),
    Pager(ChildStdin),
    /// The pager has ended.
    Nowhere,
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(to) => to.write(bytes),
            Self::Pager(to) => to.write(bytes),
            Self::Nowhere => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(to) => to.flush(),
            Self::Pager(to) => to.flush(),
            Self::Nowhere => Ok(()),
        }
    }
}

impl Out {
    pub(crate) fn new() -> Self {
        Self { to: BufWriter::with_capacity(BUFFER_BYTES, To::Stdout(io::stdout())), pager: None }
    }

    /// From here on, output goes through a pager, if a person reads it.
    pub(crate) fn page(&mut self) -> Result<(), Failure> {
        self.flush()?;
        if screen().is_paged
            && self.pager.is_none()
            && let Some((pager, to)) = Pager::start()
        {
            self.to = BufWriter::with_capacity(BUFFER_BYTES, To::Pager(to));
            self.pager = Some(pager);
        }
        Ok(())
    }

    /// Writes out the buffer, and waits until the reader has closed the pager.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let flushed = self.flush();
        if let Some(pager) = self.pager.take() {
            // The pager ends its reading at the end of its input.
            let rest = std::mem::replace(&mut self.to, BufWriter::new(To::Nowhere));
            drop(rest.into_parts());
            pager.end();
        }
        flushed
    }

    /// One line of a list: cut to the width of the terminal, whole for everyone else.
    pub(crate) fn row(&mut self, line: impl AsRef<str>) -> Result<(), Failure> {
        self.line(fitted(line.as_ref()))
    }

    /// Some bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.to.write_all(bytes).map_err(|error| cannot_write("to stdout", &error))
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
        self.to.flush().map_err(|error| cannot_write("to stdout", &error))
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
