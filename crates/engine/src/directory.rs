//! The directory: which cell each account lives in.
//!
//! A cell is a store with some of the accounts. The directory is in the registry of one of them, the home cell, which also
//! has the keys. So all servers share it, and a change of a line is atomic. How an account moves is next door, in `moving`.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use threadkeep_model::Account;
use threadkeep_store::{Archived, BoxFuture, ListQuery, Registered, RegistryKind, RegistryQuery, StoreError};

use crate::{Engine, Error, Result};

/// Which cell each account lives in.
#[derive(Clone)]
pub struct Directory {
    home: Engine,
    names: Arc<CellNames>,
}

/// The names of the cells, as a file of cells gives them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellNames {
    /// The cell with the keys and the directory.
    pub home: String,
    /// The cell for accounts that were never seen.
    pub new_accounts: String,
    /// All of them.
    pub all: Vec<String>,
}

/// A line of the directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) cell: String,
    /// The move that may change it. A move that begins takes it over, and an earlier one then changes nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    moved_by: Option<String>,
}

impl Line {
    /// The name of the move that claimed it, for notes of fences.
    pub(crate) fn claimed_by(&self) -> &str {
        self.moved_by.as_deref().unwrap_or_default()
    }
}

impl Directory {
    /// The directory in the registry of `home`.
    pub fn new(home: Engine, names: CellNames) -> Self {
        Self { home, names: Arc::new(names) }
    }

    /// The names of the cells.
    pub fn names(&self) -> &CellNames {
        &self.names
    }

    /// The cell of an account. An account that is not in the directory gets its line now: the home cell if that has
    /// something of it, because the home cell may have been the only store before; else the cell for new accounts.
    ///
    /// # Errors
    /// If the home cell cannot be reached; if the line names a cell that the file of cells does not.
    pub fn cell_of<'a>(&'a self, account: &'a Account) -> BoxFuture<'a, Result<String>> {
        Box::pin(async move {
            if let Some(line) = self.line(account).await? {
                return self.known(account, line.cell);
            }
            let cell = match self.names.new_accounts == self.names.home || self.is_at_home(account).await? {
                true => self.names.home.clone(),
                false => self.names.new_accounts.clone(),
            };
            let line = Line { cell: cell.clone(), moved_by: None };
            if self.home.registry_over(self.document(account, &line)?, None).await? {
                return Ok(cell);
            }
            // Another server was faster, and its line counts.
            let line = self.line(account).await?.ok_or_else(|| Error::broken("a line of the directory stays"))?;
            self.known(account, line.cell)
        })
    }

    /// Takes the line of an account for a move. Moves that took it before cannot change it any more.
    ///
    /// # Errors
    /// As [`Directory::cell_of`]; [`Error::Busy`] if other moves begin at the same time.
    pub(crate) async fn claim(&self, account: &Account) -> Result<Line> {
        self.cell_of(account).await?;
        let before = self.line(account).await?.ok_or_else(|| Error::broken("a line of the directory stays"))?;
        let token = format!("{:032x}", self.home.shared.world.chance());
        let claimed = Line { moved_by: Some(token), ..before.clone() };
        if self.change(account, &before, &claimed).await? { Ok(claimed) } else { Err(Error::Busy) }
    }

    /// Changes the line that was claimed to another cell.
    ///
    /// # Errors
    /// [`Error::CopyDiffers`] if another move took the line over.
    pub(crate) async fn switch(&self, account: &Account, claimed: &Line, to: &str) -> Result<Line> {
        let switched = Line { cell: to.to_owned(), ..claimed.clone() };
        if self.change(account, claimed, &switched).await? {
            return Ok(switched);
        }
        Err(taken_over(account))
    }

    /// Refuses to go on with a move whose line another move took over.
    ///
    /// # Errors
    /// [`Error::CopyDiffers`] if it did.
    pub(crate) async fn still(&self, account: &Account, claimed: &Line) -> Result<()> {
        if self.line(account).await?.as_ref() == Some(claimed) { Ok(()) } else { Err(taken_over(account)) }
    }

    async fn change(&self, account: &Account, before: &Line, after: &Line) -> Result<bool> {
        let before = self.document(account, before)?.json;
        self.home.registry_over(self.document(account, after)?, Some(before)).await
    }

    async fn line(&self, account: &Account) -> Result<Option<Line>> {
        let registry = &self.home.shared.stores.registry;
        let found = registry.registered(RegistryKind::Place, vec![account.as_str().to_owned()]).await?.pop();
        let wrong = |error| StoreError::corrupt(format!("the directory, at account {}: {error}", account.as_str()));
        Ok(found.map(|found| serde_json::from_str(&found.json).map_err(wrong)).transpose()?)
    }

    fn document(&self, account: &Account, line: &Line) -> Result<Registered> {
        let json = serde_json::to_string(line).map_err(|_| Error::broken("a line can be written as JSON"))?;
        let (id, created) = (account.as_str().to_owned(), self.home.shared.now());
        Ok(Registered { kind: RegistryKind::Place, id, account: account.clone(), json, created })
    }

