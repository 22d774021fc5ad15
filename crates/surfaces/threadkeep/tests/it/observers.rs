//! Observers: a thread is told what happens to another one, once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use threadkeep::{
    Capability, Courier, DeleteFile, Delivery, EndRun, Error, Injection, InjectionState, InjectionType, NewFile,
    Observe, Position, RollbackTo, RunOutcome, StartRun, ThreadEvent, ThreadId, Transfer, Unobserve, Urgency, Uuid,
    calls::Deliver,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_is_told_once_what_happens_to_another,
    an_observer_hears_what_it_asked_for_from_then_on,
    who_takes_over_goes_on_where_the_last_one_was,
    a_webhook_is_brought_by_a_courier,
    a_webhook_that_nobody_takes_is_told_to_the_thread,
    what_cannot_be_observed_is_refused,
    what_happens_to_files_is_told_and_taken_up_with_the_next_step,
);

fn observe(target: ThreadId, events: &[ThreadEvent]) -> Observe {
    Observe { target: target.into(), events: events.to_vec(), deliver: Deliver::Thread }
}

async fn observed(keep: &Keep, thread: ThreadId, observe: Observe) -> Uuid {
    keep.engine.observe_thread(thread, observe).await.expect("an observer").id
}

async fn ask(keep: &Keep, thread: ThreadId) {
    keep.engine.transfer(thread, Transfer::request_approval([Capability::Deploy])).await.expect("an approval");
}

async fn fail(keep: &Keep, thread: ThreadId) {
    let run = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution").run.id;
    keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Failed)).await.expect("an end");
}

/// What waits on a thread, once `count` injections do.
async fn waiting(keep: &Keep, thread: ThreadId, count: usize) -> Vec<Injection> {
    let mut subscription = keep.engine.subscribe(thread, Position(0)).await.expect("a subscription");
    loop {
        let injected = keep.engine.injections(thread, InjectionState::Waiting).await.expect("injections");
        if injected.len() >= count {
            return injected;
        }
        let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await.expect("in time");
        next.expect("an entry").expect("a thread");
    }
}

/// The events that injections tell of.
fn events(injected: &[Injection]) -> Vec<&str> {
    let event = |injection: &'_ Injection| {
        let known = ThreadEvent::ALL.into_iter().map(ThreadEvent::as_str);
        let said = injection.content.as_str();
        known.into_iter().find(|event| said.contains(&format!("\"event\":\"{event}\""))).unwrap_or("none")
    };
    injected.iter().map(event).collect()
}

async fn a_thread_is_told_once_what_happens_to_another(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let tellers: Vec<_> = (0..2).map(|_| tokio::spawn(keep.engine.clone().run_observers(None))).collect();
    let id = observed(&keep, thread, observe(target, &[])).await;
    ask(&keep, target).await;
    fail(&keep, target).await;
    let told = waiting(&keep, thread, 2).await;
    assert_eq!(events(&told), ["approval_requested", "error_occurred"]);
    let plain = |told: &Injection| (told.kind, told.urgency) == (InjectionType::Data, Urgency::NextStep);
    assert!(told.iter().all(plain) && keep.shows(thread).await.is_empty(), "no message is made of it");
    let content = told[0].content.as_str();
    assert!(content.contains(&id.to_string()) && content.contains(&target.to_string()), "{content}");
    ask(&keep, target).await;
    assert_eq!(waiting(&keep, thread, 3).await.len(), 3, "each once");
    tellers.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn an_observer_hears_what_it_asked_for_from_then_on(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    let teller = tokio::spawn(keep.engine.clone().run_observers(None));
    ask(&keep, target).await;
    let first = observed(&keep, thread, observe(target, &[ThreadEvent::ErrorOccurred])).await;
    let listed = keep.engine.observers(thread).await.expect("observers");
    assert_eq!((listed.len(), listed[0].events.as_slice()), (1, &["error_occurred".to_owned()][..]));
    ask(&keep, target).await;
    fail(&keep, target).await;
    assert_eq!(events(&waiting(&keep, thread, 1).await), ["error_occurred"]);
    assert!(keep.engine.unobserve(thread, Unobserve { observer: first }).await.expect("an answer"));
    assert!(!keep.engine.unobserve(thread, Unobserve { observer: first }).await.expect("an answer"));
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    observed(&keep, thread, observe(target, &[])).await;
    keep.engine.rollback(thread, RollbackTo::Version(version)).await.expect("a rollback");
    assert!(keep.engine.observers(thread).await.expect("observers").is_empty());
    let witness = keep.thread(&[]).await;
    observed(&keep, witness, observe(target, &[])).await;
    fail(&keep, target).await;
    waiting(&keep, witness, 1).await;
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("an undo");
    ask(&keep, target).await;
    assert_eq!(events(&waiting(&keep, thread, 2).await), ["error_occurred", "approval_requested"], "the first is old");
    teller.abort();
}

async fn who_takes_over_goes_on_where_the_last_one_was(keep: Keep) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    observed(&keep, thread, observe(target, &[])).await;
    ask(&keep, target).await;
    // Nobody was there to tell yet: the first who comes does, and does so once.
    let teller = tokio::spawn(keep.engine.clone().run_observers(None));
    assert_eq!(events(&waiting(&keep, thread, 1).await), ["approval_requested"]);
    teller.abort();
}

