//! Rows that follow from entries and have tables of their own: changes, relations, checkpoints, items, aliases, cells.

use std::collections::BTreeMap;

use deadpool_postgres::Object;
use threadkeep_model::{Derived, ItemIs, ItemKind, MessageId, QueuedId, Timestamp};
use threadkeep_store::Result;
use threadkeep_store::sum::{sealed_cell, sealed_comment};

use crate::codec::{key, segment_key};
use crate::statement::{Place, Statement, run};

/// Rows that follow from entries and have tables of their own.
#[derive(Default)]
pub(crate) struct DerivedRows {
    changes: Changes,
    relations: Relations,
    checkpoints: BTreeMap<(i64, String), (i64, i64, i64)>,
    /// Items in the order in which they came and went: a key may do both.
    items: Vec<Item>,
    aliases: [Vec<i64>; 4],
    cells: Cells,
}

/// An item that is there from now on, or gone.
struct Item {
    thread: i64,
    /// The kinds under which it may be.
    kinds: Vec<i16>,
    key: String,
    place: [i64; 2],
    is: ItemIs,
    made: i64,
    due: Option<i64>,
}

#[derive(Default)]
struct Cells {
    segment: Vec<i64>,
    space: Vec<i16>,
    name: Vec<String>,
    position: Vec<i64>,
    time: Vec<i64>,
    cell: Vec<Option<String>>,
}

#[derive(Default)]
struct Changes {
    segment: Vec<i64>,
    root: Vec<i64>,
    position: Vec<i64>,
    target: Vec<i64>,
    op: Vec<i16>,
}

#[derive(Default)]
struct Relations {
    parent: Vec<i64>,
    segment: Vec<i64>,
    position: Vec<i64>,
    child: Vec<i64>,
    kind: Vec<i16>,
    at: Vec<Option<i64>>,
    anchor: Vec<Option<i64>>,
    created: Vec<i64>,
    comment: Vec<Option<String>>,
}

impl DerivedRows {
    /// Adds the rows that follow from an entry. `order` sorts checkpoints.
    pub(crate) fn push(&mut self, place: &Place, time: Timestamp, derived: &Derived, order: i64) {
        match derived {
            Derived::Nothing | Derived::Message { .. } | Derived::State => {}
            Derived::Change(change) => {
                for target in &change.targets {
                    self.changes.segment.push(segment_key(place.segment));
                    self.changes.root.push(change.root as i64);
                    self.changes.position.push(place.position.0 as i64);
                    self.changes.target.push(target.0 as i64);
                    self.changes.op.push(i16::from(change.op.code()));
                }
            }
            Derived::Relation { child, kind, index, anchor, comment } => {
                let rows = &mut self.relations;
                rows.parent.push(key(place.thread));
                rows.segment.push(segment_key(place.segment));
                rows.position.push(place.position.0 as i64);
                rows.child.push(key(*child));
                rows.kind.push(i16::from(kind.code()));
                rows.at.push(index.map(|index| index as i64));
                rows.anchor.push(anchor.map(|anchor| anchor.0 as i64));
                rows.created.push(time.as_micros());
                rows.comment.push(sealed_comment(comment.as_deref(), place.segment, place.position));
            }
            Derived::Checkpoint { name, version } => {
                let row = (version.0 as i64, time.as_micros(), order);
                self.checkpoints.insert((key(place.thread), name.clone()), row);
            }
            Derived::Cells { space, cells, .. } => {
                for cell in cells {
                    let rows = &mut self.cells;
                    rows.segment.push(segment_key(place.segment));
                    rows.space.push(i16::from(space.code()));
                    rows.name.push(cell.name.clone());
                    rows.position.push(place.position.0 as i64);
                    rows.time.push(time.as_micros());
                    rows.cell.push(sealed_cell(&cell.is, place.segment, place.position, &cell.name));
                }
            }
            Derived::Item { kind, key, is: ItemIs::InsteadOf(before), due } => {
                self.push_item(place, &[*before], key.clone(), ItemIs::Gone, (time, None));
                self.push_item(place, &[*kind], key.clone(), ItemIs::There, (time, *due));
            }
            Derived::Item { kind, key, is, due } => {
                self.push_item(place, &[*kind], key.clone(), *is, (time, *due));
            }
            Derived::Delivered { item, .. } => {
                let QueuedId(queued) = item;
                let columns = [
                    segment_key(queued.segment),
                    queued.position.0 as i64,
                    segment_key(place.segment),
                    place.position.0 as i64,
                ];
                for (column, value) in self.aliases.iter_mut().zip(columns) {
                    column.push(value);
                }
                let kinds = [ItemKind::Queued, ItemKind::QueuedSilently];
                self.push_item(place, &kinds, Some(item.to_string()), ItemIs::Gone, (time, None));
            }
        }
    }

