//! Every format on disk has a golden file. Old goldens stay as they are: an entry that was written once is
//! readable for ever. A new kind or format gets a new file; `BLESS=1 cargo test -p threadkeep-model --test
//! goldens` writes the files that are missing, and never changes one.

use std::path::PathBuf;

use threadkeep_model::{
    Account, Actor, ActorKind, AgentAssigned, AgentState, ApprovalAnswered, ApprovalAsked, ApprovalState, Attachment,
    Binding, BlobId, Capability, CheckpointSet, Child, ChildRemoved, Choice, ConflictStrategy, ConflictType, Content,
    ContextSummarized, Covered, Decided, DecisionStrategy, Delegation, DelegationRevoked, Deliver, DiffStats,
    EffectClaimed, EffectEnded, EffectOutcome, EffectScheduled, Entry, EnvChange, EnvChanged, EnvName, EnvType, Event,
    EventKind, ExecutionBegan, ExecutionEnded, ExecutionStatus, ExecutionStepped, Executor, Fallback, FieldChanges,
    FileCell, FileChange, FileConflict, FileOrigin, FileStrategy, FilesChanged, Forked, Injected, InjectionTaken,
    InjectionType, Inserted, Json, Kind, Lifecycle, LifecycleChanged, MergeAction, MergeBase, MergeConflict, MergePlan,
    MergeSource, MergeStatus, Merged, MergedFile, MergedValue, MessageBody, MessageDelivered, MessageEdited, MessageId,
    MessageQueued, MessageStatus, MessagesDeleted, ModelCall, ObserverAdded, ObserverRemoved, OwnerChanged,
    ParentCommunication, Position, ProcessId, QueuedEdited, QueuedId, QueuedRemoved, ReferenceScope, Referenced,
    Related, RelationKind, Resolved, Role, RolledBack, Run, RunEnded, RunOutcome, RunSide, RunStarted, RunStepped,
    RunStopAsked, RunTurnAsked, RunWoken, SegmentId, Sides, Skill, SkillActivated, StateStrategy, StopAsked, Take,
    ThreadChanged, ThreadId, Timestamp, ToolQueued, ToolTaken, Truncated, Urgency, Usage, Uuid, Validation,
    ValidationResult, ValueChange, ValuesChanged, Variable, Wait,
};

fn json(text: &str) -> Json {
    Json::parse("golden", text).expect("json")
}