    fn known(&self, account: &Account, cell: String) -> Result<String> {
        if self.names.all.contains(&cell) {
            return Ok(cell);
        }
        let what = format!("account {} is in cell {cell}, which the file of cells does not name", account.as_str());
        Err(StoreError::Unavailable { what }.into())
    }

    /// Whether the home cell has threads or documents of the account. Its keys do not count: those of all are there.
    async fn is_at_home(&self, account: &Account) -> Result<bool> {
        let stores = &self.home.shared.stores;
        let mut any = ListQuery::of(account.clone(), 1);
        any.filter.archived = Archived::Any;
        if !stores.store.list(any).await?.is_empty() {
            return Ok(true);
        }
        for kind in RegistryKind::OF_ACCOUNTS {
            let query = RegistryQuery { kind, account: Some(account.clone()), after: None, limit: 1 };
            if !stores.registry.registry(query).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

pub(crate) fn taken_over(account: &Account) -> Error {
    Error::CopyDiffers { what: format!("another move of account {} was begun", account.as_str()) }
}

impl Engine {
    async fn registry_over(&self, document: Registered, before: Option<String>) -> Result<bool> {
        Ok(self.shared.stores.registry.register_over(document, before).await?)
    }

    /// Says which accounts live in this store, where there are several: a thread cannot go to an account of another one.
    /// It is told once, before the engine is used.
    pub fn live_among(&self, neighbours: Arc<dyn Neighbours>) {
        // If it was told before, that stays.
        drop(self.shared.room::<Neighbourhood>().0.set(neighbours));
    }

    /// Refuses an account that lives in another cell.
    pub(crate) async fn admit_owner(&self, account: &Account) -> Result<()> {
        match self.shared.room::<Neighbourhood>().0.get() {
            Some(neighbours) if !neighbours.lives_here(account).await? => {
                Err(Error::OtherCell { what: format!("account {} lives in another cell", account.as_str()) })
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Knows which accounts live in a store.
pub trait Neighbours: Send + Sync {
    /// Whether the account lives in this store.
    fn lives_here<'a>(&'a self, account: &'a Account) -> BoxFuture<'a, Result<bool>>;
}

/// Those that a store lives among, where it was told.
#[derive(Default)]
pub(crate) struct Neighbourhood(OnceLock<Arc<dyn Neighbours>>);

#[cfg(test)]
mod tests {
    use threadkeep_store::{MemoryStore, Stores};

    use super::*;
    use crate::{Limits, World};

    /// A world in which only chance goes on.
    #[derive(Default)]
    struct Still(std::sync::atomic::AtomicU64);

    impl World for Still {
        fn now(&self) -> threadkeep_model::Timestamp {
            threadkeep_model::Timestamp::from_micros(1)
        }

        fn chance(&self) -> u128 {
            u128::from(self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
        }
    }

    fn names(new_accounts: &str) -> CellNames {
        let all = ["a", "b"].map(str::to_owned).to_vec();
        CellNames { home: "a".to_owned(), new_accounts: new_accounts.to_owned(), all }
    }

    fn engine() -> Engine {
        Engine::new(Stores::of(MemoryStore::new()), Arc::new(Still::default()), Limits::default())
    }

    #[tokio::test]
    async fn an_account_stays_where_it_was_first_seen_and_what_home_has_is_at_home() {
        let home = engine();
        let [ann, bob] = ["ann", "bob"].map(|name| Account::new(name).expect("an account"));
        let project = Registered {
            kind: RegistryKind::Project,
            id: "p".into(),
            account: ann.clone(),
            json: "{}".into(),
            created: threadkeep_model::Timestamp::from_micros(1),
        };
        home.shared.stores.registry.register(project).await.expect("registered");
        let directory = Directory::new(home.clone(), names("b"));
        assert_eq!(directory.cell_of(&ann).await.expect("a cell"), "a", "it has a project at home");
        assert_eq!(directory.cell_of(&bob).await.expect("a cell"), "b");
        let later = Directory::new(home.clone(), names("a"));
        assert_eq!(later.cell_of(&bob).await.expect("a cell"), "b", "its line stays");
        let first = directory.claim(&bob).await.expect("a claim");
        let second = directory.claim(&bob).await.expect("a claim");
        assert!(directory.switch(&bob, &first, "a").await.is_err(), "another move was begun");
        assert!(directory.still(&bob, &first).await.is_err());
        directory.still(&bob, &second).await.expect("its own");
        let switched = directory.switch(&bob, &second, "a").await.expect("a switch");
        assert_eq!(directory.cell_of(&bob).await.expect("a cell"), "a");
        assert!(directory.switch(&bob, &second, "a").await.is_err(), "it is not in b any more");
        let fewer = CellNames { all: vec!["a".to_owned()], ..names("a") };
        directory.switch(&bob, &switched, "b").await.expect("a switch");
        let error = Directory::new(home, fewer).cell_of(&bob).await.expect_err("an unknown cell");
        assert!(error.to_string().contains("cell b, which the file of cells does not name"), "{error}");
    }
}
