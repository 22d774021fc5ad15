//! Access rules: the one decision that every surface rests on.
//!
//! An account does everything with its own threads. Everyone may read, follow, refer to and fork a public thread;
//! only its owner may change it. Every other thread of another account is answered like an unknown id.
//!
//! Publishing a thread publishes its history, including messages edited or deleted before.

use std::collections::{HashMap, HashSet};

use threadkeep_model::{Account, Thread, ThreadId, ThreadName, Visibility};

use crate::{Engine, Error, Result};

/// The kind of access that a caller wants to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Read its record, its messages or its history.
    Read,
    /// Follow its history live.
    Stream,
    /// Begin a thread of their own that shares its history.
    Fork,
    /// Refer to it from a thread of their own.
    Reference,
    /// Read the files of a thread.
    ReadFile,
    /// See it in a list.
    List,
    /// Find it by its text.
    Search,
    /// Change it, or see the parts that only its owner sees.
    Change,
}

/// The caller's relation to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The account owns the thread.
    Owner,
    /// It belongs to another account, and is public.
    Visitor,
}

/// The relation of `caller` to a thread of `owner`; none if they may not know that it exists.
pub fn standing(caller: &Account, owner: &Account, visibility: Visibility, verb: Verb) -> Option<Standing> {
    // An identity that is empty never owns anything.
    if caller == owner && !caller.is_nobody() {
        return Some(Standing::Owner);
    }
    match (visibility, verb) {
        // Invariant: a private thread of another account answers like an unknown id.
        (Visibility::Private, _) => None,
        (Visibility::Public, Verb::Read | Verb::Stream | Verb::Fork | Verb::Reference | Verb::ReadFile) => {
            Some(Standing::Visitor)
        }
        // Lists and searches are bounded by the account, also when other accounts publish threads.
        (Visibility::Public, Verb::List | Verb::Search | Verb::Change) => None,
    }
}

/// Takes out of `thread` where it was forked from, unless that thread is among those that the caller may know of.
pub(crate) fn conceal_origin(thread: &mut Thread, known: &HashMap<ThreadId, Standing>) {
    if thread.record.origin_thread_id.is_some_and(|origin| !known.contains_key(&origin)) {
        thread.record.origin_thread_id = None;
    }
}

impl Engine {
    /// Those of `threads` that the caller may know of, in one read.
    pub(crate) async fn known(
        &self,
        threads: impl IntoIterator<Item = ThreadId>,
    ) -> Result<HashMap<ThreadId, Standing>> {
        let asked: HashSet<ThreadId> = threads.into_iter().collect();
        if asked.is_empty() {
            return Ok(HashMap::new());
        }
        let found = self.shared.stores.store.owners(asked.into_iter().collect()).await?;
        let seen = found.into_iter().filter_map(|(thread, owner, visibility)| {
            Some((thread, standing(&self.caller.account, &owner, visibility, Verb::Read)?))
        });
        Ok(seen.collect())
    }

    /// Takes out of `threads` where they were forked from, unless the caller may know that thread: it may have been
    /// public when it was forked, and private now. The caller knows the thread that the call `named`: a fork of it needs
    /// no look at it.
    pub(crate) async fn conceal_origins(&self, threads: Vec<&mut Thread>, named: Option<ThreadId>) -> Result<()> {
        let origins = threads.iter().filter_map(|thread| thread.record.origin_thread_id);
        let mut known = self.known(origins.filter(|origin| Some(*origin) != named)).await?;
        known.extend(named.map(|named| (named, Standing::Visitor)));
        threads.into_iter().for_each(|thread| conceal_origin(thread, &known));
        Ok(())
    }

    /// The thread that `name` names, for a caller that wants this access, and the caller's relation to it.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`] if there is none, or the caller may not know that it exists.
    pub async fn seen(&self, name: impl Into<ThreadName>, verb: Verb) -> Result<(Thread, Standing)> {
        let name = name.into();
        let found = self.shared.stores.store.thread(name).await?;
        let seen = found.and_then(|thread| {
            let standing = standing(&self.caller.account, &thread.account, thread.record.visibility, verb)?;
            Some((thread, standing))
        });
        seen.ok_or(Error::ThreadNotFound { thread: name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERBS: [Verb; 8] =
        [Verb::Read, Verb::Stream, Verb::Fork, Verb::Reference, Verb::ReadFile, Verb::List, Verb::Search, Verb::Change];

    #[test]
    fn owners_do_everything_visitors_read_and_fork_what_is_public_and_nobody_owns_nothing() {
        let account = |name: &str| Account::new(name).expect("an account");
        let (ann, bob, nobody) = (account("ann"), account("bob"), Account::nobody());
        for verb in VERBS {
            for visibility in [Visibility::Private, Visibility::Public] {
                assert_eq!(standing(&ann, &ann, visibility, verb), Some(Standing::Owner), "{verb:?}");
                assert_ne!(standing(&nobody, &nobody, visibility, verb), Some(Standing::Owner), "{verb:?}");
            }
            assert_eq!(standing(&bob, &ann, Visibility::Private, verb), None, "{verb:?}");
            let visits = !matches!(verb, Verb::List | Verb::Search | Verb::Change);
            for caller in [&bob, &nobody] {
                let visitor = visits.then_some(Standing::Visitor);
                assert_eq!(standing(caller, &ann, Visibility::Public, verb), visitor, "{verb:?}");
            }
        }
    }
}
