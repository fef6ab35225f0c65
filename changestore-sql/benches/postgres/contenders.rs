//! The same operations in four ways: three with the plain statement, and the store.

use std::sync::Arc;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, Condition, DocumentStore as _, Etag, Key, Metadata,
    NewRecord, Timestamp,
};
use changestore_sql::PostgresStore;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Connection as _, PgConnection, PgPool};
use tokio_postgres::NoTls;

const CREATE: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
VALUES ($1, $2, $3, 1, $4, $4, $5)
ON CONFLICT (queue, uri, request_id) DO NOTHING
RETURNING version";

const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = $1 AND sk = $2 AND (expire_at IS NULL OR expire_at > $3)";

const PUT: &str = "\
INSERT INTO changestore_documents AS old (pk, sk, version, etag, data)
VALUES ($1, $2, 1, $3, $4)
ON CONFLICT (pk, sk) DO UPDATE SET
    version = old.version + 1, etag = excluded.etag, data = excluded.data
RETURNING version";

const METADATA: &str = r#"{"title":"Make the parser faster","labels":["queue"]}"#;
const NOW: i64 = 1_700_000_000_000;
/// The bytes of a record.
pub(crate) const DATA: [u8; 200] = [b'x'; 200];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    TokioPostgres,
    HeldSqlx,
    PooledSqlx,
    Store,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [
        Self::TokioPostgres,
        Self::HeldSqlx,
        Self::PooledSqlx,
        Self::Store,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TokioPostgres => "tokio-postgres, a connection per task",
            Self::HeldSqlx => "sqlx, a connection per task",
            Self::PooledSqlx => "sqlx's pool of 10, as it comes",
            Self::Store => "PostgresStore (10 connections)",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Get,
    Put,
}

impl Operation {
    pub(crate) const ALL: [Self; 3] = [Self::Create, Self::Get, Self::Put];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Get => "get",
            Self::Put => "put",
        }
    }
}

/// What a task works with.
pub(crate) enum Contender {
    TokioPostgres {
        client: tokio_postgres::Client,
        create: tokio_postgres::Statement,
        get: tokio_postgres::Statement,
        put: tokio_postgres::Statement,
    },
    HeldSqlx(PgConnection),
    PooledSqlx(PgPool),
    Store(PostgresStore),
}

/// One for each task; those that share something share it.
pub(crate) async fn contenders(way: Way, url: &str, tasks: usize) -> Vec<Contender> {
    let mut all = Vec::new();
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .connect_lazy(url)
        .expect("a pool");
    let store = Arc::new(PostgresStore::open(url).await.expect("a store"));
    for _ in 0..tasks {
        all.push(match way {
            Way::TokioPostgres => {
                let (client, connection) = tokio_postgres::connect(url, NoTls)
                    .await
                    .expect("a connection");
                tokio::spawn(connection);
                Contender::TokioPostgres {
                    create: client.prepare(CREATE).await.expect("a statement"),
                    get: client.prepare(GET).await.expect("a statement"),
                    put: client.prepare(PUT).await.expect("a statement"),
                    client,
                }
            }
            Way::HeldSqlx => {
                Contender::HeldSqlx(PgConnection::connect(url).await.expect("a connection"))
            }
            Way::PooledSqlx => Contender::PooledSqlx(pool.clone()),
            Way::Store => Contender::Store((*store).clone()),
        });
    }
    all
}

/// The key of a record among those that are there.
pub(crate) fn record(number: usize) -> (String, String) {
    (format!("JOB#{:03}", number % 100), format!("{number:06}"))
}

impl Contender {
    pub(crate) async fn run(&mut self, operation: Operation, number: usize) {
        match operation {
            Operation::Create => self.create(number).await,
            Operation::Get => self.get(number).await,
            Operation::Put => self.put(number).await,
        }
    }

