//! Lines of bounded length: a message of a server, and its stderr.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf};

use crate::definition::Stderr;

/// Bytes of a message.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes of a line of stderr. A longer line is told in pieces.
const STDERR_LINE_BYTES_MAX: u64 = 8 << 10;

/// A reader that fails at a line with more than [`MESSAGE_BYTES_MAX`] bytes.
pub(crate) struct Bounded<R> {
    inner: R,
    line: usize,
}

impl<R> Bounded<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, line: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Bounded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let read = &buffer.filled()[before..];
        self.line = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => read.len() - end - 1,
            None => self.line + read.len(),
        };
        if self.line > MESSAGE_BYTES_MAX {
            let what = format!("a message has more than {MESSAGE_BYTES_MAX} bytes");
            return Poll::Ready(Err(io::Error::other(what)));
        }
        Poll::Ready(Ok(()))
    }
}

/// Hands each line of `stderr` to `tell`, until it ends.
pub(crate) async fn tell(stderr: impl AsyncRead + Unpin, tell: Option<Stderr>) {
    let mut reader = BufReader::new(stderr);
    let mut line = Vec::new();
    while matches!((&mut reader).take(STDERR_LINE_BYTES_MAX).read_until(b'\n', &mut line).await, Ok(1..)) {
        if let Some(tell) = &tell {
            tell(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
        line.clear();
    }
}
