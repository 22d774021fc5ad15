//! Terms: features of a thread that a store indexes for lists by tag, metadata, title and week of birth.
//!
//! A term is a number made of the account, whether the thread is archived, and what it stands for. Two things may share
//! a number: terms only say which threads to look at, [`ListFilter::matches`] says which are meant. Each lies in a
//! *bucket* of a minute, by which a list is read in order, and within which it is sorted exactly. The terms of a thread
//! lie in the minute in which it was *filed*. A thread that changes does not take its terms along at once, and a new one
//! may have none yet ([`UNFILED`]): a store files threads when it suits it, and lists look at the others one by one.

use threadkeep_model::{Account, Record, Timestamp, Value, unforked};

use crate::list::{ListFilter, folded, tags};

/// Tags of one thread that are indexed. One that has more is looked at by every list by tag.
const TAGS_MAX: usize = 64;
/// Values in the metadata of one thread that are indexed. One that has more is looked at by every list by metadata.
const LEAVES_MAX: usize = 256;
/// Runs of three letters in one title that are indexed. A title that has more is looked at by every list by title.
const TRIGRAMS_MAX: usize = 256;
/// Terms of one thing that is asked: more would not narrow it down.
const ASKED_MAX: usize = 8;
const TRIGRAM: usize = 3;

/// The buckets in which a term lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bucket {
    /// The minute in which the thread was filed.
    Filed,
    /// The minute of the birth.
    Born,
}

impl Bucket {
    /// The last moment of a bucket.
    pub fn end(bucket: i64) -> Timestamp {
        Timestamp::from_micros(bucket.saturating_add(1).saturating_mul(60_000_000).saturating_sub(1))
    }
}

/// The minute under which a thread is filed whose terms are not written yet. No thread changes at this time.
pub const UNFILED: i64 = i64::MIN;

/// When the terms of a new thread are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filing {
    /// With the thread.
    Now,
    /// Once many threads wait for it.
    Later,
}

impl Filing {
    /// The minute under which a new thread is filed that last changed at `minute`.
    pub fn under(self, minute: i64) -> i64 {
        match self {
            Self::Now => minute,
            Self::Later => UNFILED,
        }
    }
}

const MINUTES_A_WEEK: i64 = 1_440 * 7;

/// The terms of one thread. Each is there once in its list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// In the bucket of the minute in which the thread was filed.
    pub filed: Vec<i32>,
    /// In the bucket of the minute of the birth.
    pub born: Vec<i32>,
    /// A bit for each of them but those of the birth.
    pub gist: Gist,
}

/// What terms say at a glance: a bit for each, where several share one. A thread whose gist lacks a bit does not have the
/// term, so that most threads need no look at their terms. A term of three letters has the bit of its first two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gist {
    /// The terms of a title.
    pub letters: i64,
    /// The terms of tags and metadata, which are fewer.
    pub marks: i64,
}

impl Gist {
    /// The bits of `terms`.
    fn bits<'a>(terms: impl IntoIterator<Item = &'a i32>) -> i64 {
        // The first bits of a term, which the last letter does not decide.
        terms.into_iter().fold(0, |bits, term| bits | 1 << (*term as u32 >> (u32::BITS - i64::BITS.ilog2())))
    }

    /// The gist of a thread of which nothing is known: any term may be there.
    pub const UNKNOWN: Self = Self { letters: -1, marks: -1 };

    /// Whether a thread with this gist may have what needs one of these bits.
    pub fn may_meet(&self, need: Self) -> bool {
        need == Self::default() || self.letters & need.letters != 0 || self.marks & need.marks != 0
    }

    /// Whether this gist has all bits of another.
    pub fn covers(&self, other: Self) -> bool {
        self.letters & other.letters == other.letters && self.marks & other.marks == other.marks
    }
}

/// The feature that a term stands for.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    Tag = 1,
    ManyTags = 2,
    BornTag = 3,
    BornManyTags = 4,
    Leaf = 5,
    ManyLeaves = 6,
    Trigram = 7,
    ManyTrigrams = 8,
    Week = 9,
    Forked = 10,
    ForkedUntitled = 11,
    ThirdLetter = 12,
}

