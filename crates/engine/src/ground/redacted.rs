//! Calls and files without secrets.

use threadkeep_calls::NewMessage;
use threadkeep_model::Invalid;
use threadkeep_vault::Redactor;

use crate::{Carry, Error, Result};

/// A call without secrets: its JSON is redacted, and read again.
pub(crate) fn redacted<C: Carry>(mut call: C, redactor: &Redactor) -> Result<C> {
    let mut files = Vec::new();
    for NewMessage { files: own, .. } in call.new_messages() {
        for file in own.iter_mut() {
            refuse_in_file(redactor, &file.name, &file.bytes)?;
            file.name = redactor.text(&file.name).into_owned();
        }
        files.push(std::mem::take(own));
    }
    let json = serde_json::to_string(&call).map_err(|_| Error::broken("a call can be written as JSON"))?;
    if let std::borrow::Cow::Owned(json) = redactor.json(&json) {
        let rule = "holds a secret in a place where its name cannot stand for it";
        call = serde_json::from_str(&json).map_err(|_| Invalid::body("body", rule))?;
    }
    for (NewMessage { files: own, .. }, files) in call.new_messages().into_iter().zip(files) {
        *own = files;
    }
    Ok(call)
}

/// Refuses a file that holds a secret.
pub(crate) fn refuse_in_file(redactor: &Redactor, file: &str, bytes: &[u8]) -> Result<()> {
    match redactor.held_by(bytes) {
        Some(name) => Err(in_file(redactor, file, name)),
        None => Ok(()),
    }
}

/// The refusal of a file that holds the secret `name`.
pub(crate) fn in_file(redactor: &Redactor, file: &str, name: &str) -> Error {
    Error::SecretInFile { file: redactor.text(file).into_owned(), name: name.to_owned() }
}
