//! Files: written, read, moved, deleted. Their content is next door, in `content`, and lists of them in
//! `file_list`.

use axum::body::Body;
use axum::http::Method;
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use threadkeep::{
    DeleteFile, Error, FilePath, FileRecord, FileVersion, Invalid, MakeDirectory, MoveFile, NewFile, Over, Position,
    RemoveDirectory, Standing, Thread, Verb, Version, WriteFiles, cursor, place,
};
use threadkeep_calls as api;
use threadkeep_calls::ErrorCode;

use super::content::{content, harmless};
use super::file_list::{Whole, whole};
use super::page_limit;
use crate::access::{Reader, Writing};
use crate::answer::{Answer, at_version, created, json};
use crate::conditions::{Conditions, IfNoneMatch};
use crate::input::{Content, Flag, Path, Query};
use crate::ranges::Wanted;
use crate::table::{self, Gives, Routes};

/// The media type of differences.
const DIFF: &str = "text/x-diff";
const WHOLE: &str = "/v1/threads/{thread}/files";
const ONE: &str = "/v1/threads/{thread}/files/{*path}";

pub(crate) fn routes() -> Routes {
    Routes::new(
        "Files and values",
        "The files and values of a thread. Every write makes a new version, and every version stays readable.",
        [
            table::get(
                ("listFiles", WHOLE),
                "Lists all files or a directory (`list`), counts them (`stats`), or searches them by name (`find`) or by line (`grep`).",
                whole,
                Gives::json::<Whole>("A page of files and directories; or what was asked for instead.").versioned(),
            )
            .fails([ErrorCode::InvalidCursor, ErrorCode::VersionInFuture, ErrorCode::PathEscapesRoot]),
            table::get(
                ("readFile", ONE),
                "Reads a file, whole or in part, now or at a version. Also its record (`stat`), the entries of a directory (`list`), its `versions`, its changes (`diff`) and a `thumbnail`.",
                read,
                Gives::content(200, "The content, with the type it was written with and its hash in `ETag`;"),
            )
            .gives(Gives::text(DIFF, "or the difference,"))
            .gives(Gives::json::<One>("or what was asked for instead."))
            .gives(Gives::content(206, "The part that was asked for, as `Content-Range` says."))
            .gives(Gives::nothing(304, "The client has it already."))
            .fails([
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::NoThumbnail,
                ErrorCode::VersionInFuture,
            ]),
            table::put(
                ("writeFile", ONE),
                "Writes a file: a new one, or a new version. `Threadkeep-Thumbnail` may bring a thumbnail, as base64.",
                write,
                Gives::created::<api::FileRecord>("The new file.").versioned(),
            )
            .gives(Gives::json::<api::FileRecord>("The new version of a file.").versioned())
            .fails([
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::QuotaExceeded,
                ErrorCode::ThreadClosed,
                ErrorCode::ApprovalRequired,
            ]),
            table::post(
                ("changeTree", ONE),
                "Makes a directory (`mkdir`), or moves a file or directory (`moveTo`).",
                change,
                Gives::created::<api::FileRecord>("The directory, which is new;").versioned(),
            )
            .gives(Gives::json::<Changed>("The directory, which was there already; or what the move did."))
            .fails([
                ErrorCode::FileNotFound,
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::ThreadClosed,
                ErrorCode::ApprovalRequired,
                ErrorCode::TooLarge,
            ]),
            table::delete(
                ("deleteFile", ONE),
                "Deletes a file, or an empty directory (`rmdir`); earlier versions still show it.",
                delete,
                Gives::json::<api::Deleted>("Whether there was one."),
            )
            .fails([
                ErrorCode::IsADirectory,
                ErrorCode::NotADirectory,
                ErrorCode::DirectoryNotEmpty,
                ErrorCode::ThreadClosed,
                ErrorCode::ApprovalRequired,
            ]),
        ],
    )
}

/// Answers about one path.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "never built: it describes the answer")]
enum One {
    /// With `stat`.
    Record(api::FileRecord),
    /// With `list`.
    Directory(api::Directory),
    /// With `versions`.
    Versions(api::Page<api::FileVersion>),
}

/// What a change of the tree answers with.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "never built: it describes the answer")]
enum Changed {
    /// With `mkdir`.
    Directory(api::FileRecord),
    /// With `moveTo`.
    Moved(api::Moved),
}

