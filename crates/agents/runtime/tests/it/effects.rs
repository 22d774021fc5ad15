//! Effects of a runtime: registered with the program, run in the background.

use std::sync::Arc;
use std::time::Duration;

use threadkeep_calls::{Create, ScheduleEffect};
use threadkeep_engine::{Engine, KnowEffects, LiveSettings};
use threadkeep_model::{Position, ThreadId};
use threadkeep_runtime::Runtime;
use threadkeep_runtime::effects::EffectCall;

use crate::support::engine;
use crate::whole::{WHOLE, folder};

fn run(case: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(case);
}

async fn thread(engine: &Engine) -> ThreadId {
    engine.create(Create::titled("T")).await.expect("a thread").id
}

fn effect(name: &str) -> ScheduleEffect {
    ScheduleEffect::new(name).expect("a name")
}

async fn until_ended(engine: &Engine, thread: ThreadId) {
    let mut news = engine.subscribe(thread, Position(0)).await.expect("a subscription");
    let ended =
        async { while news.next().await.expect("an entry").expect("a thread").kind.as_str() != "effect_ended" {} };
    tokio::time::timeout(Duration::from_secs(20), ended).await.expect("in time");
}

#[test]
fn a_runtime_runs_the_effects_of_its_program_until_it_stops() {
    run(async {
        let engine = engine();
        let (ran, mut calls) = tokio::sync::mpsc::unbounded_channel();
        let note = move |call: EffectCall| {
            let told = ran.send(call.effect.id).map_err(|error| error.to_string());
            std::future::ready(told)
        };
        let runtime = Runtime::builder(engine.clone()).effect("note", note).build();
        let background = runtime.start();
        let on = thread(&engine).await;
        let id = engine.schedule_effect(on, effect("note")).await.expect("an effect").id;
        until_ended(&engine, on).await;
        assert_eq!(calls.try_recv(), Ok(id));
        let lease = engine.own().await.expect("a lease");
        background.stop().await;
        let other = engine.with_live(LiveSettings::default());
        assert!(other.living([lease.id()]).await.expect("a read").is_empty(), "others need not wait for its end");
        let later = engine.schedule_effect(on, effect("note")).await.expect("an effect").id;
        assert!(calls.try_recv().is_err() && later != id);
    });
}

#[test]
fn only_effects_that_are_defined_may_be_scheduled_where_any_is() {
    run(async {
        let none = Runtime::builder(engine()).build();
        assert!(none.knows(&effect("anything").name), "another process may know it");
        let folder = folder(&WHOLE);
        let engine = engine();
        let runtime = Runtime::builder(engine.clone())
            .definitions(folder.path())
            .effect("note", |_: EffectCall| std::future::ready(Ok(())))
            .build();
        let knowing = engine.with_effects(Arc::new(runtime));
        let on = thread(&knowing).await;
        knowing.schedule_effect(on, effect("note")).await.expect("an effect");
        let refused = knowing.schedule_effect(on, effect("anything")).await.expect_err("it is not defined");
        assert_eq!(refused.code(), "effect_not_found");
    });
}