/// The bits of a term of three letters that the last one decides. All terms that begin with the same two letters lie
/// between two numbers.
const THIRD: i32 = 0xfff;

/// Makes the terms of an account's threads that are archived, or of the others.
struct Maker<'a> {
    account: &'a Account,
    archived: bool,
}

impl Maker<'_> {
    /// FNV-1a, mixed once more and cut: quick, and the same on every machine for ever.
    fn term(&self, kind: Kind, value: &[u8]) -> i32 {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        let account = self.account.as_str().as_bytes();
        let length = (account.len() as u64).to_le_bytes();
        let parts = [&length[..], account, &[u8::from(self.archived), kind as u8], value];
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in parts.into_iter().flatten() {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (hash >> 32) as u32 as i32
    }

    fn week(&self, week: i64) -> i32 {
        self.term(Kind::Week, &week.to_le_bytes())
    }

    /// The terms of all `values`, or the one that stands for too many.
    fn all_or(&self, many: Kind, values: Vec<i32>, max: usize) -> Vec<i32> {
        if values.len() > max { vec![self.term(many, &[])] } else { values }
    }

    fn leaves(&self, value: &Value) -> Vec<i32> {
        let mut terms = Vec::new();
        value.leaves(&mut |leaf| terms.push(self.term(Kind::Leaf, leaf)));
        distinct(terms)
    }

    /// The terms of a title. The prefix of a fork title is one term of any length: a fork costs as much as its own
    /// title, and a fork without a title almost nothing.
    fn title(&self, title: &str) -> Vec<i32> {
        match unforked(title) {
            None => self.trigrams(title, true),
            Some("Untitled") => vec![self.term(Kind::ForkedUntitled, &[])],
            Some(own) => {
                let mut terms = self.trigrams(own, true);
                terms.push(self.term(Kind::Forked, &[]));
                terms
            }
        }
    }

    /// The terms of titles of forks in which `text` can stand although their own title does not hold it.
    fn of_forks(&self, text: &str) -> impl Iterator<Item = i32> {
        let text = folded(text);
        let begins_within = |before: &str| {
            (0..before.len()).any(|at| before[at..].starts_with(&text) || text.starts_with(&before[at..]))
        };
        let counted = text.starts_with(|first: char| first.is_ascii_digit() || first == ')');
        let forked = counted || begins_within("forked: ") || begins_within("forked(");
        let untitled = forked || "untitled".contains(&text);
        let terms = [(forked, Kind::Forked), (untitled, Kind::ForkedUntitled)];
        terms.into_iter().filter(|(can, _)| *can).map(|(_, kind)| self.term(kind, &[])).collect::<Vec<_>>().into_iter()
    }

    /// The terms that begin with two letters: from the first number to the last.
    fn beginning(&self, two: &str) -> (i32, i32) {
        let term = self.term(Kind::Trigram, two.as_bytes());
        (term & !THIRD, term | THIRD)
    }

    fn trigram(&self, two: &str, third: &str) -> i32 {
        self.beginning(two).0 | self.term(Kind::ThirdLetter, third.as_bytes()) & THIRD
    }

    /// The terms of all runs of three letters, and of the last two if `ends` with them.
    fn trigrams(&self, text: &str, ends: bool) -> Vec<i32> {
        let text = folded(text);
        let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let run = |run: &[usize]| self.trigram(&text[run[0]..run[2]], &text[run[2]..run[TRIGRAM]]);
        let mut terms: Vec<i32> = starts.windows(TRIGRAM + 1).map(run).collect();
        if let Some(last) = starts.len().checked_sub(TRIGRAM).filter(|_| ends) {
            terms.push(self.trigram(&text[starts[last]..], ""));
        }
        distinct(terms)
    }
}

fn distinct(mut terms: Vec<i32>) -> Vec<i32> {
    terms.sort_unstable();
    terms.dedup();
    terms
}

/// The week of a birth.
fn birthweek(created: Timestamp) -> i64 {
    created.minute().div_euclid(MINUTES_A_WEEK)
}

