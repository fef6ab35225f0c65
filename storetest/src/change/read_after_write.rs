//! A read that starts after a write was acknowledged sees it, from whatever task.

use std::sync::Arc;

use changestore_core::ChangeStore;

use super::claims::{claim, create, stored, update, updated};
use crate::harness::Fixture;

const ROUNDS: usize = 50;

pub(super) async fn another_task_sees_the_claim(fixture: &Fixture<dyn ChangeStore>) {
    for round in 0..ROUNDS {
        let claim = claim("queue", &format!("uri {round}"), "request");
        // Asked for before, too: an answer of before must not be given again.
        let before = fixture.store.get_by_uri("queue", claim.key.uri()).await;
        assert_eq!(before.unwrap(), []);
        create(&*fixture.store, &claim).await;
        let store = Arc::clone(&fixture.store);
        let reader = async move { assert_eq!(stored(&*store, &claim.key).await, claim) };
        tokio::spawn(reader).await.unwrap();
    }
}

pub(super) async fn another_task_sees_the_update(fixture: &Fixture<dyn ChangeStore>) {
    let mut current = claim("queue", "uri", "request");
    create(&*fixture.store, &current).await;
    for round in 1..=ROUNDS {
        assert_eq!(stored(&*fixture.store, &current.key).await, current);
        let change = update(round as u64, round as u64 + 1);
        fixture
            .store
            .update_metadata(&current.key, change.clone())
            .await
            .unwrap();
        current = updated(&current, &change);
        let store = Arc::clone(&fixture.store);
        let expected = current.clone();
        let reader = async move { assert_eq!(stored(&*store, &expected.key).await, expected) };
        tokio::spawn(reader).await.unwrap();
    }
}
