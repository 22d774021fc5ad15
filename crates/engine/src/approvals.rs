//! Approvals: reading them, answering them, and applying the fallback after a timeout.
//!
//! They belong to the record: no lease guards them, and no rollback takes an answer back. But an approval does
//! not hold while the entry that asked for it is undone by a rollback: each read checks that. Delegations are
//! next door.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;

use threadkeep_calls::{Approval, Approve, Deny, GetApproval, ListApprovals, ListedState, Page, RevokeApproval};
use threadkeep_model::{
    Actor, ActorKind, ApprovalAnswered, ApprovalAsked, ApprovalState, Bounds, Caller, Capability, Entry, Fallback,
    Head, ItemKind, MessageId, Thread, ThreadId, Timestamp, Uuid, Wait, checked_reason,
};
use threadkeep_store::{BoxFuture, Item, ItemList, ItemQuery, StoreError};

use crate::ground::carry::Carry;
use crate::ground::cursor;
use crate::ground::open_run::wakes;
use crate::ground::plan::Plan;
use crate::{Engine, Error, Result};

/// Items read at once where a list is filtered.
const READ_AT_ONCE: usize = 200;

/// An approval with all that the log says of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Held {
    /// The thread it is about.
    pub(crate) thread: ThreadId,
    pub(crate) asked: ApprovalAsked,
    /// Pending, approved, denied or revoked.
    pub(crate) state: ApprovalState,
    /// Who answered, unless it is pending.
    pub(crate) answered: Option<ApprovalAnswer>,
    /// Whether it is still pending after its deadline.
    pub(crate) overdue: bool,
    /// Whether the entry that asked for it is in view: a rollback undoes it, and an undo brings it back.
    pub(crate) holds: bool,
}

/// How an approval was answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ApprovalAnswer {
    pub(crate) by: Arc<Actor>,
    pub(crate) at: Timestamp,
    /// Whether it was answered by its fallback, after the deadline.
    pub(crate) timed_out: bool,
    pub(crate) reason: Option<String>,
}

impl Held {
    fn pending(thread: ThreadId, asked: ApprovalAsked) -> Self {
        Self { thread, asked, state: ApprovalState::Pending, answered: None, overdue: false, holds: true }
    }
}

/// The answer to an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Approve,
    Deny,
    /// The caller withdraws its request, or a human revokes an approval.
    Revoke,
}

impl From<Held> for Approval {
    fn from(held: Held) -> Self {
        let Held { thread, asked, state, answered, overdue, holds } = held;
        let ApprovalAsked { id, scope, reason, timeout_at, fallback, can_revoke, merge: _, call, asked_by, asked_at } =
            asked;
        let answered = answered.as_ref();
        Self {
            id,
            thread_id: thread,
            scope,
            reason,
            state,
            asked_by,
            asked_at,
            timeout_at,
            fallback,
            can_revoke,
            call,
            overdue,
            holds,
            answered_by: answered.map(|answer| (*answer.by).clone()),
            answered_at: answered.map(|answer| answer.at),
            answer_reason: answered.and_then(|answer| answer.reason.clone()),
            timed_out: answered.is_some_and(|answer| answer.timed_out),
        }
    }
}

impl Carry for ListApprovals {
    type Made = Page<Approval>;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Page<Approval>> {
        engine.approvals(self).await
    }
}

impl Carry for GetApproval {
    type Made = Approval;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Approval> {
        engine.approval(self.approval).await
    }
}

impl Carry for Approve {
    type Made = Approval;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Approval> {
        engine.answer(Verdict::Approve, self.approval, self.reason).await
    }
}

impl Carry for Deny {
    type Made = Approval;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Approval> {
        engine.answer(Verdict::Deny, self.approval, self.reason).await
    }
}

impl Carry for RevokeApproval {
    type Made = Approval;

    async fn carry(self, engine: &Engine, _: ThreadId) -> Result<Approval> {
        engine.answer(Verdict::Revoke, self.approval, self.reason).await
    }
}

