//! Keeps the index up with the log: on request, or for as long as it is let.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use threadkeep_calls::Backfilled;
use threadkeep_embed::Embedder;
use threadkeep_model::{Account, Caller};
use threadkeep_store::{BoxFuture, FeedCursor, Progress, Reshelving, Signal};
use tokio::sync::Notify;

use super::Note;
use super::index::Counted;
use crate::ground::engine::Shared;
use crate::{Engine, Error, Result};

/// The shortest time between two looks, in which more may come that is indexed at once.
const REST: Duration = Duration::from_millis(250);
/// The same while many messages come in: larger volumes take less work for each message.
const BUSY_REST: Duration = Duration::from_millis(750);
/// Messages of one look that are many.
const BUSY_MESSAGES: u64 = 500;
/// Longest time between two looks without a signal.
const LOOK: Duration = Duration::from_secs(5);
/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
/// Dropping unseen documents takes at most one part in this many of the time.
const TIDY_SHARE: u32 = 20;
/// How often the feed is read again for entries it does not show yet. It waits a while each time.
const HELD_UP_MAX: usize = 10;
/// How far behind is counted exactly.
pub(crate) const BEHIND_COUNTED_MAX: usize = 1_000;

/// The state of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStatus {
    /// Whether every entry is indexed.
    pub caught_up: bool,
    /// How many entries of the log were not read yet; 1,000 means that many or more.
    pub behind: u64,
    /// Age of the oldest of them in seconds; 0 if there is none.
    pub lag_seconds: u64,
    /// Messages of this account in the index.
    pub messages: u64,
    /// Messages among them that have vectors of the present embedder.
    pub embedded: u64,
    /// Bytes of the index, for this account.
    pub bytes: u64,
    /// Bytes of the texts that it was made of.
    pub text_bytes: u64,
    /// Number of volumes of the index.
    pub volumes: u64,
    /// The name of the embedder's model.
    pub model: String,
    /// How long its vectors are.
    pub dimensions: usize,
}

/// State that a follower keeps between two looks at the feed.
#[derive(Default)]
struct Pace {
    /// Whether the shelves of all accounts are in order, except for new changes.
    all_were_seen: bool,
    /// When unseen documents may be dropped again.
    tidy_at: Option<Instant>,
    /// Messages that the last look found.
    found: u64,
}

impl Pace {
    fn rest(&self) -> Duration {
        if self.found < BUSY_MESSAGES { REST } else { BUSY_REST }
    }

    fn may_tidy(&self) -> bool {
        self.tidy_at.is_none_or(|at| Instant::now() >= at)
    }

    /// Each time looks at all threads: that takes its share of the time, and no more, however many are deleted.
    /// Deleted messages are not found meanwhile either.
    fn tidied(&mut self, began: Instant) {
        self.tidy_at = Some(Instant::now() + began.elapsed() * TIDY_SHARE);
    }
}

/// The task that keeps the index up to date. It holds the engine weakly: when the last engine is dropped, it
/// ends.
struct Follower {
    shared: Weak<Shared>,
    caller: Arc<Caller>,
    embedder: Option<Arc<dyn Embedder>>,
}

impl Follower {
    fn engine(&self) -> Option<Engine> {
        let (caller, embedder) = (self.caller.clone(), self.embedder.clone());
        Some(Engine {
            shared: self.shared.upgrade()?,
            caller,
            writes_to: None,
            envelope: None,
            happened: None,
            validator: None,
            defined: None,
            guarded: false,
            owner: None,
            effects: None,
            embedder,
        })
    }

    async fn index(&self, mut signal: Signal, tell: &impl Fn(Option<&Error>)) {
        let (mut trouble, mut pace) = (Trouble::default(), Pace::default());
        while let Some(engine) = self.engine() {
            let failed = engine.catch_up(&mut pace).await.err();
            drop(engine);
            trouble.tell(failed.as_ref(), tell);
            tokio::time::sleep(pace.rest()).await;
            tokio::select! {
                () = tokio::time::sleep(if failed.is_some() { AFTER_FAILURE } else { LOOK }) => {}
                () = signal.wait(), if failed.is_none() => {}
            }
        }
    }

