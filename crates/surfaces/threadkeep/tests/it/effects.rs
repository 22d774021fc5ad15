//! Effects: scheduled with what caused them, run once they are due, ended once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use threadkeep::{
    Actor, ActorKind, AdoptEffects, Append, At, Caller, ChangeLifecycle, ChangeOwner, ClaimedEffect, DueBy, Effect,
    EffectEnd, EffectName, EffectState, Engine, Fork, IdempotencyKey, Json, KnowEffects, Lifecycle, LifecycleAction,
    Limits, ListEffects, LiveSettings, MessageBody, Owned, PassedOver, Position, RemoveEffect, RollbackTo,
    ScheduleEffect, Spawn, Stores, SystemWorld, Terminate, ThreadId, Timestamp, Uuid, World,
};
use threadkeep_runtime::effects::{EffectCall, RustEffects, run_effects};
use tokio::sync::mpsc;

use crate::{Keep, on_every_store};

on_every_store!(
    an_effect_runs_once_for_the_actor_who_scheduled_it,
    effects_are_listed_by_name_and_cancelled_while_they_wait,
    an_append_schedules_effects_in_its_commit,
    a_thread_has_so_many_effects_and_no_more,
    a_rollback_hides_effects_and_an_undo_revives_them,
    what_ended_never_runs_again,
    forks_and_spawns_inherit_no_effects,
    effects_wait_while_their_thread_is_suspended,
    effects_end_with_the_work_on_their_thread,
    a_handler_that_fails_is_tried_three_times,
    a_handler_that_panics_fails_alone,
    the_effect_of_a_process_that_died_goes_to_another,
    an_effect_that_breaks_ten_processes_has_failed,
    a_copy_runs_no_effects_until_they_are_adopted,
    an_effect_without_a_handler_waits,
    many_due_effects_of_many_threads_run_once_each,
);

/// Handlers that tell what they ran: `note` succeeds, `fail` fails, `panic` panics.
pub(crate) fn handlers() -> (RustEffects, mpsc::UnboundedReceiver<EffectCall>) {
    let (ran, calls) = mpsc::unbounded_channel();
    let note = move |call: EffectCall| {
        let told = ran.send(call.clone()).map_err(|_| "nobody listens".to_owned());
        async move {
            match call.effect.name.as_str() {
                "fail" => Err("it never works".to_owned()),
                "panic" => panic!("a handler that breaks"),
                _ => told,
            }
        }
    };
    let with = |all: RustEffects, name: &str| all.with(name, note.clone());
    (["note", "pack/note", "fail", "panic"].into_iter().fold(RustEffects::default(), with), calls)
}

struct Runs(tokio::task::JoinHandle<()>);