impl Terms {
    /// The terms of a thread with this record, born at `created`.
    pub fn of(account: &Account, created: Timestamp, record: &Record) -> Self {
        let maker = Maker { account, archived: record.archived };
        let tags = tags(record);
        let tagged = |kind: Kind, many: Kind| {
            let terms = tags.iter().map(|tag| maker.term(kind, tag.as_bytes())).collect();
            maker.all_or(many, distinct(terms), TAGS_MAX)
        };
        let leaves = record.metadata.as_ref().map_or_else(Vec::new, |json| maker.leaves(&Value::of(json)));
        let trigrams = record.title.as_deref().map_or_else(Vec::new, |title| maker.title(title));
        let has_many_marks = leaves.len() > LEAVES_MAX || tags.len() > TAGS_MAX;
        let has_many_letters = trigrams.len() > TRIGRAMS_MAX;
        let trigrams = maker.all_or(Kind::ManyTrigrams, trigrams, TRIGRAMS_MAX);
        let mut filed = maker.all_or(Kind::ManyLeaves, leaves, LEAVES_MAX);
        filed.extend(tagged(Kind::Tag, Kind::ManyTags));
        let gist = Gist {
            letters: if has_many_letters { Gist::UNKNOWN.letters } else { Gist::bits(&trigrams) },
            marks: if has_many_marks { Gist::UNKNOWN.marks } else { Gist::bits(&filed) },
        };
        filed.extend(trigrams);
        filed.push(maker.week(birthweek(created)));
        Self { filed: distinct(filed), born: tagged(Kind::BornTag, Kind::BornManyTags), gist }
    }

    /// All of them with their buckets, for a thread that was filed under a minute; those by change only if it was.
    pub fn rows(&self, created: Timestamp, filed: i64) -> impl Iterator<Item = (i32, i64)> {
        let by_change = self.filed.iter().filter(move |_| filed != UNFILED).map(move |term| (*term, filed));
        by_change.chain(self.born.iter().map(move |term| (*term, created.minute())))
    }
}

/// Something asked that a thread can only meet if it has one of these terms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The terms, of which a thread must have one.
    pub any_of: Vec<i32>,
    /// The time bucket of the terms.
    pub bucket: Bucket,
    /// Bits of which the gist of such a thread has one. Where there are none, a gist tells nothing.
    pub gist: Gist,
}

impl ListFilter {
    /// The terms for the asked tag, sorted by the last change or by the birth.
    pub(crate) fn tag_need(&self, account: &Account, archived: bool, bucket: Bucket) -> Option<Need> {
        let maker = Maker { account, archived };
        let (kind, many) = match bucket {
            Bucket::Filed => (Kind::Tag, Kind::ManyTags),
            Bucket::Born => (Kind::BornTag, Kind::BornManyTags),
        };
        let tag = self.tag.as_ref()?;
        let gist = Gist { letters: 0, marks: Gist::bits(&[maker.term(Kind::Tag, tag.as_bytes())]) };
        Some(Need { any_of: vec![maker.term(kind, tag.as_bytes()), maker.term(many, &[])], bucket, gist })
    }

    /// The terms that a thread must have for the asked metadata and title: all of these.
    pub(crate) fn word_needs(&self, account: &Account, archived: bool) -> Vec<Need> {
        let maker = Maker { account, archived };
        let leaves = self.metadata.as_ref().map_or_else(Vec::new, |value| maker.leaves(value));
        let trigrams = self.title.as_deref().map_or_else(Vec::new, |text| maker.trigrams(text, false));
        let many = maker.term(Kind::ManyLeaves, &[]);
        let marked = |leaf: i32| {
            let gist = Gist { letters: 0, marks: Gist::bits(&[leaf]) };
            Need { any_of: vec![leaf, many], bucket: Bucket::Filed, gist }
        };
        let titled = |trigram: i32| self.titled(&maker, vec![trigram], Gist::bits(&[trigram]));
        leaves.into_iter().take(ASKED_MAX).map(marked).chain(spread(trigrams).into_iter().map(titled)).collect()
    }

    /// The numbers between which all terms are that begin with the asked title, if that has two letters.
    pub(crate) fn letters(&self, account: &Account, archived: bool) -> Option<(i32, i32)> {
        let text = folded(self.title.as_deref()?);
        (text.chars().count() == TRIGRAM - 1).then(|| Maker { account, archived }.beginning(&text))
    }

