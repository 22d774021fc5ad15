//! What is put before whoever works on a thread, and what was decided on it.

use threadkeep::{
    Account, Acknowledge, Actor, ActorKind, Caller, Decide, EndRun, Error, Fork, Inject, InjectionState, InjectionType,
    Json, LifecycleAction, Limits, MessageBody, Position, Progressed, RollbackTo, RunOutcome, StartRun, StepRun,
    TakeWriter, ThreadId, Truncate, TruncateFrom, Uuid,
};

use crate::{Keep, on_every_store};

on_every_store!(
    what_is_injected_is_taken_up_once_by_the_next_step,
    what_is_immediate_comes_first_and_nothing_joins_the_conversation,
    an_injection_is_acknowledged_by_hand_once_and_says_by_whom,
    an_injection_needs_no_lease_and_passes_while_the_thread_rests,
    what_is_undone_waits_no_more_and_undo_revives_it,
    injections_are_bounded_in_number_and_size,
    injections_go_with_their_thread_and_are_rebuilt,
    sixteen_who_step_and_acknowledge_take_each_injection_once,
    the_newest_answer_to_a_question_counts,
    an_answer_that_is_undone_leaves_the_one_before_it,
);

fn data(content: &str) -> Inject {
    Inject::new(InjectionType::Data, Json::string(content))
}

async fn inject(keep: &Keep, thread: ThreadId, content: &str) -> Uuid {
    keep.engine.inject(thread, data(content)).await.expect("an injection").id
}

fn given(progressed: &Progressed) -> String {
    let said: Vec<_> = progressed.injections.iter().map(|injection| injection.content.as_str()).collect();
    said.join(" ").replace('"', "")
}

async fn listed(keep: &Keep, thread: ThreadId, state: InjectionState) -> String {
    let found = keep.engine.injections(thread, state).await.expect("injections");
    found.iter().map(|injection| injection.content.as_str()).collect::<Vec<_>>().join(" ").replace('"', "")
}

async fn begin(keep: &Keep, thread: ThreadId) -> Progressed {
    keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution")
}