impl Drop for Runs {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn run(engine: &Engine, handlers: RustEffects) -> Runs {
    Runs(tokio::spawn(run_effects(engine.clone(), Arc::new(handlers), std::future::pending())))
}

async fn next(calls: &mut mpsc::UnboundedReceiver<EffectCall>) -> ClaimedEffect {
    let call = tokio::time::timeout(Duration::from_secs(30), calls.recv()).await.expect("in time");
    call.expect("handlers").effect
}

fn effect(name: &str) -> ScheduleEffect {
    ScheduleEffect::new(name).expect("a name")
}

fn numbered(name: &str, n: usize) -> ScheduleEffect {
    effect(name).with_args(Json::parse("args", &format!(r#"{{"n":{n}}}"#)).expect("json"))
}

async fn schedule(engine: &Engine, thread: ThreadId, name: &str) -> Uuid {
    engine.schedule_effect(thread, effect(name)).await.expect("an effect").id
}

async fn listed(engine: &Engine, thread: ThreadId) -> Vec<Effect> {
    engine.effects(thread, ListEffects::default()).await.expect("a list").items
}

/// The ends of effects in the log of a thread, once there are `count` of them: id, outcome and error.
pub(crate) async fn ends(engine: &Engine, thread: ThreadId, count: usize) -> Vec<(String, String, String)> {
    let mut subscription = engine.subscribe(thread, Position(0)).await.expect("a subscription");
    let mut found = Vec::new();
    while found.len() < count {
        let next = tokio::time::timeout(Duration::from_secs(30), subscription.next()).await.expect("in time");
        let entry = next.expect("an entry").expect("a thread");
        if entry.kind.as_str() == "effect_ended" {
            let body: serde_json::Value = serde_json::from_slice(&entry.json).expect("json");
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            found.push((text("id"), text("outcome"), text("error")));
        }
    }
    found
}

async fn ended(engine: &Engine, thread: ThreadId) -> usize {
    let history = engine.history(thread, Position(0), 1_000).await.expect("a history");
    history.iter().filter(|entry| entry.kind.as_str() == "effect_ended").count()
}

/// Another process on the same store.
fn process(keep: &Keep) -> Engine {
    keep.engine.with_live(LiveSettings::default())
}

struct All;

impl KnowEffects for All {
    fn knows(&self, _: &EffectName) -> bool {
        true
    }
}

async fn claim(engine: &Engine, thread: ThreadId, id: Uuid, owned: &Owned) -> Vec<ClaimedEffect> {
    let passed = PassedOver::default();
    engine.claim_effects(thread, vec![id], DueBy::Clock, owned, &All, &passed).await.expect("a claim")
}

async fn an_effect_runs_once_for_the_actor_who_scheduled_it(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = Caller { actor: Actor::new(ActorKind::Agent, "coder").expect("an actor"), ..Caller::local() };
    let (handlers, mut calls) = handlers();
    let said = handlers.with("say", |call: EffectCall| async move {
        let told = call.engine.append(call.effect.thread, MessageBody::assistant("done")).await;
        told.map(drop).map_err(|error| error.to_string())
    });
    let _runs = run(&keep.engine, said);
    let agent = keep.engine.acting_as(coder.clone());
    let delayed = agent.schedule_effect(thread, numbered("pack/note", 7).after_ms(150));
    let told = delayed.await.expect("an effect");
    assert_eq!((told.state, told.attempt, told.actor.name.as_str()), (EffectState::Pending, 0, "coder"));
    assert_eq!(told.scheduled_at.as_micros() - told.created_at.as_micros(), 150_000);
    let ran = next(&mut calls).await;
    assert_eq!((ran.id, ran.name.as_str(), ran.args.as_str()), (told.id, "pack/note", r#"{"n":7}"#));
    assert_eq!((ran.actor, ran.attempt), (coder.actor.clone(), 1));
    let say = agent.schedule_effect(thread, effect("say")).await.expect("an effect").id;
    let completed = |id: Uuid| (id.to_string(), "completed".to_owned(), String::new());
    assert_eq!(ends(&keep.engine, thread, 2).await, [completed(told.id), completed(say)]);
    assert!(listed(&keep.engine, thread).await.is_empty() && calls.try_recv().is_err());
    let history = keep.engine.history(thread, Position(0), 100).await.expect("a history");
    let times: Vec<Timestamp> =
        history.iter().filter(|entry| entry.kind.as_str() == "effect_claimed").map(|entry| entry.time).collect();
    assert!(times[0] >= told.scheduled_at, "not too early");
    let message = history.iter().rfind(|entry| entry.kind.as_str() == "message_appended").expect("a message");
    assert_eq!((message.actor.name.as_str(), message.cause.as_deref()), ("coder", Some(&*say.to_string())));
}

async fn effects_are_listed_by_name_and_cancelled_while_they_wait(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let later = |name: &str, n| numbered(name, n).after_ms(3_600_000);
    let mut ids = Vec::new();
    for (name, n) in [("note", 1), ("fail", 2), ("note", 3)] {
        ids.push(keep.engine.schedule_effect(thread, later(name, n)).await.expect("an effect").id);
    }
    let of = async |name: Option<&str>| {
        let list = ListEffects { name: name.map(str::to_owned), ..ListEffects::default() };
        keep.engine.effects(thread, list).await.expect("a list").items.iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(of(None).await, ids);
    assert_eq!(of(Some("note")).await, [ids[0], ids[2]]);
    assert!(of(Some("other")).await.is_empty());
    let first = ListEffects { limit: Some(2), ..ListEffects::default() };
    let page = keep.engine.effects(thread, first).await.expect("a page");
    let second = ListEffects { limit: Some(2), cursor: page.next_cursor, ..ListEffects::default() };
    assert_eq!(keep.engine.effects(thread, second).await.expect("a page").items[0].id, ids[2]);
    let remove = async |id| keep.engine.remove_effect(thread, RemoveEffect { effect: id }).await.expect("a removal");
    assert!(remove(ids[1]).await);
    assert!(!remove(ids[1]).await && !remove(Uuid::from_chance(1)).await);
    assert_eq!(of(None).await, [ids[0], ids[2]]);
    assert_eq!(ends(&keep.engine, thread, 1).await[0].1, "cancelled");
    // One that runs is left alone; once its process is gone, it waits again.
    let now = schedule(&keep.engine, thread, "note").await;
    let other = process(&keep);
    let owned = other.own().await.expect("a lease");
    assert_eq!(claim(&other, thread, now, &owned).await.len(), 1);
    assert_eq!(listed(&keep.engine, thread).await[2].state, EffectState::Running);
    assert!(!remove(now).await);
    other.end_lease().await.expect("an end");
    assert!(remove(now).await);
    for wrong in [r#"[]"#, "1", "null"] {
        let args = effect("note").with_args(Json::parse("args", wrong).expect("json"));
        let refused = keep.engine.schedule_effect(thread, args).await.expect_err("no object");
        assert_eq!(refused.code(), "invalid_body");
    }
    let refused = keep.engine.schedule_effect(thread, effect("note").after_ms(u64::MAX)).await.expect_err("too long");
    assert_eq!(refused.code(), "invalid_body");
}

async fn an_append_schedules_effects_in_its_commit(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let key = IdempotencyKey::new("once").expect("a key");
    let append =
        || Append::from(MessageBody::user("b")).scheduling(numbered("note", 1)).scheduling(numbered("note", 2));
    for _ in 0..2 {
        let said = keep.engine.append(At::of(thread).keyed(key.clone()), append()).await.expect("an append");
        assert_eq!((said.len(), said[0].version), (1, Position(2)));
    }
    let history = keep.engine.history(thread, Position(1), 100).await.expect("a history");
    let kinds: Vec<&str> = history.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["message_appended", "effect_scheduled", "effect_scheduled"], "once, with the message");
    assert_eq!(history[0].time, history[2].time, "in one commit");
    let first = keep.ids(thread).await[0];
    let inserted = Append::before(MessageBody::user("0"), first).scheduling(numbered("note", 3));
    keep.engine.append(thread, inserted).await.expect("an insertion");
    assert_eq!(keep.shows(thread).await, "0 a b");
    assert_eq!(listed(&keep.engine, thread).await.len(), 3);
    // What is refused schedules nothing.
    let stale = At::of(thread).expecting(Position(1));
    keep.engine.append(stale, append()).await.expect_err("another version");
    keep.engine.call(thread, Terminate {}).await.expect("an end");
    let refused = keep.engine.append(thread, append()).await.expect_err("terminated");
    assert_eq!(refused.code(), "thread_terminated");
    assert_eq!(keep.shows(thread).await, "0 a b");
}

async fn a_thread_has_so_many_effects_and_no_more(keep: Keep) {
    let engine = keep.engine.with_limits(Limits { effects_max: 3, ..Limits::default() });
    let thread = keep.thread(&["a"]).await;
    let append = |n: usize| {
        (0..n).fold(Append::from(MessageBody::user("b")), |append, n| append.scheduling(numbered("note", n)))
    };
    engine.append(thread, append(1)).await.expect("an append");
    let id = schedule(&engine, thread, "note").await;
    assert_eq!(engine.append(thread, append(2)).await.expect_err("too many").code(), "effects_full");
    engine.append(thread, append(1)).await.expect("the last");
    let refused = engine.schedule_effect(thread, effect("note")).await.expect_err("too many");
    assert_eq!(refused.code(), "effects_full");
    assert_eq!(engine.append(thread, append(1)).await.expect_err("too many").code(), "effects_full");
    engine.append(thread, append(0)).await.expect("no effect, no limit");
    engine.remove_effect(thread, RemoveEffect { effect: id }).await.expect("a removal");
    engine.append(thread, append(1)).await.expect("there is room again");
}

async fn a_rollback_hides_effects_and_an_undo_revives_them(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["a"]).await);
    let undone = schedule(&keep.engine, thread, "note").await;
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    assert!(listed(&keep.engine, thread).await.is_empty());
    let removed = keep.engine.remove_effect(thread, RemoveEffect { effect: undone }).await.expect("a removal");
    assert!(!removed, "it is not there");
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers);
    // Something that is due later runs, so what is due sooner was looked at.
    let later = schedule(&keep.engine, other, "note").await;
    assert_eq!(next(&mut calls).await.id, later);
    assert_eq!(ended(&keep.engine, thread).await, 0);
    // On another server.
    process(&keep).rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(next(&mut calls).await.id, undone);
    assert_eq!(ends(&keep.engine, thread, 1).await[0].1, "completed");
}

async fn what_ended_never_runs_again(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let id = schedule(&keep.engine, thread, "note").await;
    let (handlers, mut calls) = handlers();
    let runs = run(&keep.engine, handlers.clone());
    assert_eq!(next(&mut calls).await.id, id);
    ends(&keep.engine, thread, 1).await;
    drop(runs);
    // An end that comes while the effect is undone is accepted.
    let undone = schedule(&keep.engine, thread, "note").await;
    let other = process(&keep);
    let owned = other.own().await.expect("a lease");
    let claimed = claim(&other, thread, undone, &owned).await.remove(0);
    keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
    let end = EffectEnd { id: undone, attempt: claimed.attempt, result: Ok(()) };
    assert_eq!(other.end_effects(thread, std::slice::from_ref(&end), &owned).await.expect("an end"), 1);
    assert_eq!(other.end_effects(thread, &[end], &owned).await.expect("no end"), 0, "once");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert!(listed(&keep.engine, thread).await.is_empty());
    let _runs = run(&keep.engine, handlers);
    let last = schedule(&keep.engine, thread, "note").await;
    assert_eq!(next(&mut calls).await.id, last, "and none of those that ended");
    assert_eq!(ends(&keep.engine, thread, 3).await.len(), 3);
}

async fn forks_and_spawns_inherit_no_effects(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    schedule(&keep.engine, thread, "note").await;
    let fork = keep.engine.fork(thread, Fork::at_index(0)).await.expect("a fork").id;
    let spawned = keep.engine.spawn(thread, Spawn::new("other work")).await.expect("a spawn").id;
    for child in [fork, spawned] {
        assert!(listed(&keep.engine, child).await.is_empty());
    }
    assert_eq!(listed(&keep.engine, thread).await.len(), 1);
}

async fn lifecycle(keep: &Keep, thread: ThreadId, action: LifecycleAction) -> Lifecycle {
    let change = ChangeLifecycle { action, reason: None };
    keep.engine.lifecycle(thread, change).await.expect("a move").record.lifecycle
}

async fn effects_wait_while_their_thread_is_suspended(keep: Keep) {
    let (thread, other) = (keep.thread(&["a"]).await, keep.thread(&["a"]).await);
    lifecycle(&keep, thread, LifecycleAction::Suspend).await;
    let waits = schedule(&keep.engine, thread, "note").await;
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers);
    let goes = schedule(&keep.engine, other, "note").await;
    assert_eq!(next(&mut calls).await.id, goes);
    assert_eq!(ended(&keep.engine, thread).await, 0);
    lifecycle(&keep, thread, LifecycleAction::Resume).await;
    assert_eq!(next(&mut calls).await.id, waits);
}

async fn effects_end_with_the_work_on_their_thread(keep: Keep) {
    for how in ["terminate", "done", "cancel", "owner"] {
        let thread = keep.thread(&["a"]).await;
        let undone = schedule(&keep.engine, thread, "note").await;
        keep.engine.rollback(thread, RollbackTo::Version(Position(1))).await.expect("a rollback");
        let waits = schedule(&keep.engine, thread, "note").await;
        let runs = schedule(&keep.engine, thread, "note").await;
        let other = process(&keep);
        let owned = other.own().await.expect("a lease");
        let claimed = claim(&other, thread, runs, &owned).await.remove(0);
        let before = keep.engine.thread(thread).await.expect("a thread").head.version;
        let mut reader = keep.engine.clone();
        match how {
            "terminate" => drop(keep.engine.call(thread, Terminate {}).await.expect("an end")),
            "done" => drop(lifecycle(&keep, thread, LifecycleAction::Done).await),
            "cancel" => drop(lifecycle(&keep, thread, LifecycleAction::Cancel).await),
            _ => {
                let account = threadkeep::Account::new("other").expect("an account");
                keep.engine.change_owner(thread, ChangeOwner { account: account.clone() }).await.expect("a change");
                reader = keep.engine.acting_as(Caller { account, ..Caller::local() });
            }
        }
        let told = ends(&reader, thread, 3).await;
        let mut ids: Vec<&str> = told.iter().map(|(id, ..)| id.as_str()).collect();
        ids.sort_unstable();
        let mut all = [undone, waits, runs].map(|id| id.to_string());
        all.sort_unstable();
        assert_eq!(ids, all, "{how}");
        assert!(told.iter().all(|(_, outcome, why)| outcome == "cancelled" && why.starts_with("the thread")), "{how}");
        let history = reader.history(thread, before, 100).await.expect("a history");
        assert!(history.iter().all(|entry| entry.time == history[0].time), "in the same commit: {how}");
        let late = EffectEnd { id: runs, attempt: claimed.attempt, result: Ok(()) };
        assert_eq!(other.end_effects(thread, &[late], &owned).await.expect("no end"), 0, "{how}");
        assert!(listed(&reader, thread).await.is_empty());
    }
}

async fn a_handler_that_fails_is_tried_three_times(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers);
    let id = schedule(&keep.engine, thread, "fail").await;
    let told = ends(&keep.engine, thread, 1).await;
    assert_eq!(told, [(id.to_string(), "failed".to_owned(), "it never works".to_owned())]);
    let mut tries = 0;
    while let Ok(call) = calls.try_recv() {
        assert_eq!(call.effect.attempt, 1, "one claim covers its tries");
        tries += 1;
    }
    assert_eq!(tries, 3);
}

async fn a_handler_that_panics_fails_alone(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers);
    let (breaks, works) = (schedule(&keep.engine, thread, "panic").await, schedule(&keep.engine, thread, "note").await);
    let told = ends(&keep.engine, thread, 2).await;
    assert_eq!(told[0], (works.to_string(), "completed".to_owned(), String::new()));
    assert_eq!(told[1], (breaks.to_string(), "failed".to_owned(), "its handler panicked".to_owned()));
    assert!(calls.try_recv().is_ok());
}

