//! Merges: what several threads made comes together, line by line where it can, and nothing changes where it cannot.

use std::sync::Arc;

use threadkeep::model::{
    Choice, ConflictStrategy, ConflictType, DecisionStrategy, FileConflict, FileStrategy, MergeAction, MergeBase,
    MergePlan, MergeStatus, Resolved, StateStrategy, Take,
};
use threadkeep::{
    Account, Actor, ActorKind, Approve, At, Caller, Capability, Decide, DeleteFile, Deny, Engine, Error, Files, Fork,
    Inherit, Json, Limits, MemoryStore, Merge, MergeTold, NewFile, RollbackTo, SetValue, Spawn, Stores, Subagent,
    SystemWorld, ThreadId, Timestamp, Transfer, Values, World,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_merge_of_a_part_leaves_the_rest_for_the_next,
    what_one_side_changed_is_taken_and_what_both_changed_is_merged_by_lines,
    what_cannot_be_merged_changes_nothing_but_the_record,
    strategies_and_choices_resolve_what_is_in_conflict,
    every_kind_of_conflict_of_files_is_named,
    a_second_merge_goes_on_from_the_first_in_either_direction,
    several_sources_are_merged_in_their_order,
    threads_without_a_common_history_are_compared_with_nothing,
    a_spawned_thread_is_merged_against_what_it_was_given,
    a_scope_bounds_what_is_merged,
    values_are_merged_and_their_conflicts_are_of_state,
    decisions_that_differ_are_a_conflict_until_somebody_chooses,
    sources_are_compared_with_each_other_and_what_is_uncontested_is_adopted,
    a_dry_run_says_what_would_happen_and_changes_nothing,
    a_merge_waits_for_its_approval_and_happens_with_it,
    an_agent_merges_only_where_it_may,
    a_merge_can_be_rolled_back_and_is_made_again,
    merges_side_by_side_lose_nothing,
    hostile_plans_are_refused,
    a_merge_writes_no_more_than_the_quota,
);

async fn put(keep: &Keep, thread: ThreadId, at: &str, content: &str) {
    let file = NewFile::new(at, content.to_owned()).expect("a file");
    keep.engine.write_file(thread, file).await.expect("a file");
}

async fn remove(keep: &Keep, thread: ThreadId, at: &str) {
    let delete = DeleteFile { path: at.parse().expect("a path") };
    assert!(keep.engine.delete_file(thread, delete).await.expect("a deletion"));
}

/// Everything a thread holds, as `path=content`, with `|` for line ends.
async fn holds(keep: &Keep, thread: ThreadId) -> String {
    let (files, _) = keep.engine.files(thread, Files::default()).await.expect("files");
    let mut told = Vec::new();
    for record in files {
        let content = keep.engine.file_content(record.file().expect("a file"), None).await.expect("content");
        told.push(format!("{}={}", record.path, String::from_utf8_lossy(&content).replace('\n', "|")));
    }
    told.join(" ")
}

/// A thread with a file of five lines and another one, and a fork of it.
async fn pair(keep: &Keep) -> (ThreadId, ThreadId) {
    let target = keep.thread(&["work"]).await;
    put(keep, target, "/f", "1\n2\n3\n4\n5\n").await;
    put(keep, target, "/g", "g\n").await;
    let source = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
    (target, source)
}

async fn merge(keep: &Keep, target: ThreadId, merge: Merge) -> MergeTold {
    keep.engine.merge(target, merge).await.expect("a merge")
}

fn by_files(file: FileStrategy) -> MergePlan {
    MergePlan { conflict_strategy: ConflictStrategy { file, ..Default::default() }, ..MergePlan::default() }
}

/// A merge of `source` by a plan.
fn planned(plan: MergePlan, source: ThreadId) -> Merge {
    let MergePlan { artifact_scope, conflict_strategy, choices, validation, requires_approval } = plan;
    Merge { artifact_scope, conflict_strategy, choices, validation, requires_approval, ..Merge::from(source) }
}

