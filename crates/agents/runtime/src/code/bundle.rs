//! The modules that a definition imports: its own file, files that it names by relative paths, and modules by bare names.

use std::collections::{BTreeMap, BTreeSet};

use crate::definitions::{Definitions, Kind, Name, Source};

/// What the worker of a definition is given to import.
pub(crate) struct Bundle {
    /// The file of the definition, as a relative specifier.
    pub(crate) path: String,
    /// Sources by relative specifiers.
    pub(crate) modules: BTreeMap<String, String>,
    /// Sources by bare names, beside those of the program itself.
    pub(crate) library: BTreeMap<String, String>,
}

/// Modules of the program itself. Workers compile them before they get code.
pub(crate) const OWN: [(&str, &str); 7] = [
    ("threadkeep", include_str!("js/define.js")),
    ("@standardagents/*", include_str!("js/define.js")),
    ("zod", include_str!("js/z.js")),
    ("threadkeep/http", include_str!("js/http.js")),
    ("threadkeep/state", include_str!("js/state.js")),
    ("threadkeep/hooks", include_str!("js/hooks.js")),
    ("threadkeep/driver", include_str!("js/driver.js")),
];

impl Bundle {
    /// All that `name` reaches by its imports. A name that nothing has is told by the worker.
    pub(crate) fn of(definitions: &Definitions, name: &Name) -> Self {
        let mut bundle = Self { path: String::new(), modules: BTreeMap::new(), library: BTreeMap::new() };
        let Some(source) = definitions.source(name) else { return bundle };
        bundle.path = format!("./{}", source.file);
        let files: BTreeMap<&str, &Source> =
            definitions.sources().map(|(_, source)| (source.file.as_str(), source)).collect();
        let (mut seen, mut next) = (BTreeSet::from([source.file.as_str()]), vec![source]);
        while let Some(source) = next.pop() {
            bundle.modules.insert(format!("./{}", source.file), source.text.clone());
            for text in quoted(&source.text) {
                if text.starts_with("./") || text.starts_with("../") {
                    let found = candidates(&source.file, text).into_iter().find_map(|file| files.get(file.as_str()));
                    next.extend(found.filter(|found| seen.insert(&found.file)));
                } else if let Some(vendor) = vendor(definitions, text, name.package.as_deref()) {
                    bundle.add_vendor(definitions, text, vendor, name.package.as_deref());
                }
            }
        }
        bundle
    }

    /// Adds a module that the user put into `vendor/`, and those that it imports by bare names. It wins over ours.
    fn add_vendor(&mut self, definitions: &Definitions, name: &str, source: &Source, package: Option<&str>) {
        let before = self.library.insert(name.to_owned(), source.text.clone());
        if before.as_ref() == Some(&source.text) {
            return;
        }
        for text in quoted(&source.text) {
            if let Some(found) = vendor(definitions, text, package) {
                self.add_vendor(definitions, text, found, package);
            }
        }
    }
}

fn vendor<'a>(definitions: &'a Definitions, name: &str, package: Option<&str>) -> Option<&'a Source> {
    if name.is_empty() || name.contains('/') {
        return None;
    }
    definitions.source(definitions.find(Kind::Vendor, name, package)?)
}

/// The files that `specifier` may mean in the module `base`.
fn candidates(base: &str, specifier: &str) -> Vec<String> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Vec::new(),
            ".." => {}
            part => parts.push(part),
        }
    }
    let path = parts.join("/");
    ["", ".ts", ".js"].iter().map(|ending| format!("{path}{ending}")).collect()
}

/// Every text in quotes that may be a specifier. Some are none; no specifier is missed, whatever the syntax around it.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    const LENGTH_MAX: usize = 200;
    let mut rest = source;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(['"', '\'', '`'])?;
            let quote = rest.as_bytes()[start];
            let after = &rest[start + 1..];
            rest = after;
            let end = after.bytes().take(LENGTH_MAX).position(|byte| byte == quote || byte == b'\n');
            if let Some(end) = end.filter(|end| after.as_bytes()[*end] == quote) {
                return Some(&after[..end]);
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_specifier_is_among_the_quoted_texts() {
        let source = "import a from \"./a\"; import b from 'b'\nconst x = await import(`../c.ts`); it's \"d\";";
        let found: Vec<_> = quoted(source).collect();
        for specifier in ["./a", "b", "../c.ts", "d"] {
            assert!(found.contains(&specifier), "{specifier} in {found:?}");
        }
    }

    #[test]
    fn a_relative_specifier_stays_in_the_folder() {
        assert_eq!(candidates("tools/a.ts", "./b")[1], "tools/b.ts");
        assert_eq!(candidates("packages/kit/tools/a.ts", "../effects/b.js")[0], "packages/kit/effects/b.js");
        assert!(candidates("tools/a.ts", "../../../b").is_empty());
    }
}
