//! enable, rearm, bump, disable, status.

use changestore_core::ErrorKind;
use changestore_sql::contract::{ContractPlan, Mode, Presence};

use crate::archive::{Archive, plan};

const SCHEMA: &str = "
    CREATE TABLE a(k INTEGER PRIMARY KEY, u UNIQUE, v);
    CREATE TABLE b(x INT NOT NULL, y TEXT NOT NULL, v, PRIMARY KEY(x, y));
    CREATE TABLE c(k INTEGER PRIMARY KEY);";

#[tokio::test]
async fn enabling_twice_changes_nothing() {
    let archive = Archive::bare(SCHEMA).await;
    let plan = plan(&["a", "b"]);
    let first = archive.owner.enable(&plan).await.unwrap();
    assert!(first.created);
    assert_eq!(
        (
            first.position.generation,
            first.position.seq,
            first.retention
        ),
        (1, 0, 1_000_000)
    );
    assert_eq!(archive.unarmed(), 0);
    let version = archive.number("PRAGMA data_version");
    for plan in [plan, ContractPlan::new()] {
        let again = archive.owner.enable(&plan).await.unwrap();
        assert!(again.is_unchanged(), "{again:?}");
        assert_eq!(again.position, first.position);
    }
    assert_eq!(
        archive.number("PRAGMA data_version"),
        version,
        "something was written"
    );
    assert!(archive.owner.rearm().await.unwrap().unwrap().is_unchanged());
}

/// The whole log and the epoch stay; the triggers are the same again.
#[tokio::test]
async fn what_disarms_a_table_is_found_and_repaired() {
    for (what, breaks, is_armed_for_readers) in [
        ("a trigger is dropped", "DROP TRIGGER change_contract_a_update", false),
        ("a trigger of ours alone is dropped", "DROP TRIGGER change_contract_a_update_key", true),
        ("another", "DROP TRIGGER change_contract_a_insert_replaced", true),
        (
            "a trigger is altered",
            "DROP TRIGGER change_contract_a_insert;
             CREATE TRIGGER change_contract_a_insert AFTER INSERT ON a BEGIN SELECT 1; END",
            false,
        ),
        (
            "the table is rebuilt",
            "BEGIN; CREATE TABLE a_new(k INTEGER PRIMARY KEY, u UNIQUE, v, w); INSERT INTO a_new(k, u, v)
             SELECT k, u, v FROM a; DROP TABLE a; ALTER TABLE a_new RENAME TO a; COMMIT;",
            false,
        ),
        (
            "the table is renamed aside",
            "ALTER TABLE a RENAME TO a_old; CREATE TABLE a(k INTEGER PRIMARY KEY, u UNIQUE, v);
             INSERT INTO a SELECT k, u, v FROM a_old;",
            false,
        ),
        ("the key's column is renamed", "ALTER TABLE a RENAME COLUMN k TO id", false),
        ("the table is created in other letters", "DROP TABLE a; CREATE TABLE A(k INTEGER PRIMARY KEY, u UNIQUE, v)", false),
    ] {
        let archive = Archive::tracking(SCHEMA, &["a", "b"]).await;
        archive.run("INSERT INTO a VALUES (1, 'a', 0); INSERT INTO b VALUES (1, 'x', 0);");
        let before = archive.owner.status().await.unwrap();
        archive.run(breaks);
        // The family still says `a`: where the table has another case it is not there for readers.
        if archive.number("SELECT count(*) FROM sqlite_schema WHERE name = 'a'") == 1 {
            assert_eq!(archive.unarmed() == 0, is_armed_for_readers, "{what}");
        }
        let broken = archive.owner.status().await.unwrap();
        assert!(broken.tables[0].unarmed.is_some(), "{what}");
        assert_eq!(broken.tables[1].unarmed, None, "{what}");
        let seq = archive.seq();
        let enabled = archive.owner.rearm().await.unwrap().unwrap();
        assert!(!enabled.created);
        assert_eq!(enabled.rearmed.len(), 1, "{what}");
        assert!(enabled.rearmed[0].eq_ignore_ascii_case("a"), "{what}");
        let before_position = before.position.unwrap();
        assert_eq!(enabled.position.epoch, before_position.epoch, "{what}");
        assert_eq!(enabled.position.generation, before_position.generation + 1, "{what}");
        assert_eq!(enabled.position.seq, seq, "{what}");
        assert_eq!(archive.unarmed(), 0, "{what}");
        let after = archive.owner.status().await.unwrap();
        assert!(after.tables.iter().all(|table| table.unarmed.is_none()), "{what}: {after:?}");
        assert_eq!(after.tables[0].table_id, before.tables[0].table_id, "{what}");
        assert_eq!(archive.log_after(0)[0].3, "1", "{what}: the log is gone");
        archive.run("INSERT INTO a(u) VALUES ('new')");
        assert_eq!(archive.seq(), seq + 1, "{what}: journaled once");
        assert!(archive.owner.enable(&ContractPlan::new()).await.unwrap().is_unchanged());
    }
}

