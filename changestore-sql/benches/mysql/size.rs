//! Reads out of ten thousand rows and out of ten million: the key's index is all that they use.

use std::env;
use std::time::{Duration, Instant};

use changestore_core::{ChangeStore as _, DocumentStore as _, QueryOptions};
use changestore_sql::{MySqlOptions, MySqlStore};
use futures::TryStreamExt as _;
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, Row as _};
use tokio::runtime::Runtime;

use super::run;

const SMALL: usize = 10_000;
const LARGE: usize = 10_000_000;
/// Reads of each kind.
const READS: usize = 4_000;
/// Rows of a statement that loads them.
const CHUNK: usize = 100_000;
/// MySQL and MariaDB each know one of the two.
const RECURSION: &str = "SET SESSION /*M! max_recursive_iterations = 1000000, *//*!80000 cte_max_recursion_depth = 1000000, */ autocommit = 1";
/// Records that a query takes.
const PAGE: usize = 50;

pub(crate) fn compare(runtime: &Runtime, url: &str) {
    let large = env::var("ROWS").map_or(LARGE, |rows| rows.parse().expect("ROWS is a number"));
    let mut results = Vec::new();
    for (prefix, rows) in [("small_", SMALL), ("large_", large)] {
        runtime.block_on(async {
            let options = MySqlOptions::new(url)
                .and_then(|options| options.with_table_prefix(prefix))
                .expect("options");
            MySqlStore::migrate_with(options.clone())
                .await
                .expect("tables");
            load(url, prefix, rows).await;
            let store = MySqlStore::open_with(options).await.expect("a store");
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
async fn load(url: &str, prefix: &str, rows: usize) {
    let mut connection = MySqlConnection::connect(url).await.expect("a connection");
    run(&mut connection, RECURSION).await;
    // As many at a time as fit into a transaction's memory; a generated table counts.
    for first in (0..rows).step_by(CHUNK) {
        let last = rows.min(first + CHUNK) - 1;
        let numbers = format!(
            "WITH RECURSIVE numbers (n) AS \
             (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"
        );
        let claims = format!(
            "INSERT INTO {prefix}claims {numbers} \
             SELECT 'main', CONCAT('github://github.com/o/r/pull/', n), CONCAT('main/', n), \
             1, 0, 0, '{{}}' FROM numbers"
        );
        let documents = format!(
            "INSERT INTO {prefix}documents (pk, sk, version, etag, data) {numbers} \
             SELECT CONCAT('JOB#', n DIV 1000), CONCAT('WORK#', LPAD(n % 1000, 6, '0')), \
             1, 'x', 'some data of a record' FROM numbers"
        );
        run(&mut connection, &claims).await;
        run(&mut connection, &documents).await;
    }
    let analyze = format!("ANALYZE TABLE {prefix}claims, {prefix}documents");
    run(&mut connection, &analyze).await;
}

/// Numbers that jump about.
fn scattered(rows: usize) -> impl Iterator<Item = usize> {
    (0..READS).map(move |n| n * 7_919_993 % rows)
}

async fn claims(store: &MySqlStore, rows: usize) -> Duration {
    let begun = Instant::now();
    for n in scattered(rows) {
        let uri = format!("github://github.com/o/r/pull/{n}");
        let claims = store.get_by_uri("main", &uri).await.expect("claims");
        assert_eq!(claims.len(), 1);
    }
    begun.elapsed() / u32::try_from(READS).expect("few")
}

async fn query(store: &MySqlStore, rows: usize) -> Duration {
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
    let mut connection = MySqlConnection::connect(url).await.expect("a connection");
    for sql in [
        "SELECT request_id, metadata FROM large_claims \
         WHERE queue = 'main' AND uri = 'github://github.com/o/r/pull/7' ORDER BY request_id",
        "SELECT sk, data FROM large_documents WHERE pk = 'JOB#7' AND sk >= 'WORK#' \
         AND sk < 'WORK$' AND counter IS NULL AND (expire_at IS NULL OR expire_at > 0) \
         ORDER BY sk LIMIT 50",
    ] {
        let sql = format!("EXPLAIN {sql}");
        let rows = connection
            .fetch_all(sqlx::raw_sql(AssertSqlSafe(sql)))
            .await;
        println!();
        for row in rows.expect("a plan") {
            let of = |column: &str| row.get::<Option<String>, _>(column).unwrap_or_default();
            println!("    {} by {}, {}", of("type"), of("key"), of("Extra"));
        }
    }
}
