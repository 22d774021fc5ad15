//! The names of endpoints: the method and the segments of the path that a file in `api/` answers.

use std::collections::BTreeMap;

/// The methods that a file may answer; the first one unless its name says another.
pub(crate) const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// The rest of a path, as a segment.
const REST: &str = "[*]";

/// The name of an endpoint, read: its method and its segments.
pub(crate) struct Pattern<'a> {
    pub(crate) method: &'static str,
    pub(crate) segments: Vec<&'a str>,
}

/// Reads the name of an endpoint.
///
/// # Errors
/// The rule that the name breaks.
pub(crate) fn pattern(name: &str) -> Result<Pattern<'_>, String> {
    let (folder, file) = name.rsplit_once('/').map_or((None, name), |(folder, file)| (Some(folder), file));
    let (stem, method) = match file.rsplit_once('.') {
        Some((stem, said)) => {
            let known = METHODS.into_iter().find(|method| *method == said);
            (stem, known.ok_or_else(|| format!("'{said}' is none of the methods {}", METHODS.join(", ")))?)
        }
        None => (file, METHODS[0]),
    };
    let mut segments: Vec<&str> = folder.into_iter().flat_map(|folder| folder.split('/')).collect();
    if stem != "index" {
        segments.push(stem);
    }
    if segments.is_empty() {
        return Err("an index is that of a folder in api/".to_owned());
    }
    for (at, segment) in segments.iter().enumerate() {
        let inside = segment.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        match inside {
            Some("*") if at + 1 < segments.len() => return Err(format!("{REST} is the last part of a path")),
            Some(inside) if inside.is_empty() || inside.contains(['[', ']']) => {
                return Err(format!("'{segment}' names no part of a path"));
            }
            Some(_) => {}
            None if segment.is_empty() || segment.contains(['[', ']']) => {
                return Err(format!("'{segment}' is no part of a path"));
            }
            None => {}
        }
    }
    Ok(Pattern { method, segments })
}

/// What is wrong with the name of an endpoint.
pub(super) fn mistake(name: &str) -> Option<String> {
    pattern(name).err()
}

impl Pattern<'_> {
    /// The parts that the path gives, and how general the match is, segment by segment; none if it does not match.
    pub(crate) fn matches(&self, path: &[String]) -> Option<(Vec<u8>, BTreeMap<String, String>)> {
        let (mut rank, mut params) = (Vec::new(), BTreeMap::new());
        for (at, segment) in self.segments.iter().enumerate() {
            if *segment == REST {
                let rest = path.get(at..).filter(|rest| !rest.is_empty())?;
                params.insert("*".to_owned(), rest.join("/"));
                rank.push(2);
                return Some((rank, params));
            }
            let given = path.get(at)?;
            match segment.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                Some(name) => {
                    params.insert(name.to_owned(), given.clone());
                    rank.push(1);
                }
                None if segment == given => rank.push(0),
                None => return None,
            }
        }
        (self.segments.len() == path.len()).then_some((rank, params))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(name: &str, path: &str) -> Option<(Vec<u8>, BTreeMap<String, String>)> {
        let path: Vec<String> = path.split('/').map(str::to_owned).collect();
        pattern(name).expect("a pattern").matches(&path)
    }

    #[test]
    fn a_name_says_its_method_and_its_path() {
        for (name, method, segments) in [
            ("foo", "get", vec!["foo"]),
            ("bar.post", "post", vec!["bar"]),
            ("users/index", "get", vec!["users"]),
            ("users/index.delete", "delete", vec!["users"]),
            ("users/[id].patch", "patch", vec!["users", "[id]"]),
            ("[*]", "get", vec!["[*]"]),
        ] {
            let read = pattern(name).expect(name);
            assert_eq!((read.method, read.segments), (method, segments), "{name}");
        }
        for name in ["index", "foo.trace", "[*]/foo", "a/[]", "a/[b", "x.y.get.frob"] {
            assert!(mistake(name).is_some(), "{name}");
        }
    }

    #[test]
    fn static_comes_before_dynamic_before_the_rest() {
        let rank = |name: &str| matched(name, "users/me").map(|(rank, _)| rank);
        let (fixed, one, rest) = (rank("users/me"), rank("users/[id]"), rank("users/[*]"));
        assert!(fixed < one && one < rest && rest.is_some());
        assert!(rank("users/[*]") < rank("[a]/me"), "the first segment that differs decides");
        assert_eq!(matched("users/[id]", "users"), None);
        assert_eq!(matched("users/[*]", "users"), None);
        assert_eq!(matched("users/[*]", "users/a/b").expect("a match").1["*"], "a/b");
    }
}
