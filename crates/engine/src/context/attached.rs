//! Files that messages bring along: text files become text, pictures stay pictures, and of all else the model is told
//! that it is there.
//!
//! An attachment is known by its hash, so a message says the same for ever. A part that names a file of the thread says
//! what that file holds at the version that is read.

use bytes::Bytes;
use threadkeep_model::{Attachment, BlobId, Content, MessageBody, MessageId, Part, Thread, ThreadId, Version};
use threadkeep_store::BoxFuture;
use threadkeep_tree::image;

use crate::ground::policy::Verb;
use crate::{Engine, Error, FileRecord, Result};

/// A text file up to this size is given whole. Of a longer one, the beginning and the end are.
const TEXT_BYTES_MAX: u64 = 256 << 10;
/// The largest picture that every provider accepts.
const PICTURE_BYTES_MAX: u64 = 5 << 20;
/// The longest edge of a picture that every provider accepts, in pixels.
const PICTURE_EDGE_MAX: u32 = 8_000;

/// A picture of a message, for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Picture {
    /// A PNG, JPEG, GIF or WebP, as its bytes say.
    Given {
        /// The media type.
        mime_type: &'static str,
        /// The file.
        bytes: Bytes,
    },
    /// A line for the model that says why it gets none.
    NotGiven(String),
}

/// A file that a part of a message names.
struct Named {
    hash: BlobId,
    size: u64,
    mime_type: String,
}

impl Named {
    fn of(attachment: &Attachment) -> Self {
        let Attachment { id, size, mime_type, .. } = attachment;
        Self { hash: *id, size: *size, mime_type: mime_type.clone() }
    }
}

impl Engine {
    /// Puts the files of a message into its content. Says whether the content is the same at every version.
    pub(super) async fn with_files(&self, thread: &Thread, version: Version, body: &mut MessageBody) -> Result<bool> {
        let mut parts = body.content.to_parts();
        let is_file = |part: &Part| matches!(part, Part::File { .. });
        if body.attachments.is_empty() && !parts.iter().any(is_file) {
            return Ok(true);
        }
        let unnamed: Vec<Part> =
            body.attachments.iter().filter(|one| !parts.iter().any(|part| names(part, one))).map(part_of).collect();
        parts.extend(unnamed);
        let mut is_pinned = true;
        for part in &mut parts {
            let Part::File { path, mime_type, name } = part else { continue };
            let shown = name.clone().unwrap_or_else(|| path.clone());
            let found = match body.attachments.iter().find(|one| is_at(one, path)) {
                Some(attachment) => Some(Named::of(attachment)),
                None => {
                    is_pinned = false;
                    self.file_of_thread(thread.id, path, version).await?
                }
            };
            let text = match found {
                Some(file) => self.as_text(&shown, &file).await?,
                None => format!("[file {shown} ({mime_type}): it is not among the files of the thread]"),
            };
            *part = Part::Text { text };
        }
        body.content = Content::parts(&parts)?;
        Ok(is_pinned)
    }

