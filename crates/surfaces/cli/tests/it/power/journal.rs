//! The disk operations of a process, as recorded by `recorder.c`, and the disk that a power cut would leave.
//!
//! The model is the one that POSIX promises, and no better: bytes written to a file are safe once a sync of that
//! file that began later has ended, and an entry of a folder is safe once the same is true of the folder. Until
//! then it may be there, in part or whole, or not.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use crate::support::Chance;

/// A file or a folder, told from others that had the same inode before it.
type FileId = u64;

/// Writes are torn at blocks of these sizes.
const BLOCK_BYTES: [usize; 2] = [512, 4_096];
const HEAD_BYTES: usize = 24;

#[derive(Debug, Clone)]
pub enum Step {
    Wrote {
        file: FileId,
        at: usize,
        bytes: Vec<u8>,
    },
    Truncated {
        file: FileId,
        size: usize,
    },
    /// A name in a folder stands for this from now on.
    Named {
        folder: FileId,
        path: String,
        file: FileId,
    },
    Unnamed {
        folder: FileId,
        path: String,
    },
    SyncBegan {
        file: FileId,
        number: u64,
    },
    SyncEnded {
        file: FileId,
        number: u64,
    },
    /// Bytes were sent to a client or printed.
    Said(Vec<u8>),
}

/// Everything that happened, in order.
pub struct Journal {
    pub steps: Vec<Step>,
}

impl Journal {
    /// Reads what was recorded of files below the folder with the inode `root`.
    pub fn read(path: &Path, root: u64) -> Self {
        let recorded = std::fs::read(path).expect("a journal");
        let mut rest = &recorded[..];
        // Inodes are used again: a name that is new gives a new identity.
        let mut known: BTreeMap<u64, FileId> = BTreeMap::from([(root, 0)]);
        let mut last: FileId = 0;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let number = |from: usize| u64::from_ne_bytes(rest[from..from + 8].try_into().expect("eight bytes"));
            let half = |from: usize| u32::from_ne_bytes(rest[from..from + 4].try_into().expect("four bytes"));
            let kind = char::from_u32(half(0)).expect("a kind");
            let (count, inode, number) = (half(4) as usize, number(8), number(16));
            let bytes = &rest[HEAD_BYTES..HEAD_BYTES + count];
            rest = &rest[HEAD_BYTES + count..];
            let path = || String::from_utf8(bytes.to_vec()).expect("a path");
            let mut id = |inode: u64, is_new: bool| {
                if is_new || !known.contains_key(&inode) {
                    last += 1;
                    known.insert(inode, last);
                }
                known[&inode]
            };
            steps.push(match kind {
                'w' => Step::Wrote { file: id(inode, false), at: number as usize, bytes: bytes.to_vec() },
                't' => Step::Truncated { file: id(inode, false), size: number as usize },
                'c' | 'm' => Step::Named { folder: id(inode, false), path: path(), file: id(number, true) },
                'l' => Step::Named { folder: id(inode, false), path: path(), file: id(number, false) },
                'u' => Step::Unnamed { folder: id(inode, false), path: path() },
                'b' => Step::SyncBegan { file: id(inode, false), number },
                'e' => Step::SyncEnded { file: id(inode, false), number },
                'a' => Step::Said(bytes.to_vec()),
                other => panic!("no such kind: {other}"),
            });
        }
        Self { steps }
    }
}

/// The part of unsynced data that a power cut leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    Nothing,
    /// Of each write any of its blocks; of each folder the first so many changes.
    Something,
    Everything,
}

/// A disk, at some moment.
#[derive(Default)]
pub struct Disk {
    files: BTreeMap<FileId, Contents>,
    folders: BTreeMap<FileId, Names>,
    /// Syncs that began: how many steps there were so far.
    began: BTreeMap<u64, usize>,
}

/// The synced content of a file, and the operations on it since.
#[derive(Default)]
struct Contents {
    safe: Vec<u8>,
    pending: Vec<Step>,
    /// How many steps became safe so far.
    done: usize,
}

#[derive(Default)]
struct Names {
    safe: BTreeMap<String, FileId>,
    pending: Vec<Step>,
    done: usize,
}

