//! How the server finds what it is asked for: by the primary key alone, and reading no row for nothing.
//!
//! The statements are those that the server has logged, with their parameters.

use changestore_core::{
    ChangeStore as _, Condition, DocumentStore as _, DocumentStoreExt as _, MetadataUpdate,
    QueryOptions, Timestamp, Version,
};
use changestore_sql::MySqlStore;
use engines::{Server, mariadb};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Row as _};

use crate::server::{direct, execute, open, run};
use crate::{claim, key, record};

/// Many other claims and records before, between and behind.
const FILL: &str = "\
INSERT INTO changestore_claims (queue, uri, request_id, version, created_at, updated_at, metadata)
SELECT ELT(1 + seq % 3, 'a', 'queue', 'z'), CONCAT('uri', seq DIV 3), 'r', 1, 0, 0, '{}' FROM seq_1_to_30000;
INSERT INTO changestore_documents (pk, sk, version, etag, data)
SELECT ELT(1 + seq % 3, 'a', 'partition', 'z'), CONCAT('x', LPAD(seq, 6, '0')), 1, 'e', 'data' FROM seq_1_to_30000;
ANALYZE TABLE changestore_claims, changestore_documents";

async fn filled() -> (Server, MySqlStore) {
    let server = mariadb::start_with(&[("log_output", "TABLE")]).unwrap();
    let options = changestore_sql::MySqlOptions::new(&server.url()).unwrap();
    let store = open(options.with_connections(1)).await;
    run(&server, FILL).await;
    (server, store)
}

/// One of each; each page of a query in both directions.
async fn everything(store: &MySqlStore) {
    assert!(store.create(claim("r1")).await.is_ok());
    assert!(store.create(claim("r1")).await.is_ok());
    let update = MetadataUpdate {
        metadata: changestore_core::Metadata::default(),
        old_version: Version::FIRST,
        new_version: Version::FIRST,
        updated_at: Timestamp::EPOCH,
    };
    store
        .update_metadata(&claim("r1").key, update)
        .await
        .unwrap();
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    let put = store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    store
        .put(record("sk", "data"), Condition::IfEtag(put.etag))
        .await
        .unwrap();
    store
        .put(record("sk", "data"), Condition::IfVersion(2.into()))
        .await
        .unwrap();
    store.get(&key("sk")).await.unwrap();
    store
        .delete(&key("sk"), Condition::IfVersion(9.into()))
        .await
        .unwrap_err();
    store.delete(&key("sk"), Condition::None).await.unwrap();
    store.increment(&key("counter"), 1, None).await.unwrap();
    for descending in [false, true] {
        for (prefix, start_after) in [("", None), ("x", None), ("x", Some("x005000"))] {
            let mut options = QueryOptions::default()
                .with_descending(descending)
                .with_limit(10);
            if let Some(sk) = start_after {
                options = options.with_start_after(sk);
            }
            let found = store.query_all("partition", prefix, options).await.unwrap();
            assert_eq!(found.len(), 10);
        }
    }
    store.collect_expired().await.unwrap();
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn every_statement_goes_by_the_primary_key() {
    let (server, store) = filled().await;
    let mut connection = direct(&server).await;
    execute(&mut connection, "SET GLOBAL general_log = 1").await;
    everything(&store).await;
    execute(&mut connection, "SET GLOBAL general_log = 0").await;
    let logged = "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log \
                  WHERE command_type = 'Execute' AND argument LIKE '%changestore\\_%'";
    let statements: Vec<String> = sqlx::query_scalar(logged)
        .fetch_all(&mut connection)
        .await
        .unwrap();
    for verb in ["SELECT", "UPDATE", "DELETE", "INSERT"] {
        assert!(statements.iter().any(|sql| sql.starts_with(verb)), "{verb}");
    }
    for sql in statements.iter().filter(|sql| !sql.starts_with("INSERT")) {
        let plan = sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN {sql}")))
            .fetch_all(&mut connection)
            .await
            .unwrap();
        for step in plan {
            let of = |column: &str| step.try_get::<Option<String>, _>(column).unwrap();
            let table = of("table").unwrap_or_default();
            // A row that is not there is told by the key, before there is a plan.
            let is_nothing = of("table").is_none();
            if table.starts_with("<union") || is_nothing {
                continue;
            }
            assert_eq!(of("key").as_deref(), Some("PRIMARY"), "{sql}");
            let kind = of("type").unwrap();
            assert!(
                ["const", "ref", "range"].contains(&kind.as_str()),
                "{kind}: {sql}"
            );
            let extra = of("Extra").unwrap_or_default();
            assert!(
                !extra.contains("filesort") && !extra.contains("temporary"),
                "{extra}: {sql}"
            );
        }
    }
}

/// How many rows the server has looked at.
async fn rows_read(connection: &mut MySqlConnection) -> u64 {
    let reads = "SHOW GLOBAL STATUS WHERE Variable_name IN \
                 ('Handler_read_key', 'Handler_read_next', 'Handler_read_prev')";
    let rows = sqlx::raw_sql(reads).fetch_all(connection).await.unwrap();
    rows.iter()
        .map(|row| row.get::<String, _>(1).parse::<u64>().unwrap())
        .sum()
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn no_row_is_read_for_nothing() {
    let (server, store) = filled().await;
    let mut connection = direct(&server).await;
    let before = rows_read(&mut connection).await;
    for request in 0..10 {
        store.get_by_uri("queue", "uri1234").await.unwrap();
        store.get(&key("x006000")).await.unwrap_err();
        assert!(store.create(claim(&request.to_string())).await.is_ok());
        store
            .put(record("x", "data"), Condition::None)
            .await
            .unwrap();
        let options = QueryOptions::default().with_limit(5);
        store.query_all("partition", "x0", options).await.unwrap();
    }
    let read = rows_read(&mut connection).await - before;
    // A search by the key and a row are counted once each, and so is the row behind a range.
    assert!(read <= 10 * (3 + 1 + 2 + 2 + 7), "{read} rows");
}
