//! Moving an account from one cell to another, while it is written to.
//!
//! The account is frozen in the new cell, where nothing of it may be written but by the move. The first pass copies
//! everything while others write to the old cell. Then the account is frozen there too, and the second pass copies what
//! came since: the pause grows with that and with the number of threads, not with the length of the log. Each pass is
//! read back and compared by its hash. Then the line of the directory is switched. Servers that know the old line cannot
//! write any more: the fence of the old cell stays.
//!
//! A move that was broken off begins again when it is run again. Run with the cell that the account is in, it is taken back.

use std::time::Duration;

use threadkeep_model::{Account, Caller, Invalid};
use threadkeep_store::{Archived, KeptKey, KeyQuery, ListQuery, Progress, Registered, RegistryKind, RegistryQuery};
use tokio::time::Instant;

use crate::copied::Copied;
use crate::digest::Digest;
use crate::directory::{Directory, Line, taken_over};
use crate::export::MOVED_AT_ONCE;
use crate::{ContentHash, Engine, Error, ExportItem, Exporter, Importer, Result, Selection};

/// How long a server may use a line of the directory after it was changed.
const LINES_KNOWN: Duration = Duration::from_secs(2);
/// How long after the switch streams on the old cell may go on before they end.
const STREAMS_END: Duration = Duration::from_secs(5);

/// What a move has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveStep {
    /// The first pass is copied and compared.
    Copied,
    /// Nothing of the account is written any more, in either cell.
    Frozen,
    /// The rest is copied and compared.
    Compared,
    /// The directory names the new cell.
    Switched,
    /// The account is written to in the new cell.
    Thawed,
    /// The old cell has let go of the account.
    Released,
}

/// A move of an account.
pub struct MoveAccount<'a> {
    /// Says where the account is.
    pub directory: &'a Directory,
    /// All cells by their names.
    pub cells: &'a [(String, Engine)],
    /// The account to move.
    pub account: Account,
    /// The name of the cell that it goes to.
    pub to: &'a str,
    /// Told after each step.
    pub step: &'a (dyn Fn(MoveStep) + Send + Sync),
    /// Told how many entries are copied.
    pub progress: Progress,
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The cell that the account came from; none if it was where it should go.
    pub from: Option<String>,
    /// Threads that moved.
    pub threads: u64,
    /// Entries that were copied.
    pub entries: u64,
    /// How many of the entries came in the pause.
    pub entries_in_pause: u64,
    /// How long the account was not written to.
    pub pause: Duration,
}