async fn the_effect_of_a_process_that_died_goes_to_another(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let id = schedule(&keep.engine, thread, "note").await;
    let dead = process(&keep);
    let owned = dead.own().await.expect("a lease");
    let claimed = claim(&dead, thread, id, &owned).await.remove(0);
    let living = process(&keep).own().await.expect("a lease");
    assert!(claim(&keep.engine, thread, id, &living).await.is_empty(), "another process has it");
    // The process is paused past its lease.
    dead.end_lease().await.expect("an end");
    let late = EffectEnd { id, attempt: claimed.attempt, result: Ok(()) };
    let refused = dead.end_effects(thread, std::slice::from_ref(&late), &owned).await.expect_err("its lease has ended");
    assert!(refused.to_string().contains("the lease of this process has ended"), "{refused}");
    assert_eq!(ended(&keep.engine, thread).await, 0);
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers);
    let again = next(&mut calls).await;
    assert_eq!((again.id, again.attempt), (id, 2));
    ends(&keep.engine, thread, 1).await;
    // It wakes up, under another lease: an end of an earlier attempt counts as little.
    let owned = dead.own().await.expect("a lease");
    assert_eq!(dead.end_effects(thread, &[late], &owned).await.expect("no end"), 0);
    assert_eq!(ended(&keep.engine, thread).await, 1);
}

