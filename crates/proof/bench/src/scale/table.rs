//! The numbers of the small store and of the large one beside each other, as a table or as JSON lines.

use std::io::Write;

use serde_json::json;

use crate::Result;
use crate::report::Unit;

/// A number of one store.
pub(super) struct Measured {
    what: String,
    unit: Unit,
    value: f64,
    aim: Option<Aim>,
}

/// The target for the number of the large store.
#[derive(Clone, Copy)]
pub(super) enum Aim {
    AtMost(f64),
    AtLeast(f64),
    /// At most this many times the number of the small store.
    Growth(f64),
}

impl Measured {
    pub(super) fn new(what: impl Into<String>, unit: Unit, value: f64) -> Self {
        Self { what: what.into(), unit, value, aim: None }
    }

    pub(super) fn at_most(self, most: f64) -> Self {
        Self { aim: Some(Aim::AtMost(most)), ..self }
    }

    pub(super) fn aim_if(self, holds: bool, aim: Aim) -> Self {
        Self { aim: holds.then_some(aim), ..self }
    }
}

impl Aim {
    fn show(self, unit: Unit) -> String {
        match self {
            Self::AtMost(most) => format!("≤ {}", unit.show(most)),
            Self::AtLeast(least) => format!("≥ {}", unit.show(least)),
            Self::Growth(times) => format!("ratio ≤ {times}"),
        }
    }

    fn is_met(self, small: f64, large: f64) -> bool {
        match self {
            Self::AtMost(most) => large <= most,
            Self::AtLeast(least) => large >= least,
            Self::Growth(times) => large <= small * times,
        }
    }
}

/// Where lines go, as they come.
pub(super) struct Table<W> {
    to: W,
    json: bool,
    quick: bool,
    met: usize,
    missed: Vec<String>,
}

impl<W: Write> Table<W> {
    pub(super) fn to(to: W, json: bool, quick: bool) -> Self {
        Self { to, json, quick, met: 0, missed: Vec::new() }
    }

    /// A line for people that belongs to no row.
    pub(super) fn say(&mut self, line: &str) -> Result<()> {
        if !self.json {
            writeln!(self.to, "{line}")?;
        }
        Ok(self.to.flush()?)
    }

    pub(super) fn begin(&mut self) -> Result<()> {
        if self.json {
            return Ok(());
        }
        self.cells(["row", "measured", "small", "large", "ratio", "aim", "met"].map(str::to_owned))
    }

    /// The numbers of a row. Both stores give the same ones, in the same order.
    pub(super) fn row(&mut self, row: &'static str, small: &[Measured], large: &[Measured]) -> Result<()> {
        for (small, large) in small.iter().zip(large) {
            let (what, unit) = (&large.what, large.unit);
            let ratio = Some(large.value / small.value).filter(|ratio| ratio.is_finite());
            let met = large.aim.map(|aim| aim.is_met(small.value, large.value));
            match met {
                Some(true) => self.met += 1,
                Some(false) => self.missed.push(format!("{row}: {what}")),
                None => {}
            }
            let aim = large.aim.map(|aim| aim.show(unit));
            if self.json {
                let line = json!({
                    "row": row, "measure": what, "unit": unit.name(), "small": small.value, "large": large.value,
                    "ratio": ratio, "aim": aim, "met": met, "quick": self.quick,
                });
                writeln!(self.to, "{line}")?;
                continue;
            }
            self.cells([
                row.to_owned(),
                what.clone(),
                unit.show(small.value),
                unit.show(large.value),
                ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
                aim.unwrap_or_default(),
                met.map_or("", |met| if met { "yes" } else { "NO" }).to_owned(),
            ])?;
        }
        Ok(self.to.flush()?)
    }

    pub(super) fn end(&mut self) -> Result<()> {
        let missed = std::mem::take(&mut self.missed);
        self.say(&format!("{} of {} aims met", self.met, self.met + missed.len()))?;
        missed.iter().try_for_each(|missed| self.say(&format!("missed: {missed}")))
    }

    fn cells(&mut self, cells: [String; 7]) -> Result<()> {
        let [row, what, small, large, ratio, aim, met] = cells;
        writeln!(self.to, "{row:<13} {what:<66} {small:>11} {large:>11} {ratio:>7} {aim:>14} {met:>4}")?;
        Ok(())
    }
}