#[tokio::test]
async fn tables_and_families_come_and_go() {
    let archive = Archive::tracking(SCHEMA, &["a"]).await;
    archive.run("INSERT INTO a VALUES (1, 'a', 0)");
    let added = archive.owner.enable(&plan(&["a", "b"])).await.unwrap();
    assert_eq!(
        (added.added, added.removed.len(), added.created),
        (vec!["b".to_owned()], 0, false)
    );
    assert!(added.families_changed);
    assert_eq!(added.position.generation, 2);
    archive.run("INSERT INTO b VALUES (1, 'x', 0)");
    let removed = archive.owner.enable(&plan(&["b"])).await.unwrap();
    assert_eq!(removed.removed, ["a"]);
    assert_eq!(
        removed.position.generation, 2,
        "who still reads is not disturbed"
    );
    archive.run("UPDATE a SET v = 1; UPDATE b SET v = 1");
    assert_eq!(archive.seq(), 3, "an untracked table is not journaled");
    assert_eq!(
        archive.number("SELECT count(*) FROM change_contract_log"),
        3
    );
    assert_eq!(
        archive
            .number("SELECT count(*) FROM sqlite_schema WHERE tbl_name = 'a' AND type = 'trigger'"),
        0
    );
    let again = archive.owner.enable(&plan(&["a", "b"])).await.unwrap();
    assert_eq!(again.position.generation, 3);
    let ids = |name: &str| {
        archive.number(&format!(
            "SELECT table_id FROM change_contract_tables WHERE table_name = '{name}'"
        ))
    };
    assert_eq!(
        (ids("a"), ids("b")),
        (3, 2),
        "identifiers are never given again"
    );
    // A mode is changed in place.
    let plan = plan(&["a", "b"]).with_table("b", Mode::Table);
    let changed = archive.owner.enable(&plan).await.unwrap();
    assert_eq!(changed.rearmed, ["b"]);
    assert_eq!((ids("b"), changed.position.generation), (2, 4));
    archive.run("UPDATE b SET v = 2");
    assert_eq!((archive.seq(), archive.log_after(3).len()), (4, 0));
    // A family of a table that is tracked already. Somebody may have a cursor of one with that name.
    let plan = plan.with_family("g", ["a"]);
    let named = archive.owner.enable(&plan).await.unwrap();
    assert_eq!(named.position.generation, 5);
    let plan = plan.with_family("g", ["b"]);
    let joined = archive.owner.enable(&plan).await.unwrap();
    assert_eq!(joined.position.generation, 6);
    assert_eq!(archive.owner.status().await.unwrap().families.len(), 2);
}

#[tokio::test]
async fn a_dropped_table_has_its_identifier_again() {
    let archive = Archive::tracking(SCHEMA, &["a", "b"]).await;
    archive.run("DROP TABLE a");
    let status = archive.owner.status().await.unwrap();
    assert!(
        status.tables[0]
            .unarmed
            .as_ref()
            .unwrap()
            .contains("does not exist")
    );
    assert!(archive.owner.rearm().await.unwrap().unwrap().is_unchanged());
    archive.owner.enable(&plan(&["a", "b"])).await.unwrap_err();
    archive.run("CREATE TABLE a(k INTEGER PRIMARY KEY)");
    let enabled = archive.owner.rearm().await.unwrap().unwrap();
    assert_eq!(enabled.rearmed, ["a"]);
    assert_eq!(
        archive.number("SELECT table_id FROM change_contract_tables WHERE table_name = 'a'"),
        1
    );
}

