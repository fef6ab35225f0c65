//! The server is killed and comes back: what was acknowledged is there, and the store finds its way back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _, Outcome};
use changestore_sql::{PostgresOptions, PostgresStore};
use tokio::task::{JoinSet, spawn_blocking};

use super::server::{claim, key, record};

const TASKS: usize = 16;

struct Load {
    store: PostgresStore,
    /// Writes that were acknowledged, in all.
    acknowledged: AtomicUsize,
    is_over: AtomicBool,
}

/// What a task was told of its writes.
#[derive(Default)]
struct Told {
    acknowledged: BTreeSet<String>,
    unknown: BTreeSet<String>,
    not_applied: BTreeSet<String>,
    counted: i64,
    perhaps_counted: i64,
}

pub(crate) async fn what_was_acknowledged_survives_a_kill_of_the_server() {
    let server = Arc::new(engines::postgres::start().unwrap());
    let options = PostgresOptions::new(&server.url()).unwrap();
    PostgresStore::migrate_with(options.clone()).await.unwrap();
    let load = Arc::new(Load {
        store: PostgresStore::open_with(options).await.unwrap(),
        acknowledged: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    });
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        tasks.spawn(write(Arc::clone(&load), task));
    }
    for round in 1..=2 {
        reach(&load, round * 600).await;
        let server = Arc::clone(&server);
        spawn_blocking(move || {
            server.kill().unwrap();
            server.restart().unwrap();
        })
        .await
        .unwrap();
    }
    let so_far = load.acknowledged.load(Ordering::Relaxed);
    // The same store goes on without help.
    reach(&load, so_far + 600).await;
    load.is_over.store(true, Ordering::Relaxed);
    let told = tasks.join_all().await;
    check(&load.store, &told).await;
}

async fn reach(load: &Load, acknowledged: usize) {
    while load.acknowledged.load(Ordering::Relaxed) < acknowledged {
        tokio::task::yield_now().await;
    }
}

async fn write(load: Arc<Load>, task: usize) -> Told {
    let mut told = Told::default();
    for step in 0.. {
        if load.is_over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{task}/{step}");
        match load.store.create(claim(&name)).await {
            Ok(_) => {
                told.acknowledged.insert(name.clone());
                load.acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert!(error.is_retryable(), "{error:?}");
                match error.outcome() {
                    Outcome::Unknown => told.unknown.insert(name.clone()),
                    Outcome::NotApplied => told.not_applied.insert(name.clone()),
                };
            }
        }
        match load.store.increment(&key("n"), 1, None).await {
            Ok(_) => told.counted += 1,
            Err(error) if error.outcome() == Outcome::Unknown => told.perhaps_counted += 1,
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
    }
    told
}

async fn check(store: &PostgresStore, told: &[Told]) {
    let claims = store.get_by_uri("queue", "uri").await.unwrap();
    let there: BTreeSet<&str> = claims.iter().map(|claim| claim.key.request_id()).collect();
    let all = |pick: fn(&Told) -> &BTreeSet<String>| -> BTreeSet<&str> {
        told.iter().flat_map(pick).map(String::as_str).collect()
    };
    let acknowledged = all(|told| &told.acknowledged);
    let unknown = all(|told| &told.unknown);
    let not_applied = all(|told| &told.not_applied);
    assert!(acknowledged.is_subset(&there));
    assert!(not_applied.is_disjoint(&there));
    assert!(
        there
            .iter()
            .all(|name| acknowledged.contains(name) || unknown.contains(name))
    );
    let counted: i64 = told.iter().map(|told| told.counted).sum();
    let perhaps: i64 = told.iter().map(|told| told.perhaps_counted).sum();
    let value = store.increment(&key("n"), 0, None).await.unwrap();
    assert!(
        (counted..=counted + perhaps).contains(&value),
        "{counted} {perhaps} {value}"
    );
}

/// Between two writes, with all connections broken: the next write is no ambiguous one.
pub(crate) async fn an_idle_store_writes_on_after_a_restart() {
    let server = Arc::new(engines::postgres::start().unwrap());
    let options = PostgresOptions::new(&server.url()).unwrap();
    PostgresStore::migrate_with(options.clone()).await.unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    store.put(record("a"), Condition::None).await.unwrap();
    let restarting = Arc::clone(&server);
    spawn_blocking(move || restarting.restart().unwrap())
        .await
        .unwrap();
    // A read finds the connection broken, and is asked again on a new one.
    store.get(&key("a")).await.unwrap();
    store.put(record("b"), Condition::IfAbsent).await.unwrap();
    store.get(&key("b")).await.unwrap();
}
