//! From sessions to threads: carries out plans. New threads are gathered, and many of them are one commit.

use std::collections::{HashMap, HashSet, VecDeque};

use threadkeep_calls::ImportReport;
use threadkeep_engine::{Arrival, Begins, Engine, Error, ToldMessage};
use threadkeep_model::{MessageId, Position, ThreadId, Timestamp};
use threadkeep_store::StoreError;

use super::body::told;
use super::family::{At, Family, Known, find, main_of};
use super::keys::thread_id;
use crate::plan::{self, Step, plan};
use crate::reading::SKIPPED_NAMED_MAX;
use crate::shape::{Message, OriginKind, Session, Source};

/// Bytes of messages that are gathered for one commit. The pages of a larger one would not fit the cache of a store's
/// writer, and would be written and read more than once.
pub(super) const GATHERED_BYTES_MAX: usize = 8 << 20;
/// Threads that are gathered for one commit.
const GATHERED_THREADS_MAX: usize = 512;
/// Messages whose places are remembered, in all families together.
const REMEMBERED_MAX: usize = 100_000;
/// Sessions that wait for the session they belong to.
const DEFERRED_MAX: usize = 1_000;

type Key = (Source, String);

/// Writes sessions to a store.
pub(crate) struct Writer {
    pub(super) engine: Engine,
    /// Nothing is written, only counted.
    pub(super) is_dry: bool,
    /// What is known of the store, by the first thread of each family.
    families: HashMap<ThreadId, (Family, u64)>,
    /// The families in the order in which they were last used, each with the number of that use. One with another number
    /// was used again since.
    order: VecDeque<(ThreadId, u64)>,
    uses: u64,
    /// Messages whose places are remembered, in all families together.
    remembered: usize,
    /// The family of each session.
    homes: HashMap<Key, ThreadId>,
    /// The thread of each session.
    pub(super) mains: HashMap<Key, ThreadId>,
    seen: HashSet<Key>,
    failed: HashSet<Key>,
    pub(super) gathered: Vec<Gathered>,
    pub(super) gathered_bytes: usize,
    /// Sessions that belong to one that was not seen yet, with the file they are from.
    deferred: Vec<(Session, Timestamp, usize)>,
    pub(crate) report: ImportReport,
}

/// The new threads of a session.
pub(super) struct Gathered {
    pub(super) home: ThreadId,
    pub(super) source: Source,
    pub(super) session: String,
    pub(super) arrivals: Vec<Arrival>,
    /// The id at the source and the hash of each message of each.
    pub(super) said: Vec<Vec<(String, String)>>,
    /// The main thread among them is new: not a branch.
    pub(super) threads: u64,
    pub(super) is_main: Vec<bool>,
}

impl Writer {
    pub(crate) fn new(engine: Engine, is_dry: bool) -> Self {
        Self {
            engine,
            is_dry,
            families: HashMap::new(),
            order: VecDeque::new(),
            uses: 0,
            remembered: 0,
            homes: HashMap::new(),
            mains: HashMap::new(),
            seen: HashSet::new(),
            failed: HashSet::new(),
            gathered: Vec::new(),
            gathered_bytes: 0,
            deferred: Vec::new(),
            report: ImportReport::default(),
        }
    }

    /// A record or a file was not read.
    pub(crate) fn skipped(&mut self, count: u64, place: &str, reason: &str) {
        self.report.skipped += count;
        if self.report.problems.len() < SKIPPED_NAMED_MAX {
            self.report.problems.push(format!("{place}: {reason}"));
        }
    }

    /// What an earlier run knew of a session: the thread by which its family is found, and further names of messages.
    pub(crate) fn remember(&mut self, source: Source, session: String, home: ThreadId) {
        self.homes.entry((source, session)).or_insert(home);
    }

    /// The families of these sessions, with the further names of their messages.
    pub(crate) fn home(&self, source: Source, session: &str) -> Option<ThreadId> {
        self.homes.get(&(source, session.to_owned())).copied()
    }

    /// Takes in what was read of a session. `file` is its number: sessions that wait for another one are named by it.
    ///
    /// # Errors
    /// If the store fails. A session that cannot be written is skipped and named.
    pub(crate) async fn take(
        &mut self,
        session: Session,
        aliases: Vec<(String, String)>,
        modified: Timestamp,
        file: usize,
    ) -> Result<(), Error> {
        let waits = self.deferred.iter().any(|(other, ..)| other.id == session.id && other.source == session.source);
        if waits || (self.lacks_origin(&session).await? && self.deferred.len() < DEFERRED_MAX) {
            self.deferred.push((session, modified, file));
            return Ok(());
        }
        self.take_now(session, aliases, modified).await
    }

    /// Whether everything that was taken is in the store, but for sessions that wait.
    pub(crate) fn is_settled(&self) -> bool {
        self.gathered.is_empty()
    }

    /// Whether this session could not be written.
    pub(crate) fn failed(&self, source: Source, session: &str) -> bool {
        self.failed.contains(&(source, session.to_owned()))
    }

    /// The files whose sessions wait.
    pub(crate) fn waiting(&self) -> HashSet<usize> {
        self.deferred.iter().map(|(.., file)| *file).collect()
    }

