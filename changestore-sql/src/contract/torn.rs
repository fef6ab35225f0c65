//! Enabling that is interrupted anywhere: it has done nothing, and the next time it does it all.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::install::enable;
use super::objects::{self, Presence};
use super::plan::{ContractPlan, Mode};

async fn connect(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true);
    options.connect().await.unwrap()
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(sql).execute(connection).await.unwrap();
}

async fn schema(connection: &mut SqliteConnection) -> Vec<(String, Option<String>)> {
    sqlx::query_as("SELECT name, sql FROM sqlite_schema ORDER BY name")
        .fetch_all(connection)
        .await
        .unwrap()
}

/// SQLite breaks off the transaction after some steps of its virtual machine, each time a few later; then the
/// connection is closed as it is, as by a crash.
async fn torn_everywhere(before: &'static str, keeps: Option<i64>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("archive.db");
    let plan = ContractPlan::new()
        .with_table("a", Mode::Rows)
        .with_table("b", Mode::Rows)
        .with_family("f", ["a", "b"]);
    let mut connection = connect(&path).await;
    run(
        &mut connection,
        "CREATE TABLE a(k INTEGER PRIMARY KEY, u UNIQUE); CREATE TABLE b(x INT, y, PRIMARY KEY(x, y)) WITHOUT ROWID",
    )
    .await;
    if keeps.is_some() {
        run(&mut connection, "BEGIN").await;
        enable(&mut connection, &plan.clone().with_retention(7000))
            .await
            .unwrap();
        run(&mut connection, "COMMIT; INSERT INTO a VALUES (1, 1)").await;
    }
    run(&mut connection, before).await;
    let found = schema(&mut connection).await;
    let epoch: Option<String> = match keeps {
        Some(_) => sqlx::query_scalar("SELECT epoch FROM change_contract_state")
            .fetch_optional(&mut connection)
            .await
            .unwrap_or_default(),
        None => None,
    };
    connection.close().await.unwrap();
    let mut failures = 0;
    for at in 1.. {
        let mut connection = connect(&path).await;
        run(&mut connection, "BEGIN IMMEDIATE").await;
        let mut steps = 0;
        connection
            .lock_handle()
            .await
            .unwrap()
            .set_progress_handler(50, move || {
                steps += 1;
                steps < at
            });
        let result = enable(&mut connection, &plan).await;
        connection
            .lock_handle()
            .await
            .unwrap()
            .remove_progress_handler();
        if result.is_ok() {
            run(&mut connection, "COMMIT").await;
            break;
        }
        failures += 1;
        drop(connection);
        let mut connection = connect(&path).await;
        assert_eq!(schema(&mut connection).await, found, "broken off at {at}");
    }
    assert!(failures > 20, "it was broken off only {failures} times");
    let mut connection = connect(&path).await;
    assert_eq!(
        objects::presence(&mut connection).await.unwrap(),
        Presence::Whole
    );
    let (now, retention): (String, i64) =
        sqlx::query_as("SELECT epoch, retention FROM change_contract_state")
            .fetch_one(&mut connection)
            .await
            .unwrap();
    assert_eq!(retention, keeps.unwrap_or(1_000_000));
    assert_ne!(Some(now), epoch);
    run(
        &mut connection,
        "INSERT INTO a VALUES (2, 2); INSERT INTO b VALUES (1, 1)",
    )
    .await;
    let entries: i64 = sqlx::query_scalar("SELECT count(*) FROM change_contract_log")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(entries, 2);
}

#[tokio::test]
async fn a_first_enabling_that_is_torn_leaves_nothing() {
    torn_everywhere("SELECT 1", None).await;
}

#[tokio::test]
async fn a_repair_that_is_torn_can_be_repeated() {
    torn_everywhere("DROP TABLE change_contract_families", Some(7000)).await;
    torn_everywhere("DROP TRIGGER change_contract_log_prune", Some(7000)).await;
    torn_everywhere("DROP TABLE change_contract_state", Some(7000)).await;
}
