//! What a server answers, as its clients hear it.

use engines::Server;
use libtest_mimic::Failed;
use sqlx::mysql::MySqlConnection;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Executor as _, Row as _};

pub(super) fn says_its_version(server: &Server) {
    let (engine, version) = server.version().split_once(' ').unwrap();
    let answer = ask(server, "SELECT version()");
    assert!(answer.contains(version), "{answer}");
    assert!(["PostgreSQL", "MariaDB"].contains(&engine), "{engine}");
    // What is printed of it somewhere has no password.
    assert!(!format!("{server:?}").contains(&server.url()));
}

pub(super) fn keeps_its_data(server: &Server) {
    tell(server, "CREATE TABLE kept (number INT PRIMARY KEY)");
    tell(server, "INSERT INTO kept VALUES (7)");
    let url = server.url();
    server.kill().unwrap();
    server.restart().unwrap();
    assert_eq!(server.url(), url);
    assert_eq!(ask(server, "SELECT CAST(number AS CHAR(1)) FROM kept"), "7");
    // And when nobody has killed it before.
    server.restart().unwrap();
    assert_eq!(ask(server, "SELECT CAST(number AS CHAR(1)) FROM kept"), "7");
}

/// A pooler takes no parameter that it does not know, and this is one that the driver sends.
fn plain(server: &Server) -> PgConnectOptions {
    let options: PgConnectOptions = server.url().parse().unwrap();
    options.extra_float_digits(None)
}

pub(super) fn pgbouncer() -> Result<(), Failed> {
    let postgres = engines::postgres::start()?;
    let pooler = engines::pgbouncer::start(&postgres, 1)?;
    assert!(pooler.version().starts_with("PgBouncer 1."), "{pooler:?}");
    assert_ne!(pooler.port(), postgres.port());
    assert_eq!(
        ask(&pooler, "SHOW default_transaction_isolation"),
        "read committed"
    );
    // Through the one server connection that all clients share, a transaction each.
    block_on(async {
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(plain(&pooler).connect().await.unwrap());
        }
        let mut backends = Vec::new();
        for client in &mut clients {
            let row = sqlx::raw_sql("SELECT pg_backend_pid()").fetch_one(client);
            backends.push(row.await.unwrap().get::<i32, _>(0));
        }
        backends.dedup();
        assert_eq!(backends.len(), 1, "{backends:?}");
    });
    Ok(())
}

fn tell(server: &Server, sql: &'static str) {
    block_on(async {
        if is_postgres(server) {
            let mut client = plain(server).connect().await.unwrap();
            client.execute(sqlx::raw_sql(sql)).await.unwrap();
        } else {
            let mut client = mysql(server).await;
            client.execute(sqlx::raw_sql(sql)).await.unwrap();
            client.execute(sqlx::raw_sql("COMMIT")).await.unwrap();
        }
    });
}

fn ask(server: &Server, sql: &'static str) -> String {
    block_on(async {
        if is_postgres(server) {
            let mut client = plain(server).connect().await.unwrap();
            let row = client.fetch_one(sqlx::raw_sql(sql)).await.unwrap();
            row.get(0)
        } else {
            let mut client = mysql(server).await;
            let row = client.fetch_one(sqlx::raw_sql(sql)).await.unwrap();
            row.get(0)
        }
    })
}

async fn mysql(server: &Server) -> MySqlConnection {
    let options: sqlx::mysql::MySqlConnectOptions = server.url().parse().unwrap();
    options.connect().await.unwrap()
}

fn is_postgres(server: &Server) -> bool {
    server.url().starts_with("postgres:")
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(future)
}
