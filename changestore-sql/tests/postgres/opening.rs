//! Schemas that are missing, older, newer, elsewhere; and what opening may not print.

use changestore_core::{ChangeStore as _, CreateOutcome, DocumentStore as _, Error, ErrorKind};
use changestore_sql::{PostgresOptions, PostgresStore};
use sqlx::postgres::PgPoolOptions;
use tokio::task::JoinSet;

use super::server::{Schema, claim, connect, key, new_name, run, url};

async fn refusal(options: PostgresOptions) -> Error {
    let error = PostgresStore::open_with(options).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error:?}");
    error
}

pub(crate) async fn a_missing_schema_is_named() {
    let options = PostgresOptions::new(&url())
        .unwrap()
        .with_schema(&new_name("none"))
        .unwrap();
    let error = refusal(options).await.to_string();
    assert!(error.starts_with("postgres: open: "), "{error}");
    assert!(error.contains("no changestore tables"), "{error}");
    assert!(error.contains("PostgresStore::migrate"), "{error}");
}

pub(crate) async fn an_older_and_a_newer_schema_are_told() {
    let schema = Schema::new().await;
    let mut connection = connect().await;
    let table = format!("{}.changestore_migrations", schema.0);
    let newer =
        format!("INSERT INTO {table} (version, description, checksum) VALUES (99, 'x', 'x')");
    run(&mut connection, newer).await;
    let error = refusal(schema.options()).await.to_string();
    assert!(
        error.contains("version 99 and this library knows"),
        "{error}"
    );
    // It is not migrated either.
    let error = PostgresStore::migrate_with(schema.options())
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("newer changestore-sql"),
        "{error}"
    );

    run(
        &mut connection,
        format!("DELETE FROM {table} WHERE version = 99"),
    )
    .await;
    run(
        &mut connection,
        format!("UPDATE {table} SET checksum = 'edited'"),
    )
    .await;
    let error = refusal(schema.options()).await.to_string();
    assert!(error.contains("edited after it was applied"), "{error}");

    run(&mut connection, format!("DROP TABLE {table}")).await;
    let error = refusal(schema.options()).await.to_string();
    assert!(error.contains("there is a table claims"), "{error}");
    schema.drop().await;
}

pub(crate) async fn many_processes_migrate_at_once() {
    let name = new_name("test");
    let options = PostgresOptions::new(&url())
        .unwrap()
        .with_schema(&name)
        .unwrap();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        // Each has connections of its own, as another process would.
        tasks.spawn(PostgresStore::migrate_with(options.clone()));
    }
    for migrated in tasks.join_all().await {
        migrated.unwrap();
    }
    PostgresStore::open_with(options).await.unwrap();
    Schema(name).drop().await;
}

pub(crate) async fn a_prefix_and_a_schema_keep_stores_apart() {
    let schema = Schema::new().await;
    let other = schema.options().with_table_prefix("other_").unwrap();
    PostgresStore::migrate_with(other.clone()).await.unwrap();
    let other = PostgresStore::open_with(other).await.unwrap();
    let store = schema.store().await;
    for store in [&store, &other] {
        assert_eq!(
            store.create(claim("r")).await.unwrap(),
            CreateOutcome::Created
        );
    }
    store.increment(&key("n"), 5, None).await.unwrap();
    assert_eq!(other.increment(&key("n"), 1, None).await.unwrap(), 1);
    schema.drop().await;
}

pub(crate) async fn no_error_prints_the_password() {
    let (_, server) = url()
        .split_once("://")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let host = server
        .rsplit_once('@')
        .map_or(server.as_str(), |(_, host)| host);
    for place in [
        host.to_owned(),
        "127.0.0.1:1/nothing".to_owned(),
        "host.invalid/nothing".to_owned(),
    ] {
        let url = format!(
            "postgres://nobody_{}:open-sesame@{place}",
            std::process::id()
        );
        let options = PostgresOptions::new(&url)
            .unwrap()
            .with_connect_timeout(std::time::Duration::from_millis(100));
        let printed = format!("{options:?}");
        assert!(!printed.contains("open-sesame"), "{printed}");
        let error = PostgresStore::open_with(options).await.unwrap_err();
        let mut printed = format!("{error} {error:?}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            printed = format!("{printed} {cause} {cause:?}");
            source = cause.source();
        }
        assert!(!printed.contains("open-sesame"), "{printed}");
    }
}

pub(crate) async fn a_database_that_is_not_there_is_named() {
    let (server, _) = url()
        .rsplit_once('/')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    let options = PostgresOptions::new(&format!("{server}/no_such_database")).unwrap();
    let error = refusal(options).await;
    assert!(error.to_string().contains("no such database"), "{error}");
    assert!(!error.is_retryable());
}

pub(crate) async fn a_closed_store_refuses_and_gives_the_pool_back() {
    let schema = Schema::new().await;
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .connect(&url())
        .await
        .unwrap();
    let options = PostgresOptions::from_pool(pool.clone())
        .with_schema(&schema.0)
        .unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    store.increment(&key("n"), 1, None).await.unwrap();
    store.close().await;
    // The only connection is the user's again.
    let one: i32 = sqlx::query_scalar("SELECT 1")
        .fetch_one(&pool)
        .await
        .unwrap();
    assert_eq!(one, 1);
    let error = store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(!error.is_retryable());
    schema.drop().await;
}
