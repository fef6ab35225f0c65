//! How many requests an operation makes, if nobody else is at its key, and if many are.

use changestore_core::{
    ChangeStore, Condition, CreateOutcome, DocumentStore, Metadata, MetadataUpdate, Timestamp,
    Version,
};
use futures::future::join_all;

use super::*;

const READ: &str = "ReadRows";
const WRITE: &str = "CheckAndMutateRow";
const ADD: &str = "ReadModifyWriteRow";

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn every_operation_is_one_request_but_those_that_cannot_be() {
    let site = Site::new().await;
    let store = &site.store;
    let sent = |methods: &[&str]| assert_eq!(site.proxy.seen(), methods);

    for outcome in [CreateOutcome::Created, CreateOutcome::AlreadyThere] {
        assert_eq!(store.create(claim("1")).await.unwrap(), outcome);
        sent(&[WRITE]);
    }
    store.get_by_uri("queue", "uri").await.unwrap();
    sent(&[READ]);
    let update = MetadataUpdate {
        metadata: Metadata::default(),
        old_version: Version::FIRST,
        new_version: Version::from(2),
        updated_at: Timestamp::EPOCH,
    };
    store
        .update_metadata(&claim("1").key, update)
        .await
        .unwrap();
    sent(&[WRITE]);

    let put = |condition| store.put(record("a", "data"), condition);
    let first = put(Condition::IfAbsent).await.unwrap();
    sent(&[WRITE]);
    let second = put(Condition::IfVersion(first.version)).await.unwrap();
    sent(&[WRITE]);
    put(Condition::IfEtag(second.etag)).await.unwrap();
    sent(&[WRITE]);
    // Which version follows is not known without asking.
    put(Condition::None).await.unwrap();
    sent(&[READ, WRITE]);
    store.get(&key("a")).await.unwrap();
    sent(&[READ]);
    let found = store.query("partition", "", changestore_core::QueryOptions::default());
    let found: Vec<_> = futures::TryStreamExt::try_collect(found).await.unwrap();
    assert_eq!(found.len(), 1);
    sent(&[READ]);
    store.delete(&key("a"), Condition::None).await.unwrap();
    sent(&[WRITE]);

    // Begun by a second request, since the first cannot know that nothing was there.
    store.increment(&key("n"), 1, None).await.unwrap();
    sent(&[ADD, WRITE]);
    store.increment(&key("n"), 1, None).await.unwrap();
    sent(&[ADD]);
    store
        .increment(&key("n"), 1, Some(site.clock_after(1)))
        .await
        .unwrap();
    sent(&[READ, WRITE]);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn over_what_has_expired_a_lease_is_one_request() {
    let site = Site::new().await;
    let store = &site.store;
    let soon = site.clock_after(1);
    let lease = record("lease", "ada").with_expire_at(soon);
    store.put(lease, Condition::IfAbsent).await.unwrap();
    site.clock.set(soon);
    site.proxy.seen();
    let heir = store.put(record("lease", "bob"), Condition::IfAbsent).await;
    assert_eq!(heir.unwrap().version, Version::FIRST);
    assert_eq!(site.proxy.seen(), [WRITE]);
}

const TASKS: usize = 32;
const EACH: usize = 8;

/// Runs a call many times in many tasks at once; how many requests that took for each.
async fn contended<F>(
    site: &Site,
    stores: &[BigtableStore],
    call: impl Fn(BigtableStore) -> F + Copy + Send + 'static,
) -> f64
where
    F: Future<Output = ()> + Send,
{
    site.proxy.seen();
    let running = (0..TASKS).map(|task| {
        let store = stores[task % stores.len()].clone();
        tokio::spawn(async move {
            for _ in 0..EACH {
                call(store.clone()).await;
            }
        })
    });
    for ended in join_all(running).await {
        ended.unwrap();
    }
    let requests = u32::try_from(site.proxy.seen().len()).unwrap();
    f64::from(requests) / f64::from(u32::try_from(TASKS * EACH).unwrap())
}

async fn put(store: BigtableStore) {
    let put = store.put(record("a", "data"), Condition::None);
    put.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn thirty_two_writers_of_one_key_write_dense_versions() {
    let site = Site::new().await;
    // The tasks of one store take turns.
    let of_one = contended(&site, std::slice::from_ref(&site.store), put).await;
    let last = site.store.get(&key("a")).await.unwrap();
    assert_eq!(last.version.get(), (TASKS * EACH) as u64);
    assert!((of_one - 2.0).abs() < f64::EPSILON, "{of_one}");
    // Those of several stores, which may be several processes', find that others were faster.
    let stores: Vec<_> = (0..4).map(|_| site.another()).collect();
    let of_four = contended(&site, &stores, put).await;
    let last = site.store.get(&key("a")).await.unwrap();
    assert_eq!(last.version.get(), (2 * TASKS * EACH) as u64);
    println!(
        "requests for each unconditional put, {TASKS} tasks at one key: {of_one:.2} with one store, \
         {of_four:.2} with 4"
    );
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn thirty_two_incrementers_of_one_counter_count_exactly() {
    let site = Site::new().await;
    assert_eq!(site.count().await, 0);
    // However many there are, they are not in each other's way.
    let stores: Vec<_> = (0..4).map(|_| site.another()).collect();
    let per_increment = contended(&site, &stores, |store| async move {
        store.increment(&key("n"), 1, None).await.unwrap();
    });
    let per_increment = per_increment.await;
    assert!(
        (per_increment - 1.0).abs() < f64::EPSILON,
        "{per_increment}"
    );
    let counted = usize::try_from(site.count().await).unwrap();
    assert_eq!(counted, TASKS * EACH);

    let ends = Some(site.clock_after(1_000));
    let ending = move |store: BigtableStore| async move {
        store.increment(&key("n"), 1, ends).await.unwrap();
    };
    let of_one = contended(&site, std::slice::from_ref(&site.store), ending).await;
    let of_four = contended(&site, &stores, ending).await;
    let counted = usize::try_from(site.count().await).unwrap();
    assert_eq!(counted, 3 * TASKS * EACH);
    println!(
        "requests for each increment, {TASKS} tasks at one counter: {per_increment:.2} with 4 stores; \
         with an expiry {of_one:.2} with one store, {of_four:.2} with 4"
    );
}
