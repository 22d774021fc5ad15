//! The rules of texts that calls bring.

use threadkeep_model::{Code, Invalid, strip_nulls};

/// Longest text, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// A text that must not be blank or too long, without its null bytes.
pub(crate) fn checked_text(field: &str, text: String) -> Result<String, Invalid> {
    let text = not_blank(field, text)?;
    if text.len() > TEXT_BYTES_MAX {
        return Err(Invalid::new(Code::TooLarge, field, format!("has at most {TEXT_BYTES_MAX} bytes")));
    }
    Ok(text)
}

/// A text that must not be blank, without its null bytes.
pub(crate) fn not_blank(field: &str, text: String) -> Result<String, Invalid> {
    let text = strip_nulls(text);
    if text.trim().is_empty() {
        return Err(Invalid::body(field, "must not be blank"));
    }
    Ok(text)
}
