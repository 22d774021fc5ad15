//! The threads of an export, held in a temporary file until the rest of it was read.
//!
//! An export that is cut off or malformed must bring no thread, and a large one has more of them than fit in memory.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek};
use std::sync::atomic::{AtomicU64, Ordering};

use threadkeep_calls::{ErrorCode, Problem, Status};
use threadkeep_engine::ExportItem;
use threadkeep_store::private;

use super::{ExportReader, ExportWriter};

/// Items in a temporary file, which is gone with this.
pub struct HeldItems {
    /// Made with the first item: a small import needs no file.
    writer: Option<ExportWriter<BufWriter<File>>>,
}

impl HeldItems {
    /// A holder without items.
    pub fn new() -> Self {
        Self { writer: None }
    }

    /// Holds one more item.
    ///
    /// # Errors
    /// If the temporary folder cannot be written to.
    pub fn push(&mut self, item: &ExportItem) -> Result<(), Problem> {
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(ExportWriter::new(BufWriter::new(nameless().map_err(unheld)?)).map_err(unheld)?),
        };
        writer.item(item).map_err(unheld)
    }

    /// How many there are.
    pub fn len(&self) -> u64 {
        self.writer.as_ref().map_or(0, ExportWriter::items)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The items, in the order in which they came; none if there was no item.
    ///
    /// # Errors
    /// If the temporary file cannot be written or read.
    pub fn into_reader(self) -> Result<Option<ExportReader<BufReader<File>>>, Problem> {
        let Some(writer) = self.writer else { return Ok(None) };
        let file = writer.finish().and_then(|to| to.into_inner().map_err(io::IntoInnerError::into_error));
        let mut file = file.map_err(unheld)?;
        file.rewind().map_err(unheld)?;
        ExportReader::new(BufReader::new(file)).map(Some)
    }
}

impl Default for HeldItems {
    fn default() -> Self {
        Self::new()
    }
}

fn unheld(error: io::Error) -> Problem {
    let folder = std::env::temp_dir();
    let detail = format!("a temporary file in {} cannot be used: {error}", folder.display());
    Problem::new(Status::Unavailable, ErrorCode::Unavailable, detail)
}

/// A new file that only its owner may read, without a name: it goes when it is closed.
fn nameless() -> io::Result<File> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let (process, number) = (std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(format!("threadkeep-import-{process}-{number}"));
    // One that a process of the same number left behind.
    drop(std::fs::remove_file(&path));
    let file = private::file().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
