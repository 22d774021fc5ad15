//! `observe`, `unobserve`: this thread is told what happens to another one.
//!
//! Who is told, and when, is next door, in `observers`.

use std::sync::Arc;

use threadkeep_model::{
    Actor, Deliver, Entry, Head, Invalid, ItemKind, NewEntry, ObserverAdded, ObserverRemoved, ThreadId, ThreadName,
    Timestamp, Uuid,
};
use threadkeep_store::{Item, ItemQuery};

use super::write;
use crate::approvals::not_an_item;
use crate::gate::{Change, open_for};
use crate::{Engine, Error, Result, ThreadEvent};

/// Longest address of a webhook, in bytes.
const URL_BYTES_MAX: usize = 2_048;
/// Most observers of a thread.
const OBSERVERS_MAX: usize = 100;

/// Another thread that this one shall be told of.
#[derive(Debug, Clone)]
pub struct Observe {
    /// Which one. It belongs to the same account.
    pub target: ThreadName,
    /// Of what; of everything if nothing is said.
    pub events: Vec<ThreadEvent>,
    /// Where that goes.
    pub deliver: Deliver,
}

/// Tells a thread no more of another one.
#[derive(Debug, Clone, Copy)]
pub struct Unobserve {
    /// The observer.
    pub id: Uuid,
}

/// What a thread is told of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadObserver {
    /// The thread that is told.
    pub thread: ThreadId,
    /// What it is told.
    pub added: ObserverAdded,
    /// Who asked for it.
    pub by: Arc<Actor>,
    /// When.
    pub at: Timestamp,
    /// Whether what asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub holds: bool,
}

impl Engine {
    /// Has `thread` told of what happens to another one from now on; what comes of it is delivered by whoever runs
    /// [`Engine::run_observers`].
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`], of either: both belong to the caller; [`Error::ThreadClosed`]; an address that is no
    /// http or https URL, or holds credentials; more than 100 observers.
    pub async fn observe_thread(&self, thread: ThreadId, observe: Observe) -> Result<ThreadObserver> {
        let mut events = observe.events;
        if events.is_empty() {
            events = ThreadEvent::ALL.to_vec();
        }
        let named = |event: ThreadEvent| event.as_str().to_owned();
        let events: Vec<String> =
            ThreadEvent::ALL.into_iter().filter(|event| events.contains(event)).map(named).collect();
        if let Deliver::Webhook(url) = &observe.deliver {
            check_url(url)?;
        }
        let id = Uuid::from_chance(self.shared.world.chance());
        let (committed, added) = self
            .settle(thread, || async {
                let own = self.thread(thread).await?;
                open_for(&own, Change::Content)?;
                let target = self.thread(observe.target).await?.id;
                let query = ItemQuery { thread, kind: ItemKind::Observer, key: None, limit: OBSERVERS_MAX };
                if self.shared.stores.store.items(query).await?.len() >= OBSERVERS_MAX {
                    let rule =
                        format!("the thread has {OBSERVERS_MAX} observers, which is as many as it may; remove one");
                    return Err(Invalid::body("target", rule).into());
                }
                let added = ObserverAdded { id, target, events: events.clone(), deliver: observe.deliver.clone() };
                let entry = NewEntry::new(&Entry::Observed(added.clone()));
                Ok((self.commit(vec![write(&own, None, None, vec![entry], None)]), added))
            })
            .await?;
        let at = committed.threads.first().ok_or(Error::Busy)?.time;
        Ok(ThreadObserver { thread, added, by: Arc::new(self.caller.actor.clone()), at, holds: true })
    }

    /// What a thread is told of others, as far as it holds, in the order in which that was asked.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn observers(&self, thread: ThreadId) -> Result<Vec<ThreadObserver>> {
        let own = self.thread(thread).await?;
        let query = ItemQuery { thread, kind: ItemKind::Observer, key: None, limit: usize::MAX };
        let mut observers = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            observers.push(self.read_observer(thread, &own.head, &item).await?);
        }
        observers.retain(|observer| observer.holds);
        Ok(observers)
    }

    /// One observer of a thread.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ObserverNotFound`].
    pub async fn observer(&self, thread: ThreadId, id: Uuid) -> Result<ThreadObserver> {
        let own = self.thread(thread).await?;
        let query = ItemQuery { thread, kind: ItemKind::Observer, key: Some(id.to_string()), limit: 1 };
        let found = self.shared.stores.store.items(query).await?.into_iter().next();
        let item = found.ok_or(Error::ObserverNotFound { observer: id })?;
        self.read_observer(thread, &own.head, &item).await
    }

    /// Takes an observer away; false if there is none.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn unobserve(&self, thread: ThreadId, unobserve: Unobserve) -> Result<bool> {
        self.remove_observer(thread, unobserve.id, None).await
    }

    pub(crate) async fn remove_observer(&self, thread: ThreadId, id: Uuid, reason: Option<String>) -> Result<bool> {
        let removed = self
            .settle(thread, || async {
                let own = self.thread(thread).await?;
                self.observer(thread, id).await?;
                let entry = NewEntry::new(&Entry::ObserverRemoved(ObserverRemoved { id, reason: reason.clone() }));
                Ok((self.commit(vec![write(&own, None, None, vec![entry], None)]), ()))
            })
            .await;
        match removed {
            Ok(_) => Ok(true),
            Err(Error::ObserverNotFound { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn read_observer(&self, thread: ThreadId, head: &Head, item: &Item) -> Result<ThreadObserver> {
        match self.decode(&item.entry).await? {
            Entry::Observed(added) => {
                let holds = self.is_in_view(head, item.born).await?;
                Ok(ThreadObserver { thread, added, by: Arc::clone(&item.entry.actor), at: item.made, holds })
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}

/// Refuses what is no address of a webhook. Where it leads is for the server to look at, each time.
fn check_url(url: &str) -> Result<(), Invalid> {
    let refused = |rule: &str| Err(Invalid::body("deliver.webhook", rule));
    if url.len() > URL_BYTES_MAX || url.bytes().any(|byte| byte.is_ascii_control() || byte == b' ') {
        return refused("is an address of at most 2048 bytes, without spaces");
    }
    let scheme = ["https://", "http://"].into_iter().find_map(|scheme| {
        url.get(..scheme.len()).filter(|start| start.eq_ignore_ascii_case(scheme)).map(|_| &url[scheme.len()..])
    });
    let Some(rest) = scheme else { return refused("begins with https:// or http://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return refused("must not hold credentials: a webhook is signed instead");
    }
    if authority.is_empty() || authority.starts_with(':') {
        return refused("names no host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_url;

    #[test]
    fn an_address_of_a_webhook_has_a_scheme_a_host_and_no_credentials() {
        for url in ["https://example.com", "HTTP://example.com:8080/a?b=c#d", "https://[::1]/hook"] {
            assert!(check_url(url).is_ok(), "{url}");
        }
        for url in [
            "",
            "example.com",
            "ftp://example.com",
            "https://",
            "https:///a",
            "https://:80/",
            "https://a:b@c/",
            "http://a b",
        ] {
            assert!(check_url(url).is_err(), "{url}");
        }
    }
}
