//! Durations and times as people write them.

use std::time::Duration;

use changestore_core::Timestamp;
use jiff::{Span, SpanRelativeTo};

/// Reads `30s`, `1h 30m`, `7d` (a day is 24 hours) or ISO 8601's `PT30S`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span: Span = text
        .parse()
        .map_err(|error: jiff::Error| error.to_string())?;
    let duration = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|error| error.to_string())?;
    if !duration.is_positive() {
        return Err("must be longer than nothing".to_owned());
    }
    Ok(duration.unsigned_abs())
}

/// Reads milliseconds since the epoch, or RFC 3339.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let millis = match text.parse() {
        Ok(millis) => millis,
        Err(_) => (text.parse::<jiff::Timestamp>())
            .map_err(|error| format!("neither milliseconds nor a time: {error}"))?
            .as_millisecond(),
    };
    Timestamp::from_millis(millis).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_mins(90)));
        assert_eq!(duration("7d"), Ok(Duration::from_hours(168)));
        assert_eq!(duration("PT0.5S"), Ok(Duration::from_millis(500)));
        for wrong in ["", "30", "soon", "-1s", "0s", "1mo"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times() {
        let millis = |text| timestamp(text).map(Timestamp::as_millis);
        assert_eq!(millis("1768328247000"), Ok(1_768_328_247_000));
        assert_eq!(millis("2026-01-13T18:17:27Z"), Ok(1_768_328_247_000));
        assert_eq!(millis("2026-01-13T19:17:27+01:00"), Ok(1_768_328_247_000));
        for wrong in ["-1", "1.5", "tomorrow", "253402300800000"] {
            assert!(millis(wrong).is_err(), "{wrong}");
        }
    }
}
