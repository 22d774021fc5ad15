//! Times as people write them: lengths such as `500ms`, `30s`, `5m`, `1h`, or a number of seconds; moments such as
//! `2026-01-31`, or `7d` for a week ago.

use std::time::Duration;

use threadkeep::{Invalid, SystemWorld, Timestamp, World};

/// The length of time that `text` names.
pub(crate) fn duration(text: &str) -> Result<Duration, Invalid> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let in_unit = match unit {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let milliseconds = number.parse::<u64>().ok().zip(in_unit).and_then(|(number, unit)| number.checked_mul(unit));
    milliseconds.map(Duration::from_millis).ok_or_else(|| {
        let rule = format!("'{text}' is not a length of time such as 500ms, 30s, 5m or 1h");
        Invalid::parameter("time", rule)
    })
}

/// A moment, a date for its first one in UTC, or how long ago it was.
pub(crate) fn time(field: &str, text: &str) -> Result<Timestamp, Invalid> {
    let exact = text.parse().or_else(|_| format!("{text}T00:00:00Z").parse()).ok();
    exact.or_else(|| before(SystemWorld.now(), text)).ok_or_else(|| {
        let rule = format!("'{text}' is no time: write 2026-01-31T12:00:00Z, 2026-01-31, or 7d for a week ago");
        Invalid::parameter(field, rule)
    })
}

/// The moment that is `text` before `now`, such as `12h`, `7d` or `2w`.
fn before(now: Timestamp, text: &str) -> Option<Timestamp> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let seconds: i64 = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 604_800,
        _ => return None,
    };
    let micros = number.parse::<i64>().ok()?.checked_mul(seconds * 1_000_000)?;
    now.as_micros().checked_sub(micros).map(Timestamp::from_micros)
}

/// As the wire counts it.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_a_date_or_how_long_ago_it_was() {
        let exact = |text: &str| time("after", text).expect(text).to_string();
        assert_eq!(exact("2026-01-31"), exact("2026-01-31T00:00:00Z"));
        let now: Timestamp = "2026-01-31T12:00:00Z".parse().expect("a time");
        for (text, expected) in
            [("90m", "2026-01-31T10:30:00Z"), ("7d", "2026-01-24T12:00:00Z"), ("1w", "2026-01-24T12:00:00Z")]
        {
            assert_eq!(before(now, text), Some(expected.parse().expect("a time")), "{text}");
            assert!(time("after", text).is_ok(), "{text}");
        }
        for text in ["", "d", "7", "7y", "lastweek", "99999999999999999d", "2026-13-45"] {
            assert!(time("after", text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_length_of_time_is_a_number_and_a_unit_and_seconds_need_none() {
        for (text, milliseconds) in
            [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("7", 7_000), ("0", 0)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in
            ["", "s", "1.5s", "-1s", "+1s", " 1s", "1 s", "1d", "1S", "99999999999999999999", "9999999999999999h"]
        {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
