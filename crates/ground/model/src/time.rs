//! Points in time: microseconds inside, RFC 3339 UTC in text.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::text::as_text;

/// Microseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest and latest moments that RFC 3339 can write (years 0001 to 9999), in microseconds.
    const MICROS_MIN: i64 = -62_135_596_800_000_000;
    const MICROS_MAX: i64 = 253_402_207_200_000_000;

    /// A moment by its microseconds since the epoch, kept within the years 0001 to 9999.
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(Self::MICROS_MIN, Self::MICROS_MAX))
    }

    /// Microseconds since the epoch.
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Whole minutes since the epoch: the grain at which lists are indexed.
    pub fn minute(self) -> i64 {
        self.0.div_euclid(60_000_000)
    }

    /// This moment moved by `micros`.
    pub fn plus_micros(self, micros: i64) -> Self {
        Self::from_micros(self.0.saturating_add(micros))
    }
}

/// The length of an ISO 8601 duration, such as `PT30S` or `P1D`. A day has 24 hours; months and years are refused,
/// because their length varies.
///
/// # Errors
/// If `text` is no such duration. The error names `field`.
pub fn parse_duration(field: &str, text: &str) -> Result<std::time::Duration, Invalid> {
    let parsed = Some(text).filter(|text| text.starts_with('P')).and_then(|text| text.parse::<jiff::Span>().ok());
    let length = parsed.and_then(|span| span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).ok());
    length.and_then(|length| std::time::Duration::try_from(length).ok()).ok_or_else(|| {
        let shown: String = text.chars().take(64).collect();
        Invalid::body(field, format!("'{shown}' is not an ISO 8601 duration of days and less, such as PT30S or P1D"))
    })
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = jiff::Timestamp::from_microsecond(self.0).map_err(|_| fmt::Error)?;
        write!(f, "{}", time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ"))
    }
}

impl FromStr for Timestamp {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.parse::<jiff::Timestamp>().map(|time| Self(time.as_microsecond())).map_err(|_| {
            Invalid::parameter("timestamp", format!("'{text}' is not an RFC 3339 time such as 2026-01-31T12:00:00Z"))
        })
    }
}

as_text!(Timestamp);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_keeps_its_microseconds_in_text() {
        let time: Timestamp = "2026-11-15T08:00:00.000001Z".parse().expect("a time");
        assert_eq!(time.to_string(), "2026-11-15T08:00:00.000001Z");
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!("2026-11-15T09:00:00.000001+01:00".parse::<Timestamp>(), Ok(time));
    }

    #[test]
    fn durations_are_iso_8601_and_have_one_length() {
        let seconds = |text: &str| parse_duration("timeout", text).map(|length| length.as_millis() as u64);
        assert_eq!(seconds("PT30S"), Ok(30_000));
        assert_eq!(seconds("P1D"), Ok(86_400_000));
        assert_eq!(seconds("P1W"), Ok(7 * 86_400_000));
        assert_eq!(seconds("PT0.5S"), Ok(500));
        for wrong in ["", "30", "30s", "10m", "P", "PT", "P1M", "P1Y", "-PT1S", "PT-1S", " PT1S", "1 day"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn extremes_still_print() {
        assert!(Timestamp::from_micros(i64::MAX).to_string().starts_with("9999"));
        assert!(Timestamp::from_micros(i64::MIN).to_string().starts_with("0001"));
    }
}
