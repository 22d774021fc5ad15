//! Merges, and their expected results: for every file and every value, from the two sides and their common base.

use std::collections::{BTreeMap, BTreeSet};

use threadkeep::{Merge, MergeTold, Position, ThreadId};
use threadkeep_merge::Labels;
use threadkeep_model::{ConflictStrategy, FileStrategy, Kind, MergeBase, MergeStatus, Resolved, StateStrategy};

use crate::model::{Cells, Held, MergeScope, ModelMerge};
use crate::run::{Run, Settled};

/// The expected result of a merge.
struct Expected {
    held: Held,
    /// The names in conflict with a source, and whether the strategy settles it.
    conflicts: BTreeMap<(ThreadId, String), bool>,
    bases: Vec<Base>,
}

/// The expected base of a merge.
#[derive(Debug, PartialEq)]
enum Base {
    Shared,
    Birth(ThreadId, Position),
    Merge(ThreadId, Position),
}

impl From<&MergeBase> for Base {
    fn from(base: &MergeBase) -> Self {
        match base {
            MergeBase::Empty | MergeBase::History { .. } => Self::Shared,
            MergeBase::Birth { thread_id, version } => Self::Birth(*thread_id, *version),
            MergeBase::Merge { thread_id, version, .. } => Self::Merge(*thread_id, *version),
        }
    }
}

impl MergeScope {
    fn items(self) -> Vec<String> {
        match self {
            Self::All => Vec::new(),
            Self::Below => vec!["d/**".to_owned()],
            Self::Keys => vec!["kv:k".to_owned()],
        }
    }

    fn has_file(self, path: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below => path.starts_with("/d/"),
            Self::Keys => false,
        }
    }

    fn has_value(self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Below => false,
            Self::Keys => key.starts_with('k'),
        }
    }

    /// Replaces the part of `below` in this scope by that of `above`.
    fn over(self, below: &mut Held, above: &Held) {
        let files = above.files.iter().filter(|(path, _)| self.has_file(path));
        below.files.retain(|path, _| !self.has_file(path));
        below.files.extend(files.map(|(path, text)| (path.clone(), text.clone())));
        let values = above.values.iter().filter(|(key, _)| self.has_value(key));
        below.values.retain(|key, _| !self.has_value(key));
        below.values.extend(values.map(|(key, value)| (key.clone(), value.clone())));
    }
}

impl Run {
    pub(crate) async fn merge(&mut self, thread: ThreadId) {
        let others: Vec<ThreadId> =
            self.model.threads.iter().map(|known| known.id).filter(|id| *id != thread).collect();
        let mut sources: Vec<ThreadId> = self.chance.pick(&others).copied().into_iter().collect();
        if self.chance.one_in(4) {
            sources.extend(self.chance.pick(&others).copied().filter(|other| !sources.contains(other)));
        }
        if sources.is_empty() {
            return;
        }
        let scope = match self.chance.below(6) {
            0 => MergeScope::Below,
            1 => MergeScope::Keys,
            _ => MergeScope::All,
        };
        let file = [FileStrategy::ThreeWay, FileStrategy::Theirs, FileStrategy::Ours, FileStrategy::Union];
        let state = [StateStrategy::Theirs, StateStrategy::Ours, StateStrategy::Human, StateStrategy::Latest];
        let conflict_strategy = ConflictStrategy {
            file: self.chance.pick(&file).copied().unwrap_or_default(),
            state: self.chance.pick(&state).copied().unwrap_or_default(),
            ..ConflictStrategy::default()
        };
        let named = sources.iter().map(|source| (*source).into()).collect();
        let merge = Merge { sources: named, artifact_scope: scope.items(), conflict_strategy, ..Merge::default() };
        let would = self.dry_run(thread, &merge).await;
        let expected = self.expected(thread, &sources, (scope, conflict_strategy), &would);
        self.check(&would, &expected);
        let result = self.engine.merge(thread, merge.clone()).await;
        let merged = match self.settled(Some(thread), result).await {
            Settled::Done(merged) => merged,
            Settled::Lost => self.engine.merges(thread).await.expect("merges").pop().expect("a merge"),
            Settled::Refused => return,
        };
        self.check(&merged, &expected);
        let goes_through = merged.status == MergeStatus::Merged;
        let version = self.model.thread(thread).version;
        for (_, kind, time) in self.after(thread, version).await {
            let known = self.model.thread(thread);
            match kind {
                Kind::FilesChanged if goes_through => known.now.held.files.clone_from(&expected.held.files),
                Kind::ValuesChanged if goes_through => known.now.held.values.clone_from(&expected.held.values),
                Kind::Merged => {}
                other => panic!("{}: a merge is told as {}", self.context(), other.as_str()),
            }
            self.model.thread(thread).log(kind, time);
        }
        let made = self.model.thread(thread).version;
        for source in sources.iter().filter(|_| goes_through) {
            let version = self.model.thread(*source).version;
            self.model.merges.push(ModelMerge { target: thread, source: *source, version, made, scope });
        }
        let again = self.dry_run(thread, &merge).await;
        if goes_through {
            let nothing = again.files.is_empty() && again.values.is_empty() && again.conflicts.is_empty();
            assert!(nothing, "{}: merged twice: {again:?}", self.context());
        } else {
            assert_eq!(again.conflicts, merged.conflicts, "{}: what failed changed nothing", self.context());
        }
        for source in sources {
            self.compare(source).await;
        }
    }

