//! The same operations in four ways: three with the plain statement, and the store.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore as _, Condition, DocumentStore as _, Etag, Key, Metadata,
    NewRecord, Timestamp,
};
use changestore_sql::{MySqlOptions, MySqlStore};
use mysql_async::prelude::Queryable as _;
use sqlx::Connection as _;
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection, MySqlPool, MySqlPoolOptions};

const CREATE: &str = "\
INSERT INTO changestore_claims
    (queue, uri, request_id, version, created_at, updated_at, metadata)
VALUES (?, ?, ?, 1, ?, ?, ?)
ON DUPLICATE KEY UPDATE version = version";

const GET: &str = "\
SELECT version, etag, expire_at, data
FROM changestore_documents
WHERE pk = ? AND sk = ? AND (expire_at IS NULL OR expire_at > ?)";

const PUT: &str = "\
INSERT INTO changestore_documents (pk, sk, version, etag, data)
VALUES (?, ?, 1, ?, ?)
ON DUPLICATE KEY UPDATE
    version = LAST_INSERT_ID(version + 1), etag = VALUES(etag), data = VALUES(data)";

const METADATA: &str = r#"{"title":"Make the parser faster","labels":["queue"]}"#;
const NOW: i64 = 1_700_000_000_000;
/// The bytes of a record.
pub(crate) const DATA: [u8; 200] = [b'x'; 200];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    MySqlAsync,
    HeldSqlx,
    PooledSqlx,
    Store,
    WideStore,
}

impl Way {
    pub(crate) const ALL: [Self; 5] = [
        Self::MySqlAsync,
        Self::HeldSqlx,
        Self::PooledSqlx,
        Self::Store,
        Self::WideStore,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MySqlAsync => "mysql_async, a connection per task",
            Self::HeldSqlx => "sqlx, a connection per task",
            Self::PooledSqlx => "sqlx's pool of 10, as it comes",
            Self::Store => "MySqlStore (as it comes)",
            Self::WideStore => "MySqlStore (32 connections)",
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
    MySqlAsync {
        connection: mysql_async::Conn,
        create: mysql_async::Statement,
        get: mysql_async::Statement,
        put: mysql_async::Statement,
    },
    HeldSqlx(MySqlConnection),
    PooledSqlx(MySqlPool),
    Store(MySqlStore),
}

/// One for each task; those that share something share it.
pub(crate) async fn contenders(way: Way, url: &str, tasks: usize) -> Vec<Contender> {
    let mut all = Vec::new();
    let pool = MySqlPoolOptions::new()
        .max_connections(10)
        .connect_lazy(url)
        .expect("a pool");
    let options = MySqlOptions::new(url).expect("options");
    let options = match way {
        Way::WideStore => options.with_connections(32),
        _ => options,
    };
    let store = MySqlStore::open_with(options).await.expect("a store");
    for _ in 0..tasks {
        all.push(match way {
            Way::MySqlAsync => {
                // Left to itself it goes over to the server's Unix socket, which costs less than the TCP that
                // all others have.
                let options =
                    mysql_async::Opts::from_url(url.trim_end_matches('?')).expect("a URL");
                let options = mysql_async::OptsBuilder::from_opts(options).prefer_socket(false);
                let mut connection = mysql_async::Conn::new(options).await.expect("a connection");
                Contender::MySqlAsync {
                    create: connection.prep(CREATE).await.expect("a statement"),
                    get: connection.prep(GET).await.expect("a statement"),
                    put: connection.prep(PUT).await.expect("a statement"),
                    connection,
                }
            }
            Way::HeldSqlx => {
                Contender::HeldSqlx(MySqlConnection::connect(url).await.expect("a connection"))
            }
            Way::PooledSqlx => Contender::PooledSqlx(pool.clone()),
            Way::Store | Way::WideStore => Contender::Store(store.clone()),
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
            Self::MySqlAsync {
                connection, create, ..
            } => {
                let values = ("main", &uri, &request, NOW, NOW, METADATA);
                let created = connection.exec_drop(&*create, values).await;
                created.expect("a create");
            }
            Self::HeldSqlx(connection) => {
                let created = plain_create(&uri, &request).execute(connection).await;
                assert_eq!(created.expect("a create").rows_affected(), 1);
            }
            Self::PooledSqlx(pool) => {
                let created = plain_create(&uri, &request).execute(&*pool).await;
                assert_eq!(created.expect("a create").rows_affected(), 1);
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
            Self::MySqlAsync {
                connection, get, ..
            } => {
                let row: Option<Row> = connection
                    .exec_first(&*get, (&pk, &sk, NOW))
                    .await
                    .expect("a get");
                assert_eq!(row.expect("a record").3.len(), DATA.len());
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
            Self::MySqlAsync {
                connection, put, ..
            } => {
                let etag = Etag::unique();
                let values = (&pk, &sk, etag.as_str(), &DATA[..]);
                connection.exec_drop(&*put, values).await.expect("a put");
                assert!(connection.last_insert_id() > Some(1));
            }
            Self::HeldSqlx(connection) => {
                let put = plain_put(&pk, &sk).execute(connection).await;
                assert!(put.expect("a put").last_insert_id() > 1);
            }
            Self::PooledSqlx(pool) => {
                let put = plain_put(&pk, &sk).execute(&*pool).await;
                assert!(put.expect("a put").last_insert_id() > 1);
            }
            Self::Store(store) => {
                let key = Key::new(pk, sk).expect("a key");
                let record = NewRecord::new(key, &DATA[..]).expect("a record");
                let _ = store.put(record, Condition::None).await.expect("a put");
            }
        }
    }
}

type Query<'q> = sqlx::query::Query<'q, MySql, MySqlArguments>;
type Row = (i64, Vec<u8>, Option<i64>, Vec<u8>);

fn plain_create(uri: &str, request: &str) -> Query<'static> {
    sqlx::query(CREATE)
        .bind("main")
        .bind(uri)
        .bind(request)
        .bind(NOW)
        .bind(NOW)
        .bind(METADATA)
}

fn plain_get<'q>(pk: &'q str, sk: &'q str) -> sqlx::query::QueryAs<'q, MySql, Row, MySqlArguments> {
    sqlx::query_as(GET).bind(pk).bind(sk).bind(NOW)
}

/// As a caller needs it who is to be told the new version, and to tell this put from others.
fn plain_put(pk: &str, sk: &str) -> Query<'static> {
    sqlx::query(PUT)
        .bind(pk)
        .bind(sk)
        .bind(Etag::unique().as_str())
        .bind(&DATA[..])
}
