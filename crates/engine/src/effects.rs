//! How a process runs effects: it finds those that are due, takes some of them, and says how each ended.
//!
//! Effects are items with a time, in the store, and everything is judged by the store's clock. A claim is a commit, decided
//! against the present state, so of many processes one gets an effect. The claim names the lease of the process: once it
//! has ended, another process takes the effect. An end counts only under the newest claim, and while the lease holds. So
//! an effect has one end, and its handler does not run again after that.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use threadkeep_model::{
    Account, Actor, Caller, EffectClaimed, EffectEnded, EffectName, EffectOutcome, Entry, ItemKind, Json, Lifecycle,
    ProcessId, REASON_BYTES_MAX, Thread, ThreadId, Timestamp, Uuid,
};
use threadkeep_store::{BoxFuture, DueQuery, ItemList};

use crate::ground::defined::KnowEffects;
use crate::ground::plan::Plan;
use crate::ops::effect::{OpenEffect, runner};
use crate::timers::time_until;
use crate::{Engine, Owned, Result};

/// Claims of an effect that processes may break off before it has failed.
pub const CLAIMS_MAX: u32 = 10;
/// Effects looked at whose time lies before they were scheduled.
const SET_BACK_MAX: usize = 1_000;
/// By how much a clock may differ before it counts as set back.
const SET_BACK_MICROS: i64 = 1_000_000;

/// An effect that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueEffect {
    /// When it was due.
    pub due: Timestamp,
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// The id of the effect.
    pub id: Uuid,
}

/// An effect that this process took.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedEffect {
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// The account of the thread.
    pub account: Account,
    /// The id of the effect.
    pub id: Uuid,
    /// The name of its handler.
    pub name: EffectName,
    /// The arguments for the handler.
    pub args: Json,
    /// The number of the claim, which its end names.
    pub attempt: u32,
    /// The actor for whom the handler acts.
    pub actor: Actor,
}

/// How a handler ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectEnd {
    /// The id of the effect.
    pub id: Uuid,
    /// The number of the claim under which it ran.
    pub attempt: u32,
    /// Success, or the reason of the failure.
    pub result: Result<(), String>,
}

/// How the time of an effect was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueBy {
    /// Its time has come.
    Clock,
    /// The clock was set back to before it was scheduled. Its delay was counted from when that was noticed.
    Delay,
}

/// Effects that were looked at and wait, with the era of their thread: until that changes, they need no second look.
#[derive(Debug, Default)]
pub struct PassedOver(Mutex<HashMap<Uuid, u64>>);

impl PassedOver {
    /// Forgets everything: handlers came or went.
    pub fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The rest of `ids`, which may run at this era.
    fn others(&self, ids: Vec<Uuid>, era: u64) -> Vec<Uuid> {
        let passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ids.into_iter().filter(|id| passed.get(id) != Some(&era)).collect()
    }

    fn add(&self, id: Uuid, era: u64) {
        /// Effects remembered, so that memory stays bounded.
        const PASSED_MAX: usize = 100_000;
        let mut passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if passed.len() >= PASSED_MAX {
            passed.clear();
        }
        passed.insert(id, era);
    }
}

/// What a claim is judged by, beside the effect and its thread.
struct Moment<'a> {
    now: Timestamp,
    store: Uuid,
    due_by: DueBy,
    /// The processes that live, of those that claimed one of the effects.
    living: HashSet<ProcessId>,
    known: &'a dyn KnowEffects,
}

/// What happens to an effect that somebody looks at.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// This process takes it, under this number.
    Claim(u32),
    /// Too many processes broke off.
    GiveUp,
    /// It waits until its thread changes, or a handler of its name comes.
    Wait,
    /// It is not due, or another process runs it: look again.
    Later,
}

fn judge(thread: &Thread, effect: &OpenEffect, in_view: bool, moment: &Moment<'_>) -> Verdict {
    let scheduled = &effect.scheduled;
    let works = thread.record.lifecycle == Lifecycle::Active && thread.record.terminated.is_none();
    if !works || !in_view || scheduled.store != moment.store || !moment.known.knows(&scheduled.name) {
        return Verdict::Wait;
    }
    let is_due = match moment.due_by {
        DueBy::Clock => scheduled.at <= moment.now,
        DueBy::Delay => scheduled.created > moment.now,
    };
    let attempt = match &effect.claim {
        Some(claim) if moment.living.contains(&claim.by) => return Verdict::Later,
        Some(claim) => claim.attempt,
        None => 0,
    };
    match attempt {
        _ if !is_due => Verdict::Later,
        CLAIMS_MAX.. => Verdict::GiveUp,
        before => Verdict::Claim(before + 1),
    }
}