fn choosing(choice: Choice) -> MergePlan {
    MergePlan { choices: vec![choice], ..MergePlan::default() }
}

fn choice() -> Choice {
    Choice { path: None, key: None, question: None, take: None, content: None, value: None }
}

fn statuses(merged: &MergeTold) -> Vec<(FileConflict, Option<Resolved>)> {
    let conflicts = merged.conflicts.iter();
    conflicts.map(|conflict| (conflict.detail.expect("of a file"), conflict.resolved)).collect()
}

async fn what_one_side_changed_is_taken_and_what_both_changed_is_merged_by_lines(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, target, "/f", "one\n2\n3\n4\n5\n").await;
    put(&keep, source, "/f", "1\n2\n3\n4\nfive\n").await;
    put(&keep, source, "/new", "n\n").await;
    remove(&keep, source, "/g").await;
    put(&keep, target, "/own", "o\n").await;
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!(done.status, MergeStatus::Merged, "{:?}", done);
    assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|five| /new=n| /own=o|");
    let told: Vec<_> = done.files.iter().map(|file| (file.path.as_str(), file.action)).collect();
    let expected = [("/f", MergeAction::Merged), ("/g", MergeAction::Removed), ("/new", MergeAction::Added)];
    assert_eq!(told, expected);
    assert!(done.files.iter().all(|file| file.from.iter().all(|from| from.thread_id == source)));
    assert_eq!(keep.shows(target).await, "work", "conversations are not merged");
    assert_eq!(holds(&keep, source).await, "/f=1|2|3|4|five| /new=n|", "the source is as it was");
    let record = keep.engine.merge_record(target, done.merge_id.expect("an id")).await.expect("a record");
    assert_eq!(record, done);
    assert_eq!(keep.engine.merges(target).await.expect("merges"), [done]);
}

async fn what_cannot_be_merged_changes_nothing_but_the_record(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, target, "/f", "ours\n2\n3\n4\n5\n").await;
    put(&keep, source, "/f", "theirs\n2\n3\n4\n5\n").await;
    put(&keep, source, "/new", "n\n").await;
    let before = holds(&keep, target).await;
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!(done.status, MergeStatus::Conflicted);
    assert_eq!(statuses(&done), [(FileConflict::BothChanged, None)]);
    let shown = done.conflicts[0].merged.clone().expect("the text");
    assert!(shown.starts_with(&format!("<<<<<<< target\nours\n=======\ntheirs\n>>>>>>> {source}\n2\n")), "{shown}");
    assert_eq!(holds(&keep, target).await, before, "nothing is half done");
    let version = keep.engine.thread(target).await.expect("a thread").head.version;
    assert_eq!(done.version, Some(version), "its record is there");
    // What was shown is mended and sent back.
    let mended =
        Choice { path: Some("/f".parse().expect("a path")), content: Some("both\n2\n3\n4\n5\n".into()), ..choice() };
    let done = merge(&keep, target, planned(choosing(mended), source)).await;
    assert_eq!((done.status, statuses(&done)[0].1), (MergeStatus::Merged, Some(Resolved::Content)));
    assert_eq!(holds(&keep, target).await, "/f=both|2|3|4|5| /g=g| /new=n|");
}

