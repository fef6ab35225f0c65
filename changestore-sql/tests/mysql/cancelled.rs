//! Futures that are dropped at every moment, on few connections.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use changestore_core::{
    ChangeStore as _, Condition, DocumentStore as _, DocumentStoreExt as _, QueryOptions,
};
use changestore_sql::MySqlStore;
use futures::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::server::{direct, open, prefix, shared, with_prefix};
use crate::{claim, key, record};

/// Polls a future so many times, as far apart as it takes to be woken or not at all.
async fn poll_and_drop<F: Future>(future: F, polls: usize) {
    let mut future = pin!(future);
    for _ in 0..polls {
        let is_done =
            poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_ready())).await;
        if is_done {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs MariaDB"]
async fn four_hundred_dropped_calls_leave_no_connection_poisoned() {
    let prefix = prefix();
    let store = open(with_prefix(&shared().url(), &prefix).with_connections(2)).await;
    for call in 0..400_usize {
        let polls = 1 + call % 7;
        let sk = (call % 10).to_string();
        match call % 5 {
            0 => poll_and_drop(store.put(record(&sk, "dropped"), Condition::None), polls).await,
            1 => poll_and_drop(store.create(claim(&call.to_string())), polls).await,
            2 => poll_and_drop(store.delete(&key(&sk), Condition::None), polls).await,
            3 => poll_and_drop(store.increment(&key("counter"), 1, None), polls).await,
            _ => {
                let mut scan = store.query("partition", "", QueryOptions::default());
                poll_and_drop(scan.next(), polls).await;
            }
        }
    }
    // What is acknowledged now is seen by others at once.
    let mut other = direct(shared()).await;
    for write in 0..20 {
        let written = store.put(
            record(&format!("after{write}"), "kept"),
            Condition::IfAbsent,
        );
        written.await.unwrap();
        let sql = format!("SELECT count(*) FROM {prefix}documents WHERE sk = 'after{write}'");
        let seen: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&mut other)
            .await
            .unwrap();
        assert_eq!(seen, 1);
    }
    // The dropped increments happened once or not at all.
    let value = store.increment(&key("counter"), 0, None).await.unwrap();
    assert!((0..=80).contains(&value), "{value}");
    let in_transaction = "SELECT count(*) FROM information_schema.innodb_trx \
                          WHERE trx_started < NOW() - INTERVAL 2 SECOND";
    tokio::time::sleep(Duration::from_secs(3)).await;
    let open: i64 = sqlx::query_scalar(in_transaction)
        .fetch_one(&mut other)
        .await
        .unwrap();
    assert_eq!(open, 0);
}

/// Polls a future when it is woken, and drops it at the last of so many polls, or when it is woken again.
async fn drop_when_woken<F: Future>(future: F, polls: usize, once_more: bool) {
    let mut future = pin!(future);
    let mut polled = 0;
    poll_fn(|context| {
        if polled == polls {
            return Poll::Ready(());
        }
        polled += 1;
        let is_done = future.as_mut().poll(context).is_ready();
        if is_done || (polled == polls && !once_more) {
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// The URL of the shared server, whose answers come one byte after the other.
async fn byte_by_byte() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            client.set_nodelay(true).unwrap();
            let server = TcpStream::connect(("127.0.0.1", shared().port()))
                .await
                .unwrap();
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
            tokio::spawn(async move {
                while let Ok(byte) = from_server.read_u8().await {
                    if to_client.write_u8(byte).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            });
        }
    });
    let direct = format!(":{}/", shared().port());
    shared().url().replace(&direct, &format!(":{port}/"))
}

/// Whatever the driver has read of an answer when its call is dropped, and be it half a packet: the next statement is not
/// given the rest.
#[tokio::test]
#[ignore = "needs MariaDB"]
async fn a_call_that_is_dropped_while_its_statement_is_prepared_answers_no_other() {
    let prefix = prefix();
    let writer = open(with_prefix(&shared().url(), &prefix)).await;
    let slow = with_prefix(&byte_by_byte().await, &prefix).with_connections(1);
    let one = writer.put(record("one", "1"), Condition::None).await;
    let one = one.unwrap();
    for polls in 1..=60 {
        for once_more in [false, true] {
            // A new connection, on which nothing is prepared.
            let store = MySqlStore::open_with(slow.clone()).await.unwrap();
            drop_when_woken(store.get(&key("none")), polls, once_more).await;
            let all = store.query_all("partition", "", QueryOptions::default());
            let all = all.await.unwrap();
            assert_eq!(all, std::slice::from_ref(&one), "{polls} {once_more}");
            assert_eq!(store.get(&key("one")).await.unwrap(), one);
            store.close().await;
        }
    }
}
