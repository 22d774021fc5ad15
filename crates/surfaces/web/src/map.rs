//! The family of a thread as a map: lines on the left, one row for each thread on the right. The rows are a tree for screen
//! readers, and on a narrow screen they are the map alone.

use std::collections::{HashMap, HashSet};

use maud::{Markup, html};
use threadkeep_calls::{Family, Thread};
use threadkeep_model::{RelationKind, ThreadId, Timestamp};

use crate::head::{Section, head};
use crate::text::{brief, counted, grouped, time, title};

/// Height of a row, in pixels. The style sheet has the same number.
const ROW: usize = 44;
/// Width of a generation, in pixels.
const STEP: usize = 20;
/// How far before a child its line bends, in pixels.
const BEND: usize = 10;
/// Generations that get a column of their own.
const DEPTH_MAX: usize = 24;

/// How a thread hangs below another one. Siblings are grouped in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Hangs {
    Fork,
    Handoff,
    Spawn,
    Subagent,
    Mention,
    Reference,
}

impl Hangs {
    fn of(kind: RelationKind) -> Self {
        match kind {
            RelationKind::Fork => Self::Fork,
            RelationKind::Handoff => Self::Handoff,
            RelationKind::Spawn => Self::Spawn,
            RelationKind::Mention => Self::Mention,
            RelationKind::Reference => Self::Reference,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Handoff => "handoff",
            Self::Spawn => "spawn",
            Self::Subagent => "subagent",
            Self::Mention => "mention",
            Self::Reference => "reference",
        }
    }

    /// Whether the child came into being by it.
    fn is_birth(self) -> bool {
        match self {
            Self::Fork | Self::Handoff | Self::Spawn | Self::Subagent => true,
            Self::Mention | Self::Reference => false,
        }
    }
}

/// A row of the map.
#[derive(Debug, Clone)]
pub struct Row {
    /// The thread, by its place in the family.
    pub thread: usize,
    /// How many generations it is below the root.
    pub depth: usize,
    /// The row it hangs below, and how.
    parent: Option<(usize, Hangs, Option<u64>)>,
}

/// A thread that hangs below another one: how, since when, at which message, and its place in the family.
type Below = (Hangs, Option<u64>, Timestamp, usize);

/// The rows of a family: each thread once, below the one it came from; siblings in groups.
pub fn layout(family: &Family) -> Vec<Row> {
    let place: HashMap<ThreadId, usize> =
        family.threads.iter().enumerate().map(|(at, thread)| (thread.id, at)).collect();
    let mut below: HashMap<usize, Vec<Below>> = HashMap::new();
    let mut born = HashSet::new();
    let related = family.relations.iter().map(|relation| {
        (relation.parent_id, relation.child_id, Hangs::of(relation.kind), relation.message_index, relation.created_at)
    });
    let subagents = family.subagents.iter().map(|subagent| {
        (subagent.parent_id, subagent.child.reference, Hangs::Subagent, None, subagent.child.created_at)
    });
    for (parent, child, hangs, index, created) in related.chain(subagents) {
        if let (Some(parent), Some(child)) = (place.get(&parent), place.get(&child)) {
            if hangs.is_birth() {
                born.insert(*child);
            }
            below.entry(*parent).or_default().push((hangs, index, created, *child));
        }
    }
    below.values_mut().for_each(|children| children.sort_unstable());
    let (mut rows, mut drawn) = (Vec::new(), HashSet::new());
    // Roots first. Where relations form a ring, no thread is a root, and the rest begins anywhere.
    let roots = (0..family.threads.len()).filter(|at| !born.contains(at));
    for root in roots.chain(0..family.threads.len()) {
        let mut waiting = vec![(root, 0, None)];
        while let Some((thread, depth, parent)) = waiting.pop() {
            if !drawn.insert(thread) {
                continue;
            }
            let row = rows.len();
            rows.push(Row { thread, depth, parent });
            for (hangs, index, _, child) in below.get(&thread).into_iter().flatten().rev() {
                // A thread that was only mentioned here has its own place, if it was born elsewhere.
                if !drawn.contains(child) && (hangs.is_birth() || !born.contains(child)) {
                    waiting.push((*child, depth + 1, Some((row, *hangs, *index))));
                }
            }
        }
    }
    rows
}

fn x(depth: usize) -> usize {
    14 + depth.min(DEPTH_MAX) * STEP
}

fn y(row: usize) -> usize {
    row * ROW + ROW / 2
}

