//! A copy without the contract.

use rusqlite::Connection;

use crate::archive::Archive;

const SCHEMA: &str = "
    CREATE TABLE t(k INTEGER PRIMARY KEY, v);
    CREATE TABLE heap(v);
    CREATE TABLE w(a, b, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE INDEX i ON heap(v);
    CREATE VIEW seen AS SELECT * FROM t;
    CREATE TRIGGER mine AFTER INSERT ON t BEGIN INSERT INTO heap VALUES (NEW.v); END;
    PRAGMA user_version = 5; PRAGMA application_id = 77;
    INSERT INTO t VALUES (1, 'a'), (2, x'00ff'), (3, 1.5); INSERT INTO w VALUES (1, 'x');
    INSERT INTO heap(rowid, v) VALUES (900, 'far'); DELETE FROM heap WHERE v = 'a';";

fn content(connection: &Connection) -> Vec<String> {
    let mut all = Vec::new();
    for sql in [
        "SELECT type || ' ' || name || ' ' || ifnull(sql, '') FROM sqlite_schema
         WHERE name NOT LIKE 'change%' AND tbl_name NOT LIKE 'change%' ORDER BY type, name",
        "SELECT k || ' ' || quote(v) FROM t",
        "SELECT rowid || ' ' || quote(v) FROM heap ORDER BY rowid",
        "SELECT quote(a) || ' ' || quote(b) FROM w",
        "SELECT user_version || '' FROM pragma_user_version",
        "SELECT application_id || '' FROM pragma_application_id",
        "PRAGMA integrity_check",
    ] {
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| row.get::<_, String>(0))
            .unwrap();
        all.extend(rows.map(Result::unwrap));
    }
    all
}

#[tokio::test]
async fn an_export_has_the_same_rows_and_nothing_of_the_contract() {
    let archive = Archive::tracking(SCHEMA, &["t", "w", "heap"]).await;
    archive.run(
        "INSERT INTO t VALUES (4, 'kept'); DELETE FROM t WHERE k = 1; UPDATE w SET b = 'secret_key_text';
         UPDATE w SET b = 'y';",
    );
    let objects = archive.objects();
    let log = archive.log();
    let version = archive.number("PRAGMA data_version");
    let copy = archive.path.with_extension("copy");
    archive.owner.export(&copy).await.unwrap();
    let exported = Connection::open(&copy).unwrap();
    let left: i64 = exported
        .query_row(
            "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'change%'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
    assert_eq!(content(&exported), content(&archive.writer));
    let bytes = std::fs::read(&copy).unwrap();
    let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    assert!(has(b"kept"), "the search finds what is there");
    assert!(
        !has(b"secret_key_text") && !has(b"change_contract"),
        "free pages hold the journal"
    );
    // The source is as it was.
    assert_eq!((archive.objects(), archive.log()), (objects, log));
    assert_eq!(archive.number("PRAGMA data_version"), version);
    // The copy's own writes are nobody's business.
    exported
        .execute("INSERT INTO t VALUES (9, 'z')", [])
        .unwrap();
    let files = std::fs::read_dir(copy.parent().unwrap()).unwrap();
    let left = files.filter(|file| {
        file.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("partial")
    });
    assert_eq!(left.count(), 0, "scratch files are left");
}

#[tokio::test]
async fn an_export_without_a_contract_is_a_copy() {
    let archive = Archive::bare(SCHEMA).await;
    let copy = archive.path.with_extension("copy");
    archive.owner.export(&copy).await.unwrap();
    assert_eq!(
        content(&Connection::open(&copy).unwrap()),
        content(&archive.writer)
    );
    let before = std::fs::read(&copy).unwrap();
    let error = archive.owner.export(&copy).await.unwrap_err();
    assert!(error.to_string().contains("exists already"), "{error}");
    assert_eq!(std::fs::read(&copy).unwrap(), before);
    archive
        .owner
        .export(archive.path.join("no/such/folder"))
        .await
        .unwrap_err();
}
