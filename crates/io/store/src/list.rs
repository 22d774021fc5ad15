//! Lists of threads: the filters, and the threads that match them.
//!
//! [`ListFilter::matches`] decides, in every store. The indexed [`terms`](crate::terms) and the way to a page
//! ([`lanes`](crate::lanes)) only say where to look first.

use std::time::Duration;

use threadkeep_model::{Account, Lifecycle, Record, Thread, ThreadId, Timestamp, Value, Visibility};

/// Threads that a page may pass over and still be cheap.
const SKIPPED_CHEAPLY: usize = 1_000;

/// Threads up to which a total is exact, where they have to be looked at to count them.
pub const TOTAL_MAX: usize = 10_000;
/// The same where an index counts them.
pub const INDEX_TOTAL_MAX: usize = 200_000;

/// How long an expensive read may take.
pub const EXPENSIVE_MAX: Duration = Duration::from_secs(10);

/// A page of the threads of one account, the newest first.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// The account whose threads are listed.
    pub account: Account,
    /// The filter that threads must match.
    pub filter: ListFilter,
    /// The time by which threads are sorted.
    pub sort: ListSort,
    /// Only what comes after this place.
    pub after: Option<ListCursor>,
    /// So many are passed over.
    pub skip: usize,
    /// At most so many.
    pub limit: usize,
}

impl ListQuery {
    /// The threads of `account` that are not archived, the newest change first.
    pub fn of(account: Account, limit: usize) -> Self {
        let (filter, sort) = (ListFilter::default(), ListSort::default());
        Self { account, filter, sort, after: None, skip: 0, limit }
    }

    /// Whether its page may have to look at every thread of the account: it begins far from the start, or no index
    /// leads to its title or metadata. Counting all is expensive for any list.
    pub fn is_expensive(&self) -> bool {
        let filter = &self.filter;
        let has_no_term = |archived: &bool| {
            filter.word_needs(&self.account, *archived).is_empty() && filter.letters(&self.account, *archived).is_none()
        };
        let asks_words = filter.title.is_some() || filter.metadata.is_some();
        self.skip > SKIPPED_CHEAPLY || asks_words && filter.archived.flags().iter().any(has_no_term)
    }
}

/// The total of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Total {
    /// How many threads match, or fewer if that is not known exactly.
    pub count: u64,
    /// Whether exactly so many match. Otherwise there are more.
    pub is_exact: bool,
}

impl Total {
    /// The total of `query`, after at most one thread more than [`ListQuery::total_max`] was counted.
    pub fn of(counted: u64, query: &ListQuery) -> Self {
        let most = query.total_max() as u64;
        Self { count: counted.min(most), is_exact: counted <= most }
    }
}

/// The order of a list, the newest first. Threads of the same moment follow by their short ids, the highest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListSort {
    /// By the last change.
    #[default]
    Updated,
    /// By the time of creation.
    Created,
}

impl ListSort {
    /// What `thread` is sorted by.
    pub fn time(self, thread: &Thread) -> Timestamp {
        match self {
            Self::Updated => thread.head.updated,
            Self::Created => thread.created,
        }
    }

    /// The place of `thread` in a list.
    pub fn place(self, thread: &Thread) -> ListCursor {
        ListCursor { time: self.time(thread), thread: thread.id }
    }
}

/// A place in a list of threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListCursor {
    /// The time by which that thread is sorted.
    pub time: Timestamp,
    /// The thread there: the tie-break.
    pub thread: ThreadId,
}

impl ListCursor {
    /// The order of places; the greatest comes first in a list.
    pub fn order(&self) -> (Timestamp, u64) {
        (self.time, self.thread.short().bits())
    }
}

/// A filter for threads of an account. All given conditions must match.
#[derive(Debug, Clone, Default)]
pub struct ListFilter {
    /// Whether they are archived.
    pub archived: Archived,
    /// Threads of this agent.
    pub agent: Option<String>,
    /// Threads of this project.
    pub project: Option<String>,
    /// Threads in this state.
    pub lifecycle: Option<Lifecycle>,
    /// Threads with this visibility.
    pub visibility: Option<Visibility>,
    /// Spawned from this thread.
    pub parent: Option<ThreadId>,
    /// Subagents of this main thread.
    pub main: Option<ThreadId>,
    /// With this tag, in `metadata.tags` or in `env.initial.tags`.
    pub tag: Option<String>,
    /// With metadata that contain this; a thread without metadata has an empty object.
    pub metadata: Option<Value>,
    /// With this text in the title, in any case.
    pub title: Option<String>,
    /// Born in this range.
    pub created: TimeRange,
    /// Last changed in this range.
    pub updated: TimeRange,
}

/// Whether archived threads are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Only threads that are not archived.
    #[default]
    No,
    /// Lists only archived threads.
    Yes,
    /// Archived and other threads.
    Any,
}

impl Archived {
    /// The values of the flag that pass.
    pub fn flags(self) -> &'static [bool] {
        match self {
            Self::No => &[false],
            Self::Yes => &[true],
            Self::Any => &[false, true],
        }
    }
}

/// From a moment on, up to another one: the first is included, the last is not, so that ranges can follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeRange {
    /// At this moment or later.
    pub after: Option<Timestamp>,
    /// Earlier than this moment.
    pub before: Option<Timestamp>,
}

impl TimeRange {
    /// Whether a moment lies in it.
    pub fn contains(&self, time: Timestamp) -> bool {
        self.after.is_none_or(|after| time >= after) && self.before.is_none_or(|before| time < before)
    }

    /// Whether every moment lies in it.
    pub fn is_open(&self) -> bool {
        self.after.is_none() && self.before.is_none()
    }

