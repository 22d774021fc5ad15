//! Globs: patterns for paths.
//!
//! | in a pattern | matches |
//! |---|---|
//! | `*` | any number of characters, none of them `/` |
//! | `**` as a whole segment | any number of segments: `src/**` is all below `src`, `**/test/*` is at any depth |
//! | `?` | one character, not `/` |
//! | `[abc]`, `[a-z]`, `[!a]` | one character of those, or not of those, never `/` |
//! | `{a,b*}` | either, also within each other |
//! | `\` | takes the next character as it is |
//!
//! A pattern without `/` is about the name of a file, at any depth: `*.rs`. A pattern with `/` is about the whole path,
//! from the root: `src/*.rs` and `/src/*.rs` are the same, and `/*.rs` is in the root only.
//!
//! A glob becomes one regular expression and is not multiplied out, so that `{a,b}{a,b}{a,b}…` stays small.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::CharIndices;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// How long a pattern may be.
const PATTERN_BYTES_MAX: usize = 1_024;
/// How many alternatives the braces of a pattern may have, all together.
const ALTERNATIVES_MAX: usize = 256;
/// How deep braces may be within each other.
const DEPTH_MAX: usize = 8;
/// How large a compiled pattern may become.
const COMPILED_BYTES_MAX: usize = 4 << 20;

/// A compiled pattern for paths.
///
/// ```
/// use threadkeep_tree::Glob;
///
/// let sources = Glob::new("src/**/*.{rs,toml}")?;
/// assert!(sources.matches("/src/a/b.rs"));
/// assert!(!sources.matches("/docs/b.rs"));
/// assert_eq!(sources.literal_prefix(), "/src/");
/// # Ok::<(), threadkeep_tree::GlobError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Glob {
    regex: Regex,
    prefix: String,
}

/// Why a pattern is not a glob. Places are characters of the pattern, counted from 1.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GlobError {
    /// There is nothing in it.
    #[error("the glob is empty: `**` matches every file")]
    Empty,
    /// It is longer than a pattern may be.
    #[error("the glob has {bytes} bytes, and at most {PATTERN_BYTES_MAX} are allowed: ask with several shorter ones")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Its braces have more alternatives, or are deeper within each other, than is allowed.
    #[error(
        "the glob has more than {ALTERNATIVES_MAX} alternatives, or braces more than {DEPTH_MAX} deep: ask with several \
         simpler ones"
    )]
    TooManyAlternatives,
    /// It compiles to something too large.
    #[error("the glob becomes too large when compiled: ask with several simpler ones")]
    TooLarge,
    /// It ends in `/`, and files do not.
    #[error("the glob ends in `/`, and no file does: add `**` for everything below")]
    Folder,
    /// A `[` or `{` without its end.
    #[error(
        "the `{open}` at character {at} of the glob is not closed: close it, or write `\\{open}` for the character"
    )]
    Unclosed {
        /// The character that opens it.
        open: char,
        /// Its place, in characters.
        at: usize,
    },
    /// A `}` without its beginning.
    #[error("the `}}` at character {at} of the glob closes nothing: write `\\}}` for the character")]
    Unopened {
        /// Its place, in characters.
        at: usize,
    },
    /// A range that goes backwards.
    #[error("the range {from}-{to} at character {at} of the glob goes backwards: write {to}-{from}")]
    Backwards {
        /// The first character of the range.
        from: char,
        /// The last character of the range.
        to: char,
        /// Its place, in characters.
        at: usize,
    },
    /// A `\` with nothing after it.
    #[error("the glob ends in a `\\` that has nothing to escape: write `\\\\` for the character")]
    DanglingEscape,
}

