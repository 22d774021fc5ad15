//! `tree`: the family of a thread, drawn.

use std::collections::{HashMap, HashSet};

use clap::Args;
use threadkeep::{Family, Thread, ThreadId};
use threadkeep_api as api;

use crate::context::Context;
use crate::failure::Failure;
use crate::text::{brief, counted};
use crate::thread;

/// Generations that are drawn by indentation; below, the line says how deep it is.
const DRAWN_DEPTH_MAX: usize = 30;
/// Characters of a title.
const TITLE_SHOWN_MAX: usize = 60;

/// Draw the whole family of a thread: where it came from, and what was forked from it
#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The thread: its id, its short id, or the beginning of either
    thread: String,
}

impl Tree {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let family = context.engine.family(thread.id).await?;
        if context.json {
            return context.out.json(&api::Family::of(thread.id, &family));
        }
        for line in draw(&family, thread.id) {
            context.out.line(line)?;
        }
        if family.cut_off {
            context.note("there are more threads than are drawn");
        }
        Ok(())
    }
}

/// A thread that waits to be drawn.
struct Waiting<'a> {
    thread: &'a Thread,
    /// What its descendants are indented by, for the generations that are drawn.
    indent: String,
    depth: usize,
    is_last: bool,
    label: String,
}

fn draw(family: &Family, marked: ThreadId) -> Vec<String> {
    let threads: HashMap<ThreadId, &Thread> = family.threads.iter().map(|thread| (thread.id, thread)).collect();
    let mut children: HashMap<ThreadId, Vec<(ThreadId, String)>> = HashMap::new();
    let mut has_parent = HashSet::new();
    for relation in &family.relations {
        let at = relation.index.map(|index| format!(" after message {index}")).unwrap_or_default();
        let label = format!("{}{at}: ", relation.kind.as_str());
        children.entry(relation.parent).or_default().push((relation.child, label));
        has_parent.insert(relation.child);
    }
    // Where relations form a ring nobody is first; then the thread that was asked for is.
    let roots: Vec<&Thread> = family.threads.iter().filter(|thread| !has_parent.contains(&thread.id)).collect();
    let roots = if roots.is_empty() { family.threads.first().into_iter().collect() } else { roots };
    let root = |thread| Waiting { thread, indent: String::new(), depth: 0, is_last: true, label: String::new() };
    let mut waiting: Vec<Waiting<'_>> = roots.into_iter().rev().map(root).collect();
    let mut drawn = HashSet::new();
    let mut lines = Vec::new();
    while let Some(Waiting { thread, indent, depth, is_last, label }) = waiting.pop() {
        let again = !drawn.insert(thread.id);
        let branch = match depth {
            0 => String::new(),
            1..=DRAWN_DEPTH_MAX => format!("{indent}{}", if is_last { "└─ " } else { "├─ " }),
            _ => format!("{indent}…{depth} "),
        };
        lines.push(format!("{branch}{label}{}", in_a_line(thread, marked, again)));
        if again {
            continue;
        }
        let indent = match depth {
            0 => String::new(),
            1..DRAWN_DEPTH_MAX => format!("{indent}{}", if is_last { "   " } else { "│  " }),
            _ => indent,
        };
        let below = children.remove(&thread.id).unwrap_or_default();
        for (at, (child, label)) in below.iter().enumerate().rev() {
            if let Some(thread) = threads.get(child) {
                let (indent, label) = (indent.clone(), label.clone());
                waiting.push(Waiting { thread, indent, depth: depth + 1, is_last: at + 1 == below.len(), label });
            }
        }
    }
    lines
}

fn in_a_line(thread: &Thread, marked: ThreadId, again: bool) -> String {
    let mark = if thread.id == marked { " *" } else { "" };
    let messages = counted(thread.head.tally.messages(), "message", "messages");
    let again = if again { " (see above)" } else { "" };
    let title = brief(thread::title(thread), TITLE_SHOWN_MAX);
    format!("{}  {title}  ({messages}){mark}{again}", thread.id.short())
}

#[cfg(test)]
mod tests {
    use threadkeep::model::{Head, Relation, RelationKind, SegmentId, Tally};
    use threadkeep::{Account, MessageId, Position, Record, Timestamp};

    use super::*;

    fn thread(number: u128) -> Thread {
        let head = Head {
            version: Position(0),
            segment: SegmentId::from_bits(1),
            era: 0,
            fence: 0,
            updated: Timestamp::default(),
            tally: Tally { ordinals: number as u64, ..Tally::default() },
        };
        let record = Record { title: Some(format!("t{number}")), ..Record::default() };
        let id = ThreadId::from_bits(number);
        Thread { id, account: Account::local(), created: Timestamp::default(), head, record }
    }

    fn family(threads: u128, forks: &[(u128, u128)]) -> Family {
        let relation = |(parent, child): &(u128, u128)| Relation {
            parent: ThreadId::from_bits(*parent),
            child: ThreadId::from_bits(*child),
            kind: RelationKind::Fork,
            made: MessageId { segment: SegmentId::from_bits(1), position: Position(1) },
            index: Some(2),
            anchor: None,
            created: Timestamp::default(),
            comment: None,
        };
        let threads = (1..=threads).map(thread).collect();
        Family { threads, relations: forks.iter().map(relation).collect(), cut_off: false }
    }

    #[test]
    fn a_family_is_drawn_as_a_tree() {
        let drawn = draw(&family(5, &[(1, 2), (1, 5), (2, 3), (2, 4)]), ThreadId::from_bits(3)).join("\n");
        assert_eq!(
            drawn,
            "\
000000000001  t1  (1 message)
├─ fork after message 2: 000000000002  t2  (2 messages)
│  ├─ fork after message 2: 000000000003  t3  (3 messages) *
│  └─ fork after message 2: 000000000004  t4  (4 messages)
└─ fork after message 2: 000000000005  t5  (5 messages)"
        );
    }

    #[test]
    fn a_ring_is_drawn_once_and_a_deep_chain_stays_narrow() {
        let ring = draw(&family(2, &[(1, 2), (2, 1)]), ThreadId::from_bits(1));
        assert_eq!(ring.len(), 3);
        assert!(ring[2].ends_with("(see above)"), "{ring:?}");
        let forks: Vec<_> = (1..2_000).map(|number| (number, number + 1)).collect();
        let chain = draw(&family(2_000, &forks), ThreadId::from_bits(1));
        assert_eq!(chain.len(), 2_000);
        assert!(chain.iter().all(|line| line.chars().count() < 200));
    }
}
