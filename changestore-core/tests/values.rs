//! The types that refuse bad values before any store sees them.

use std::error::Error as _;
use std::time::{Duration, SystemTime};

use changestore_core::{
    ChangeKey, Condition, DocumentStore, DocumentStoreExt, Error, ErrorKind, Etag, Key, Metadata,
    NewRecord, Outcome, Timestamp, Version, limits,
};
use store_mem::MemStore;

#[test]
fn metadata_of_any_depth_is_checked_without_recursion() {
    let depth = 150_000;
    let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(Metadata::new(nested.clone()).unwrap().as_str(), nested);
    assert!(Metadata::new("[".repeat(depth)).is_err());
}

#[test]
fn metadata_follow_rfc_8259_to_the_letter() {
    for valid in [
        "null",
        " 1 ",
        "-0",
        "1e999",
        "123456789012345678901234567890",
        r#"{"a":1,"a":2}"#,
        r#""\u0000""#,
        r#""\ud800""#,
        "\t[\r\n]",
        "\"\u{2028}\"",
    ] {
        assert_eq!(Metadata::new(valid).unwrap().as_str(), valid);
    }
    for invalid in [
        " ",
        "{",
        "{}{}",
        "[1,]",
        "01",
        "+1",
        "1.",
        ".5",
        "NaN",
        "Infinity",
        "'a'",
        "{a:1}",
        "\"\t\"",
        r#""\x41""#,
        r#""\u12""#,
        "// c\n1",
        "\u{feff}{}",
        "nul",
        "\0",
    ] {
        let error = Metadata::new(invalid).unwrap_err();
        let is_field = |kind: &_| {
            matches!(
                kind,
                ErrorKind::InvalidArgument {
                    field: "metadata",
                    ..
                }
            )
        };
        assert!(is_field(error.kind()), "{invalid:?}: {error}");
    }
}