    async fn create(&mut self, number: usize) {
        let uri = format!("github://github.com/o/r/pull/{number}/3f1c");
        let request = format!("main/{number}");
        match self {
            Self::TokioPostgres { client, create, .. } => {
                let rows = client
                    .query(create, &[&"main", &uri, &request, &NOW, &METADATA])
                    .await
                    .expect("a create");
                assert_eq!(rows.len(), 1);
            }
            Self::HeldSqlx(connection) => {
                let rows = plain_create(&uri, &request).fetch_all(connection).await;
                assert_eq!(rows.expect("a create").len(), 1);
            }
            Self::PooledSqlx(pool) => {
                let rows = plain_create(&uri, &request).fetch_all(&*pool).await;
                assert_eq!(rows.expect("a create").len(), 1);
            }
            Self::Store(store) => {
                let key = ChangeKey::new("main", uri, request).expect("a key");
                let metadata = Metadata::new(METADATA).expect("metadata");
                let now = Timestamp::from_millis(NOW).expect("a time");
                let record = ChangeRecord::new(key, metadata, now);
                let _ = store.create(record).await.expect("a create");
            }
        }
    }

    async fn get(&mut self, number: usize) {
        let (pk, sk) = record(number);
        match self {
            Self::TokioPostgres { client, get, .. } => {
                let row = client.query_one(get, &[&pk, &sk, &NOW]).await;
                let row = row.expect("a record");
                let _: (i64, String, Option<i64>) = (row.get(0), row.get(1), row.get(2));
                assert_eq!(row.get::<_, Vec<u8>>(3).len(), DATA.len());
            }
            Self::HeldSqlx(connection) => {
                let (_, _, _, data) = plain_get(&pk, &sk)
                    .fetch_one(connection)
                    .await
                    .expect("a record");
                assert_eq!(data.len(), DATA.len());
            }
            Self::PooledSqlx(pool) => {
                let (_, _, _, data) = plain_get(&pk, &sk)
                    .fetch_one(&*pool)
                    .await
                    .expect("a record");
                assert_eq!(data.len(), DATA.len());
            }
            Self::Store(store) => {
                let key = Key::new(pk, sk).expect("a key");
                let record = store.get(&key).await.expect("a record");
                assert_eq!(record.data.len(), DATA.len());
            }
        }
    }

    async fn put(&mut self, number: usize) {
        let (pk, sk) = record(number);
        match self {
            Self::TokioPostgres { client, put, .. } => {
                let row = client
                    .query_one(put, &[&pk, &sk, &Etag::unique().as_str(), &&DATA[..]])
                    .await;
                assert!(row.expect("a put").get::<_, i64>(0) > 0);
            }
            Self::HeldSqlx(connection) => {
                let version = plain_put(&pk, &sk).fetch_one(connection).await;
                assert!(version.expect("a put") > 0);
            }
            Self::PooledSqlx(pool) => {
                let version = plain_put(&pk, &sk).fetch_one(&*pool).await;
                assert!(version.expect("a put") > 0);
            }
            Self::Store(store) => {
                let key = Key::new(pk, sk).expect("a key");
                let record = NewRecord::new(key, &DATA[..]).expect("a record");
                let _ = store.put(record, Condition::None).await.expect("a put");
            }
        }
    }
}

type Query<'q, O> = sqlx::query::QueryScalar<'q, sqlx::Postgres, O, sqlx::postgres::PgArguments>;
type Row = (i64, String, Option<i64>, Vec<u8>);

fn plain_create<'q>(uri: &'q str, request: &'q str) -> Query<'q, i64> {
    sqlx::query_scalar(CREATE)
        .bind("main")
        .bind(uri)
        .bind(request)
        .bind(NOW)
        .bind(METADATA)
}

fn plain_get<'q>(
    pk: &'q str,
    sk: &'q str,
) -> sqlx::query::QueryAs<'q, sqlx::Postgres, Row, sqlx::postgres::PgArguments> {
    sqlx::query_as(GET).bind(pk).bind(sk).bind(NOW)
}

fn plain_put<'q>(pk: &'q str, sk: &'q str) -> Query<'q, i64> {
    sqlx::query_scalar(PUT)
        .bind(pk)
        .bind(sk)
        .bind(Etag::unique().as_str().to_owned())
        .bind(&DATA[..])
}
