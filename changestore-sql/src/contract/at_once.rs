//! A fetch takes one statement: these cases have no transaction to fall back on.

mod values;

use super::fetch_sql::Statement;
use super::observe::LastChanges;
use super::verify::tables;
use super::{
    ChangedRow, ContractOwner, ContractPlan, ContractReader, Cursor, Fetched, Mode, Operation,
    Poll, RebuildReason, RowKey, SchemaGuard, Value,
};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Row as _};
use tempfile::TempDir;

struct Archive {
    writer: SqliteConnection,
    reader: ContractReader,
    cursor: Cursor,
    _folder: TempDir,
}

impl Archive {
    async fn new() -> Self {
        let schema = "CREATE TABLE one(id INTEGER PRIMARY KEY, v);
             CREATE TABLE two(a TEXT NOT NULL COLLATE NOCASE, b NOT NULL, v, PRIMARY KEY(a, b));
             CREATE TABLE counted(v)";
        let plan = ContractPlan::new()
            .with_table("one", Mode::Rows)
            .with_table("two", Mode::Rows)
            .with_table("counted", Mode::Table)
            .with_family("rows", ["one", "two"])
            .with_family("all", ["one", "two", "counted"]);
        Self::of(schema, &plan).await
    }

    /// With one table, which is all of the family.
    async fn of_table(name: &str, columns: &str) -> Self {
        let plan = ContractPlan::new()
            .with_table(name, Mode::Rows)
            .with_family("rows", [name]);
        Self::of(&format!("CREATE TABLE {name}({columns})"), &plan).await
    }

    /// Its reader is of the family `rows`.
    async fn of(schema: &str, plan: &ContractPlan) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        let mut writer = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .connect()
            .await
            .unwrap();
        sqlx::raw_sql(AssertSqlSafe(schema))
            .execute(&mut writer)
            .await
            .unwrap();
        let owner = ContractOwner::open(&path, SchemaGuard::Unchecked)
            .await
            .unwrap();
        owner.enable(plan).await.unwrap();
        let mut reader = ContractReader::open(&path, "rows").await.unwrap();
        let cursor = reader.poll(None).await.unwrap().next().cloned().unwrap();
        Self {
            writer,
            reader,
            cursor,
            _folder: folder,
        }
    }

    async fn write(&mut self, sql: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(sql))
            .execute(&mut self.writer)
            .await;
        done.unwrap();
    }

    /// The one changed row of a table, by one statement and by a snapshot.
    async fn both_ways_give(&mut self, table: &str, columns: &[&str], expected: &[Value]) {
        let cursor = Some(&self.cursor);
        let fetched = self
            .reader
            .fetch_at_once(cursor, &[(table, columns)])
            .await
            .unwrap()
            .unwrap();
        assert_eq!(
            fetched.rows(table)[0].values.as_deref(),
            Some(expected),
            "{table}"
        );
        let mut snapshot = self.reader.snapshot(cursor).await.unwrap();
        let rows = snapshot.rows(table, columns).await.unwrap();
        assert_eq!(rows[0].values.as_deref(), Some(expected), "{table}");
        snapshot.end().await.unwrap();
    }

    /// By one statement, or none.
    async fn fetch_at_once(&mut self) -> Option<Fetched> {
        let wanted: [(&str, &[&str]); 2] = [("one", &["v"]), ("two", &["b", "v"])];
        let cursor = Some(&self.cursor);
        self.reader.fetch_at_once(cursor, &wanted).await.unwrap()
    }
}

fn row(key: RowKey, operation: Operation, values: Option<&[Value]>) -> ChangedRow {
    ChangedRow {
        key,
        operation,
        values: values.map(<[Value]>::to_vec),
    }
}

fn key(parts: Value, of: usize) -> RowKey {
    RowKey::decode(parts, of).unwrap()
}

