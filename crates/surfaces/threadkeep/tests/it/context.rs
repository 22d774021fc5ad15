//! What a model is given of a thread: what fits, in whole pairs, with a summary of what was cut.

use std::collections::HashSet;
use std::sync::Arc;

use threadkeep::{
    Append, Content, Conversation, DeleteMessage, EditMessage, Engine, Error, Estimate, Fork, GetContext, Json,
    MessageBody, MessageId, ModelMessage, Part, Picture, Role, Rollback, RollbackTo, RunSide, SetValue, StartRun,
    ThreadId, Truncate, TruncateFrom, Values, Wanted,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_short_thread_is_given_whole,
    a_long_thread_is_cut_to_sixty_percent_and_stays_so_until_the_next_cut,
    forks_share_a_summary_and_rollbacks_drop_it,
    an_edit_or_a_truncation_in_its_range_voids_a_summary,
    a_summary_is_no_value_and_its_name_is_reserved,
    a_result_that_is_too_long_is_shortened_and_keeps_its_call,
    the_context_is_shown_with_the_tokens_of_each_part,
    a_run_of_a_caller_keeps_the_summary_that_it_needs_in_its_own_commit,
    text_files_are_given_as_text_and_of_others_a_line_is,
);

fn said(role: Role, parts: &[Part]) -> MessageBody {
    MessageBody::with_content(role, Content::parts(parts).expect("content"))
}

fn call(id: &str) -> Part {
    Part::ToolUse { id: id.into(), name: "t".into(), input: serde_json::json!({}) }
}

fn result(id: &str, text: &str) -> Part {
    Part::ToolResult { tool_use_id: id.into(), content: text.into(), is_error: false }
}

fn within(tokens: u64) -> Wanted {
    Wanted { tokens, ..Wanted::default() }
}

async fn given(engine: &Engine, thread: ThreadId, wanted: &Wanted) -> Conversation {
    let thread = engine.thread(thread).await.expect("a thread");
    engine.conversation(&thread, None, wanted).await.expect("a conversation")
}

/// The same, after what was cut is summarized.
async fn summarized(engine: &Engine, thread: ThreadId, wanted: &Wanted) -> Conversation {
    let told = given(engine, thread, wanted).await;
    let Some(cut) = told.cut else { return told };
    let kept = engine.summarize_context(thread, cut.covers, &cut.built_in, None).await.expect("a summary");
    assert!(kept.is_some());
    given(engine, thread, wanted).await
}

fn ids(told: &Conversation) -> Vec<MessageId> {
    told.messages.iter().filter_map(|message| message.id).collect()
}

async fn say(keep: &Keep, thread: ThreadId, count: usize) {
    for number in 0..count {
        let role = if number % 2 == 0 { Role::User } else { Role::Assistant };
        let text = format!("Message {number} says a few words about the trip to Rome and its hotels.");
        keep.engine.append(thread, MessageBody::new(role, &text)).await.expect("an append");
    }
}

fn total(told: &Conversation) -> u64 {
    told.tokens.iter().sum::<u64>() + told.summary.as_ref().map_or(0, |summary| summary.tokens)
}

async fn a_short_thread_is_given_whole(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let told = given(&keep.engine, thread, &within(1_000)).await;
    assert_eq!(ids(&told), keep.ids(thread).await);
    assert!(told.summary.is_none() && told.cut.is_none());
}

