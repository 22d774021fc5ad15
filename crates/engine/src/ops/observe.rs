//! `observe`, `unobserve`: this thread is told about events of another one.
//!
//! The delivery is next door, in `observers`.

use threadkeep_calls::{
    At, Deleted, Deliver, GetObserver, ListObservers, Observe, Observer, Page, ThreadEvent, Unobserve,
};
use threadkeep_model::{
    Actor, Entry, Head, Invalid, ItemKind, ObserverAdded, ObserverRemoved, Thread, ThreadId, Timestamp, Uuid,
};
use threadkeep_store::{BoxFuture, Item, ItemQuery};

use crate::approvals::not_an_item;
use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::secrets::hmac_sha256;
use crate::{Engine, Error, Result};

/// The name of the secret from which those of webhooks are made.
const WEBHOOK_SECRET: &str = "webhooks";
/// Longest address of a webhook, in bytes.
const URL_BYTES_MAX: usize = 2_048;
/// Most observers of a thread.
const OBSERVERS_MAX: usize = 100;

impl Carry for Observe {
    type Made = Observer;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Observer> {
        let asked = |event: &ThreadEvent| self.events.is_empty() || self.events.contains(event);
        let events = ThreadEvent::ALL.into_iter().filter(asked);
        let events: Vec<String> = events.map(|event| event.as_str().to_owned()).collect();
        if let Deliver::Webhook(url) = &self.deliver {
            check_url(url)?;
        }
        let id = Uuid::from_chance(engine.shared.world.chance());
        let told = engine
            .tell(thread, || async {
                let own = engine.thread(thread).await?;
                let target = engine.thread(self.target).await?.id;
                let query = ItemQuery { thread, kind: ItemKind::Observer, key: None, limit: OBSERVERS_MAX };
                let observing = engine.shared.stores.store.items(query).await?.len();
                let (events, deliver) = (events.clone(), self.deliver.clone().into());
                decide(own, ObserverAdded { id, target, events, deliver }, observing)
            })
            .await?;
        match told.entries.into_iter().next() {
            Some(Entry::Observed(added)) => {
                let secret = engine.webhook_secret(&added).await?;
                Ok(Observer { secret, ..shown(thread, added, &told.by, told.place.time, true) })
            }
            _ => Err(Error::broken("an observer is one entry")),
        }
    }
}

/// The plan, for a thread that observes `observing` others.
fn decide(own: Thread, added: ObserverAdded, observing: usize) -> Result<Plan> {
    open_for(&own, Change::Content)?;
    if observing >= OBSERVERS_MAX {
        let rule = format!("the thread has {OBSERVERS_MAX} observers, the maximum; remove one first");
        return Err(Invalid::body("target", rule).into());
    }
    Ok(Plan::new(own, vec![Entry::Observed(added)]))
}

/// An observer in the form of the API.
fn shown(thread: ThreadId, added: ObserverAdded, by: &Actor, created_at: Timestamp, holds: bool) -> Observer {
    let ObserverAdded { id, target, events, deliver } = added;
    let (deliver, created_by) = (deliver.into(), by.clone());
    Observer { id, thread_id: thread, target, events, deliver, secret: None, created_by, created_at, holds }
}

impl Carry for ListObservers {
    type Made = Page<Observer>;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Page<Observer>> {
        let observers = engine.observers(thread).await?;
        engine.part(thread, observers, (self.limit, self.cursor), |item| format!("observer {}", item.id))
    }
}

impl Carry for GetObserver {
    type Made = Observer;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Observer> {
        engine.observer(thread, self.observer).await
    }
}

impl Carry for Unobserve {
    type Made = Deleted;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Deleted> {
        Ok(Deleted { deleted: engine.remove_observer(thread, self.observer, None).await? })
    }
}

impl Engine {
    /// The secret that signs the posts of an observer: derived from one secret of the store and the observer's id, so
    /// none is kept.
    pub(crate) async fn webhook_secret(&self, added: &ObserverAdded) -> Result<Option<String>> {
        match &added.deliver {
            threadkeep_model::Deliver::Thread => Ok(None),
            threadkeep_model::Deliver::Webhook(_) => self.observer_secret(added.id).await.map(Some),
        }
    }

    /// The secret that signs the posts of this observer.
    ///
    /// # Errors
    /// If the store cannot be read or written.
    pub fn observer_secret(&self, observer: Uuid) -> BoxFuture<'_, Result<String>> {
        Box::pin(async move {
            let of_all = self.service_secret(WEBHOOK_SECRET).await?;
            Ok(format!("whsec_{}", hmac_sha256(of_all.as_bytes(), observer.to_string().as_bytes())))
        })
    }

    /// The observers that a thread added, as far as they hold, in the order in which it added them.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub fn observers(&self, thread: ThreadId) -> BoxFuture<'_, Result<Vec<Observer>>> {
        Box::pin(async move {
            let own = self.thread(thread).await?;
            let query = ItemQuery { thread, kind: ItemKind::Observer, key: None, limit: usize::MAX };
            let mut observers = Vec::new();
            for item in self.shared.stores.store.items(query).await? {
                observers.push(self.read_observer(thread, &own.head, &item).await?);
            }
            observers.retain(|observer| observer.holds);
            Ok(observers)
        })
    }

    /// One observer of a thread.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`]; [`Error::ObserverNotFound`].
    pub fn observer(&self, thread: ThreadId, id: Uuid) -> BoxFuture<'_, Result<Observer>> {
        Box::pin(async move {
            let own = self.thread(thread).await?;
            let query = ItemQuery { thread, kind: ItemKind::Observer, key: Some(id.to_string()), limit: 1 };
            let found = self.shared.stores.store.items(query).await?.into_iter().next();
            let item = found.ok_or(Error::ObserverNotFound { observer: id })?;
            self.read_observer(thread, &own.head, &item).await
        })
    }

    /// Stops telling a thread of another one; false if there is no such observer.
    ///
    /// # Errors
    /// [`Error::ThreadNotFound`].
    pub async fn unobserve(&self, at: impl Into<At>, unobserve: Unobserve) -> Result<bool> {
        Ok(self.call(at, unobserve).await?.deleted)
    }

    pub(crate) async fn remove_observer(&self, thread: ThreadId, id: Uuid, reason: Option<String>) -> Result<bool> {
        let told = self
            .tell(thread, || async {
                let own = self.thread(thread).await?;
                let removed = match self.observer(thread, id).await {
                    Ok(_) => Some(ObserverRemoved { id, reason: reason.clone() }),
                    Err(Error::ObserverNotFound { .. }) => None,
                    Err(error) => return Err(error),
                };
                Ok(Plan::new(own, removed.map(Entry::ObserverRemoved).into_iter().collect()))
            })
            .await?;
        Ok(!told.entries.is_empty())
    }

    pub(crate) async fn read_observer(&self, thread: ThreadId, head: &Head, item: &Item) -> Result<Observer> {
        match self.decode(&item.entry).await? {
            Entry::Observed(added) => {
                let holds = self.is_in_view(head, item.born).await?;
                Ok(shown(thread, added, &item.entry.actor, item.made, holds))
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}

/// Checks the form of a webhook's address. The server checks where it leads, each time.
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
