//! `tree`: the family of a thread, drawn.

use std::collections::{HashMap, HashSet};

use clap::Args;
use threadkeep::model::{Child, RelationKind};
use threadkeep::{ThreadId, Timestamp};
use threadkeep_calls::{Family, GetFamily, Relation, Thread};

use crate::context::Context;
use crate::failure::Failure;
use crate::text::{brief, counted};
use crate::thread;

/// Generations that are drawn by indentation; below, the line says how deep it is.
const DRAWN_DEPTH_MAX: usize = 30;
/// Characters of a title.
const TITLE_SHOWN_MAX: usize = 60;

/// Draw the family of a thread: forks, handoffs, spawned threads, subagents and mentions; * marks the thread
#[derive(Debug, Args)]
pub(crate) struct Tree {
    /// The thread: its id, the beginning of it, its title, or @last
    thread: String,
    /// Draw only threads that are at most so many relations away
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// Follow only so many relatives of each thread
    #[arg(long, value_name = "N")]
    breadth: Option<usize>,
    /// Number of threads in a page [default: 200]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// The cursor that the page before gave
    #[arg(long)]
    cursor: Option<String>,
}

impl Tree {
    pub(crate) async fn run(self, context: &mut Context) -> Result<(), Failure> {
        let thread = context.thread(&self.thread).await?;
        let Self { depth, breadth, limit, cursor, .. } = self;
        let family = context.client.call(thread.id, GetFamily { depth, breadth, limit, cursor }).await?;
        if context.json {
            return context.out.json(&family);
        }
        for line in draw(&family, thread.id) {
            context.out.line(line)?;
        }
        context.out.flush()?;
        match &family.next_cursor {
            Some(cursor) => context.note(format!("there are more threads: go on with --cursor {cursor}")),
            None if family.cut_off => context.note("there are more threads than are drawn"),
            None => {}
        }
        Ok(())
    }
}

/// The family of `thread`, drawn.
pub(crate) async fn drawn(context: &Context, thread: ThreadId) -> Result<Vec<String>, Failure> {
    Ok(draw(&context.client.call(thread, GetFamily::default()).await?, thread))
}

/// A thread that waits to be drawn.
struct Waiting<'a> {
    thread: &'a Thread,
    /// The indent of its descendants, for the generations that are drawn.
    indent: String,
    depth: usize,
    is_last: bool,
    label: String,
    /// Whether it is only named here; it has its own place elsewhere.
    named_only: bool,
}

/// How a thread hangs under another one. Siblings are grouped in this order, then by the message.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Hangs {
    group: u8,
    index: Option<u64>,
    created: Timestamp,
    child: ThreadId,
    label: String,
}

impl Hangs {
    const SPAWN: u8 = 2;
    const SUBAGENT: u8 = 3;
    const MENTION: u8 = 4;
    const REFERENCE: u8 = 5;

    fn related(relation: &Relation) -> Self {
        let group = match relation.kind {
            RelationKind::Fork => 0,
            RelationKind::Handoff => 1,
            RelationKind::Spawn => Self::SPAWN,
            RelationKind::Mention => Self::MENTION,
            RelationKind::Reference => Self::REFERENCE,
        };
        let at = relation.message_index.map(|index| format!(" after message {index}")).unwrap_or_default();
        let label = format!("{}{at}: ", relation.kind.as_str());
        Self { group, index: relation.message_index, created: relation.created_at, child: relation.child_id, label }
    }

    fn subagent(child: &Child) -> Self {
        let (name, status) = (brief(&child.name, TITLE_SHOWN_MAX), brief(&child.status, TITLE_SHOWN_MAX));
        let label = format!("subagent {name}, {status}: ");
        Self { group: Self::SUBAGENT, index: None, created: child.created_at, child: child.reference, label }
    }
}

fn draw(family: &Family, marked: ThreadId) -> Vec<String> {
    let threads: HashMap<ThreadId, &Thread> = family.threads.iter().map(|thread| (thread.id, thread)).collect();
    let mut below: HashMap<ThreadId, Vec<Hangs>> = HashMap::new();
    let mut has_parent = HashSet::new();
    let related = family.relations.iter().map(|relation| (relation.parent_id, Hangs::related(relation)));
    let subagents = family.subagents.iter().map(|subagent| (subagent.parent_id, Hangs::subagent(&subagent.child)));
    for (parent, hangs) in related.chain(subagents) {
        if hangs.group < Hangs::MENTION {
            has_parent.insert(hangs.child);
        }
        below.entry(parent).or_default().push(hangs);
    }
    let more = family.more.iter().map(|more| (more.thread_id, more.count)).collect();
    let mut drawn = HashSet::new();
    let mut lines = Vec::new();
    // Roots first. Where relations form a ring there is no root, so the remaining threads begin.
    let (roots, others): (Vec<&Thread>, Vec<&Thread>) =
        family.threads.iter().partition(|thread| !has_parent.contains(&thread.id));
    for root in roots.into_iter().chain(others) {
        if !drawn.contains(&root.id) {
            draw_below(root, &Known { threads: &threads, more: &more, marked }, &mut below, &mut drawn, &mut lines);
        }
    }
    lines
}

/// What lines say of threads.
struct Known<'a, 'b> {
    threads: &'b HashMap<ThreadId, &'a Thread>,
    /// How many relatives of a thread are not drawn.
    more: &'b HashMap<ThreadId, u64>,
    marked: ThreadId,
}

