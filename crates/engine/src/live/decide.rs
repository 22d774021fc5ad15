//! From drafts to one commit. Each step sees the effect of the steps before it, although none of it is kept yet.

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use threadkeep_calls::{Append, AppendEvent};
use threadkeep_model::{
    BlobId, Commit, Entry, Inserted, MessageBody, MessageId, NewEntry, Thread, ThreadChanged, ThreadId,
};
use threadkeep_vault::Redactor;

use crate::ground::draft::{Draft, DraftStep};
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::write;
use crate::ground::view::View;
use crate::ops::append::Prepared;
use crate::ops::delete::{deleted, without_results};
use crate::ops::edit;
use crate::ops::rollback::calls_of;
use crate::ops::update::{changes, merged};
use crate::{Carry, Engine, Error, Result, WayOut};

/// A commit that is being put together.
struct Deciding<'a> {
    engine: &'a Engine,
    thread: Thread,
    view: Option<View>,
    entries: Vec<NewEntry>,
    blobs: Vec<(BlobId, Bytes)>,
    /// Messages that this commit deletes.
    deleted: HashSet<MessageId>,
    /// Messages that this commit edits, as they are after it.
    edited: HashMap<MessageId, MessageBody>,
    record_changed: bool,
}

impl Engine {
    /// Decides `drafts`, in order, on the thread as it is now; gives the commit, and the thread with its new record.
    ///
    /// # Errors
    /// If one of them is refused, all are.
    pub(crate) async fn decide_drafts(&self, thread: ThreadId, drafts: &[&Draft]) -> Result<(Commit, Thread)> {
        let thread = self.thread(thread).await?;
        let mut deciding = Deciding {
            engine: self,
            thread,
            view: None,
            entries: Vec::new(),
            blobs: Vec::new(),
            deleted: HashSet::new(),
            edited: HashMap::new(),
            record_changed: false,
        };
        let redactor = self.guard(WayOut::Call, Some(deciding.thread.id)).await?;
        for step in drafts.iter().flat_map(|draft| draft.steps()) {
            match &redactor {
                Some(redactor) => deciding.step(&redacted(step.clone(), redactor)?).await?,
                None => deciding.step(step).await?,
            }
        }
        let Deciding { thread, entries, blobs, record_changed, .. } = deciding;
        let record = record_changed.then(|| thread.record.clone());
        let mut commit = self.commit(vec![write(&thread, None, None, entries, record)]);
        commit.blobs.extend(blobs);
        Ok((commit, thread))
    }
}

/// A step without secrets.
fn redacted(step: DraftStep, redactor: &Redactor) -> Result<DraftStep> {
    Ok(match step {
        DraftStep::Update(update) => DraftStep::Update(update.redacted(redactor)?),
        DraftStep::Append(append) => DraftStep::Append(append.redacted(redactor)?),
        DraftStep::AppendEvent(event) => match AppendEvent::Event(event).redacted(redactor)? {
            AppendEvent::Event(event) => DraftStep::AppendEvent(event),
            AppendEvent::Message(_) => return Err(Error::broken("a redacted event is an event")),
        },
        DraftStep::Insert { before, message } => {
            let mut one = Append::from(message).redacted(redactor)?;
            let message = one.messages.pop().ok_or(Error::broken("a redacted message is a message"))?;
            DraftStep::Insert { before, message }
        }
        DraftStep::EditMessage(edit) => DraftStep::EditMessage(edit.redacted(redactor)?),
        step @ DraftStep::DeleteMessage(_) => step,
    })
}

impl Deciding<'_> {
    async fn step(&mut self, step: &DraftStep) -> Result<()> {
        if let DraftStep::Update(update) = step {
            let asked = update.fields.clone().checked()?;
            let record = merged(&self.thread, &asked)?;
            // A field that another writer set to the same value meanwhile is still logged: the version counts on it.
            let told = if record == self.thread.record {
                vec![Entry::ThreadChanged(ThreadChanged { fields: asked })]
            } else {
                changes(&self.thread.record, &record)
            };
            self.entries.extend(told.iter().map(NewEntry::new));
            self.thread.record = record;
            self.record_changed = true;
            return Ok(());
        }
        open_for(&self.thread, Change::Content)?;
        match step {
            DraftStep::Update(_) => {}
            DraftStep::Append(append) => {
                let Prepared { entries, blobs, .. } = self.engine.prepare(append.messages.clone())?;
                self.entries.extend(entries);
                self.blobs.extend(blobs);
            }
            DraftStep::AppendEvent(event) => {
                let entry = NewEntry::new(&Entry::EventLogged(event.clone().checked()?));
                self.engine.refuse_large(entry.bytes)?;
                self.entries.push(entry);
            }
            DraftStep::Insert { before, message } => {
                let (message, blobs) = self.engine.prepare_one(message.clone())?;
                let (root, _) = self.find(*before).await?;
                let inserted = Inserted { before: *before, root, message };
                self.entries.push(NewEntry::new(&Entry::MessageInserted(inserted)));
                self.blobs.extend(blobs);
            }
            DraftStep::EditMessage(edit) => {
                let edit = edit::checked(edit.clone())?;
                let message = self.engine.message_id(edit.message).await?;
                let (root, mut body) = self.find(message).await?;
                let entry = NewEntry::new(&Entry::MessageEdited(edit::apply(&edit, message, &mut body, root)?));
                self.engine.refuse_large(entry.bytes)?;
                self.entries.push(entry);
                self.edited.insert(message, body);
            }
            DraftStep::DeleteMessage(message) => {
                let (root, body) = self.find(*message).await?;
                self.entries.push(NewEntry::new(&deleted(*message, root)));
                self.deleted.insert(*message);
                self.delete_results(*message, &calls_of(&body)).await?;
            }
        }
        Ok(())
    }

    /// The results of the calls of a message go with it.
    async fn delete_results(&mut self, message: MessageId, calls: &[String]) -> Result<()> {
        let Some(view) = &self.view else { return Ok(()) };
        let located = self.engine.locate(view, message).await?;
        for result in self.engine.results_after(view, &located, calls).await? {
            if self.deleted.contains(&result.id) {
                continue;
            }
            let (root, mut body) = self.find(result.id).await?;
            let entry = without_results(result.id, root, &mut body, calls)?;
            if matches!(entry, Entry::MessagesDeleted(_)) {
                self.deleted.insert(result.id);
            } else {
                self.edited.insert(result.id, body);
            }
            self.entries.push(NewEntry::new(&entry));
        }
        Ok(())
    }

    /// The slot of a message that shows, and the message as it is now.
    async fn find(&mut self, message: MessageId) -> Result<(u64, MessageBody)> {
        if self.deleted.contains(&message) {
            return Err(Error::MessageNotFound { message: message.into() });
        }
        let view = match &self.view {
            Some(view) => view,
            None => {
                let view = self.engine.view(self.thread.id, &self.thread.head, None).await?;
                self.view.insert(view)
            }
        };
        let located = self.engine.locate(view, message).await?;
        let body = match self.edited.get(&message) {
            Some(body) => body.clone(),
            None => self.engine.assemble(&located.base, located.item()).await?.body()?,
        };
        Ok((located.root, body))
    }
}
