//! The socket, which is descriptor 0. The host is trusted: when it is gone, so is the worker.

use rustix::io::{Errno, read, write};
use rustix::stdio::stdin;

use crate::frame::{HEAD_BYTES, Head, Kind, frame};

/// Sends a frame to the host.
pub(super) fn send(kind: Kind, call: u32, payload: &[u8]) {
    let bytes = frame(kind, call, payload);
    let mut rest = &bytes[..];
    while !rest.is_empty() {
        match write(stdin(), rest) {
            Ok(written) => rest = &rest[written..],
            Err(Errno::INTR) => {}
            Err(_) => end(1),
        }
    }
}

/// Waits for a frame.
pub(super) fn receive() -> (Head, Vec<u8>) {
    let mut head = [0; HEAD_BYTES];
    fill(&mut head);
    let Some(head) = Head::read(head) else { end(1) };
    let mut payload = vec![0; head.bytes];
    fill(&mut payload);
    (head, payload)
}

fn fill(mut rest: &mut [u8]) {
    while !rest.is_empty() {
        match read(stdin(), &mut *rest) {
            Ok(0) => end(0),
            Ok(bytes) => rest = &mut rest[bytes..],
            Err(Errno::INTR) => {}
            Err(_) => end(1),
        }
    }
}

/// Ends the process at once, without freeing anything.
#[allow(unsafe_code, reason = "the C library has no safe form of it")]
pub(super) fn end(code: i32) -> ! {
    // SAFETY: nothing has to be written or freed: the kernel takes everything back.
    unsafe { libc::_exit(code) }
}