    /// The terms that a thread must have for a title of two letters, with which `terms` begin.
    pub(crate) fn letters_need(&self, account: &Account, archived: bool, terms: Vec<i32>) -> Need {
        let maker = Maker { account, archived };
        // Not of `terms`: threads that are not filed yet may have others that begin with these letters.
        let two = self.letters(account, archived).map_or(0, |(first, _)| Gist::bits(&[first]));
        let need = self.titled(&maker, terms, two);
        Need { any_of: distinct(need.any_of), ..need }
    }

    /// The need for one of these terms of a title, whose bits are `letters`.
    fn titled(&self, maker: &Maker<'_>, mut terms: Vec<i32>, letters: i64) -> Need {
        let of_forks: Vec<i32> = self.title.iter().flat_map(|text| maker.of_forks(text)).collect();
        let gist = Gist { letters: letters | Gist::bits(&of_forks), marks: 0 };
        terms.push(maker.term(Kind::ManyTrigrams, &[]));
        terms.extend(of_forks);
        Need { any_of: terms, bucket: Bucket::Filed, gist }
    }

    /// The terms of births from `first` to `last`, week by week; none if there are more than `max` weeks.
    pub(crate) fn birth_need(
        &self,
        account: &Account,
        archived: bool,
        (first, last): (Timestamp, Timestamp),
        max: usize,
    ) -> Option<Need> {
        let maker = Maker { account, archived };
        let weeks = birthweek(first)..=birthweek(last);
        let few = usize::try_from(weeks.end().saturating_sub(*weeks.start())).is_ok_and(|weeks| weeks < max);
        few.then(|| Need {
            any_of: weeks.map(|week| maker.week(week)).collect(),
            bucket: Bucket::Filed,
            gist: Gist::default(),
        })
    }
}

