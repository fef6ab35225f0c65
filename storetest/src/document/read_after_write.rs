//! A read that starts after a write was acknowledged sees it, from whatever task.

use std::sync::Arc;

use changestore_core::{Condition, DocumentStore, DocumentStoreExt, QueryOptions};

use super::records::{PK, is_absent, is_stored, key, put, record};
use crate::harness::Fixture;

const ROUNDS: usize = 50;

/// Runs a check of the store in a task of its own.
async fn elsewhere<F>(
    fixture: &Fixture<dyn DocumentStore>,
    check: impl FnOnce(Arc<dyn DocumentStore>) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(check(Arc::clone(&fixture.store)))
        .await
        .unwrap();
}

pub(super) async fn get_sees_a_put(fixture: &Fixture<dyn DocumentStore>) {
    for round in 0..ROUNDS {
        let written = put(&*fixture.store, record("sk", format!("round {round}"))).await;
        elsewhere(fixture, async move |store| {
            is_stored(&*store, &written).await;
        })
        .await;
    }
}

pub(super) async fn get_sees_a_delete(fixture: &Fixture<dyn DocumentStore>) {
    let key = key(PK, "sk");
    for _ in 0..ROUNDS {
        let written = put(&*fixture.store, record("sk", "")).await;
        is_stored(&*fixture.store, &written).await;
        fixture.store.delete(&key, Condition::None).await.unwrap();
        let key = key.clone();
        elsewhere(fixture, async move |store| is_absent(&*store, &key).await).await;
    }
}

pub(super) async fn query_sees_puts_and_deletes(fixture: &Fixture<dyn DocumentStore>) {
    let store = &*fixture.store;
    let mut expected = Vec::new();
    for round in 0..ROUNDS {
        expected.push(put(store, record(&format!("{round:02}"), "")).await);
        if round % 3 == 2 {
            let gone = expected.remove(round / 3);
            store.delete(&gone.key, Condition::None).await.unwrap();
        }
        let expected = expected.clone();
        elsewhere(fixture, async move |store| {
            let found = store.query_all(PK, "", QueryOptions::default()).await;
            assert_eq!(found.unwrap(), expected);
        })
        .await;
    }
}

pub(super) async fn an_increment_follows_another_tasks(fixture: &Fixture<dyn DocumentStore>) {
    let key = key(PK, "counter");
    for round in (0..).step_by(2).take(ROUNDS) {
        let here = fixture.store.increment(&key, 1, None).await.unwrap();
        assert_eq!(here, round + 1);
        let key = key.clone();
        elsewhere(fixture, async move |store| {
            let there = store.increment(&key, 1, None).await.unwrap();
            assert_eq!(there, round + 2);
        })
        .await;
    }
}