impl Engine {
    /// Effects that are due, of all accounts, the soonest first, after a place in that order. For a process that runs
    /// effects, not for requests: permissions are not checked.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn due_effects<'a>(
        &'a self,
        after: Option<&'a DueEffect>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Vec<DueEffect>>> {
        Box::pin(async move {
            let after = after.map(|last| (last.due, last.id.to_string()));
            let query = DueQuery { kind: ItemKind::Effect, until: self.shared.now(), after, limit };
            let due = self.shared.stores.timers.due(query).await?;
            due.into_iter()
                .map(|due| Ok(DueEffect { due: due.due, thread: due.thread, id: due.key.parse()? }))
                .collect()
        })
    }

    /// Wakes whoever waits for news: something was committed. It is a hint to look.
    pub fn news(&self) -> threadkeep_store::Signal {
        self.shared.stores.feed.signals().any()
    }

    /// How long it is until the next effect is due.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn next_effect(&self) -> BoxFuture<'_, Result<Option<Duration>>> {
        Box::pin(async move {
            let now = self.shared.now();
            let next = self.shared.stores.timers.next_due(ItemKind::Effect, now).await?;
            Ok(next.map(|next| time_until(now, next)))
        })
    }

    /// Effects that were scheduled at a time that has yet to come, because the clock was set back; with their delays.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn effects_set_back(&self) -> BoxFuture<'_, Result<Vec<(DueEffect, Duration)>>> {
        Box::pin(async move {
            let now = self.shared.now();
            let after = Some((now.plus_micros(SET_BACK_MICROS), String::new()));
            let list = ItemList { kind: ItemKind::Effect, account: None, after, limit: SET_BACK_MAX };
            let mut found = Vec::new();
            for (thread, item) in self.shared.stores.store.all_items(list).await? {
                let scheduled = self.read_effect(&item).await?.scheduled;
                // Times of a thread never go back, so its entry may be later than the effect.
                if scheduled.created > now && scheduled.at > now {
                    let due = DueEffect { due: scheduled.at, thread, id: scheduled.id };
                    found.push((due, time_until(scheduled.created, scheduled.at)));
                }
            }
            Ok(found)
        })
    }

    /// Takes those of the effects `ids` of one thread that may run now and that `known` knows, in one commit.
    ///
    /// # Errors
    /// If the store cannot be read or written, or the lease of this process has ended.
    pub fn claim_effects<'a>(
        &'a self,
        thread: ThreadId,
        ids: Vec<Uuid>,
        due_by: DueBy,
        owned: &'a Owned,
        known: &'a dyn KnowEffects,
        passed: &'a PassedOver,
    ) -> BoxFuture<'a, Result<Vec<ClaimedEffect>>> {
        Box::pin(async move {
            let Some(head) = self.shared.stores.store.head(thread).await? else { return Ok(Vec::new()) };
            let ids = passed.others(ids, head.era);
            if ids.is_empty() {
                return Ok(Vec::new());
            }
            let system = self.running_effects(thread, owned).await?;
            let store = self.store_id().await?;
            let claimed = Mutex::new(Vec::new());
            let told = system
                .tell(thread, || async {
                    let own = system.thread(thread).await?;
                    let view = system.view(own.id, &own.head, None).await?;
                    let mut effects = Vec::with_capacity(ids.len());
                    for id in &ids {
                        for item in system.effect_items(thread, Some(*id)).await? {
                            effects.push(system.read_effect(&item).await?);
                        }
                    }
                    let claims = effects.iter().filter_map(|effect| Some(effect.claim.as_ref()?.by));
                    let living = system.living(claims).await?;
                    let moment = Moment { now: system.shared.now(), store, due_by, living, known };
                    let (mut entries, mut taken) = (Vec::new(), Vec::new());
                    for effect in effects {
                        match judge(&own, &effect, view.holds(effect.born), &moment) {
                            Verdict::Claim(attempt) => {
                                entries.push(claim(&effect, attempt, owned.id(), moment.now));
                                taken.push(taken_by(&own, effect, attempt));
                            }
                            Verdict::GiveUp => entries.push(given_up(&effect)),
                            Verdict::Wait => passed.add(effect.scheduled.id, own.head.era),
                            Verdict::Later => {}
                        }
                    }
                    *claimed.lock().unwrap_or_else(PoisonError::into_inner) = taken;
                    Ok(Plan::new(own, entries))
                })
                .await;
            match told {
                Ok(_) => Ok(claimed.into_inner().unwrap_or_else(PoisonError::into_inner)),
                // The thread was deleted in between.
                Err(crate::Error::ThreadNotFound { .. }) => Ok(Vec::new()),
                Err(error) => Err(error),
            }
        })
    }

    /// Says how effects of one thread ended, in one commit. Gives the number of those that counted: an effect that was
    /// cancelled meanwhile, or that another process took, has another end.
    ///
    /// # Errors
    /// If the store cannot be read or written, or the lease of this process has ended.
    pub fn end_effects<'a>(
        &'a self,
        thread: ThreadId,
        ends: &'a [EffectEnd],
        owned: &'a Owned,
    ) -> BoxFuture<'a, Result<usize>> {
        Box::pin(async move {
            let system = self.running_effects(thread, owned).await?;
            let told = system
                .tell(thread, || async {
                    let own = system.thread(thread).await?;
                    let mut entries = Vec::with_capacity(ends.len());
                    for end in ends {
                        let found = system.effect_items(thread, Some(end.id)).await?;
                        let Some(item) = found.first() else { continue };
                        let Entry::EffectClaimed(claim) = system.decode(&item.entry).await? else { continue };
                        if claim.attempt == end.attempt && claim.by == owned.id() {
                            entries.push(system.ended(thread, end).await?);
                        }
                    }
                    Ok(Plan::new(own, entries))
                })
                .await?;
            Ok(told.entries.len())
        })
    }

    async fn ended(&self, thread: ThreadId, end: &EffectEnd) -> Result<Entry> {
        let (outcome, error) = match &end.result {
            Ok(()) => (EffectOutcome::Completed, None),
            Err(why) => {
                let mut why = self.without_secrets(thread, Some(why.clone())).await?.unwrap_or_default();
                why.truncate(why.floor_char_boundary(REASON_BYTES_MAX));
                (EffectOutcome::Failed, Some(why))
            }
        };
        Ok(Entry::EffectEnded(EffectEnded { id: end.id, outcome, attempt: Some(end.attempt), error }))
    }

    /// The engine with which the handler of an effect works: it acts for the actor who scheduled it, and secrets are kept
    /// out of its calls.
    #[must_use]
    pub fn for_effect(&self, effect: &ClaimedEffect) -> Self {
        let (account, actor) = (effect.account.clone(), effect.actor.clone());
        self.acting_as(Caller { account, actor, cause: Some(effect.id.to_string()) }).for_code()
    }

    /// The engine that claims and ends effects of a thread, while the lease of this process holds.
    async fn running_effects(&self, thread: ThreadId, owned: &Owned) -> Result<Self> {
        let found = self.any_thread(thread).await?;
        Ok(self.acting_as(Caller { account: found.account, actor: runner(), cause: None }).owned(owned))
    }
}

