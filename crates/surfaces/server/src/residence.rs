//! Where accounts live: the directory, remembered for a moment, and the cell that an application serves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use threadkeep::{Account, BoxFuture, Directory, Error, Neighbours};

/// How long a line of the directory is used without a look. A move waits for longer than this.
const LINE_KNOWN: Duration = Duration::from_secs(1);
/// Lines that are remembered; more begin anew.
const LINES_MAX: usize = 100_000;

/// The directory, as a server uses it.
pub(crate) struct Lines {
    directory: Directory,
    known: Mutex<HashMap<Account, (Instant, String)>>,
}

impl Lines {
    pub(crate) fn of(directory: Directory) -> Self {
        Self { directory, known: Mutex::default() }
    }

    /// The cell of an account.
    pub(crate) async fn cell_of(&self, account: &Account) -> Result<String, Error> {
        // Invariant: a line is used for a second from before it was read, so no server uses it when a move is over.
        let asked = Instant::now();
        if let Some((read, cell)) = self.known().get(account)
            && read.elapsed() < LINE_KNOWN
        {
            return Ok(cell.clone());
        }
        let cell = self.directory.cell_of(account).await?;
        let mut known = self.known();
        if known.len() >= LINES_MAX {
            known.clear();
        }
        known.insert(account.clone(), (asked, cell.clone()));
        Ok(cell)
    }

    /// The next request of the account looks again.
    pub(crate) fn forget(&self, account: &Account) {
        self.known().remove(account);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Account, (Instant, String)>> {
        self.known.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The cell that an application serves, if there are several.
#[derive(Clone)]
pub(crate) struct Residence {
    lines: Option<Arc<Lines>>,
    cell: Arc<str>,
    /// Stands in the cursors of streams over many threads, so that one of another cell is not taken for one of this.
    pub(crate) mark: Arc<str>,
}

impl Residence {
    /// The one store there is.
    pub(crate) fn only() -> Self {
        Self { lines: None, cell: Arc::from(""), mark: Arc::from("") }
    }

    /// The cell of this name among several. Cursors of the home cell are those that it gave as the only store.
    pub(crate) fn among(lines: &Arc<Lines>, cell: &str, is_home: bool) -> Self {
        let mark = Arc::from(if is_home { "" } else { cell });
        Self { lines: Some(Arc::clone(lines)), cell: Arc::from(cell), mark }
    }

    /// Whether the account still lives here. While the directory cannot be read, the answer is yes.
    pub(crate) async fn is_of(&self, account: &Account) -> bool {
        self.lives_here(account).await.unwrap_or(true)
    }
}

impl Neighbours for Residence {
    fn lives_here<'a>(&'a self, account: &'a Account) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            match &self.lines {
                Some(lines) => Ok(*lines.cell_of(account).await? == *self.cell),
                None => Ok(true),
            }
        })
    }
}