impl Glob {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// [`GlobError`], which says where the pattern is not one.
    pub fn new(pattern: &str) -> Result<Glob, GlobError> {
        if pattern.len() > PATTERN_BYTES_MAX {
            return Err(GlobError::TooLong { bytes: pattern.len() });
        }
        let relative = pattern.strip_prefix('/').unwrap_or(pattern);
        if relative.is_empty() {
            return Err(GlobError::Empty);
        }
        let skipped = pattern.len() - relative.len();
        let mut reader = Reader::new(relative, skipped);
        reader.sequence()?;
        if relative.ends_with('/') && !relative.ends_with("\\/") {
            return Err(GlobError::Folder);
        }
        let anywhere = if pattern.contains('/') { "" } else { "(?:[^/]+/)*" };
        let prefix = if pattern.contains('/') { reader.prefix() } else { "/".to_owned() };
        let regex = RegexBuilder::new(&format!("(?s)\\A/{anywhere}(?:{})\\z", reader.regex))
            .size_limit(COMPILED_BYTES_MAX)
            .dfa_size_limit(COMPILED_BYTES_MAX)
            .build()
            .map_err(|_| GlobError::TooLarge)?;
        Ok(Glob { regex, prefix })
    }

    /// Whether the pattern matches a path. The path is normalised and begins with `/`.
    pub fn matches(&self, path: &str) -> bool {
        self.regex.is_match(path)
    }

    /// The folder that every match lies in, with `/` at its end: a store needs to read only the paths that begin with
    /// it. `/` if matches can be anywhere.
    pub fn literal_prefix(&self) -> &str {
        &self.prefix
    }
}

/// Reads a pattern and writes the regular expression that means the same.
struct Reader<'a> {
    pattern: &'a str,
    rest: Peekable<CharIndices<'a>>,
    /// How many characters of what the caller wrote stand before `pattern`.
    skipped: usize,
    regex: String,
    /// The characters up to the first that is not taken as it is.
    literal: String,
    still_literal: bool,
    alternatives: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn new(pattern: &'a str, skipped: usize) -> Reader<'a> {
        Reader {
            pattern,
            rest: pattern.char_indices().peekable(),
            skipped,
            regex: String::new(),
            literal: String::new(),
            still_literal: true,
            alternatives: 0,
            depth: 0,
        }
    }

    /// The place of a byte as the caller counts it.
    fn place(&self, byte: usize) -> usize {
        self.skipped + self.pattern[..byte].chars().count() + 1
    }

    fn prefix(&self) -> String {
        let folder = self.literal.rfind('/').map_or("", |slash| &self.literal[..=slash]);
        format!("/{folder}")
    }

    /// Reads to the end, or to the `,` or `}` that ends an alternative; that is left where it is.
    fn sequence(&mut self) -> Result<(), GlobError> {
        while let Some(&(at, next)) = self.rest.peek() {
            match next {
                ',' | '}' if self.depth > 0 => return Ok(()),
                '}' => return Err(GlobError::Unopened { at: self.place(at) }),
                _ => {}
            }
            self.rest.next();
            match next {
                '*' => self.stars(at),
                '?' => self.wild("[^/]"),
                '[' => self.class(at)?,
                '{' => self.braces(at)?,
                '\\' => match self.rest.next() {
                    Some((_, escaped)) => self.character(escaped),
                    None => return Err(GlobError::DanglingEscape),
                },
                plain => self.character(plain),
            }
        }
        Ok(())
    }

    fn character(&mut self, character: char) {
        if self.still_literal {
            self.literal.push(character);
        }
        push_escaped(&mut self.regex, character);
    }

    fn wild(&mut self, regex: &str) {
        self.still_literal = false;
        self.regex.push_str(regex);
    }

    /// One star stays within a segment; two that are a whole segment cross segments.
    fn stars(&mut self, at: usize) {
        let mut end = at + 1;
        while let Some((star, _)) = self.rest.next_if(|(_, next)| *next == '*') {
            end = star + 1;
        }
        let in_braces = self.depth > 0;
        let edge = |byte: u8| byte == b'/' || in_braces && matches!(byte, b'{' | b',' | b'}');
        let bytes = self.pattern.as_bytes();
        let whole = (at == 0 || edge(bytes[at - 1])) && bytes.get(end).is_none_or(|byte| edge(*byte));
        match (end - at >= 2 && whole, bytes.get(end)) {
            (true, Some(b'/')) => {
                self.rest.next();
                self.wild("(?:[^/]+/)*");
            }
            (true, _) => self.wild(".+"),
            (false, _) => self.wild("[^/]*"),
        }
    }

    fn class(&mut self, open: usize) -> Result<(), GlobError> {
        let unclosed = GlobError::Unclosed { open: '[', at: self.place(open) };
        let negated = self.rest.next_if(|(_, next)| matches!(next, '!' | '^')).is_some();
        self.wild(if negated { "[^/" } else { "[" });
        let mut first = true;
        let mut any = negated;
        loop {
            let (at, from) = self.rest.next().ok_or_else(|| unclosed.clone())?;
            if from == ']' && !first {
                break;
            }
            first = false;
            let from = self.unescaped(from, &unclosed)?;
            let mut to = from;
            let mut ahead = self.rest.clone();
            if ahead.next().is_some_and(|(_, next)| next == '-') && ahead.next().is_some_and(|(_, next)| next != ']') {
                self.rest.next();
                let (_, end) = self.rest.next().ok_or_else(|| unclosed.clone())?;
                to = self.unescaped(end, &unclosed)?;
            }
            if to < from {
                return Err(GlobError::Backwards { from, to, at: self.place(at) });
            }
            // A range over `/` is written as what lies on either side of it.
            let parts = match negated || !(from..=to).contains(&'/') {
                true => [Some((from, to)), None],
                false => [(from < '/').then_some((from, '.')), (to > '/').then_some(('0', to))],
            };
            for (from, to) in parts.into_iter().flatten() {
                any = true;
                push_escaped(&mut self.regex, from);
                self.regex.push('-');
                push_escaped(&mut self.regex, to);
            }
        }
        // A class of nothing but `/` matches nothing.
        self.regex.push_str(if any { "]" } else { "&&[^\\x00-\\x{10FFFF}]]" });
        Ok(())
    }

    fn unescaped(&mut self, character: char, unclosed: &GlobError) -> Result<char, GlobError> {
        match character {
            '\\' => self.rest.next().map(|(_, escaped)| escaped).ok_or_else(|| unclosed.clone()),
            plain => Ok(plain),
        }
    }

    fn braces(&mut self, open: usize) -> Result<(), GlobError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(GlobError::TooManyAlternatives);
        }
        self.wild("(?:");
        loop {
            self.alternatives += 1;
            if self.alternatives > ALTERNATIVES_MAX {
                return Err(GlobError::TooManyAlternatives);
            }
            self.sequence()?;
            match self.rest.next() {
                Some((_, ',')) => self.regex.push('|'),
                Some(_) => break,
                None => return Err(GlobError::Unclosed { open: '{', at: self.place(open) }),
            }
        }
        self.regex.push(')');
        self.depth -= 1;
        Ok(())
    }
}

