//! The results, as a table for people or as JSON lines.

use std::io::Write;

use serde_json::json;

use crate::Result;
use crate::bench::Bench;
use crate::meter::median;

/// One number, measured in every round.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series(Vec<f64>);

impl Series {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub(crate) fn median(&self) -> f64 {
        median(&self.0)
    }

    /// This number beside another one, round by round.
    pub(crate) fn over(&self, other: &Self) -> Self {
        self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect()
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Syncs,
    Micros,
    PerSecond,
    Pages,
    Times,
    Bytes,
    Count,
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Syncs => "syncs",
            Self::Micros => "µs",
            Self::PerSecond => "/s",
            Self::Pages => "pages",
            Self::Times => "×",
            Self::Bytes => "bytes",
            Self::Count => "",
        }
    }

    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Syncs => format!("{value:.3}"),
            Self::Micros if value >= 10e6 => format!("{:.1} s", value / 1e6),
            Self::Micros if value >= 10_000.0 => format!("{:.1} ms", value / 1_000.0),
            Self::Micros => format!("{value:.1} µs"),
            Self::PerSecond => format!("{value:.0} /s"),
            Self::Pages => format!("{value:.2}"),
            Self::Times => format!("{value:.2} ×"),
            Self::Bytes if value >= 1e6 => format!("{:.1} MB", value / 1e6),
            Self::Bytes => format!("{value:.0} B"),
            Self::Count => format!("{value:.0}"),
        }
    }
}

/// The target for a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Aim {
    /// This, to one decimal place.
    About(f64),
    AtMost(f64),
    AtLeast(f64),
    /// At least this many times the opponent written by hand.
    ByHandTimes(f64),
}

impl Aim {
    fn is_met(self, line: &Line) -> bool {
        let ours = line.ours.median();
        match self {
            Self::About(aim) => (ours - aim).abs() < 0.05,
            Self::AtMost(aim) => ours <= aim,
            Self::AtLeast(aim) => ours >= aim,
            Self::ByHandTimes(aim) => line.ratio().is_some_and(|ratio| ratio >= aim),
        }
    }

    fn show(self, unit: Unit) -> String {
        match self {
            Self::About(aim) => format!("{aim:.1}"),
            Self::AtMost(aim) => format!("≤ {}", unit.show(aim)),
            Self::AtLeast(aim) => format!("≥ {}", unit.show(aim)),
            Self::ByHandTimes(aim) => format!("ratio ≥ {aim}"),
        }
    }
}

/// One measured number, ours beside others.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    row: &'static str,
    measure: String,
    unit: Unit,
    ours: Series,
    by_hand: Option<Series>,
    json_lines: Option<Series>,
    aim: Option<Aim>,
}

impl Line {
    pub(crate) fn new(row: &'static str, measure: impl Into<String>, unit: Unit, ours: Series) -> Self {
        Self { row, measure: measure.into(), unit, ours, by_hand: None, json_lines: None, aim: None }
    }

    /// Beside the opponent written by hand on the same kind of store.
    pub(crate) fn by_hand(mut self, series: Series) -> Self {
        self.by_hand = Some(series);
        self
    }

    /// Beside a JSON Lines file a thread, where there is one.
    pub(crate) fn json_lines(mut self, series: Option<Series>) -> Self {
        self.json_lines = series;
        self
    }

    pub(crate) fn aim(self, aim: Aim) -> Self {
        self.aim_if(true, aim)
    }

    /// An aim that holds only for some stores.
    pub(crate) fn aim_if(mut self, stands: bool, aim: Aim) -> Self {
        self.aim = stands.then_some(aim);
        self
    }

    /// Our number divided by that of the opponent written by hand.
    fn ratio(&self) -> Option<f64> {
        self.by_hand.as_ref().map(|series| self.ours.over(series).median()).filter(|ratio| ratio.is_finite())
    }

