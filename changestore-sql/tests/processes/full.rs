//! A disk without room: a limit on the size of a file, which any user can set and which stops a write as a full disk
//! does, in its middle.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use changestore_core::{ChangeStore as _, Condition, DocumentStore as _, NewRecord};
use changestore_sql::SqliteStore;
use tokio::runtime::Runtime;

use super::roles::{self, Role};
use super::{Actor, file};

/// In blocks of 512 bytes, or of 1,024 where the shell has it so: less than the log is long when it is first
/// written back.
const BLOCKS: u32 = 1_500;

pub(super) fn a_full_disk() {
    let (_folder, path) = file();
    let mut shell = Command::new("sh");
    // Without the signal, which ends the process, the write itself fails.
    let script = format!("trap '' XFSZ; ulimit -f {BLOCKS} && exec \"$0\"");
    shell
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap());
    let mut actor = Actor::start_by(shell, Role::Filler, &path);
    assert_eq!(actor.line(), "ready");
    actor.go();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in actor.lines.by_ref() {
        let line = line.unwrap();
        let (what, which) = line.split_once(' ').unwrap();
        told.entry(what.to_owned())
            .or_default()
            .insert(which.to_owned());
    }
    assert!(actor.child.wait().unwrap().success(), "{:?}", told.keys());
    let told = |what| told.get(what).cloned().unwrap_or_default();
    let (acknowledged, refused, unknown) = (told("acknowledged"), told("refused"), told("unknown"));
    assert!(
        acknowledged.len() > 50,
        "{} were written",
        acknowledged.len()
    );
    assert!(
        refused.len() + unknown.len() >= 24,
        "the disk was never full"
    );
    let read = told("read");
    assert_eq!(read.len(), 1, "what is there can be read all the same");

    Runtime::new().unwrap().block_on(async {
        let store = SqliteStore::open(&path).await.unwrap();
        let claims = store.get_by_uri("queue", "uri").await.unwrap();
        let there: BTreeSet<String> = claims
            .iter()
            .map(|claim| claim.key.request_id().to_owned())
            .collect();
        let lost: Vec<_> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "{lost:?} were acknowledged");
        let undead: Vec<_> = refused.intersection(&there).collect();
        assert!(undead.is_empty(), "{undead:?} were refused");
        assert!(there.len() <= acknowledged.len() + unknown.len());
        // There is room again.
        let record = NewRecord::new(roles::record(), "data").unwrap();
        store.put(record, Condition::IfAbsent).await.unwrap();
        store.close().await;
    });
    let direct = rusqlite::Connection::open(&path).unwrap();
    let check = direct.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(check.unwrap(), "ok");
}
