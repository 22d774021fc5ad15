//! Files that cross threads with a message: the receiver has them at paths of its own, from the same commit on.

use threadkeep::model::{Attachment, Role};
use threadkeep::{
    Actor, ActorKind, Caller, Capability, Content, Create, Engine, Error, FilePath, Files, Json, Limits, MakeDirectory,
    MessageBody, NewFile, NotifyParent, Page, Part, Position, StartRun, Subagent, SubagentThread, TakeWriter, ThreadId,
    Transfer, calls::Notified,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_subagent_is_born_with_what_it_was_given,
    parts_of_messages_name_the_files_of_the_receiver,
    a_parent_gets_files_with_the_message_that_waits,
    a_name_that_is_taken_gets_a_number_and_the_same_content_is_used_again,
    what_is_no_file_of_the_sender_goes_nowhere,
    what_is_too_much_for_the_receiver_is_refused_whole,
    an_agent_needs_what_writing_files_needs,
    a_lease_on_the_parent_guards_its_files,
    many_children_report_files_of_one_name_at_once,
    what_crossed_survives_its_sender_and_a_rebuild,
);

fn paths(texts: &[&str]) -> Vec<FilePath> {
    texts.iter().map(|text| text.parse().expect("a path")).collect()
}

async fn put(engine: &Engine, thread: ThreadId, at: &str, content: &str) {
    engine.write_file(thread, NewFile::new(at, content.to_owned()).expect("a file")).await.expect("written");
}

/// Everything a thread holds, as `path=content`.
async fn holds(keep: &Keep, thread: ThreadId) -> String {
    let (files, _) = keep.engine.files(thread, Files::default()).await.expect("files");
    let mut told = Vec::new();
    for record in files {
        let Some(file) = record.file() else { continue };
        let content = keep.engine.file_content(file, None).await.expect("content");
        told.push(format!("{}={}", record.path, String::from_utf8_lossy(&content)));
    }
    told.join(" ")
}

fn places(attachments: &[Attachment]) -> String {
    let place = |attachment: &Attachment| attachment.path.as_ref().map_or("nowhere", FilePath::as_str).to_owned();
    attachments.iter().map(place).collect::<Vec<_>>().join(" ")
}

fn helper(attachments: &[&str]) -> Subagent {
    let messages = vec![MessageBody::user("first").into(), MessageBody::user("second").into()];
    Subagent { name: "helper".into(), messages, attachments: paths(attachments), ..Subagent::default() }
}

async fn make(keep: &Keep, parent: ThreadId, attachments: &[&str]) -> SubagentThread {
    keep.engine.subagent(parent, helper(attachments)).await.expect("a subagent")
}

async fn notify(engine: &Engine, child: ThreadId, attachments: &[&str]) -> threadkeep::Result<String> {
    let notify = NotifyParent { content: "look".into(), attachments: paths(attachments) };
    let queued = engine.notify_parent(child, notify).await?.queued.expect("a parent");
    Ok(places(&queued.queued_message.attachments))
}

fn agent(keep: &Keep, name: &str) -> Engine {
    let actor = Actor::new(ActorKind::Agent, name).expect("an actor");
    keep.engine.acting_as(Caller { actor, ..Caller::local() })
}

async fn version(keep: &Keep, thread: ThreadId) -> u64 {
    keep.engine.thread(thread).await.expect("a thread").head.version.0
}

