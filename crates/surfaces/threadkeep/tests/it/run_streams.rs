//! The stream of a run: whole from the start for every reader, whenever it comes.

use threadkeep::calls::{StreamStatus, ToolState};
use threadkeep::{
    At, EndRun, Json, MessageBody, RunEvent, RunOutcome, RunStream, SendDelta, SetEnv, StartRun, StepRun, ThreadId,
    Uuid,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_late_reader_sees_the_whole_run_and_chunks_are_replaced_by_the_text,
    a_reader_that_comes_back_gets_what_it_does_not_have,
    a_delta_of_a_run_that_is_over_is_refused,
    a_secret_over_two_deltas_is_not_shown,
    readers_that_come_and_go_see_the_same_text,
);

async fn delta(keep: &Keep, run: Uuid, text: &str) {
    let delta = SendDelta { run, attempt: 1, text: text.to_owned() };
    keep.engine.call(At::none(), delta).await.expect("a delta");
}

async fn start(keep: &Keep, thread: ThreadId) -> Uuid {
    keep.engine.start_run(thread, StartRun::caller()).await.expect("a run").run.id
}

fn told(event: &RunEvent) -> String {
    match event {
        RunEvent::Timing { .. } => "timing".to_owned(),
        RunEvent::Assistant { content, step, stream_status, message_id, .. } => {
            assert_eq!(message_id.is_some(), *stream_status == StreamStatus::Complete);
            format!("{} {step} {content}", stream_status.as_str())
        }
        RunEvent::ToolCall { tool_name, status } => format!("tool {tool_name} {}", status.as_str()),
        RunEvent::Status { status, .. } => format!("status {status}"),
    }
}

/// Everything until the run has ended.
async fn all(mut stream: RunStream) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(news) = stream.next().await.expect("news") {
        seen.push(told(&news.event));
    }
    seen
}

async fn next(stream: &mut RunStream) -> (Option<u64>, String) {
    let news = stream.next().await.expect("news").expect("not the end");
    (news.sequence, told(&news.event))
}

fn calls(id: &str) -> MessageBody {
    let json = format!(
        r#"[{{"type":"text","text":"Let me see."}},{{"type":"tool_use","id":"{id}","name":"look","input":{{}}}}]"#
    );
    let content = threadkeep::Content::from_json(Json::parse("content", &json).expect("JSON")).expect("content");
    MessageBody::with_content(threadkeep::Role::Assistant, content)
}

fn result(id: &str, is_error: bool) -> MessageBody {
    let json = format!(r#"[{{"type":"tool_result","toolUseId":"{id}","content":"ok","isError":{is_error}}}]"#);
    let content = threadkeep::Content::from_json(Json::parse("content", &json).expect("JSON")).expect("content");
    MessageBody::with_content(threadkeep::Role::Tool, content)
}

async fn a_late_reader_sees_the_whole_run_and_chunks_are_replaced_by_the_text(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await;
    let mut early = keep.engine.run_stream(run, None).await.expect("a stream");
    assert_eq!(next(&mut early).await.1, "status running");
    delta(&keep, run, "Let ").await;
    assert_eq!(next(&mut early).await.1, "timing");
    assert_eq!(next(&mut early).await.1, "chunk 1 Let ");
    delta(&keep, run, "me").await;
    delta(&keep, run, " see.").await;
    assert_eq!(next(&mut early).await.1, "chunk 1 me see.", "chunks that wait come together");
    let mut middle = keep.engine.run_stream(run, None).await.expect("a stream");
    let seen = [next(&mut middle).await.1, next(&mut middle).await.1, next(&mut middle).await.1];
    assert_eq!(seen, ["status running", "timing", "chunk 1 Let me see."]);
    keep.engine.step_run(thread, StepRun::of(run).message(calls("x"))).await.expect("a step");
    keep.engine.append(thread, MessageBody::user("aside")).await.expect("an append of another");
    let results = StepRun { continues: true, ..StepRun::of(run).message(result("x", false)) };
    keep.engine.step_run(thread, results).await.expect("a result");
    delta(&keep, run, "It ").await;
    let end = EndRun {
        messages: vec![MessageBody::assistant("It is sunny.").into()],
        ..EndRun::of(run, RunOutcome::Completed)
    };
    keep.engine.end_run(thread, end).await.expect("an end");
    let rest = ["complete 1 Let me see.", "tool look executing", "tool look completed", "complete 2 It is sunny."];
    let whole: Vec<&str> = ["status running", "timing"].into_iter().chain(rest).chain(["status completed"]).collect();
    let rest: Vec<&str> = rest.into_iter().chain(["status completed"]).collect();
    assert_eq!(all(early).await, rest);
    assert_eq!(all(middle).await, rest);
    assert_eq!(all(keep.engine.run_stream(run, None).await.expect("a stream")).await, whole);
    assert_eq!(ToolState::Failed.as_str(), "failed");
}

async fn a_reader_that_comes_back_gets_what_it_does_not_have(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await;
    let mut stream = keep.engine.run_stream(run, None).await.expect("a stream");
    let (started, _) = next(&mut stream).await;
    delta(&keep, run, "b").await;
    next(&mut stream).await;
    let (one, chunk) = next(&mut stream).await;
    assert_eq!(chunk, "chunk 1 b");
    assert!(one > started);
    delta(&keep, run, "c").await;
    let mut back = keep.engine.run_stream(run, one).await.expect("a stream");
    assert_eq!(next(&mut back).await.1, "chunk 1 c", "the chunk it has does not come again");
    keep.engine.step_run(thread, StepRun::of(run).message(MessageBody::assistant("bcd"))).await.expect("a step");
    let mut later = keep.engine.run_stream(run, one).await.expect("a stream");
    let (two, complete) = next(&mut later).await;
    assert_eq!(complete, "complete 1 bcd", "the whole text, in place of the chunks");
    keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Failed)).await.expect("an end");
    assert_eq!(all(keep.engine.run_stream(run, two).await.expect("a stream")).await, ["status failed"]);
}

