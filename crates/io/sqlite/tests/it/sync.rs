//! Syncs of this process, counted, and failed on demand: SQLite is linked into this program, so the program's own
//! `fsync` and `fdatasync` are the ones it calls.
#![allow(unsafe_code, reason = "symbols of the C library can only be replaced by unsafe means")]

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Folders whose syncs are watched. Other tests of this process sync files of their own.
static WATCHED: Mutex<Vec<Watched>> = Mutex::new(Vec::new());

struct Watched {
    folder: PathBuf,
    failing: bool,
    count: u64,
}

fn watched() -> MutexGuard<'static, Vec<Watched>> {
    WATCHED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Watches the syncs of files in one folder.
pub(crate) struct Syncs(PathBuf);

impl Syncs {
    pub(crate) fn of(folder: &Path) -> Self {
        let folder = folder.canonicalize().expect("a folder");
        watched().push(Watched { folder: folder.clone(), failing: false, count: 0 });
        Self(folder)
    }

    pub(crate) fn fail(&self, failing: bool) {
        self.with(|watched| watched.failing = failing);
    }

    pub(crate) fn count(&self) -> u64 {
        self.with(|watched| watched.count)
    }

    fn with<T>(&self, look: impl FnOnce(&mut Watched) -> T) -> T {
        look(watched().iter_mut().find(|watched| watched.folder == self.0).expect("a watched folder"))
    }
}

impl Drop for Syncs {
    fn drop(&mut self) {
        watched().retain(|watched| watched.folder != self.0);
    }
}

/// Counts a sync, and says whether it shall fail.
fn shall_fail(file: libc::c_int) -> bool {
    let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{file}")) else { return false };
    let mut watched = watched();
    let Some(watched) = watched.iter_mut().find(|watched| path.starts_with(&watched.folder)) else { return false };
    watched.count += 1;
    watched.failing
}

fn sync(call: libc::c_long, file: libc::c_int) -> libc::c_int {
    if shall_fail(file) {
        // SAFETY: `errno` of this thread may be written at any time.
        unsafe { *libc::__errno_location() = libc::EIO };
        return -1;
    }
    // SAFETY: the system call takes a file descriptor and touches no memory.
    unsafe { libc::syscall(call, file) as libc::c_int }
}

// SAFETY: the same signature and meaning as in the C library.
#[unsafe(no_mangle)]
extern "C" fn fsync(file: libc::c_int) -> libc::c_int {
    sync(libc::SYS_fsync, file)
}

// SAFETY: the same signature and meaning as in the C library.
#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: libc::c_int) -> libc::c_int {
    sync(libc::SYS_fdatasync, file)
}