async fn strategies_and_choices_resolve_what_is_in_conflict(keep: Keep) {
    for (strategy, held) in [
        (FileStrategy::Ours, "ours|2|3|4|5|"),
        (FileStrategy::Theirs, "theirs|2|3|4|5|"),
        (FileStrategy::Union, "ours|theirs|2|3|4|5|"),
    ] {
        let (target, source) = pair(&keep).await;
        put(&keep, target, "/f", "ours\n2\n3\n4\n5\n").await;
        put(&keep, source, "/f", "theirs\n2\n3\n4\n5\n").await;
        let done = merge(&keep, target, planned(by_files(strategy), source)).await;
        assert_eq!(done.status, MergeStatus::Merged, "{strategy:?}");
        assert_eq!(holds(&keep, target).await, format!("/f={held} /g=g|"), "{strategy:?}");
    }
    let (target, source) = pair(&keep).await;
    put(&keep, target, "/f", "one\n2\n3\n4\n5\n").await;
    put(&keep, source, "/f", "1\n2\n3\n4\nfive\n").await;
    let manual = || planned(by_files(FileStrategy::Manual), source);
    let done = merge(&keep, target, manual()).await;
    assert_eq!(done.status, MergeStatus::Conflicted, "somebody has to choose, whatever could be merged");
    let theirs = Choice { path: Some("/f".parse().expect("a path")), take: Some(Take::Theirs), ..choice() };
    let plan = MergePlan { choices: vec![theirs], ..by_files(FileStrategy::Manual) };
    let done = merge(&keep, target, planned(plan, source)).await;
    assert_eq!(done.status, MergeStatus::Merged);
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|five| /g=g|");
}

async fn every_kind_of_conflict_of_files_is_named(keep: Keep) {
    let target = keep.thread(&[]).await;
    for at in ["/changed", "/gone-here", "/gone-there", "/binary", "/dir/x"] {
        put(&keep, target, at, "base\n").await;
    }
    let source = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
    for (thread, word) in [(target, "ours"), (source, "theirs")] {
        put(&keep, thread, "/added", word).await;
        put(&keep, thread, "/changed", word).await;
        put(&keep, thread, "/binary", &format!("\0{word}")).await;
    }
    remove(&keep, target, "/gone-here").await;
    put(&keep, source, "/gone-here", "theirs").await;
    remove(&keep, source, "/gone-there").await;
    put(&keep, target, "/gone-there", "ours").await;
    remove(&keep, source, "/dir/x").await;
    put(&keep, source, "/dir", "now a file").await;
    put(&keep, target, "/dir/y", "more").await;
    let plan = |file| Merge { dry_run: true, ..planned(by_files(file), source) };
    let done = merge(&keep, target, plan(FileStrategy::ThreeWay)).await;
    let told: Vec<_> = done
        .conflicts
        .iter()
        .map(|conflict| (conflict.path.as_ref().expect("a path").as_str(), conflict.detail.expect("a detail")))
        .collect();
    let expected = [
        ("/added", FileConflict::BothAdded),
        ("/binary", FileConflict::Binary),
        ("/changed", FileConflict::BothChanged),
        ("/dir", FileConflict::TypeChanged),
        ("/gone-here", FileConflict::DeletedHere),
        ("/gone-there", FileConflict::DeletedThere),
    ];
    assert_eq!(told, expected);
    assert!(done.conflicts.iter().all(|conflict| conflict.kind == ConflictType::File && conflict.resolved.is_none()));
    let done = merge(&keep, target, plan(FileStrategy::Union)).await;
    let open: Vec<_> = done.conflicts.iter().filter(|conflict| conflict.resolved.is_none()).collect();
    assert_eq!(open.len(), 1, "only what is not text stays: {open:?}");
    let theirs = Merge { dry_run: false, ..plan(FileStrategy::Theirs) };
    assert_eq!(merge(&keep, target, theirs).await.status, MergeStatus::Merged);
    assert_eq!(holds(&keep, target).await, holds(&keep, source).await);
}

async fn a_second_merge_goes_on_from_the_first_in_either_direction(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/f", "1\n2\nthree\n4\n5\n").await;
    let first = merge(&keep, target, Merge::from(source)).await;
    assert!(matches!(first.sources[0].base, MergeBase::History { .. }));
    put(&keep, source, "/f", "1\n2\nTHREE\n4\n5\n").await;
    put(&keep, target, "/f", "1\n2\nthree\n4\nfive\n").await;
    let second = merge(&keep, target, Merge::from(source)).await;
    assert_eq!(second.status, MergeStatus::Merged, "against what the first one took: {:?}", second);
    assert!(matches!(&second.sources[0].base, MergeBase::Merge { merge_id, .. } if Some(*merge_id) == first.merge_id));
    assert_eq!(holds(&keep, target).await, "/f=1|2|THREE|4|five| /g=g|");
    put(&keep, target, "/f", "1\n2\nTHREE!\n4\nfive\n").await;
    let back = merge(&keep, source, Merge::from(target)).await;
    assert_eq!(back.status, MergeStatus::Merged);
    assert_eq!(holds(&keep, source).await, holds(&keep, target).await);
    let nothing = merge(&keep, source, Merge::from(target)).await;
    assert_eq!((nothing.status, nothing.files.len()), (MergeStatus::Merged, 0));
}

