//! Files that go from one thread to another with a message.
//!
//! The receiver gets them below `/attachments`, in the commit that brings the message, and the message names them by
//! the paths that are valid there. Content is shared by its hash: nothing is copied but the entry that says so.

use std::collections::BTreeMap;

use threadkeep_model::{
    Attachment, Code, DiffStats, Entry, FileCell, FileChange, FilePath, FilesChanged, Invalid, MessageBody, Space,
    Tally, ThreadId, Version,
};

use crate::files::{FileRecord, record};
use crate::ground::view::View;
use crate::{Engine, Error, Result};

/// Most files that go with one message.
const ATTACHED_MAX: usize = 100;
/// How many files of one name, numbered, a thread may have received.
const SAME_NAME_MAX: usize = 10_000;
/// How many names are looked at in the first read for one that is free.
const LOOKED_AT_FIRST: usize = 8;
/// Where files that were received lie.
const RECEIVED_AT: &str = "/attachments";

/// Whether a path is one at which received files lie.
pub(crate) fn is_received_at(path: &FilePath) -> bool {
    path.as_str().strip_prefix(RECEIVED_AT).is_some_and(|rest| rest.starts_with('/'))
}

/// A file that is to go to another thread.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// Where it is with its sender.
    path: FilePath,
    file: FileCell,
}

/// Files that a thread is to get.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    /// The same files in the order in which they were sent, by their paths with the receiver.
    pub(crate) attachments: Vec<Attachment>,
    moved: BTreeMap<FilePath, FilePath>,
    changes: Vec<FileChange>,
    stats: DiffStats,
}

impl Received {
    /// The entry for the receiver; none if it has all of them already.
    pub(crate) fn told(&self) -> Option<Entry> {
        let changed = FilesChanged { changes: self.changes.clone(), stats: self.stats, restored: None };
        (!self.changes.is_empty()).then_some(Entry::FilesChanged(changed))
    }

    /// `message` with the paths that are valid for its receiver, in place of its sender's.
    pub(crate) fn repoint(&self, message: &mut MessageBody) -> Result<(), Invalid> {
        let moved = |path: &str| self.moved.get(&path.parse().ok()?).map(ToString::to_string);
        message.content = message.content.with_paths(moved)?;
        Ok(())
    }
}

impl Engine {
    /// The files that `sender` shows at `paths`, if the caller may read them.
    pub(crate) async fn sent_files(
        &self,
        sender: ThreadId,
        paths: &[FilePath],
        as_of: Option<Version>,
    ) -> Result<Vec<Sent>> {
        if paths.len() > ATTACHED_MAX {
            let rule = format!("names at most {ATTACHED_MAX} files");
            return Err(Invalid::new(Code::TooLarge, "attachments", rule).into());
        }
        let mut sent = Vec::with_capacity(paths.len());
        for path in paths {
            let found = self.file(sender, path, as_of).await?;
            let Some(file) = found.as_ref().and_then(FileRecord::file) else {
                return Err(Error::FileNotFound { path: path.clone() });
            };
            sent.push(Sent { path: path.clone(), file: file.clone() });
        }
        Ok(sent)
    }

    /// Where these files go in a thread with this `view`, or that is not born yet, and this `tally`.
    pub(crate) async fn receive(&self, view: Option<&View>, tally: &Tally, sent: &[Sent]) -> Result<Received> {
        let mut received = Received::default();
        if let Some(view) = view
            && !sent.is_empty()
        {
            self.refuse_blocked(view, &format!("{RECEIVED_AT}/x").parse()?).await?;
        }
        let mut bytes = 0;
        for Sent { path, file } in sent {
            let place = self.place_for(view, &received.changes, path.name(), file).await?;
            let at = match place {
                Place::Same(at) => at,
                Place::Free(at) => {
                    bytes += file.size;
                    received.stats = received.stats.plus(self.stats_of_write(None, file, None).await?);
                    let file = FileCell { created: None, ..file.clone() };
                    received.changes.push(FileChange::Write { path: at.clone(), file });
                    at
                }
            };
            received.attachments.push(Attachment {
                id: file.hash,
                name: at.name().to_owned(),
                mime_type: file.mime_type.clone(),
                size: file.size,
                path: Some(at.clone()),
            });
            received.moved.insert(path.clone(), at);
        }
        if !received.changes.is_empty() {
            self.check_quota(tally, bytes)?;
        }
        Ok(received)
    }

    /// Where a file called `name` goes: where the same content lies under that name, or the first free place.
    async fn place_for(
        &self,
        view: Option<&View>,
        beside: &[FileChange],
        name: &str,
        file: &FileCell,
    ) -> Result<Place> {
        let (mut number, mut step) = (1, LOOKED_AT_FIRST);
        while number <= SAME_NAME_MAX {
            let places = (number..number + step).map(|number| numbered(name, number).parse());
            let places: Vec<FilePath> = places.collect::<Result<_, Invalid>>()?;
            let names = places.iter().map(ToString::to_string).collect();
            let found = match view {
                Some(view) => self.cells_of(view, Space::Files, names).await?,
                None => BTreeMap::new(),
            };
            for at in places {
                let there = found.get(at.as_str()).map(record).transpose()?.flatten();
                let written = beside.iter().find_map(|change| match change {
                    FileChange::Write { path, file } if *path == at => Some(file),
                    _ => None,
                });
                match (written.or(there.as_ref().and_then(FileRecord::file)), &there) {
                    (Some(taken), _) if taken.hash == file.hash => return Ok(Place::Same(at)),
                    (Some(_), _) | (None, Some(_)) => {}
                    (None, None) => {
                        // A directory that was not made explicitly has no cell of its own.
                        let holds = match view {
                            Some(view) => self.holds_something(view, &at).await?,
                            None => false,
                        };
                        if !holds {
                            return Ok(Place::Free(at));
                        }
                    }
                }
            }
            (number, step) = (number + step, 2 * step);
        }
        let rule = format!("{name} was received {SAME_NAME_MAX} times: remove some of them below {RECEIVED_AT}");
        Err(Invalid::body("attachments", rule).into())
    }
}

/// Where a file goes.
enum Place {
    /// The same content is there already.
    Same(FilePath),
    Free(FilePath),
}

/// The path of the file that is the `number`th to be received as `name`: `/attachments/a.txt`, `/attachments/a-2.txt`.
fn numbered(name: &str, number: usize) -> String {
    if number == 1 {
        return format!("{RECEIVED_AT}/{name}");
    }
    // A name that begins with its only dot has no ending.
    let dot = name.rfind('.').filter(|at| *at > 0).unwrap_or(name.len());
    let (stem, ending) = name.split_at(dot);
    let ending = format!("-{number}{ending}");
    let room = FilePath::NAME_BYTES_MAX.saturating_sub(ending.len());
    format!("{RECEIVED_AT}/{}{ending}", &stem[..stem.floor_char_boundary(room)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number_before_its_ending() {
        assert_eq!(numbered("a.tar.gz", 1), "/attachments/a.tar.gz");
        assert_eq!(numbered("a.tar.gz", 2), "/attachments/a.tar-2.gz");
        assert_eq!(numbered("Makefile", 3), "/attachments/Makefile-3");
        assert_eq!(numbered(".env", 2), "/attachments/.env-2");
        let long = format!("{}.txt", "é".repeat(125));
        let path: FilePath = numbered(&long, 12).parse().expect("a path");
        assert!(path.name().ends_with("é-12.txt") && path.name().len() <= FilePath::NAME_BYTES_MAX, "{path}");
    }
}
