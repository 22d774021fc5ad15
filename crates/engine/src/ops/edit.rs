//! `edit`: new content or metadata for a message.

use std::collections::BTreeMap;

use threadkeep_calls::EditMessage;
use threadkeep_model::{
    Content, Entry, Invalid, Json, Message, MessageBody, MessageEdited, MessageId, NewEntry, ThreadId,
};

use crate::ground::carry::Carry;
use crate::ground::gate::{Change, open_for};
use crate::ground::plan::Plan;
use crate::{Engine, Result};

impl Carry for EditMessage {
    type Made = Message;

    async fn carry(self, engine: &Engine, thread: ThreadId) -> Result<Message> {
        let edit = checked(self)?;
        let message = engine.message_id(edit.message).await?;
        let told = engine
            .tell(thread, || async {
                let thread = engine.thread(thread).await?;
                open_for(&thread, Change::Content)?;
                let view = engine.view(thread.id, &thread.head, None).await?;
                let located = engine.locate(&view, message).await?;
                let mut body = engine.assemble(&located.base, located.item()).await?.body()?;
                let edited = apply(&edit, message, &mut body, located.root)?;
                let entry = Entry::MessageEdited(edited);
                engine.refuse_large(NewEntry::new(&entry).bytes)?;
                Ok(Plan::new(thread, vec![entry]))
            })
            .await?;
        engine.message(thread, message, Some(told.place.first)).await
    }
}

/// Checks the rules of an edit that its types do not already prove.
pub(crate) fn checked(edit: EditMessage) -> Result<EditMessage> {
    if edit.content.is_none() && edit.metadata.is_none() {
        return Err(Invalid::body("content", "an edit names new content, new metadata, or both").into());
    }
    if edit.metadata.as_ref().is_some_and(|metadata| !metadata.is_object()) {
        return Err(Invalid::body("metadata", "must be a JSON object").into());
    }
    Ok(EditMessage { content: edit.content.map(Content::checked).transpose()?, ..edit })
}

/// Makes the edit on `body`, the message as it shows, in the slot of `root`; returns the entry for the log.
pub(crate) fn apply(edit: &EditMessage, target: MessageId, body: &mut MessageBody, root: u64) -> Result<MessageEdited> {
    let changes = edit.metadata.as_ref();
    let metadata = changes.map(|changes| merge(body.metadata.as_ref(), changes)).transpose()?;
    if let Some(content) = &edit.content {
        body.content = content.clone();
    }
    if metadata.is_some() {
        body.metadata = metadata.clone();
    }
    Ok(MessageEdited { target, root, content: edit.content.clone(), metadata })
}

/// A shallow merge of two objects; null clears a field.
pub(crate) fn merge(before: Option<&Json>, changes: &Json) -> Result<Json> {
    let fields = |json: &Json| json.read::<BTreeMap<String, Json>>();
    let invalid = |error: serde_json::Error| Invalid::body("metadata", error.to_string());
    let mut merged = before.map_or_else(|| Ok(BTreeMap::new()), fields).map_err(invalid)?;
    for (field, value) in fields(changes).map_err(invalid)? {
        if value.as_str() == "null" {
            merged.remove(&field);
        } else {
            merged.insert(field, value);
        }
    }
    Ok(Json::from_value("metadata", &merged)?)
}
