//! Reading changed rows again by keys of every type and collation, and by nothing but exactly them.

use changestore_sql::contract::{ChangedRow, ContractPlan, ContractReader, Poll};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params};

use crate::archive::{Archive, Consumer, TABLES};
use crate::random::Random;
use crate::typed;

/// One table, tracked by its rows.
async fn tracked(schema: &str, table: &str) -> (Archive, ContractReader, Connection) {
    let archive = Archive::bare();
    archive.run(schema);
    let plan = format!("[tables]\n\"{table}\" = \"rows\"\n[families]\nf = [\"{table}\"]\n");
    let plan = ContractPlan::from_toml(&plan).unwrap();
    archive.owner().await.enable(&plan).await.unwrap();
    let reader = archive.reader("f").await;
    let connection = archive.connect();
    (archive, reader, connection)
}

/// What these statements have changed: key, and the columns if the row is there.
async fn changed(
    reader: &mut ContractReader,
    connection: &Connection,
    sql: &str,
    table: &str,
    columns: &[&str],
) -> Vec<(String, Option<String>)> {
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    connection.execute_batch(sql).unwrap();
    rows(
        reader
            .snapshot(cursor.as_ref())
            .await
            .unwrap()
            .rows(table, columns)
            .await
            .unwrap(),
    )
}

fn rows(rows: Vec<ChangedRow>) -> Vec<(String, Option<String>)> {
    let texts = rows.into_iter().map(|row| {
        let values = row.values.map(|values| {
            let values: Vec<_> = values.iter().map(typed::ours).collect();
            values.join("|")
        });
        (typed::key(&row.key).join("|"), values)
    });
    texts.collect()
}

fn expected(rows: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
    let owned = |(key, row): &(&str, Option<&str>)| ((*key).to_owned(), row.map(str::to_owned));
    rows.iter().map(owned).collect()
}

#[tokio::test]
async fn a_key_of_another_case_is_another_key() {
    let schema = "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY COLLATE NOCASE, v); INSERT INTO t VALUES ('A', 1)";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    let found = changed(
        &mut reader,
        &connection,
        "UPDATE t SET k = 'a'",
        "t",
        &["k", "v"],
    )
    .await;
    assert_eq!(found, expected(&[("tA", None), ("ta", Some("ta|i1"))]));
}

#[tokio::test]
async fn a_key_of_another_type_is_another_key() {
    let schema = "CREATE TABLE t(k NOT NULL PRIMARY KEY, v)";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    let all = "INSERT INTO t VALUES (1, 'integer'), ('1', 'text'), (x'31', 'blob'), (2.0, 'real')";
    let found = changed(&mut reader, &connection, all, "t", &["v"]).await;
    assert_eq!(
        found,
        expected(&[
            ("i1", Some("tinteger")),
            ("t1", Some("ttext")),
            ("b31", Some("tblob")),
            ("r4000000000000000", Some("treal")),
        ]),
    );
    let sql = "UPDATE t SET k = 2 WHERE v = 'real'";
    let found = changed(&mut reader, &connection, sql, "t", &["v"]).await;
    assert_eq!(
        found,
        expected(&[("r4000000000000000", None), ("i2", Some("treal"))])
    );
}

#[tokio::test]
async fn an_index_of_another_collation_than_its_column() {
    let schema = "CREATE TABLE t(k TEXT NOT NULL, v, PRIMARY KEY(k COLLATE RTRIM)); INSERT INTO t VALUES ('a ', 1)";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    let found = changed(
        &mut reader,
        &connection,
        "UPDATE t SET k = 'a'",
        "t",
        &["v"],
    )
    .await;
    assert_eq!(found, expected(&[("ta ", None), ("ta", Some("i1"))]));
}

#[tokio::test]
async fn texts_with_nul_and_control_characters() {
    let schema = "CREATE TABLE t(k TEXT NOT NULL PRIMARY KEY, v)";
    let (archive, mut reader, connection) = tracked(schema, "t").await;
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    let keys = [
        "a\0b",
        "a\0c",
        "a",
        "\u{1}\u{1f}\"\\/\n",
        "\u{7f}\u{2028}\u{10ffff}",
    ];
    for key in keys {
        connection
            .execute("INSERT INTO t VALUES (?1, ?1)", [key])
            .unwrap();
    }
    let mut snapshot = reader.snapshot(cursor.as_ref()).await.unwrap();
    let found = rows(snapshot.rows("t", &["v"]).await.unwrap());
    snapshot.end().await.unwrap();
    let same: Vec<_> = keys
        .iter()
        .map(|key| (format!("t{key}"), Some(format!("t{key}"))))
        .collect();
    assert_eq!(found, same);

    // Composite, and without the NUL that takes another way.
    drop(archive);
    let schema = "CREATE TABLE t(a TEXT NOT NULL, b TEXT NOT NULL, v, PRIMARY KEY(a, b))";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    for keys in [&keys[..], &keys[2..]] {
        let cursor = reader.poll(None).await.unwrap().next().cloned();
        connection.execute("DELETE FROM t", []).unwrap();
        for key in keys {
            connection
                .execute("INSERT INTO t VALUES (?1, ?1, ?1)", [key])
                .unwrap();
        }
        let mut snapshot = reader.snapshot(cursor.as_ref()).await.unwrap();
        let found = rows(snapshot.rows("t", &["v"]).await.unwrap());
        snapshot.end().await.unwrap();
        for key in keys {
            let row = (format!("t{key}|t{key}"), Some(format!("t{key}")));
            assert!(found.contains(&row), "{row:?} is not among {found:?}");
        }
    }
}

