//! The process that writes is killed, or it and the server.

use changestore_sql::{PostgresOptions, PostgresStore};
use tokio::runtime::Runtime;

use crate::writer::{Writer, url_of_role, write};

/// Writes and returns true, in a process that was started to be killed.
pub(crate) fn play_role() -> bool {
    let Some(url) = url_of_role() else {
        return false;
    };
    Runtime::new().expect("a runtime").block_on(async {
        write(PostgresStore::open(&url).await.expect("a store")).await;
    });
    true
}

async fn survives(is_server_killed: bool) {
    let server = engines::postgres::start().unwrap();
    let options = PostgresOptions::new(&server.url()).unwrap();
    PostgresStore::migrate_with(options).await.unwrap();
    let mut writer = Writer::start(&server.url());
    writer.reach(400);
    if is_server_killed {
        server.kill().unwrap();
    }
    writer.kill();
    if is_server_killed {
        server.restart().unwrap();
    }
    // A new process would find what this one finds.
    writer
        .check(&PostgresStore::open(&server.url()).await.unwrap())
        .await;
}

pub(crate) async fn what_was_acknowledged_survives_a_kill_of_the_process() {
    survives(false).await;
}

pub(crate) async fn what_was_acknowledged_survives_a_kill_of_both() {
    survives(true).await;
}
