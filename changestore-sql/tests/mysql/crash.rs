//! A server that is killed in the middle of a load, and comes back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use changestore_core::DocumentStoreExt as _;
use changestore_core::{
    ChangeStore as _, Condition, DocumentStore as _, ErrorKind, Outcome, QueryOptions,
};
use engines::mariadb;
use tokio::task::JoinSet;

use crate::server::{open, options};
use crate::{claim, key, record};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB"]
async fn what_was_acknowledged_survives_and_the_store_recovers_by_itself() {
    let server = Arc::new(mariadb::start().unwrap());
    let store = open(options(&server).with_connect_timeout(Duration::from_secs(20))).await;
    let acknowledged = Arc::new(AtomicUsize::new(0));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for task in 0..16 {
        let (store, acknowledged) = (store.clone(), Arc::clone(&acknowledged));
        let is_over = Arc::clone(&is_over);
        tasks.spawn(async move {
            let (mut claims, mut version, mut counted) = (Vec::new(), 0, (0, 0));
            let sk = format!("record{task}");
            for step in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let request = format!("{task}/{step}");
                match store.create(claim(&request)).await {
                    Ok(_) => claims.push(request),
                    Err(error) => assert_lost(&error),
                }
                match store
                    .put(record(&sk, &step.to_string()), Condition::None)
                    .await
                {
                    Ok(record) => {
                        assert!(record.version.get() > version);
                        version = record.version.get();
                    }
                    Err(error) => assert_lost(&error),
                }
                match store
                    .increment(&key(&format!("counter{task}")), 1, None)
                    .await
                {
                    Ok(value) => {
                        counted.0 += 1;
                        assert!((counted.0..=counted.0 + counted.1).contains(&value));
                    }
                    Err(error) => {
                        assert_lost(&error);
                        counted.1 += i64::from(error.outcome() == Outcome::Unknown);
                    }
                }
                acknowledged.fetch_add(1, Ordering::Relaxed);
            }
            (task, claims, version, counted)
        });
    }
    for _ in 0..2 {
        let before = acknowledged.load(Ordering::Relaxed);
        wait_for(&acknowledged, before + 200).await;
        let killed = Arc::clone(&server);
        let restart = move || killed.kill().and_then(|()| killed.restart());
        tokio::task::spawn_blocking(restart).await.unwrap().unwrap();
    }
    let before = acknowledged.load(Ordering::Relaxed);
    wait_for(&acknowledged, before + 200).await;
    is_over.store(true, Ordering::Relaxed);
    let stored = store.get_by_uri("queue", "uri").await.unwrap();
    let stored: BTreeMap<_, _> = stored
        .iter()
        .map(|claim| (claim.key.request_id(), claim))
        .collect();
    for (task, claims, version, counted) in tasks.join_all().await {
        for request in &claims {
            let found = stored.contains_key(request.as_str())
                || store
                    .get_by_uri("queue", "uri")
                    .await
                    .unwrap()
                    .iter()
                    .any(|claim| claim.key.request_id() == request);
            assert!(found, "{request} was lost");
        }
        let record = store.get(&key(&format!("record{task}"))).await.unwrap();
        assert!(record.version.get() >= version, "a put was lost");
        let value = store
            .increment(&key(&format!("counter{task}")), 0, None)
            .await
            .unwrap();
        let (known, unknown) = counted;
        assert!(
            (known..=known + unknown).contains(&value),
            "{value} of {counted:?}"
        );
    }
    // None is half: each can be read.
    store
        .query_all("partition", "", QueryOptions::default())
        .await
        .unwrap();
}

/// The server was gone; nothing else may be told.
fn assert_lost(error: &changestore_core::Error) {
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
}

async fn wait_for(count: &AtomicUsize, at_least: usize) {
    while count.load(Ordering::Relaxed) < at_least {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