async fn several_sources_are_merged_in_their_order(keep: Keep) {
    let (target, one) = pair(&keep).await;
    let two = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
    put(&keep, one, "/f", "one\n2\n3\n4\n5\n").await;
    put(&keep, two, "/f", "1\n2\n3\n4\ntwo\n").await;
    put(&keep, two, "/two", "2\n").await;
    let both = || Merge { sources: vec![one.into(), two.into()], ..Merge::default() };
    let done = merge(&keep, target, both()).await;
    assert_eq!(done.status, MergeStatus::Merged);
    assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|two| /g=g| /two=2|");
    let from: Vec<ThreadId> = done.files[0].from.iter().map(|from| from.thread_id).collect();
    assert_eq!(from, [one, two], "where it came from");
    put(&keep, one, "/f", "1\n2\nX\n4\n5\n").await;
    put(&keep, two, "/f", "1\n2\nY\n4\ntwo\n").await;
    let done = merge(&keep, target, both()).await;
    assert_eq!((done.status, done.conflicts[0].source), (MergeStatus::Conflicted, Some(two)));
    assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|two| /g=g| /two=2|", "all or nothing");
}

async fn threads_without_a_common_history_are_compared_with_nothing(keep: Keep) {
    let (target, source) = (keep.thread(&[]).await, keep.thread(&[]).await);
    put(&keep, target, "/same", "s\n").await;
    put(&keep, source, "/same", "s\n").await;
    put(&keep, source, "/new", "n\n").await;
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!((&done.sources[0].base, done.status), (&MergeBase::Empty, MergeStatus::Merged));
    assert_eq!(holds(&keep, target).await, "/new=n| /same=s|");
}

async fn a_spawned_thread_is_merged_against_what_it_was_given(keep: Keep) {
    let part = |item: &str| Inherit::Partial(vec![item.parse().expect("an item")]);
    for inherit in [Inherit::Full, part("files:*"), part("files:**")] {
        let (target, _) = pair(&keep).await;
        let spawn = Spawn::new("fix it").inherit(inherit.clone());
        let child = keep.engine.spawn(target, spawn).await.expect("a thread").id;
        put(&keep, child, "/f", "1\n2\n3\n4\nfive\n").await;
        put(&keep, target, "/f", "one\n2\n3\n4\n5\n").await;
        let done = merge(&keep, target, Merge::from(child)).await;
        assert_eq!(done.status, MergeStatus::Merged, "{inherit:?}: {:?}", done);
        assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|five| /g=g|");
    }
}

/// A clock that stands still.
struct Still;

impl World for Still {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_800_000_000_000_000)
    }

    fn chance(&self) -> u128 {
        SystemWorld.chance()
    }
}