fn draw_below<'a>(
    root: &'a Thread,
    known: &Known<'a, '_>,
    below: &mut HashMap<ThreadId, Vec<Hangs>>,
    drawn: &mut HashSet<ThreadId>,
    lines: &mut Vec<String>,
) {
    let (indent, label) = (String::new(), String::new());
    let mut waiting = vec![Waiting { thread: root, indent, depth: 0, is_last: true, label, named_only: false }];
    while let Some(Waiting { thread, indent, depth, is_last, label, named_only }) = waiting.pop() {
        let again = named_only || !drawn.insert(thread.id);
        let branch = match depth {
            0 => String::new(),
            1..=DRAWN_DEPTH_MAX => format!("{indent}{}", if is_last { "└─ " } else { "├─ " }),
            _ => format!("{indent}…{depth} "),
        };
        let more = known.more.get(&thread.id).filter(|_| !again).map(|more| format!(" (+{more} not drawn)"));
        let line = in_a_line(thread, known.marked, again && !named_only);
        lines.push(format!("{branch}{label}{line}{}", more.unwrap_or_default()));
        if again {
            continue;
        }
        let indent = match depth {
            0 => String::new(),
            1..DRAWN_DEPTH_MAX => format!("{indent}{}", if is_last { "   " } else { "│  " }),
            _ => indent,
        };
        let mut siblings = below.remove(&thread.id).unwrap_or_default();
        siblings.sort();
        for (at, hangs) in siblings.iter().enumerate().rev() {
            if let Some(thread) = known.threads.get(&hangs.child) {
                let (indent, label) = (indent.clone(), hangs.label.clone());
                let (is_last, named_only) = (at + 1 == siblings.len(), hangs.group >= Hangs::MENTION);
                waiting.push(Waiting { thread, indent, depth: depth + 1, is_last, label, named_only });
            }
        }
    }
}

/// A thread; `again` if it was drawn before, with its descendants.
fn in_a_line(thread: &Thread, marked: ThreadId, again: bool) -> String {
    let mark = if thread.id == marked { " *" } else { "" };
    let messages = counted(thread.message_count, "message", "messages");
    let again = if again { " (see above)" } else { "" };
    let title = brief(thread::title(thread), TITLE_SHOWN_MAX);
    format!("{}  {title}  ({messages}){mark}{again}", thread.id.short())
}

#[cfg(test)]
mod tests {
    use threadkeep::model::{Head, SegmentId, Tally};
    use threadkeep::{Account, Position, Record};
    use threadkeep_calls::{FamilySubagent, MoreRelatives};

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
        let account = Account::local();
        Thread::from(&threadkeep::Thread { id, account, created: Timestamp::default(), head, record })
    }

    fn family(threads: u128, forks: &[(u128, u128)]) -> Family {
        let relation = |(parent, child): &(u128, u128)| Relation {
            parent_id: ThreadId::from_bits(*parent),
            child_id: ThreadId::from_bits(*child),
            kind: RelationKind::Fork,
            message_index: Some(2),
            created_at: Timestamp::default(),
            comment: None,
        };
        let threads = (1..=threads).map(thread).collect();
        let relations = forks.iter().map(relation).collect();
        Family {
            thread_id: ThreadId::from_bits(1),
            threads,
            relations,
            subagents: Vec::new(),
            merges: Vec::new(),
            cut_off: false,
            more: Vec::new(),
            next_cursor: None,
        }
    }

    #[test]
    fn a_line_says_how_many_relatives_are_not_drawn() {
        let mut family = family(2, &[(1, 2)]);
        family.more = vec![MoreRelatives { thread_id: ThreadId::from_bits(1), count: 4_801 }];
        let drawn = draw(&family, ThreadId::from_bits(2));
        assert_eq!(drawn[0], "000000000001  t1  (1 message) (+4801 not drawn)");
        assert_eq!(drawn[1], "└─ fork after message 2: 000000000002  t2  (2 messages) *");
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
    fn siblings_are_grouped_by_how_they_hang_and_then_by_the_message() {
        let mut family = family(6, &[(1, 2), (1, 3), (1, 4), (2, 6), (5, 6)]);
        family.relations[0].kind = RelationKind::Mention;
        family.relations[1].kind = RelationKind::Handoff;
        family.relations[2].message_index = Some(0);
        family.relations[4].kind = RelationKind::Mention;
        family.subagents.push(FamilySubagent {
            parent_id: ThreadId::from_bits(1),
            child: Child {
                reference: ThreadId::from_bits(5),
                name: "critic".into(),
                title: None,
                description: String::new(),
                resumable: None,
                blocking: None,
                thread_name: None,
                spawn_group_id: None,
                created_at: Timestamp::default(),
                status: "running".into(),
                parent_communication: None,
            },
        });
        let drawn = draw(&family, ThreadId::from_bits(5)).join("\n");
        assert_eq!(
            drawn,
            "\
000000000001  t1  (1 message)
├─ fork after message 0: 000000000004  t4  (4 messages)
├─ handoff after message 2: 000000000003  t3  (3 messages)
├─ subagent critic, running: 000000000005  t5  (5 messages) *
│  └─ mention after message 2: 000000000006  t6  (6 messages)
└─ mention after message 2: 000000000002  t2  (2 messages)
000000000002  t2  (2 messages)
└─ fork after message 2: 000000000006  t6  (6 messages)"
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
