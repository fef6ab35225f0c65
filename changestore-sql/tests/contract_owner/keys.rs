//! Keys of every type and collation: the log's form is exact, and what is another key is told to be one.

use changestore_sql::contract::{ContractOwner, ContractReader, Poll, SchemaGuard, Value};

use crate::archive::{Archive, plan};

fn values() -> Vec<(&'static str, Value)> {
    let text = |text: &str| Value::Text(text.to_owned());
    vec![
        ("1", Value::Integer(1)),
        ("-9223372036854775808", Value::Integer(i64::MIN)),
        ("9223372036854775807", Value::Integer(i64::MAX)),
        ("0", Value::Integer(0)),
        ("1.5", Value::Real(1.5)),
        ("1.0000000000000002", Value::Real(1.000_000_000_000_000_2)),
        ("0.1 + 0.2", Value::Real(0.1 + 0.2)),
        ("2.0", Value::Real(2.0)),
        ("1e300", Value::Real(1e300)),
        ("-1e300", Value::Real(-1e300)),
        (
            "9007199254740992.0 * 2",
            Value::Real(18_014_398_509_481_984.0),
        ),
        ("9e999", Value::Real(f64::INFINITY)),
        ("-9e999", Value::Real(f64::NEG_INFINITY)),
        ("'1'", text("1")),
        ("''", text("")),
        ("'it''s \"q\" \\ /'", text("it's \"q\" \\ /")),
        ("char(10) || char(1) || char(127)", text("\n\u{1}\u{7f}")),
        ("'Ünï 😀'", text("Ünï 😀")),
        ("'[1,2]'", text("[1,2]")),
        ("json('[1, 2, 3]')", text("[1,2,3]")),
        ("'null'", text("null")),
        ("x'31'", Value::Blob(b"1".to_vec())),
        ("x''", Value::Blob(Vec::new())),
        ("x'00ff7b7d'", Value::Blob(vec![0, 255, 123, 125])),
    ]
}

async fn keys_seen(
    archive: &Archive,
    cursor: &changestore_sql::contract::Cursor,
) -> Vec<Vec<Value>> {
    let mut reader = ContractReader::open(&archive.path, "f").await.unwrap();
    match reader.poll(Some(cursor)).await.unwrap() {
        Poll::Rows(changes) => changes
            .rows
            .iter()
            .map(|row| row.key.parts().to_vec())
            .collect(),
        other => panic!("{other:?}"),
    }
}

async fn cursor(archive: &Archive) -> changestore_sql::contract::Cursor {
    let mut reader = ContractReader::open(&archive.path, "f").await.unwrap();
    reader.poll(None).await.unwrap().next().unwrap().clone()
}

#[tokio::test]
async fn keys_of_every_type_come_out_as_they_went_in() {
    for create in [
        "CREATE TABLE t(a NOT NULL PRIMARY KEY, v)",
        "CREATE TABLE t(a PRIMARY KEY, v) WITHOUT ROWID",
        "CREATE TABLE t(a ANY PRIMARY KEY, v ANY) STRICT",
        "CREATE TABLE t(a NOT NULL, v NOT NULL, PRIMARY KEY(a, v))",
        "CREATE TABLE t(v, a, PRIMARY KEY(v, a)) WITHOUT ROWID",
        "CREATE TABLE t(a ANY, v ANY, PRIMARY KEY(a, v)) STRICT, WITHOUT ROWID",
    ] {
        let archive = Archive::tracking(create, &["t"]).await;
        let cursor = cursor(&archive).await;
        let composite = create.contains("(a, v)") || create.contains("(v, a)");
        for (sql, _) in values() {
            archive.run(&format!("INSERT INTO t(a, v) VALUES ({sql}, 'x')"));
        }
        let expected: Vec<_> = values()
            .into_iter()
            .map(|(_, value)| match (composite, create.contains("(v, a)")) {
                (false, _) => vec![value],
                (true, false) => vec![value, Value::Text("x".to_owned())],
                (true, true) => vec![Value::Text("x".to_owned()), value],
            })
            .collect();
        assert_eq!(keys_seen(&archive, &cursor).await, expected, "{create}");
        // Updated and deleted under the same keys.
        let seq = archive.seq();
        archive.run("DELETE FROM t");
        let mut deleted: Vec<_> = archive
            .log_after(seq)
            .into_iter()
            .map(|(_, _, _, key)| key)
            .collect();
        let mut inserted: Vec<_> = archive
            .log()
            .into_iter()
            .filter(|(_, _, op, _)| *op == 1)
            .map(|(_, _, _, key)| key)
            .collect();
        deleted.sort();
        inserted.sort();
        assert_eq!(deleted, inserted, "{create}");
        inserted.dedup();
        assert_eq!(
            inserted.len(),
            values().len(),
            "{create}: two keys look the same"
        );
    }
}