async fn a_long_thread_is_cut_to_sixty_percent_and_stays_so_until_the_next_cut(keep: Keep) {
    let (engine, thread, wanted) = (&keep.engine, keep.thread(&["Plan the trip."]).await, within(2_000));
    say(&keep, thread, 150).await;
    let told = given(engine, thread, &wanted).await;
    let cut = told.cut.as_ref().expect("something is cut");
    assert!(cut.messages.len() < 150, "what was not read is not copied either");
    assert!(cut.built_in.contains("Goal: Plan the trip."), "{}", cut.built_in);
    let told = summarized(engine, thread, &wanted).await;
    assert!(total(&told) <= 1_200 && total(&told) > 600, "{}", total(&told));
    let first = ids(&told)[0];
    let summary = told.summary.expect("a summary");
    let all = keep.ids(thread).await;
    assert_eq!(all.iter().position(|id| *id == summary.covers.last).map(|at| all[at + 1]), Some(first));
    // The beginning stays for as long as nothing has to be cut, so that caches have it.
    for _ in 0..10 {
        say(&keep, thread, 2).await;
        let told = given(engine, thread, &wanted).await;
        assert_eq!(
            (told.cut.is_none(), ids(&told)[0], told.summary.map(|one| one.text)),
            (true, first, Some(summary.text.clone()))
        );
    }
    say(&keep, thread, 60).await;
    let told = summarized(engine, thread, &wanted).await;
    let second = told.summary.clone().expect("a summary");
    assert_ne!(ids(&told)[0], first);
    assert_eq!(second.covers.first, summary.covers.first);
    assert!(second.text.contains("Goal: Plan the trip."), "what the first one said is not lost: {}", second.text);
    let then = engine.thread(thread).await.expect("a thread");
    let before = engine.conversation(&then, summary.version, &wanted).await.expect("a conversation");
    assert_eq!(before.summary.map(|one| one.text), Some(summary.text), "as of then, it is what was given then");
}

async fn forks_share_a_summary_and_rollbacks_drop_it(keep: Keep) {
    let (engine, thread, wanted) = (&keep.engine, keep.thread(&["Plan the trip."]).await, within(2_000));
    say(&keep, thread, 150).await;
    let before = engine.thread(thread).await.expect("a thread").head.version;
    summarized(engine, thread, &wanted).await;
    say(&keep, thread, 2).await;
    let origin = given(engine, thread, &wanted).await;
    let last = *ids(&origin).last().expect("a message");
    let fork = engine.fork(thread, Fork::at_message(last)).await.expect("a fork").id;
    let forked = given(engine, fork, &wanted).await;
    assert_eq!((&forked.messages, &forked.summary), (&origin.messages, &origin.summary));
    let back = Rollback { to: RollbackTo::Version(before) };
    engine.rollback(thread, back).await.expect("a rollback");
    let told = given(engine, thread, &wanted).await;
    assert!(told.summary.is_none() && told.cut.is_some());
    assert!(given(engine, fork, &wanted).await.summary.is_some(), "the fork keeps it");
    engine.rollback(thread, Rollback { to: RollbackTo::Undo }).await.expect("an undo");
    assert_eq!(given(engine, thread, &wanted).await.summary, origin.summary);
}

async fn an_edit_or_a_truncation_in_its_range_voids_a_summary(keep: Keep) {
    let (engine, wanted) = (&keep.engine, within(2_000));
    for change in 0..4 {
        let thread = keep.thread(&["Plan the trip."]).await;
        say(&keep, thread, 150).await;
        let told = summarized(engine, thread, &wanted).await;
        let (covered, sent) = (keep.ids(thread).await[3], *ids(&told).last().expect("a message"));
        let edit = |message: MessageId| EditMessage {
            message: message.into(),
            content: Some(Content::text("Paris")),
            metadata: None,
        };
        let holds = match change {
            0 => engine.call(thread, edit(sent)).await.map(|_| true),
            1 => engine.call(thread, edit(covered)).await.map(|_| false),
            2 => engine.call(thread, DeleteMessage { message: covered.into() }).await.map(|_| false),
            _ => engine.call(thread, Truncate { from: TruncateFrom::Message(covered.into()) }).await.map(|_| false),
        };
        let holds = holds.expect("a change");
        assert_eq!(given(engine, thread, &wanted).await.summary.is_some(), holds, "change {change}");
    }
}

async fn a_summary_is_no_value_and_its_name_is_reserved(keep: Keep) {
    let (engine, thread, wanted) = (&keep.engine, keep.thread(&["Plan the trip."]).await, within(2_000));
    say(&keep, thread, 150).await;
    engine.set_value(thread, SetValue::new("a", Json::string("b")).expect("a key")).await.expect("set");
    summarized(engine, thread, &wanted).await;
    let (listed, _) = engine.values(thread, Values::default()).await.expect("values");
    assert_eq!(listed.iter().map(|value| value.key.as_str()).collect::<Vec<_>>(), ["a"]);
    assert!(matches!(SetValue::new("\u{1}context", Json::string("x")), Err(invalid) if invalid.field == "key"));
    assert!(engine.doctor(crate::copy::quiet()).await.expect("a report").is_healthy());
}

