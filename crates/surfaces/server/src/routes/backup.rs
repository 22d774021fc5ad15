//! Backups over HTTP, for those who administer: a store in one file.

use std::convert::Infallible;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use threadkeep::{SystemWorld, World};
use threadkeep_calls::{ErrorCode, Problem, Status};
use tokio::sync::mpsc;

use crate::access::Admin;
use crate::answer::Answer;
use crate::app::App;
use crate::input::{Body, Nothing};
use crate::table::{self, Gives, Routes};

/// The media type of SQLite's files.
pub(crate) const MEDIA: &str = "application/vnd.sqlite3";
/// How many entries, records and large values are damaged, and not in the backup.
const LOST: &str = "threadkeep-lost";
/// Bytes that are read and sent at once.
const CHUNK_BYTES: usize = 256 << 10;
/// Chunks that are ready before the socket takes them.
const READY_MAX: usize = 2;

pub(crate) fn routes() -> Routes {
    let backup = table::post(
        ("backUpStore", "/v1/admin/backup"),
        "Makes a verified backup of everything as of one moment: a store in one file, for `threadkeep store restore`.",
        backup,
        Gives::text(
            MEDIA,
            "The backup, with its length in `Content-Length`. `Threadkeep-Lost` counts the data that is damaged and not in it.",
        ),
    );
    Routes::new("Upkeep", "", [backup.fails([ErrorCode::CannotOpenStore, ErrorCode::CopyDiffers])])
}

async fn backup(State(app): State<App>, Admin(access): Admin, Body(Nothing {}): Body<Nothing>) -> Answer {
    let path = app.settings.scratch.join(format!("backup-{:032x}.db", SystemWorld.chance()));
    let report = threadkeep::backup(&access.engine, &path, std::sync::Arc::new(|_, _, _| {})).await?;
    let (file, bytes) = taken(&path).map_err(|error| {
        let detail = format!("the backup cannot be read: {error}");
        Problem::new(Status::Unavailable, ErrorCode::CannotRead, detail)
    })?;
    let (send, receive) = mpsc::channel(READY_MAX);
    tokio::task::spawn_blocking(move || pass_on(file, &send));
    let mut response = Response::new(axum::body::Body::from_stream(Chunks(receive)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA));
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes));
    headers.insert(LOST, HeaderValue::from(report.lost.count));
    Ok(response)
}

/// The file, open, and gone from its folder: it goes when it was read, however that ends.
fn taken(path: &Path) -> std::io::Result<(File, u64)> {
    let file = File::open(path);
    drop(std::fs::remove_file(path));
    let file = file?;
    let bytes = file.metadata()?.len();
    Ok((file, bytes))
}

/// Reads until the end, or until the client is gone. A truncated backup is shorter than announced, so the client
/// notices.
fn pass_on(mut file: File, send: &mpsc::Sender<Bytes>) {
    loop {
        let mut chunk = vec![0; CHUNK_BYTES];
        match file.read(&mut chunk) {
            Ok(0) | Err(_) => return,
            Ok(bytes) => chunk.truncate(bytes),
        }
        if send.blocking_send(chunk.into()).is_err() {
            return;
        }
    }
}

struct Chunks(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Chunks {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut std::task::Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}