/// Whatever is missing or altered: a whole contract, a new epoch, the old retention.
#[tokio::test]
async fn a_partial_contract_is_replaced() {
    let wanted = plan(&["a", "b"]).with_retention(5000);
    let whole = {
        let archive = Archive::bare(SCHEMA).await;
        archive.owner.enable(&wanted).await.unwrap();
        archive.objects()
    };
    let mut breaks: Vec<_> = whole
        .iter()
        .filter(|(_, name)| {
            name == "change_contract_log_prune" || !name.contains("_a_") && !name.contains("_b_")
        })
        .map(|(kind, name)| format!("DROP {kind} {name}"))
        .collect();
    assert_eq!(breaks.len(), 15, "{breaks:?}");
    breaks.extend(
        [
            "DELETE FROM change_contract_state",
            "INSERT INTO change_contract_state SELECT * FROM change_contract_state",
            "UPDATE change_contract_state SET contract_version = 2",
            "DELETE FROM change_contract_positions WHERE id = 0",
            "DELETE FROM change_contract_positions WHERE id = 1",
            "DELETE FROM change_contract_positions WHERE id = -2",
            "DELETE FROM change_contract_powers WHERE exponent > 0",
            "INSERT INTO change_contract_entries VALUES (1000000, 1, 1, 1, NULL, NULL, NULL)",
            "ALTER TABLE change_contract_entries ADD COLUMN more",
        ]
        .map(str::to_owned),
    );
    for sql in breaks {
        let archive = Archive::bare(SCHEMA).await;
        let first = archive.owner.enable(&wanted).await.unwrap();
        archive.run("INSERT INTO a VALUES (1, 'a', 0)");
        // A trigger whose table is gone is SQLite's business; here nothing but what is dropped changes.
        archive.run(&sql.replace("INSERT INTO change_contract_entries", "DELETE FROM change_contract_entries; DROP TRIGGER change_contract_log_prune; INSERT INTO change_contract_entries"));
        let status = archive.owner.status().await.unwrap();
        assert_eq!(status.presence, Presence::Partial, "{sql}");
        assert_eq!(archive.owner.rearm().await.unwrap(), None, "{sql}");
        let error = archive.owner.bump("a try").await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Configuration, "{sql}");
        let plan = plan(&["a", "b"]);
        let enabled = archive.owner.enable(&plan).await.unwrap();
        assert!(enabled.created, "{sql}");
        assert_ne!(enabled.position.epoch, first.position.epoch, "{sql}");
        assert_eq!(enabled.retention, 5000, "{sql}");
        assert_eq!(
            (enabled.position.generation, enabled.position.seq),
            (1, 0),
            "{sql}"
        );
        assert_eq!(archive.objects(), whole, "{sql}");
        assert_eq!(archive.unarmed(), 0, "{sql}");
        archive.run("INSERT INTO a VALUES (2, 'b', 0)");
        assert_eq!(archive.log().len(), 1, "{sql}");
    }
}

#[tokio::test]
async fn a_contract_of_nothing_but_triggers_is_replaced() {
    let archive = Archive::tracking(SCHEMA, &["a"]).await;
    let objects = archive.objects();
    for kind in ["view", "table"] {
        for (_, name) in objects.iter().filter(|(found, _)| found == kind) {
            archive.run(&format!("DROP {kind} IF EXISTS {name}"));
        }
    }
    assert!(archive.objects().iter().any(|(kind, _)| kind == "trigger"));
    let enabled = archive.owner.enable(&plan(&["a"])).await.unwrap();
    assert_eq!((enabled.created, enabled.retention), (true, 1_000_000));
    assert_eq!(archive.objects(), objects);
}