/// SQLite's own conversions to and from decimal fractions are off by one unit for some of these.
#[tokio::test]
async fn any_real_is_exact_in_a_composite_key() {
    let archive = Archive::tracking(
        "CREATE TABLE t(a REAL NOT NULL, b NOT NULL, PRIMARY KEY(a, b))",
        &["t"],
    )
    .await;
    let cursor = cursor(&archive).await;
    let mut bits = 0x9e37_79b9_7f4a_7c15_u64;
    let mut expected = vec![
        f64::from_bits(1),
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        0.0,
        5.0,
    ];
    while expected.len() < 3000 {
        bits = bits
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        let real = f64::from_bits(bits ^ (bits >> 29));
        if real.is_finite() {
            expected.push(real);
        }
    }
    archive.run("BEGIN");
    for real in &expected {
        archive
            .writer
            .execute("INSERT INTO t VALUES (?1, ?1)", [real])
            .unwrap();
    }
    archive.run("COMMIT");
    let expected: Vec<_> = expected
        .into_iter()
        .map(|real| vec![Value::Real(real); 2])
        .collect();
    assert_eq!(keys_seen(&archive, &cursor).await, expected);
}

#[tokio::test]
async fn text_with_nul_is_whole() {
    for create in [
        "CREATE TABLE t(a TEXT NOT NULL PRIMARY KEY, v)",
        "CREATE TABLE t(a TEXT, v TEXT, PRIMARY KEY(a, v)) WITHOUT ROWID",
    ] {
        let archive = Archive::tracking(create, &["t"]).await;
        archive
            .writer
            .execute("INSERT INTO t VALUES (?1, ?1)", ["a\0b"])
            .unwrap();
        archive
            .writer
            .execute("INSERT INTO t VALUES (?1, ?1)", ["a\0c"])
            .unwrap();
        archive
            .writer
            .execute("UPDATE t SET a = ?2 WHERE a = ?1", ["a\0c", "a\0d"])
            .unwrap();
        let ops: Vec<_> = archive.log().into_iter().map(|(_, _, op, _)| op).collect();
        assert_eq!(ops, [1, 1, 3, 1], "{create}");
        let found: i64 = archive.number("SELECT count(DISTINCT row_key) FROM change_contract_log");
        assert_eq!(found, 3, "{create}");
    }
}

/// Declared type, the value written, the key in the log: with the column's affinity applied.
#[tokio::test]
async fn the_log_holds_what_the_column_holds() {
    for (declared, sql, single, composite) in [
        ("INT", "'7'", "7", "'[7,0]'"),
        ("INT", "7.0", "7", "'[7,0]'"),
        (
            "INT",
            "7.5",
            "7.5",
            "'[{\"real\":[135107988821114880,-54]},0]'",
        ),
        ("INT", "'x'", "'x'", "'[\"x\",0]'"),
        ("NUMERIC", "'7.0'", "7", "'[7,0]'"),
        ("REAL", "7", "7.0", "'[7.0,0]'"),
        ("REAL", "'7'", "7.0", "'[7.0,0]'"),
        ("REAL", "-0.0", "0.0", "'[0.0,0]'"),
        ("TEXT", "7", "'7'", "'[\"7\",0]'"),
        ("TEXT", "7.0", "'7.0'", "'[\"7.0\",0]'"),
        ("TEXT", "x'37'", "X'37'", "'[{\"blob\":\"37\"},0]'"),
        ("BLOB", "7.0", "7.0", "'[7.0,0]'"),
        ("", "'7'", "'7'", "'[\"7\",0]'"),
    ] {
        let schema = format!(
            "CREATE TABLE t(a {declared} NOT NULL PRIMARY KEY);
             CREATE TABLE c(a {declared}, b, PRIMARY KEY(a, b)) WITHOUT ROWID;"
        );
        let archive = Archive::tracking(&schema, &["t", "c"]).await;
        archive.run(&format!(
            "INSERT INTO t VALUES ({sql}); INSERT INTO c VALUES ({sql}, 0)"
        ));
        let expected = [(1, single.to_owned()), (1, composite.to_owned())];
        assert_eq!(archive.changes_after(0), expected, "{declared} {sql}");
        let stored = archive.text("SELECT quote(a) FROM t");
        assert_eq!(stored, single, "{declared} {sql}");
    }
}

