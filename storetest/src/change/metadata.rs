//! Metadata: JSON text that comes back byte for byte.

use changestore_core::limits::METADATA;
use changestore_core::{ChangeRecord, ChangeStore, Metadata, MetadataUpdate, Version};

use super::claims::{at, claim, create, json, stored};
use crate::expect;
use crate::harness::Fixture;

/// Writes each text twice, with a create and with an update, and reads it back after both.
async fn come_back<T: Into<String>>(store: &dyn ChangeStore, texts: impl IntoIterator<Item = T>) {
    for (number, text) in texts.into_iter().enumerate() {
        let text = text.into();
        let created = ChangeRecord {
            metadata: json(text.clone()),
            ..claim("queue", &format!("created {number}"), "request")
        };
        create(store, &created).await;
        let updated = claim("queue", &format!("updated {number}"), "request");
        create(store, &updated).await;
        let update = MetadataUpdate {
            metadata: json(text.clone()),
            old_version: Version::FIRST,
            new_version: Version::FIRST.next(),
            updated_at: at(2_000),
        };
        store.update_metadata(&updated.key, update).await.unwrap();
        for key in [&created.key, &updated.key] {
            let metadata = stored(store, key).await.metadata;
            let start: String = text.chars().take(200).collect();
            assert!(metadata.as_str() == text, "{key}: not as given: {start}");
        }
    }
}

pub(super) async fn empty_text_is_an_empty_object(fixture: &Fixture<dyn ChangeStore>) {
    let store = &*fixture.store;
    let claim = ChangeRecord {
        metadata: json(""),
        ..claim("queue", "uri", "request")
    };
    create(store, &claim).await;
    assert_eq!(stored(store, &claim.key).await.metadata.as_str(), "{}");
    let update = MetadataUpdate {
        metadata: json(""),
        old_version: Version::FIRST,
        new_version: Version::FIRST.next(),
        updated_at: at(2_000),
    };
    store.update_metadata(&claim.key, update).await.unwrap();
    assert_eq!(stored(store, &claim.key).await.metadata.as_str(), "{}");
}

pub(super) async fn spacing_and_the_order_of_keys_survive(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        r#"{"b": 1, "a": 2}"#,
        r#"{"aa":1,"b":2}"#,
        "  {\n\t\"a\" :1 ,\r\n \"b\":[ ]\n}\n\n",
        "[1,2,  3]",
        " null ",
        r#"{"":{"":[]}}"#,
    ];
    come_back(&*fixture.store, texts).await;
}

pub(super) async fn duplicate_keys_survive(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        r#"{"a": 1, "a": 2, "a": 1}"#,
        r#"{"a": {"b": 1}, "a": {"b": 1}}"#,
    ];
    come_back(&*fixture.store, texts).await;
}

pub(super) async fn numbers_keep_their_digits(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        r#"{"version": 1.5777777777770001}"#,
        "9007199254740993",
        "18446744073709551616",
        "123456789012345678901234567890123456789012345678901234567890",
        "0.1000000000000000055511151231257827021181583404541015625",
        "1.0",
        "1.50",
        "-0",
        "-0.0",
        "1e2",
        "1E+2",
        "1e400",
        "1e-400",
        "[0.30000000000000004, 1E5, 100000]",
    ];
    come_back(&*fixture.store, texts).await;
}

pub(super) async fn escapes_survive(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        r#"{"nul": "\u0000"}"#,
        r#"{"\u0000": 1}"#,
        // Halves of a surrogate pair: legal JSON that names no character.
        r#"["\ud83d", "\ude00", "\ude00\ud83d"]"#,
        r#"["\ud83d\ude00", "😀"]"#,
        r#"["\u00e9", "\u00E9", "é", "e\u0301"]"#,
        r#"["\/", "/", "\\", "\"", "\b\f\n\r\t", "\u005c"]"#,
        r#"["'", "''", "%s", "{}", "$1", "?", "\\'"]"#,
        "[\"\u{7f}\", \"\u{2028}\", \"\u{e000}\", \"\u{10ffff}\"]",
    ];
    come_back(&*fixture.store, texts).await;
}

pub(super) async fn any_json_value_is_legal(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        "null", "true", "false", "0", "-1.5", r#""""#, r#""x""#, "[]", "{}", "[[]]",
    ];
    come_back(&*fixture.store, texts).await;
}

pub(super) async fn nesting_has_no_limit(fixture: &Fixture<dyn ChangeStore>) {
    // Deeper than the JSON functions of SQLite (1,000), MySQL (100) and MariaDB (32) go, and than
    // what a recursive parser should be given.
    let arrays = "[".repeat(2_000) + &"]".repeat(2_000);
    let objects = r#"{"a":"#.repeat(2_000) + "0" + &"}".repeat(2_000);
    come_back(&*fixture.store, [arrays, objects]).await;
}

pub(super) async fn the_longest_text_is_stored(fixture: &Fixture<dyn ChangeStore>) {
    let within_quotes = METADATA.max_bytes() - 2;
    let narrow = format!("\"{}\"", "x".repeat(within_quotes));
    let wide = format!("\"{}xx\"", "😀".repeat(within_quotes / 4));
    let numbers = format!("[{}00]", "0,".repeat(within_quotes / 2 - 1)).replace("00]", " 0]");
    for text in [&narrow, &wide, &numbers] {
        assert_eq!(text.len(), METADATA.max_bytes());
    }
    come_back(&*fixture.store, [narrow, wide, numbers]).await;
}

pub(super) async fn one_byte_more_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let over = METADATA.max_bytes() + 1;
    let refused = Metadata::new(format!("\"{}\"", "x".repeat(over - 2)));
    expect::too_large(refused, METADATA, over);
    // Spaces count like any byte.
    let refused = Metadata::new("1".to_owned() + &" ".repeat(over - 1));
    expect::too_large(refused, METADATA, over);
    assert_eq!(fixture.store.get_by_uri("queue", "uri").await.unwrap(), []);
}

pub(super) async fn what_is_no_json_is_refused(fixture: &Fixture<dyn ChangeStore>) {
    let texts = [
        " ",
        "{",
        "}",
        "[1,]",
        "[,1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "nul",
        "True",
        "01",
        "1.",
        ".5",
        "+1",
        "0x10",
        "NaN",
        "Infinity",
        "-",
        "1e",
        "'x'",
        "{'a': 1}",
        "{a: 1}",
        "\"x",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\t\"",
        "\"\0\"",
        "\0",
        "{}\0",
        "{} {}",
        "1 2",
        "// c\n{}",
        "{/**/}",
        "\u{feff}{}",
        "\u{a0}{}",
        "undefined",
    ];
    for text in texts {
        expect::invalid(Metadata::new(text), "metadata");
    }
    assert_eq!(fixture.store.get_by_uri("queue", "uri").await.unwrap(), []);
}