/// Writes a character so that it means itself, in a class too.
fn push_escaped(regex: &mut String, character: char) {
    write!(regex, "\\x{{{:X}}}", u32::from(character)).expect("a string takes whatever is written to it");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn glob(pattern: &str) -> Glob {
        Glob::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"))
    }

    fn matches(pattern: &str, yes: &[&str], no: &[&str]) {
        for path in yes {
            assert!(glob(pattern).matches(path), "{pattern} should match {path}");
        }
        for path in no {
            assert!(!glob(pattern).matches(path), "{pattern} should not match {path}");
        }
    }

    #[test]
    fn a_pattern_without_slash_is_about_names_at_any_depth() {
        matches("*.rs", &["/a.rs", "/src/a.rs", "/a/b/c.rs", "/.rs"], &["/a.rst", "/a.rs/b"]);
        matches("Makefile", &["/Makefile", "/a/Makefile"], &["/Makefile2", "/a/Makefile/b"]);
        matches("**", &["/a", "/a/b"], &[]);
    }

    #[test]
    fn a_pattern_with_slash_is_about_the_whole_path() {
        matches("src/*.rs", &["/src/a.rs"], &["/src/b/a.rs", "/x/src/a.rs"]);
        matches("/src/*.rs", &["/src/a.rs"], &["/src/b/a.rs"]);
        matches("/*.rs", &["/a.rs"], &["/src/a.rs"]);
    }

    #[test]
    fn two_stars_cross_segments() {
        matches("src/**", &["/src/a", "/src/a/b"], &["/src", "/srca", "/x/src/a"]);
        matches("**/test/*", &["/test/a", "/x/y/test/a"], &["/test", "/test/a/b"]);
        matches("a/**/b", &["/a/b", "/a/x/b", "/a/x/y/b"], &["/ab", "/a/xb"]);
        matches("a/x**", &["/a/x", "/a/xyz"], &["/a/x/y"]);
    }

    #[test]
    fn one_character_is_one_character_of_any_script_and_never_a_slash() {
        matches("a?c", &["/abc", "/aäc", "/a🙂c"], &["/ac", "/a/c"]);
        matches("x/a[!b]c", &["/x/aac", "/x/aßc"], &["/x/abc", "/x/a/c"]);
        matches("x/a[+-9]c", &["/x/a1c", "/x/a.c"], &["/x/a/c"]);
        matches("x/a[/]c", &[], &["/x/a/c"]);
        matches("[]a-c-]", &["/]", "/b", "/-"], &["/d"]);
        matches("[ä-ü]", &["/ö"], &["/o"]);
    }

    #[test]
    fn braces_are_alternatives_and_may_lie_within_each_other() {
        matches("*.{rs,toml}", &["/a.rs", "/b/c.toml"], &["/a.md"]);
        matches("{a,b{c,d}}/x", &["/a/x", "/bc/x", "/bd/x"], &["/b/x"]);
        matches("{src/**,*.md}", &["/src/a/b", "/a.md"], &["/docs/a.md"]);
        matches("a{,b}", &["/a", "/ab"], &["/b"]);
        matches("a,b", &["/a,b"], &["/a"]);
    }

    #[test]
    fn a_backslash_takes_the_next_character_as_it_is() {
        matches(r"\*.rs", &["/*.rs"], &["/a.rs"]);
        matches(r"[\]]", &["/]"], &["/\\"]);
        matches("a.b+(c)", &["/a.b+(c)"], &["/aXb+(c)"]);
    }

    #[test]
    fn the_prefix_is_the_folder_that_all_matches_share() {
        for (pattern, prefix) in [
            ("*.rs", "/"),
            ("main.rs", "/"),
            ("/main.rs", "/"),
            ("src/main.rs", "/src/"),
            ("/src/a/m*.rs", "/src/a/"),
            ("src/{a,b}/c", "/src/"),
            ("**/a", "/"),
            (r"s\*/b/?", "/s*/b/"),
        ] {
            assert_eq!(glob(pattern).literal_prefix(), prefix, "{pattern}");
        }
    }

    #[test]
    fn what_is_not_a_glob_is_refused_with_its_place() {
        let refused = |pattern: &str| Glob::new(pattern).expect_err(pattern);
        assert_eq!(refused(""), GlobError::Empty);
        assert_eq!(refused("/"), GlobError::Empty);
        assert_eq!(refused("src/"), GlobError::Folder);
        assert_eq!(refused("/ä[b"), GlobError::Unclosed { open: '[', at: 3 });
        assert_eq!(refused("a{b,c"), GlobError::Unclosed { open: '{', at: 2 });
        assert_eq!(refused("ab}"), GlobError::Unopened { at: 3 });
        assert_eq!(refused("a[z-b]"), GlobError::Backwards { from: 'z', to: 'b', at: 3 });
        assert_eq!(refused("a\\"), GlobError::DanglingEscape);
        assert_eq!(refused(&"a".repeat(1_025)), GlobError::TooLong { bytes: 1_025 });
    }

    #[test]
    fn hostile_globs_are_refused_or_stay_fast() {
        assert_eq!(Glob::new(&"{a,b}".repeat(200)).expect_err("many"), GlobError::TooManyAlternatives);
        assert_eq!(Glob::new(&"{".repeat(100)).expect_err("deep"), GlobError::TooManyAlternatives);
        let path = format!("/{}", "a".repeat(1_000));
        for pattern in ["*a".repeat(500), "**/".repeat(300) + "b", "{a,aa}".repeat(100), "?".repeat(1_000)] {
            if let Ok(glob) = Glob::new(&pattern) {
                let start = std::time::Instant::now();
                let _ = (0..10).filter(|_| glob.matches(&path)).count();
                // Not a measure of speed: a search that grows with every star would not end.
                assert!(start.elapsed().as_secs() < 60, "{pattern} took {:?}", start.elapsed());
            }
        }
    }
}