async fn a_result_that_is_too_long_is_shortened_and_keeps_its_call(keep: Keep) {
    let thread = keep.thread(&["Read the log."]).await;
    keep.engine.append(thread, said(Role::Assistant, &[call("x")])).await.expect("an append");
    let long = "error at line 7. ".repeat(5_000);
    keep.engine.append(thread, said(Role::Tool, &[result("x", &long)])).await.expect("an append");
    let told = given(&keep.engine, thread, &within(1_000)).await;
    assert!(total(&told) <= 1_000, "{}", total(&told));
    assert_valid(&told.messages);
    assert_eq!(told.messages.len(), 3);
    let text = format!("{:?}", told.messages[2].content);
    assert!(text.contains("error at line 7") && text.contains("left out"), "{text}");
}

async fn the_context_is_shown_with_the_tokens_of_each_part(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["Where do I live?", "Well?"]).await;
    let quiet = MessageBody { silent: true, ..MessageBody::user("note") };
    engine.append(thread, quiet).await.expect("an append");
    let told = engine.call(thread, GetContext::default()).await.expect("a context");
    assert_eq!(told.messages.iter().map(|message| message.index).collect::<Vec<_>>(), [Some(0), Some(1), None]);
    assert_eq!(told.tokens.total, told.tokens.messages);
    assert!(told.estimated && told.cut == 0 && !told.cuts_next && told.tokens.total < told.budget);
    let then = GetContext { as_of: Some(threadkeep::Position(1)), run_id: None };
    assert_eq!(engine.call(thread, then).await.expect("a context").messages.len(), 1);
    let unknown = GetContext { as_of: None, run_id: Some(threadkeep::Uuid::from_chance(9)) };
    let refused = engine.call(thread, unknown).await;
    assert!(matches!(refused, Err(Error::RunNotFound { .. })), "{refused:?}");
    let bob = threadkeep::Caller {
        account: threadkeep::Account::new("bob").expect("an account"),
        ..threadkeep::Caller::local()
    };
    let fields = threadkeep::model::FieldChanges([("visibility".to_owned(), Json::string("public"))].into());
    engine.update(thread, threadkeep::Update { fields }).await.expect("public");
    let visitor = engine.acting_as(bob).call(thread, GetContext::default()).await;
    assert!(matches!(visitor, Err(Error::ThreadNotFound { .. } | Error::NotAllowed { .. })), "{visitor:?}");
}

async fn a_run_of_a_caller_keeps_the_summary_that_it_needs_in_its_own_commit(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&["Plan the trip."]).await);
    say(&keep, thread, 150).await;
    let before = engine.thread(thread).await.expect("a thread").head.version;
    let start = || StartRun { context_tokens: Some(2_000), take_over: true, ..StartRun::caller() };
    let begun = engine.start_run(thread, start()).await.expect("a run");
    assert_eq!(begun.version.0, before.0 + 2, "the summary and the start are one commit");
    let read = async || engine.model_messages_within(thread, None, Some(2_000)).await.expect("messages");
    let first = read().await;
    assert!(first[0].content.to_text().starts_with("[Summary of the earlier conversation]\nGoal: Plan the trip."));
    assert!(first.len() < 60 && first[0].id.is_none(), "{}", first.len());
    say(&keep, thread, 4).await;
    let begun = engine.start_run(thread, start()).await.expect("a run");
    assert!(begun.messages.is_empty());
    let second = read().await;
    assert_eq!(second[..first.len()], first, "a later start is given the same beginning");
    assert_eq!(second.len(), first.len() + 4);
    let wrong = engine.model_messages_within(thread, None, Some(7)).await;
    assert!(matches!(&wrong, Err(Error::Invalid(invalid)) if invalid.field == "contextTokens"), "{wrong:?}");
    let fields = threadkeep::model::FieldChanges([("visibility".to_owned(), Json::string("public"))].into());
    engine.update(thread, threadkeep::Update { fields }).await.expect("public");
    let bob = threadkeep::Caller {
        account: threadkeep::Account::new("bob").expect("an account"),
        ..threadkeep::Caller::local()
    };
    let seen = engine.acting_as(bob).model_messages_within(thread, None, Some(2_000)).await.expect("messages");
    assert!(seen.iter().all(|message| message.id.is_some()), "visitors see no summary");
}

