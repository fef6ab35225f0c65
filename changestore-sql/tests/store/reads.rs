//! Reads: dropped ones, large ones, damaged ones.

use changestore_core::{ChangeStore, Condition, DocumentStore, ErrorKind, QueryOptions, limits};
use futures::{StreamExt as _, TryStreamExt as _};

use crate::{File, created, key, record};

#[tokio::test]
async fn dropped_reads_leave_their_connections_whole() {
    let file = File::new();
    let options = file.options().with_readers(1);
    let store = changestore_sql::SqliteStore::open_with(options)
        .await
        .unwrap();
    for n in 0..50 {
        let sk = format!("{n:02}");
        store
            .put(record(&sk, &"x".repeat(2_000)), Condition::None)
            .await
            .unwrap();
    }
    for n in 0..400 {
        let mut page = store.query("partition", "", QueryOptions::default());
        for _ in 0..n % 5 {
            if futures::poll!(page.next()).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(page);
        // The only connection there is answers this question, and not the one before.
        let sk = format!("{:02}", n % 50);
        assert_eq!(store.get(&key(&sk)).await.unwrap().key.sk(), sk);
    }
}

#[tokio::test]
async fn a_query_of_the_largest_records_yields_each_once() {
    let file = File::new();
    let store = file.store().await;
    let largest = "x".repeat(limits::DATA.max_bytes());
    for n in 0..20 {
        store
            .put(record(&format!("{n:02}"), &largest), Condition::None)
            .await
            .unwrap();
    }
    for descending in [false, true] {
        let options = QueryOptions::default().with_descending(descending);
        let records = store.query("partition", "", options);
        let found: Vec<String> = records
            .map_ok(|record| record.key.sk().to_owned())
            .try_collect()
            .await
            .unwrap();
        let mut expected: Vec<String> = (0..20).map(|n| format!("{n:02}")).collect();
        if descending {
            expected.reverse();
        }
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn what_this_library_cannot_have_written_is_corrupt() {
    let file = File::new();
    let store = file.store().await;
    created(&store, "r1").await;
    file.direct()
        .execute_batch("UPDATE changestore_claims SET metadata = '{''not'': json}'")
        .unwrap();
    let error = store.get_by_uri("queue", "uri").await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("metadata"), "{error}");
    assert!(!format!("{error:?}").contains("not': json"), "{error:?}");

    store.put(record("a", "1"), Condition::None).await.unwrap();
    file.direct()
        .execute_batch("UPDATE changestore_documents SET etag = CAST(x'ff' AS TEXT)")
        .unwrap();
    let error = store.get(&key("a")).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error:?}");
}

#[tokio::test]
async fn the_greatest_version_does_not_overflow() {
    let file = File::new();
    let store = file.store().await;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    file.direct()
        .execute_batch("UPDATE changestore_documents SET version = 9223372036854775807")
        .unwrap();
    let error = store
        .put(record("a", "2"), Condition::None)
        .await
        .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Corrupt, "{error:?}");
    let stored = store.get(&key("a")).await.unwrap();
    assert_eq!(
        (stored.version.as_i64(), stored.data),
        (i64::MAX, "1".into())
    );
}