    async fn dry_run(&self, thread: ThreadId, merge: &Merge) -> MergeTold {
        let merge = Merge { dry_run: true, ..merge.clone() };
        self.engine.merge(thread, merge).await.expect("an answer")
    }

    fn check(&self, merged: &MergeTold, expected: &Expected) {
        let context = self.context();
        let bases: Vec<Base> = merged.sources.iter().map(|source| Base::from(&source.base)).collect();
        assert_eq!(bases, expected.bases, "{context}: what is compared with");
        let conflicts: BTreeMap<(ThreadId, String), bool> = merged
            .conflicts
            .iter()
            .map(|conflict| {
                let name = conflict.path.as_ref().map(ToString::to_string);
                let name = name.or(conflict.key.as_ref().map(ToString::to_string)).unwrap_or_default();
                ((conflict.source.expect("a source"), name), conflict.resolved.is_some())
            })
            .collect();
        assert_eq!(conflicts, expected.conflicts, "{context}: conflicts");
        let is_open = expected.conflicts.values().any(|resolved| !resolved);
        let is_conflicted = merged.status == MergeStatus::Conflicted;
        assert_eq!(is_conflicted, is_open, "{context}: {:?}", merged.status);
    }

    /// The expected result of merging `sources`. The answer tells which of two values is later.
    fn expected(
        &mut self,
        thread: ThreadId,
        sources: &[ThreadId],
        (scope, strategy): (MergeScope, ConflictStrategy),
        would: &MergeTold,
    ) -> Expected {
        let held = self.model.thread(thread).now.held.clone();
        let mut expected = Expected { held, conflicts: BTreeMap::new(), bases: Vec::new() };
        for source in sources {
            let (kind, base) = self.base(thread, *source);
            expected.bases.push(kind);
            let theirs = self.model.thread(*source).now.held.clone();
            let files = both(&base.files, &theirs.files).into_iter().filter(|path| scope.has_file(path));
            for path in files.collect::<Vec<_>>() {
                let sides = [base.files.get(&path), expected.held.files.get(&path), theirs.files.get(&path)];
                let (text, conflict) = merge_file(sides, strategy.file);
                put(&mut expected.held.files, &path, text);
                expected.conflicts.extend(conflict.map(|resolved| ((*source, path.clone()), resolved)));
            }
            let values = both(&base.values, &theirs.values).into_iter().filter(|key| scope.has_value(key));
            for key in values.collect::<Vec<_>>() {
                let sides = [base.values.get(&key), expected.held.values.get(&key), theirs.values.get(&key)];
                let is_later = would.conflicts.iter().any(|conflict| {
                    let named = conflict.key.as_ref().is_some_and(|named| named.as_str() == key);
                    named && conflict.source == Some(*source) && conflict.resolved == Some(Resolved::Theirs)
                });
                let (value, conflict) = merge_value(sides, strategy.state, is_later);
                put(&mut expected.held.values, &key, value);
                expected.conflicts.extend(conflict.map(|resolved| ((*source, key.clone()), resolved)));
            }
        }
        expected
    }