/// Column, old value, new value: equal to the column's own comparison, and another key all the same.
#[tokio::test]
async fn what_looks_equal_can_be_another_key() {
    for (column, old, new) in [
        ("TEXT COLLATE NOCASE", "'A'", "'a'"),
        ("TEXT COLLATE RTRIM", "'a'", "'a '"),
        ("COLLATE NOCASE", "'A'", "'a'"),
        ("", "1", "1.0"),
        ("", "1.0", "1"),
        ("BLOB", "2", "2.0"),
        ("", "1", "'1'"),
        ("", "'1'", "x'31'"),
        ("INT", "-9223372036854775808", "-9223372036854775808.0"),
    ] {
        let schema = format!(
            "CREATE TABLE t(a {column} NOT NULL PRIMARY KEY, v);
             CREATE TABLE w(a {column} PRIMARY KEY, v) WITHOUT ROWID;
             CREATE TABLE c(a {column} NOT NULL, v NOT NULL, PRIMARY KEY(a, v));"
        );
        let archive = Archive::tracking(&schema, &["t", "w", "c"]).await;
        for table in ["t", "w", "c"] {
            let context = format!("{table}: {column} {old} {new}");
            archive.run(&format!("INSERT INTO {table} VALUES ({old}, 0)"));
            let seq = archive.seq();
            archive.run(&format!("UPDATE {table} SET a = {new}"));
            let ops: Vec<_> = archive
                .changes_after(seq)
                .into_iter()
                .map(|(op, _)| op)
                .collect();
            assert_eq!(ops, [3, 1], "{context}");
            let seq = archive.seq();
            archive.run(&format!("UPDATE {table} SET a = {new}"));
            let ops: Vec<_> = archive
                .changes_after(seq)
                .into_iter()
                .map(|(op, _)| op)
                .collect();
            assert_eq!(ops, [2], "{context}");
        }
    }
}

/// Writers that do not trust schemas, with an SQLite that holds JSON functions to be unsafe there: Python's, on
/// some machines. What the triggers and the views call must be harmless to all.
#[tokio::test]
async fn a_writer_that_does_not_trust_schemas_can_write_and_read() {
    let schema = "CREATE TABLE t(a, b TEXT, c, d, e UNIQUE, PRIMARY KEY(a, b, c, d)) WITHOUT ROWID;
         CREATE TABLE u(a, b, v UNIQUE, PRIMARY KEY(a, b)) WITHOUT ROWID";
    let archive = Archive::tracking(schema, &["t", "u"]).await;
    let script = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("PRAGMA trusted_schema = OFF")
for values in [(1, 'a"\\\n\0', 0.1, b'x', 1), (2, "b", 9e999, "c", 1)]:
    db.execute("REPLACE INTO t VALUES (?, ?, ?, ?, ?)", values)
    db.execute("REPLACE INTO u VALUES (?, ?, 1)", values[:2])
db.execute("UPDATE t SET d = 0.5")
db.execute("DELETE FROM u")
db.commit()
for (key,) in db.execute("SELECT row_key FROM change_contract_log WHERE seq <= 2 ORDER BY seq"):
    print(key)
"#;
    let output = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(&archive.path)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = "{\"text\":\"61225C0A00\"}";
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        format!(
            "[1,{text},{{\"real\":[1844674407370955264,-64]}},{{\"blob\":\"78\"}}]\n[1,{text}]\n"
        )
    );
}

/// `hex` gives a text's bytes in the database's encoding, which the key then names.
#[tokio::test]
async fn texts_with_control_characters_are_whole_in_every_encoding() {
    for (encoding, form) in [
        ("UTF-8", r#"[{"text":"C3A40A00"},1]"#),
        ("UTF-16le", r#"[{"utf16le":"E4000A000000"},1]"#),
        ("UTF-16be", r#"[{"utf16be":"00E4000A0000"},1]"#),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("archive.db");
        let writer = rusqlite::Connection::open(&path).unwrap();
        writer
            .execute_batch(&format!(
                "PRAGMA encoding = '{encoding}'; CREATE TABLE t(a TEXT NOT NULL, b NOT NULL, PRIMARY KEY(a, b))"
            ))
            .unwrap();
        let owner = ContractOwner::open(&path, SchemaGuard::Unchecked)
            .await
            .unwrap();
        owner.enable(&plan(&["t"])).await.unwrap();
        let mut reader = ContractReader::open(&path, "f").await.unwrap();
        let cursor = reader.poll(None).await.unwrap().next().cloned();
        writer
            .execute_batch("INSERT INTO t VALUES ('\u{e4}' || char(10, 0), 1)")
            .unwrap();
        let key: String = writer
            .query_row("SELECT row_key FROM change_contract_log", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(key, form);
        let Poll::Rows(changes) = reader.poll(cursor.as_ref()).await.unwrap() else {
            panic!("the insert was not seen")
        };
        let parts = [Value::Text("\u{e4}\n\0".to_owned()), Value::Integer(1)];
        assert_eq!(changes.rows[0].key.parts(), parts, "{encoding}");
        let fetched = reader
            .fetch(cursor.as_ref(), &[("t", &["b"])])
            .await
            .unwrap();
        let values = fetched.rows("t")[0].values.clone();
        assert_eq!(values, Some(vec![Value::Integer(1)]), "{encoding}");
    }
}
