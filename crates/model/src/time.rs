//! Points in time: microseconds inside, RFC 3339 UTC in text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Invalid;

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

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

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
    fn extremes_still_print() {
        assert!(Timestamp::from_micros(i64::MAX).to_string().starts_with("9999"));
        assert!(Timestamp::from_micros(i64::MIN).to_string().starts_with("0001"));
    }
}