async fn an_effect_that_breaks_ten_processes_has_failed(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let id = schedule(&keep.engine, thread, "note").await;
    let breaks = process(&keep);
    for attempt in 1..=10 {
        let owned = breaks.own().await.expect("a lease");
        let claimed = claim(&breaks, thread, id, &owned).await;
        assert_eq!(claimed.first().map(|one| one.attempt), Some(attempt));
        breaks.end_lease().await.expect("an end");
    }
    let owned = breaks.own().await.expect("a lease");
    assert!(claim(&breaks, thread, id, &owned).await.is_empty());
    let told = ends(&keep.engine, thread, 1).await;
    assert_eq!((told[0].0.as_str(), told[0].1.as_str()), (&*id.to_string(), "failed"));
    assert!(listed(&keep.engine, thread).await.is_empty());
}

async fn a_copy_runs_no_effects_until_they_are_adopted(keep: Keep) {
    let (thread, ran) = (keep.thread(&["a"]).await, keep.thread(&["a"]).await);
    let waits = schedule(&keep.engine, thread, "note").await;
    let claimed = schedule(&keep.engine, thread, "note").await;
    let other = process(&keep);
    let owned = other.own().await.expect("a lease");
    assert_eq!(claim(&other, thread, claimed, &owned).await.len(), 1);
    let copy = threadkeep::open("memory:").expect("a store");
    keep.engine.copy_to(&copy, Arc::new(|_, _, _| {})).await.expect("a copy");
    let (handlers, mut calls) = handlers();
    let _runs = run(&copy, handlers);
    let own = schedule(&copy, ran, "note").await;
    assert_eq!(next(&mut calls).await.id, own, "the copy runs its own effects");
    assert!(listed(&copy, thread).await.iter().all(|effect| effect.state == EffectState::Foreign));
    let only = AdoptEffects { thread_id: Some(ran.into()) };
    assert_eq!(copy.adopt_effects(At::none(), only).await.expect("an adoption").adopted, 0);
    assert_eq!(copy.adopt_effects(At::none(), AdoptEffects::default()).await.expect("an adoption").adopted, 2);
    let mut both = [next(&mut calls).await.id, next(&mut calls).await.id];
    both.sort();
    let mut all = [waits, claimed];
    all.sort();
    assert_eq!(both, all);
    assert_eq!(copy.adopt_effects(At::none(), AdoptEffects::default()).await.expect("an adoption").adopted, 0);
    assert_eq!(listed(&keep.engine, thread).await.len(), 2, "the original has them as before");
}

