//! The store against plain statements: sqlx through a pool, and rusqlite on the calling thread.
//!
//! `cargo bench -p changestore-sql --features sqlite`, with an argument such as `claims` or `get` for a part
//! of it. Everything that is compared runs in one process, in turns; the ratios are what counts.

#![allow(
    clippy::print_stdout,
    missing_docs,
    unreachable_pub,
    reason = "a program of its own"
)]

mod million;
mod rounds;
mod writes;

use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| part == name);
    let runtime = runtime();
    // On the disk that the build is on: /tmp may be memory, where a sync costs nothing.
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the databases");
    println!("SQLite {}", rusqlite::version());
    if is_wanted("claims") {
        writes::claims(&runtime, folder.path());
    }
    if ["get_by_uri", "get", "query"].into_iter().any(is_wanted) {
        let million = million::Million::new(&runtime, folder.path());
        if is_wanted("get_by_uri") {
            million.get_by_uri();
        }
        if is_wanted("get") {
            million.get();
        }
        if is_wanted("query") {
            million.query();
        }
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}
