//! Names that need quoting, of tables and of columns.

use crate::archive::Archive;

const NAMES: &[&str] = &[
    "order", "a b", "x\"y", "Ünï", "x'y", "[z]", "`q`", "select", "NEW", "k1", "-- c", "a;b",
    "%_\\", "1", "🦀", "value", "seq", "a_insert", "LOG",
];

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[tokio::test]
async fn any_name_will_do() {
    for name in NAMES {
        let table = quoted(name);
        let (key, unique) = (quoted(&format!("{name}k")), quoted(&format!("{name}u")));
        for create in [
            format!("CREATE TABLE {table}({table} INT NOT NULL PRIMARY KEY, {unique} UNIQUE)"),
            format!(
                "CREATE TABLE {table}({table} INT, {key} DEFAULT 'x', {unique} UNIQUE,
                 PRIMARY KEY({table}, {key})) WITHOUT ROWID"
            ),
        ] {
            let archive = Archive::tracking(&create, &[name]).await;
            assert_eq!(archive.unarmed(), 0, "{create}");
            archive.run(&format!(
                "INSERT INTO {table}({table}, {unique}) VALUES (1, 'a');
                 UPDATE {table} SET {unique} = 'b'; UPDATE {table} SET {table} = 2;
                 REPLACE INTO {table}({table}, {unique}) VALUES (3, 'b'); DELETE FROM {table};"
            ));
            let log = archive.log();
            let ops: Vec<_> = log.iter().map(|(_, _, op, _)| *op).collect();
            let mut replaced = ops[4..6].to_vec();
            replaced.sort_unstable();
            assert_eq!(
                (&ops[..4], &*replaced, &ops[6..]),
                (&[1, 2, 3, 1][..], &[1, 3][..], &[3][..])
            );
            assert!(log.iter().all(|(_, table, _, _)| table == name), "{log:?}");
            let columns = archive.text("SELECT key_columns FROM change_contract_tables");
            let columns: Vec<String> = serde_json::from_str(&columns).unwrap();
            assert_eq!(columns[0], *name);
            let status = archive.owner.status().await.unwrap();
            assert_eq!(status.tables[0].unarmed, None, "{create}");
            assert_eq!(status.warnings, [""; 0]);
            assert!(archive.owner.disable().await.unwrap());
            assert_eq!(archive.objects(), [], "{create}");
        }
    }
}

/// All in one database: no two tables' triggers have one name.
#[tokio::test]
async fn tables_named_like_others_triggers_get_along() {
    let names = [
        "a",
        "a_insert",
        "a_insert_insert",
        "a_update_key",
        "log",
        "log_prune",
        "a_insert_conflicts",
    ];
    let tables: Vec<_> = names
        .iter()
        .map(|name| format!("CREATE TABLE {name}(k INTEGER PRIMARY KEY, u UNIQUE);"))
        .collect();
    let schema = tables.concat();
    let archive = Archive::tracking(&schema, &names).await;
    assert_eq!(archive.unarmed(), 0);
    for name in names {
        let seq = archive.seq();
        archive.run(&format!(
            "INSERT INTO {name} VALUES (1, 1); REPLACE INTO {name} VALUES (2, 1); DELETE FROM {name}"
        ));
        let entries = archive.log_after(seq);
        assert_eq!(entries.len(), 4, "{entries:?}");
        assert!(
            entries.iter().all(|(_, table, _, _)| table == name),
            "{entries:?}"
        );
    }
}

/// SQLite's names have no case; readers compare bytes.
#[tokio::test]
async fn names_are_recorded_as_the_table_was_created() {
    let archive =
        Archive::tracking("CREATE TABLE Things(Id INTEGER PRIMARY KEY)", &["tHINGS"]).await;
    assert_eq!(archive.unarmed(), 0);
    assert_eq!(
        archive.text("SELECT table_name FROM change_contract_tables"),
        "Things"
    );
    assert_eq!(
        archive.text("SELECT table_name FROM change_contract_families"),
        "Things"
    );
    assert_eq!(
        archive.text("SELECT key_columns FROM change_contract_tables"),
        r#"["Id"]"#
    );
}
