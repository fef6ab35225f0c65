//! Fuzz targets of the same texts.
//!
//! As tests they run for a second each, or as long as `BOLERO_RANDOM_TEST_TIME_MS` says; `cargo bolero test` runs one
//! under libFuzzer or AFL.

use bolero::check;

/// A text: of a byte's lower half each the character, of its upper half what such texts are made of.
fn text(made_of: &[&str], bytes: &[u8]) -> String {
    let piece = |byte: &u8| match byte.checked_sub(128) {
        None => char::from(*byte).to_string(),
        Some(number) => made_of[usize::from(number) % made_of.len()].to_owned(),
    };
    bytes.iter().map(piece).collect()
}

#[test]
fn urls() {
    const MADE_OF: &[&str] = &[
        "postgres://",
        "mysql://",
        "mariadb://",
        "sqlite:",
        "://",
        "[::1]",
        "127.0.0.1",
        ":5432",
        ":99999",
        "/app",
        "%2F",
        "%",
        "%zz",
        "?sslmode=",
        "verify-full",
        "&",
        "ssl-mode=",
        "host=",
        "password=",
        "é",
        "\u{0}",
    ];
    const WITH_A_PASSWORD: [&str; 3] = ["postgres", "mysql", "mariadb"];
    check!().for_each(|bytes| {
        let Some((first, bytes)) = bytes.split_first() else {
            return;
        };
        let rest = text(MADE_OF, bytes);
        super::take_url(&match WITH_A_PASSWORD.get(usize::from(*first) % 4) {
            Some(scheme) => format!("{scheme}://user:s3cretword@{rest}"),
            None => rest,
        });
    });
}

#[test]
fn cursors() {
    const MADE_OF: &[&str] = &[
        "{",
        "}",
        "\"epoch\":",
        "\"generation\":",
        "\"schema_version\":",
        "\"seq\":",
        "\"file\":",
        "\"device\":",
        "\"inode\":",
        "\"born_ns\":",
        ",",
        "\"e\"",
        "1",
        "-1",
        "18446744073709551616",
        "1e400",
        "null",
        "[",
        "]",
    ];
    check!().for_each(|bytes| super::take_cursor(&text(MADE_OF, bytes)));
}

#[test]
fn plans() {
    const MADE_OF: &[&str] = &[
        "retention = ",
        "1024",
        "-1",
        "\n",
        "[tables]\n",
        "[families]\n",
        "t",
        " = ",
        "\"rows\"",
        "\"table\"",
        "[",
        "]",
        "\"t\"",
        ",",
        ".",
        "'",
        "#",
        "\"\"\"",
        "é",
        "99999999999999999999",
    ];
    check!().for_each(|bytes| super::take_plan(&text(MADE_OF, bytes)));
}
