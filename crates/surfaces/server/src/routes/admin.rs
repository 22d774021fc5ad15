//! Export and import over HTTP, for those who administer. They reach every account.

use std::convert::Infallible;
use std::io::{self, BufReader, Read};

use axum::body::Bytes;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{Engine, ExportItem, Exporter, Selection};
use threadkeep_calls::{ErrorCode, Imported, Problem, Status};
use threadkeep_transcripts::{ExportReader, ExportWriter, HeldItems};
use tokio::sync::mpsc;

use crate::access::Admin;
use crate::answer::{Answer, Refused, json};
use crate::input::{Flag, Lines, Query};
use crate::table::{self, Gives, Routes};

/// Bytes of an export that are sent at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Chunks that are ready before the socket takes them, or before they are read.
const READY_MAX: usize = 2;

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Upkeep",
        "Garbage collection, checks, exports and backups. They cover every account and need an admin key.",
        [
            table::get(
                ("exportStore", "/v1/admin/export"),
                "Exports every thread of every account as JSON lines. An export without its last line is incomplete. Damaged data is left out, and counted in the last line.",
                export,
                Gives::text("application/x-ndjson", "The export."),
            ),
            table::post(
                ("importStore", "/v1/admin/import"),
                "Imports an export: all of its threads, or none.",
                import,
                Gives::json::<Imported>("Number of imported threads."),
            )
            .fails([
                ErrorCode::InvalidExport,
                ErrorCode::UnknownExportVersion,
                ErrorCode::ExportCutOff,
                ErrorCode::InvalidThreadId,
                ErrorCode::InvalidMessageId,
                ErrorCode::JsonTooDeep,
                ErrorCode::TooLarge,
                ErrorCode::ThreadExists,
                ErrorCode::ImportConflict,
                ErrorCode::CannotRead,
            ]),
        ],
    )
}

/// Every thread of every account, as JSON lines. An interrupted export lacks its last line, so an import refuses
/// it.
async fn export(Admin(access): Admin) -> Answer {
    let exporter = access.engine.exporter(Selection::Store).await?.leaving_damage();
    let (send, receive) = mpsc::channel(READY_MAX);
    tokio::spawn(write(exporter, send));
    let mut response = Response::new(axum::body::Body::from_stream(Written(receive)));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// Writes until all is written, the reader is gone, or the store fails.
async fn write(mut exporter: Exporter, send: mpsc::Sender<Bytes>) {
    let Ok(mut writer) = ExportWriter::new(Vec::new()) else { return };
    while let Ok(item) = exporter.next().await {
        let Some(item) = item else {
            if let Ok(rest) = writer.finish() {
                // If the client is gone, it needs no more.
                drop(send.send(rest.into()).await);
            }
            return;
        };
        if writer.item(&item).is_err() {
            return;
        }
        if writer.get_ref().len() >= CHUNK_BYTES && send.send(std::mem::take(writer.get_mut()).into()).await.is_err() {
            return;
        }
    }
}

struct Written(mpsc::Receiver<Bytes>);

impl futures_core::Stream for Written {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|chunk| chunk.map(Ok))
    }
}

/// How to import.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct How {
    /// Reads all of it and counts its threads, and writes nothing.
    dry_run: Flag,
}

async fn import(Admin(access): Admin, Query(how): Query<How>, Lines(mut chunks): Lines) -> Answer {
    let (send, receive) = mpsc::channel(READY_MAX);
    let engine = access.engine.clone();
    let handle = tokio::runtime::Handle::current();
    let reading = tokio::task::spawn_blocking(move || match how.dry_run.0 {
        true => count(&engine, &handle, receive),
        false => read(&engine, &handle, receive),
    });
    // The importer reports errors in the content; once it has failed, it takes no more.
    while let Some(chunk) = chunks.next().await? {
        if send.send(chunk).await.is_err() {
            break;
        }
    }
    drop(send);
    let gave_up = |_| Problem::new(Status::Internal, ErrorCode::Internal, "the import stopped");
    Ok(json(&reading.await.map_err(gave_up)??))
}

/// Takes in all items. Threads appear once everything was read: an export that is cut off or malformed brings none.
fn read(engine: &Engine, handle: &tokio::runtime::Handle, receive: mpsc::Receiver<Bytes>) -> Result<Imported, Refused> {
    let mut reader = ExportReader::new(BufReader::new(Incoming { receive, chunk: Bytes::new() }))?;
    let mut importer = engine.importer();
    let mut threads = HeldItems::new();
    while let Some(item) = reader.next()? {
        match item {
            ExportItem::Thread { .. } => threads.push(&item)?,
            ExportItem::Segment(_) | ExportItem::Blob(..) | ExportItem::Lost(_) | ExportItem::Entry { .. } => {
                handle.block_on(importer.push(item))?;
            }
        }
    }
    if let Some(mut threads) = threads.into_reader()? {
        while let Some(thread) = threads.next()? {
            handle.block_on(importer.push(thread))?;
        }
    }
    let known = importer.known();
    Ok(Imported { threads: handle.block_on(importer.finish())? - known, known })
}

/// Reads all items and counts the threads: those that are new here, and those that are known.
fn count(
    engine: &Engine,
    handle: &tokio::runtime::Handle,
    receive: mpsc::Receiver<Bytes>,
) -> Result<Imported, Refused> {
    let mut reader = ExportReader::new(BufReader::new(Incoming { receive, chunk: Bytes::new() }))?;
    let mut counted = Imported::default();
    while let Some(item) = reader.next()? {
        let ExportItem::Thread { id, .. } = item else { continue };
        match handle.block_on(engine.lives(id))? {
            true => counted.known += 1,
            false => counted.threads += 1,
        }
    }
    Ok(counted)
}

/// Chunks that come, as something to read from.
struct Incoming {
    receive: mpsc::Receiver<Bytes>,
    chunk: Bytes,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.receive.blocking_recv() {
                Some(chunk) => self.chunk = chunk,
                None => return Ok(0),
            }
        }
        let bytes = self.chunk.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.chunk.split_to(bytes));
        Ok(bytes)
    }
}