#[tokio::test]
async fn one_statement_decides_and_reads_the_rows() {
    let mut archive = Archive::new().await;
    let unchanged = archive.fetch_at_once().await.unwrap();
    assert!(matches!(unchanged.poll, Poll::Unchanged { .. }));

    archive
        .write(
            "INSERT INTO one VALUES (1, 0.1), (2, 'gone'); UPDATE one SET v = x'00' WHERE id = 1;
             DELETE FROM one WHERE id = 2;
             INSERT INTO two VALUES ('A', 9223372036854775807, 'x'), ('b\"{', 1.0, NULL);
             UPDATE two SET a = 'a' WHERE v = 'x'",
        )
        .await;
    let fetched = archive.fetch_at_once().await.unwrap();
    assert!(matches!(&fetched.poll, Poll::Rows(changes) if changes.rows.len() == 5));
    let int = Value::Integer;
    let text = |text: &str| Value::Text(text.to_owned());
    assert_eq!(
        fetched.rows("one"),
        [
            row(
                key(int(1), 1),
                Operation::Update,
                Some(&[Value::Blob(vec![0])])
            ),
            row(key(int(2), 1), Operation::Delete, None),
        ]
    );
    let two = |json: &str| key(text(json), 2);
    assert_eq!(
        fetched.rows("two"),
        [
            row(
                two(r#"["b\"{",1.0]"#),
                Operation::Insert,
                Some(&[Value::Real(1.0), Value::Null])
            ),
            row(two(r#"["A",9223372036854775807]"#), Operation::Delete, None),
            row(
                two(r#"["a",9223372036854775807]"#),
                Operation::Insert,
                Some(&[int(i64::MAX), text("x")])
            ),
        ]
    );
}

/// Every batch ends where it may, and together they are all.
#[tokio::test]
async fn batches_of_all_sizes() {
    for batch in [7, 599, 600, 601, 1_000, 5_000] {
        let mut archive = Archive::new().await;
        archive.reader = archive.reader.with_batch(batch);
        archive
            .write(
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
                 INSERT INTO one SELECT i, -i FROM n",
            )
            .await;
        let mut rows = Vec::new();
        loop {
            let fetched = archive.fetch_at_once().await.unwrap();
            let Poll::Rows(changes) = &fetched.poll else {
                panic!("{fetched:?}")
            };
            assert!(changes.rows.len() <= batch as usize);
            assert_eq!(changes.rows.len(), fetched.rows("one").len());
            rows.extend_from_slice(fetched.rows("one"));
            archive.cursor = changes.next.clone();
            if !changes.more {
                break;
            }
        }
        let expected = (1..=1_200).map(|id| {
            let values = [Value::Integer(-id)];
            row(key(Value::Integer(id), 1), Operation::Insert, Some(&values))
        });
        assert_eq!(rows, expected.collect::<Vec<_>>(), "batches of {batch}");
        let end = archive.fetch_at_once().await.unwrap();
        assert!(matches!(end.poll, Poll::Unchanged { .. }), "{end:?}");
    }
}

/// Of a row that changed often, the last is told, whether SQLite has grouped the entries or not.
#[tokio::test]
async fn a_row_that_changes_often_is_told_once() {
    for times in [1, 7, 8, 400, 600] {
        let mut archive = Archive::new().await;
        archive
            .write("INSERT INTO one VALUES (1, 0); INSERT INTO two VALUES ('a', 1, 0)")
            .await;
        for time in 1..=times {
            archive
                .write(&format!(
                    "UPDATE one SET v = {time}; UPDATE two SET v = {time}"
                ))
                .await;
        }
        let fetched = archive.fetch_at_once().await.unwrap();
        assert!(matches!(&fetched.poll, Poll::Rows(changes) if changes.rows.len() == 2));
        let one = &fetched.rows("one")[0];
        assert_eq!(one.operation, Operation::Update, "{times}");
        assert_eq!(one.values, Some(vec![Value::Integer(times)]));
        let two = &fetched.rows("two")[0];
        assert_eq!(
            two.values,
            Some(vec![Value::Integer(1), Value::Integer(times)])
        );
    }
}

/// However often it changed, the statement hands over one copy of a large row: what it packs is no longer than two.
#[tokio::test]
async fn a_large_row_is_read_once() {
    for times in [20, 900] {
        let mut archive = Archive::new().await;
        archive
            .write(&format!(
                "INSERT INTO one VALUES (1, printf('%.*c', 100000, 'x')), (2, 'small');
                 INSERT INTO two VALUES ('1', 1, 'small');
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {times})
                   INSERT OR REPLACE INTO one SELECT 1, one.v FROM n, one WHERE one.id = 1"
            ))
            .await;
        let tables = tables(&mut archive.writer, "rows", LastChanges::Positions);
        let tables = tables.await.unwrap();
        let statement = Statement::new(&tables, &[("one", &["v"]), ("two", &["v"])]);
        let row = sqlx::query(AssertSqlSafe(statement.sql()))
            .bind(tables.ids.as_str())
            .bind(archive.cursor.seq)
            .bind(1_000)
            .bind("rows")
            .bind(false)
            .fetch_one(&mut archive.writer)
            .await
            .unwrap();
        let packed: &str = row.try_get(9).unwrap();
        assert!(packed.len() > 100_000);
        assert!(packed.len() < 200_000, "{} bytes", packed.len());
        let fetched = archive.fetch_at_once().await.unwrap();
        assert_eq!(fetched.rows("one").len(), 2, "{times}");
        assert_eq!(fetched.rows("two").len(), 1, "{times}");
    }
}

#[tokio::test]
async fn a_changed_table_in_table_mode_is_no_rows() {
    let mut archive = Archive::new().await;
    let path = archive.reader.path().to_path_buf();
    archive.reader = ContractReader::open(path, "all").await.unwrap();
    archive.reader.poll(None).await.unwrap();
    archive.write("INSERT INTO one VALUES (1, 1)").await;
    let fetched = archive.fetch_at_once().await.unwrap();
    assert_eq!(fetched.rows("one").len(), 1);
    archive.write("INSERT INTO counted VALUES (1)").await;
    let fetched = archive.fetch_at_once().await.unwrap();
    assert!(matches!(
        &fetched.poll,
        Poll::Rebuild { reason: RebuildReason::TableMode(table), .. } if table == "counted"
    ));
    assert!(fetched.rows("one").is_empty());
}