    /// The common state of two threads: their shared history, and over it the merges between them, as far as they are
    /// in view.
    fn base(&mut self, target: ThreadId, source: ThreadId) -> (Base, Held) {
        let (ours, theirs) = (self.model.thread(target).clone(), self.model.thread(source).clone());
        let files = ours.now.held.file_trail.parting(&theirs.now.held.file_trail);
        let values = ours.now.held.value_trail.parting(&theirs.now.held.value_trail);
        let is_whole = files.is_some() && values.is_some();
        let born = [(&theirs, target), (&ours, source)].into_iter().find_map(|(child, parent)| {
            child.spawned.filter(|(from, _)| *from == parent).map(|(_, version)| (child, version))
        });
        let (mut kind, mut base) = match born.filter(|_| !is_whole) {
            Some((child, version)) => (Base::Birth(child.id, Position(version)), child.then[&version].held.clone()),
            None => {
                let (files, values) = (files.unwrap_or_default(), values.unwrap_or_default());
                (Base::Shared, Held { files, values, ..Held::default() })
            }
        };
        for merge in self.model.merges.clone() {
            let (into, of) = match (merge.target, merge.source) {
                (into, of) if (into, of) == (target, source) => (&ours, &theirs),
                (into, of) if (into, of) == (source, target) => (&theirs, &ours),
                _ => continue,
            };
            if into.now.lineage.contains(&merge.made) {
                kind = Base::Merge(of.id, Position(merge.version));
                merge.scope.over(&mut base, &of.then[&merge.version].held);
            }
        }
        (kind, base)
    }
}

fn both(one: &Cells, other: &Cells) -> BTreeSet<String> {
    one.keys().chain(other.keys()).cloned().collect()
}

fn put(cells: &mut Cells, name: &str, content: Option<String>) {
    match content {
        Some(content) => drop(cells.insert(name.to_owned(), content)),
        None => drop(cells.remove(name)),
    }
}

/// Base, ours and theirs: the result, if only one side changed it.
fn one_side([base, ours, theirs]: [Option<&String>; 3]) -> Option<Option<String>> {
    if theirs == base || ours == theirs {
        Some(ours.cloned())
    } else if ours == base {
        Some(theirs.cloned())
    } else {
        None
    }
}

/// The result for a file, and whether a conflict is settled.
fn merge_file(sides: [Option<&String>; 3], strategy: FileStrategy) -> (Option<String>, Option<bool>) {
    if let Some(settled) = one_side(sides) {
        return (settled, None);
    }
    let [base, ours, theirs] = sides;
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let texts = ours
        .zip(theirs)
        .map(|(ours, theirs)| [base.map_or("", String::as_str).as_bytes(), ours.as_bytes(), theirs.as_bytes()]);
    let clean = texts.and_then(|[base, ours, theirs]| {
        let merged = threadkeep_merge::merge(base, ours, theirs, &Labels { ours: "", theirs: "" });
        merged.is_clean().then(|| text(merged.bytes))
    });
    match (strategy, clean) {
        (FileStrategy::ThreeWay | FileStrategy::Union, Some(clean)) => (Some(clean), None),
        (FileStrategy::ThreeWay | FileStrategy::Manual, _) => (ours.cloned(), Some(false)),
        (FileStrategy::Ours, _) => (ours.cloned(), Some(true)),
        (FileStrategy::Theirs, _) => (theirs.cloned(), Some(true)),
        (FileStrategy::Union, None) => match texts {
            Some([base, ours, theirs]) => (Some(text(threadkeep_merge::union(base, ours, theirs))), Some(true)),
            None => (ours.or(theirs).cloned(), Some(true)),
        },
    }
}

/// The result for a value, and whether a conflict is settled.
fn merge_value(
    sides: [Option<&String>; 3],
    strategy: StateStrategy,
    theirs_is_later: bool,
) -> (Option<String>, Option<bool>) {
    if let Some(settled) = one_side(sides) {
        return (settled, None);
    }
    let [_, ours, theirs] = sides;
    match strategy {
        StateStrategy::Human => (ours.cloned(), Some(false)),
        StateStrategy::Theirs => (theirs.cloned(), Some(true)),
        StateStrategy::Latest if theirs_is_later => (theirs.cloned(), Some(true)),
        StateStrategy::Latest | StateStrategy::Ours => (ours.cloned(), Some(true)),
    }
}
