//! The part of an entry that is searched.

use std::borrow::Cow;

use threadkeep_model::{Entry, Kind, MessageBody, MessageId, Role, Timestamp};
use threadkeep_search::{Document, Form};
use threadkeep_store::StoredEntry;

use crate::{Engine, Result};

/// Characters of a message that its vector is made of.
const EMBEDDED_CHARS: usize = 600;

/// The text of a message, on its way to a shelf.
pub(crate) struct Text {
    pub(crate) message: MessageId,
    pub(crate) carrier: MessageId,
    form: Form,
    role: Role,
    time: Timestamp,
    /// The speaker's name, if it says more than the role.
    name: Option<String>,
    pub(crate) text: String,
}

impl Text {
    pub(crate) fn document(&self) -> Document<'_> {
        let Self { message, carrier, form, role, time, ref name, ref text } = *self;
        Document { message, carrier, form, role, time, name: name.as_deref(), text }
    }

    /// The text for the vector. It includes the speaker: questions about a person depend on it.
    pub(crate) fn embedded(&self) -> Cow<'_, str> {
        let text = embedded(&self.text);
        match &self.name {
            Some(name) => format!("{}: {text}", embedded(name)).into(),
            None => text.into(),
        }
    }
}

/// The part of a text that its vector is made of.
pub(crate) fn embedded(text: &str) -> &str {
    let mut rest = text.chars();
    rest.nth(EMBEDDED_CHARS - 1);
    &text[..text.len() - rest.as_str().len()]
}

impl Engine {
    /// The searched text of an entry, if any: messages of users and assistants that are not silent.
    pub(crate) async fn text_in(&self, entry: &StoredEntry) -> Result<Option<Text>> {
        let carrier = MessageId { segment: entry.segment, position: entry.position };
        let of = |body: MessageBody, form: Form, message: MessageId, time: Timestamp| {
            let text = body.content.to_text().into_owned();
            let searched = matches!(body.role, Role::User | Role::Assistant) && !body.silent;
            let role = body.role;
            let name = body.name.filter(|name| !name.trim().is_empty() && name != role.as_str());
            (searched && !text.trim().is_empty()).then_some(Text { message, carrier, form, role, time, name, text })
        };
        let is_text = matches!(
            entry.kind,
            Kind::MessageAppended | Kind::MessageDelivered | Kind::MessageInserted | Kind::MessageEdited
        );
        if !is_text {
            return Ok(None);
        }
        // A damaged text cannot be searched; those after it can.
        let Some(read) = self.read_if_whole(entry).await? else { return Ok(None) };
        Ok(match read {
            Entry::MessageAppended(body) => of(body, Form::Appended, carrier, entry.time),
            Entry::MessageDelivered(delivered) => of(delivered.message, Form::Appended, carrier, entry.time),
            Entry::MessageInserted(inserted) => of(inserted.message, Form::Inserted, carrier, entry.time),
            Entry::MessageEdited(edited) => {
                let Some(content) = edited.content else { return Ok(None) };
                // Freed meanwhile, with all threads that saw it.
                let Some(first) = self.entry_at(edited.target).await? else { return Ok(None) };
                let body = match self.read_if_whole(&first).await? {
                    Some(Entry::MessageAppended(body)) => body,
                    Some(Entry::MessageDelivered(delivered)) => delivered.message,
                    Some(Entry::MessageInserted(inserted)) => inserted.message,
                    _ => return Ok(None),
                };
                of(MessageBody { content, ..body }, Form::Edited, edited.target, first.time)
            }
            _ => None,
        })
    }
}
