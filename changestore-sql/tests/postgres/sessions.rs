//! What becomes of statements in their sessions: batches, replicas, garbage, hangs.

use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, CreateOutcome, DocumentStore as _, ErrorKind, ManualClock,
    Outcome, Timestamp,
};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use tokio::task::JoinSet;

use super::server::{Schema, claim, connect, key, record, run, url};

/// Creates that wait for the only connection become one statement, and each is told its own truth: also two
/// of one key in one batch.
pub(crate) async fn creates_that_wait_are_one_statement() {
    let schema = Schema::new().await;
    let store = PostgresStore::open_with(schema.options().with_connections(1))
        .await
        .unwrap();
    // Each statement leaves one row, whatever it creates.
    let mut owner = connect().await;
    let name = &schema.0;
    run(
        &mut owner,
        format!("CREATE TABLE {name}.statements (n int)"),
    )
    .await;
    run(
        &mut owner,
        format!(
            "CREATE FUNCTION {name}.note() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN INSERT INTO {name}.statements VALUES (1); RETURN NULL; END $$"
        ),
    )
    .await;
    run(
        &mut owner,
        format!(
            "CREATE TRIGGER note AFTER INSERT ON {name}.changestore_claims \
             FOR EACH STATEMENT EXECUTE FUNCTION {name}.note()"
        ),
    )
    .await;
    // The first one waits for the owner, and the others for the connection.
    let mut transaction = owner.begin().await.unwrap();
    run(
        &mut transaction,
        format!("LOCK TABLE {name}.changestore_claims"),
    )
    .await;
    let mut tasks = JoinSet::new();
    for n in 0..40 {
        let store = store.clone();
        tasks.spawn(async move { store.create(claim(&format!("{}", n / 2))).await.unwrap() });
    }
    let waits = format!("{store:?}");
    assert!(waits.contains("waiting"), "{waits}");
    while !format!("{store:?}").contains("waiting: 39") {
        tokio::task::yield_now().await;
    }
    transaction.commit().await.unwrap();
    let outcomes = tasks.join_all().await;
    let created = outcomes
        .iter()
        .filter(|outcome| **outcome == CreateOutcome::Created);
    assert_eq!(created.count(), 20);
    let statements: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
        "SELECT count(*) FROM {name}.statements"
    )))
    .fetch_one(&mut owner)
    .await
    .unwrap();
    assert_eq!(statements, 2);
    schema.drop().await;
}

pub(crate) async fn a_replica_is_named() {
    let schema = Schema::new().await;
    let connect: PgConnectOptions = url().parse().unwrap();
    let read_only = connect.options([("default_transaction_read_only", "on")]);
    let pool = PgPoolOptions::new().connect_with(read_only).await.unwrap();
    let options = PostgresOptions::from_pool(pool)
        .with_schema(&schema.0)
        .unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    let error = store.put(record("r"), Condition::None).await.unwrap_err();
    assert!(error.to_string().contains("replica"), "{error}");
    assert_eq!(error.outcome(), Outcome::NotApplied);
    schema.drop().await;
}

pub(crate) async fn garbage_is_collected_by_those_who_write() {
    let schema = Schema::new().await;
    let clock = ManualClock::new(Timestamp::from_millis(1_000).unwrap());
    let store = PostgresStore::open_with(schema.options().with_clock(clock.clone()))
        .await
        .unwrap();
    let soon = Timestamp::from_millis(2_000).unwrap();
    for n in 0..100 {
        let record = record(&format!("old-{n}")).with_expire_at(soon);
        store.put(record, Condition::None).await.unwrap();
    }
    let mut other = connect().await;
    let rows = format!("SELECT count(*) FROM {}.changestore_documents", schema.0);
    let mut count = async || -> i64 {
        sqlx::query_scalar(sqlx::AssertSqlSafe(rows.clone()))
            .fetch_one(&mut other)
            .await
            .unwrap()
    };
    clock.advance(Duration::from_hours(23));
    assert_eq!(
        store.collect_expired().await.unwrap(),
        0,
        "not within a day"
    );
    clock.advance(Duration::from_hours(2));
    for n in 0..130 {
        store
            .put(record(&format!("new-{n}")), Condition::None)
            .await
            .unwrap();
    }
    // The step comes after the answer that made it due, on the same connection as the next write.
    store.close().await;
    assert_eq!(count().await, 130);
    let store = PostgresStore::open_with(schema.options().with_clock(clock.clone()))
        .await
        .unwrap();
    for n in 0..1_200 {
        store
            .increment(
                &key(&format!("c-{n:04}")),
                1,
                Some(clock.now_plus_a_second()),
            )
            .await
            .unwrap();
    }
    clock.advance(Duration::from_hours(25));
    assert_eq!(store.collect_expired().await.unwrap(), 1_200);
    assert_eq!(count().await, 130);
    schema.drop().await;
}

trait NowPlus {
    fn now_plus_a_second(&self) -> Timestamp;
}

impl NowPlus for ManualClock {
    fn now_plus_a_second(&self) -> Timestamp {
        changestore_core::Clock::now(self).saturating_add(Duration::from_secs(1))
    }
}

/// A lock that is never given up: the write's outcome is unknown, and the store goes on.
pub(crate) async fn a_statement_that_hangs_is_given_up() {
    let schema = Schema::new().await;
    let options = schema
        .options()
        .with_connections(1)
        .with_operation_timeout(Duration::from_millis(300));
    let store = PostgresStore::open_with(options).await.unwrap();
    store.put(record("r"), Condition::None).await.unwrap();
    let mut owner = connect().await;
    let mut transaction = owner.begin().await.unwrap();
    run(
        &mut transaction,
        format!(
            "SELECT 1 FROM {}.changestore_documents FOR UPDATE",
            schema.0
        ),
    )
    .await;
    let error = store.put(record("r"), Condition::None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert_eq!(error.outcome(), Outcome::Unknown);
    assert!(error.is_retryable());
    // On a new connection, beside the lock.
    store.put(record("other"), Condition::None).await.unwrap();
    transaction.rollback().await.unwrap();
    schema.drop().await;
}
