//! A store that is opened for writing arms an enabled change contract again.

use std::time::Duration;

use changestore_core::ErrorKind;
use changestore_sql::SqliteStore;
use changestore_sql::contract::{ContractOwner, ContractPlan, Mode, SchemaGuard, Status};
use sqlx::SqlitePool;

use crate::{File, created};

const DISARM: &str = "DROP TRIGGER change_contract_changestore_claims_insert";

/// A database whose claims are tracked.
async fn tracked(file: &File) -> ContractOwner {
    file.store().await.close().await;
    let owner = ContractOwner::open(&file.path, SchemaGuard::OurMigrations)
        .await
        .unwrap();
    let plan = ContractPlan::new().with_table("changestore_claims", Mode::Rows);
    owner.enable(&plan).await.unwrap();
    owner
}

fn generation(status: &Status) -> i64 {
    status.position.as_ref().unwrap().generation
}

fn is_armed(status: &Status) -> bool {
    status.tables.iter().all(|table| table.unarmed.is_none())
}

#[tokio::test]
async fn every_writable_open_arms_again() {
    let file = File::new();
    let owner = tracked(&file).await;
    for by_pool in [false, true] {
        file.direct().execute_batch(DISARM).unwrap();
        let before = owner.status().await.unwrap();
        assert!(!is_armed(&before));
        let store = if by_pool {
            let pool = SqlitePool::connect(&format!("sqlite:{}", file.path)).await;
            SqliteStore::from_pool(pool.unwrap()).await.unwrap()
        } else {
            file.store().await
        };
        let after = owner.status().await.unwrap();
        assert!(is_armed(&after), "{:?}", after.tables);
        assert_eq!(generation(&after), generation(&before) + 1);
        created(&store, &format!("r {by_pool}")).await;
        let seq = owner.status().await.unwrap().position.unwrap().seq;
        assert_eq!(seq, after.position.unwrap().seq + 1);
        store.close().await;
    }
}

#[tokio::test]
async fn a_contract_that_is_armed_costs_no_lock() {
    let file = File::new();
    let owner = tracked(&file).await;
    let before = owner.status().await.unwrap();
    let lock = file.direct();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Whoever wanted the lock would wait for it; the lock is held until the store is open.
    let options = file.options().with_lock_timeout(Duration::from_hours(1));
    SqliteStore::open_with(options).await.unwrap();
    drop(lock);
    let after = owner.status().await.unwrap();
    assert_eq!(generation(&after), generation(&before));
}

#[tokio::test]
async fn a_lock_is_waited_for_and_then_given_up_on() {
    let file = File::new();
    let owner = tracked(&file).await;
    file.direct().execute_batch(DISARM).unwrap();
    let lock = file.direct();
    lock.execute_batch("BEGIN IMMEDIATE").unwrap();
    let hasty = file.options().with_lock_timeout(Duration::ZERO);
    SqliteStore::open_with(hasty).await.unwrap();
    assert!(!is_armed(&owner.status().await.unwrap()));
    let patient = SqliteStore::open_with(file.options());
    let mut patient = std::pin::pin!(patient);
    let waited = tokio::time::timeout(Duration::from_millis(50), patient.as_mut()).await;
    assert!(waited.is_err(), "the lock was held");
    lock.execute_batch("ROLLBACK").unwrap();
    created(&patient.await.unwrap(), "r").await;
    assert!(is_armed(&owner.status().await.unwrap()));
}

#[tokio::test]
async fn what_is_broken_of_a_contract_is_in_nobodys_way() {
    for breakage in [
        "DROP TABLE change_contract_families",
        "DROP TABLE change_contract_state; CREATE TABLE change_contract_state (x)",
        "DROP TRIGGER change_contract_log_prune",
        "UPDATE change_contract_definitions SET mode = 'nonsense'",
        "DELETE FROM change_contract_state",
    ] {
        let file = File::new();
        tracked(&file).await;
        let direct = file.direct();
        // The triggers go with what they need, or the claims could not be written at all.
        let triggers: Vec<String> = direct
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'changestore_claims'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for trigger in triggers {
            direct
                .execute_batch(&format!("DROP TRIGGER {trigger}"))
                .unwrap();
        }
        direct.execute_batch(breakage).unwrap();
        let store = file.store().await;
        created(&store, "r").await;
    }
}

#[tokio::test]
async fn a_read_only_store_leaves_it_alone() {
    let file = File::new();
    let owner = tracked(&file).await;
    file.direct().execute_batch(DISARM).unwrap();
    let reader = SqliteStore::open_with(file.options().with_read_only(true))
        .await
        .unwrap();
    let error = reader.collect_expired().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied);
    assert!(!is_armed(&owner.status().await.unwrap()));
}
