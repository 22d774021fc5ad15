//! A part of a list, and how to go on.

use serde::{Deserialize, Serialize};

/// A page of a list: `{items, nextCursor, total?, totalIsExact?}`.
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
    /// False if there are more than `total`, which counting stopped at. It is only given then: otherwise the total is
    /// exact.
    #[serde(default = "exact", skip_serializing_if = "is_exact")]
    pub total_is_exact: bool,
}

impl<T> Page<T> {
    /// A page, with the exact total where that was counted.
    pub fn new(items: Vec<T>, next_cursor: Option<String>, total: Option<u64>) -> Self {
        Self { items, next_cursor, total, total_is_exact: exact() }
    }

    /// A list that is told whole.
    pub fn all(items: Vec<T>) -> Self {
        let total = Some(items.len() as u64);
        Self::new(items, None, total)
    }
}

fn exact() -> bool {
    true
}

fn is_exact(exact: &bool) -> bool {
    *exact
}

fn none() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_looks_like_this() {
        let page = Page::new(vec![1, 2], None, Some(2));
        assert_eq!(serde_json::to_string(&page).expect("json"), r#"{"items":[1,2],"nextCursor":null,"total":2}"#);
        let page = Page::new(vec![1], Some("c".into()), None);
        assert_eq!(serde_json::to_string(&page).expect("json"), r#"{"items":[1],"nextCursor":"c"}"#);
        assert_eq!(serde_json::from_str::<Page<u8>>(r#"{"items":[1],"nextCursor":"c"}"#).expect("a page").total, None);
        let page = Page { total_is_exact: false, ..Page::new(vec![1], None, Some(10_000)) };
        let json = r#"{"items":[1],"nextCursor":null,"total":10000,"totalIsExact":false}"#;
        assert_eq!(serde_json::to_string(&page).expect("json"), json);
    }
}