#[test]
fn an_error_never_shows_the_metadata() {
    let error = Metadata::new(r#"{"password": hunter2}"#).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hunter2"));
    assert_eq!(
        format!("{:?}", Metadata::new("[12345]").unwrap()),
        "Metadata(7 bytes)"
    );
    let record = NewRecord::new(Key::new("p", "s").unwrap(), "hunter2").unwrap();
    let stored = record.clone().into_record(Version::FIRST, Etag::unique());
    assert!(!format!("{record:?} {stored:?}").contains("hunter2"));
}

#[test]
fn each_field_has_its_limit_in_bytes() {
    let text =
        |limit: limits::Limit, more: usize| "ü".repeat(limit.max_bytes() / 2) + &"x".repeat(more);
    for limit in limits::ALL {
        let (fits, over) = (
            text(limit, limit.max_bytes() % 2),
            text(limit, limit.max_bytes() % 2 + 1),
        );
        assert_eq!(fits.len(), limit.max_bytes());
        assert!(limit.check_key_part(&fits).is_ok());
        let error = limit.check_key_part(&over).unwrap_err();
        let expected = ErrorKind::TooLarge {
            field: limit.field(),
            limit: limit.max_bytes(),
            actual: limit.max_bytes() + 1,
        };
        assert_eq!(error.kind(), &expected);
    }
}

#[test]
fn each_part_of_a_key_is_checked_under_its_name() {
    let field = |error: Error| match error.kind() {
        ErrorKind::InvalidArgument { field, .. } => *field,
        other => panic!("{other:?}"),
    };
    for bad in ["", "a\0b"] {
        assert_eq!(field(ChangeKey::new(bad, "u", "r").unwrap_err()), "queue");
        assert_eq!(field(ChangeKey::new("q", bad, "r").unwrap_err()), "uri");
        assert_eq!(
            field(ChangeKey::new("q", "u", bad).unwrap_err()),
            "request_id"
        );
        assert_eq!(field(Key::new(bad, "s").unwrap_err()), "pk");
        assert_eq!(field(Key::new("p", bad).unwrap_err()), "sk");
    }
}

#[test]
fn a_key_prints_escaped_so_that_a_log_keeps_its_lines() {
    let key = Key::new("a\nb", "\u{1b}[31m").unwrap();
    assert_eq!(key.to_string(), r#"("a\nb", "\u{1b}[31m")"#);
}

#[test]
fn conditions_are_judged_against_the_live_record() {
    let (mine, other) = (Etag::unique(), Etag::unique());
    let live = Some((Version::from(3), &mine));
    let conditions = [
        (Condition::None, true, true),
        (Condition::IfAbsent, true, false),
        (Condition::IfVersion(Version::ABSENT), true, false),
        (Condition::IfVersion(Version::from(3)), false, true),
        (Condition::IfVersion(Version::from(2)), false, false),
        (Condition::IfEtag(mine.clone()), false, true),
        (Condition::IfEtag(other), false, false),
    ];
    for (condition, if_absent, if_live) in conditions {
        assert_eq!(
            condition.holds(None),
            if_absent,
            "{condition:?} where nothing is"
        );
        assert_eq!(condition.holds(live), if_live, "{condition:?} at version 3");
        let normalized = condition.clone().normalized();
        assert_eq!(normalized.holds(None), if_absent, "{normalized:?}");
        assert_eq!(normalized.holds(live), if_live, "{normalized:?}");
    }
    assert!(Condition::IfAbsent.for_delete().is_err());
    assert!(Condition::IfVersion(Version::ABSENT).for_delete().is_err());
}

#[test]
fn times_and_versions_stay_in_the_range_of_every_backend() {
    assert!(Timestamp::from_millis(-1).is_err());
    assert!(Timestamp::from_millis(Timestamp::MAX.as_millis() + 1).is_err());
    assert_eq!(Timestamp::MAX.saturating_add(Duration::MAX), Timestamp::MAX);
    assert_eq!(
        Timestamp::EPOCH.saturating_sub(Duration::MAX),
        Timestamp::EPOCH
    );
    assert_eq!(
        Timestamp::try_from(SystemTime::from(Timestamp::MAX)).unwrap(),
        Timestamp::MAX
    );
    assert!(Timestamp::try_from(SystemTime::UNIX_EPOCH - Duration::from_nanos(1)).is_err());
    assert!(Version::new(u64::MAX).is_err());
    assert!(Version::try_from(-1_i64).is_err());
    assert_eq!(Version::new(Version::MAX.get()).unwrap().as_i64(), i64::MAX);
    assert_eq!(Version::MAX.next(), Version::MAX);
    assert!(Etag::new("").is_err());
    assert!(Etag::new("e".repeat(65)).is_err());
    assert_ne!(Etag::unique(), Etag::unique());
}

#[test]
fn an_error_keeps_its_source_and_does_not_repeat_it() {
    let source = std::io::Error::other("the pipe broke");
    let error = Error::new(ErrorKind::Throttled).with_source(source);
    assert_eq!(error.to_string(), "throttled");
    assert_eq!(error.source().unwrap().to_string(), "the pipe broke");
    assert!(error.is_retryable());
    assert_eq!(error.outcome(), Outcome::NotApplied);
}

#[tokio::test]
async fn an_update_refuses_to_write_another_record() {
    let store = MemStore::new();
    let (key, other) = (Key::new("p", "s").unwrap(), Key::new("p", "other").unwrap());
    let record = |key: &Key| NewRecord::new(key.clone(), "data").unwrap();
    store.put(record(&other), Condition::None).await.unwrap();
    let error = store
        .update(&key, |_| Ok(Some(record(&other))))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error.kind(),
            ErrorKind::InvalidArgument { field: "key", .. }
        ),
        "{error}"
    );

    let written = store
        .update(&key, |stored| Ok(stored.is_none().then(|| record(&key))))
        .await;
    assert_eq!(written.unwrap().unwrap().version, Version::FIRST);
    let unchanged = store
        .update(&key, |stored| Ok(stored.is_none().then(|| record(&key))))
        .await;
    assert!(unchanged.unwrap().is_none());
}

#[test]
fn garbage_is_what_expired_a_day_ago() {
    let expire_at = Timestamp::from_millis(1_000).unwrap();
    let later = |more: Duration| expire_at.saturating_add(more);
    assert!(!expire_at.is_garbage_at(expire_at));
    assert!(!expire_at.is_garbage_at(later(limits::GARBAGE_GRACE / 2)));
    assert!(expire_at.is_garbage_at(later(limits::GARBAGE_GRACE)));
}
