//! Keys and texts on a server whose locale orders them otherwise, and the plans of the statements.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, DocumentStore as _, DocumentStoreExt as _, Key,
    Metadata, NewRecord, QueryOptions, Timestamp,
};
use sqlx::Row as _;
use sqlx::error::DatabaseError;

use super::server::{Schema, connect, run};

pub(crate) async fn keys_are_ordered_by_bytes_where_the_database_is_not() {
    let mut connection = connect().await;
    let is_otherwise: bool = sqlx::query_scalar("SELECT 'a' < 'B'")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert!(
        is_otherwise,
        "the database's locale should not order by bytes"
    );
    let schema = Schema::new().await;
    let store = schema.store().await;
    let sks = [
        "b",
        "a",
        "B",
        "a b",
        "ab",
        "ä",
        "a\u{301}",
        "_",
        "Z",
        "é",
        "\u{e000}",
        "\u{1f600}",
    ];
    for sk in sks {
        let record = NewRecord::new(Key::new("p", sk).unwrap(), "x").unwrap();
        store
            .put(record, changestore_core::Condition::IfAbsent)
            .await
            .unwrap();
    }
    let mut sorted = sks.to_vec();
    sorted.sort_unstable();
    let records = store
        .query_all("p", "", QueryOptions::default())
        .await
        .unwrap();
    let found: Vec<&str> = records.iter().map(|record| record.key.sk()).collect();
    assert_eq!(found, sorted);
    schema.drop().await;
}

pub(crate) async fn a_long_compressible_key_is_refused_by_the_table() {
    let schema = Schema::new().await;
    let mut connection = connect().await;
    // An index takes it, because it compresses to nearly nothing; only the check keeps it out.
    let insert = format!(
        "INSERT INTO {}.changestore_documents (pk, sk, counter) VALUES ($1, 'sk', 1)",
        schema.0
    );
    let error = sqlx::query(sqlx::AssertSqlSafe(insert))
        .bind("k".repeat(100_000))
        .execute(&mut connection)
        .await
        .unwrap_err();
    let code = error.as_database_error().and_then(DatabaseError::code);
    assert_eq!(code.as_deref(), Some("23514"));
    schema.drop().await;
}

pub(crate) async fn metadata_are_kept_with_null_escapes_and_spacing() {
    let schema = Schema::new().await;
    let store = schema.store().await;
    let text = "{ \"a\":1.5777777777770001, \"a\" : 1e400,\n\"n\": \"\\u0000'\\\\ $1\" }";
    let key = ChangeKey::new("q", "u", "r").unwrap();
    let metadata = Metadata::new(text).unwrap();
    let _ = store
        .create(ChangeRecord::new(key, metadata, Timestamp::EPOCH))
        .await
        .unwrap();
    let claims = store.get_by_uri("q", "u").await.unwrap();
    assert_eq!(claims[0].metadata.as_str(), text);
    schema.drop().await;
}

/// What the server really did, by its counters: no table was scanned from end to end, though they are small
/// and the plans were made when they were empty.
pub(crate) async fn every_statement_goes_by_the_key_alone() {
    let schema = Schema::new().await;
    let store = schema.store().await;
    for n in 0..300 {
        let key = Key::new("p", format!("{n:03}")).unwrap();
        let record = NewRecord::new(key.clone(), "x").unwrap();
        let put = store
            .put(record.clone(), changestore_core::Condition::None)
            .await
            .unwrap();
        store
            .put(record, changestore_core::Condition::IfEtag(put.etag))
            .await
            .unwrap();
        store.get(&key).await.unwrap();
        store
            .increment(&Key::new("c", "c").unwrap(), 1, None)
            .await
            .unwrap();
    }
    for descending in [false, true] {
        let options = QueryOptions::default()
            .with_descending(descending)
            .with_limit(250);
        assert_eq!(
            store
                .query_all("p", "", options.clone())
                .await
                .unwrap()
                .len(),
            250
        );
        assert_eq!(store.query_all("p", "1", options).await.unwrap().len(), 100);
    }
    store
        .delete(
            &Key::new("p", "000").unwrap(),
            changestore_core::Condition::None,
        )
        .await
        .unwrap();
    store.collect_expired().await.unwrap();
    // A session's counters are flushed when it ends, at the latest.
    store.close().await;
    let mut connection = connect().await;
    let counters = format!(
        "SELECT seq_scan, idx_scan FROM pg_stat_user_tables \
         WHERE schemaname = '{}' AND relname = 'changestore_documents'",
        schema.0
    );
    let (scans, searches) = loop {
        let row = sqlx::query(sqlx::AssertSqlSafe(counters.clone()))
            .fetch_one(&mut connection)
            .await
            .unwrap();
        let searches: Option<i64> = row.get(1);
        // The server's own pace: until the closed session's counters are there.
        if searches.unwrap_or(0) >= 900 {
            break (row.get::<i64, _>(0), searches.unwrap_or(0));
        }
        run(&mut connection, "SELECT pg_stat_clear_snapshot()").await;
        tokio::task::yield_now().await;
    };
    // The table was scanned once, when its index was built.
    assert!(
        scans <= 1,
        "{scans} scans beside {searches} searches of the key"
    );
    let indexes: i64 = sqlx::query_scalar("SELECT count(*) FROM pg_indexes WHERE schemaname = $1")
        .bind(&schema.0)
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(indexes, 3, "the keys of claims, documents and migrations");
    schema.drop().await;
}
