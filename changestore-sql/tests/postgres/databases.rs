//! Databases and roles that are set up otherwise.

use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, CreateOutcome, DocumentStore as _, DocumentStoreExt as _, Error,
    ErrorKind, MetadataUpdate, QueryOptions, Version,
};
use changestore_sql::{PostgresOptions, PostgresStore};

use super::server::{Schema, claim, connect, key, new_name, record, run, url};

/// The server's URL with another database.
fn url_of(database: &str) -> String {
    let url = url();
    let (server, _) = url.rsplit_once('/').unwrap();
    format!("{server}/{database}")
}

async fn refusal(url: &str) -> Error {
    let options = PostgresOptions::new(url).unwrap();
    PostgresStore::migrate_with(options).await.unwrap_err()
}

pub(crate) async fn texts_of_bytes_have_any_form() {
    let database = new_name("escape");
    let mut owner = connect().await;
    run(&mut owner, format!("CREATE DATABASE {database}")).await;
    run(
        &mut owner,
        format!("ALTER DATABASE {database} SET bytea_output = escape"),
    )
    .await;
    for prepared in [true, false] {
        let options = PostgresOptions::new(&url_of(&database))
            .unwrap()
            .with_prepared_statements(prepared);
        PostgresStore::migrate_with(options.clone()).await.unwrap();
        let store = PostgresStore::open_with(options).await.unwrap();
        store.put(record("k"), Condition::None).await.unwrap();
        let found = store.get(&key("k")).await.unwrap();
        assert_eq!(found.data, record("k").data());
        store.close().await;
    }
    run(&mut owner, format!("DROP DATABASE {database}")).await;
}

pub(crate) async fn an_encoding_that_sorts_otherwise_is_refused() {
    let database = new_name("win");
    let mut owner = connect().await;
    run(
        &mut owner,
        format!("CREATE DATABASE {database} ENCODING 'WIN1252' LOCALE 'C' TEMPLATE template0"),
    )
    .await;
    let error = refusal(&url_of(&database)).await;
    assert_eq!(*error.kind(), ErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("WIN1252"), "{error}");
    run(&mut owner, format!("DROP DATABASE {database}")).await;
}

pub(crate) async fn a_role_that_may_not_use_the_schema_is_told_so() {
    let database = new_name("closed");
    let mut owner = connect().await;
    run(&mut owner, format!("CREATE DATABASE {database}")).await;
    run(
        &mut owner,
        format!("ALTER DATABASE {database} SET search_path = nowhere"),
    )
    .await;
    let error = refusal(&url_of(&database)).await;
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error}");
    assert!(error.to_string().contains("search_path"), "{error}");
    run(&mut owner, format!("DROP DATABASE {database}")).await;
}

/// The rights that SECURITY.md names.
pub(crate) async fn a_role_with_the_least_rights_does_everything() {
    let schema = Schema::new().await;
    let (name, role) = (&schema.0, new_name("least"));
    let mut owner = connect().await;
    run(
        &mut owner,
        format!(
            "CREATE ROLE {role};
             GRANT USAGE ON SCHEMA {name} TO {role};
             GRANT SELECT ON {name}.changestore_migrations TO {role};
             GRANT SELECT, INSERT, UPDATE ON {name}.changestore_claims TO {role};
             GRANT SELECT, INSERT, UPDATE, DELETE ON {name}.changestore_documents TO {role}"
        ),
    )
    .await;
    let url = url();
    let joined = if url.contains('?') { '&' } else { '?' };
    let options = PostgresOptions::new(&format!("{url}{joined}options=-c%20role%3D{role}"))
        .unwrap()
        .with_schema(name)
        .unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    let created = store.create(claim("r")).await.unwrap();
    assert_eq!(created, CreateOutcome::Created);
    let update = MetadataUpdate {
        metadata: claim("r").metadata,
        old_version: Version::FIRST,
        new_version: Version::FIRST.next(),
        updated_at: claim("r").updated_at,
    };
    store
        .update_metadata(&claim("r").key, update)
        .await
        .unwrap();
    assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
    for _ in 0..2 {
        store.put(record("k"), Condition::None).await.unwrap();
    }
    store.get(&key("k")).await.unwrap();
    let found = store.query_all("partition", "", QueryOptions::default());
    assert_eq!(found.await.unwrap().len(), 1);
    store.delete(&key("k"), Condition::None).await.unwrap();
    assert_eq!(store.increment(&key("n"), 1, None).await.unwrap(), 1);
    store.collect_expired().await.unwrap();
    // It has these rights and no others.
    let error = PostgresStore::migrate_with(
        PostgresOptions::new(&format!("{url}{joined}options=-c%20role%3D{role}"))
            .unwrap()
            .with_schema(&new_name("other"))
            .unwrap(),
    )
    .await
    .unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::PermissionDenied, "{error}");
    store.close().await;
    schema.drop().await;
    run(&mut owner, format!("DROP ROLE {role}")).await;
}

/// The server says that the session was idle for too long, so nothing was sent that it has seen.
pub(crate) async fn an_idle_session_that_was_ended_costs_no_write() {
    let schema = Schema::new().await;
    let url = url();
    let joined = if url.contains('?') { '&' } else { '?' };
    let url = format!("{url}{joined}options=-c%20idle_session_timeout=50");
    let options = PostgresOptions::new(&url)
        .unwrap()
        .with_schema(&schema.0)
        .unwrap();
    let store = PostgresStore::open_with(options).await.unwrap();
    for version in 1..=3 {
        let written = store.put(record("k"), Condition::None).await.unwrap();
        assert_eq!(written.version.as_i64(), version);
        // Less than a connection is trusted for without being asked, and more than the server waits.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    store.close().await;
    schema.drop().await;
}