    fn push_item(
        &mut self,
        place: &Place,
        kinds: &[ItemKind],
        name: Option<String>,
        is: ItemIs,
        (made, due): (Timestamp, Option<Timestamp>),
    ) {
        let own = MessageId { segment: place.segment, position: place.position };
        self.items.push(Item {
            thread: key(place.thread),
            kinds: kinds.iter().map(|kind| i16::from(kind.code())).collect(),
            key: name.unwrap_or_else(|| QueuedId(own).to_string()),
            place: [segment_key(place.segment), place.position.0 as i64],
            is,
            made: made.as_micros(),
            due: due.map(Timestamp::as_micros),
        });
    }

    /// The statements that write them. `order` says how a checkpoint's place in the feed follows from its number.
    pub(crate) fn statements<'a>(&'a self, order: &str, checkpoints: &'a Checkpoints) -> Vec<Statement<'a>> {
        let mut statements = Vec::new();
        if !self.changes.segment.is_empty() {
            let Changes { segment, root, position, target, op } = &self.changes;
            statements.push(Statement::new(
                "INSERT INTO changes SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
                 $5::smallint[])",
                vec![segment, root, position, target, op],
            ));
        }
        if !self.relations.parent.is_empty() {
            let rows = &self.relations;
            statements.push(Statement::new(
                "INSERT INTO relations SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
                 $5::smallint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::text[])
                 ON CONFLICT DO NOTHING",
                vec![
                    &rows.parent,
                    &rows.segment,
                    &rows.position,
                    &rows.child,
                    &rows.kind,
                    &rows.at,
                    &rows.anchor,
                    &rows.created,
                    &rows.comment,
                ],
            ));
        }
        for item in &self.items {
            statements.push(match item.is {
                ItemIs::There | ItemIs::InsteadOf(_) => Statement::new(
                    "INSERT INTO items VALUES ($1, $2, $3, $4, $5, $4, $5, $6, $7) ON CONFLICT (thread, kind, key)
                     DO UPDATE SET segment = excluded.segment, position = excluded.position, due = excluded.due",
                    vec![
                        &item.thread,
                        &item.kinds[0],
                        &item.key,
                        &item.place[0],
                        &item.place[1],
                        &item.made,
                        &item.due,
                    ],
                ),
                ItemIs::Gone => Statement::new(
                    "DELETE FROM items WHERE thread = $1 AND kind = ANY($2::smallint[]) AND key = $3",
                    vec![&item.thread, &item.kinds, &item.key],
                ),
            });
        }
        if !self.cells.segment.is_empty() {
            let Cells { segment, space, name, position, time, cell } = &self.cells;
            statements.push(Statement::new(
                "INSERT INTO cells SELECT * FROM unnest($1::bigint[], $2::smallint[], $3::text[], $4::bigint[], $5::bigint[],
                 $6::text[])",
                vec![segment, space, name, position, time, cell],
            ));
        }
        let [from_segment, from_position, to_segment, to_position] = &self.aliases;
        if !from_segment.is_empty() {
            statements.push(Statement::new(
                "INSERT INTO aliases SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
                 ON CONFLICT DO NOTHING",
                vec![from_segment, from_position, to_segment, to_position],
            ));
        }
        if !checkpoints.thread.is_empty() {
            statements.push(Statement::new(
                format!(
                    "WITH f AS MATERIALIZED (SELECT {order} AS start)
                     INSERT INTO checkpoints SELECT u.thread, u.name, u.version, u.created, f.start + u.n
                     FROM f, unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[])
                         AS u(thread, name, version, created, n)
                     ON CONFLICT (thread, name) DO UPDATE SET version = excluded.version, created = excluded.created,
                         feed = excluded.feed"
                ),
                vec![
                    &checkpoints.thread,
                    &checkpoints.name,
                    &checkpoints.version,
                    &checkpoints.created,
                    &checkpoints.order,
                ],
            ));
        }
        statements
    }

    pub(crate) fn checkpoints(&self) -> Checkpoints {
        let mut rows = Checkpoints::default();
        for ((thread, name), (version, created, order)) in &self.checkpoints {
            rows.thread.push(*thread);
            rows.name.push(name.clone());
            rows.version.push(*version);
            rows.created.push(*created);
            rows.order.push(*order);
        }
        rows
    }

    /// Writes the rows of a rebuild, whose checkpoints carry their full place in the feed.
    pub(crate) async fn write(&self, client: &Object) -> Result<(), tokio_postgres::Error> {
        let checkpoints = self.checkpoints();
        run(client, &self.statements("0::bigint", &checkpoints)).await
    }
}

#[derive(Default)]
pub(crate) struct Checkpoints {
    thread: Vec<i64>,
    name: Vec<String>,
    version: Vec<i64>,
    created: Vec<i64>,
    order: Vec<i64>,
}