/// What a thread was given is known by its log and not by the time.
#[test]
fn what_a_spawned_thread_does_at_the_time_of_its_birth_is_its_own() {
    let engine = Engine::new(Stores::of(MemoryStore::new()), Arc::new(Still), Limits::default());
    let keep = Keep { engine, ..Keep::memory() };
    crate::run(async {
        let scopes: [&[&str]; 4] = [&["files:*"], &["files:f", "kv:k"], &["messages"], &["messages:last=1", "files:*"]];
        let inherits =
            scopes.map(|scope| Inherit::Partial(scope.iter().map(|item| item.parse().expect("an item")).collect()));
        for inherit in inherits.into_iter().chain([Inherit::None]) {
            let (target, _) = pair(&keep).await;
            let spawn = Spawn::new("fix it").inherit(inherit.clone());
            let child = keep.engine.spawn(target, spawn).await.expect("a thread").id;
            put(&keep, child, "/new", "n\n").await;
            let done = merge(&keep, target, Merge::from(child)).await;
            let taken: Vec<_> = done.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(taken, ["/new"], "{inherit:?}: {:?}", done);
            assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g| /new=n|");
        }
        let (target, _) = pair(&keep).await;
        let named = Subagent { name: "helper".into(), description: "helps".into(), ..Subagent::default() };
        let child = keep.engine.subagent(target, named).await.expect("a subagent").thread.id;
        put(&keep, child, "/new", "n\n").await;
        merge(&keep, target, Merge::from(child)).await;
        assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g| /new=n|");
    });
}

async fn a_scope_bounds_what_is_merged(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/src/a.rs", "a\n").await;
    put(&keep, source, "/b.md", "b\n").await;
    let value = SetValue::new("k", Json::string("v")).expect("a key");
    keep.engine.set_value(source, value).await.expect("a value");
    let plan = MergePlan { artifact_scope: vec!["src/**".into()], ..MergePlan::default() };
    merge(&keep, target, planned(plan, source)).await;
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g| /src/a.rs=a|");
    let values = async || keep.engine.values(target, Values::default()).await.expect("values").0.len();
    assert_eq!(values().await, 0, "values are named by kv:");
    let plan = MergePlan { artifact_scope: vec!["kv:".into()], ..MergePlan::default() };
    keep.engine.rollback(target, RollbackTo::Version(threadkeep::Position(3))).await.expect("a rollback");
    merge(&keep, target, planned(plan, source)).await;
    assert_eq!((values().await, holds(&keep, target).await.as_str()), (1, "/f=1|2|3|4|5| /g=g|"));
}

async fn values_are_merged_and_their_conflicts_are_of_state(keep: Keep) {
    let (target, _) = pair(&keep).await;
    let set = async |thread, key: &str, value: &str| {
        let json = Json::parse("value", value).expect("json");
        keep.engine.set_value(thread, SetValue::new(key, json).expect("a key")).await.expect("a value");
    };
    set(target, "both", "0").await;
    set(target, "gone", "0").await;
    let source = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
    set(target, "both", "1").await;
    set(source, "both", "2").await;
    set(source, "new", "3").await;
    set(source, "gone", "null").await;
    let told = async || {
        let (values, _) = keep.engine.values(target, Values::default()).await.expect("values");
        values.iter().map(|value| format!("{}={}", value.key, value.value.as_str())).collect::<Vec<_>>().join(" ")
    };
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!((done.status, done.conflicts[0].kind), (MergeStatus::Conflicted, ConflictType::State));
    assert_eq!(told().await, "both=1 gone=0");
    let state = |state| MergePlan {
        conflict_strategy: ConflictStrategy { state, ..Default::default() },
        ..MergePlan::default()
    };
    let done = merge(&keep, target, planned(state(StateStrategy::Latest), source)).await;
    assert_eq!(done.conflicts[0].resolved, Some(Resolved::Theirs), "it was set last");
    assert_eq!(told().await, "both=2 new=3");
    set(target, "both", "4").await;
    set(source, "both", "5").await;
    let chosen = Choice {
        key: Some("both".parse().expect("a key")),
        value: Some(Json::parse("value", "[4,5]").expect("json")),
        ..choice()
    };
    merge(&keep, target, planned(choosing(chosen), source)).await;
    assert_eq!(told().await, "both=[4,5] new=3");
}

