//! The example in Python, run as its users run it, on an archive that was written here.

use std::path::Path;
use std::process::Command;

use changestore_sql::contract::{Cursor, Poll};

use crate::archive::Archive;
use crate::oracle::examples;

fn run(archive: &Path, family: &str, cursor: &Path) -> String {
    let output = Command::new("python3")
        .arg("-B")
        .arg(examples().join("change_contract_reader.py"))
        .args([archive.as_os_str(), family.as_ref(), cursor.as_os_str()])
        .output()
        .expect("the example is a program in Python: python3 must be installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn the_example_prints_the_decision_and_the_rows() {
    let archive = Archive::enabled().await;
    let cursor = archive.path.with_extension("cursor");
    let next = || run(&archive.path, "rows", &cursor);
    assert_eq!(next(), "rebuild: no cursor\n");
    assert_eq!(next(), "unchanged\n");
    archive.run("INSERT INTO other(v) VALUES ('elsewhere')");
    assert_eq!(next(), "unchanged\n");
    archive.run(
        r#"INSERT INTO plain(id, v) VALUES (1, 'one'), (2, x'00ff'); UPDATE plain SET v = 'two' WHERE id = 1;
           INSERT INTO "a b" VALUES ('é', x'31', 0.5, NULL); DELETE FROM plain WHERE id = 2;"#,
    );
    assert_eq!(
        next(),
        "rows\n\
         update\tplain\t[1]\t{\"id\": 1, \"v\": \"two\"}\n\
         insert\ta b\t[{\"blob\": \"31\"}, \"é\"]\t\
         {\"order\": \"é\", \"x\\\"y\": {\"blob\": \"31\"}, \"Ünï\": 0.5, \"u\": null}\n\
         delete\tplain\t[2]\tdeleted\n",
    );
    archive.owner().await.bump("a test").await.unwrap();
    assert_eq!(next(), "rebuild: generation\n");
    archive.owner().await.disable().await.unwrap();
    assert_eq!(next(), "rebuild: absent\n");
    assert!(!cursor.exists());
}

#[tokio::test]
async fn its_cursor_is_ours_too() {
    let archive = Archive::enabled().await;
    let stored = archive.path.with_extension("cursor");
    run(&archive.path, "rows", &stored);
    archive.run("INSERT INTO plain(id) VALUES (7)");
    let cursor: Cursor = std::fs::read_to_string(&stored).unwrap().parse().unwrap();
    let poll = archive
        .reader("rows")
        .await
        .poll(Some(&cursor))
        .await
        .unwrap();
    assert!(matches!(&poll, Poll::Rows(changes) if changes.rows.len() == 1));
    std::fs::write(&stored, poll.next().unwrap().to_string()).unwrap();
    assert_eq!(run(&archive.path, "rows", &stored), "unchanged\n");
}
