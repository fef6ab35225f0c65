//! Reads out of ten thousand rows and out of ten million: the key's index is all that they use.

use std::env;
use std::time::{Duration, Instant};

use changestore_core::{ChangeStore as _, DocumentStore as _, QueryOptions};
use changestore_sql::{PostgresOptions, PostgresStore};
use futures::TryStreamExt as _;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};
use tokio::runtime::Runtime;

use super::run;

const SMALL: usize = 10_000;
const LARGE: usize = 10_000_000;
/// Reads of each kind.
const READS: usize = 4_000;
/// Records that a query takes.
const PAGE: usize = 50;

pub(crate) fn compare(runtime: &Runtime, url: &str) {
    let large = env::var("ROWS").map_or(LARGE, |rows| rows.parse().expect("ROWS is a number"));
    let mut results = Vec::new();
    for (schema, rows) in [("small", SMALL), ("large", large)] {
        runtime.block_on(async {
            let options = PostgresOptions::new(url)
                .and_then(|options| options.with_schema(schema))
                .expect("options");
            PostgresStore::migrate_with(options.clone())
                .await
                .expect("tables");
            load(url, schema, rows).await;
            let store = PostgresStore::open_with(options).await.expect("a store");
            results.push((rows, store));
        });
    }
    println!("\n| rows | get_by_uri | query of {PAGE} |\n|---:|---:|---:|");
    let mut times: Vec<[Vec<Duration>; 2]> = vec![<[Vec<Duration>; 2]>::default(); results.len()];
    for _ in 0..5 {
        for ((rows, store), times) in results.iter().zip(&mut times) {
            let store = store.clone();
            let rows = *rows;
            let task = runtime
                .spawn(async move { (claims(&store, rows).await, query(&store, rows).await) });
            let (claims, query) = runtime.block_on(task).expect("the reads");
            times[0].push(claims);
            times[1].push(query);
        }
    }
    let medians: Vec<[f64; 2]> = times
        .into_iter()
        .map(|times| {
            times.map(|mut times| {
                times.sort();
                times[times.len() / 2].as_secs_f64() * 1e6
            })
        })
        .collect();
    for ((rows, _), [claims, query]) in results.iter().zip(&medians) {
        println!("| {rows} | {claims:.1} µs | {query:.1} µs |");
    }
    println!(
        "| ratio | {:.2} | {:.2} |",
        medians[1][0] / medians[0][0],
        medians[1][1] / medians[0][1]
    );
    runtime.block_on(explain(url));
}

/// Rows with keys in no order, as those of real requests are.
async fn load(url: &str, schema: &str, rows: usize) {
    let mut connection = PgConnection::connect(url).await.expect("a connection");
    let claims = format!(
        "INSERT INTO {schema}.changestore_claims
         SELECT 'main', 'github://github.com/o/r/pull/' || n, 'main/' || n, 1, 0, 0, '{{}}'
         FROM generate_series(0, {rows} - 1) AS n"
    );
    let documents = format!(
        "INSERT INTO {schema}.changestore_documents (pk, sk, version, etag, data)
         SELECT 'JOB#' || n / 1000, 'WORK#' || lpad((n % 1000)::text, 6, '0'), 1, 'x', 'some data of a record'
         FROM generate_series(0, {rows} - 1) AS n"
    );
    run(&mut connection, &claims).await;
    run(&mut connection, &documents).await;
    run(&mut connection, "VACUUM ANALYZE").await;
}

/// Numbers that jump about.
fn scattered(rows: usize) -> impl Iterator<Item = usize> {
    (0..READS).map(move |n| n * 7_919_993 % rows)
}

async fn claims(store: &PostgresStore, rows: usize) -> Duration {
    let begun = Instant::now();
    for n in scattered(rows) {
        let uri = format!("github://github.com/o/r/pull/{n}");
        let claims = store.get_by_uri("main", &uri).await.expect("claims");
        assert_eq!(claims.len(), 1);
    }
    begun.elapsed() / u32::try_from(READS).expect("few")
}

async fn query(store: &PostgresStore, rows: usize) -> Duration {
    let begun = Instant::now();
    for n in scattered(rows / 1_000) {
        let options = QueryOptions::default().with_limit(PAGE);
        let records: Vec<_> = store
            .query(&format!("JOB#{n}"), "WORK#", options)
            .try_collect()
            .await
            .expect("records");
        assert_eq!(records.len(), PAGE);
    }
    begun.elapsed() / u32::try_from(READS).expect("few")
}

/// The server's own plans of statements like the store's.
async fn explain(url: &str) {
    let mut connection = PgConnection::connect(url).await.expect("a connection");
    for sql in [
        "SELECT request_id, metadata FROM large.changestore_claims \
         WHERE queue = 'main' AND uri = 'github://github.com/o/r/pull/7' ORDER BY request_id",
        "SELECT sk, data FROM large.changestore_documents WHERE pk = 'JOB#7' AND sk >= 'WORK#' \
         AND sk < 'WORK$' AND counter IS NULL AND (expire_at IS NULL OR expire_at > 0) \
         ORDER BY sk LIMIT 50",
    ] {
        let sql = format!("EXPLAIN (COSTS OFF) {sql}");
        let rows = connection
            .fetch_all(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await;
        println!();
        for row in rows.expect("a plan") {
            println!("    {}", row.get::<String, _>(0));
        }
    }
}
