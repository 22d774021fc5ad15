//! A part of a list, and how to go on.

use serde::{Deserialize, Serialize};

/// A page of a list: `{items, nextCursor, total?}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "PageOf{T}")]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The items of this page, in order.
    pub items: Vec<T>,
    /// Goes on where this page ends; null at the end.
    pub next_cursor: Option<String>,
    /// How many there are in all, where that was counted.
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
}

impl<T> Page<T> {
    /// A list that is told whole.
    pub fn all(items: Vec<T>) -> Self {
        let total = Some(items.len() as u64);
        Self { items, next_cursor: None, total }
    }
}

fn none() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_looks_like_this() {
        let page = Page { items: vec![1, 2], next_cursor: None, total: Some(2) };
        assert_eq!(serde_json::to_string(&page).expect("json"), r#"{"items":[1,2],"nextCursor":null,"total":2}"#);
        let page = Page { items: vec![1], next_cursor: Some("c".into()), total: None };
        assert_eq!(serde_json::to_string(&page).expect("json"), r#"{"items":[1],"nextCursor":"c"}"#);
    }
}
