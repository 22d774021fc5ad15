//! Cells: the file or value at a path or a key, and how a lineage sees the cells of several segments together.

use std::collections::BTreeMap;

use threadkeep_model::{CellIs, Position, SegmentId, Space, Timestamp};

use crate::Result;

/// The file, directory or value under a name from an entry on.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The segment that holds the entry.
    pub segment: SegmentId,
    /// The position of the entry.
    pub position: Position,
    /// When the entry was committed.
    pub time: Timestamp,
    /// The path or the key.
    pub name: String,
    /// The file, the directory, the value, or nothing.
    pub is: CellIs,
}

/// Reads cells of one lineage.
#[derive(Debug, Clone)]
pub struct CellQuery {
    /// Of files or of values.
    pub space: Space,
    /// The segments that are seen, from the near end of a lineage, each up to a position. Positions rise towards the near
    /// end.
    pub spans: Vec<(SegmentId, Position)>,
    /// The names to read.
    pub names: CellNames,
    /// At most so many.
    pub limit: usize,
}

/// Which names, and what of them.
#[derive(Debug, Clone)]
pub enum CellNames {
    /// The newest cell of each of these names.
    These(Vec<String>),
    /// The newest cell of each name from the first on and before the second, in the order of names.
    Between(String, Option<String>),
    /// Every cell of this name, the newest first.
    VersionsOf(String),
}

/// Cells, names that hold nothing any more included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellPage {
    /// The cells, in the order of names.
    pub cells: Vec<Cell>,
    /// The name from which to read on, if there may be more.
    pub next: Option<String>,
}

impl CellQuery {
    /// Answers the query, where `newest` gives the newest cell of each name of one span in the order of names, and
    /// `versions` every cell of a name in one span, the newest first; both at most as many as they are told.
    ///
    /// # Errors
    /// Errors of the two functions.
    pub fn answer(
        &self,
        mut newest: impl FnMut(SegmentId, Position, &str, Option<&str>, usize) -> Result<Vec<Cell>>,
        mut versions: impl FnMut(SegmentId, Position, &str, usize) -> Result<Vec<Cell>>,
    ) -> Result<CellPage> {
        match &self.names {
            CellNames::These(names) => {
                let mut cells = Vec::new();
                for name in names {
                    for (segment, until) in &self.spans {
                        if let Some(cell) = versions(*segment, *until, name, 1)?.pop() {
                            cells.push(cell);
                            break;
                        }
                    }
                }
                Ok(CellPage { cells, next: None })
            }
            CellNames::VersionsOf(name) => {
                let mut cells = Vec::new();
                for (segment, until) in &self.spans {
                    cells.extend(versions(*segment, *until, name, self.limit.saturating_sub(cells.len()))?);
                }
                Ok(CellPage { cells, next: None })
            }
            CellNames::Between(from, to) => {
                let mut seen: BTreeMap<String, Cell> = BTreeMap::new();
                // Beyond the last name of a span that had more, nothing is known.
                let mut known: Option<String> = None;
                for (segment, until) in &self.spans {
                    let found = newest(*segment, *until, from, to.as_deref(), self.limit)?;
                    if found.len() >= self.limit {
                        let last = found.last().map(|cell| cell.name.clone());
                        known = known.into_iter().chain(last).min();
                    }
                    for cell in found {
                        seen.entry(cell.name.clone()).or_insert(cell);
                    }
                }
                let beyond = |name: &String| known.as_ref().is_some_and(|known| name > known);
                let mut cells: Vec<Cell> =
                    seen.into_iter().filter(|(name, _)| !beyond(name)).map(|(_, cell)| cell).collect();
                let more = known.is_some() || cells.len() > self.limit;
                cells.truncate(self.limit);
                // Names hold no null byte, so nothing lies between a name and this.
                let next = cells.last().filter(|_| more).map(|last| format!("{}\u{1}", last.name));
                Ok(CellPage { cells, next })
            }
        }
    }
}