impl Engine {
    /// The approvals of the account that hold, in the order in which they were asked.
    ///
    /// # Errors
    /// A limit out of range; a cursor that is malformed; [`Error::ThreadNotFound`].
    pub fn approvals(&self, asked: ListApprovals) -> BoxFuture<'_, Result<Page<Approval>>> {
        Box::pin(async move {
            let limit = self.page_limit(asked.limit)?;
            let state = asked.state.unwrap_or(ListedState::Pending).state();
            let mut heads: HashMap<ThreadId, Option<Head>> = HashMap::new();
            let mut page = Page::new(Vec::new(), None, None);
            let only = match asked.thread_id {
                Some(name) => Some(self.thread(name).await?.id),
                None => None,
            };
            let list = ("approvals", self.caller.account.clone(), only, state);
            let mut after = asked.cursor.as_deref().map(|cursor| decode_cursor(&list, cursor)).transpose()?;
            loop {
                let some = self.approval_items(only, after.clone()).await?;
                let is_last = some.len() < READ_AT_ONCE;
                for (thread, item) in some {
                    if page.items.len() == limit {
                        page.next_cursor = after.map(|after| encode_cursor(&list, &after));
                        return Ok(page);
                    }
                    after = Some((item.made, item.key.clone()));
                    if item.due.is_some_and(|due| due <= self.shared.now()) {
                        self.time_out(thread, &item.key).await?;
                    }
                    let head = match heads.get(&thread) {
                        Some(head) => *head,
                        None => *heads.entry(thread).or_insert(self.shared.stores.store.head(thread).await?),
                    };
                    // It was deleted in between.
                    let Some(head) = head else { continue };
                    let item =
                        if item.due.is_some() { self.approval_item(thread, &item.key).await? } else { Some(item) };
                    let Some(item) = item else { continue };
                    let approval = self.read_approval(thread, &head, &item).await?;
                    if approval.holds && state.is_none_or(|state| state == approval.state) {
                        page.items.push(approval.into());
                    }
                }
                if is_last {
                    return Ok(page);
                }
            }
        })
    }

    /// Approvals after a place, of one thread or of the account, in the order in which they were asked.
    async fn approval_items(
        &self,
        thread: Option<ThreadId>,
        after: Option<(Timestamp, String)>,
    ) -> Result<Vec<(ThreadId, Item)>> {
        let kind = ItemKind::Approval;
        let Some(thread) = thread else {
            let account = Some(self.caller.account.clone());
            let list = ItemList { kind, account, after, limit: READ_AT_ONCE };
            return Ok(self.shared.stores.store.all_items(list).await?);
        };
        let query = ItemQuery { thread, kind, key: None, limit: usize::MAX };
        let mut items = self.shared.stores.store.items(query).await?;
        items.sort_by(|one, other| (one.made, &one.key).cmp(&(other.made, &other.key)));
        let later = |item: &Item| after.as_ref().is_none_or(|(made, key)| (item.made, &item.key) > (*made, key));
        Ok(items.into_iter().filter(later).take(READ_AT_ONCE).map(|item| (thread, item)).collect())
    }

    /// One approval, whether it holds or not. If its deadline has passed, it is answered by its fallback first.
    ///
    /// # Errors
    /// [`Error::ApprovalNotFound`] if there is none, or it belongs to another account.
    pub fn approval(&self, id: Uuid) -> BoxFuture<'_, Result<Approval>> {
        Box::pin(async move {
            let missing = || Error::ApprovalNotFound { approval: id };
            let (thread, item) = self.own_item(ItemKind::Approval, id).await?.ok_or_else(missing)?;
            let item = if item.due.is_some_and(|due| due <= self.shared.now()) {
                self.time_out(thread.id, &item.key).await?;
                self.approval_item(thread.id, &item.key).await?.ok_or_else(missing)?
            } else {
                item
            };
            let head = self.shared.stores.store.head(thread.id).await?.ok_or_else(missing)?;
            self.read_approval(thread.id, &head, &item).await.map(Approval::from)
        })
    }

    async fn answer(&self, verdict: Verdict, id: Uuid, reason: Option<String>) -> Result<Approval> {
        let reason = checked_reason(reason)?;
        let thread = self.approval(id).await?.thread_id;
        let engine = self.about(thread);
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                let missing = || Error::ApprovalNotFound { approval: id };
                let item = engine.approval_item(thread.id, &id.to_string()).await?.ok_or_else(missing)?;
                let approval = engine.read_approval(thread.id, &thread.head, &item).await?;
                let judge = engine.is_delegated(&thread, &Capability::ApproveMerge).await?;
                let state = decide(&approval, verdict, &engine.caller.actor, judge)?;
                let reason = engine.without_secrets(thread.id, reason.clone()).await?;
                engine.tell_answer(thread, &approval.asked, state, false, reason).await
            })
            .await?;
        let place = told.place.time;
        let Some(Entry::ApprovalAnswered(answered)) = told.entries.into_iter().next() else {
            return Err(Error::broken("an answer begins with its entry"));
        };
        let ApprovalAnswered { approval: asked, state, timed_out, reason } = answered;
        let answered = Some(ApprovalAnswer { by: told.by, at: place, timed_out, reason });
        Ok(Held { thread, asked, state, answered, overdue: false, holds: true }.into())
    }

    /// Answers an approval by its fallback, if its deadline has passed and it holds. Says whether it did. Any number
    /// of servers may try: the first commit wins.
    pub(crate) async fn time_out(&self, thread: ThreadId, key: &str) -> Result<bool> {
        let Some(found) = self.shared.stores.store.thread(thread.into()).await? else { return Ok(false) };
        let actor = Actor { kind: ActorKind::System, name: "timeout".to_owned() };
        let system = self.acting_as(Caller { account: found.account, actor, cause: None });
        let fired = system
            .tell(thread, || async {
                let thread = system.thread(thread).await?;
                let id = key.parse()?;
                let missing = || Error::ApprovalNotFound { approval: id };
                let item = system.approval_item(thread.id, key).await?.ok_or_else(missing)?;
                let approval = system.read_approval(thread.id, &thread.head, &item).await?;
                if !approval.holds {
                    return Err(Error::ApprovalUndone { approval: id });
                }
                let now = system.shared.now();
                if approval.state != ApprovalState::Pending || item.due.is_none_or(|due| due > now) {
                    return Err(answered_already(&approval));
                }
                let asked = &approval.asked;
                let allowed = asked.fallback == Fallback::AutoApprove && {
                    let given = system.holding_delegations(&thread).await?;
                    let agent = &asked.asked_by.name;
                    let covered = |capability: &Capability| {
                        given.iter().any(|given| given.delegation.covers(agent, capability, now))
                    };
                    asked.scope.iter().all(covered)
                };
                let state = if allowed { ApprovalState::Approved } else { ApprovalState::Denied };
                system.tell_answer(thread, asked, state, true, None).await
            })
            .await;
        match fired {
            Ok(_) => Ok(true),
            // Another process was faster, or it does not hold at present.
            Err(
                Error::ApprovalAnswered { .. }
                | Error::ApprovalUndone { .. }
                | Error::ApprovalNotFound { .. }
                | Error::ThreadNotFound { .. },
            ) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn tell_answer(
        &self,
        thread: Thread,
        asked: &ApprovalAsked,
        state: ApprovalState,
        timed_out: bool,
        reason: Option<String>,
    ) -> Result<Plan> {
        let answered = ApprovalAnswered { approval: asked.clone(), state, timed_out, reason };
        // A merge that waits for the answer is committed with it, or not at all.
        let merged = self.merge_answered(&thread, asked, state).await?;
        // A run that waits for the answer goes on.
        let woken = wakes(&thread, Wait::Approval { approval_id: asked.id });
        let entries = std::iter::once(Entry::ApprovalAnswered(answered)).chain(merged.entries).chain(woken);
        Ok(Plan::new(thread, entries.collect()).bringing(merged.blobs))
    }

    /// The approvals of a thread that hold and that its present owner answers for, in the order in which they were
    /// asked.
    pub(crate) async fn holding_approvals(&self, thread: &Thread) -> Result<Vec<Held>> {
        let query = ItemQuery { thread: thread.id, kind: ItemKind::Approval, key: None, limit: usize::MAX };
        let mut holding = Vec::new();
        for item in self.shared.stores.store.items(query).await? {
            if *item.entry.account == thread.account {
                holding.push(self.read_approval(thread.id, &thread.head, &item).await?);
            }
        }
        holding.retain(|approval| approval.holds);
        Ok(holding)
    }

    /// An item by its id alone, with its thread, if that is the caller's.
    pub(crate) async fn own_item(&self, kind: ItemKind, id: Uuid) -> Result<Option<(Thread, Item)>> {
        let Some((thread, item)) = self.shared.stores.store.item(kind, id.to_string()).await? else { return Ok(None) };
        match self.thread(thread).await {
            Ok(thread) => Ok(Some((thread, item))),
            Err(Error::ThreadNotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn approval_item(&self, thread: ThreadId, key: &str) -> Result<Option<Item>> {
        let query = ItemQuery { thread, kind: ItemKind::Approval, key: Some(key.to_owned()), limit: 1 };
        Ok(self.shared.stores.store.items(query).await?.into_iter().next())
    }

    /// Whether the entry at `place` is in view from `head`.
    pub(crate) async fn is_in_view(&self, head: &Head, place: MessageId) -> Result<bool> {
        let bounds = self.lineage(head.segment).await?.bounds_of(place.segment, Bounds::all(head.version));
        Ok(bounds.is_some_and(|bounds| place.position <= bounds.changes))
    }

    async fn read_approval(&self, thread: ThreadId, head: &Head, item: &Item) -> Result<Held> {
        let holds = self.is_in_view(head, item.born).await?;
        match self.decode(&item.entry).await? {
            Entry::ApprovalRequested(asked) => {
                let overdue = asked.timeout_at.is_some_and(|at| at <= self.shared.now());
                Ok(Held { overdue, holds, ..Held::pending(thread, asked) })
            }
            Entry::ApprovalAnswered(answered) => {
                let ApprovalAnswered { approval, state, timed_out, reason } = answered;
                let (by, at) = (Arc::clone(&item.entry.actor), item.entry.time);
                let answered = Some(ApprovalAnswer { by, at, timed_out, reason });
                Ok(Held { thread, asked: approval, state, answered, overdue: false, holds })
            }
            other => Err(not_an_item(item, &other)),
        }
    }
}

/// An item whose entry is of a kind that it never has.
pub(crate) fn not_an_item(item: &Item, entry: &Entry) -> Error {
    StoreError::corrupt(format!("item {} is a {} entry", item.key, entry.kind().as_str())).into()
}

/// The state of an approval after `actor` answered. `judges_merges`: a human delegated `approve_merge` to the
/// actor.
fn decide(approval: &Held, verdict: Verdict, actor: &Actor, judges_merges: bool) -> Result<ApprovalState> {
    use ApprovalState::{Approved, Denied, Pending, Revoked};
    if !approval.holds {
        return Err(Error::ApprovalUndone { approval: approval.asked.id });
    }
    let refused = |what: &str| Err(Error::NotAllowed { what: what.to_owned() });
    let asks = *actor == approval.asked.asked_by;
    let to = match (approval.state, verdict) {
        (Pending, Verdict::Approve) => Approved,
        (Pending, Verdict::Deny) => Denied,
        (Pending, Verdict::Revoke) if asks => return Ok(Revoked),
        (Pending, Verdict::Revoke) => return refused("only whoever asked withdraws what is pending: deny it instead"),
        (Approved, Verdict::Revoke) if approval.asked.can_revoke => {
            return match actor.kind {
                ActorKind::Human | ActorKind::System => Ok(Revoked),
                ActorKind::Agent => refused("only a human takes back what was approved"),
            };
        }
        (Approved, Verdict::Revoke) => return refused("it was approved for good: it cannot be revoked"),
        (Approved, Verdict::Approve | Verdict::Deny)
        | (Denied | Revoked, Verdict::Approve | Verdict::Deny | Verdict::Revoke) => {
            return Err(answered_already(approval));
        }
    };
    match actor.kind {
        ActorKind::Human | ActorKind::System => Ok(to),
        ActorKind::Agent if asks => refused("an agent cannot answer what it asked for: a human has to"),
        ActorKind::Agent if judges_merges && approval.asked.scope == [Capability::ApproveMerge] => Ok(to),
        ActorKind::Agent => {
            refused("an agent answers merges alone, and only those to whom approve_merge was delegated")
        }
    }
}

fn answered_already(approval: &Held) -> Error {
    let by = approval.answered.as_ref().map(|answer| (answer.by.name.clone(), answer.at));
    let (by, at) = by.unwrap_or_else(|| ("nobody".to_owned(), approval.asked.asked_at));
    Error::ApprovalAnswered { approval: approval.asked.id, state: approval.state, by, at }
}

fn encode_cursor(list: impl Debug, (made, key): &(Timestamp, String)) -> String {
    cursor::after(list, &format!("{:x}.{key}", made.as_micros()))
}

fn decode_cursor(list: impl Debug, cursor: &str) -> Result<(Timestamp, String)> {
    let parse = |place: &str| {
        let (made, key) = place.split_once('.')?;
        Some((Timestamp::from_micros(u64::from_str_radix(made, 16).ok()? as i64), key.to_owned()))
    };
    Ok(parse(cursor::read(list, cursor)?).ok_or_else(cursor::no_cursor)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actor(kind: ActorKind, name: &str) -> Actor {
        Actor { kind, name: name.to_owned() }
    }

    fn approval(state: ApprovalState, scope: Capability, can_revoke: bool) -> Held {
        let asked = ApprovalAsked {
            id: "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid"),
            scope: vec![scope],
            reason: None,
            timeout_at: None,
            fallback: Fallback::Block,
            can_revoke,
            merge: None,
            call: None,
            asked_by: actor(ActorKind::Agent, "coder"),
            asked_at: Timestamp::from_micros(0),
        };
        Held { state, ..Held::pending(ThreadId::from_chance(1), asked) }
    }

    #[test]
    fn who_may_say_what_to_an_approval() {
        use ApprovalState::{Approved, Denied, Pending, Revoked};
        use Verdict::{Approve, Deny, Revoke};
        let (ann, coder, judge) =
            (actor(ActorKind::Human, "ann"), actor(ActorKind::Agent, "coder"), actor(ActorKind::Agent, "judge"));
        let edit = |state| approval(state, Capability::CodeEdit, true);
        let merge = approval(Pending, Capability::ApproveMerge, true);
        let said = |approval: &Held, verdict, actor: &Actor| match decide(approval, verdict, actor, true) {
            Ok(state) => state.as_str(),
            Err(error) => error.code(),
        };
        assert_eq!(
            [Approve, Deny, Revoke].map(|it| said(&edit(Pending), it, &ann)),
            ["approved", "denied", "forbidden"]
        );
        assert_eq!(
            [Approve, Deny, Revoke].map(|it| said(&edit(Pending), it, &coder)),
            ["forbidden", "forbidden", "revoked"]
        );
        assert_eq!([Approve, Deny].map(|it| said(&edit(Pending), it, &judge)), ["forbidden"; 2]);
        assert_eq!([Approve, Deny].map(|it| said(&merge, it, &judge)), ["approved", "denied"]);
        assert_eq!(said(&merge, Approve, &coder), "forbidden", "whoever asked");
        assert!(decide(&merge, Approve, &judge, false).is_err(), "nobody delegated it");
        assert_eq!(
            [Approve, Deny, Revoke].map(|it| said(&edit(Approved), it, &ann)),
            ["approval_answered", "approval_answered", "revoked"]
        );
        assert_eq!(said(&edit(Approved), Revoke, &coder), "forbidden");
        assert_eq!(said(&approval(Approved, Capability::Deploy, false), Revoke, &ann), "forbidden");
        for state in [Denied, Revoked] {
            assert_eq!([Approve, Deny, Revoke].map(|it| said(&edit(state), it, &ann)), ["approval_answered"; 3]);
        }
        let undone = Held { holds: false, ..edit(Pending) };
        assert_eq!(said(&undone, Approve, &ann), "approval_undone");
    }

    #[test]
    fn a_cursor_names_a_place_again() {
        let place = (Timestamp::from_micros(1_800_000_000_000_000), "5928a90d-d53b-488f-a829-4e36442142ee".to_owned());
        assert_eq!(decode_cursor("list", &encode_cursor("list", &place)).expect("a cursor"), place);
        for wrong in ["", "a", "t00", "a000000000000000g5928a90dd53b488fa8294e36442142ee"] {
            assert_eq!(decode_cursor("list", wrong).map_err(|error| error.code()), Err("invalid_cursor"), "{wrong}");
        }
    }
}
