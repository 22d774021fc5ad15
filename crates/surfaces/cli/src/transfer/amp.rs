//! Threads in Amp's own JSON, for `export` and `import`.

use std::io::{self, Read, Write};
use std::path::Path;

use threadkeep::{Archived, Engine, Invalid, Json, List, Message, Page, ThreadId, WayOut};
use threadkeep_calls::Imported;
use threadkeep_transcripts::{AmpSource, from_amp, to_amp};

use super::whole_file;
use crate::context::Context;
use crate::failure::{Failure, cannot_read, cannot_write};

/// The option that needs the store, as errors name it.
const AMP: &str = "--format amp";
/// Most bytes of a file of threads.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// One thread as an object; without one, all of them as an array.
pub(crate) async fn export(context: &mut Context, thread: Option<&str>, output: Option<&Path>) -> Result<(), Failure> {
    let json = match thread {
        Some(thread) => {
            let thread = context.thread(thread).await?.id;
            shown(&context.engine(AMP)?, thread).await?
        }
        None => {
            let engine = context.engine(AMP)?;
            let mut all = Vec::new();
            for thread in everything(&engine).await? {
                all.push(shown(&engine, thread).await?);
            }
            serde_json::Value::Array(all)
        }
    };
    let mut text = json.to_string();
    text.push('\n');
    match output {
        None => context.out.bytes(text.as_bytes()),
        Some(path) => {
            let shown = path.display().to_string();
            let failed = |error: io::Error| cannot_write(&shown, &error);
            whole_file(path, async |mut file| file.write_all(text.as_bytes()).map_err(failed)).await
        }
    }
}

/// A thread without secrets.
async fn shown(engine: &Engine, thread: ThreadId) -> Result<serde_json::Value, Failure> {
    let mut json = read(engine, thread).await?;
    engine.redactor(WayOut::Export, Some(thread)).await?.value(&mut json);
    Ok(json)
}

/// Every thread of the account, archived ones too.
async fn everything(engine: &Engine) -> Result<Vec<ThreadId>, Failure> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = engine.list(List { archived: Archived::Any, cursor, ..List::default() }).await?;
        all.extend(page.items.iter().map(|row| row.thread.id));
        cursor = page.next;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

async fn read(engine: &Engine, thread: ThreadId) -> Result<serde_json::Value, Failure> {
    let mut messages: Vec<Message> = Vec::new();
    let mut page = Page::first();
    loop {
        let found = engine.messages(thread, page.everything().limit(engine.limits().page_max)).await?;
        messages.extend(found.items);
        match found.next {
            Some(cursor) => page = Page::after(cursor),
            None => break,
        }
    }
    let (relationships, queued) = (engine.relationships(thread).await?, engine.queued(thread).await?);
    let thread = engine.thread(thread).await?;
    let source = AmpSource { thread: &thread, messages: &messages, relationships: &relationships, queued: &queued };
    Ok(to_amp(&source)?)
}

/// Takes in the threads of a file: one object, an array of them, or one a line. All of them, or none.
pub(crate) async fn import(context: &mut Context, path: &Path) -> Result<Imported, Failure> {
    let shown = path.display().to_string();
    let failed = |error: io::Error| cannot_read(&shown, &error);
    let mut text = String::new();
    if path.as_os_str() == "-" {
        io::stdin().lock().take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    }
    let engine = context.engine(AMP)?;
    let mut all = Vec::new();
    for json in threads(&text)? {
        all.push(from_amp(&json, engine.caller())?);
    }
    let mut importer = engine.importer();
    let mut named = Vec::new();
    for item in all.into_iter().flatten() {
        match item {
            thread @ threadkeep::ExportItem::Thread { .. } => named.push(thread),
            other => importer.push(other).await?,
        }
    }
    for thread in named {
        importer.push(thread).await?;
    }
    let known = importer.known();
    Ok(Imported { threads: importer.finish().await? - known, known })
}

/// The objects in `text`.
fn threads(text: &str) -> Result<Vec<Json>, Failure> {
    let malformed = |error: serde_json::Error| Invalid::body("file", format!("is not JSON: {error}"));
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Box<serde_json::value::RawValue>>() {
        let value = Json::parse("thread", value.map_err(malformed)?.get())?;
        if value.is_object() {
            found.push(value);
        } else {
            let many: Vec<Json> =
                value.read().map_err(|_| Invalid::body("thread", "must be a JSON object, or an array of them"))?;
            found.extend(many);
        }
    }
    if found.is_empty() {
        return Err(Invalid::body("file", "holds no thread").into());
    }
    Ok(found)
}