/// Refuses more than one of these.
pub(super) fn one_of(asked: &[(&str, bool)]) -> Result<(), Invalid> {
    let named: Vec<&str> = asked.iter().filter(|(_, is)| *is).map(|(name, _)| *name).collect();
    match named[..] {
        [] | [_] => Ok(()),
        [first, ..] => Err(Invalid::parameter(first, format!("stands with others: ask one of {}", named.join(", ")))),
    }
}

/// The entries of a directory.
pub(super) fn directory(found: &[FileRecord]) -> api::Directory {
    api::Directory { entries: found.iter().map(api::FileRecord::from).collect() }
}

/// What to read of a path.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Reading {
    /// The record of the file or directory, without its content.
    stat: Flag,
    /// What is directly in the directory.
    list: Flag,
    /// Its versions with their authors and times, newest first.
    versions: Flag,
    /// The changes since this version, as a unified diff.
    diff: Option<Version>,
    /// A thumbnail whose longer edge has at most this many pixels (default 256).
    #[schemars(with = "Option<u32>", range(min = 1, max = 2_048))]
    thumbnail: Option<String>,
    /// The file that was written with exactly this version.
    version: Option<Version>,
    /// As the thread was at this version.
    as_of: Option<Version>,
    /// Maximum number of versions.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// The `nextCursor` of the previous page of versions.
    cursor: Option<String>,
}

impl Reading {
    fn check(&self) -> Result<(), Invalid> {
        one_of(&[
            ("stat", self.stat.0),
            ("list", self.list.0),
            ("versions", self.versions.0),
            ("diff", self.diff.is_some()),
            ("thumbnail", self.thumbnail.is_some()),
        ])?;
        one_of(&[("version", self.version.is_some()), ("asOf", self.as_of.is_some())])?;
        if self.version.is_some() && (self.list.0 || self.versions.0 || self.diff.is_some()) {
            return Err(Invalid::parameter("version", "names one file; here it is asOf"));
        }
        if !self.versions.0 && (self.limit.is_some() || self.cursor.is_some()) {
            return Err(Invalid::parameter("limit", "goes with versions"));
        }
        Ok(())
    }

    /// The longest edge of a small picture, if it was said.
    fn edge(&self) -> Result<Option<u32>, Invalid> {
        let said = self.thumbnail.as_deref().filter(|edge| !edge.is_empty());
        let read = said.map(|edge| edge.parse().ok().filter(|edge| (1..=2_048).contains(edge)));
        match read {
            None => Ok(None),
            Some(Some(edge)) => Ok(Some(edge)),
            Some(None) => Err(Invalid::parameter("thumbnail", "is 1 to 2048 pixels")),
        }
    }
}

async fn read(
    reader: Reader,
    method: Method,
    Path((name, path)): Path<(String, String)>,
    Query(which): Query<Reading>,
    known: IfNoneMatch,
    wanted: Wanted,
) -> Answer {
    let path: FilePath = path.parse()?;
    which.check()?;
    let edge = which.edge()?;
    let (thread, standing) = reader.seen(&name, Verb::ReadFile).await?;
    let engine = &reader.engine;
    if which.list.0 {
        return Ok(json(&directory(&engine.readdir(thread.id, &path, which.as_of).await?)));
    }
    if which.versions.0 {
        return versions(&reader, &thread, standing, &path, &which).await;
    }
    if let Some(from) = which.diff {
        let told = engine.file_diff(thread.id, &path, from, which.as_of).await?;
        let mut response = Response::new(Body::from(told));
        harmless(response.headers_mut(), "text/x-diff; charset=utf-8", &format!("{}.diff", path.name()));
        return Ok(response);
    }
    let missing = || Error::FileNotFound { path: path.clone() };
    let found = engine.stat(thread.id, &path, which.version.or(which.as_of)).await?;
    let is_meant = |found: &FileRecord| which.version.is_none_or(|version| found.version == Some(version));
    let found = found.filter(is_meant).ok_or_else(missing)?;
    if which.stat.0 {
        return Ok(json(&api::FileRecord::from(&found)));
    }
    if which.thumbnail.is_some() {
        let (bytes, media) = engine.thumbnail(&found, edge).await?;
        let mut response = Response::new(Body::from(bytes));
        harmless(response.headers_mut(), media, found.path.name());
        return Ok(response);
    }
    content(engine, &method, &found, &known, &wanted).await
}

