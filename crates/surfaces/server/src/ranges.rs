//! Parts of a file: the headers `Range` and `If-Range`.

use std::ops::Range;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, header};

use crate::answer::Refused;

/// `Range` and `If-Range`, as they were sent.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    range: Option<String>,
    if_range: Option<String>,
}

/// The requested part of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All of it. So is a range that is not understood: a client that asks for a part accepts the whole, too.
    Whole,
    Bytes(Range<u64>),
    /// Bytes that it does not have.
    Beyond,
}

impl<S: Sync> FromRequestParts<S> for Wanted {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        Ok(Self { range: text(&parts.headers, header::RANGE), if_range: text(&parts.headers, header::IF_RANGE) })
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    headers.get(name).map(|value| value.to_str().unwrap_or_default().to_owned())
}

impl Wanted {
    /// The part of a file of this size and tag.
    pub(crate) fn of(&self, size: u64, etag: &str) -> Part {
        // A part of another content would not fit the client's copy.
        if self.if_range.as_deref().is_some_and(|known| known.trim() != etag) {
            return Part::Whole;
        }
        self.range.as_deref().map_or(Part::Whole, |range| part(range, size))
    }

    /// As it was sent.
    pub(crate) fn said(&self) -> &str {
        self.range.as_deref().unwrap_or_default()
    }
}

fn part(range: &str, size: u64) -> Part {
    let Some((unit, set)) = range.split_once('=') else { return Part::Whole };
    let Some((first, last)) = set.trim().split_once('-') else { return Part::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return Part::Whole;
    }
    let number = |text: &str| {
        let text = text.trim();
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // Beyond all numbers is beyond every file.
        is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => Part::Whole,
        (Some(first), last) if last.is_some() || last_is_open(set) => {
            if first >= size {
                return Part::Beyond;
            }
            let end = last.map_or(size, |last| last.saturating_add(1).min(size));
            Part::Bytes(first..end)
        }
        (None, Some(count)) if first.trim().is_empty() => {
            if count == 0 || size == 0 {
                return Part::Beyond;
            }
            Part::Bytes(size.saturating_sub(count)..size)
        }
        _ => Part::Whole,
    }
}

/// Whether a range says from where on, and no more.
fn last_is_open(set: &str) -> bool {
    set.trim().ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_what_a_single_range_says_and_everything_else_is_the_whole() {
        for (range, expected) in [
            ("bytes=0-0", Part::Bytes(0..1)),
            ("bytes=2-5", Part::Bytes(2..6)),
            ("bytes=2-", Part::Bytes(2..10)),
            ("bytes=-3", Part::Bytes(7..10)),
            ("bytes=-30", Part::Bytes(0..10)),
            ("bytes=5-999999999999999999999999", Part::Bytes(5..10)),
            ("Bytes = 1 - 2", Part::Bytes(1..3)),
            ("bytes=10-", Part::Beyond),
            ("bytes=99999999999999999999999-", Part::Beyond),
            ("bytes=-0", Part::Beyond),
            ("bytes=5-2", Part::Whole),
            ("bytes=0-1,4-5", Part::Whole),
            ("bytes=-", Part::Whole),
            ("bytes=", Part::Whole),
            ("bytes", Part::Whole),
            ("bytes=a-b", Part::Whole),
            ("bytes=1-b", Part::Whole),
            ("bytes=--5", Part::Whole),
            ("bytes=+1-2", Part::Whole),
            ("lines=1-2", Part::Whole),
            ("", Part::Whole),
        ] {
            assert_eq!(part(range, 10), expected, "{range}");
        }
        assert_eq!(part("bytes=0-", 0), Part::Beyond);
        assert_eq!(part("bytes=-1", 0), Part::Beyond);
    }

    #[test]
    fn a_part_of_what_has_changed_is_the_whole() {
        let wanted = |if_range: Option<&str>| Wanted {
            range: Some("bytes=0-1".to_owned()),
            if_range: if_range.map(str::to_owned),
        };
        assert_eq!(wanted(None).of(10, "\"a\""), Part::Bytes(0..2));
        assert_eq!(wanted(Some("\"a\"")).of(10, "\"a\""), Part::Bytes(0..2));
        assert_eq!(wanted(Some("\"b\"")).of(10, "\"a\""), Part::Whole);
        assert_eq!(wanted(Some("W/\"a\"")).of(10, "\"a\""), Part::Whole);
    }
}
