//! The protocol: what is asked, and what an answer says.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::Vector;

/// The longest code of a failure that is passed on.
const CODE_BYTES_MAX: usize = 64;

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Deserialize)]
struct Answer {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// The number of the text it belongs to; some endpoints leave it out, and keep the order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Failure {
    error: Error,
}

#[derive(Deserialize)]
struct Error {
    code: Option<String>,
    r#type: Option<String>,
}

/// The body that asks for the vectors of `texts`.
pub(super) fn request(model: &str, texts: &[&str]) -> Bytes {
    serde_json::to_vec(&Request { model, input: texts }).expect("strings are JSON").into()
}

/// The vectors of `count` texts, in the order of the texts, all of one length: `dimensions`, where that is known.
pub(super) fn vectors(body: &[u8], count: usize, dimensions: Option<usize>) -> Result<Vec<Vector>, String> {
    // The message of the parser could contain a part of the answer, so only the place of the error is told.
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|error| format!("it is no list of vectors (line {}, column {})", error.line(), error.column()))?;
    if answer.data.len() != count {
        return Err(format!("{} vectors for {count} texts", answer.data.len()));
    }
    let dimensions = dimensions.or_else(|| answer.data.first().map(|item| item.embedding.len())).unwrap_or(0);
    let mut vectors = vec![None; count];
    for (at, item) in answer.data.into_iter().enumerate() {
        let (index, length) = (item.index.unwrap_or(at), item.embedding.len());
        if length != dimensions || length == 0 {
            return Err(format!("a vector of {length} dimensions where {dimensions} were expected"));
        }
        match vectors.get_mut(index) {
            Some(place @ None) => *place = Some(Vector::quantise(&item.embedding)),
            Some(Some(_)) => return Err(format!("two vectors for text {index}")),
            None => return Err(format!("a vector for text {index} of {count}")),
        }
    }
    Ok(vectors.into_iter().flatten().collect())
}

/// The parts of a failure that can be shown: its status and its code. Messages may repeat a key or a text.
pub(super) fn refusal(status: u16, body: &[u8]) -> String {
    let about = match status {
        401 | 403 => "the key is missing or not accepted",
        404 => "there is no such address or model",
        413 => "the request is too large",
        400 | 422 => "the request is not accepted",
        429 => "there have been too many requests",
        500.. => "it has failed",
        _ => "it did not answer with vectors",
    };
    let told = serde_json::from_slice::<Failure>(body).ok();
    let code = told.and_then(|failure| failure.error.code.or(failure.error.r#type));
    let plain = |code: &String| {
        code.len() <= CODE_BYTES_MAX && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    match code.filter(plain) {
        Some(code) => format!("{about} (status {status}, {code})"),
        None => format!("{about} (status {status})"),
    }
}
