//! Files here as bodies of requests: they are sent as they are read, and never held whole.

use std::io::{self, Read};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use threadkeep_client as client;

use crate::progress::Bar;

/// Bytes read at once.
const BUFFER_BYTES: usize = 256 << 10;

/// The content of `from` as the body of a request, and a handle that says why it could not be read to its end. It
/// has `size` bytes, if that is known.
pub(crate) fn body(from: Box<dyn Read + Send>, size: Option<u64>) -> (client::Body, Unread) {
    let unread = Unread::default();
    let reading = Reading { from, bar: Bar::new(), bytes: 0, size, failed: unread.clone() };
    (reading.map_err(Into::into).boxed_unsync(), unread)
}

/// Why a body could not be read to its end.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<Mutex<Option<io::Error>>>);

impl Unread {
    /// The reason, once; none if all is well.
    pub(crate) fn error(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A file as the body of a request. It is read when the connection takes it, which is all this program does meanwhile.
struct Reading {
    from: Box<dyn Read + Send>,
    bar: Bar,
    bytes: u64,
    size: Option<u64>,
    failed: Unread,
}

impl Body for Reading {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let mut chunk = vec![0; BUFFER_BYTES];
        let read = loop {
            match self.from.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        Poll::Ready(match read {
            Ok(0) => None,
            Ok(bytes) => {
                chunk.truncate(bytes);
                self.bytes += bytes as u64;
                self.bar.tell("bytes", self.bytes, self.size);
                Some(Ok(Frame::data(chunk.into())))
            }
            Err(error) => {
                let told = io::Error::new(error.kind(), error.to_string());
                *self.failed.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                Some(Err(told))
            }
        })
    }

    fn size_hint(&self) -> SizeHint {
        self.size.map_or_else(SizeHint::default, |size| SizeHint::with_exact(size.saturating_sub(self.bytes)))
    }
}
