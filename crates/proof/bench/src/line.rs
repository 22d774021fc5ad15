//! A number beside another one, as a line of a table or as JSON.

use std::io::Write;

use serde_json::json;

use crate::Result;
use crate::meter::median;

/// One number beside another one.
pub(crate) struct Line {
    pub(crate) row: &'static str,
    pub(crate) measure: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) ours: Vec<f64>,
    pub(crate) other: Option<(&'static str, Vec<f64>)>,
    pub(crate) most: Option<f64>,
}

impl Line {
    fn ratio(&self) -> Option<f64> {
        let (_, other) = self.other.as_ref()?;
        let ratios: Vec<f64> = self.ours.iter().zip(other).map(|(ours, other)| ours / other).collect();
        Some(median(&ratios))
    }

    pub(crate) fn print(&self, json: bool, quick: bool) -> Result<()> {
        let (ours, ratio) = (median(&self.ours), self.ratio());
        let other = self.other.as_ref().map(|(name, values)| (*name, median(values)));
        let met = self.most.map(|most| ratio.unwrap_or(ours) <= most);
        let mut out = std::io::stdout().lock();
        if json {
            let line = json!({
                "row": self.row, "measure": self.measure, "unit": self.unit, "ours": ours,
                "beside": other.map(|(name, _)| name), "other": other.map(|(_, value)| value), "ratio": ratio,
                "aim": self.most, "met": met, "quick": quick, "rounds": self.ours,
            });
            writeln!(out, "{line}")?;
        } else {
            let beside = other.map_or(String::new(), |(name, value)| format!("{name} {value:.1} {}", self.unit));
            let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.2} ×"));
            let met = met.map_or("", |met| if met { "yes" } else { "NO" });
            writeln!(
                out,
                "{:10} {:34} {:>12.1} {:6} {beside:24} {ratio:>9} {met}",
                self.row, self.measure, ours, self.unit
            )?;
        }
        Ok(())
    }
}
