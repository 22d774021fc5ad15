//! The steps of a plan: appends, cuts and edits go to threads that exist; new threads are gathered for one commit.

use std::collections::HashMap;

use serde_json::{Value, json};
use threadkeep_calls::{EditMessage, SetValue, Update};
use threadkeep_engine::{After, Arrival, Begins, Error};
use threadkeep_model::{FieldChanges, Invalid, Json, MessageId, MessageName, Record, ThreadId, Timestamp, fork_title};
use threadkeep_store::StoreError;

use super::body::{KEPT, Told, told};
use super::family::{At, Family, ThreadMark, find};
use super::keys::{kept_id, thread_id};
use super::records::{RECORD_RAW_BYTES_MAX, metadata_of, values_of};
use super::writer::{GATHERED_BYTES_MAX, Gathered, Writer, nth};
use crate::plan::{Step, ThreadName};
use crate::shape::{Message, Session};

/// Messages of one commit to a thread that exists.
const APPENDED_MAX: usize = 500;

/// A thread that a plan makes.
struct Draft<'a> {
    is_main: bool,
    from: From<'a>,
    messages: Vec<&'a Message>,
}

enum From<'a> {
    Anew(Option<ThreadName>),
    Fork(ThreadName, &'a str),
}

impl Writer {
    /// Carries out the steps. The result is the first of the threads that it makes.
    pub(super) async fn carry_out(
        &mut self,
        session: &Session,
        steps: &[Step<'_>],
        family: &mut Family,
        other: Option<&Family>,
        home: Option<ThreadId>,
        modified: Timestamp,
    ) -> Result<Option<ThreadId>, Error> {
        let mut times = Times { last: session.created.unwrap_or(modified) };
        let mut drafts: Vec<(usize, Draft<'_>)> = Vec::new();
        let mut appends: Vec<&Message> = Vec::new();
        let mut target = None;
        let mut kept: Option<(ThreadId, ThreadId)> = None;
        for (number, step) in steps.iter().enumerate() {
            let to = match step {
                Step::Append { thread: ThreadName::Stored(id), .. } => id.parse::<ThreadId>().ok(),
                Step::Append { thread: ThreadName::Made(made), .. } => match steps.get(*made) {
                    Some(Step::Keep { .. }) => kept.map(|(_, fork)| fork),
                    _ => None,
                },
                _ => None,
            };
            if target.is_some() && to != target {
                self.append(target.take(), std::mem::take(&mut appends), family, &mut times).await?;
            }
            match step {
                Step::Append { message, .. } if to.is_some() => {
                    target = to;
                    appends.push(message);
                }
                Step::Append { thread: ThreadName::Stored(_), .. } => {
                    return Err(unplanned("a message is added to a thread without an id"));
                }
                Step::Append { thread: ThreadName::Made(made), message } => {
                    if let Some((_, draft)) = drafts.iter_mut().find(|(number, _)| number == made) {
                        draft.messages.push(message);
                    }
                }
                Step::Create { is_main, parent } => {
                    let from = From::Anew(parent.clone());
                    drafts.push((number, Draft { is_main: *is_main, from, messages: Vec::new() }));
                }
                Step::Fork { is_main, from, after } => {
                    let from = From::Fork(from.clone(), after);
                    drafts.push((number, Draft { is_main: *is_main, from, messages: Vec::new() }));
                }
                Step::Keep { from: ThreadName::Stored(id) } => {
                    let thread: ThreadId = id.parse()?;
                    let parts_at = match steps.get(number + 1) {
                        Some(Step::Truncate { after, .. }) => family.at(after).map(|at| at.message),
                        _ => None,
                    };
                    kept = self.keep_way(session, thread, parts_at, family).await?.map(|fork| (thread, fork));
                }
                Step::Truncate { thread: ThreadName::Stored(id), after } => {
                    let thread: ThreadId = id.parse()?;
                    if let (Some(at), false) = (family.at(after).map(|at| at.message), self.is_dry) {
                        self.engine.telling(at_once()).drop_after(thread, at).await?;
                        if let Some((_, fork)) = kept.filter(|(of, _)| *of == thread) {
                            family.moved(thread, fork, at, Some((*after).to_owned()));
                        }
                    }
                }
                Step::Edit { thread: ThreadName::Stored(id), message } => {
                    self.edit(id.parse()?, message, family).await?;
                }
                Step::Keep { .. } | Step::Truncate { .. } | Step::Edit { .. } => {
                    return Err(unplanned("only stored threads are cut or edited"));
                }
            }
        }
        self.append(target, appends, family, &mut times).await?;
        if !drafts.iter().any(|(_, draft)| draft.is_main)
            && let Some(main) = family.main(&session.id)
        {
            self.refresh(main, session, family).await?;
        }
        self.gather(session, drafts, family, other, home, times)
    }

    async fn append(
        &mut self,
        thread: Option<ThreadId>,
        messages: Vec<&Message>,
        family: &mut Family,
        times: &mut Times,
    ) -> Result<(), Error> {
        let Some(thread) = thread else { return Ok(()) };
        self.report.messages += messages.len() as u64;
        if self.is_dry {
            return Ok(());
        }
        // A message without a time has that of the message before it.
        let before = family.threads.get(&thread).and_then(|known| known.updated);
        times.last = before.unwrap_or(times.last);
        let mut messages = messages.into_iter().peekable();
        while messages.peek().is_some() {
            let (mut batch, mut said, mut bytes) = (Vec::new(), Vec::new(), 0);
            while batch.len() < APPENDED_MAX && bytes < GATHERED_BYTES_MAX {
                let Some(message) = messages.next() else { break };
                let Told { message: body, sum } = told(message)?;
                let time = times.of(message);
                let told = self.engine.told(time, body)?;
                bytes += told.bytes();
                batch.push(told);
                said.push((message.id.clone(), time, sum));
            }
            let first = self.engine.bring_to(thread, batch).await?;
            for (count, (id, time, sum)) in said.into_iter().enumerate() {
                family.wrote(id, time, At { thread, message: nth(first, count), sum });
            }
        }
        Ok(())
    }

    /// Keeps everything that a thread holds as a fork, before the thread is cut.
    async fn keep_way(
        &mut self,
        session: &Session,
        thread: ThreadId,
        parts_at: Option<MessageId>,
        family: &Family,
    ) -> Result<Option<ThreadId>, Error> {
        self.report.branches += 1;
        let known = family.threads.get(&thread);
        let created = known.and_then(|known| known.updated).unwrap_or(at_once());
        let last = known.and_then(|known| known.last.as_deref());
        let Some((last, at)) = last.and_then(|last| Some((last, family.at(last)?))) else { return Ok(None) };
        let id = kept_id(&self.engine.caller().account, thread, last);
        if self.is_dry {
            return Ok(Some(id));
        }
        let begins = Begins::Fork { of: thread, after: After::Stored(at.message), parts_at };
        let title = family.main(&session.id).and_then(|main| family.threads.get(&main)?.title.clone());
        let record = record_of(session, false, title)?;
        let arrival = Arrival { id, created, record, begins, messages: Vec::new(), values: Vec::new() };
        match self.engine.bring(&[&arrival]).await {
            // A run that was killed kept it already.
            Ok(_) | Err(Error::Store(StoreError::ThreadTaken { .. })) => Ok(Some(id)),
            Err(error) => Err(error),
        }
    }

    async fn edit(&mut self, thread: ThreadId, message: &Message, family: &mut Family) -> Result<(), Error> {
        self.report.edited += 1;
        let Some(at) = family.at(&message.id).cloned().filter(|_| !self.is_dry) else { return Ok(()) };
        let Told { message: new, sum } = told(message)?;
        let name = MessageName::Place(at.message);
        let edit = EditMessage { message: name, content: Some(new.body.content), metadata: new.body.metadata };
        self.engine.telling(at_once()).edit_message(thread, edit).await?;
        family.said(&message.id, sum);
        Ok(())
    }

    /// Brings a new title, and records that belong to no message, to the thread of a session.
    async fn refresh(&mut self, main: ThreadId, session: &Session, family: &mut Family) -> Result<(), Error> {
        if self.is_dry {
            return Ok(());
        }
        let engine = self.engine.telling(at_once());
        let known = family.threads.get(&main).and_then(|known| known.title.clone());
        if let Some(title) = session.title.clone().filter(|title| Some(title) != known.as_ref())
            && let Some(thread) = find(&self.engine, main).await?
            && thread.record.title == known
        {
            let mut metadata = thread.record.metadata.as_ref().map(Json::to_value).unwrap_or_default();
            if let Some(mark) = metadata.get_mut(KEPT) {
                mark["title"] = title.clone().into();
            }
            let fields = [
                ("title".to_owned(), Json::string(&title)),
                ("metadata".to_owned(), Json::from_value("metadata", &metadata)?),
            ];
            engine.update(main, Update { fields: FieldChanges(fields.into()) }).await?;
            if let Some(known) = family.threads.get_mut(&main) {
                known.title = Some(title);
            }
        }
        let mut records = session.records.clone();
        if !session.raw.is_empty() {
            let mark = find(&self.engine, main).await?.as_ref().and_then(ThreadMark::of);
            if mark.is_none_or(|mark| mark.raw != session.raw) {
                records.push(json!({ "session": session.raw }));
            }
        }
        if records.is_empty() {
            return Ok(());
        }
        let records = family.new_records(&self.engine, main, records).await?;
        for (key, value) in values_of(&records)? {
            engine.set_value(main, SetValue { key, value, if_version: None }).await?;
        }
        Ok(())
    }

    /// Gathers the threads of a plan.
    fn gather(
        &mut self,
        session: &Session,
        drafts: Vec<(usize, Draft<'_>)>,
        family: &Family,
        other: Option<&Family>,
        home: Option<ThreadId>,
        mut times: Times,
    ) -> Result<Option<ThreadId>, Error> {
        let account = self.engine.caller().account.clone();
        let (mut arrivals, mut said, mut is_main) = (Vec::new(), Vec::new(), Vec::new());
        let (mut bytes, mut made): (usize, HashMap<usize, (ThreadId, Vec<&str>)>) = (0, HashMap::new());
        let first = drafts.first().and_then(|(_, draft)| draft.messages.first().map(|it| (draft, *it)));
        let Some(first) = first.map(|(_, message)| thread_id(&account, session, message)) else { return Ok(None) };
        let (mut threads, main) = (0, family.main(&session.id));
        for (number, draft) in drafts {
            let Some(begins_with) = draft.messages.first() else { continue };
            let id = thread_id(&account, session, begins_with);
            let begins = match draft.from {
                From::Anew(None) => Begins::Anew,
                From::Anew(Some(parent)) => self.subagent(session, &parent)?,
                From::Fork(ThreadName::Made(from), after) if made.contains_key(&from) => {
                    let (of, ids) = &made[&from];
                    let at = ids.iter().position(|id| *id == after);
                    let at = at.ok_or_else(|| unplanned("a thread is forked after one of its own messages"))?;
                    Begins::Fork { of: *of, after: After::Brought(at), parts_at: None }
                }
                From::Fork(ThreadName::Stored(_) | ThreadName::Made(_), after) => {
                    let at = family.at(after).or_else(|| other?.at(after));
                    let at = at.ok_or_else(|| unplanned("a thread is forked after a message of the store"))?;
                    Begins::Fork { of: at.thread, after: After::Stored(at.message), parts_at: None }
                }
            };
            made.insert(number, (id, draft.messages.iter().map(|message| message.id.as_str()).collect()));
            let count = draft.messages.len() as u64;
            if self.is_dry {
                threads += self.count_thread(draft.is_main, count);
                continue;
            }
            let created = match (draft.is_main, session.created) {
                (true, Some(created)) => created,
                _ => times.of(begins_with),
            };
            times.last = created;
            let (mut messages, mut names) = (Vec::new(), Vec::new());
            for message in draft.messages {
                let Told { message: body, sum } = told(message)?;
                let told = self.engine.told(times.of(message), body)?;
                bytes += told.bytes();
                messages.push(told);
                names.push((message.id.clone(), sum));
            }
            let values = if draft.is_main { values_of(&records_of(session))? } else { Vec::new() };
            bytes += values.iter().map(|(_, value)| value.as_str().len()).sum::<usize>();
            let title = main.and_then(|main| family.threads.get(&main)?.title.clone());
            let record = record_of(session, draft.is_main, title)?;
            threads += self.count_thread(draft.is_main, count);
            arrivals.push(Arrival { id, created, record, begins, messages, values });
            said.push(names);
            is_main.push(draft.is_main);
            if draft.is_main {
                self.mains.insert((session.source, session.id.clone()), id);
            }
        }
        if self.is_dry {
            return Ok(None);
        }
        let home = home.unwrap_or(first);
        let (source, session) = (session.source, session.id.clone());
        self.gathered.push(Gathered { home, source, session, arrivals, said, threads, is_main });
        self.gathered_bytes += bytes;
        Ok(Some(home))
    }

    /// Counts a thread in the report. The result is 1 for the thread of a session, and 0 for a branch.
    fn count_thread(&mut self, is_main: bool, messages: u64) -> u64 {
        let main = u64::from(is_main);
        self.report.messages += messages;
        self.report.threads += main;
        self.report.branches += 1 - main;
        main
    }

    fn subagent(&self, session: &Session, parent: &ThreadName) -> Result<Begins, Error> {
        let ThreadName::Stored(of) = parent else { return Err(unplanned("a subagent's parent is known")) };
        let name = session.tags.iter().find(|tag| !["archived", "starred"].contains(&tag.as_str()));
        let name = name.cloned().unwrap_or_else(|| session.source.as_str().to_owned());
        let description = session.title.clone().unwrap_or_default();
        let short: String = description.chars().take(500).collect();
        Ok(Begins::Subagent { of: of.parse()?, name, description: short })
    }
}

/// The times of messages: one without a time has that of the message before it.
struct Times {
    last: Timestamp,
}

impl Times {
    fn of(&mut self, message: &Message) -> Timestamp {
        self.last = message.time.unwrap_or(self.last);
        self.last
    }
}

/// The record of a session's thread, or of one of its branches. A later part of a session has the title that is known.
fn record_of(session: &Session, is_main: bool, known: Option<String>) -> Result<Record, Error> {
    let title = session.title.clone().or(known);
    let title = if is_main { title } else { Some(fork_title(title.as_deref())) };
    let archived = session.tags.iter().any(|tag| tag == "archived");
    let (metadata, env) = metadata_of(session, is_main)?;
    Ok(Record { title, archived, metadata: Some(metadata), env, ..Record::default() })
}

/// The records that belong to no message, and the fields of the session if they are too large for its metadata.
fn records_of(session: &Session) -> Vec<Value> {
    let mut records = session.records.clone();
    if Value::Object(session.raw.clone()).to_string().len() > RECORD_RAW_BYTES_MAX {
        records.push(json!({ "session": session.raw }));
    }
    records
}

/// The time of a change without one: a store moves it forward, to that of the thread's last entry.
fn at_once() -> Timestamp {
    Timestamp::default()
}

/// A plan that does not fit what is known. The session is skipped and named.
fn unplanned(what: &str) -> Error {
    Invalid::body("session", what).into()
}