/// The screen of a thread's family.
pub fn map(thread: &Thread, family: &Family, may_write: bool) -> Markup {
    let rows = layout(family);
    let width = x(rows.iter().map(|row| row.depth).max().unwrap_or(0)) + 14;
    let row_of: HashMap<ThreadId, usize> =
        rows.iter().enumerate().map(|(at, row)| (family.threads[row.thread].id, at)).collect();
    let short = thread.short_id.to_string();
    html! {
        div.thread data-thread=(thread.id) data-short=(short) {
            (head(thread, Section::Map, may_write))
            p.facts { span { (counted(family.threads.len() as u64, "thread")) } span { (counted(family.merges.len() as u64, "merge")) }
                span.legend { @for kind in [Hangs::Fork, Hangs::Handoff, Hangs::Spawn, Hangs::Subagent, Hangs::Mention] { span data-kind=(kind.as_str()) { (kind.as_str()) } } } }
            div.warn.picked #picked role="status" hidden {}
            div.map #map data-live="" {
                svg width=(width) height=(rows.len() * ROW) viewBox=(format!("0 0 {width} {}", rows.len() * ROW)) aria-hidden="true" {
                    @for (at, row) in rows.iter().enumerate() {
                        @if let Some((parent, _, _)) = row.parent { path.edge d=(format!("M{} {}V{}", x(rows[parent].depth), y(parent), y(at).saturating_sub(BEND))) {} }
                    }
                    @for (at, row) in rows.iter().enumerate() {
                        @if let Some((parent, hangs, _)) = row.parent { path.edge data-kind=(hangs.as_str()) d=(branch(x(rows[parent].depth), x(row.depth), y(at))) {} }
                    }
                    @for (from, to, hangs) in crossing(family, &rows, &row_of) {
                        path.edge data-kind=(hangs.as_str()) d=(arc(x(rows[from].depth), y(from), x(rows[to].depth), y(to))) {}
                    }
                    @for merge in &family.merges {
                        @if let (Some(source), Some(target)) = (row_of.get(&merge.source_id), row_of.get(&merge.target_id)) {
                            path.edge data-kind="merge" d=(arc(x(rows[*source].depth), y(*source), x(rows[*target].depth), y(*target))) {}
                        }
                    }
                    @for (at, row) in rows.iter().enumerate() {
                        @let own = &family.threads[row.thread];
                        @let kind = row.parent.map_or("root", |(_, hangs, _)| hangs.as_str());
                        circle.node .own[own.id == thread.id] data-kind=(kind) cx=(x(row.depth)) cy=(y(at)) r=(if own.id == thread.id { 7 } else { 5 }) {}
                    }
                }
                ul.maptree role="tree" aria-label="Family" {
                    @for (at, row) in rows.iter().enumerate() {
                        @let own = &family.threads[row.thread];
                        li.(format!("d{}", row.depth.min(DEPTH_MAX))) role="treeitem" aria-level=(row.depth + 1) aria-current=[(own.id == thread.id).then_some("true")]
                            aria-selected=(own.id == thread.id) tabindex=(if at == 0 { "0" } else { "-1" }) data-short=(own.short_id) {
                            a.name href=(format!("/t/{}", own.short_id)) tabindex="-1" { bdi { (title(own.title.as_deref())) } }
                            span.small {
                                @if let Some((_, hangs, index)) = row.parent { (hangs.as_str()) @if let Some(index) = index { " at message " (index) } ", " }
                                (counted(own.message_count, "message")) ", " (if own.run.is_some() { "running" } else { own.lifecycle.as_str() })
                                @if let Some(agent) = &own.agent_id { ", " bdi { (brief(agent, 24)) } }
                                @for merge in family.merges.iter().filter(|merge| merge.target_id == own.id) { ", merged " (merge.source_id.short()) }
                            }
                            span.when { (time(own.updated)) }
                            button.quiet type="button" tabindex="-1" data-compare="" title="Compare with another thread (c)" aria-label=(format!("Compare {}", title(own.title.as_deref()))) { "⇄" }
                        }
                    }
                }
            }
            @if family.cut_off { p.small { "The family is larger than this page shows: " (grouped(family.threads.len() as u64)) " threads are drawn." } }
        }
    }
}

/// The last bit of a line: around the corner to a child.
fn branch(from_x: usize, to_x: usize, to_y: usize) -> String {
    let bend = to_y.saturating_sub(BEND);
    if from_x == to_x {
        format!("M{from_x} {bend}V{to_y}")
    } else {
        format!("M{from_x} {bend}Q{from_x} {to_y} {} {to_y}H{to_x}", from_x + BEND)
    }
}

/// The relations that no thread was born by and that no row hangs by: from which row to which, and how.
fn crossing(family: &Family, rows: &[Row], row_of: &HashMap<ThreadId, usize>) -> Vec<(usize, usize, Hangs)> {
    let relations = family.relations.iter().map(|relation| (relation, Hangs::of(relation.kind)));
    let crossing = relations.filter(|(_, hangs)| !hangs.is_birth()).filter_map(|(relation, hangs)| {
        let (from, to) = (*row_of.get(&relation.parent_id)?, *row_of.get(&relation.child_id)?);
        let is_drawn = rows[to].parent.is_some_and(|(parent, _, _)| parent == from);
        (!is_drawn).then_some((from, to, hangs))
    });
    crossing.collect()
}

/// A line beside the tree, from one row to another.
fn arc(from_x: usize, from_y: usize, to_x: usize, to_y: usize) -> String {
    let out = from_x.max(to_x) + 12;
    format!("M{from_x} {from_y}C{out} {from_y} {out} {to_y} {to_x} {to_y}")
}