impl Disk {
    /// The next step is made.
    pub fn make(&mut self, step: &Step) {
        match step {
            Step::Wrote { file, .. } | Step::Truncated { file, .. } => {
                self.files.entry(*file).or_default().pending.push(step.clone());
            }
            Step::Named { folder, .. } | Step::Unnamed { folder, .. } => {
                self.folders.entry(*folder).or_default().pending.push(step.clone());
            }
            Step::SyncBegan { file, number } => {
                let (file, folder) = (self.files.get(file), self.folders.get(file));
                let so_far = file.map(|file| file.done + file.pending.len());
                let so_far = so_far.or(folder.map(|folder| folder.done + folder.pending.len()));
                self.began.insert(*number, so_far.unwrap_or(0));
            }
            Step::SyncEnded { file, number } => {
                // Another sync may have ended in between.
                let began = self.began.remove(number).unwrap_or(0);
                if let Some(file) = self.files.get_mut(file) {
                    let safe = file.pending.drain(..began.saturating_sub(file.done));
                    file.done += safe.map(|step| apply(&mut file.safe, &step)).count();
                } else if let Some(folder) = self.folders.get_mut(file) {
                    let safe = folder.pending.drain(..began.saturating_sub(folder.done));
                    folder.done += safe.map(|step| name(&mut folder.safe, &step)).count();
                }
            }
            Step::Said(_) => {}
        }
    }

    /// Makes the folder `at` what a power cut would leave at this moment.
    pub fn leave(&self, at: &Path, leaves: Leaves, chance: &mut Chance) {
        std::fs::create_dir_all(at).expect("a folder");
        self.leave_folder(0, at, leaves, chance);
    }

    fn leave_folder(&self, folder: FileId, at: &Path, leaves: Leaves, chance: &mut Chance) {
        let Some(names) = self.folders.get(&folder) else { return };
        let mut left = names.safe.clone();
        let kept = match leaves {
            Leaves::Nothing => 0,
            Leaves::Something => chance.below(names.pending.len() as u64 + 1) as usize,
            Leaves::Everything => names.pending.len(),
        };
        names.pending[..kept].iter().for_each(|step| name(&mut left, step));
        for (path, file) in left {
            let place = at.join(Path::new(&path).file_name().expect("a name"));
            // Shared memory is useless after a cut; it may hold anything.
            if path.ends_with("-shm") {
                if leaves == Leaves::Something {
                    let noise: Vec<u8> = (0..32_768).map(|_| chance.below(256) as u8).collect();
                    std::fs::write(place, noise).expect("a file");
                }
            } else if self.folders.contains_key(&file) || is_folder(&path) {
                std::fs::create_dir_all(&place).expect("a folder");
                self.leave_folder(file, &place, leaves, chance);
            } else {
                // A file has its mode from the moment it exists.
                let made = threadkeep::private::new_file(&place);
                let written = made.and_then(|mut made| made.write_all(&self.contents(file, leaves, chance)));
                written.expect("a file");
            }
        }
    }

    fn contents(&self, file: FileId, leaves: Leaves, chance: &mut Chance) -> Vec<u8> {
        let Some(contents) = self.files.get(&file) else { return Vec::new() };
        let mut left = contents.safe.clone();
        for step in &contents.pending {
            match (leaves, step) {
                (Leaves::Nothing, _) => {}
                (Leaves::Everything, step) => apply(&mut left, step),
                (Leaves::Something, Step::Wrote { file, at, bytes }) => {
                    let block = BLOCK_BYTES[chance.below(2) as usize];
                    // Blocks lie where the disk has them, not where the write began.
                    let first = block - at % block;
                    let mut from = 0;
                    while from < bytes.len() {
                        let end = if from == 0 { first.min(bytes.len()) } else { (from + block).min(bytes.len()) };
                        if chance.below(2) == 0 {
                            let bytes = bytes[from..end].to_vec();
                            apply(&mut left, &Step::Wrote { file: *file, at: at + from, bytes });
                        }
                        from = end;
                    }
                }
                (Leaves::Something, step) if chance.below(2) == 0 => apply(&mut left, step),
                (Leaves::Something, _) => {}
            }
        }
        left
    }
}

/// The folders of this test have no dot in their names; its files have.
fn is_folder(path: &str) -> bool {
    Path::new(path).extension().is_none()
}

fn apply(contents: &mut Vec<u8>, step: &Step) {
    match step {
        Step::Wrote { at, bytes, .. } => {
            let end = at + bytes.len();
            if contents.len() < end {
                contents.resize(end, 0);
            }
            contents[*at..end].copy_from_slice(bytes);
        }
        Step::Truncated { size, .. } => contents.resize(*size, 0),
        other => unreachable!("{other:?} is nothing that happens to a file"),
    }
}

fn name(names: &mut BTreeMap<String, FileId>, step: &Step) {
    match step {
        Step::Named { path, file, .. } => drop(names.insert(path.clone(), *file)),
        Step::Unnamed { path, .. } => drop(names.remove(path)),
        other => unreachable!("{other:?} is nothing that happens to a folder"),
    }
}
