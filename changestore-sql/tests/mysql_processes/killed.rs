//! The process that writes is killed, or it and the server.

use changestore_sql::{MySqlOptions, MySqlStore};
use tokio::runtime::Runtime;

use crate::writer::{Writer, url_of_role, write};

/// Writes and returns true, in a process that was started to be killed.
pub(crate) fn play_role() -> bool {
    let Some(url) = url_of_role() else {
        return false;
    };
    Runtime::new().expect("a runtime").block_on(async {
        write(MySqlStore::open(&url).await.expect("a store")).await;
    });
    true
}

fn survives(is_server_killed: bool) {
    let server = engines::mariadb::start().unwrap();
    let runtime = Runtime::new().unwrap();
    let options = MySqlOptions::new(&server.url()).unwrap();
    runtime.block_on(MySqlStore::migrate_with(options)).unwrap();
    let mut writer = Writer::start(&server.url());
    writer.reach(400);
    if is_server_killed {
        server.kill().unwrap();
    }
    writer.kill();
    if is_server_killed {
        server.restart().unwrap();
    }
    runtime.block_on(async {
        // A new process would find what this one finds.
        let store = MySqlStore::open(&server.url()).await.unwrap();
        writer.check(&store).await;
    });
}

pub(crate) fn what_was_acknowledged_survives_a_kill_of_the_process() {
    survives(false);
}

pub(crate) fn what_was_acknowledged_survives_a_kill_of_both() {
    survives(true);
}