    /// Writes everything that was gathered, and what waited in vain for another session.
    pub(crate) async fn finish(&mut self) -> Result<(), Error> {
        self.flush().await?;
        for (session, modified, _) in std::mem::take(&mut self.deferred) {
            self.take_now(session, Vec::new(), modified).await?;
        }
        self.flush().await
    }

    async fn take_now(
        &mut self,
        session: Session,
        aliases: Vec<(String, String)>,
        modified: Timestamp,
    ) -> Result<(), Error> {
        match self.write(&session, aliases, modified).await {
            Ok(()) => Ok(()),
            Err(error) if is_fatal(&error) => Err(error),
            Err(error) => {
                self.skipped(1, &format!("{} session {}", session.source, session.id), &error.to_string());
                self.failed.insert((session.source, session.id));
                Ok(())
            }
        }
    }

    async fn lacks_origin(&mut self, session: &Session) -> Result<bool, Error> {
        let Some(origin) = &session.origin else { return Ok(false) };
        if self.homes.contains_key(&(session.source, session.id.clone())) {
            return Ok(false);
        }
        Ok(self.main_of(session.source, &origin.session).await?.is_none())
    }

    /// The thread of a session, in the store or gathered.
    async fn main_of(&mut self, source: Source, session: &str) -> Result<Option<ThreadId>, Error> {
        let key = (source, session.to_owned());
        if let Some(main) = self.mains.get(&key) {
            return Ok(Some(*main));
        }
        let found = main_of(&self.engine, source, session).await?;
        self.mains.extend(found.map(|main| (key, main)));
        Ok(found)
    }

    /// The family of a session, if some of its messages are in the store.
    async fn find_home(&mut self, session: &Session) -> Result<Option<ThreadId>, Error> {
        let key = (session.source, session.id.clone());
        let of = (session.source, session.id.as_str());
        if let Some(home) = self.homes.get(&key).copied() {
            if self.known(home, of).await? {
                return Ok(Some(home));
            }
            self.homes.remove(&key);
        }
        let account = self.engine.caller().account.clone();
        let here: HashSet<&str> = session.messages.iter().map(|message| message.id.as_str()).collect();
        let aliases: HashSet<&str> = session.aliases.iter().map(|(from, _)| from.as_str()).collect();
        let mut continues = false;
        for message in &session.messages {
            if let Some(parent) = message.parent.as_deref() {
                continues |= !here.contains(parent) && !aliases.contains(parent);
                continue;
            }
            let root = thread_id(&account, session, message);
            if self.known(root, of).await? {
                return Ok(Some(root));
            }
        }
        if !continues {
            return Ok(None);
        }
        // It goes on after a part that was read before.
        match self.main_of(session.source, &session.id).await? {
            Some(main) if self.known(main, of).await? => Ok(Some(main)),
            _ => Ok(None),
        }
    }

    /// Whether the family of this thread is known, after a look into the store.
    async fn known(&mut self, home: ThreadId, (source, session): (Source, &str)) -> Result<bool, Error> {
        if self.gathered.iter().any(|gathered| gathered.home == home) {
            self.flush().await?;
        }
        if self.families.contains_key(&home) {
            return Ok(true);
        }
        let Some(family) = Family::load(&self.engine, home, source, session).await? else { return Ok(false) };
        self.keep(home, family);
        Ok(true)
    }

    fn keep(&mut self, home: ThreadId, family: Family) {
        drop(self.release(home));
        self.uses += 1;
        self.remembered += family.len();
        self.families.insert(home, (family, self.uses));
        self.order.push_back((home, self.uses));
        while self.remembered > REMEMBERED_MAX && self.families.len() > 1 {
            let Some((oldest, used)) = self.order.pop_front() else { break };
            if self.families.get(&oldest).is_some_and(|(_, last)| *last == used) {
                drop(self.release(oldest));
            }
        }
    }

    /// Takes a family out.
    fn release(&mut self, home: ThreadId) -> Option<Family> {
        let (family, _) = self.families.remove(&home)?;
        self.remembered -= family.len();
        Some(family)
    }

