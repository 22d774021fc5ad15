//! Variables and secrets: who sees them, what is kept of them, and what agents cannot write.

use threadkeep::{
    Actor, ActorKind, AppendEvent, Assign, At, Caller, Content, Create, Decide, DeleteEnv, Emitted, Engine, EnvName,
    EnvType, Error, Event, EventKind, Exclusive, Fork, GetEnv, Inject, InjectionType, Json, ListEnv, MakeDirectory,
    MessageBody, MoveFile, NewFile, NewMessage, Page, Part, Queue, Role, RollbackTo, Selection, SetAccountEnv,
    SetCheckpoint, SetEnv, SetStatus, SetValue, Spawn, StartRun, StepRun, Subagent, ThreadId, Update, Values,
};

use crate::{Keep, on_every_store};

on_every_store!(
    a_thread_sees_its_own_variables_then_those_it_works_for_then_its_accounts,
    the_log_and_exports_hold_names_and_no_values,
    agents_write_the_name_and_never_the_secret,
    a_file_with_a_secret_is_refused_and_paths_are_redacted,
    events_are_redacted_whoever_emits_them,
    code_is_guarded_whoever_runs_it,
    an_export_holds_no_secret_and_can_be_imported,
    what_was_rolled_back_keeps_its_variables,
    agents_need_authority_to_set_variables,
);

const SECRET: &str = "sk-can\"ary/+5fe1 ☃";

fn name(text: &str) -> EnvName {
    text.parse().expect("a name")
}

async fn set(engine: &Engine, thread: ThreadId, name: &str, value: &str) {
    engine.call(thread, SetEnv::new(name, value).expect("a name")).await.expect("set");
}

async fn set_account(engine: &Engine, name: &str, value: &str) {
    engine.call(At::none(), SetAccountEnv::new(name, value).expect("a name")).await.expect("set");
}

fn agent(engine: &Engine) -> Engine {
    let actor = Actor { kind: ActorKind::Agent, name: "coder".into() };
    engine.acting_as(Caller { actor, ..engine.caller().clone() })
}

fn json(value: serde_json::Value) -> Json {
    Json::parse("json", &value.to_string()).expect("json")
}

/// All that the log of a thread holds, as text.
async fn log(engine: &Engine, thread: ThreadId) -> String {
    let entries = engine.history(thread, threadkeep::Version::START, 1_000).await.expect("a history");
    entries.iter().map(|entry| String::from_utf8_lossy(&entry.json).into_owned()).collect::<Vec<_>>().join("\n")
}

/// Fails if `text` holds the secret, raw or in JSON.
#[track_caller]
fn clean(text: &str) {
    let escaped = serde_json::Value::from(SECRET).to_string();
    for form in [SECRET, &escaped[1..escaped.len() - 1], "5fe1"] {
        assert!(!text.contains(form), "{form} in {text}");
    }
}

async fn a_thread_sees_its_own_variables_then_those_it_works_for_then_its_accounts(keep: Keep) {
    let engine = &keep.engine;
    let main = keep.thread(&["a"]).await;
    let helper = || Subagent { name: "helper".into(), ..Subagent::default() };
    let child = engine.subagent(main, helper()).await.expect("a subagent").thread.id;
    let grandchild = engine.subagent(child, helper()).await.expect("a subagent").thread.id;
    set_account(engine, "A", "account").await;
    assert_eq!(engine.env(grandchild, &name("A")).await.expect("a value"), "account");
    assert_eq!(engine.env_type(grandchild, &name("A")).await.expect("a type"), EnvType::Secret);
    let text = SetEnv::new("A", "main").expect("a name").of_type(EnvType::Text);
    let told = engine.call(main, text).await.expect("set");
    assert_eq!((told.kind, told.value, told.thread_id), (EnvType::Text, None, Some(main)));
    assert_eq!(engine.env(grandchild, &name("A")).await.expect("a value"), "main");
    assert_eq!(engine.env_type(grandchild, &name("A")).await.expect("a type"), EnvType::Text);
    set(engine, child, "A", "").await;
    assert_eq!(engine.env(grandchild, &name("A")).await.expect("an empty text is a value"), "");
    assert_eq!(engine.env(main, &name("A")).await.expect("a value"), "main");
    // The type stays, and new variables are secrets.
    set(engine, main, "A", "main 2").await;
    assert_eq!(engine.env_type(main, &name("A")).await.expect("a type"), EnvType::Text);
    set(engine, main, "B", "a new one").await;
    assert_eq!(engine.env_type(main, &name("B")).await.expect("a type"), EnvType::Secret);
    let listed = engine.call(grandchild, ListEnv {}).await.expect("a list").items;
    let listed: Vec<_> = listed.iter().map(|one| (one.name.as_str(), one.kind, one.value.as_deref())).collect();
    assert_eq!(listed, [("A", EnvType::Secret, None), ("B", EnvType::Secret, None)]);
    assert_eq!(
        engine.call(grandchild, GetEnv::new("B").expect("a name")).await.expect("read").value.as_deref(),
        Some("a new one")
    );
    // Forks and spawned threads have none of the thread's, and all of the account's.
    let fork = engine.fork(main, Fork::at_index(0)).await.expect("a fork").id;
    let spawned = engine.spawn(main, Spawn::new("x")).await.expect("a thread").id;
    for other in [fork, spawned] {
        assert_eq!(engine.env(other, &name("A")).await.expect("a value"), "account");
        assert!(matches!(engine.env(other, &name("B")).await, Err(Error::EnvNotFound { .. })));
    }
    assert!(engine.call(main, DeleteEnv::new("B").expect("a name")).await.expect("deleted").deleted);
    assert!(!engine.call(main, DeleteEnv::new("B").expect("a name")).await.expect("nothing").deleted);
    assert!(matches!(engine.env(grandchild, &name("B")).await, Err(Error::EnvNotFound { .. })));
    let long = SetEnv::new("L", "x".repeat((16 << 10) + 1)).expect("a name");
    assert_eq!(engine.call(main, long).await.expect_err("too long").code(), "too_large");
}

