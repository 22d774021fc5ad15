//! Pages for people: the reference, made from the OpenAPI document, and a page for each code of a problem.
//!
//! They need nothing from elsewhere: no script, font, style or picture.

mod errors;
mod html;
mod reference;

use std::sync::OnceLock;

pub(crate) use errors::{error_list, error_page};
pub(crate) use html::CSP;

/// The page of all routes. It is made when it is first asked for.
pub(crate) fn reference() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| reference::page(&crate::openapi::build()))
}