impl MoveAccount<'_> {
    /// Moves the account. Once this returns, the new cell has everything, and the old one nothing.
    ///
    /// # Errors
    /// [`Error::CopyDiffers`] if a cell gives back other data than it was given; those of the stores. The account stays where
    /// it is then, and is thawed, unless the directory was switched already: run it again.
    pub async fn run(self) -> Result<Moved> {
        let target = self.cell(self.to)?;
        // Invariant: only the move that began last changes the directory, and lets go of anything.
        let line = self.directory.claim(&self.account).await?;
        let from = line.cell.clone();
        if from == self.to {
            return self.settle(target, &line).await;
        }
        let source = self.cell(&from)?;
        self.refuse_one_store(source, target).await?;
        // A move that was broken off, and taken back, left something here.
        let coming = noted(&format!("comes from cell {from}"), &line);
        target.freeze(&self.account, &coming).await?;
        target.let_go(&self.account, &coming).await?;
        source.copy_documents(target, &[RegistryKind::DataKey]).await?;
        let mut copied = Copied::default();
        let first = self.pass(source, target, &mut copied, Threads::Later).await?;
        (self.step)(MoveStep::Copied);
        let frozen = Instant::now();
        let second = match self.pause(source, target, &mut copied, &line).await {
            Ok(second) => second,
            Err(error) => {
                // If this fails too, running it again thaws the account. Another move has a fence of its own.
                if self.directory.still(&self.account, &line).await.is_ok() {
                    drop(source.shared.stores.fences.thaw(self.account.clone()).await);
                }
                return Err(error);
            }
        };
        let line = self.directory.switch(&self.account, &line, self.to).await?;
        (self.step)(MoveStep::Switched);
        let gone = noted(&format!("moved to cell {}", self.to), &line);
        source.freeze(&self.account, &gone).await?;
        self.open(target).await?;
        let pause = frozen.elapsed();
        tokio::time::sleep(STREAMS_END).await;
        self.directory.still(&self.account, &line).await?;
        source.let_go(&self.account, &gone).await?;
        (self.step)(MoveStep::Released);
        Ok(Moved {
            from: Some(from),
            threads: second.threads,
            entries: first.entries + second.entries,
            entries_in_pause: second.entries,
            pause,
        })
    }

    /// Ends a move that was broken off after the switch, or takes one back that was broken off before.
    async fn settle(&self, target: &Engine, line: &Line) -> Result<Moved> {
        if target.shared.stores.fences.frozen(self.account.clone()).await?.is_some() {
            self.open(target).await?;
        }
        let gone = noted(&format!("moved to cell {}", self.to), line);
        for (_, other) in self.cells.iter().filter(|(name, _)| name != self.to) {
            let has_threads = other.has_threads_of(&self.account).await?;
            if !has_threads && other.shared.stores.fences.frozen(self.account.clone()).await?.is_none() {
                continue;
            }
            self.refuse_one_store(other, target).await?;
            other.freeze(&self.account, &gone).await?;
            if has_threads {
                tokio::time::sleep(STREAMS_END).await;
            }
            self.directory.still(&self.account, line).await?;
            other.let_go(&self.account, &gone).await?;
        }
        (self.step)(MoveStep::Released);
        Ok(Moved { from: None, threads: 0, entries: 0, entries_in_pause: 0, pause: Duration::ZERO })
    }

    /// Thaws the account, once no server uses an older line of the directory.
    async fn open(&self, target: &Engine) -> Result<()> {
        tokio::time::sleep(LINES_KNOWN).await;
        target.shared.stores.fences.thaw(self.account.clone()).await?;
        (self.step)(MoveStep::Thawed);
        Ok(())
    }

    fn cell(&self, name: &str) -> Result<&Engine> {
        let found = self.cells.iter().find(|(known, _)| known == name).map(|(_, engine)| engine);
        let unknown = || {
            let known: Vec<&str> = self.cells.iter().map(|(name, _)| name.as_str()).collect();
            Invalid::parameter("to-cell", format!("there is no cell '{name}'; there are: {}", known.join(", ")))
        };
        Ok(found.ok_or_else(unknown)?)
    }

    /// Refuses two names for one store: to let go of the account in one of them would be to lose it.
    async fn refuse_one_store(&self, one: &Engine, other: &Engine) -> Result<()> {
        if one.store_id().await? != other.store_id().await? {
            return Ok(());
        }
        let rule = format!("cell '{}' is the same store as another cell; mend the file of cells", self.to);
        Err(Invalid::parameter("to-cell", rule).into())
    }

    /// Freezes the account in the source too, and copies what came since the first pass.
    async fn pause(&self, source: &Engine, target: &Engine, copied: &mut Copied, line: &Line) -> Result<Counts> {
        source.freeze(&self.account, &noted(&format!("moves to cell {}", self.to), line)).await?;
        (self.step)(MoveStep::Frozen);
        let second = self.pass(source, target, copied, Threads::Now).await?;
        (self.step)(MoveStep::Compared);
        Ok(second)
    }

    /// Copies what is not in `copied`, and adds it there; then reads it back and compares.
    async fn pass(&self, source: &Engine, target: &Engine, copied: &mut Copied, threads: Threads) -> Result<Counts> {
        let acting = source.acting_as(Caller { account: self.account.clone(), ..Caller::local() });
        let mut reading = acting.exporter(Selection::All).await?.with_secrets().after(copied.clone());
        let mut importer = target.importer();
        // Invariant: what comes now is not freed before its threads exist.
        importer.hold().await?;
        let (mut sent, mut counts, total) = (Digest::new(), Counts::default(), reading.size().entries);
        let mut seen = copied.clone();
        while let Some(item) = reading.next_of_log().await? {
            sent.item(&item);
            seen.note(&item, &reading);
            counts.entries += u64::from(matches!(item, ExportItem::Entry { .. }));
            let resumes = match &item {
                ExportItem::Segment(row) => copied.end_of(row.segment.id, &reading),
                _ => None,
            };
            importer.push(item).await?;
            if let Some((position, tally)) = resumes {
                importer.resume(position, tally);
            }
            (self.progress)("entries", counts.entries, Some(total.max(counts.entries)));
        }
        if threads == Threads::Now {
            loop {
                let some = reading.page_of_threads().await?;
                if some.is_empty() {
                    break;
                }
                counts.threads += some.len() as u64;
                let ids = some.iter().map(|thread| thread.id).collect();
                let keys = source.shared.stores.fences.keys(self.account.clone(), ids).await?;
                for thread in some {
                    let item = ExportItem::from(thread);
                    sent.item(&item);
                    importer.push(item).await?;
                }
                importer.bring_keys(keys);
            }
            // Invariant: a request that is repeated after the move writes nothing, like one before it.
            let born = source.shared.stores.fences.keys(self.account.clone(), vec![KeyQuery::NEW]).await?;
            importer.bring_keys(born);
            importer.bring_documents(self.account.clone(), source.documents_of(&self.account).await?);
        }
        importer.write().await?;
        let (sent, found) = (sent.end(), read_back(reading, &mut importer, target, threads).await?);
        if sent != found {
            let what = format!("what cell {} has, has the hash {found}, and not {sent}", self.to);
            return Err(Error::CopyDiffers { what });
        }
        // After the first pass it goes on: the target frees nothing yet.
        if threads == Threads::Now {
            importer.finish().await?;
        }
        *copied = seen;
        Ok(counts)
    }
}