async fn decisions_that_differ_are_a_conflict_until_somebody_chooses(keep: Keep) {
    let (target, source) = pair(&keep).await;
    keep.engine.decide(target, Decide::new("Which store?", "SQLite")).await.expect("a decision");
    keep.engine.decide(source, Decide::new("which  STORE?", "PostgreSQL")).await.expect("a decision");
    keep.engine.decide(source, Decide::new("Which colour?", "blue")).await.expect("a decision");
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!((done.status, done.conflicts[0].kind), (MergeStatus::Conflicted, ConflictType::Decision));
    let answers = async || {
        let decisions = keep.engine.decisions(target, None).await.expect("decisions");
        decisions.iter().map(|decision| decision.answer.clone()).collect::<Vec<_>>()
    };
    let theirs = DecisionStrategy::Theirs;
    let strategy = ConflictStrategy { decision: theirs, ..Default::default() };
    let plan = MergePlan { conflict_strategy: strategy, ..MergePlan::default() };
    let done = merge(&keep, target, planned(plan, source)).await;
    assert_eq!(done.status, MergeStatus::Merged);
    assert_eq!(answers().await, ["blue", "PostgreSQL"], "what only the source decided is adopted");
    keep.engine.decide(target, Decide::new("Which store?", "both")).await.expect("a decision");
    let done = merge(&keep, target, Merge::from(source)).await;
    assert_eq!(done.status, MergeStatus::Merged, "what was merged before is not asked again");
}

async fn sources_are_compared_with_each_other_and_what_is_uncontested_is_adopted(keep: Keep) {
    let (target, source) = pair(&keep).await;
    let other = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
    for (thread, question, answer) in [
        (source, "Colour?", "blue"),
        (other, "colour?", "red"),
        (source, "Shape?", "round"),
        (other, "Shape?", " round "),
        (other, "Size?", "large"),
    ] {
        keep.engine.decide(thread, Decide::new(question, answer)).await.expect("a decision");
    }
    let both = || Merge { sources: vec![source.into(), other.into()], ..Merge::from(source) };
    let answers = async || {
        let decisions = keep.engine.decisions(target, None).await.expect("decisions");
        decisions.iter().map(|decision| decision.answer.clone()).collect::<Vec<_>>()
    };
    let done = merge(&keep, target, both()).await;
    let told: Vec<_> = done.conflicts.iter().map(|conflict| (conflict.kind, conflict.source)).collect();
    assert_eq!((done.status, told), (MergeStatus::Conflicted, vec![(ConflictType::Decision, Some(other))]));
    assert!(answers().await.is_empty(), "a conflict adopts nothing");
    keep.engine.decide(other, Decide::new("Colour?", "blue")).await.expect("a decision");
    let done = merge(&keep, target, both()).await;
    assert_eq!((done.status, done.conflicts.len()), (MergeStatus::Merged, 0));
    assert_eq!(answers().await, ["blue", "round", "large"]);
}

async fn a_dry_run_says_what_would_happen_and_changes_nothing(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/new", "n\n").await;
    let before = keep.engine.thread(target).await.expect("a thread");
    let dry = Merge { dry_run: true, ..Merge::from(source) };
    let done = merge(&keep, target, dry).await;
    assert_eq!((done.status, done.files.len(), done.version, done.created_at), (MergeStatus::Clean, 1, None, None));
    assert_eq!(keep.engine.thread(target).await.expect("a thread"), before);
    assert!(keep.engine.merges(target).await.expect("merges").is_empty());
}