async fn the_log_and_exports_hold_names_and_no_values(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a"]).await;
    set(engine, thread, "API_KEY", SECRET).await;
    let text = SetEnv::new("REGION", "north-5fe1").expect("a name").of_type(EnvType::Text);
    engine.call(thread, text).await.expect("set");
    let logged = log(engine, thread).await;
    assert!(logged.contains("API_KEY") && logged.contains("REGION"), "{logged}");
    clean(&logged);
    let mut exported = String::new();
    engine
        .export(Selection::All, |item| {
            exported.push_str(&format!("{item:?}"));
            Ok::<(), Error>(())
        })
        .await
        .expect("an export");
    assert!(exported.contains("API_KEY"));
    clean(&exported);
    let call = SetEnv::new("A", SECRET).expect("a name");
    clean(&format!("{call:?} {:?}", engine.call(thread, GetEnv::new("API_KEY").expect("a name")).await));
}

async fn agents_write_the_name_and_never_the_secret(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&[SECRET]).await;
    assert_eq!(keep.shows(thread).await, SECRET, "people write what they like");
    set(engine, thread, "KEY", SECRET).await;
    set_account(engine, "PIN", "1234567890").await;
    let coder = agent(engine);
    let before = engine.thread(thread).await.expect("a thread").head.version;
    let said = coder.append(thread, MessageBody::assistant(&format!("<{SECRET}>"))).await.expect("an append");
    assert_eq!(said[0].text().expect("text"), "<[secret:KEY]>", "the answer is as it is kept");
    let thinking = |text: &str| Part::thinking(text);
    let parts = [thinking(SECRET), Part::Text { text: SECRET.to_owned() }, thinking("of the weather")];
    let content = Content::parts(&parts).expect("parts");
    let said = coder.append(thread, MessageBody::with_content(Role::Assistant, content)).await.expect("an append");
    let kept = said[0].body().expect("a body").content.to_parts();
    assert_eq!(kept, [Part::Text { text: "[secret:KEY]".to_owned() }, thinking("of the weather")]);
    let nulls = format!("{}\0{}", &SECRET[..5], &SECRET[5..]);
    coder.append(thread, MessageBody::assistant(&nulls)).await.expect("an append");
    let value = |key: &str, value| SetValue::new(key, value).expect("a key");
    coder
        .set_value(thread, value("k", json(serde_json::json!({ SECRET: [SECRET, 1_234_567_890_u64, 1.5] }))))
        .await
        .expect("a value");
    coder.set_value(thread, value(&format!("at {SECRET}"), Json::string(SECRET))).await.expect("a value");
    coder.update(thread, Update::new().title(SECRET)).await.expect("an update");
    coder.checkpoint(thread, SetCheckpoint::named(SECRET)).await.expect("a checkpoint");
    coder
        .decide(thread, Decide { question: SECRET.into(), answer: SECRET.into(), reason: Some(SECRET.into()) })
        .await
        .expect("decided");
    coder.assign(thread, Assign::to(SECRET)).await.expect("assigned");
    coder.inject(thread, Inject::new(InjectionType::Data, Json::string(SECRET))).await.expect("injected");
    coder.queue(thread, Queue::from(MessageBody::assistant(SECRET))).await.expect("queued");
    let event = Event { kind: EventKind::Result, data: json(serde_json::json!({ "out": SECRET })) };
    coder.append_event(thread, AppendEvent::Event(event)).await.expect("an event");
    let run = coder.start_run(thread, StartRun::caller()).await.expect("begun").run.id;
    coder.step_run(thread, StepRun::of(run).message(MessageBody::assistant(SECRET))).await.expect("a step");
    let helper = Subagent { name: SECRET.into(), ..Subagent::default() };
    let child = coder.subagent(thread, helper).await.expect("a subagent").thread.id;
    coder.set_status(child, SetStatus { status: SECRET.into() }).await.expect("a status");
    // Its own updates of a thread that it alone writes to.
    let alone = keep.thread(&[]).await;
    set(engine, alone, "KEY", SECRET).await;
    let writer = coder.exclusive(alone, Exclusive::default()).await.expect("a writer");
    let version = writer.update(|draft| {
        draft.append(MessageBody::assistant(SECRET));
        draft.title(SECRET);
    });
    writer.flush_version(version.expect("an update")).await.expect("durable");
    writer.dispose().await.expect("disposed");
    let files = NewMessage::from(MessageBody::assistant("see the file")).attach("a.txt", "text/plain", SECRET);
    assert_eq!(coder.append(thread, files).await.expect_err("a file").code(), "secret_in_file");
    let clean_file = NewMessage::from(MessageBody::assistant("see the file")).attach(SECRET, "text/plain", "nothing");
    coder.append(thread, clean_file).await.expect("an append");
    for thread in [thread, child, alone] {
        let entries = engine.history(thread, before, 1_000).await.expect("a history");
        assert!(thread == alone || thread == child || entries.len() > 12, "{}", entries.len());
        for entry in entries {
            clean(&String::from_utf8_lossy(&entry.json));
        }
    }
    let (kept, _) = engine.values(thread, Values { limit: Some(10), ..Values::default() }).await.expect("values");
    let kept: Vec<String> = kept.iter().map(|value| format!("{} {}", value.key, value.value.as_str())).collect();
    assert_eq!(
        kept,
        ["at [secret:KEY] \"[secret:KEY]\"", "k {\"[secret:KEY]\":[\"[secret:KEY]\",\"[secret:PIN]\",1.5]}"]
    );
    let titled = coder.create(Create::titled("1234567890")).await.expect("a thread");
    assert_eq!(titled.record.title.as_deref(), Some("[secret:PIN]"), "what is made has its account's secrets");
}

