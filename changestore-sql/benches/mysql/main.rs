//! What the store costs beside the plain statement on a connection, on MySQL and MariaDB.
//!
//! `cargo bench -p changestore-sql --features mysql --bench mysql [-- OPERATION... | size]`
//!
//! The server is that of `CHANGESTORE_MYSQL_URL`, or one that is started for it, with a cache of 8 GiB. Operations (`create`, `get`, `put`; all, if
//! nothing is named) are compared by how many are done per second; `size` compares reads out of ten thousand rows with reads out of ten million, which it loads
//! first (about 4 GB and some minutes; `ROWS=1000000` loads fewer).

mod contenders;
mod size;
mod speed;

use std::env;

use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _};
use tokio::runtime::{Builder, Runtime};

use contenders::Operation;

/// All of the ten million rows: `size` compares searches, not disks. By default it is 128 MiB.
const CACHE: (&str, &str) = ("innodb_buffer_pool_size", "8G");

fn main() {
    let wanted: Vec<String> = env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.iter().any(|part| part == name);
    let started;
    let url = if let Ok(url) = env::var("CHANGESTORE_MYSQL_URL") {
        url
    } else {
        started = engines::mariadb::start_with(&[CACHE]).expect("a server");
        started.url()
    };
    let runtime = runtime();
    let database = format!("bench_{}", std::process::id());
    let version = runtime.block_on(create(&url, &database));
    println!("{version}");
    let own = in_database(&url, &database);
    let operations: Vec<Operation> = Operation::ALL
        .into_iter()
        .filter(|operation| wanted.is_empty() || is_wanted(operation.name()))
        .collect();
    if !operations.is_empty() {
        speed::compare(&runtime, &own, &operations);
    }
    if is_wanted("size") {
        size::compare(&runtime, &own);
    }
    runtime.block_on(drop_database(&url, &database));
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

/// The same server, another database.
fn in_database(url: &str, database: &str) -> String {
    let (server, parameters) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = server.rsplit_once('/').expect("a URL with a database");
    format!("{server}/{database}?{parameters}")
}

async fn create(url: &str, database: &str) -> String {
    let mut connection = MySqlConnection::connect(url).await.expect("a connection");
    run(&mut connection, &format!("CREATE DATABASE {database}")).await;
    sqlx::query_scalar("SELECT VERSION()")
        .fetch_one(&mut connection)
        .await
        .expect("a version")
}

async fn drop_database(url: &str, database: &str) {
    let mut connection = MySqlConnection::connect(url).await.expect("a connection");
    run(&mut connection, &format!("DROP DATABASE {database}")).await;
}

async fn run(connection: &mut MySqlConnection, sql: &str) {
    connection
        .execute(sqlx::raw_sql(AssertSqlSafe(sql)))
        .await
        .expect("a statement of the benchmark");
}
