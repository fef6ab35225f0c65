//! What the log keeps, and what it says of the rest.

use changestore_sql::contract::{ContractPlan, Mode};

use crate::archive::Archive;

const FILL: &str = "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
    INSERT INTO t SELECT i, 0 FROM n;";

async fn filled(retention: u64) -> Archive {
    let archive =
        Archive::bare("CREATE TABLE t(k INTEGER PRIMARY KEY, v); CREATE TABLE s(k)").await;
    let plan = ContractPlan::new()
        .with_table("t", Mode::Rows)
        .with_table("s", Mode::Table)
        .with_family("f", ["t"])
        .with_retention(retention);
    archive.owner.enable(&plan).await.unwrap();
    archive.run(FILL);
    archive
}

fn bounds(archive: &Archive) -> (i64, i64, i64) {
    let pruned = archive.number("SELECT pruned_through FROM change_contract_sequence");
    let first = archive.number("SELECT ifnull(min(seq), 0) FROM change_contract_log");
    let entries = archive.number("SELECT count(*) FROM change_contract_log");
    (pruned, first, entries)
}

#[tokio::test]
async fn the_log_keeps_its_span_and_little_more() {
    let archive = filled(1024).await;
    let mut before = 0;
    let mut written: Vec<i64> = (1..=5000).collect();
    for _ in 0..300 {
        let seq = archive.seq();
        archive
            .run("UPDATE t SET v = v + 1 WHERE k <= 37; DELETE FROM s; INSERT INTO s VALUES (1);");
        written.extend(archive.log_after(seq).into_iter().map(|(seq, ..)| seq));
        let (pruned, first, _) = bounds(&archive);
        let seq = archive.seq();
        assert!(first > seq - 1024 - 1024, "{first} of {seq}");
        written.retain(|seq| *seq > pruned);
        let kept: Vec<_> = archive
            .log_after(pruned)
            .into_iter()
            .map(|(seq, ..)| seq)
            .collect();
        assert_eq!(kept, written, "what is not pruned is there");
        assert!(
            pruned <= seq - 1024,
            "{pruned} of {seq} is within the retention"
        );
        assert!(pruned >= before, "what was pruned has come back");
        before = pruned;
        let next = archive.number("SELECT next_prune FROM change_contract_sequence");
        assert!(next > seq && next <= seq + 1024);
    }
    assert!(before > 0);
}

/// Writes of tables in table mode move the span on, too.
#[tokio::test]
async fn table_mode_prunes_what_it_has_left_behind() {
    let archive = filled(1024).await;
    let seq = archive.seq();
    archive.run(
        "WITH n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
         INSERT INTO s SELECT i FROM n;",
    );
    let (pruned, _, entries) = bounds(&archive);
    assert_eq!(entries, 0);
    assert!(pruned >= seq && pruned <= archive.seq() - 1024);
    // Nothing is left, and the numbers go on.
    let seq = archive.seq();
    archive.run("INSERT INTO t VALUES (100000, 0)");
    assert_eq!(
        archive.log(),
        [(seq + 1, "t".to_owned(), 1, "100000".to_owned())]
    );
}

/// Somebody else has emptied the journal: that is not allowed, and yet no number comes twice.
#[tokio::test]
async fn a_number_is_not_used_again_when_the_log_is_empty() {
    let archive = filled(1_000_000).await;
    let mut last = archive.seq();
    assert_eq!(last, 5000);
    for recursive in ["OFF", "ON"] {
        for insert in ["INSERT", "INSERT OR REPLACE", "INSERT OR IGNORE"] {
            archive.run(&format!(
                "PRAGMA recursive_triggers = {recursive}; DELETE FROM change_contract_entries;
                 {insert} INTO t VALUES ({last} + 100000, 0); UPDATE t SET k = -k WHERE k = {last} + 100000"
            ));
            let log = archive.log();
            let numbers: Vec<_> = log.iter().map(|entry| entry.0).collect();
            let first = numbers[0];
            assert!(first > last, "{insert} {first} {last}");
            assert_eq!(numbers, [first, first + 1, first + 2], "{insert}");
            last = first + 2;
            assert_eq!(archive.seq(), last, "{insert}");
            assert_eq!(
                archive.number("SELECT max(last_seq) FROM change_contract_tables"),
                last
            );
        }
    }
    archive.run("DELETE FROM change_contract_entries");
    archive.owner.bump("emptied").await.unwrap();
    archive.run("INSERT INTO t VALUES (0, 1)");
    assert!(archive.log()[0].0 > last);
}

#[tokio::test]
async fn a_lower_retention_prunes_at_once() {
    let archive = filled(1_000_000).await;
    let position = archive.owner.status().await.unwrap().position;
    let plan = ContractPlan::new().with_retention(2000);
    let enabled = archive.owner.enable(&plan).await.unwrap();
    assert!(enabled.retention_changed && enabled.rearmed.is_empty());
    assert_eq!(enabled.retention, 2000);
    assert_eq!(Some(enabled.position), position, "no reader is disturbed");
    assert_eq!(bounds(&archive), (3000, 3001, 2000));
    // Raising it brings nothing back, and says so.
    archive
        .owner
        .enable(&ContractPlan::new().with_retention(1_000_000))
        .await
        .unwrap();
    assert_eq!(bounds(&archive), (3000, 3001, 2000));
    archive.run("UPDATE t SET v = 1 WHERE k <= 200");
    assert_eq!(bounds(&archive), (3000, 3001, 2200));
    archive
        .owner
        .enable(&ContractPlan::new().with_retention(1023))
        .await
        .unwrap_err();
}

#[tokio::test]
async fn what_is_pruned_comes_back_with_the_transaction() {
    let archive = filled(1024).await;
    let before = bounds(&archive);
    archive.run("BEGIN; UPDATE t SET v = v + 1; ROLLBACK");
    assert_eq!(bounds(&archive), before);
    assert_eq!(archive.seq(), 5000);
}