async fn text_files_are_given_as_text_and_of_others_a_line_is(keep: Keep) {
    let (engine, thread) = (&keep.engine, keep.thread(&[]).await);
    let file = threadkeep::NewFile::new("/notes/plan.txt", "Rome first").expect("a file");
    engine.write_file(thread, file).await.expect("a file");
    let file = |path: &str| Part::File { path: path.into(), mime_type: "text/plain".into(), name: None };
    let body = said(Role::User, &[Part::Text { text: "Look:".into() }, file("/notes/plan.txt"), file("a.json")]);
    let message = threadkeep::NewMessage::from(body)
        .attach("a.json", "application/json", r#"{"city":"Bern"}"#)
        .attach("b.pdf", "application/pdf", "%PDF")
        .attach("c.png", "image/png", "png")
        .attach("d.log", "text/plain", "é".repeat(300_000));
    engine.append(thread, message).await.expect("an append");
    let told = given(engine, thread, &within(90_000)).await;
    let parts = told.messages[0].content.to_parts();
    let text = |at: usize| match &parts[at] {
        Part::Text { text } => text.as_str(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(1), "[file /notes/plan.txt]\nRome first\n[end of file /notes/plan.txt]");
    assert!(text(2).contains("{\"city\":\"Bern\"}"), "{}", text(2));
    assert!(text(3).starts_with("[file b.pdf (application/pdf, 4 bytes)"), "{}", text(3));
    assert!(matches!(&parts[4], Part::Image { path, .. } if path == "c.png"), "{:?}", parts[4]);
    assert!(text(5).contains("éé[… ") && text(5).len() < 300_000, "the middle of a long file is left out");
    assert!(total(&told) <= 90_000);
    let small = given(engine, thread, &within(1_000)).await;
    assert!(total(&small) <= 1_000, "{}", total(&small));
    let id = ids(&told)[0];
    let version = told.version;
    let line = engine.picture(thread, Some(id), ("c.png", None), version).await.expect("a line");
    assert_eq!(line, Picture::NotGiven("[picture c.png: image/png is no PNG, JPEG, GIF or WebP]".into()));
    let path: threadkeep::FilePath = "/notes/plan.txt".parse().expect("a path");
    engine.delete_file(thread, threadkeep::DeleteFile { path }).await.expect("deleted");
    let told = given(engine, thread, &within(90_000)).await;
    let text = told.messages[0].content.to_text().into_owned();
    assert!(text.contains("[file /notes/plan.txt (text/plain): it is not among the files"), "{text:.200}");
}

#[test]
fn each_side_of_two_models_sees_its_own_calls_alone() {
    crate::run(async {
        let keep = Keep::memory();
        let thread = keep.thread(&[]).await;
        let of_b = |parts: &[Part]| MessageBody {
            metadata: Some(Json::parse("metadata", r#"{"side":"b"}"#).expect("JSON")),
            ..said(Role::User, parts)
        };
        let text = |text: &str| Part::Text { text: text.into() };
        for one in [
            of_b(&[text("Hello.")]),
            said(Role::Assistant, &[text("Let me look."), call("a1")]),
            said(Role::Tool, &[result("a1", "found")]),
            said(Role::Assistant, &[text("It is there.")]),
            of_b(&[text("I check."), call("b1")]),
            said(Role::Tool, &[result("b1", "right")]),
        ] {
            keep.engine.append(thread, one).await.expect("an append");
        }
        let sent = async |side| {
            let told = given(&keep.engine, thread, &Wanted { side, ..Wanted::default() }).await;
            assert_valid(&told.messages);
            told.messages.iter().map(shown).collect::<Vec<_>>().join(" | ")
        };
        assert_eq!(
            sent(RunSide::A).await,
            "user Hello. | assistant Let me look. call a1 | tool result a1 | assistant It is there. | user I check."
        );
        assert_eq!(
            sent(RunSide::B).await,
            "assistant Hello. | user Let me look. | user It is there. | assistant I check. call b1 | tool result b1"
        );
    });
}

#[test]
fn prompts_say_how_many_messages_tools_and_pictures_are_given() {
    crate::run(async {
        let keep = Keep::memory();
        let thread = keep.thread(&["one"]).await;
        let picture = |name: &str| Part::Image { path: format!("/{name}"), mime_type: "image/png".into(), name: None };
        for one in [
            said(Role::Assistant, &[Part::Text { text: "calling".into() }, call("x")]),
            said(Role::Tool, &[result("x", "ok")]),
            said(Role::User, &[picture("a.png"), picture("b.png")]),
            said(Role::Assistant, &[call("y")]),
            said(Role::Tool, &[result("y", "ok")]),
        ] {
            keep.engine.append(thread, one).await.expect("an append");
        }
        let sent = async |wanted: Wanted| {
            let told = given(&keep.engine, thread, &wanted).await;
            assert_valid(&told.messages);
            told.messages.iter().map(shown).collect::<Vec<_>>().join(" | ")
        };
        let rest = "assistant call y | tool result y";
        assert_eq!(
            sent(Wanted { past_tools: false, ..Wanted::default() }).await,
            format!("user one | assistant calling | user picture picture | {rest}")
        );
        assert_eq!(
            sent(Wanted { images: 1, recent_messages: Some(3), ..Wanted::default() }).await,
            format!("user [picture left out: /a.png] picture | {rest}")
        );
        assert_eq!(sent(Wanted { recent_messages: Some(1), ..Wanted::default() }).await, rest, "pairs stay whole");
    });
}

fn shown(message: &ModelMessage) -> String {
    let parts = message.content.to_parts().into_iter().map(|part| match part {
        Part::Text { text } => text,
        Part::ToolUse { id, .. } => format!("call {id}"),
        Part::ToolResult { tool_use_id, .. } => format!("result {tool_use_id}"),
        Part::Image { .. } => "picture".to_owned(),
        Part::File { .. } | Part::Thinking { .. } => "other".to_owned(),
    });
    format!("{} {}", message.role, parts.collect::<Vec<_>>().join(" "))
}

/// Every call of the assistant is answered once, by the message right after it, and nothing else is answered.
#[track_caller]
fn assert_valid(messages: &[ModelMessage]) {
    let mut open: HashSet<String> = HashSet::new();
    for message in messages {
        let (mut calls, mut results) = (HashSet::new(), HashSet::new());
        for part in message.content.to_parts() {
            match part {
                Part::ToolUse { id, .. } => drop(calls.insert(id)),
                Part::ToolResult { tool_use_id, .. } => assert!(results.insert(tool_use_id), "{messages:?}"),
                Part::Text { .. } | Part::Image { .. } | Part::File { .. } | Part::Thinking { .. } => {}
            }
        }
        assert!(calls.is_empty() || message.role == Role::Assistant, "{messages:?}");
        assert_eq!(open, results, "{messages:?}");
        open = calls;
    }
    assert!(open.is_empty(), "{messages:?}");
}

/// Numbers that look random and repeat by their seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// How many random conversations are tried. `THREADKEEP_CONVERSATIONS` asks for more.
const CONVERSATIONS: u64 = 150;

#[test]
fn random_conversations_fit_in_whole_pairs_and_show_nothing_of_other_branches() {
    let count = std::env::var("THREADKEEP_CONVERSATIONS").ok().and_then(|count| count.parse().ok());
    for seed in 0..count.unwrap_or(CONVERSATIONS) {
        crate::run(random_conversation(seed));
    }
}

async fn random_conversation(seed: u64) {
    let (keep, mut chance) = (Keep::memory(), Chance(seed));
    let engine = &keep.engine;
    let mut threads = vec![keep.thread(&["Begin."]).await];
    let wanted = within(400 + chance.below(3_000));
    let mut open: Vec<String> = Vec::new();
    for step in 0..60 + chance.below(60) {
        let thread = threads[chance.below(threads.len() as u64) as usize];
        let long = "some words of a text ".repeat(1 + chance.below(12) as usize);
        let one = match chance.below(14) {
            0..=3 => MessageBody::user(&long),
            4..=5 => MessageBody::new(Role::Assistant, &long),
            6..=7 => {
                open = (0..1 + chance.below(3)).map(|number| format!("c{seed}-{step}-{number}")).collect();
                said(Role::Assistant, &open.iter().map(|id| call(id)).collect::<Vec<_>>())
            }
            8..=10 => match open.pop() {
                Some(id) => said(Role::Tool, &[result(&id, &long)]),
                None => MessageBody { silent: true, ..MessageBody::user(&long) },
            },
            11 => {
                let all = keep.ids(thread).await;
                let at = all[chance.below(all.len() as u64) as usize];
                threads.push(engine.fork(thread, Fork::at_message(at)).await.expect("a fork").id);
                continue;
            }
            12 => {
                let version = engine.thread(thread).await.expect("a thread").head.version;
                let to = threadkeep::Position(1 + chance.below(version.0));
                // A fork has no versions before its birth.
                drop(engine.rollback(thread, Rollback { to: RollbackTo::Version(to) }).await);
                continue;
            }
            _ => {
                let all = keep.ids(thread).await;
                let message = all[chance.below(all.len() as u64) as usize].into();
                let content = Some(Content::text("edited"));
                let edit = EditMessage { message, content, metadata: None };
                drop(engine.call(thread, edit).await);
                continue;
            }
        };
        engine.call(thread, Append::from(one)).await.expect("an append");
        let told = if chance.below(3) == 0 {
            summarized(engine, thread, &wanted).await
        } else {
            given(engine, thread, &wanted).await
        };
        let why = format!("seed {seed}, step {step}: {told:?}");
        assert_valid(&told.messages);
        assert!(total(&told) <= wanted.tokens, "{why}");
        let shown: Vec<MessageId> = keep.ids(thread).await;
        let place = |id: &MessageId| shown.iter().position(|one| one == id);
        let places: Vec<_> = ids(&told).iter().map(|id| place(id).unwrap_or_else(|| panic!("{why}"))).collect();
        assert!(!told.messages.is_empty(), "{why}");
        if let Some(summary) = &told.summary {
            let last = place(&summary.covers.last).unwrap_or_else(|| panic!("{why}"));
            assert!(places.iter().all(|place| *place > last), "{why}");
            assert_eq!(
                told.given.map(|given| place(&given.first)),
                Some(Some(last + 1)),
                "nothing is lost between: {why}"
            );
        }
    }
}

/// A conversation costs what its window costs: the length of the thread does not matter.
#[test]
fn the_same_number_of_messages_is_read_whatever_the_length() {
    crate::run(async {
        let keep = Keep::sqlite();
        let wanted = within(2_000);
        let mut read = Vec::new();
        for length in [500_usize, 4_000] {
            let thread = keep.thread(&["Begin."]).await;
            for _ in 0..length / 500 {
                let some = (0..500).map(|_| MessageBody::user("A message of a few words.").into()).collect();
                keep.engine
                    .call(thread, Append { messages: some, single: false, ..Append::from(MessageBody::user("x")) })
                    .await
                    .expect("appends");
            }
            let told = given(&keep.engine, thread, &wanted).await;
            let cut = told.cut.expect("a cut");
            read.push((told.messages.len(), cut.messages.len()));
        }
        assert_eq!(read[0], read[1]);
    });
}

#[test]
fn a_tokenizer_is_handed_in() {
    struct Words;
    impl threadkeep::CountTokens for Words {
        fn count(&self, text: &str) -> u64 {
            text.split_whitespace().count() as u64
        }
        fn name(&self) -> &str {
            "words"
        }
        fn is_estimate(&self) -> bool {
            false
        }
    }
    crate::run(async {
        let keep = Keep::memory();
        let thread = keep.thread(&["one two three"]).await;
        let told = given(&keep.engine, thread, &Wanted { tokenizer: Arc::new(Words), ..Wanted::default() }).await;
        let estimated =
            given(&keep.engine, thread, &Wanted { tokenizer: Arc::new(Estimate::OTHER), ..Wanted::default() }).await;
        assert_eq!(told.tokens, [4 + 3]);
        assert_ne!(told.tokens, estimated.tokens, "counts of one tokenizer are not those of another");
    });
}