/// The hash of what a pass copied, as the target has it.
async fn read_back(
    mut reading: Exporter,
    importer: &mut Importer,
    target: &Engine,
    threads: Threads,
) -> Result<ContentHash> {
    let mut found = Digest::new();
    reading.read_from(target).await?;
    while let Some(item) = reading.next_of_log().await? {
        found.item(&item);
        importer.hold().await?;
    }
    if threads == Threads::Later {
        return Ok(found.end());
    }
    loop {
        let some = reading.page_of_threads().await?;
        if some.is_empty() {
            return Ok(found.end());
        }
        some.into_iter().for_each(|thread| found.item(&ExportItem::from(thread)));
    }
}

/// The note of a fence. It names the move, so that no other one has the same note.
fn noted(what: &str, line: &Line) -> String {
    format!("{what}, by move {}", line.claimed_by())
}

/// Whether threads appear with a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threads {
    Now,
    Later,
}

#[derive(Debug, Default)]
struct Counts {
    threads: u64,
    entries: u64,
}

impl Importer {
    /// Brings idempotency keys with the next batch.
    fn bring_keys(&mut self, keys: Vec<KeptKey>) {
        self.batch.keys.extend(keys);
    }

    /// Brings all documents of an account with the next batch.
    fn bring_documents(&mut self, account: Account, documents: Vec<Registered>) {
        self.batch.documents = Some((account, documents));
    }
}

impl Engine {
    async fn freeze(&self, account: &Account, note: &str) -> Result<()> {
        Ok(self.shared.stores.fences.freeze(account.clone(), note.to_owned()).await?)
    }

    /// Lets go of the account behind a fence with this note. A move that slept, and whose fence another move replaced,
    /// takes nothing away.
    async fn let_go(&self, account: &Account, note: &str) -> Result<()> {
        let released = self.shared.stores.fences.release(account.clone(), note.to_owned()).await?;
        released.map(drop).ok_or_else(|| taken_over(account))
    }

    async fn has_threads_of(&self, account: &Account) -> Result<bool> {
        let mut any = ListQuery::of(account.clone(), 1);
        any.filter.archived = Archived::Any;
        Ok(!self.shared.stores.store.list(any).await?.is_empty())
    }

    /// All documents that move with an account.
    async fn documents_of(&self, account: &Account) -> Result<Vec<Registered>> {
        let mut all = Vec::new();
        for kind in RegistryKind::OF_ACCOUNTS {
            let mut after = None;
            loop {
                let query = RegistryQuery { kind, account: Some(account.clone()), after, limit: MOVED_AT_ONCE };
                let some = self.shared.stores.registry.registry(query).await?;
                let Some(last) = some.last() else { break };
                after = Some(last.id.clone());
                all.extend(some);
            }
        }
        Ok(all)
    }
}