/// One entry of a kind that uses every field it has.
fn full(kind: Kind) -> Entry {
    let segment = SegmentId::from_bits(0x0123_4567_89ab_cdef);
    let id = MessageId { segment, position: Position(300) };
    let thread: ThreadId = "T-5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a thread id");
    let (name, mime_type) = ("a.png".to_owned(), "image/png".to_owned());
    let attachment = Attachment { id: BlobId::of(b"golden"), name, mime_type, size: 6, path: None };
    let parts =
        r#"[{"type":"text","text":"snowman ☃"},{"type":"tool_use","id":"1","name":"ls","input":{"z":1.0,"a":1e2}}]"#;
    let body = MessageBody {
        role: Role::Assistant,
        name: Some("coder".into()),
        content: Content::from_json(json(parts)).expect("content"),
        metadata: Some(json(r#"{"b":1,"a":[null]}"#)),
        silent: true,
        depth: 2,
        parent_id: Some(id),
        status: MessageStatus::Failed,
        attachments: vec![attachment],
    };
    let uuid: Uuid = "5928a90d-d53b-488f-a829-4e36442142ee".parse().expect("a uuid");
    let time = Timestamp::from_micros(1_800_000_000_000_000);
    let skill = Skill { name: "pdf".into(), arguments: Some(json(r#"{"pages":2}"#)) };
    let state = AgentState { agent_id: Some("coder".into()), skills: vec![skill] };
    let usage = Usage {
        input_tokens: 120,
        output_tokens: 30,
        cache_read_tokens: 100,
        cache_write_tokens: 5,
        cost_micros: 1_234,
    };
    let run = Run {
        id: uuid,
        by: "coder".into(),
        fence: 3,
        began: time,
        until: time,
        steps: 0,
        attempt: 2,
        executor: Executor::Runtime,
        agent_id: Some("coder".into()),
        owner: Some(ProcessId(uuid)),
        waits: vec![Wait::Human],
        stop: Some(StopAsked { at: time, due: time }),
        usage,
        sides: None,
    };
    match kind {
        Kind::MessageAppended => Entry::MessageAppended(body),
        Kind::EventLogged => Entry::EventLogged(Event { kind: EventKind::ToolUse, data: json(r#"{"tool":"ls"}"#) }),
        Kind::MessageInserted => {
            Entry::MessageInserted(Inserted { before: id, root: 7, message: MessageBody::user("x") })
        }
        Kind::MessageEdited => Entry::MessageEdited(MessageEdited {
            target: id,
            root: 7,
            content: Some(Content::text("new")),
            metadata: Some(json(r#"{"a":1}"#)),
        }),
        Kind::MessagesDeleted => Entry::MessagesDeleted(MessagesDeleted { targets: vec![id, id], root: 7 }),
        Kind::Truncated => Entry::Truncated(Truncated { from_index: 3 }),
        Kind::RolledBack => Entry::RolledBack(RolledBack { to: Position(12), undo: true, walk: None }),
        Kind::ThreadChanged => {
            let fields: FieldChanges =
                serde_json::from_str(r#"{"draft":null,"metadata":{"k":1.50},"title":"T"}"#).expect("fields");
            Entry::ThreadChanged(ThreadChanged { fields })
        }
        Kind::CheckpointSet => Entry::CheckpointSet(CheckpointSet { name: "before".into(), version: Position(12) }),
        Kind::Forked => Entry::Forked(Forked { child: thread, index: Some(4), anchor: Some(Position(5)) }),
        Kind::Related => Entry::Related(Related {
            child: thread,
            kind: RelationKind::Handoff,
            index: Some(4),
            anchor: Some(Position(5)),
            comment: Some("the rest of it".into()),
        }),
        Kind::MessageQueued => Entry::MessageQueued(MessageQueued { message: body }),
        Kind::QueuedEdited => Entry::QueuedEdited(QueuedEdited { item: QueuedId(id), message: MessageBody::user("x") }),
        Kind::QueuedRemoved => Entry::QueuedRemoved(QueuedRemoved { item: QueuedId(id), silent: true }),
        Kind::MessageDelivered => Entry::MessageDelivered(MessageDelivered { item: QueuedId(id), message: body }),
        Kind::ExecutionBegan => {
            let execution = Run {
                attempt: 0,
                executor: Executor::Caller,
                agent_id: None,
                owner: None,
                waits: Vec::new(),
                stop: None,
                usage: Usage::default(),
                ..run
            };
            Entry::ExecutionBegan(Box::new(ExecutionBegan { execution, after: Some(uuid) }))
        }
        Kind::RunStarted => {
            Entry::RunStarted(Box::new(RunStarted { run, definitions: Some("5d41402abc4b2a76".into()) }))
        }
        Kind::RunStepped => {
            let model = ModelCall {
                model: "gpt".into(),
                as_of: Some(Position(12)),
                first_message: Some(id),
                messages: 7,
                prompt: Some("main".into()),
                side: Some("a".into()),
                usage,
                first_response_ms: Some(245),
                duration_ms: Some(900),
            };
            let waits = vec![Wait::Approval { approval_id: uuid }, Wait::Child { thread_id: thread }, Wait::Human];
            let (run, model, continues, messages) = (Run { waits, ..run }, Some(model), true, 2);
            Entry::RunStepped(Box::new(RunStepped { run, continues, messages, model }))
        }
        Kind::RunStopAsked => Entry::RunStopAsked(Box::new(RunStopAsked { run })),
        Kind::RunTurnAsked => {
            let (turn, asked) = (RunSide::A, Some(RunSide::B));
            let sides = Some(Sides { turn, steps_a: 3, steps_b: 2, asked, forced: true });
            Entry::RunTurnAsked(Box::new(RunTurnAsked { run: Run { sides, ..run } }))
        }
        Kind::RunWoken => Entry::RunWoken(Box::new(RunWoken { run, wait: Wait::Approval { approval_id: uuid } })),
        Kind::RunEnded => {
            let (status, reason) = (RunOutcome::Stopped, Some("rolled_back".into()));
            Entry::RunEnded(Box::new(RunEnded { run, status, reason }))
        }
        Kind::ExecutionStepped => Entry::ExecutionStepped(ExecutionStepped { id: uuid, until: time }),
        Kind::ExecutionEnded => Entry::ExecutionEnded(ExecutionEnded { id: uuid, status: ExecutionStatus::Cancelled }),
        Kind::SkillActivated => Entry::SkillActivated(SkillActivated { name: "pdf".into(), state }),
        Kind::AgentAssigned => Entry::AgentAssigned(AgentAssigned { state }),
        Kind::ChildChanged => Entry::ChildChanged(Child {
            reference: thread,
            name: "reviewer".into(),
            title: Some("Review".into()),
            description: "reads the change".into(),
            resumable: Some(true),
            blocking: Some(false),
            thread_name: Some("review-1".into()),
            spawn_group_id: Some("g".into()),
            created_at: time,
            status: "running".into(),
            parent_communication: Some(ParentCommunication::Explicit),
        }),
        Kind::ChildRemoved => Entry::ChildRemoved(ChildRemoved { reference: thread }),
        Kind::FilesChanged => {
            let path = |text: &str| text.parse().expect("a path");
            let file = FileCell {
                hash: BlobId::of(b"golden"),
                size: 6,
                mime_type: "image/png".into(),
                created: Some(time),
                width: Some(3),
                height: Some(2),
                thumbnail: Some(BlobId::of(b"small")),
                metadata: Some(json(r#"{"by":1}"#)),
            };
            let changes = vec![
                FileChange::Write { path: path("/a/ä.png"), file },
                FileChange::Remove { path: path("/b") },
                FileChange::MakeDirectory { path: path("/c") },
                FileChange::RemoveDirectory { path: path("/d") },
            ];
            let stats = DiffStats {
                files_added: 1,
                files_changed: 2,
                files_removed: 3,
                lines_added: 4,
                lines_changed: 5,
                lines_removed: 6,
            };
            Entry::FilesChanged(FilesChanged { changes, stats, restored: Some(Position(7)) })
        }
        Kind::ValuesChanged => {
            let change = |key: &str, value| ValueChange { key: key.parse().expect("a key"), value };
            let changes = vec![change("a b", Some(json(r#"{"z":1.0}"#))), change("gone", None)];
            Entry::ValuesChanged(ValuesChanged { changes })
        }
        Kind::LifecycleChanged => {
            let reason = Some("the tests pass".to_owned());
            Entry::LifecycleChanged(LifecycleChanged { from: Lifecycle::Active, to: Lifecycle::Completed, reason })
        }
        Kind::Injected => Entry::Injected(Injected {
            id: uuid,
            kind: InjectionType::Constraint,
            content: json(r#"{"z":1.0,"a":"snowman ☃"}"#),
            urgency: Urgency::Immediate,
        }),
        Kind::InjectionTaken => Entry::InjectionTaken(InjectionTaken { id: uuid, injected: id, execution: Some(uuid) }),
        Kind::Decided => Entry::Decided(Decided {
            question: "Which store?".into(),
            answer: "SQLite".into(),
            reason: Some("one file".into()),
        }),
        Kind::ToolQueued => Entry::ToolQueued(ToolQueued { tool: "kit/add".into(), args: json(r#"{"b":2,"a":1.0}"#) }),
        Kind::ToolTaken => Entry::ToolTaken(ToolTaken { item: QueuedId(id) }),
        Kind::Merged => Entry::Merged(Box::new(merged(uuid, thread))),
        Kind::OwnerChanged => {
            let account = |name: &str| Account::new(name).expect("an account");
            Entry::OwnerChanged(OwnerChanged { from: account("ann"), to: account("bob") })
        }
        Kind::Referenced => Entry::Referenced(Referenced {
            id: uuid,
            target: thread,
            scope: vec![ReferenceScope::Messages, ReferenceScope::Values, ReferenceScope::Paths("src/**".into())],
            binding: Binding::Live,
            snapshot_version: Position(12),
        }),
        Kind::ApprovalRequested => Entry::ApprovalRequested(asked(uuid, time)),
        Kind::ApprovalAnswered => Entry::ApprovalAnswered(ApprovalAnswered {
            approval: asked(uuid, time),
            state: ApprovalState::Denied,
            timed_out: true,
            reason: Some("nobody was there".into()),
        }),
        Kind::Delegated => Entry::Delegated(Delegation {
            id: uuid,
            scope: vec![Capability::CodeEdit, Capability::Tool("web.fetch".into())],
            to: Some("coder".into()),
            reason: Some("over the weekend".into()),
            until: Some(time),
            can_revoke: true,
        }),
        Kind::DelegationRevoked => {
            Entry::DelegationRevoked(DelegationRevoked { id: uuid, reason: Some("it is Monday".into()) })
        }
        Kind::Observed => Entry::Observed(ObserverAdded {
            id: uuid,
            target: thread,
            events: vec!["status_changed".into(), "done".into()],
            deliver: Deliver::Webhook("https://example.com/hook".into()),
        }),
        Kind::ObserverRemoved => {
            Entry::ObserverRemoved(ObserverRemoved { id: uuid, reason: Some("nobody answers there".into()) })
        }
        Kind::EffectScheduled => Entry::EffectScheduled(EffectScheduled {
            id: uuid,
            name: "pack/remind".parse().expect("a name"),
            args: json(r#"{"to":"ann","n":1.50}"#),
            at: time,
            created: Timestamp::from_micros(1_799_999_999_000_000),
            by: Actor { kind: ActorKind::Agent, name: "coder".into() },
            store: "7c9e6679-7425-40de-944b-e07fc1f90ae7".parse().expect("a uuid"),
        }),
        Kind::EffectClaimed => Entry::EffectClaimed(EffectClaimed {
            id: uuid,
            scheduled: id,
            at: time,
            attempt: 2,
            by: ProcessId("7c9e6679-7425-40de-944b-e07fc1f90ae7".parse().expect("a uuid")),
            until: Timestamp::from_micros(1_800_000_006_000_000),
        }),
        Kind::EffectEnded => Entry::EffectEnded(EffectEnded {
            id: uuid,
            outcome: EffectOutcome::Failed,
            attempt: Some(2),
            error: Some("no such address".into()),
        }),
        Kind::ContextSummarized => Entry::ContextSummarized(ContextSummarized {
            covers: Covered { first: id, last: id, count: 7 },
            text: "Goal: a trip to Rome.".into(),
            model: Some("gpt-5".into()),
        }),
        Kind::EnvChanged => {
            let name = |name: &str| -> EnvName { name.parse().expect("a name") };
            let variable = Variable { kind: EnvType::Secret, generation: uuid };
            let set = EnvChange { name: name("API_KEY"), variable: Some(variable) };
            Entry::EnvChanged(EnvChanged { changes: vec![set, EnvChange { name: name("OLD"), variable: None }] })
        }
    }
}

/// An approval that uses every field it has.
fn asked(id: Uuid, time: Timestamp) -> ApprovalAsked {
    ApprovalAsked {
        id,
        scope: vec![Capability::DeleteFile],
        reason: Some("it is old".into()),
        timeout_at: Some(time),
        fallback: Fallback::Skip,
        can_revoke: true,
        merge: Some(id),
        call: None,
        asked_by: Actor::new(ActorKind::Agent, "coder").expect("an actor"),
        asked_at: time,
    }
}

fn golden(format: u8, kind: Kind) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../spec/entries");
    root.join(format.to_string()).join(format!("{}.json", kind.as_str()))
}

#[test]
fn entries_of_every_kind_are_written_as_their_goldens_say() {
    for kind in Kind::ALL {
        let (entry, path) = (full(kind), golden(Kind::FORMAT, kind));
        if std::env::var_os("BLESS").is_some() && !path.exists() {
            std::fs::write(&path, entry.encode()).expect("a golden");
        }
        let golden = std::fs::read(&path).unwrap_or_else(|_| panic!("{} is missing", path.display()));
        assert_eq!(String::from_utf8_lossy(&entry.encode()), String::from_utf8_lossy(&golden));
    }
}

#[test]
fn goldens_of_every_format_are_read() {
    for format in 1..=Kind::FORMAT {
        for kind in Kind::ALL {
            let body = std::fs::read(golden(format, kind)).expect("a golden");
            assert_eq!(Entry::decode(kind, format, &body), Ok(full(kind)));
        }
    }
}

#[test]
fn a_format_of_a_newer_program_is_refused() {
    let body = full(Kind::Truncated).encode();
    let refused = Entry::decode(Kind::Truncated, Kind::FORMAT + 1, &body).expect_err("a newer format");
    assert!(refused.contains("format 2"), "{refused}");
}

/// A merge with everything in it.
fn merged(id: Uuid, thread_id: ThreadId) -> Merged {
    let (path, key) = ("/a.txt".parse().expect("a path"), "k".parse().expect("a key"));
    let bases = [
        MergeBase::Empty,
        MergeBase::History { files: Position(3), values: Position(4) },
        MergeBase::Birth { thread_id, version: Position(1) },
        MergeBase::Merge { merge_id: id, thread_id, version: Position(2) },
    ];
    let conflict = MergeConflict {
        detail: Some(FileConflict::BothChanged),
        source: Some(thread_id),
        path: Some(path),
        key: Some(key),
        question: Some("Which store?".into()),
        base: Some(json("1.0")),
        ours: Some(json("2")),
        theirs: Some(json("{\"a\":3}")),
        merged: Some("<<<<<<< target\n".into()),
        resolved: Some(Resolved::Union),
        ..MergeConflict::of(ConflictType::File)
    };
    let choice = Choice {
        path: Some("/a.txt".parse().expect("a path")),
        key: None,
        question: None,
        take: Some(Take::Theirs),
        content: None,
        value: None,
    };
    Merged {
        id,
        status: MergeStatus::Merged,
        sources: bases.map(|base| MergeSource { thread_id, version: Position(9), base }).to_vec(),
        plan: MergePlan {
            artifact_scope: vec!["src/**".into(), "kv:a".into()],
            conflict_strategy: ConflictStrategy {
                file: FileStrategy::Union,
                decision: DecisionStrategy::Ours,
                state: StateStrategy::Latest,
            },
            choices: vec![choice],
            validation: Validation::Test,
            requires_approval: true,
        },
        files: vec![MergedFile {
            path: "/a.txt".parse().expect("a path"),
            action: MergeAction::Merged,
            from: vec![FileOrigin { thread_id, version: Some(Position(5)) }],
            hash: Some(BlobId::of(b"golden")),
        }],
        values: vec![MergedValue { key: "k".parse().expect("a key"), action: MergeAction::Removed, thread_id }],
        conflicts: vec![conflict],
        validation: Some(ValidationResult {
            validation: Validation::Test,
            passed: false,
            exit_code: Some(1),
            output: "it broke\n".into(),
            timed_out: true,
        }),
        approval: Some(id),
        by: Actor::new(ActorKind::Agent, "coder").expect("an actor"),
    }
}
