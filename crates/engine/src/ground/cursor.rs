//! Cursors: the place where a page ended, tied to the list that gave it.
//!
//! Every list makes and reads its cursors here. A cursor that was edited, or that another list gave, is refused: it
//! would show a page that no list has.

use std::fmt::Debug;
use std::str::FromStr;

use threadkeep_model::{BlobId, Code, Invalid, Version};

/// Digits of a cursor that tie it to its list.
const SEAL_DIGITS: usize = 12;

/// The cursor of a page of `list` that ended at `place`. `list` is everything that has to be asked again as before:
/// the kind of list, the account or thread, the filters.
pub(crate) fn after(list: impl Debug, place: &str) -> String {
    format!("{}.{place}", seal(&list, place))
}

/// The place in a cursor that `list` gave.
///
/// # Errors
/// [`Code::InvalidCursor`] for any other text.
pub(crate) fn read(list: impl Debug, cursor: &str) -> Result<&str, Invalid> {
    let parts = cursor.split_once('.');
    let place = parts.filter(|(sealed, place)| *sealed == seal(&list, place)).map(|(_, place)| place);
    place.ok_or_else(no_cursor)
}

/// The cursor of a page of `list` that ended after a name, as the thread was at a version.
pub fn cursor(list: impl Debug, version: Version, name: &str) -> String {
    after(list, &format!("{version}.{name}"))
}

/// The version and the name in a cursor of `list`. A list as of another version does not take it.
///
/// # Errors
/// [`Code::InvalidCursor`].
pub fn place<T: FromStr>(
    list: impl Debug,
    cursor: &str,
    as_of: Option<Version>,
) -> Result<(Version, Option<T>), Invalid> {
    let (version, name) = read(list, cursor)?.split_once('.').ok_or_else(no_cursor)?;
    let version = version.parse().ok().filter(|version| as_of.is_none_or(|as_of| as_of == *version));
    let name = name.parse().map_err(|_| no_cursor())?;
    Ok((version.ok_or_else(no_cursor)?, Some(name)))
}

/// The refusal of a cursor that its list did not give.
pub(crate) fn no_cursor() -> Invalid {
    let rule = "is not a cursor that this list gave: ask with the same filters as before, or begin without a cursor";
    Invalid::new(Code::InvalidCursor, "cursor", rule)
}

fn seal(list: &impl Debug, place: &str) -> String {
    let mut digits = BlobId::of(format!("{list:?}\0{place}").as_bytes()).to_string();
    digits.truncate(SEAL_DIGITS);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_names_its_place_to_its_own_list_alone() {
        for at in ["", "7", "12./src/a.b", "ä"] {
            let given = after(("files", 1), at);
            assert_eq!(read(("files", 1), &given), Ok(at));
            for other in [read(("files", 2), &given), read(("values", 1), &given)] {
                assert_eq!(other.expect_err("another list").code, Code::InvalidCursor);
            }
            let edited = format!("{given}0");
            for wrong in ["", ".", at, &edited, &given[1..]] {
                assert!(read(("files", 1), wrong).is_err(), "{wrong}");
            }
        }
    }
}
