//! Files and folders for their owner alone: 0600 and 0700 from the moment they exist.
//!
//! The mode is part of the call that makes them, so nobody else can open one before it is narrowed. An existing file or
//! folder keeps its mode. On systems without Unix modes this is a plain file or folder.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Options that make a file for its owner alone; the caller adds how it is opened.
pub fn file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A new file in the place of an unfinished one that an earlier attempt may have left.
///
/// # Errors
/// If the old file cannot be removed, or the new one cannot be made.
pub fn new_file(path: &Path) -> io::Result<File> {
    // An existing file keeps its mode, so it is made anew.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => file().create_new(true).open(path),
    }
}

/// Makes a folder and its missing parents.
///
/// # Errors
/// If one of them cannot be made.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The mode of a file or folder that others than its owner may use; none if only its owner may.
pub fn wider_mode(path: &Path) -> Option<u32> {
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).ok()?.permissions()) & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}
