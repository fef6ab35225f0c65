//! Futures that are dropped in the middle, hundreds of them, on few connections.

use std::time::Duration;

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::server::{Schema, claim, connect, key, record, url};

/// So many are dropped, each a little later than the one before.
const DROPPED: u32 = 400;

pub(crate) async fn four_hundred_dropped_operations_leave_a_small_store_whole() {
    let schema = Schema::new().await;
    let options = schema.options().with_connections(3);
    let store = PostgresStore::open_with(options).await.unwrap();
    check(&schema, &store).await;
    schema.drop().await;
}

pub(crate) async fn four_hundred_dropped_operations_leave_a_small_pool_whole() {
    let schema = Schema::new().await;
    let pool = PgPoolOptions::new()
        .max_connections(3)
        .connect(&url())
        .await
        .unwrap();
    let options = PostgresOptions::from_pool(pool.clone())
        .with_schema(&schema.0)
        .unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    check(&schema, &store).await;
    store.close().await;
    // What the user finds in it is in no transaction.
    for _ in 0..3 {
        let mut connection = pool.acquire().await.unwrap();
        let mut times = Vec::new();
        for _ in 0..2 {
            // Within a transaction the time stands still.
            let now: f64 = sqlx::query_scalar("SELECT extract(epoch FROM now())::float8")
                .fetch_one(&mut *connection)
                .await
                .unwrap();
            times.push(now);
        }
        assert!(times[0] < times[1], "a transaction is open");
    }
    schema.drop().await;
}

async fn check(schema: &Schema, store: &PostgresStore) {
    let mut tasks = JoinSet::new();
    for n in 0..DROPPED {
        let store = store.clone();
        tasks.spawn(async move {
            let patience = Duration::from_micros(u64::from(n) * 10);
            let sk = format!("{n}");
            match n % 4 {
                0 => drop(timeout(patience, store.create(claim(&sk))).await),
                1 => drop(timeout(patience, store.put(record(&sk), Condition::None)).await),
                2 => drop(timeout(patience, store.increment(&key("n"), 1, None)).await),
                _ => drop(timeout(patience, store.delete(&key("1"), Condition::None)).await),
            }
        });
    }
    tasks.join_all().await;
    // Whatever is acknowledged from now on is seen by another session: it was committed.
    let mut other = connect().await;
    for n in 0..50 {
        let sk = format!("after-{n}");
        store.put(record(&sk), Condition::IfAbsent).await.unwrap();
        let found: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(format!(
            "SELECT count(*) FROM {}.changestore_documents WHERE sk = $1",
            schema.0
        )))
        .bind(&sk)
        .fetch_one(&mut other)
        .await
        .unwrap();
        assert_eq!(found, 1);
    }
    let open: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' AND query LIKE $1",
    )
    .bind(format!("%{}%", schema.0))
    .fetch_one(&mut other)
    .await
    .unwrap();
    assert_eq!(open, 0);
}