    /// The first moment and the one after the last, in microseconds.
    pub fn micros(&self) -> (i64, i64) {
        let micros = |time: Option<Timestamp>, open| time.map_or(open, Timestamp::as_micros);
        (micros(self.after, i64::MIN), micros(self.before, i64::MAX))
    }

    /// The first and the last minute that hold a moment of it.
    pub fn minutes(&self) -> (i64, i64) {
        let last = self.before.map_or(i64::MAX, |before| before.plus_micros(-1).minute());
        (self.after.map_or(i64::MIN, Timestamp::minute), last)
    }
}

impl ListFilter {
    /// Whether a thread is one of those.
    pub fn matches(&self, thread: &Thread) -> bool {
        self.created.contains(thread.created)
            && self.updated.contains(thread.head.updated)
            && self.matches_record(&thread.record)
    }

    /// Whether the record of a thread is one of those. Its times may not be.
    pub fn matches_record(&self, record: &Record) -> bool {
        let Record { agent_id, project_id, main_thread_id, parent_id, .. } = record;
        fn asked<T: PartialEq>(asked: &Option<T>, is: &Option<T>) -> bool {
            asked.is_none() || asked == is
        }
        self.archived.flags().contains(&record.archived)
            && asked(&self.agent, agent_id)
            && asked(&self.project, project_id)
            && asked(&self.parent, parent_id)
            && asked(&self.main, main_thread_id)
            && self.lifecycle.is_none_or(|lifecycle| lifecycle == record.lifecycle)
            && self.visibility.is_none_or(|visibility| visibility == record.visibility)
            && self.title.as_deref().is_none_or(|text| has_text(record.title.as_deref(), text))
            && self.tag.as_ref().is_none_or(|tag| tags(record).contains(tag))
            && self.metadata.as_ref().is_none_or(|part| metadata(record).contains(part))
    }
}

/// A state as a number on disk.
pub fn lifecycle_code(lifecycle: Lifecycle) -> i16 {
    match lifecycle {
        Lifecycle::Active => 0,
        Lifecycle::Suspended => 1,
        Lifecycle::Completed => 2,
        Lifecycle::Cancelled => 3,
        Lifecycle::Archived => 4,
    }
}

/// Who may read a thread, as a number on disk.
pub fn visibility_code(visibility: Visibility) -> i16 {
    match visibility {
        Visibility::Private => 0,
        Visibility::Public => 1,
    }
}

/// The visibility of a number on disk.
pub fn visibility_of(code: i16) -> Option<Visibility> {
    [Visibility::Private, Visibility::Public].into_iter().find(|visibility| visibility_code(*visibility) == code)
}

/// Text as it is compared where case does not matter.
pub fn folded(text: &str) -> String {
    text.chars().flat_map(char::to_lowercase).collect()
}

fn has_text(title: Option<&str>, text: &str) -> bool {
    folded(title.unwrap_or_default()).contains(&folded(text))
}

fn metadata(record: &Record) -> Value {
    record.metadata.as_ref().map_or_else(|| Value::Object(Default::default()), Value::of)
}

/// The tags of a thread: the strings in `metadata.tags` and in `env.initial.tags`, each once.
pub fn tags(record: &Record) -> Vec<String> {
    // Most threads have none, and the word has to stand there as it is, or with an escape.
    let may_have = |json: &&threadkeep_model::Json| json.as_str().contains("\"tags\"") || json.as_str().contains('\\');
    let of = |value: &Value| value.get("tags").map(|tags| tags.strings().map(str::to_owned).collect::<Vec<_>>());
    let metadata = record.metadata.as_ref().filter(may_have).and_then(|json| of(&Value::of(json)));
    let env = record.env.as_ref().filter(may_have).and_then(|json| Value::of(json).get("initial").and_then(of));
    let mut tags: Vec<String> = metadata.into_iter().chain(env).flatten().collect();
    tags.sort_unstable();
    tags.dedup();
    tags
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Json;

    use super::*;

    #[test]
    fn tags_are_strings_in_either_place_and_each_counts_once() {
        let json = |text: &str| Some(Json::parse("json", text).expect("json"));
        let record = Record {
            metadata: json(r#"{"tags":["b","a",1,["c"]]}"#),
            env: json(r#"{"initial":{"tags":["a","d"]},"tags":["e"]}"#),
            ..Record::default()
        };
        assert_eq!(tags(&record), ["a", "b", "d"]);
        let escaped = Record { metadata: json(r#"{"t\u0061gs":["x"]}"#), ..Record::default() };
        assert_eq!(tags(&escaped), ["x"]);
        for none in [r#"{"tags":"a"}"#, r#"{"tags":{"a":1}}"#, "{}"] {
            assert!(tags(&Record { metadata: json(none), ..Record::default() }).is_empty(), "{none}");
        }
    }

    #[test]
    fn a_range_includes_its_first_moment_and_not_its_last() {
        let at = Timestamp::from_micros;
        let range = TimeRange { after: Some(at(60_000_000)), before: Some(at(120_000_000)) };
        for (micros, is_in) in [(59_999_999, false), (60_000_000, true), (119_999_999, true), (120_000_000, false)] {
            assert_eq!(range.contains(at(micros)), is_in, "{micros}");
        }
        assert_eq!(range.minutes(), (1, 1));
        assert_eq!(TimeRange::default().minutes(), (i64::MIN, i64::MAX));
    }

    #[test]
    fn text_in_a_title_is_found_whatever_its_case() {
        for (title, text, is_there) in [
            (Some("Release NOTES"), "notes", true),
            (Some("Straße ΟΔΟΣ"), "οδοσ", true),
            (Some("a"), "", true),
            (None, "a", false),
            (Some("100%_done"), "%_", true),
            (Some("100 done"), "%", false),
        ] {
            assert_eq!(has_text(title, text), is_there, "{title:?} {text}");
        }
    }
}