async fn a_file_with_a_secret_is_refused_and_paths_are_redacted(keep: Keep) {
    let engine = &keep.engine;
    let thread = keep.thread(&["a"]).await;
    set(engine, thread, "KEY", SECRET).await;
    engine.write_file(thread, NewFile::new("/by-a-person", SECRET).expect("a file")).await.expect("written");
    let code = engine.for_code();
    let utf16: Vec<u8> = SECRET.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for bytes in [SECRET.as_bytes().to_vec(), utf16, [b"x".repeat(1 << 20), SECRET.into()].concat()] {
        let refused = code.write_file(thread, NewFile::new("/f", bytes).expect("a file")).await;
        assert_eq!(refused.expect_err("a secret").code(), "secret_in_file");
    }
    // One that comes bit by bit, with the secret across two parts of what is searched at once.
    let mut upload = code.upload();
    for _ in 0..5 {
        upload.write(&vec![b'x'; (1 << 20) - 1]).await.expect("written");
    }
    for byte in SECRET.as_bytes() {
        upload.write(&[*byte]).await.expect("written");
    }
    let content = upload.finish().await.expect("content");
    let refused = code.write_file(thread, NewFile::new("/f", content).expect("a file")).await.expect_err("a secret");
    assert_eq!(refused.to_string(), "/f holds the secret KEY: nothing was written");
    let path = format!("/d/{SECRET}.txt");
    let written = code.write_file(thread, NewFile::new(&path, "nothing").expect("a file")).await.expect("written");
    assert_eq!(written.path.as_str(), "/d/[secret:KEY].txt");
    let made = MakeDirectory { path: format!("/m/{SECRET}").parse().expect("a path") };
    code.make_directory(thread, made).await.expect("made");
    let moved = MoveFile { from: written.path, to: path.parse().expect("a path") };
    assert!(code.move_file(thread, moved).await.is_err(), "it is there already, by its redacted name");
    clean(&log(engine, thread).await);
}