fn claim(effect: &OpenEffect, attempt: u32, by: ProcessId, now: Timestamp) -> Entry {
    let (id, at, scheduled) = (effect.scheduled.id, effect.scheduled.at, effect.place);
    let until = now.plus_micros(ProcessId::TTL_MICROS);
    Entry::EffectClaimed(EffectClaimed { id, scheduled, at, attempt, by, until })
}

fn taken_by(thread: &Thread, effect: OpenEffect, attempt: u32) -> ClaimedEffect {
    let (scheduled, account) = (effect.scheduled, thread.account.clone());
    let (id, name, args, actor) = (scheduled.id, scheduled.name, scheduled.args, scheduled.by);
    ClaimedEffect { thread: thread.id, account, id, name, args, attempt, actor }
}

fn given_up(effect: &OpenEffect) -> Entry {
    let error = Some(format!("each of the {CLAIMS_MAX} processes that ran it broke off"));
    let attempt = effect.claim.as_ref().map(|claim| claim.attempt);
    Entry::EffectEnded(EffectEnded { id: effect.scheduled.id, outcome: EffectOutcome::Failed, attempt, error })
}

#[cfg(test)]
mod tests {
    use threadkeep_model::{EffectScheduled, MessageId, Position, SegmentId};

    use super::*;
    use crate::ground::plan::testing::{human, thread};

