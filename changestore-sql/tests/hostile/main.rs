//! What comes from outside as text: URLs, cursors, plans. Anything may stand in it: it is taken or refused, never a
//! panic; and what is taken has one meaning.
//!
//! `PROPTEST_CASES` says how many of each are tried; a failure prints its seed, which is kept beside the test.

mod fuzz;

use changestore_sql::contract::{ContractPlan, Cursor};
use changestore_sql::{MySqlOptions, PostgresOptions, SqliteOptions};
use proptest::prelude::*;

/// Anything, and what looks like it.
fn text_like(pattern: &'static str) -> impl Strategy<Value = String> {
    prop_oneof![any::<String>(), pattern.prop_map(String::from)]
}

/// A URL as a user mistypes it: the parts of a right one, some of them wrong.
const URL: &str = "(sqlite|postgres|postgresql|mysql|mariadb|file|x)://([a-z%+]{0,6}:s3cretword@)?\
                   [a-z0-9.\\[\\]:%-]{0,12}(:[0-9]{0,7})?(/[a-z%/ ]{0,8})?(\\?([a-z_-]{1,12}=[a-zA-Z0-9%-]{0,6}&?){0,3})?";

const CURSOR: &str = "\\{(\"(epoch|generation|schema_version|seq|file|device|inode|born_ns)\":\
                      (null|-?[0-9]{1,22}|\"[a-z]{0,3}\"|\\{\\}|1e400|[\\[\\]]{0,2}),?){0,7}\\}";

const PLAN: &str = "(retention = -?[0-9]{1,22}\n)?(\\[tables\\]\n([a-z\"'.]{1,6} = (\"rows\"|\"table\"|[0-9a-z\"]{0,4})\n){0,3})?\
                    (\\[families\\]\n([a-z]{1,6} = \\[(\"[a-z]{0,3}\",?){0,3}\\]\n){0,2})?";

fn take_url(url: &str) {
    let mut printed = vec![format!("{:?}", SqliteOptions::new(url).map(drop).err())];
    printed.push(match PostgresOptions::new(url) {
        Ok(options) => format!("{options:?}"),
        Err(error) => format!("{error} {error:?}"),
    });
    printed.push(match MySqlOptions::new(url) {
        Ok(options) => format!("{options:?}"),
        Err(error) => format!("{error} {error:?}"),
    });
    // To SQLite all that is no URL is a path, which has no password.
    for printed in &printed[1..] {
        assert!(!printed.contains("s3cretword"), "{printed}");
    }
}

fn take_cursor(text: &str) {
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
    }
}

fn take_plan(text: &str) {
    if let Ok(plan) = ContractPlan::from_toml(text) {
        assert_eq!(ContractPlan::from_toml(text).unwrap(), plan);
    }
}

proptest! {
    #[test]
    fn a_url_is_taken_or_refused_and_no_password_is_repeated(url in text_like(URL)) {
        take_url(&url);
    }

    #[test]
    fn a_cursor_is_taken_or_refused_and_means_what_it_prints(text in text_like(CURSOR)) {
        take_cursor(&text);
    }

    #[test]
    fn every_cursor_survives_being_stored(
        epoch in "[^\0]{1,40}",
        numbers in any::<[u32; 3]>(),
        file in any::<(u64, u64, Option<i64>)>(),
    ) {
        let text = serde_json::json!({
            "epoch": epoch,
            "generation": numbers[0],
            "schema_version": numbers[1],
            "seq": numbers[2],
            "file": {"device": file.0, "inode": file.1, "born_ns": file.2},
        });
        let cursor: Cursor = text.to_string().parse().unwrap();
        prop_assert_eq!(&cursor.epoch, &epoch);
        prop_assert_eq!(cursor.seq, i64::from(numbers[2]));
        prop_assert_eq!(cursor.to_string().parse::<Cursor>().unwrap(), cursor);
    }

    #[test]
    fn a_plan_is_taken_or_refused(text in text_like(PLAN)) {
        take_plan(&text);
    }

    #[test]
    fn a_prefix_is_a_plain_name_or_refused(prefix in text_like("[a-z_]{1,8}[a-z0-9_]{0,70}")) {
        let is_plain = |prefix: &str| {
            prefix.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let postgres = PostgresOptions::new("postgres://127.0.0.1/test").unwrap();
        let mysql = MySqlOptions::new("mysql://127.0.0.1/test").unwrap();
        let taken = [
            postgres.clone().with_table_prefix(&prefix).is_ok(),
            postgres.with_schema(&prefix).is_ok(),
            mysql.with_table_prefix(&prefix).is_ok(),
        ];
        prop_assert!(is_plain(&prefix) || taken == [false; 3], "{:?}: {:?}", prefix, taken);
    }
}
