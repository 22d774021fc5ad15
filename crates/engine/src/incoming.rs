//! Checks of an import: it may bring only data that could have been written here.
//!
//! An export comes from outside, and stores trust their content. So its bodies are checked like those of a
//! request, its tallies are counted again, and its segments grow from segments that came before them.

use std::collections::HashSet;

use threadkeep_model::{
    Account, AgentState, ApprovalAsked, CheckpointSet, Content, Deliver, Derived, Entry, FileChange, Forked, Inserted,
    Invalid, Json, MergeConflict, MessageBody, MessageEdited, MessagesDeleted, Position, Related, RolledBack, Run,
    Segment, SegmentId, Tally, ThreadChanged, ThreadId, checked_reason_code,
};
use threadkeep_store::{SegmentRow, StoredEntry};

/// Looks at the items of one import, in their order. Entries follow their segment, so it remembers one segment.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The segment that came last.
    walked: Option<Walked>,
    /// Threads whose own segments came with gaps: enough for the forks that see a part of them, not for the threads
    /// themselves.
    gapped: HashSet<ThreadId>,
}

/// How far a segment was read.
#[derive(Debug)]
struct Walked {
    segment: SegmentId,
    thread: ThreadId,
    next: Position,
    tally: Tally,
}

impl Incoming {
    /// Checks a segment; the segment it grew from is known already.
    pub(crate) fn segment(&mut self, row: &SegmentRow) -> Result<(), String> {
        let Segment { id, thread, first, link, birth, .. } = &row.segment;
        let begins = link.map_or(Position::START, |link| link.bounds.highest());
        if *first <= begins {
            return Err(format!("segment {id} begins at {first}, not after {begins}"));
        }
        if self.walked.as_ref().is_some_and(|walked| walked.segment == *id) {
            return Err(format!("segment {id} comes twice"));
        }
        self.walked = Some(Walked { segment: *id, thread: *thread, next: *first, tally: *birth });
        Ok(())
    }

    /// The entries of the segment that came last are known up to this one, after which it has this tally.
    pub(crate) fn resume(&mut self, after: Position, tally: Tally) {
        if let Some(walked) = &mut self.walked {
            (walked.next, walked.tally) = (after.next(), tally);
        }
    }

    /// An entry comes in, with its body of `bytes` bytes.
    pub(crate) fn entry(&mut self, stored: &StoredEntry, entry: &Entry, bytes: usize) -> Result<(), String> {
        let place = place(stored);
        check_body(entry, stored.position).map_err(|invalid| format!("{place} cannot be: {invalid}"))?;
        let derived = entry.derived();
        let (is_next, tally) = self.step(stored)?;
        let expected = tally.after(&derived, stored.position, stored.time, bytes as u64);
        // After a gap the count cannot be checked, only that it is one.
        let counts = derived.message().is_none() || stored.tally.ordinals > 0;
        if (is_next && stored.tally != expected) || !counts {
            return Err(format!("{place} carries a wrong tally"));
        }
        Ok(())
    }

    /// An entry comes in whose body is damaged: what follows from it cannot be counted.
    pub(crate) fn damaged(&mut self, stored: &StoredEntry) -> Result<Derived, String> {
        let derived = stored.derived_if_damaged().unwrap_or(Derived::Nothing);
        self.step(stored)?;
        if derived.message().is_some() && stored.tally.ordinals == 0 {
            return Err(format!("{} carries a wrong tally", place(stored)));
        }
        Ok(derived)
    }

    /// Goes on to an entry of the segment that came last. Says whether there is none between, and the tally before it.
    fn step(&mut self, stored: &StoredEntry) -> Result<(bool, Tally), String> {
        let Some(walked) = self.walked.as_mut().filter(|walked| walked.segment == stored.segment) else {
            return Err(format!("segment {} is missing before {}", stored.segment, place(stored)));
        };
        if stored.position < walked.next {
            return Err(format!("{} is out of order", place(stored)));
        }
        let before = walked.tally;
        let is_next = stored.position == walked.next;
        if !is_next {
            self.gapped.insert(walked.thread);
        }
        walked.next = stored.position.next();
        walked.tally = stored.tally;
        Ok((is_next, before))
    }

    /// A thread comes in, after all its segments.
    pub(crate) fn thread(&self, id: ThreadId) -> Result<(), String> {
        if self.gapped.contains(&id) { Err(format!("entries of thread {id} are missing")) } else { Ok(()) }
    }
}