async fn a_subagent_is_born_with_what_it_was_given(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let said = NewFile {
        mime_type: Some("text/x-said".into()),
        metadata: Some(Json::parse("m", r#"{"by":"Zoë"}"#).expect("json")),
        ..NewFile::new("/src/a.md", "one\ntwo\n").expect("a file")
    };
    keep.engine.write_file(parent, said).await.expect("written");
    put(&keep.engine, parent, "/b", "").await;
    let made = make(&keep, parent, &["src/./a.md", "/b"]).await;
    let child = made.thread.id;
    assert_eq!(made.thread, keep.engine.thread(child).await.expect("a thread"), "what was answered is what is read");
    assert_eq!(places(&made.attachments), "/attachments/a.md /attachments/b");
    assert_eq!(holds(&keep, child).await, "/attachments/a.md=one\ntwo\n /attachments/b=");
    let page = keep.engine.messages(child, Page::first()).await.expect("a page");
    let bodies: Vec<MessageBody> = page.items.iter().map(|message| message.body().expect("a body")).collect();
    assert_eq!((bodies[0].attachments.as_slice(), &bodies[1].attachments), (&[][..], &made.attachments));
    let id = bodies[1].attachments[0].id;
    assert_eq!(keep.engine.attachment(child, page.items[1].id, id).await.expect("bytes"), "one\ntwo\n");
    let at = &paths(&["/attachments/a.md"])[0];
    let record = keep.engine.stat(child, at, None).await.expect("a read").expect("a file");
    let file = record.file().expect("a file");
    assert_eq!(
        (file.mime_type.as_str(), record.metadata().map(Json::as_str)),
        ("text/x-said", Some(r#"{"by":"Zoë"}"#))
    );
    assert_eq!(record.created, record.updated, "it came to be here with the message");
    assert_eq!(made.thread.head.tally.work.stats.files_added, 2);
    // What the parent does later does not reach it.
    put(&keep.engine, parent, "/src/a.md", "three\n").await;
    assert_eq!(holds(&keep, child).await, "/attachments/a.md=one\ntwo\n /attachments/b=");
    let silent = Subagent { messages: Vec::new(), ..helper(&["/b"]) };
    let silent = keep.engine.subagent(parent, silent).await.expect("a subagent").thread.id;
    assert_eq!(holds(&keep, silent).await, "/attachments/b=", "files need no message");
}

async fn parts_of_messages_name_the_files_of_the_receiver(keep: Keep) {
    let parent = keep.thread(&[]).await;
    put(&keep.engine, parent, "/pictures/a.png", "png").await;
    let file = |path: &str| Part::File { path: path.into(), mime_type: "image/png".into(), name: None };
    let parts = [Part::Text { text: "/pictures/a.png".into() }, file("pictures//a.png"), file("/elsewhere.png")];
    let content = Content::parts(&parts).expect("content");
    let messages = vec![MessageBody::with_content(Role::User, content).into()];
    let subagent = Subagent { messages, ..helper(&["/pictures/a.png"]) };
    let child = keep.engine.subagent(parent, subagent).await.expect("a subagent").thread.id;
    let page = keep.engine.messages(child, Page::first()).await.expect("a page");
    let body = page.items[0].body().expect("a body");
    let [text, _, elsewhere] = parts;
    assert_eq!(body.content.to_parts(), [text, file("/attachments/a.png"), elsewhere]);
}

async fn a_parent_gets_files_with_the_message_that_waits(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let child = make(&keep, parent, &[]).await.thread.id;
    put(&keep.engine, child, "/report.md", "fine\n").await;
    let before = version(&keep, parent).await;
    let notify = NotifyParent { content: "done".into(), attachments: paths(&["/report.md"]) };
    let queued = keep.engine.notify_parent(child, notify).await.expect("told").queued.expect("a parent");
    assert_eq!(version(&keep, parent).await, before + 2, "the file and the message, and nothing else");
    assert_eq!(places(&queued.queued_message.attachments), "/attachments/report.md");
    assert_eq!(queued.queued_message.name.as_deref(), Some("helper"));
    assert_eq!(
        keep.engine.queued(parent).await.expect("a queue"),
        std::slice::from_ref(&queued),
        "what was answered is what waits"
    );
    assert_eq!(holds(&keep, parent).await, "/attachments/report.md=fine\n");
    let history = keep.engine.history(parent, Position(before), 9).await.expect("a history");
    let last: Vec<_> = history.iter().map(|entry| (entry.kind.as_str(), entry.time)).collect();
    assert_eq!(last, [("files_changed", queued.created_at), ("message_queued", queued.created_at)], "one commit");
    let begun = keep.engine.start_run(parent, StartRun::caller()).await.expect("an execution");
    assert_eq!(begun.messages[0].name().to_string(), queued.id.to_string(), "it keeps its name when it is delivered");
    assert_eq!(begun.messages[0].body().expect("a body").attachments, queued.queued_message.attachments);
    let alone = NotifyParent { content: "x".into(), attachments: paths(&["/none"]) };
    let nobody = Notified { notified: false, queued: None };
    assert_eq!(keep.engine.notify_parent(parent, alone).await.expect("no-op"), nobody);
}

async fn a_name_that_is_taken_gets_a_number_and_the_same_content_is_used_again(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let child = make(&keep, parent, &[]).await.thread.id;
    let tell = async |content: &str| {
        put(&keep.engine, child, "/a.md", content).await;
        notify(&keep.engine, child, &["/a.md"]).await.expect("told")
    };
    assert_eq!(tell("one").await, "/attachments/a.md");
    assert_eq!(tell("two").await, "/attachments/a-2.md");
    let before = version(&keep, parent).await;
    assert_eq!(tell("one").await, "/attachments/a.md", "the same content is there");
    assert_eq!(tell("two").await, "/attachments/a-2.md");
    assert_eq!(version(&keep, parent).await, before + 2, "nothing was written but messages");
    // Several in one message, and directories that have the name.
    put(&keep.engine, parent, "/attachments/b/x", "x").await;
    let make = MakeDirectory { path: paths(&["/attachments/b-2"])[0].clone() };
    keep.engine.make_directory(parent, make).await.expect("a directory");
    for (at, content) in [("/1/b", "one"), ("/2/b", "two"), ("/3/b", "one")] {
        put(&keep.engine, child, at, content).await;
    }
    let told = notify(&keep.engine, child, &["/1/b", "/2/b", "/3/b", "/1/b"]).await.expect("told");
    assert_eq!(told, "/attachments/b-3 /attachments/b-4 /attachments/b-3 /attachments/b-3");
    for number in 3..40 {
        let place = format!("/attachments/a-{number}.md");
        assert_eq!(tell(&number.to_string()).await, place);
    }
}

async fn what_is_no_file_of_the_sender_goes_nowhere(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    put(&keep.engine, parent, "/dir/a", "x").await;
    let child = make(&keep, parent, &[]).await.thread.id;
    put(&keep.engine, child, "/dir/a", "x").await;
    let before = (version(&keep, parent).await, keep.engine.children(parent).await.expect("children").len());
    for (attachments, code) in [(["/dir/a", "/none"], "file_not_found"), (["/dir/a", "/dir"], "is_a_directory")] {
        let made = keep.engine.subagent(parent, helper(&attachments)).await;
        assert_eq!(made.expect_err("refused").code(), code);
        assert_eq!(notify(&keep.engine, child, &attachments).await.expect_err("refused").code(), code);
    }
    let many = vec!["/dir/a"; 101];
    assert_eq!(notify(&keep.engine, child, &many).await.expect_err("refused").code(), "too_large");
    assert_eq!(keep.engine.subagent(parent, helper(&many)).await.expect_err("refused").code(), "too_large");
    put(&keep.engine, parent, "/attachments", "a file").await;
    assert_eq!(notify(&keep.engine, child, &["/dir/a"]).await.expect_err("refused").code(), "not_a_directory");
    let after = (version(&keep, parent).await, keep.engine.children(parent).await.expect("children").len());
    assert_eq!(after, (before.0 + 1, before.1));
    assert_eq!(keep.engine.queued(parent).await.expect("a queue"), []);
}

async fn what_is_too_much_for_the_receiver_is_refused_whole(keep: Keep) {
    let small = keep.engine.with_limits(Limits { files_bytes_max: 10, ..Limits::default() });
    let parent = keep.thread(&["a"]).await;
    put(&small, parent, "/a", "1234567").await;
    put(&keep.engine, parent, "/x/a", "1234567").await;
    let child = small.subagent(parent, helper(&["/a"])).await.expect("it has room of its own").thread.id;
    small.subagent(parent, helper(&["/a", "/x/a"])).await.expect("the same content twice is one file");
    put(&keep.engine, parent, "/b", "7654321").await;
    let refused = small.subagent(parent, helper(&["/a", "/b"])).await.expect_err("14 bytes");
    assert!(matches!(refused, Error::QuotaExceeded { used: 0, more: 14, max: 10 }), "{refused}");
    put(&keep.engine, child, "/c", "123").await;
    let before = version(&keep, parent).await;
    let refused = notify(&small, child, &["/c"]).await.expect_err("21 bytes are there already");
    assert!(matches!(refused, Error::QuotaExceeded { used: 21, more: 3, max: 10 }), "{refused}");
    assert_eq!(version(&keep, parent).await, before);
}

async fn an_agent_needs_what_writing_files_needs(keep: Keep) {
    let parent = keep.engine.create(Create::titled("P")).await.expect("a thread").id;
    put(&keep.engine, parent, "/a", "x").await;
    let coder = agent(&keep, "coder");
    let child = coder.subagent(parent, helper(&["/a"])).await.expect("it may read").thread.id;
    assert_eq!(notify(&coder, child, &["/none"]).await.expect_err("refused").code(), "file_not_found");
    let pending = async || keep.engine.thread(parent).await.expect("a thread").head.version;
    let before = pending().await;
    assert_eq!(notify(&coder, child, &["/attachments/a"]).await.expect_err("refused").code(), "approval_required");
    assert_ne!(pending().await, before, "it was asked for, at the parent");
    assert_eq!(notify(&coder, child, &[]).await.expect("telling needs none"), "");
    keep.engine.transfer(parent, Transfer::delegate([Capability::CodeEdit])).await.expect("delegated");
    assert_eq!(notify(&coder, child, &["/attachments/a"]).await.expect("told"), "/attachments/a");
}

async fn a_lease_on_the_parent_guards_its_files(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let child = make(&keep, parent, &[]).await.thread.id;
    put(&keep.engine, child, "/a", "x").await;
    keep.engine.take_writer(parent, TakeWriter::default()).await.expect("a lease");
    assert_eq!(notify(&keep.engine, child, &["/a"]).await.expect_err("refused").code(), "writer_held");
    assert_eq!(notify(&keep.engine, child, &[]).await.expect("queueing needs no lease"), "");
}

async fn many_children_report_files_of_one_name_at_once(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let mut told = Vec::new();
    for number in 0..6 {
        let child = make(&keep, parent, &[]).await.thread.id;
        put(&keep.engine, child, "/report.md", &number.to_string()).await;
        let engine = keep.engine.clone();
        told.push(tokio::spawn(async move { (number, notify(&engine, child, &["/report.md"]).await.expect("told")) }));
    }
    let mut expected = Vec::new();
    for told in told {
        let (number, place) = told.await.expect("no panic");
        expected.push(format!("{place}={number}"));
    }
    expected.sort();
    assert_eq!(holds(&keep, parent).await, expected.join(" "), "each has a place of its own");
    assert_eq!(keep.engine.queued(parent).await.expect("a queue").len(), 6);
}

async fn what_crossed_survives_its_sender_and_a_rebuild(keep: Keep) {
    let parent = keep.thread(&["a"]).await;
    let child = make(&keep, parent, &[]).await.thread.id;
    put(&keep.engine, child, "/a", "x").await;
    notify(&keep.engine, child, &["/a"]).await.expect("told");
    let queued = keep.engine.queued(parent).await.expect("a queue");
    keep.engine.delete(child, threadkeep::Delete::default()).await.expect("a deletion");
    let quiet = || std::sync::Arc::new(|_: &str, _, _| {});
    keep.engine.gc(false, quiet()).await.expect("a collection");
    let report = keep.engine.doctor(quiet()).await.expect("a report");
    assert!(report.is_healthy(), "{report:?}");
    keep.engine.repair(quiet()).await.expect("a rebuild");
    assert_eq!(holds(&keep, parent).await, "/attachments/a=x");
    assert_eq!(keep.engine.queued(parent).await.expect("a queue"), queued);
}