async fn an_effect_without_a_handler_waits(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let (handlers, mut calls) = handlers();
    let _runs = run(&keep.engine, handlers.clone());
    let unknown = schedule(&keep.engine, thread, "other/note").await;
    let known = schedule(&keep.engine, thread, "note").await;
    assert_eq!(next(&mut calls).await.id, known);
    assert_eq!(listed(&keep.engine, thread).await.iter().map(|one| one.id).next(), Some(unknown));
    let knowing = keep.engine.with_effects(Arc::new(handlers));
    let refused = knowing.schedule_effect(thread, effect("other/note")).await.expect_err("no handler");
    assert_eq!(refused.code(), "effect_not_found");
    let append = Append::from(MessageBody::user("b")).scheduling(effect("other/note"));
    assert_eq!(knowing.append(thread, append).await.expect_err("no handler").code(), "effect_not_found");
    assert_eq!(keep.shows(thread).await, "a");
}

async fn many_due_effects_of_many_threads_run_once_each(keep: Keep) {
    let (mut threads, mut scheduled) = (Vec::new(), Vec::new());
    for _ in 0..20 {
        let thread = keep.thread(&[]).await;
        let append = (0..15).fold(Append::from(MessageBody::user("b")), |all, n| all.scheduling(numbered("note", n)));
        keep.engine.append(thread, append).await.expect("an append");
        scheduled.extend(listed(&keep.engine, thread).await.into_iter().map(|one| one.id));
        threads.push(thread);
    }
    let ran: Arc<Mutex<Vec<Uuid>>> = Arc::default();
    let note = Arc::clone(&ran);
    let handlers = RustEffects::default().with("note", move |call: EffectCall| {
        note.lock().expect("a list").push(call.effect.id);
        std::future::ready(Ok(()))
    });
    let _runs = [run(&keep.engine, handlers.clone()), run(&process(&keep), handlers)];
    for thread in threads {
        assert!(ends(&keep.engine, thread, 15).await.iter().all(|(_, outcome, _)| outcome == "completed"));
    }
    let mut ran = ran.lock().expect("a list").clone();
    ran.sort();
    scheduled.sort();
    assert_eq!(ran, scheduled, "each once, whoever took it");
}