fn place(stored: &StoredEntry) -> String {
    format!("entry {} of segment {}", stored.position, stored.segment)
}

/// Whether a body could have been written here, at `position`.
fn check_body(entry: &Entry, position: Position) -> Result<(), Invalid> {
    let earlier = |field: &str, named: Position| {
        if named < position { Ok(()) } else { Err(Invalid::body(field, format!("{named} is not before {position}"))) }
    };
    match entry {
        Entry::MessageAppended(body) => check_message(body),
        Entry::MessageInserted(Inserted { before, message, .. }) => {
            earlier("before", before.position)?;
            check_message(message)
        }
        Entry::EventLogged(event) => {
            check_json("data", &event.data)?;
            event.clone().checked().map(drop)
        }
        Entry::MessageEdited(MessageEdited { target, content, metadata, .. }) => {
            earlier("target", target.position)?;
            content.as_ref().map_or(Ok(()), check_content)?;
            metadata.as_ref().map_or(Ok(()), check_object)
        }
        Entry::MessagesDeleted(MessagesDeleted { targets, .. }) => {
            targets.iter().try_for_each(|target| earlier("targets", target.position))
        }
        Entry::ThreadChanged(ThreadChanged { fields }) => {
            fields.0.iter().try_for_each(|(field, value)| check_json(field, value))
        }
        Entry::RolledBack(RolledBack { to, walk, .. }) => {
            earlier("to", *to)?;
            walk.map_or(Ok(()), |walk| earlier("walk.from", walk.from))
        }
        Entry::CheckpointSet(CheckpointSet { version, .. }) => earlier("version", *version),
        Entry::Forked(Forked { anchor, .. }) => anchor.map_or(Ok(()), |anchor| earlier("anchor", anchor)),
        Entry::Related(Related { anchor, comment, .. }) => {
            comment.as_ref().map_or(Ok(()), |comment| refuse_nulls("comment", comment))?;
            anchor.map_or(Ok(()), |anchor| earlier("anchor", anchor))
        }
        Entry::MessageQueued(queued) => check_message(&queued.message),
        Entry::QueuedEdited(edited) => {
            earlier("item", edited.item.0.position)?;
            check_message(&edited.message)
        }
        Entry::ToolQueued(queued) => {
            refuse_nulls("tool", &queued.tool)?;
            check_object(&queued.args)
        }
        Entry::ToolTaken(taken) => earlier("item", taken.item.0.position),
        Entry::QueuedRemoved(removed) => earlier("item", removed.item.0.position),
        Entry::MessageDelivered(delivered) => {
            earlier("item", delivered.item.0.position)?;
            check_message(&delivered.message)
        }
        Entry::SkillActivated(activated) => check_state(&activated.state),
        Entry::AgentAssigned(assigned) => check_state(&assigned.state),
        Entry::FilesChanged(changed) => changed.changes.iter().try_for_each(|change| match change {
            FileChange::Write { file, .. } => {
                refuse_nulls("mimeType", &file.mime_type)?;
                file.metadata.as_ref().map_or(Ok(()), check_object)
            }
            FileChange::Remove { .. } | FileChange::MakeDirectory { .. } | FileChange::RemoveDirectory { .. } => Ok(()),
        }),
        Entry::ValuesChanged(changed) => {
            let mut values = changed.changes.iter().filter_map(|change| change.value.as_ref());
            values.try_for_each(|value| check_json("value", value))
        }
        Entry::ContextSummarized(told) => {
            earlier("covers", told.covers.last.position)?;
            refuse_nulls("text", &told.text)
        }
        Entry::OwnerChanged(changed) => {
            Account::new(changed.from.as_str())?;
            Account::new(changed.to.as_str()).map(drop)
        }
        Entry::LifecycleChanged(changed) => {
            changed.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))
        }
        Entry::Injected(injected) => check_json("content", &injected.content),
        Entry::InjectionTaken(taken) => earlier("injected", taken.injected.position),
        Entry::Decided(decided) => {
            refuse_nulls("question", &decided.question)?;
            refuse_nulls("answer", &decided.answer)?;
            decided.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))
        }
        Entry::EffectScheduled(scheduled) => {
            scheduled.by.checked()?;
            check_json("args", &scheduled.args)
        }
        Entry::EffectClaimed(claimed) => earlier("scheduled", claimed.scheduled.position),
        Entry::EffectEnded(ended) => ended.error.as_ref().map_or(Ok(()), |error| refuse_nulls("error", error)),
        Entry::ChildChanged(child) => {
            if child.clone().checked()? == *child {
                Ok(())
            } else {
                Err(Invalid::body("child", "holds null bytes"))
            }
        }
        Entry::ApprovalRequested(asked) => check_asked(asked),
        Entry::ApprovalAnswered(answered) => {
            answered.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))?;
            check_asked(&answered.approval)
        }
        Entry::Delegated(given) => {
            given.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))?;
            given.to.as_ref().map_or(Ok(()), |to| refuse_nulls("to", to))
        }
        Entry::DelegationRevoked(revoked) => {
            revoked.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))
        }
        Entry::Observed(added) => match &added.deliver {
            Deliver::Thread => Ok(()),
            Deliver::Webhook(url) => refuse_nulls("webhook", url),
        },
        Entry::ObserverRemoved(removed) => {
            removed.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))
        }
        Entry::Merged(merged) => {
            let said = |conflict: &MergeConflict| {
                let sides = [&conflict.base, &conflict.ours, &conflict.theirs];
                sides.into_iter().flatten().try_for_each(|side| check_json("conflicts", side))
            };
            merged.conflicts.iter().try_for_each(said)
        }
        Entry::ExecutionBegan(began) => refuse_nulls("by", &began.execution.by),
        Entry::RunStarted(started) => check_run(&started.run),
        Entry::RunEnded(ended) => {
            ended.reason.clone().map_or(Ok(()), |reason| checked_reason_code(reason).map(drop))?;
            check_run(&ended.run)
        }
        Entry::RunStepped(stepped) => {
            check_run(&stepped.run)?;
            match &stepped.model {
                Some(model) if model.clone().checked()? != *model => Err(Invalid::body("model", "holds null bytes")),
                Some(_) | None => Ok(()),
            }
        }
        Entry::RunStopAsked(asked) => check_run(&asked.run),
        Entry::RunTurnAsked(asked) => check_run(&asked.run),
        Entry::RunWoken(woken) => check_run(&woken.run),
        Entry::Truncated(_)
        | Entry::ExecutionStepped(_)
        | Entry::ExecutionEnded(_)
        | Entry::ChildRemoved(_)
        | Entry::EnvChanged(_)
        | Entry::Referenced(_) => Ok(()),
    }
}