/// Some of many terms, from all over them.
fn spread(terms: Vec<i32>) -> Vec<i32> {
    let step = terms.len().div_ceil(ASKED_MAX).max(1);
    terms.into_iter().step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use threadkeep_model::Json;

    use super::*;

    fn record(metadata: &str, title: &str) -> Record {
        let metadata = Some(Json::parse("metadata", metadata).expect("json"));
        Record { metadata, title: Some(title.into()), ..Record::default() }
    }

    fn filter(metadata: &str, title: &str) -> ListFilter {
        let metadata = Some(Value::of(&Json::parse("metadata", metadata).expect("json")));
        ListFilter { metadata, title: Some(title.into()), ..ListFilter::default() }
    }

    #[test]
    fn a_thread_that_is_meant_has_every_term_that_is_needed() {
        let many: String = (0..300).map(|n| format!(r#""k{n}":{n},"#)).collect();
        let many = format!(r#"{{{many}"a":{{"b":[1]}}}}"#);
        let long: String = (0..400).map(|n| format!("{n} ")).collect();
        for (metadata, title) in
            [(r#"{"a":{"b":[2,1]},"c":null}"#, "Some RELEASE notes"), (many.as_str(), "release"), ("{}", long.as_str())]
        {
            let terms = Terms::of(&Account::local(), Timestamp::from_micros(0), &record(metadata, title));
            let filter = filter(if metadata == "{}" { "{}" } else { r#"{"a":{"b":[1.0]}}"# }, &title[..4]);
            for need in filter.word_needs(&Account::local(), false) {
                assert!(need.any_of.iter().any(|term| terms.filed.contains(term)), "{title}");
                assert!(terms.gist.may_meet(need.gist), "{title}");
            }
            assert!(terms.filed.len() < LEAVES_MAX + TRIGRAMS_MAX);
        }
    }

    #[test]
    fn whatever_stands_in_the_title_of_a_fork_is_found() {
        let titles =
            ["Forked: Untitled", "Forked(12): Untitled", "Forked: Release notes", "Forked(2): (3): x", "forked: y"];
        for title in titles {
            let terms = Terms::of(&Account::local(), Timestamp::from_micros(0), &record("{}", title));
            let starts: Vec<usize> = title.char_indices().map(|(at, _)| at).collect();
            for start in &starts {
                for end in starts.iter().map(|at| at + 1).filter(|end| end > start) {
                    let text = &title[*start..end];
                    for need in filter("{}", &text.to_uppercase()).word_needs(&Account::local(), false) {
                        assert!(need.any_of.iter().any(|term| terms.filed.contains(term)), "{text:?} in {title:?}");
                        assert!(terms.gist.may_meet(need.gist), "{text:?} in {title:?}");
                    }
                }
            }
        }
        let untitled = Terms::of(&Account::local(), Timestamp::from_micros(0), &record("{}", "Forked: Untitled"));
        assert_eq!(untitled.filed.len(), 2, "one for the title, one for its birth");
    }

    #[test]
    fn terms_tell_accounts_and_archived_threads_apart() {
        let of = |account: &str, archived| {
            let record = Record { archived, ..record(r#"{"tags":["a"]}"#, "release") };
            Terms::of(&Account::new(account).expect("an account"), Timestamp::from_micros(0), &record)
        };
        let all = [of("a", false), of("a", true), of("b", false)];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert!(one.filed.iter().all(|term| !other.filed.contains(term)));
                assert!(one.born != other.born);
            }
        }
    }

    /// These numbers are on disk.
    #[test]
    fn terms_stay_the_same() {
        let terms = Terms::of(&Account::local(), Timestamp::from_micros(0), &record(r#"{"tags":["a"]}"#, "abc"));
        let filed = vec![-2015588268, -340355975, -258327116, 472564141, 1337876842];
        assert_eq!((terms.born, terms.filed), (vec![1203452584], filed));
    }

    #[test]
    fn a_gist_passes_over_most_titles_and_tags_and_over_none_of_a_thread_with_too_many() {
        let words = ["alpha", "kiln", "quartz", "brook", "violet", "hinge", "topaz", "ember", "plume", "rivet"];
        let gist = |metadata: &str, title: &str| {
            Terms::of(&Account::local(), Timestamp::from_micros(0), &record(metadata, title)).gist
        };
        let meet = |metadata: &str, title: &str, gist: Gist| {
            let filter = filter(metadata, title);
            filter.word_needs(&Account::local(), false).iter().all(|need| gist.may_meet(need.gist))
        };
        let met = words.iter().flat_map(|title| words.iter().map(|text| meet("{}", text, gist("{}", title))));
        assert_eq!(met.filter(|met| *met).count(), words.len());
        let tags = words.map(|word| format!(r#"{{"tags":["{word}"]}}"#));
        let met = tags.iter().flat_map(|has| tags.iter().map(|asked| meet(asked, "", gist(has, ""))));
        assert!((10..15).contains(&met.filter(|met| *met).count()));
        let many: String = (0..300).map(|n| format!(r#""k{n}":{n},"#)).collect();
        let long: String = (0..400).map(|n| format!("{n} ")).collect();
        assert_eq!(gist(&format!(r#"{{{many}"a":1}}"#), &long), Gist::UNKNOWN);
    }

    #[test]
    fn two_letters_lead_to_every_title_that_has_them() {
        for (title, two) in [("a fuqz", "QZ"), ("qzar", "qz"), ("QZ", "qz"), ("Straße", "ße"), ("Forked: uqz", "qz")]
        {
            let terms = Terms::of(&Account::local(), Timestamp::from_micros(0), &record("{}", title));
            let letters = filter("{}", two).letters(&Account::local(), false).expect("two letters");
            let between: Vec<i32> =
                terms.filed.iter().copied().filter(|term| (letters.0..=letters.1).contains(term)).collect();
            assert_eq!(between.len(), 1, "{two} in {title}");
            let need = filter("{}", two).letters_need(&Account::local(), false, between.clone());
            assert!(need.any_of.contains(&between[0]));
            let unfiled = filter("{}", two).letters_need(&Account::local(), false, Vec::new());
            assert!(terms.gist.may_meet(need.gist) && terms.gist.may_meet(unfiled.gist), "{two} in {title}");
        }
        for other in ["q", "qza", ""] {
            assert_eq!(filter("{}", other).letters(&Account::local(), false), None, "{other}");
        }
    }
}