const DAYS_30: i64 = 30 * 24 * 3_600 * 1_000_000;

/// A machine whose clock is ahead by so many microseconds.
struct Ahead(i64);

impl World for Ahead {
    fn now(&self) -> Timestamp {
        SystemWorld.now().plus_micros(self.0)
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

/// A clock that was set, by 30 days in either direction, between scheduling and running: each effect runs once.
#[test]
fn effects_run_once_when_the_clock_is_set() {
    crate::run(async {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("threads.db");
        for (before, after) in [(0, DAYS_30), (0, -DAYS_30), (DAYS_30, -DAYS_30)] {
            let open = |by: i64| {
                let store = threadkeep::SqliteStore::open(&path).expect("a store");
                Engine::new(Stores::of(store), Arc::new(Ahead(by)), Limits::default())
            };
            let (thread, ids) = {
                let engine = open(before);
                let thread = engine.create(threadkeep::Create::titled("Clocks")).await.expect("a thread").id;
                let mut ids = vec![schedule(&engine, thread, "note").await];
                let soon = engine.schedule_effect(thread, effect("note").after_ms(300)).await.expect("an effect");
                ids.push(soon.id);
                // A process took one, and died.
                let owned = engine.own().await.expect("a lease");
                assert_eq!(claim(&engine, thread, ids[0], &owned).await.len(), 1);
                engine.end_lease().await.expect("an end");
                (thread, ids)
            };
            let engine = open(after);
            let (handlers, mut calls) = handlers();
            let _runs = run(&engine, handlers);
            let mut ran = [next(&mut calls).await.id, next(&mut calls).await.id];
            ran.sort();
            let mut ids = ids;
            ids.sort();
            assert_eq!(ran.to_vec(), ids, "{before} to {after}");
            assert_eq!(ends(&engine, thread, 2).await.len(), 2);
            assert!(calls.try_recv().is_err());
        }
    });
}