async fn what_is_injected_is_taken_up_once_by_the_next_step(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let constraint =
        Inject::new(InjectionType::Constraint, Json::parse("content", r#"{"z":1.0,"a":[]}"#).expect("json"));
    let made = keep.engine.inject(thread, constraint).await.expect("an injection");
    assert_eq!(
        keep.engine.injections(thread, InjectionState::Waiting).await.expect("injections"),
        std::slice::from_ref(&made)
    );
    let begun = begin(&keep, thread).await;
    assert_eq!((begun.injections[0].id, begun.injections[0].content.as_str()), (made.id, r#"{"z":1.0,"a":[]}"#));
    inject(&keep, thread, "b").await;
    inject(&keep, thread, "c").await;
    let stepped = keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step");
    assert_eq!(given(&stepped), "b c");
    let again = keep.engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step");
    assert_eq!(given(&again), "", "each is taken up once");
    let taken = keep.engine.injections(thread, InjectionState::Taken).await.expect("injections");
    assert_eq!(taken[0], begun.injections[0], "what is answered is what is read");
    assert_eq!(taken[1..], stepped.injections);
    assert_eq!(taken[0].run_id, Some(begun.run.id));
    inject(&keep, thread, "d").await;
    let ended = keep.engine.end_run(thread, EndRun::of(begun.run.id, RunOutcome::Completed)).await.expect("an end");
    assert_eq!((given(&ended).as_str(), listed(&keep, thread, InjectionState::Waiting).await.as_str()), ("", "d"));
    assert_eq!(given(&begin(&keep, thread).await), "d", "the next execution takes it up");
}

async fn what_is_immediate_comes_first_and_nothing_joins_the_conversation(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    inject(&keep, thread, "later").await;
    keep.engine.inject(thread, data("now").immediate()).await.expect("an injection");
    let begun = begin(&keep, thread).await;
    assert_eq!((given(&begun).as_str(), begun.messages.len()), ("now later", 0));
    assert_eq!(keep.shows(thread).await, "a");
    assert_eq!(keep.engine.model_messages(thread, None).await.expect("messages").len(), 1);
}

async fn an_injection_is_acknowledged_by_hand_once_and_says_by_whom(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let injection = inject(&keep, thread, "a").await;
    let ann = Actor { kind: ActorKind::Human, name: "ann".into() };
    let as_ann = keep.engine.acting_as(Caller { actor: ann, ..Caller::local() });
    let taken = as_ann.acknowledge(thread, Acknowledge { injection }).await.expect("taken up");
    let by = |taken: &threadkeep::Injection| taken.taken_by.as_ref().map(|by| (by.name.clone(), taken.run_id));
    assert_eq!(by(&taken), Some(("ann".into(), None)));
    let version = keep.engine.thread(thread).await.expect("the thread").head.version;
    assert_eq!(keep.engine.acknowledge(thread, Acknowledge { injection }).await.expect("again"), taken);
    assert_eq!(keep.engine.thread(thread).await.expect("the thread").head.version, version, "nothing was written");
    assert_eq!(given(&begin(&keep, thread).await), "");
    let unknown = Acknowledge { injection: Uuid::from_chance(7) };
    let refused = keep.engine.acknowledge(thread, unknown).await.expect_err("nobody injected it");
    assert!(matches!(refused, Error::InjectionNotFound { .. }), "{refused}");
    let stranger = Caller { account: Account::new("stranger").expect("an account"), ..Caller::local() };
    let refused = keep.engine.acting_as(stranger).inject(thread, data("x")).await.expect_err("not theirs");
    assert!(matches!(refused, Error::ThreadNotFound { .. }), "{refused}");
}

async fn an_injection_needs_no_lease_and_passes_while_the_thread_rests(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    keep.engine.take_writer(thread, TakeWriter::default()).await.expect("a lease");
    let injection = inject(&keep, thread, "a").await;
    keep.engine.acknowledge(thread, Acknowledge { injection }).await.expect("taken up");
    keep.engine.lifecycle(thread, LifecycleAction::Suspend).await.expect("suspended");
    inject(&keep, thread, "b").await;
    keep.engine.lifecycle(thread, LifecycleAction::Resume).await.expect("resumed");
    keep.engine.lifecycle(thread, LifecycleAction::Done).await.expect("done");
    let refused = keep.engine.inject(thread, data("c")).await.expect_err("it is closed");
    assert!(matches!(refused, Error::ThreadClosed { .. }), "{refused}");
    assert_eq!(listed(&keep, thread, InjectionState::All).await, "a b");
}

async fn what_is_undone_waits_no_more_and_undo_revives_it(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    inject(&keep, thread, "kept").await;
    let before = keep.engine.thread(thread).await.expect("the thread").head.version;
    let undone = inject(&keep, thread, "undone").await;
    keep.engine.append(thread, MessageBody::user("b")).await.expect("an append");
    keep.engine.rollback(thread, RollbackTo::Version(before)).await.expect("a rollback");
    assert_eq!(listed(&keep, thread, InjectionState::All).await, "kept");
    let refused = keep.engine.acknowledge(thread, Acknowledge { injection: undone }).await.expect_err("it is undone");
    assert!(matches!(refused, Error::InjectionNotFound { .. }), "{refused}");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(listed(&keep, thread, InjectionState::Waiting).await, "kept undone");
    let truncate = Truncate { from: TruncateFrom::Index(1) };
    keep.engine.truncate(thread, truncate).await.expect("a truncation");
    let begun = begin(&keep, thread).await;
    assert_eq!(given(&begun), "kept undone", "a truncation drops messages, and nothing else");
    // What was taken up stays so.
    keep.engine.rollback(thread, RollbackTo::Version(before)).await.expect("a rollback");
    assert_eq!(listed(&keep, thread, InjectionState::Waiting).await, "");
    assert_eq!(listed(&keep, thread, InjectionState::Taken).await, "kept");
}

async fn injections_are_bounded_in_number_and_size(keep: Keep) {
    let limits = Limits { injections_max: 2, message_bytes_max: 10, page_bytes_max: 8, ..Limits::default() };
    let engine = keep.engine.with_limits(limits);
    let thread = keep.thread(&[]).await;
    let first = engine.inject(thread, data("123456")).await.expect("an injection").id;
    engine.inject(thread, data("78")).await.expect("an injection");
    let refused = engine.inject(thread, data("9")).await.expect_err("two wait already");
    assert!(matches!(refused, Error::InjectionsFull { max: 2 }), "{refused}");
    assert_eq!(refused.code(), "injections_full");
    let refused = engine.inject(thread, data("1234567890")).await.expect_err("too large");
    assert_eq!(refused.code(), "too_large");
    let begun = engine.start_run(thread, StartRun::caller()).await.expect("an execution");
    assert_eq!(begun.injections.iter().map(|one| one.id).collect::<Vec<_>>(), [first], "the rest waits for its turn");
    let stepped = engine.step_run(thread, StepRun::of(begun.run.id)).await.expect("a step");
    assert_eq!(given(&stepped), "78");
}

async fn injections_go_with_their_thread_and_are_rebuilt(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    for content in ["taken", "waits"] {
        inject(&keep, thread, content).await;
        keep.engine.decide(thread, Decide::new("Which?", content)).await.expect("a decision");
    }
    let first = keep.engine.injections(thread, InjectionState::Waiting).await.expect("injections")[0].id;
    keep.engine.acknowledge(thread, Acknowledge { injection: first }).await.expect("taken up");
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    let healthy = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(healthy.is_healthy(), "{healthy:?}");
    let before = (
        keep.engine.injections(thread, InjectionState::All).await.expect("injections"),
        keep.engine.decisions(thread, None).await.expect("decisions"),
    );
    keep.engine.repair(quiet()).await.expect("a rebuild");
    assert_eq!(keep.engine.injections(thread, InjectionState::All).await.expect("injections"), before.0);
    assert_eq!(keep.engine.decisions(thread, None).await.expect("decisions"), before.1);
    assert_eq!(listed(&keep, thread, InjectionState::Waiting).await, "waits");
    let fork = keep.engine.fork(thread, Fork::default()).await.expect("a fork").id;
    assert_eq!(listed(&keep, fork, InjectionState::All).await, "", "no fork inherits them");
    assert!(keep.engine.decisions(fork, None).await.expect("decisions").is_empty());
}

async fn sixteen_who_step_and_acknowledge_take_each_injection_once(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let run = begin(&keep, thread).await.run.id;
    let mut made = Vec::new();
    for n in 0..8 {
        made.push(inject(&keep, thread, &n.to_string()).await);
    }
    let steps = (0..8).map(|_| {
        let engine = keep.engine.clone();
        tokio::spawn(async move { engine.step_run(thread, StepRun::of(run)).await.expect("a step").injections })
    });
    let acks = made.clone().into_iter().map(|injection| {
        let engine = keep.engine.clone();
        tokio::spawn(
            async move { vec![engine.acknowledge(thread, Acknowledge { injection }).await.expect("taken up")] },
        )
    });
    let (steps, acks): (Vec<_>, Vec<_>) = (steps.collect(), acks.collect());
    let mut stepped = Vec::new();
    for step in steps {
        stepped.extend(step.await.expect("a task"));
    }
    let mut by_hand = Vec::new();
    for ack in acks {
        by_hand.extend(
            ack.await.expect("a task").into_iter().filter(|one| one.taken_by.is_some() && one.run_id.is_none()),
        );
    }
    let mut taken: Vec<Uuid> = stepped.iter().chain(&by_hand).map(|one| one.id).collect();
    taken.sort_unstable();
    made.sort_unstable();
    assert_eq!(taken, made, "each by one of them");
}

async fn decided(keep: &Keep, thread: ThreadId, as_of: Option<Position>) -> String {
    let found = keep.engine.decisions(thread, as_of).await.expect("decisions");
    found.iter().map(|one| format!("{}={}", one.key(), one.answer)).collect::<Vec<_>>().join(" ")
}

async fn the_newest_answer_to_a_question_counts(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let reason = Some("one file".to_owned());
    let first = Decide { reason, ..Decide::new("Which store?", "SQLite") };
    let first = keep.engine.decide(thread, first).await.expect("a decision");
    assert_eq!(keep.engine.decisions(thread, None).await.expect("decisions"), std::slice::from_ref(&first));
    keep.engine.decide(thread, Decide::new("colour?", "red")).await.expect("a decision");
    keep.engine.decide(thread, Decide::new("  which\n STORE? ", "PostgreSQL")).await.expect("a decision");
    assert_eq!(decided(&keep, thread, None).await, "colour?=red which store?=PostgreSQL");
    assert_eq!(decided(&keep, thread, Some(first.version)).await, "which store?=SQLite");
    for (wrong, field) in [(Decide::new(" ", "x"), "question"), (Decide::new("x", ""), "answer")] {
        let Err(Error::Invalid(refused)) = keep.engine.decide(thread, wrong).await else { panic!("it is blank") };
        assert_eq!(refused.field, field);
    }
    keep.engine.lifecycle(thread, LifecycleAction::Cancel).await.expect("cancelled");
    let refused = keep.engine.decide(thread, Decide::new("x", "y")).await.expect_err("it is closed");
    assert!(matches!(refused, Error::ThreadClosed { .. }), "{refused}");
}

async fn an_answer_that_is_undone_leaves_the_one_before_it(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let first = keep.engine.decide(thread, Decide::new("q", "one")).await.expect("a decision").version;
    let second = keep.engine.decide(thread, Decide::new("q", "two")).await.expect("a decision").version;
    keep.engine.rollback(thread, RollbackTo::Version(first)).await.expect("a rollback");
    assert_eq!(decided(&keep, thread, None).await, "q=one");
    assert_eq!(decided(&keep, thread, Some(second)).await, "q=two", "what was undone is readable as of its version");
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    assert_eq!(decided(&keep, thread, None).await, "q=two");
}