async fn a_delta_of_a_run_that_is_over_is_refused(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await;
    let late = SendDelta { run, attempt: 2, text: "x".into() };
    let refused = keep.engine.call(At::none(), late).await.expect_err("another attempt");
    assert_eq!(refused.code(), "run_over");
    let stop = threadkeep::StopRun { run, now: false };
    keep.engine.stop_run(At::none(), stop).await.expect("a request");
    let told = keep.engine.call(At::none(), SendDelta { run, attempt: 1, text: "x".into() }).await.expect("a delta");
    assert!(told.stop_requested, "the executor learns of the request");
    keep.engine.stop_run(At::none(), threadkeep::StopRun::now(run)).await.expect("the end");
    let refused =
        keep.engine.call(At::none(), SendDelta { run, attempt: 1, text: "x".into() }).await.expect_err("over");
    assert_eq!(refused.code(), "run_over");
}

async fn a_secret_over_two_deltas_is_not_shown(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let name = "TOKEN".parse().expect("a name");
    let set = SetEnv { name, value: "hunter2-hunter2".into(), kind: None };
    keep.engine.call(thread, set).await.expect("a secret");
    let run = start(&keep, thread).await;
    for piece in ["it is hun", "ter2-hun", "ter2 indeed"] {
        delta(&keep, run, piece).await;
    }
    let mut stream = keep.engine.run_stream(run, None).await.expect("a stream");
    next(&mut stream).await;
    next(&mut stream).await;
    assert_eq!(next(&mut stream).await.1, "chunk 1 it is [secret:TOKEN] indeed");
    let said = MessageBody::assistant("it is hunter2-hunter2 indeed");
    keep.engine.step_run(thread, StepRun::of(run).message(said)).await.expect("a step");
    assert_eq!(next(&mut stream).await.1, "complete 1 it is [secret:TOKEN] indeed");
}

async fn readers_that_come_and_go_see_the_same_text(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let run = start(&keep, thread).await;
    let (steps, pieces) = (6_u64, 10_u64);
    let reader = |seed: u64| {
        let engine = keep.engine.clone();
        tokio::spawn(async move {
            let mut texts: Vec<String> = Vec::new();
            let (mut after, mut taken) = (None, 0_u64);
            'connected: loop {
                let mut stream = engine.run_stream(run, after).await.expect("a stream");
                while let Some(news) = stream.next().await.expect("news") {
                    after = news.sequence.or(after);
                    taken += 1;
                    match news.event {
                        RunEvent::Assistant { content, step, stream_status, .. } => {
                            texts.resize(texts.len().max(step as usize), String::new());
                            let text = &mut texts[step as usize - 1];
                            match stream_status {
                                StreamStatus::Chunk => text.push_str(&content),
                                StreamStatus::Complete => *text = content,
                                StreamStatus::Discarded => text.clear(),
                            }
                            let whole: String = (0..pieces).map(|piece| format!("{step}.{piece} ")).collect();
                            assert!(whole.starts_with(text.as_str()), "{seed}: '{text}' is no part of '{whole}'");
                        }
                        RunEvent::Status { status, .. } if status == "completed" => return texts,
                        RunEvent::Timing { .. } | RunEvent::ToolCall { .. } | RunEvent::Status { .. } => {}
                    }
                    if (taken + seed).is_multiple_of(7) {
                        continue 'connected;
                    }
                }
            }
        })
    };
    let mut readers = Vec::new();
    for step in 1..=steps {
        for piece in 0..pieces {
            delta(&keep, run, &format!("{step}.{piece} ")).await;
            if piece % 3 == 0 {
                readers.push(reader(step * pieces + piece));
            }
        }
        let text: String = (0..pieces).map(|piece| format!("{step}.{piece} ")).collect();
        keep.engine.step_run(thread, StepRun::of(run).message(MessageBody::assistant(&text))).await.expect("a step");
    }
    keep.engine.end_run(thread, EndRun::of(run, RunOutcome::Completed)).await.expect("an end");
    assert!(readers.len() >= 20);
    let whole = |step| (0..pieces).map(|piece| format!("{step}.{piece} ")).collect::<String>();
    let expected: Vec<String> = (1..=steps).map(whole).collect();
    for reader in readers {
        assert_eq!(reader.await.expect("a reader"), expected);
    }
}
