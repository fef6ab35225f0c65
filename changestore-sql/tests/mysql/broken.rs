//! Connections that break: after the statement went and before the reply came, and by an administrator's hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, CreateOutcome, DocumentStore as _, Error, ErrorKind, Outcome,
};
use changestore_sql::MySqlStore;
use sqlx::mysql::MySqlConnection;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{direct, execute, open, prefix, shared, with_prefix};
use crate::{claim, created, key, record};

/// Stands between a store and the server.
struct Proxy {
    port: u16,
    /// Which of the next replies is lost, and its connection: 1 is the next one, 0 is none.
    lost: Arc<AtomicUsize>,
    /// How many connections there were.
    connections: Arc<AtomicUsize>,
}

impl Proxy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            lost: Arc::default(),
            connections: Arc::default(),
        };
        let (lost, connections) = (Arc::clone(&proxy.lost), Arc::clone(&proxy.connections));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(("127.0.0.1", shared().port()))
                    .await
                    .unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(forward(from_client, to_server, Arc::default()));
                tokio::spawn(forward(from_server, to_client, Arc::clone(&lost)));
            }
        });
        proxy
    }

    /// A store that talks through it on one connection.
    async fn store(&self) -> MySqlStore {
        let direct = format!(":{}/", shared().port());
        let url = shared().url().replace(&direct, &format!(":{}/", self.port));
        open(with_prefix(&url, &prefix()).with_connections(1)).await
    }

    fn lose_next_reply(&self) {
        self.lose(1);
    }

    fn lose(&self, which: usize) {
        self.lost.store(which, Ordering::SeqCst);
    }
}

/// A reply of these tests comes in one piece.
async fn forward(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, lost: Arc<AtomicUsize>) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let count_down = |which: usize| which.checked_sub(1);
        let which = lost.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down);
        if which == Ok(1) || to.write_all(&bytes[..read]).await.is_err() {
            return;
        }
    }
}

fn assert_unknown(error: &Error) {
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(
        error
            .to_string()
            .contains("lost after the statement was sent"),
        "{error}"
    );
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_write_without_a_reply_is_unknown_and_never_sent_twice() {
    let proxy = Proxy::start().await;
    let store = proxy.store().await;
    // The statements are prepared; from now on each operation has one reply.
    created(&store, "r0").await;
    store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    store
        .put(record("sk", "data"), Condition::IfVersion(1.into()))
        .await
        .unwrap();
    store.increment(&key("counter"), 1, None).await.unwrap();

    proxy.lose_next_reply();
    assert_unknown(&store.create(claim("r1")).await.unwrap_err());
    // The new connection has no statement prepared, whose reply would be the one to be lost.
    let again = store.create(claim("r1")).await.unwrap();
    assert_eq!(
        again,
        CreateOutcome::AlreadyThere,
        "it had happened, and it tells so"
    );

    store.increment(&key("counter"), 1, None).await.unwrap();
    proxy.lose_next_reply();
    assert_unknown(&store.increment(&key("counter"), 1, None).await.unwrap_err());
    assert_eq!(store.increment(&key("counter"), 0, None).await.unwrap(), 3);

    store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    proxy.lose_next_reply();
    assert_unknown(
        &store
            .put(record("sk", "lost"), Condition::None)
            .await
            .unwrap_err(),
    );
    let stored = store.get(&key("sk")).await.unwrap();
    assert_eq!((stored.version.get(), &stored.data[..]), (4, &b"lost"[..]));
}

/// A lost reply while a statement is being prepared: it was not run. That it is told as unknown all the same
/// is the careful side of the truth.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_write_that_was_only_prepared_did_not_happen() {
    let proxy = Proxy::start().await;
    let store = proxy.store().await;
    proxy.lose_next_reply();
    assert_unknown(&store.create(claim("r1")).await.unwrap_err());
    created(&store, "r1").await;
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_read_without_a_reply_is_sent_again() {
    let proxy = Proxy::start().await;
    let store = proxy.store().await;
    store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    store.get(&key("sk")).await.unwrap();
    let before = proxy.connections.load(Ordering::SeqCst);
    proxy.lose_next_reply();
    store.get(&key("sk")).await.unwrap();
    assert_eq!(proxy.connections.load(Ordering::SeqCst), before + 1);
}

/// The second statement of a refused delete: the first has changed nothing, so both are sent again.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_refused_delete_whose_reason_is_lost_asks_again() {
    let proxy = Proxy::start().await;
    let store = proxy.store().await;
    store
        .put(record("sk", "data"), Condition::None)
        .await
        .unwrap();
    let stale = Condition::IfVersion(9.into());
    // Prepared by now.
    let error = store.delete(&key("sk"), stale.clone()).await.unwrap_err();
    assert!(error.is_condition_failed());
    let before = proxy.connections.load(Ordering::SeqCst);
    proxy.lose(2);
    let error = store.delete(&key("sk"), stale.clone()).await.unwrap_err();
    assert!(error.is_condition_failed(), "{error:?}");
    assert_eq!(proxy.connections.load(Ordering::SeqCst), before + 1);
    // The reply to the DELETE itself.
    proxy.lose_next_reply();
    assert_unknown(&store.delete(&key("sk"), stale).await.unwrap_err());
    assert_eq!(store.get(&key("sk")).await.unwrap().version.get(), 1);
}

/// The store's connection that waits for a lock.
async fn waiting(connection: &mut MySqlConnection, prefix: &str) -> u64 {
    loop {
        let waiting = "SELECT CAST(id AS UNSIGNED) FROM information_schema.processlist \
                       WHERE info LIKE CONCAT('%', ?, 'documents%') AND id <> CONNECTION_ID() \
                           AND command = 'Execute'";
        let id: Option<u64> = sqlx::query_scalar(waiting)
            .bind(prefix)
            .fetch_optional(&mut *connection)
            .await
            .unwrap();
        if let Some(id) = id {
            return id;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_statement_that_is_killed_was_not_applied() {
    for kill in ["KILL QUERY", "KILL CONNECTION"] {
        let prefix = prefix();
        let store = open(with_prefix(&shared().url(), &prefix)).await;
        store
            .put(record("sk", "data"), Condition::IfAbsent)
            .await
            .unwrap();
        let mut other = direct(shared()).await;
        let lock = format!("BEGIN; SELECT * FROM {prefix}documents FOR UPDATE");
        execute(&mut other, &lock).await;
        let put = tokio::spawn({
            let store = store.clone();
            async move { store.put(record("sk", "later"), Condition::None).await }
        });
        let id = waiting(&mut other, &prefix).await;
        execute(&mut other, &format!("{kill} {id}")).await;
        let error = put.await.unwrap().unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{kill}: {error:?}");
        assert!(error.is_retryable(), "{kill}: {error:?}");
        if kill == "KILL QUERY" {
            assert_eq!(error.outcome(), Outcome::NotApplied);
        }
        execute(&mut other, "ROLLBACK").await;
        let put = store.put(record("sk", "later"), Condition::None).await;
        assert_eq!(put.unwrap().version.get(), 2, "{kill}");
    }
}
