//! Lengths of time as people write them: `500ms`, `30s`, `5m`, `1h`, or a number of seconds.

use std::time::Duration;

use threadkeep::Invalid;

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

/// As the wire counts it.
pub(crate) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