    /// Makes the vectors that are missing.
    async fn embed(&self, unembedded: &Notify, tell: &impl Fn(Option<&Error>)) {
        let (mut trouble, mut is_due) = (Trouble::default(), true);
        while let Some(engine) = self.engine() {
            let failed = if is_due { engine.embed_all(Arc::new(|_, _, _| {})).await.err() } else { None };
            drop(engine);
            if is_due {
                trouble.tell(failed.as_ref(), tell);
            }
            is_due = tokio::select! {
                () = tokio::time::sleep(if failed.is_some() { AFTER_FAILURE } else { LOOK }) => failed.is_some(),
                () = unembedded.notified(), if failed.is_none() => true,
            };
        }
    }
}

/// The last error, so that a report is made only when it changes.
#[derive(Default)]
struct Trouble(Option<String>);

impl Trouble {
    fn tell(&mut self, failed: Option<&Error>, tell: impl Fn(Option<&Error>)) {
        let now = failed.map(ToString::to_string);
        if now != self.0 {
            tell(failed);
            self.0 = now;
        }
    }
}

impl Engine {
    /// Indexes every entry that is not indexed yet, and drops documents that no thread shows. It can be interrupted
    /// and repeated. `agent` only says whose messages are counted in the answer.
    ///
    /// # Errors
    /// If the store cannot be read or the index not written; if the embedder fails: all is found by its words then.
    pub fn backfill(&self, agent: Option<String>, progress: Progress) -> BoxFuture<'_, Result<Backfilled>> {
        Box::pin(async move {
            let done = self.index_words(agent, Arc::clone(&progress)).await?;
            {
                let _turn = self.shared.library().turn.lock().await;
                while self.modernize_some().await? {}
            }
            self.embed_all(progress).await?;
            Ok(done)
        })
    }

    /// The same without waiting for an embedder that is not the built-in one: messages are found by their words until a
    /// backfill or a follower gives them vectors.
    ///
    /// # Errors
    /// If the store cannot be read or the index not written.
    pub fn index_words(&self, agent: Option<String>, progress: Progress) -> BoxFuture<'_, Result<Backfilled>> {
        Box::pin(async move {
            let counted = Counted { account: Some(self.caller.account.clone()), agent };
            let (mut embedded, mut documents, mut held_up) = (0, 0, 0);
            let latest = self.shared.stores.feed.latest().await?;
            let _turn = self.shared.library().turn.lock().await;
            loop {
                let step = self.index_some(&counted).await?;
                embedded += step.counted;
                documents += step.documents;
                progress("messages indexed", documents, None);
                if !step.more {
                    // A feed may show an entry a moment late, because other commits are still under way.
                    let (_, note) = self.edition().await?;
                    if note.cursor >= latest.0 || held_up >= HELD_UP_MAX {
                        break;
                    }
                    held_up += 1;
                }
                while self.merge_some(None).await? {}
            }
            while self.merge_some(None).await? {}
            let cleaned = self.tidy_up(Some(self.caller.account.clone())).await?;
            Ok(Backfilled { embedded, cleaned })
        })
    }

    /// The state of the index, for this account.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn index_status(&self) -> BoxFuture<'_, Result<IndexStatus>> {
        Box::pin(async move { self.status_of(Some(self.caller.account.clone())).await })
    }

    /// The state of the index, for all accounts together: for the operator of the server.
    ///
    /// # Errors
    /// If the index cannot be read.
    pub fn index_status_of_all(&self) -> BoxFuture<'_, Result<IndexStatus>> {
        Box::pin(async move { self.status_of(None).await })
    }

    async fn status_of(&self, account: Option<Account>) -> Result<IndexStatus> {
        let (_, note) = self.edition().await?;
        // An index beside another store, such as one that was restored, is begun anew.
        let cursor = if self.is_ours(&note).await? { note.cursor } else { 0 };
        let behind = self.shared.stores.feed.behind(FeedCursor(cursor), BEHIND_COUNTED_MAX).await?;
        let rows = self.shared.stores.shelves.volumes(account).await?;
        let embedder = self.embedder();
        let model = embedder.model();
        Ok(IndexStatus {
            caught_up: behind.items == 0,
            behind: behind.items,
            lag_seconds: behind.seconds(self.now()),
            messages: rows.iter().map(|row| row.documents).sum(),
            embedded: rows.iter().filter(|row| row.model == model.id).map(|row| row.documents).sum(),
            bytes: rows.iter().map(|row| row.bytes).sum(),
            text_bytes: rows.iter().map(|row| row.text_bytes).sum(),
            volumes: rows.len() as u64,
            model: model.id.clone(),
            dimensions: model.dimensions,
        })
    }

    /// Empties the index, also one that cannot be read any more, and makes it anew.
    ///
    /// # Errors
    /// If the store cannot be read or the index not written.
    pub fn rebuild_index(&self, progress: Progress) -> BoxFuture<'_, Result<Backfilled>> {
        Box::pin(async move {
            {
                let _turn = self.shared.library().turn.lock().await;
                self.shared.stores.shelves.clear().await?;
            }
            self.backfill(None, progress).await
        })
    }

    /// Keeps the index up with the log until the future is dropped or the engine is gone. A server runs this; several
    /// on one store share the work.
    ///
    /// Errors are retried and reported to `tell`: each new error once, and `None` on recovery.
    pub async fn run_index(self, tell: impl Fn(Option<&Error>)) {
        let follower = Follower {
            shared: Arc::downgrade(&self.shared),
            caller: self.caller.clone(),
            embedder: self.embedder.clone(),
        };
        let signal = self.shared.stores.feed.signals().any();
        let unembedded = Arc::clone(&self.shared.library().unembedded);
        drop(self);
        tokio::join!(follower.index(signal, &tell), follower.embed(&unembedded, &tell));
    }

    /// Reads the feed to its end, and puts the shelves in order.
    async fn catch_up(&self, pace: &mut Pace) -> Result<()> {
        let _turn = self.shared.library().turn.lock().await;
        let (counted, mut changed) = (Counted::default(), BTreeSet::new());
        // Work that was begun and not ended, here or by another process, may be of any account.
        let all_were_seen = std::mem::replace(&mut pace.all_were_seen, false);
        pace.found = 0;
        loop {
            let began = Instant::now();
            let step = self.index_some(&counted).await?;
            for account in &step.accounts {
                while self.merge_some(Some(account)).await? {}
            }
            changed.extend(step.accounts);
            pace.found += step.documents;
            if !step.more {
                break;
            }
            // Those who write so much go first.
            tokio::time::sleep(began.elapsed() / 2).await;
        }
        if !all_were_seen {
            while self.merge_some(None).await? || self.modernize_some().await? {}
        }
        for account in &changed {
            self.refresh(account).await?;
        }
        if self.embedder.is_some() && !changed.is_empty() {
            self.shared.library().unembedded.notify_one();
        }
        let (_, note) = self.edition().await?;
        if note.untidy && pace.may_tidy() {
            let began = Instant::now();
            self.tidy_up(None).await?;
            pace.tidied(began);
        }
        pace.all_were_seen = true;
        Ok(())
    }

    /// Makes all vectors that are missing.
    async fn embed_all(&self, progress: Progress) -> Result<()> {
        let mut renewed = 0;
        while self.embed_some().await? {
            renewed += 1;
            progress("volumes with new vectors", renewed, None);
        }
        if renewed > 0 {
            let _turn = self.shared.library().turn.lock().await;
            while self.merge_some(None).await? {}
        }
        Ok(())
    }

    /// Drops the documents that no thread shows, and notes it. Returns how many there were, of one account or in all.
    async fn tidy_up(&self, counted: Option<Account>) -> Result<u64> {
        let dropped = match &counted {
            Some(account) => self.drop_unseen(Some(account.clone())).await?,
            None => 0,
        };
        let (_, note) = self.edition().await?;
        if !note.untidy {
            return Ok(dropped);
        }
        let others = self.drop_unseen(None).await?;
        self.note_tidy(&note).await?;
        Ok(if counted.is_some() { dropped } else { others })
    }

    /// Notes that no unseen document is left, unless more of the feed was read since `before`.
    async fn note_tidy(&self, before: &Note) -> Result<()> {
        let (edition, note) = self.edition().await?;
        if before.untidy && note.cursor == before.cursor {
            let note = Note { untidy: false, ..note }.encode();
            // If another process is faster, it is done another time.
            self.shared.stores.shelves.reshelve(Reshelving { edition, note, ..Reshelving::default() }).await?;
        }
        Ok(())
    }

    /// Drops documents from the index whose entries the store freed, so that they are gone there too. Says how many bytes
    /// were given back.
    pub(crate) async fn sweep_index(&self, progress: &Progress) -> Result<u64> {
        let (edition, note) = self.edition().await?;
        if edition == 0 {
            return Ok(0);
        }
        let _turn = self.shared.library().turn.lock().await;
        progress("search index", 0, None);
        // Entries that are not indexed yet are in no volume, and once deleted they are never indexed.
        self.drop_unseen(None).await?;
        self.note_tidy(&note).await?;
        Ok(self.shared.stores.shelves.sweep().await?)
    }
}
