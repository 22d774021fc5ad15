//! The details of a new file: its size and hash, its MIME type, and the dimensions of a picture.

use threadkeep_model::{BlobId, Code, FileCell, FilePath, Invalid};

use super::NewFile;
use crate::ops::upload::FileContent;
use crate::{Engine, Error, Result};

/// Longest type of a file, in bytes.
const MIME_BYTES_MAX: usize = 255;
/// The MIME type of a file if no other is known.
const ANY_TYPE: &str = "application/octet-stream";

impl Engine {
    /// A new file as it is written down, if it keeps the rules.
    pub(super) fn new_cell(&self, file: &NewFile) -> Result<FileCell> {
        let limits = &self.shared.limits;
        if file.path.is_root() {
            return Err(Error::IsADirectory { path: file.path.clone() });
        }
        if file.content.size() > limits.file_bytes_max as u64 {
            let rule = format!("a file has at most {} bytes", limits.file_bytes_max);
            return Err(Invalid::new(Code::TooLarge, "content", rule).into());
        }
        if file.thumbnail.as_ref().is_some_and(|thumbnail| thumbnail.len() > limits.message_bytes_max) {
            let rule = format!("has at most {} bytes", limits.message_bytes_max);
            return Err(Invalid::new(Code::TooLarge, "thumbnail", rule).into());
        }
        if file.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
            return Err(Invalid::body("metadata", "must be a JSON object").into());
        }
        let mime_type = match &file.mime_type {
            Some(said)
                if said.len() > MIME_BYTES_MAX || said.chars().any(char::is_control) || said.trim().is_empty() =>
            {
                let rule = format!("has 1 to {MIME_BYTES_MAX} bytes and no control characters");
                return Err(Invalid::parameter("Content-Type", rule).into());
            }
            Some(said) => said.clone(),
            None => guessed(&file.path, &file.content).to_owned(),
        };
        let picture = threadkeep_tree::image::probe(file.content.head());
        Ok(FileCell {
            hash: file.content.hash(),
            size: file.content.size(),
            mime_type,
            created: None,
            width: file.width.or(picture.map(|picture| picture.width)),
            height: file.height.or(picture.map(|picture| picture.height)),
            thumbnail: file.thumbnail.as_ref().map(|bytes| BlobId::of(bytes)),
            metadata: file.metadata.clone(),
        })
    }
}

/// The MIME type of a file, guessed from its name and content.
fn guessed(path: &FilePath, content: &FileContent) -> &'static str {
    let ending = path.name().rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ending.as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        _ if content.is_utf8_text() => "text/plain",
        _ => ANY_TYPE,
    }
}
