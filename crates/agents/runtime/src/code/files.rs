//! The files of a thread, as code of definitions reads and writes them.

use bytes::Bytes;
use serde_json::json;
use threadkeep_calls as calls;
use threadkeep_engine::{
    DeleteFile, Engine, Error, FileContent, FileIs, Find, Grep, MakeDirectory, NewFile, RemoveDirectory,
};
use threadkeep_model::{FilePath, Invalid, Json, Position, ThreadId};
use threadkeep_sandbox::Value;

type Result<T> = std::result::Result<T, Error>;

/// Carries out one operation of ThreadState on files.
pub(super) async fn carry(engine: &Engine, thread: ThreadId, operation: &str, args: &[Value]) -> Result<Value> {
    let path = || -> Result<FilePath> { Ok(text(args, 0)?.parse()?) };
    Ok(match operation {
        "write" => {
            let bytes = match args.get(1) {
                Some(Value::String(text)) => Bytes::from(text.clone().into_bytes()),
                Some(Value::Buffer(bytes) | Value::Typed(_, bytes)) => Bytes::from(bytes.clone()),
                _ => return Err(Invalid::parameter("data", "is no text and no bytes").into()),
            };
            let mut file = NewFile::new(text(args, 0)?, FileContent::from(bytes))?;
            file.mime_type = args.get(2).and_then(Value::as_str).map(str::to_owned);
            let options = args.get(3).map(Value::to_json).unwrap_or_default();
            let size = |name: &str| options.get(name).and_then(serde_json::Value::as_u64);
            file.width = size("width").and_then(|size| u32::try_from(size).ok());
            file.height = size("height").and_then(|size| u32::try_from(size).ok());
            if let Some(metadata) = options.get("metadata").filter(|metadata| !metadata.is_null()) {
                file.metadata = Some(Json::parse("metadata", &metadata.to_string())?);
            }
            if let Some(Value::Object(fields)) = args.get(3)
                && let Some((_, Value::Buffer(bytes) | Value::Typed(_, bytes))) =
                    fields.iter().find(|(name, _)| name == "thumbnail")
            {
                file.thumbnail = Some(Bytes::from(bytes.clone()));
            }
            record(&engine.write_file(thread, file).await?)
        }
        "read" => {
            let number = |at: usize| match args.get(at) {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "out of range saturates")]
                Some(Value::Number(number)) => Some(*number as u64),
                _ => None,
            };
            let found = engine.file(thread, &path()?, number(3).map(Position)).await?;
            match found.as_ref().map(|found| &found.is) {
                Some(FileIs::File(file)) => {
                    let range = number(1).zip(number(2)).map(|(from, to)| from..to);
                    Value::Buffer(engine.file_content(file, range).await?.to_vec())
                }
                Some(FileIs::Directory) | None => Value::Null,
            }
        }
        "stat" => engine.stat(thread, &path()?, None).await?.as_ref().map_or(Value::Null, record),
        "readdir" => Value::Array(engine.readdir(thread, &path()?, None).await?.iter().map(record).collect()),
        "unlink" => engine.delete_file(thread, DeleteFile { path: path()? }).await?.into(),
        "mkdir" => {
            engine.make_directory(thread, MakeDirectory { path: path()? }).await?;
            engine.stat(thread, &path()?, None).await?.as_ref().map_or(Value::Null, record)
        }
        "rmdir" => engine.remove_directory(thread, RemoveDirectory { path: path()? }).await?.into(),
        "stats" => {
            let stats = engine.file_stats(thread, &FilePath::root(), None).await?;
            Value::from_json(&json!(stats))
        }
        "grep" => Value::from_json(&json!(engine.grep(thread, Grep::regex(text(args, 0)?)).await?.files)),
        "find" => Value::from_json(&json!(
            engine.find(thread, Find { glob: text(args, 0)?.to_owned(), limit: None, as_of: None }).await?.0
        )),
        "thumbnail" => match engine.stat(thread, &path()?, None).await? {
            Some(found) => match engine.thumbnail(&found, None).await {
                Ok((bytes, _)) => Value::Buffer(bytes.to_vec()),
                Err(Error::NoThumbnail { .. }) => Value::Null,
                Err(error) => return Err(error),
            },
            None => Value::Null,
        },
        _ => return Err(Invalid::parameter("files", "is no operation on files").into()),
    })
}

fn text(args: &[Value], at: usize) -> Result<&str> {
    let text = args.get(at).and_then(Value::as_str);
    Ok(text.ok_or_else(|| Invalid::parameter("path", "is no text"))?)
}

fn record(found: &threadkeep_engine::FileRecord) -> Value {
    Value::from_json(&json!(calls::FileRecord::from(found)))
}