fn check_run(run: &Run) -> Result<(), Invalid> {
    refuse_nulls("by", &run.by)?;
    run.agent_id.as_ref().map_or(Ok(()), |agent| refuse_nulls("agentId", agent))
}

fn check_state(state: &AgentState) -> Result<(), Invalid> {
    for skill in &state.skills {
        skill.arguments.as_ref().map_or(Ok(()), |arguments| check_json("arguments", arguments))?;
        if skill.clone().checked()? != *skill {
            return Err(Invalid::body("name", "holds null bytes"));
        }
    }
    state.agent_id.as_ref().map_or(Ok(()), |agent| refuse_nulls("agentId", agent))
}

fn check_message(body: &MessageBody) -> Result<(), Invalid> {
    check_content(&body.content)?;
    body.metadata.as_ref().map_or(Ok(()), check_object)?;
    body.name.as_ref().map_or(Ok(()), |name| refuse_nulls("name", name))
}

fn check_content(content: &Content) -> Result<(), Invalid> {
    // The nesting depth is checked first: the later checks read the content into a tree.
    check_json("content", content.as_json())?;
    content.clone().checked().map(drop)
}

fn check_object(metadata: &Json) -> Result<(), Invalid> {
    check_json("metadata", metadata)?;
    if metadata.is_object() { Ok(()) } else { Err(Invalid::body("metadata", "must be a JSON object")) }
}

fn check_json(field: &str, json: &Json) -> Result<(), Invalid> {
    if Json::parse(field, json.as_str())? == *json { Ok(()) } else { Err(Invalid::body(field, "holds null bytes")) }
}

fn check_asked(asked: &ApprovalAsked) -> Result<(), Invalid> {
    asked.reason.as_ref().map_or(Ok(()), |reason| refuse_nulls("reason", reason))?;
    if let Some(call) = &asked.call {
        refuse_nulls("call.tool", &call.tool)?;
        check_object(&call.args)?;
    }
    refuse_nulls("askedBy", &asked.asked_by.name)
}

fn refuse_nulls(field: &str, text: &str) -> Result<(), Invalid> {
    if text.contains('\0') { Err(Invalid::body(field, "holds null bytes")) } else { Ok(()) }
}