async fn versions(reader: &Reader, thread: &Thread, standing: Standing, path: &FilePath, which: &Reading) -> Answer {
    let limit = page_limit(&reader.engine, which.limit)?;
    let list = ("versions", thread.id, path, which.as_of);
    let as_of = match which.cursor.as_deref() {
        Some(cursor) => Some(place::<String>(&list, cursor, None)?.0),
        None => which.as_of,
    };
    let found = reader.engine.file_versions(thread.id, path, as_of, Some(limit)).await?;
    let next = found.last().filter(|_| found.len() == limit).map(|last| last.version.0 - 1).filter(|next| *next > 0);
    let told = |version: &FileVersion| {
        let mut told = api::FileVersion::from(version);
        if standing == Standing::Visitor {
            told.actor.name.clear();
        }
        told
    };
    let items: Vec<_> = found.iter().map(told).collect();
    Ok(json(&api::Page::new(items, next.map(|next| cursor(list, Position(next), "")), None)))
}

/// What else is said of a new file.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct About {
    /// The width of an image, in pixels, where it is no PNG, JPEG, GIF or WebP.
    width: Option<u32>,
    /// The height of an image, in pixels.
    height: Option<u32>,
}

async fn write(
    Writing(access): Writing,
    Path((name, path)): Path<(String, String)>,
    Query(about): Query<About>,
    conditions: Conditions,
    known: IfNoneMatch,
    mut sent: Content,
) -> Answer {
    let path: FilePath = path.parse()?;
    let thread = access.thread(&name).await?;
    let engine = &access.engine;
    let limits = *engine.limits();
    // A file that cannot be kept is not read either.
    let (used, more) = (thread.head.tally.work.written, sent.announced().unwrap_or(0));
    if more <= limits.file_bytes_max as u64 && used.saturating_add(more) > limits.files_bytes_max {
        return Err(Error::QuotaExceeded { used, more, max: limits.files_bytes_max }.into());
    }
    let (mime_type, metadata, thumbnail) = (sent.mime_type.take(), sent.metadata.take(), sent.thumbnail.take());
    let content = sent.upload(engine).await?;
    let About { width, height } = about;
    let file = NewFile { path, content, mime_type, metadata, width, height, thumbnail };
    let over = if known.is_any() { Over::Nothing } else { Over::Anything };
    let written = engine.write_files(conditions.at(thread.id), WriteFiles { files: vec![file], over }).await?;
    let missing = || Invalid::body("files", "must name at least one path");
    let record = written.first().ok_or_else(missing)?;
    let told = api::FileRecord::from(record);
    // Only a new file came to be with this very version.
    let is_new = record.file().is_some_and(|file| file.created.is_none());
    let response = if is_new { created(&told) } else { json(&told) };
    Ok(at_version(record.version.unwrap_or(thread.head.version), response))
}

/// How the tree changes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Changing {
    /// Makes a directory, and those above it.
    mkdir: Flag,
    /// Moves it there; a file that is there gets a new version.
    #[schemars(with = "Option<FilePath>")]
    move_to: Option<String>,
}

async fn change(
    Writing(access): Writing,
    Path((name, path)): Path<(String, String)>,
    Query(asked): Query<Changing>,
    conditions: Conditions,
) -> Answer {
    let path: FilePath = path.parse()?;
    let thread = access.thread(&name).await?;
    let engine = &access.engine;
    let at = conditions.at(thread.id);
    match (asked.mkdir.0, asked.move_to) {
        (true, None) => {
            let is_new = engine.make_directory(at, MakeDirectory { path: path.clone() }).await?;
            let made = engine.stat(thread.id, &path, None).await?.ok_or(Error::FileNotFound { path })?;
            let told = api::FileRecord::from(&made);
            let response = if is_new { created(&told) } else { json(&told) };
            Ok(at_version(made.version.unwrap_or(thread.head.version), response))
        }
        (false, Some(to)) => {
            let to: FilePath = to.parse()?;
            let files = engine.move_file(at, MoveFile { from: path, to: to.clone() }).await?;
            Ok(json(&api::Moved { path: to, files: files as u64 }))
        }
        _ => Err(Invalid::parameter("mkdir", "say one of ?mkdir and ?moveTo=PATH").into()),
    }
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Deleting {
    /// An empty directory, and not a file.
    rmdir: Flag,
}

async fn delete(
    Writing(access): Writing,
    Path((name, path)): Path<(String, String)>,
    Query(asked): Query<Deleting>,
    conditions: Conditions,
) -> Answer {
    let path: FilePath = path.parse()?;
    let thread = access.thread(&name).await?;
    let engine = &access.engine;
    let at = conditions.at(thread.id);
    let deleted = if asked.rmdir.0 {
        engine.remove_directory(at, RemoveDirectory { path }).await?
    } else {
        engine.delete_file(at, DeleteFile { path }).await?
    };
    Ok(json(&api::Deleted { deleted }))
}