    fn json(&self, by_hand_on: &str, quick: bool) -> serde_json::Value {
        let all = |series: &Option<Series>| series.as_ref().map(|series| series.0.clone());
        json!({
            "row": self.row,
            "measure": self.measure,
            "unit": self.unit.name(),
            "ours": self.ours.median(),
            by_hand_on: self.by_hand.as_ref().map(Series::median),
            "jsonl": self.json_lines.as_ref().map(Series::median),
            "ratio": self.ratio(),
            "aim": self.aim.map(|aim| aim.show(self.unit)),
            "met": self.aim.map(|aim| aim.is_met(self)),
            "quick": quick,
            "rounds": { "ours": self.ours.0, by_hand_on: all(&self.by_hand), "jsonl": all(&self.json_lines) },
        })
    }
}

/// Where lines go, as they come.
pub(crate) struct Report<W> {
    to: W,
    json: bool,
    quick: bool,
    by_hand_on: &'static str,
    aims: usize,
    missed: Vec<String>,
}

impl<W: Write> Report<W> {
    pub(crate) fn to(to: W, json: bool) -> Self {
        Self { to, json, quick: false, by_hand_on: "", aims: 0, missed: Vec::new() }
    }

    pub(crate) fn begin(&mut self, bench: &Bench) -> Result<()> {
        self.quick = bench.quick;
        self.by_hand_on = bench.by_hand_on();
        if self.json {
            return Ok(());
        }
        let (beside, json_lines) = match bench.is_on_server() {
            true => ("PostgreSQL by hand", ""),
            false => ("SQLite by hand and a JSON Lines file a thread", "jsonl"),
        };
        writeln!(self.to, "Threadkeep beside {beside}")?;
        self.about(bench)?;
        let cells = ["row", "measured", "ours", self.by_hand_on, json_lines, "ratio", "aim", "met"];
        self.write_cells(cells.map(str::to_owned))
    }

    /// The same for the server, which is measured beside the library.
    pub(crate) fn begin_http(&mut self, bench: &Bench) -> Result<()> {
        self.quick = bench.quick;
        self.by_hand_on = "library";
        if self.json {
            return Ok(());
        }
        writeln!(self.to, "Threadkeep over HTTP, beside the library in one process")?;
        self.about(bench)?;
        let cells = ["row", "measured", "over HTTP", self.by_hand_on, "", "ratio", "aim", "met"];
        self.write_cells(cells.map(str::to_owned))
    }

    fn about(&mut self, bench: &Bench) -> Result<()> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        writeln!(self.to, "{} interleaved rounds, medians; {cpus} CPUs; {}", bench.rounds, bench.about()?)?;
        if self.quick {
            writeln!(self.to, "--quick: small sizes, to show that everything works. The aims are for full sizes.")?;
        }
        Ok(())
    }

    pub(crate) fn lines(&mut self, lines: &[Line]) -> Result<()> {
        for line in lines {
            if let Some(aim) = line.aim {
                self.aims += 1;
                if !aim.is_met(line) {
                    self.missed.push(format!("{}: {}", line.row, line.measure));
                }
            }
            if self.json {
                writeln!(self.to, "{}", line.json(self.by_hand_on, self.quick))?;
                continue;
            }
            let show = |value: Option<f64>| value.map_or(String::new(), |value| line.unit.show(value));
            self.write_cells([
                line.row.to_owned(),
                line.measure.clone(),
                line.unit.show(line.ours.median()),
                show(line.by_hand.as_ref().map(Series::median)),
                show(line.json_lines.as_ref().map(Series::median)),
                line.ratio().map_or(String::new(), |ratio| format!("{ratio:.2}")),
                line.aim.map_or(String::new(), |aim| aim.show(line.unit)),
                line.aim.map_or("", |aim| if aim.is_met(line) { "yes" } else { "NO" }).to_owned(),
            ])?;
        }
        Ok(self.to.flush()?)
    }

    pub(crate) fn end(&mut self) -> Result<()> {
        if !self.json {
            writeln!(self.to, "{} of {} aims met", self.aims - self.missed.len(), self.aims)?;
            for missed in &self.missed {
                writeln!(self.to, "missed: {missed}")?;
            }
        }
        Ok(self.to.flush()?)
    }

    fn write_cells(&mut self, cells: [String; 8]) -> Result<()> {
        let [row, measure, ours, by_hand, json_lines, ratio, aim, met] = cells;
        writeln!(
            self.to,
            "{row:<15} {measure:<66} {ours:>11} {by_hand:>11} {json_lines:>11} {ratio:>6} {aim:>12} {met:>4}"
        )?;
        Ok(())
    }
}