    struct All;

    impl KnowEffects for All {
        fn knows(&self, name: &EffectName) -> bool {
            name.as_str() != "unknown"
        }
    }

    const OWN: u128 = 1;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn process(n: u128) -> ProcessId {
        ProcessId(Uuid::from_chance(n))
    }

    /// An effect that is due at 100, claimed by a process this many times.
    fn effect(claimed: Option<(u32, u128)>) -> OpenEffect {
        let place = MessageId { segment: SegmentId::from_bits(1), position: Position(2) };
        let scheduled = EffectScheduled {
            id: Uuid::from_chance(7),
            name: "remind".parse().expect("a name"),
            args: Json::parse("args", "{}").expect("json"),
            at: at(100),
            created: at(50),
            by: human(),
            store: Uuid::from_chance(OWN),
        };
        let claim = claimed.map(|(attempt, by)| EffectClaimed {
            id: scheduled.id,
            scheduled: place,
            at: scheduled.at,
            attempt,
            by: process(by),
            until: at(200),
        });
        OpenEffect { scheduled, place, born: place, claim }
    }

    /// What happens at a time at which process 9 lives.
    fn verdict(effect: &OpenEffect, now: i64) -> Verdict {
        judged(&thread(), effect, true, now, DueBy::Clock)
    }

    fn judged(thread: &Thread, effect: &OpenEffect, in_view: bool, now: i64, due_by: DueBy) -> Verdict {
        let living = [process(9)].into();
        let moment = Moment { now: at(now), store: Uuid::from_chance(OWN), due_by, living, known: &All };
        judge(thread, effect, in_view, &moment)
    }

    #[test]
    fn an_effect_is_taken_once_it_is_due() {
        assert_eq!(verdict(&effect(None), 99), Verdict::Later);
        assert_eq!(verdict(&effect(None), 100), Verdict::Claim(1));
    }

    #[test]
    fn a_claim_is_taken_over_once_its_process_is_gone_and_ten_times_at_most() {
        assert_eq!(verdict(&effect(Some((1, 9))), 10_000), Verdict::Later, "its process lives");
        assert_eq!(verdict(&effect(Some((1, 8))), 100), Verdict::Claim(2));
        assert_eq!(verdict(&effect(Some((9, 8))), 100), Verdict::Claim(10));
        assert_eq!(verdict(&effect(Some((10, 8))), 100), Verdict::GiveUp);
        assert_eq!(verdict(&effect(Some((10, 9))), 100), Verdict::Later, "the last claim may still end it");
    }

    #[test]
    fn an_effect_waits_where_it_must_not_run() {
        let due = effect(None);
        let waits = |thread: &Thread, in_view| judged(thread, &due, in_view, 100, DueBy::Clock) == Verdict::Wait;
        assert!(waits(&thread(), false), "a rollback undid it");
        let mut suspended = thread();
        suspended.record.lifecycle = Lifecycle::Suspended;
        assert!(waits(&suspended, true));
        let mut terminated = thread();
        terminated.record.terminated = Some(at(1));
        assert!(waits(&terminated, true));
        let mut foreign = due.clone();
        foreign.scheduled.store = Uuid::from_chance(2);
        assert_eq!(verdict(&foreign, 100), Verdict::Wait, "the original store may still run it");
        let mut unknown = due.clone();
        unknown.scheduled.name = "unknown".parse().expect("a name");
        assert_eq!(verdict(&unknown, 100), Verdict::Wait);
    }

    #[test]
    fn a_clock_that_was_set_back_delays_an_effect_by_its_delay_alone() {
        let set_back = |effect: &OpenEffect, now| judged(&thread(), effect, true, now, DueBy::Delay);
        assert_eq!(set_back(&effect(None), 10), Verdict::Claim(1), "it was scheduled at 50, and it is 10");
        assert_eq!(set_back(&effect(None), 60), Verdict::Later, "the clock is right: its time will come");
        assert_eq!(set_back(&effect(Some((3, 9))), 10), Verdict::Later);
    }

    #[test]
    fn what_was_passed_over_is_looked_at_again_when_its_thread_changes() {
        let (passed, id) = (PassedOver::default(), Uuid::from_chance(7));
        passed.add(id, 3);
        assert!(passed.others(vec![id], 3).is_empty());
        assert_eq!(passed.others(vec![id], 4), [id]);
        passed.clear();
        assert_eq!(passed.others(vec![id], 3), [id]);
    }
}
