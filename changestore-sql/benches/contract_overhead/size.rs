//! How much a log entry takes of the file.

use crate::forms::{Form, Key, Table, Width};

/// A row of a thread's review: the number of the thread and the service's own name of the comment.
const COMPOSITE: &str = "INSERT INTO t SELECT i / 10, printf('PRRT_kwDOA%08d', i), '' FROM n";
const INTEGER: &str = "INSERT INTO t SELECT i, '' FROM n";

pub(crate) fn print(rows: usize) {
    println!("\n| key | bytes per log entry |\n|---|---:|");
    for key in Key::ALL {
        let table = Table::new(Form::RowsMode, key, Width::Narrow);
        let pages = || -> i64 {
            let sql = "SELECT page_count FROM pragma_page_count";
            table
                .connection
                .query_row(sql, [], |row| row.get(0))
                .unwrap()
        };
        let insert = match key {
            Key::Integer => INTEGER,
            Key::Composite => COMPOSITE,
        };
        let sql = format!(
            "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows}) {insert}"
        );
        table.connection.execute_batch(&sql).unwrap();
        // What remains when the user's table is gone is the log, but for a few pages that were there before.
        table
            .connection
            .execute_batch(
                "DELETE FROM t; DELETE FROM change_contract_entries WHERE op = 3; VACUUM",
            )
            .unwrap();
        let with = pages();
        table
            .connection
            .execute_batch("DELETE FROM change_contract_entries; VACUUM")
            .unwrap();
        let bytes = u32::try_from((with - pages()) * 4096).unwrap();
        let rows = u32::try_from(rows).unwrap();
        println!(
            "| {} | {:.1} |",
            key.name(),
            f64::from(bytes) / f64::from(rows)
        );
    }
}