async fn a_merge_waits_for_its_approval_and_happens_with_it(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/f", "1\n2\n3\n4\nfive\n").await;
    let asking = || planned(MergePlan { requires_approval: true, ..MergePlan::default() }, source);
    let waits = merge(&keep, target, asking()).await;
    assert_eq!(waits.status, MergeStatus::PendingApproval);
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g|");
    // Both go on meanwhile: the source is merged as it was looked at, the target as it is.
    put(&keep, source, "/late", "l\n").await;
    put(&keep, target, "/f", "one\n2\n3\n4\n5\n").await;
    let asked = |merged: &MergeTold| merged.approval_id.expect("an approval");
    keep.engine.approve(At::none(), Approve::of(asked(&waits))).await.expect("approved");
    assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|five| /g=g|");
    let record = keep.engine.merge_record(target, waits.merge_id.expect("an id")).await.expect("a record");
    assert_eq!(record.status, MergeStatus::Merged);
    let denied = merge(&keep, target, asking()).await;
    keep.engine.deny(At::none(), Deny::of(asked(&denied))).await.expect("denied");
    let record = keep.engine.merge_record(target, denied.merge_id.expect("an id")).await.expect("a record");
    assert_eq!(record.status, MergeStatus::Rejected);
    assert_eq!(holds(&keep, target).await, "/f=one|2|3|4|five| /g=g|");
    let again = keep.engine.approve(At::none(), Approve::of(asked(&denied))).await;
    assert_eq!(again.expect_err("it was answered").code(), "approval_answered");
}

async fn an_agent_merges_only_where_it_may(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/new", "n\n").await;
    let actor = Actor::new(ActorKind::Agent, "coder").expect("an actor");
    let agent = keep.engine.acting_as(Caller { actor, ..Caller::local() });
    let refused = agent.merge(target, Merge::from(source)).await.expect_err("nobody allowed it");
    assert_eq!(refused.code(), "approval_required");
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g|");
    keep.engine.transfer(target, Transfer::delegate([Capability::CodeEdit])).await.expect("a delegation");
    agent.merge(target, Merge::from(source)).await.expect("a merge");
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g| /new=n|");
    let stranger = keep.engine.acting_as(Caller { account: Account::new("bob").expect("a name"), ..Caller::local() });
    let own = stranger.create(threadkeep::Create::titled("x")).await.expect("a thread").id;
    let foreign = stranger.merge(own, Merge::from(source)).await.expect_err("not theirs to read");
    assert_eq!(foreign.code(), "thread_not_found");
}

async fn a_merge_can_be_rolled_back_and_is_made_again(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/new", "n\n").await;
    let before = keep.engine.thread(target).await.expect("a thread").head.version;
    merge(&keep, target, Merge::from(source)).await;
    keep.engine.rollback(target, RollbackTo::Version(before)).await.expect("a rollback");
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g|");
    let done = merge(&keep, target, Merge::from(source)).await;
    assert!(matches!(done.sources[0].base, MergeBase::History { .. }), "what was undone is no base");
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g| /new=n|");
}

