//! Durations and times as people write them.

use std::time::Duration;

use changestore_core::{ErrorKind, Timestamp};
use jiff::{Span, SpanRelativeTo};

/// Reads `30s`, `1h 30m`, `7d` (a day is 24 hours) or ISO 8601's `PT30S`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span: Span = text
        .parse()
        .map_err(|_| "expected a number with its unit, such as `30s`, `1h 30m` or `7d`")?;
    if span.get_years() != 0 || span.get_months() != 0 {
        return Err("a month or year has no fixed length; give days, such as `30d`".to_owned());
    }
    let duration = span
        .to_duration(SpanRelativeTo::days_are_24_hours())
        .map_err(|_| "is too long")?;
    // Expiry is kept in milliseconds: less than one is none.
    if duration.as_millis() < 1 {
        return Err("must be at least a millisecond, `1ms`".to_owned());
    }
    Ok(duration.unsigned_abs())
}

/// Reads milliseconds since the epoch, or RFC 3339.
pub(crate) fn timestamp(text: &str) -> Result<Timestamp, String> {
    let millis = match text.parse() {
        Ok(millis) => millis,
        Err(_) => (text.parse::<jiff::Timestamp>())
            .map_err(|_| {
                "expected milliseconds since 1970 (UTC), such as `1768328247000`, or a time such \
                 as `2026-01-13T18:17:27Z`, up to 9999-12-30T22:00:00Z"
            })?
            .as_millisecond(),
    };
    Timestamp::from_millis(millis).map_err(|error| match error.kind() {
        ErrorKind::InvalidArgument { reason, .. } => reason.to_string(),
        _ => error.to_string(),
    })
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
        assert_eq!(duration("1ms"), Ok(Duration::from_millis(1)));
        let said = |text| duration(text).unwrap_err();
        for no_duration in [
            "",
            "1",
            "30",
            "-1",
            "soon",
            "99999999999d",
            "s",
            "--if-absent",
        ] {
            assert!(said(no_duration).contains("`1h 30m`"), "{no_duration}");
        }
        for calendar in ["1mo", "9000y", "1y 2d", "-1mo", "P1M"] {
            assert!(said(calendar).contains("give days"), "{calendar}");
        }
        for nothing in ["-1s", "0s", "999us", "-7d", "1h -2h"] {
            assert!(!said(nothing).contains("jiff"), "{nothing}");
        }
    }

    #[test]
    fn times() {
        let millis = |text| timestamp(text).map(Timestamp::as_millis);
        assert_eq!(millis("1768328247000"), Ok(1_768_328_247_000));
        assert_eq!(millis("2026-01-13T18:17:27Z"), Ok(1_768_328_247_000));
        assert_eq!(millis("2026-01-13T19:17:27+01:00"), Ok(1_768_328_247_000));
        for wrong in ["-1", "1.5", "tomorrow", "253402300800000"] {
            let said = millis(wrong).unwrap_err();
            assert!(
                said.contains("1970") && said.contains("9999"),
                "{wrong}: {said}"
            );
        }
    }
}