/// Takes what it is brought, or does not.
struct Hands {
    taken: Mutex<Vec<(String, Delivery)>>,
    told: tokio::sync::Notify,
    takes: bool,
}

impl Courier for Hands {
    fn bring(&self, url: String, delivery: Delivery) -> threadkeep::BoxFuture<'_, Result<(), String>> {
        self.taken.lock().expect("a lock").push((url, delivery));
        self.told.notify_one();
        let taken = if self.takes { Ok(()) } else { Err("nobody is there".to_owned()) };
        Box::pin(std::future::ready(taken))
    }
}

/// A teller whose courier takes what it brings, or does not, and one webhook; somebody asked for an approval.
async fn brought(keep: &Keep, takes: bool) -> (ThreadId, ThreadId, Vec<(String, Delivery)>) {
    let (thread, target) = (keep.thread(&[]).await, keep.thread(&["a"]).await);
    let hands = Arc::new(Hands { taken: Mutex::default(), told: tokio::sync::Notify::new(), takes });
    let courier: Arc<dyn Courier> = hands.clone();
    tokio::spawn(keep.engine.clone().run_observers(Some(courier)));
    let deliver = Deliver::Webhook("https://example.com/hook".to_owned());
    observed(keep, thread, Observe { deliver, ..observe(target, &[]) }).await;
    ask(keep, target).await;
    tokio::time::timeout(Duration::from_secs(20), hands.told.notified()).await.expect("in time");
    let taken = hands.taken.lock().expect("a lock").clone();
    (thread, target, taken)
}

async fn a_webhook_is_brought_by_a_courier(keep: Keep) {
    let (thread, target, taken) = brought(&keep, true).await;
    assert_eq!(taken.len(), 1);
    let (url, delivery) = &taken[0];
    assert_eq!((url.as_str(), delivery.event), ("https://example.com/hook", ThreadEvent::ApprovalRequested));
    assert_eq!((delivery.target, delivery.thread, delivery.version), (target, thread, Position(2)));
    assert!(delivery.data.as_str().contains("\"scope\":[\"deploy\"]"), "{:?}", delivery.data);
}

async fn a_webhook_that_nobody_takes_is_told_to_the_thread(keep: Keep) {
    let (thread, _, _) = brought(&keep, false).await;
    let mut subscription = keep.engine.subscribe(thread, Position(1)).await.expect("a subscription");
    let next = tokio::time::timeout(Duration::from_secs(20), subscription.next()).await.expect("in time");
    let entry = next.expect("an entry").expect("a thread");
    assert_eq!(entry.kind.as_str(), "event_logged");
    let told = String::from_utf8_lossy(&entry.json).into_owned();
    assert!(told.contains("webhook_failed") && told.contains("nobody is there"), "{told}");
}

async fn what_cannot_be_observed_is_refused(keep: Keep) {
    let thread = keep.thread(&[]).await;
    let code = |result: Result<threadkeep::calls::Observer, Error>| result.expect_err("refused").code();
    let unknown = observe(ThreadId::from_chance(9), &[]);
    assert_eq!(code(keep.engine.observe_thread(thread, unknown).await), "thread_not_found");
    for url in ["ftp://x", "https://user:pass@x/", "x", ""] {
        let wrong = Observe { deliver: Deliver::Webhook(url.into()), ..observe(thread, &[]) };
        assert_eq!(code(keep.engine.observe_thread(thread, wrong).await), "invalid_body", "{url}");
    }
    let id: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
    assert_eq!(keep.engine.observer(thread, id).await.expect_err("unknown").code(), "observer_not_found");
}

async fn what_happens_to_files_is_told_and_taken_up_with_the_next_step(keep: Keep) {
    let (thread, target) = (keep.thread(&["x"]).await, keep.thread(&["a"]).await);
    let teller = tokio::spawn(keep.engine.clone().run_observers(None));
    observed(&keep, thread, observe(target, &[])).await;
    for text in ["one", "two"] {
        keep.engine.write_file(target, NewFile::new("a.txt", text).expect("a file")).await.expect("a file");
    }
    let told = waiting(&keep, thread, 2).await;
    assert_eq!(events(&told), ["artifact_created", "artifact_updated"]);
    let step = keep.engine.start_run(thread, StartRun::caller()).await.expect("an execution");
    assert_eq!(step.injections.iter().map(|taken| taken.id).collect::<Vec<_>>(), [told[0].id, told[1].id]);
    let delete = DeleteFile { path: "a.txt".parse().expect("a path") };
    keep.engine.delete_file(target, delete).await.expect("a deletion");
    assert_eq!(events(&waiting(&keep, thread, 1).await), ["artifact_updated"], "what was taken up is not told again");
    teller.abort();
}