    /// The picture that a part of a message names, among the attachments of the message or the files of the thread.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::VersionInFuture`].
    pub fn picture<'a>(
        &'a self,
        thread: ThreadId,
        message: Option<MessageId>,
        (path, name): (&'a str, Option<&'a str>),
        as_of: Version,
    ) -> BoxFuture<'a, Result<Picture>> {
        Box::pin(async move {
            let attached = match message {
                Some(message) => match self.message(thread, message, Some(as_of)).await {
                    Ok(message) => message.body()?.attachments,
                    Err(Error::MessageNotFound { .. }) => Vec::new(),
                    Err(error) => return Err(error),
                },
                None => Vec::new(),
            };
            let found = match attached.iter().find(|one| is_at(one, path)) {
                Some(attachment) => Some(Named::of(attachment)),
                None => self.file_of_thread(thread, path, as_of).await?,
            };
            let not = |why: &str| Ok(Picture::NotGiven(format!("[picture {}: {why}]", name.unwrap_or(path))));
            let Some(file) = found else { return not("it is not among the files of the thread") };
            if file.size > PICTURE_BYTES_MAX {
                return not("it is larger than 5 MiB, which providers refuse");
            }
            let bytes = self.content(file.hash, None).await?;
            let Some(probe) = image::probe(&bytes) else {
                return not(&format!("{} is no PNG, JPEG, GIF or WebP", file.mime_type));
            };
            if probe.width.max(probe.height) > PICTURE_EDGE_MAX {
                return not("it is larger than 8,000 pixels, which providers refuse");
            }
            Ok(Picture::Given { mime_type: probe.format.media_type(), bytes })
        })
    }

    async fn file_of_thread(&self, thread: ThreadId, path: &str, version: Version) -> Result<Option<Named>> {
        let Ok(path) = path.parse() else { return Ok(None) };
        let head = self.head(thread, Verb::ReadFile).await?;
        let view = self.view(thread, &head, Some(version)).await?;
        let found = self.stat_in(&view, &path).await?;
        Ok(found.as_ref().and_then(FileRecord::file).map(|file| Named {
            hash: file.hash,
            size: file.size,
            mime_type: file.mime_type.clone(),
        }))
    }

    /// A file as text for a model.
    async fn as_text(&self, name: &str, file: &Named) -> Result<String> {
        let Named { hash, size, mime_type } = file;
        let told = format!("[file {name} ({mime_type}, {size} bytes): it is no text, so its content is not given]");
        if !may_be_text(mime_type) {
            return Ok(told);
        }
        let read = if *size <= TEXT_BYTES_MAX {
            String::from_utf8(self.content(*hash, None).await?.to_vec()).ok()
        } else {
            let half = TEXT_BYTES_MAX / 2;
            let begin = self.content(*hash, Some(0..half)).await?;
            let end = self.content(*hash, Some(size - half..*size)).await?;
            let gone = size - TEXT_BYTES_MAX;
            beginning(&begin).zip(ending(&end)).map(|(begin, end)| format!("{begin}[… {gone} bytes left out …]{end}"))
        };
        Ok(match read.filter(|text| !text.contains('\0')) {
            Some(text) => format!("[file {name}]\n{text}\n[end of file {name}]"),
            None => told,
        })
    }
}

/// The text at the beginning of a file that was cut somewhere.
fn beginning(bytes: &[u8]) -> Option<&str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok(),
        Err(_) => None,
    }
}

/// The text at the end of a file that was cut somewhere: at most 3 bytes of a character are left of it.
fn ending(bytes: &[u8]) -> Option<&str> {
    (0..4.min(bytes.len())).find_map(|from| std::str::from_utf8(&bytes[from..]).ok())
}

fn may_be_text(mime_type: &str) -> bool {
    let media = mime_type.split(';').next().unwrap_or_default().trim();
    let binary = ["image/", "audio/", "video/", "font/"].iter().any(|kind| media.starts_with(kind));
    media == "image/svg+xml" || !(binary || media == "application/pdf" || media == "application/zip")
}

/// Whether a part of a message names its attachment.
fn names(part: &Part, attachment: &Attachment) -> bool {
    match part {
        Part::Image { path, .. } | Part::File { path, .. } => is_at(attachment, path),
        Part::Text { .. } | Part::ToolUse { .. } | Part::ToolResult { .. } | Part::Thinking { .. } => false,
    }
}

fn is_at(attachment: &Attachment, path: &str) -> bool {
    attachment.name == path || attachment.path.as_ref().is_some_and(|at| at.as_str() == path)
}

fn part_of(attachment: &Attachment) -> Part {
    let Attachment { name, mime_type, path, .. } = attachment;
    let at = path.as_ref().map_or_else(|| name.clone(), ToString::to_string);
    let (mime_type, name) = (mime_type.clone(), Some(name.clone()));
    if mime_type.starts_with("image/") && !may_be_text(&mime_type) {
        Part::Image { path: at, mime_type, name }
    } else {
        Part::File { path: at, mime_type, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_cut_in_a_character_is_still_text() {
        let text = "aüb";
        assert_eq!(beginning(&text.as_bytes()[..2]), Some("a"));
        assert_eq!(ending(&text.as_bytes()[2..]), Some("b"));
        assert_eq!(beginning(&[0xff, b'a']), None);
    }

    #[test]
    fn media_types_tell_what_may_be_text() {
        for (mime_type, is_text) in [
            ("text/plain; charset=utf-8", true),
            ("application/json", true),
            ("application/octet-stream", true),
            ("image/svg+xml", true),
            ("image/png", false),
            ("application/pdf", false),
        ] {
            assert_eq!(may_be_text(mime_type), is_text, "{mime_type}");
        }
    }
}