    async fn write(
        &mut self,
        session: &Session,
        aliases: Vec<(String, String)>,
        modified: Timestamp,
    ) -> Result<(), Error> {
        let key = (session.source, session.id.clone());
        self.report.sessions += u64::from(self.seen.insert(key.clone()));
        let home = self.find_home(session).await?;
        let origin = match &session.origin {
            Some(origin) => self.main_of(session.source, &origin.session).await?,
            None => None,
        };
        let mut other = None;
        if let (Some(main), Some(true)) = (origin, session.origin.as_ref().map(|it| it.kind == OriginKind::Fork))
            && home != Some(main)
            && let Some(session_of) = session.origin.as_ref().map(|origin| origin.session.as_str())
            && self.known(main, (session.source, session_of)).await?
        {
            other = self.release(main).map(|family| (main, family));
        }
        let mut family = home.and_then(|home| self.release(home)).unwrap_or_default();
        for (from, to) in aliases.into_iter().chain(session.aliases.iter().cloned()) {
            family.alias(from, to);
        }
        let steps = {
            let placed = |name: &str, id: &str| match &other {
                Some((_, other)) if name != session.id => other.placed(name, id),
                _ => family.placed(&session.id, id),
            };
            let is_same = |message: &Message| {
                family.is_same(&session.id, &message.id, || told(message).ok().map(|told| told.sum))
            };
            let thread = |_: &str| origin.map(|main| main.to_string());
            plan(session, &plan::Known { placed: &placed, is_same: &is_same, thread: &thread })
        };
        let appended = steps.iter().filter(|step| matches!(step, Step::Append { .. })).count();
        self.report.known += (session.messages.len() - appended) as u64;
        let others = other.as_ref().map(|(_, family)| family);
        let done = self.carry_out(session, &steps, &mut family, others, home, modified).await;
        if let Some((main, other)) = other {
            self.keep(main, other);
        }
        let home = match (home, &done) {
            (Some(home), _) => Some(home),
            (None, Ok(made)) => *made,
            (None, Err(_)) => None,
        };
        if let Some(home) = home {
            self.homes.insert(key.clone(), home);
            if let Some(main) = family.main(&session.id) {
                self.mains.insert(key, main);
            }
            self.keep(home, family);
        }
        done?;
        let threads: usize = self.gathered.iter().map(|gathered| gathered.arrivals.len()).sum();
        if self.gathered_bytes >= GATHERED_BYTES_MAX || threads >= GATHERED_THREADS_MAX {
            self.flush().await?;
        }
        Ok(())
    }

    /// Commits everything that was gathered.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        let gathered = std::mem::take(&mut self.gathered);
        self.gathered_bytes = 0;
        if gathered.is_empty() {
            return Ok(());
        }
        let all: Vec<&Arrival> = gathered.iter().flat_map(|gathered| &gathered.arrivals).collect();
        match self.engine.bring(&all).await {
            Ok(firsts) => {
                let mut firsts = firsts.into_iter();
                for gathered in gathered {
                    let own: Vec<MessageId> = firsts.by_ref().take(gathered.arrivals.len()).collect();
                    self.arrived(gathered, &own);
                }
                Ok(())
            }
            // One of them cannot be written: each goes alone, so that it keeps no other back.
            Err(error) if !is_fatal(&error) => {
                for gathered in gathered {
                    self.bring_alone(gathered).await?;
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn bring_alone(&mut self, mut gathered: Gathered) -> Result<(), Error> {
        let mut brought = self.engine.bring(&gathered.arrivals.iter().collect::<Vec<_>>()).await;
        if let Err(Error::ThreadNotFound { .. }) = &brought {
            // The thread that a subagent worked for is gone.
            for arrival in gathered.arrivals.iter_mut().filter(|it| matches!(it.begins, Begins::Subagent { .. })) {
                arrival.begins = Begins::Anew;
            }
            brought = self.engine.bring(&gathered.arrivals.iter().collect::<Vec<_>>()).await;
        }
        let error = match brought {
            Ok(firsts) => {
                self.arrived(gathered, &firsts);
                return Ok(());
            }
            Err(error) if is_fatal(&error) => return Err(error),
            Err(error) => error,
        };
        drop(self.release(gathered.home));
        self.report.threads -= gathered.threads;
        self.report.branches -= gathered.arrivals.len() as u64 - gathered.threads;
        self.report.messages -= gathered.said.iter().map(|said| said.len() as u64).sum::<u64>();
        match error {
            Error::Store(StoreError::ThreadTaken { thread }) if find(&self.engine, thread).await?.is_none() => {
                self.report.deleted += 1;
            }
            error => {
                self.skipped(1, &format!("{} session {}", gathered.source, gathered.session), &error.to_string());
                self.failed.insert((gathered.source, gathered.session));
            }
        }
        Ok(())
    }

    /// Remembers where the messages of new threads are.
    fn arrived(&mut self, gathered: Gathered, firsts: &[MessageId]) {
        let mut family = self.release(gathered.home).unwrap_or_default();
        let each = gathered.arrivals.into_iter().zip(gathered.said).zip(gathered.is_main).zip(firsts);
        for (((arrival, said), is_main), first) in each {
            let title = arrival.record.title.filter(|_| is_main);
            let session = gathered.session.clone();
            let known = Known { session, is_main, follows: true, last: None, updated: None, title };
            family.threads.insert(arrival.id, known);
            let times = arrival.messages.iter().map(ToldMessage::time);
            for (count, ((id, sum), time)) in said.into_iter().zip(times).enumerate() {
                family.wrote(id, time, At { thread: arrival.id, message: nth(*first, count), sum });
            }
        }
        self.keep(gathered.home, family);
    }
}

pub(super) fn nth(first: MessageId, count: usize) -> MessageId {
    MessageId { position: Position(first.position.0 + count as u64), ..first }
}

/// Whether nothing more can be written: the store fails, and not one session.
fn is_fatal(error: &Error) -> bool {
    match error {
        Error::Store(StoreError::ThreadTaken { .. }) => false,
        Error::Store(_) | Error::NotAllowed { .. } | Error::Busy => true,
        _ => false,
    }
}