async fn merges_side_by_side_lose_nothing(keep: Keep) {
    let (target, _) = pair(&keep).await;
    let mut sources = Vec::new();
    for n in 0..6 {
        let source = keep.engine.fork(target, Fork::default()).await.expect("a fork").id;
        put(&keep, source, &format!("/own-{n}"), "x\n").await;
        put(&keep, source, "/shared", &format!("{n}\n")).await;
        sources.push(source);
    }
    let merges = sources.iter().map(|source| keep.engine.merge(target, Merge::from(*source)));
    let mut done = Vec::new();
    let mut running: Vec<_> = merges.map(Box::pin).collect();
    // All of them at once, on one task.
    std::future::poll_fn(|context| {
        running.retain_mut(|merge| match merge.as_mut().poll(context) {
            std::task::Poll::Ready(merged) => {
                done.push(merged.expect("a merge").status);
                false
            }
            std::task::Poll::Pending => true,
        });
        if running.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    let merged = done.iter().filter(|status| **status == MergeStatus::Merged).count();
    let conflicted = done.iter().filter(|status| **status == MergeStatus::Conflicted).count();
    assert_eq!((merged, conflicted), (1, 5), "the first wins, the others are told");
    assert_eq!(holds(&keep, target).await.matches("/own-").count(), 1, "nothing is half done");
    assert_eq!(keep.engine.merges(target).await.expect("merges").len(), 6);
}

async fn a_merge_writes_no_more_than_the_quota(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/large", &"x".repeat(30)).await;
    remove(&keep, source, "/g").await;
    let within = |files_bytes_max| keep.engine.with_limits(Limits { files_bytes_max, ..*keep.engine.limits() });
    // The target itself wrote 12 bytes.
    let refused = within(41).merge(target, Merge::from(source)).await.expect_err("above the quota");
    assert!(matches!(refused, Error::QuotaExceeded { used: 12, more: 30, max: 41 }), "{refused}");
    assert_eq!(holds(&keep, target).await, "/f=1|2|3|4|5| /g=g|", "nothing happened");
    assert_eq!(keep.engine.merges(target).await.expect("merges").len(), 0);
    within(42).merge(target, Merge::from(source)).await.expect("a merge");
    let used = keep.engine.thread(target).await.expect("a thread").head.tally.work.written;
    assert_eq!(used, 42, "what was checked is what is counted");
    remove(&keep, source, "/f").await;
    within(42).merge(target, Merge::from(source)).await.expect("a removal writes nothing");
}

async fn hostile_plans_are_refused(keep: Keep) {
    let (target, source) = pair(&keep).await;
    let refused = async |merge: Merge| keep.engine.merge(target, merge).await.expect_err("refused").code();
    assert_eq!(refused(Merge::default()).await, "invalid_body");
    assert_eq!(refused(Merge::from(target)).await, "invalid_body");
    assert_eq!(
        refused(Merge { sources: vec![source.into(), source.into()], ..Merge::default() }).await,
        "invalid_body"
    );
    assert_eq!(refused(Merge { sources: vec![source.into(); 99], ..Merge::default() }).await, "invalid_body");
    assert_eq!(refused(Merge::from(ThreadId::from_chance(7))).await, "thread_not_found");
    let scope = MergePlan { artifact_scope: vec!["[".into()], ..MergePlan::default() };
    assert_eq!(refused(planned(scope, source)).await, "invalid_body");
    for bad in [
        choice(),
        Choice { path: Some("/f".parse().expect("a path")), ..choice() },
        Choice { question: Some("q".into()), take: Some(Take::Union), ..choice() },
        Choice { path: Some("/f".parse().expect("a path")), value: Some(Json::string("x")), ..choice() },
    ] {
        assert_eq!(refused(planned(choosing(bad), source)).await, "invalid_body");
    }
    let test = MergePlan { validation: threadkeep::model::Validation::Test, ..MergePlan::default() };
    assert_eq!(refused(planned(test, source)).await, "validation_not_configured");
    assert!(keep.engine.merges(target).await.expect("merges").is_empty(), "nothing was recorded");
}

async fn a_merge_of_a_part_leaves_the_rest_for_the_next(keep: Keep) {
    let (target, source) = pair(&keep).await;
    put(&keep, source, "/f", "1\n2\n3\n4\nfive\n").await;
    put(&keep, source, "/d/a", "one\n").await;
    let value = SetValue::new("k", Json::string("v")).expect("a key");
    keep.engine.set_value(source, value).await.expect("a value");
    let scoped = |item: &str| {
        let plan = MergePlan { artifact_scope: vec![item.to_owned()], ..MergePlan::default() };
        planned(plan, source)
    };
    merge(&keep, target, scoped("d/**")).await;
    assert_eq!(holds(&keep, target).await, "/d/a=one| /f=1|2|3|4|5| /g=g|");
    put(&keep, source, "/d/a", "two\n").await;
    let rest = merge(&keep, target, Merge::from(source)).await;
    assert_eq!((rest.status, rest.conflicts.len()), (MergeStatus::Merged, 0), "{rest:?}");
    assert_eq!(holds(&keep, target).await, "/d/a=two| /f=1|2|3|4|five| /g=g|");
    let (values, _) = keep.engine.values(target, Values::default()).await.expect("values");
    assert_eq!(values.len(), 1);
    // The other way, what was taken is what both have in common.
    put(&keep, target, "/g", "target\n").await;
    let back = merge(&keep, source, Merge::from(target)).await;
    assert_eq!((back.status, back.files.len()), (MergeStatus::Merged, 1), "{back:?}");
}
