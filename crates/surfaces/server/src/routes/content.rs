//! The content of files: whole or in part, read piece by piece at the pace of the socket.
//!
//! Stored content may be anything, also a page with scripts in it. It never runs as a part of this server:
//! browsers may not guess its type, it is shown in a sandbox, and content that a browser could run is saved and
//! not shown.

use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use threadkeep::{Engine, Error, FileCell, FileRecord};
use threadkeep_calls::{ErrorCode, Problem, Status};

use crate::answer::{Answer, Refused};
use crate::conditions::IfNoneMatch;
use crate::ranges::{Part, Wanted};

/// Bytes that are read and sent at once.
const PIECE_BYTES: u64 = 1 << 20;
/// The rights of a stored file in a browser: none.
const CSP: &str = "default-src 'none'; sandbox";
/// Types without active content: a browser shows them, and does not save them at once.
const SHOWN: [&str; 5] = ["image/png", "image/jpeg", "image/gif", "image/webp", "text/plain"];

/// The content of a file, or the part of it that is wanted.
pub(super) async fn content(
    engine: &Engine,
    method: &Method,
    record: &FileRecord,
    known: &IfNoneMatch,
    wanted: &Wanted,
) -> Answer {
    let Some(file) = record.file() else { return Err(Error::IsADirectory { path: record.path.clone() }.into()) };
    let etag = format!("\"{}\"", file.hash);
    if known.is(&etag) {
        let mut response = StatusCode::NOT_MODIFIED.into_response();
        tagged(response.headers_mut(), &etag);
        return Ok(response);
    }
    // A head is that of the whole file.
    let part = if *method == Method::HEAD { Part::Whole } else { wanted.of(file.size, &etag) };
    let (status, range) = match part {
        Part::Whole => (StatusCode::OK, 0..file.size),
        Part::Bytes(range) => (StatusCode::PARTIAL_CONTENT, range),
        Part::Beyond => return Ok(beyond(file.size, wanted)),
    };
    let length = range.end - range.start;
    let body = if *method == Method::HEAD { Body::empty() } else { body(engine, file, range.clone()).await? };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if status == StatusCode::PARTIAL_CONTENT {
        insert(headers, header::CONTENT_RANGE, &format!("bytes {}-{}/{}", range.start, range.end - 1, file.size));
    }
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    tagged(headers, &etag);
    harmless(headers, &file.mime_type, record.path.name());
    Ok(response)
}

/// Headers that name its type, and keep a browser from running it.
pub(super) fn harmless(headers: &mut HeaderMap, mime_type: &str, name: &str) {
    let any = HeaderValue::from_static("application/octet-stream");
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(mime_type).unwrap_or(any));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CSP));
    insert(headers, header::CONTENT_DISPOSITION, &disposition(mime_type, name));
}

fn tagged(headers: &mut HeaderMap, etag: &str) {
    insert(headers, header::ETAG, etag);
    // A cache must ask each time whether its copy still holds: access to a thread can be taken back.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
}

fn insert(headers: &mut HeaderMap, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

/// Whether a browser shows it or saves it, and under which name.
fn disposition(mime_type: &str, name: &str) -> String {
    let kind = mime_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let shown = SHOWN.contains(&kind.as_str()) || kind.starts_with("audio/") || kind.starts_with("video/");
    let escaped: String = name
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect();
    format!("{}; filename*=UTF-8''{escaped}", if shown { "inline" } else { "attachment" })
}

/// The file has no such bytes; the answer says how many it has.
fn beyond(size: u64, wanted: &Wanted) -> Response {
    let detail = format!("the file has {size} bytes, and none in the range {}", wanted.said());
    let problem = Problem::new(Status::RangeNotSatisfiable, ErrorCode::RangeNotSatisfiable, detail);
    let mut response = Refused::from(problem).into_response();
    insert(response.headers_mut(), header::CONTENT_RANGE, &format!("bytes */{size}"));
    response
}

/// The bytes to send. The first piece is read before the answer begins, so that a failing store gives an error
/// answer.
async fn body(engine: &Engine, file: &FileCell, range: Range<u64>) -> Result<Body, Refused> {
    let first = range.start..range.end.min(range.start + PIECE_BYTES);
    if first.is_empty() {
        return Ok(Body::empty());
    }
    let whole = first.start == 0 && first.end == file.size;
    let piece = engine.file_content(file, Some(first.clone()).filter(|_| !whole)).await?;
    if first.end == range.end {
        return Ok(Body::from(piece));
    }
    let rest = first.end..range.end;
    Ok(Body::from_stream(Pieces {
        engine: engine.clone(),
        file: file.clone(),
        ready: Some(piece),
        rest,
        reading: None,
    }))
}

type Reading = Pin<Box<dyn Future<Output = Result<Bytes, Error>> + Send>>;

/// A file, piece by piece. The next one is read when the one before was taken.
struct Pieces {
    engine: Engine,
    file: FileCell,
    ready: Option<Bytes>,
    rest: Range<u64>,
    reading: Option<Reading>,
}

impl futures_core::Stream for Pieces {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(ready) = self.ready.take() {
            return Poll::Ready(Some(Ok(ready)));
        }
        if self.reading.is_none() {
            if self.rest.is_empty() {
                return Poll::Ready(None);
            }
            let piece = self.rest.start..self.rest.end.min(self.rest.start + PIECE_BYTES);
            self.rest.start = piece.end;
            let (engine, file) = (self.engine.clone(), self.file.clone());
            self.reading = Some(Box::pin(async move { engine.file_content(&file, Some(piece)).await }));
        }
        let Some(reading) = &mut self.reading else { return Poll::Ready(None) };
        let read = std::task::ready!(reading.as_mut().poll(context));
        self.reading = None;
        if read.is_err() {
            // Cut off, which the client notices by the length that was announced.
            self.rest = 0..0;
        }
        Poll::Ready(Some(read))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_could_run_is_saved_and_its_name_is_escaped() {
        assert_eq!(disposition("text/html; charset=utf-8", "a b.html"), "attachment; filename*=UTF-8''a%20b.html");
        assert_eq!(disposition("image/svg+xml", "x\"; y"), "attachment; filename*=UTF-8''x%22%3B%20y");
        assert_eq!(disposition("Text/Plain;charset=utf-8", "ä.txt"), "inline; filename*=UTF-8''%C3%A4.txt");
        // A document may hold scripts of its own, which the viewer of a browser runs.
        assert_eq!(disposition("application/pdf", "a.pdf"), "attachment; filename*=UTF-8''a.pdf");
        assert_eq!(disposition("video/mp4", "v"), "inline; filename*=UTF-8''v");
    }
}
