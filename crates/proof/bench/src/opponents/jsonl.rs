//! One JSON Lines file a thread, and a sync for each append.
//!
//! Its clients are threads of the system: they have nothing to wait for but the disk, and no way to share a sync.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{body, now_micros};
use crate::Result;
use crate::bench::{Bench, Keeper, Load, text};

/// Bytes read at once from the end of a file.
const TAIL_BYTES: u64 = 64 << 10;

/// A folder of files.
pub(crate) struct JsonLines {
    folder: PathBuf,
    threads: Vec<Arc<Mutex<Thread>>>,
}

struct Thread {
    file: File,
    position: u64,
}

impl JsonLines {
    pub(crate) fn with_threads(folder: &Path, threads: usize) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let open = |n| -> Result<_> {
            let file = File::options().create(true).append(true).open(path(folder, n))?;
            Ok(Arc::new(Mutex::new(Thread { file, position: 0 })))
        };
        let threads = (0..threads).map(open).collect::<Result<_>>()?;
        Ok(Self { folder: folder.to_owned(), threads })
    }

    /// Appends this many messages to each thread, with one sync in the end.
    pub(crate) fn fill(&self, messages: usize) -> Result<()> {
        for thread in &self.threads {
            let mut thread = thread.lock().expect("nobody panics while writing");
            let mut lines = std::io::BufWriter::new(thread.file.try_clone()?);
            for n in 0..messages {
                thread.position += 1;
                lines.write_all(&line(thread.position, text(n)))?;
            }
            lines.flush()?;
            thread.file.sync_data()?;
        }
        Ok(())
    }

    /// The last lines of a thread.
    pub(crate) fn read_last(&self, thread: usize, lines: usize) -> Result<usize> {
        let mut file = File::open(path(&self.folder, thread))?;
        let end = file.seek(SeekFrom::End(0))?;
        let mut begin = end;
        let mut tail = Vec::new();
        while begin > 0 && tail.iter().filter(|byte| **byte == b'\n').count() <= lines {
            begin = begin.saturating_sub(TAIL_BYTES);
            file.seek(SeekFrom::Start(begin))?;
            tail.resize((end - begin) as usize, 0);
            file.read_exact(&mut tail)?;
        }
        let found: Vec<Vec<u8>> = split(&tail).rev().take(lines).map(<[u8]>::to_vec).collect();
        Ok(std::hint::black_box(found).len())
    }

    /// All lines of a thread.
    pub(crate) fn read_all(&self, thread: usize) -> Result<usize> {
        let bytes = std::fs::read(path(&self.folder, thread))?;
        let found: Vec<Vec<u8>> = split(&bytes).map(<[u8]>::to_vec).collect();
        Ok(std::hint::black_box(found).len())
    }

    /// The size of the files.
    pub(crate) fn bytes(&self) -> Result<u64> {
        let size = |n| Ok(std::fs::metadata(path(&self.folder, n))?.len());
        (0..self.threads.len()).map(size).sum()
    }
}

fn split(bytes: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

fn path(folder: &Path, thread: usize) -> PathBuf {
    folder.join(format!("{thread}.jsonl"))
}

/// Place, time, actor, message.
fn line(position: u64, text: &str) -> Vec<u8> {
    let mut line =
        format!(r#"{{"position":{position},"time":{},"actor":"local","message":"#, now_micros()).into_bytes();
    line.extend_from_slice(&body(text));
    line.extend_from_slice(b"}\n");
    line
}

impl Keeper for JsonLines {
    fn append(&self, _: &Bench, load: Load) -> Result<()> {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..load.clients)
                .map(|client| {
                    let thread = &self.threads[client % load.threads];
                    scope.spawn(move || -> Result<()> {
                        for n in 0..load.each {
                            let mut thread = thread.lock().expect("nobody panics while writing");
                            thread.position += 1;
                            let line = line(thread.position, text(client + n));
                            thread.file.write_all(&line)?;
                            thread.file.sync_data()?;
                        }
                        Ok(())
                    })
                })
                .collect();
            clients.into_iter().try_for_each(|client| client.join().expect("a client does not panic"))
        })
    }
}