#[tokio::test]
async fn bump_advances_the_generation_and_keeps_the_reason() {
    let archive = Archive::tracking(SCHEMA, &["a"]).await;
    archive.run("INSERT INTO a VALUES (1, 'a', 0)");
    let position = archive.owner.bump("restored from a dump").await.unwrap();
    assert_eq!((position.generation, position.seq), (2, 1));
    let status = archive.owner.status().await.unwrap();
    assert_eq!(
        status.generation_reason.as_deref(),
        Some("restored from a dump")
    );
    assert_eq!(status.position, Some(position));
    let error = archive.owner.bump("  ").await.unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::InvalidArgument {
            field: "reason",
            ..
        }
    ));
}

#[tokio::test]
async fn disable_leaves_nothing_and_enable_begins_anew() {
    let archive = Archive::tracking(SCHEMA, &["a", "b"]).await;
    archive.run("INSERT INTO a VALUES (1, 'a', 0)");
    let epoch = archive.text("SELECT epoch FROM change_contract_state");
    assert!(archive.owner.disable().await.unwrap());
    assert_eq!(archive.objects(), []);
    assert!(!archive.owner.disable().await.unwrap());
    let status = archive.owner.status().await.unwrap();
    assert_eq!((status.presence, status.position), (Presence::Absent, None));
    assert_eq!(archive.owner.rearm().await.unwrap(), None);
    assert_eq!(archive.objects(), [], "rearm has created something");
    archive.owner.bump("a try").await.unwrap_err();
    archive.run("INSERT INTO a VALUES (2, 'b', 0)");
    let enabled = archive.owner.enable(&plan(&["a"])).await.unwrap();
    assert!(enabled.created);
    assert_ne!(enabled.position.epoch, epoch);
}

/// Nothing of the user's is touched, whatever its name.
#[tokio::test]
async fn disable_spares_a_table_with_a_similar_name() {
    let schema = format!(
        "{SCHEMA} CREATE TABLE change_contract_notes_of_mine(k); CREATE TABLE change_contractx(k)"
    );
    let archive = Archive::tracking(&schema, &["a"]).await;
    archive.owner.disable().await.unwrap();
    let names: Vec<_> = archive
        .objects()
        .into_iter()
        .map(|(_, name)| name)
        .collect();
    assert_eq!(names, ["change_contract_notes_of_mine", "change_contractx"]);
}

#[tokio::test]
async fn the_status_says_it_all() {
    let archive = Archive::bare(SCHEMA).await;
    let plan = ContractPlan::new()
        .with_table("a", Mode::Rows)
        .with_table("b", Mode::Rows)
        .with_table("c", Mode::Table)
        .with_family("f", ["a", "b"])
        .with_family("g", ["c", "untracked", "missing"]);
    archive.run("CREATE TABLE untracked(k)");
    archive.owner.enable(&plan).await.unwrap();
    archive.run("INSERT INTO b VALUES (1, 'x', 0), (2, 'x', 0); INSERT INTO c VALUES (1)");
    let status = archive.owner.status().await.unwrap();
    assert_eq!(status.presence, Presence::Whole);
    assert_eq!(status.log_entries, Some(2));
    assert_eq!(status.retention, Some(1_000_000));
    assert_eq!(status.pruned_through, Some(0));
    let tables: Vec<_> = status
        .tables
        .iter()
        .map(|table| {
            (
                &*table.name,
                table.mode,
                table.key_columns.join(","),
                table.last_seq,
            )
        })
        .collect();
    let expected = [
        ("a", Mode::Rows, "k".to_owned(), 0),
        ("b", Mode::Rows, "x,y".to_owned(), 2),
        ("c", Mode::Table, String::new(), 3),
    ];
    assert_eq!(tables, expected);
    assert_eq!(status.warnings.len(), 2, "{:?}", status.warnings);
    let json = serde_json::to_value(&status).unwrap();
    assert_eq!(json["presence"], "whole");
    assert_eq!(json["tables"][1]["mode"], "rows");
    assert_eq!(json["position"]["seq"], 3);
}