#[tokio::test]
async fn every_real_comes_back_as_it_was() {
    let schema = "CREATE TABLE t(r REAL NOT NULL, n INTEGER NOT NULL, v REAL, PRIMARY KEY(r, n))";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    let mut random = Random(3);
    let mut reals = vec![
        0.1 + 0.2,
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e22,
        1e23,
    ];
    while reals.len() < 5_000 {
        let real = f64::from_bits(random.next());
        if !real.is_nan() {
            reals.push(real);
        }
    }
    connection.execute_batch("BEGIN").unwrap();
    for (n, real) in (0_i64..).zip(&reals) {
        connection
            .execute("INSERT INTO t VALUES (?1, ?2, ?1)", params![real, n])
            .unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    let mut snapshot = reader.snapshot(cursor.as_ref()).await.unwrap();
    let found = rows(snapshot.rows("t", &["r", "v"]).await.unwrap());
    snapshot.end().await.unwrap();
    for (n, (real, (key, row))) in reals.iter().zip(&found).enumerate() {
        let real = format!("r{:016x}", real.to_bits());
        assert_eq!(
            (key, row),
            (&format!("{real}|i{n}"), &Some(format!("{real}|{real}")))
        );
    }
    assert_eq!(found.len(), reals.len());
}

#[tokio::test]
async fn thousands_of_keys_of_each_kind() {
    let archive = Archive::enabled().await;
    let all: Vec<_> = TABLES.iter().map(|(table, ..)| *table).collect();
    let mut consumer = Consumer::new(&archive.path, "rows", &all, 100_000).await;
    consumer.step().await;
    let connection = archive.connect();
    let mut random = Random(5);
    // The log keeps 1,024 entries.
    for first in [0, 150, 300, 450_i64] {
        connection.execute_batch("BEGIN").unwrap();
        for n in first..first + 150 {
            let any = match n % 4 {
                0 => Sql::Integer(n),
                1 => Sql::Text(format!("text {n}")),
                2 => Sql::Blob(n.to_be_bytes().to_vec()),
                _ => Sql::Real(f64::from_bits(random.next() >> 12 | 0x3ff0_0000_0000_0000)),
            };
            for sql in [
                "INSERT INTO plain(id, v) VALUES (?1 * ?1, ?2)",
                "INSERT INTO mixed(v, k) VALUES (?1, ?2)",
                "INSERT INTO pair(a, b, v) VALUES (?1 * ?1, 'key ' || ?1, ?2)",
                "INSERT INTO gauge(r, t, v) VALUES (?1 / 7.0, ?2, ?1)",
                "INSERT INTO \"a b\"(u, \"order\", \"x\"\"y\") VALUES (?1, 'key ' || ?1 % 9, ?2)",
            ] {
                connection.execute(sql, params![n, any]).unwrap();
            }
        }
        connection.execute_batch("COMMIT").unwrap();
        let poll = consumer.catch_up().await;
        assert!(matches!(poll, Poll::Rows(changes) if changes.rows.len() == 750));
        consumer.check("new keys");
    }
    connection
        .execute_batch(
            "UPDATE gauge SET v = -1; DELETE FROM mixed WHERE v % 3 = 0; DELETE FROM pair WHERE a % 5 = 0",
        )
        .unwrap();
    let poll = consumer.catch_up().await;
    assert!(matches!(poll, Poll::Rows(changes) if changes.rows.len() > 900));
    consumer.check("updated and deleted keys");
}

#[tokio::test]
async fn a_column_that_is_not_there_is_an_error() {
    let schema = "CREATE TABLE t(k INTEGER PRIMARY KEY, v)";
    let (_archive, mut reader, connection) = tracked(schema, "t").await;
    let cursor = reader.poll(None).await.unwrap().next().cloned();
    connection
        .execute_batch("INSERT INTO t VALUES (1, 2)")
        .unwrap();
    let mut snapshot = reader.snapshot(cursor.as_ref()).await.unwrap();
    let error = snapshot.rows("t", &["w"]).await.unwrap_err();
    assert!(
        matches!(error.kind(), changestore_core::ErrorKind::Configuration),
        "{error}"
    );
}