async fn events_are_redacted_whoever_emits_them(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    set(&keep.engine, thread, "KEY", SECRET).await;
    let mut events = keep.engine.emitted_alone(thread).await.expect("events");
    let data = json(serde_json::json!({ "at": [SECRET, 2.50] }));
    keep.engine.emit(thread, SECRET, data).await.expect("emitted");
    let Emitted::Event(event) = events.next().await else { panic!("an event") };
    assert_eq!((event.event.as_str(), event.data.as_str()), ("[secret:KEY]", r#"{"at":["[secret:KEY]",2.5]}"#));
}

async fn code_is_guarded_whoever_runs_it(keep: Keep) {
    let thread = keep.thread(&[]).await;
    set(&keep.engine, thread, "KEY", SECRET).await;
    keep.engine.for_code().append(thread, MessageBody::user(SECRET)).await.expect("an append");
    assert_eq!(keep.shows(thread).await, "[secret:KEY]");
}

async fn an_export_holds_no_secret_and_can_be_imported(keep: Keep) {
    let engine = &keep.engine;
    let large = format!("{}{SECRET}", "x".repeat(20_000));
    let thread = keep.thread(&[SECRET, &large, "the end"]).await;
    engine.update(thread, Update::new().title(SECRET)).await.expect("an update");
    engine.write_file(thread, NewFile::new("/f.txt", format!("<{SECRET}>")).expect("a file")).await.expect("written");
    let attached = NewMessage::from(MessageBody::user("see")).attach("a.txt", "text/plain", SECRET);
    engine.append(thread, attached).await.expect("an append");
    set(engine, thread, "KEY", SECRET).await;
    let other = Keep::memory();
    let mut importer = other.engine.importer();
    let mut items = Vec::new();
    engine
        .export(Selection::All, |item| {
            items.push(item);
            Ok::<(), Error>(())
        })
        .await
        .expect("an export");
    for item in items {
        let bytes = match &item {
            threadkeep::ExportItem::Blob(_, bytes) => bytes.to_vec(),
            other => format!("{other:?}").into_bytes(),
        };
        let text = String::from_utf8_lossy(&bytes).replace("\\\"", "\"");
        clean(&text);
        importer.push(item).await.expect("it can be imported");
    }
    importer.finish().await.expect("an import");
    let shown = other.shows(thread).await;
    let stars = "*".repeat(SECRET.len());
    assert!(shown.starts_with(&stars) && shown.contains(&format!("x{stars}")), "{shown}");
    assert!(shown.contains(" the end "), "{shown}");
    let file = other
        .engine
        .read_file(thread, &"/f.txt".parse().expect("a path"), None)
        .await
        .expect("a read")
        .expect("a file");
    assert_eq!(file.len(), SECRET.len() + 2, "masked, and as long as it was");
    assert!(matches!(other.engine.env(thread, &name("KEY")).await, Err(Error::EnvNotFound { .. })));
    assert!(other.engine.doctor(std::sync::Arc::new(|_, _, _| {})).await.expect("a report").is_healthy());
    assert_eq!(keep.shows(thread).await.matches(SECRET).count(), 2, "the store itself is as it was");
}

async fn what_was_rolled_back_keeps_its_variables(keep: Keep) {
    let thread = keep.thread(&["a", "b"]).await;
    let version = keep.engine.thread(thread).await.expect("a thread").head.version;
    set(&keep.engine, thread, "KEY", SECRET).await;
    keep.engine.rollback(thread, RollbackTo::Version(version)).await.expect("rolled back");
    assert_eq!(keep.engine.env(thread, &name("KEY")).await.expect("a value"), SECRET);
    keep.engine.rollback(thread, RollbackTo::Undo).await.expect("undone");
    agent(&keep.engine).append(thread, MessageBody::assistant(SECRET)).await.expect("an append");
    assert!(keep.shows_page(thread, Page::first()).await.ends_with("[secret:KEY]"));
}

async fn agents_need_authority_to_set_variables(keep: Keep) {
    let thread = keep.thread(&["a"]).await;
    let coder = agent(&keep.engine);
    let refused = coder.call(thread, SetEnv::new("KEY", SECRET).expect("a name")).await.expect_err("an agent");
    assert!(matches!(refused, Error::ApprovalRequired { ref capability, .. } if capability == "set_env"), "{refused}");
    assert!(matches!(keep.engine.env(thread, &name("KEY")).await, Err(Error::EnvNotFound { .. })));
    let refused = coder.call(At::none(), SetAccountEnv::new("KEY", SECRET).expect("a name")).await;
    assert_eq!(refused.expect_err("an agent").code(), "forbidden");
    clean(&log(&keep.engine, thread).await);
}
