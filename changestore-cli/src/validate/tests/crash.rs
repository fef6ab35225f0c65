//! A process that dies at any write is made up for by the next run of the same file.

use store_mem::MemStore;

use super::rough::{LastWrite, RoughStore};
use super::*;

/// Live and finished owners, a stack, duplicates of both kinds, redelivery, and refused events.
fn events() -> Vec<Event> {
    vec![
        submit("r1", &["a"], 1),
        submit("r2", &["a", "b"], 2),
        finish("r1", "landed", 3),
        submit("r3", &["b", "a", "c"], 4),
        submit("r3", &["b", "a", "c"], 4),
        finish("unheard of", "landed", 5),
        submit("r4", &["c"], 6),
        finish("r4", "failed", 7),
        finish("r3", "landed", 8),
        submit("r1", &["c"], 9),
        submit("r5", &["c", "d"], 10),
        finish("r2", "landed", 11),
        finish("r3", "failed", 12),
        finish("r3", "landed", 8),
    ]
}

#[tokio::test]
async fn a_crash_at_any_write_and_a_rerun_are_as_one_run() {
    let events = events();
    for batch in [1, 2, 5, 14] {
        let store = MemStore::new();
        let whole = run(&RoughStore::smooth(store.clone()), &events, batch)
            .await
            .unwrap();
        let expected = dump(&store, &events).await;
        assert_eq!(expected.intents, 0);
        assert_eq!(expected.requests.len(), 5);

        for last in [LastWrite::Lost, LastWrite::Done] {
            let mut crashes = 0;
            for writes in 1.. {
                let store = MemStore::new();
                let rough = RoughStore::crashing(store.clone(), writes, last);
                let _ = run(&rough, &events, batch).await;
                if !rough.is_dead() {
                    break;
                }
                crashes += 1;
                // The next process may cut the events otherwise, and may crash as well.
                let again = RoughStore::crashing(store.clone(), writes, last);
                let _ = run(&again, &events, 3).await;
                let smooth = RoughStore::smooth(store.clone());
                let answers = run(&smooth, &events, batch).await.unwrap();
                let at = format!("batches of {batch}, crash at write {writes}, {last:?}");
                assert_eq!(said(&answers), said(&whole), "{at}");
                assert_eq!(dump(&store, &events).await, expected, "{at}");
            }
            assert!(crashes > 12, "{crashes}");
        }
    }
}

#[tokio::test]
async fn what_a_crash_left_behind_counts_for_any_file_that_comes_next() {
    let events = [submit("r1", &["a", "b"], 1)];
    // The idle intent, then the intent itself, then the crash at the first claim.
    let store = MemStore::new();
    let rough = RoughStore::crashing(store.clone(), 3, LastWrite::Lost);
    run(&rough, &events, 1).await.unwrap_err();
    assert!(store.get_by_uri(QUEUE, "b").await.unwrap().is_empty());

    let other = [submit("r2", &["b"], 2)];
    let answers = run(&RoughStore::smooth(store.clone()), &other, 1)
        .await
        .unwrap();
    let of = "r1".to_owned();
    let uri = "b".to_owned();
    let verdict = Said::Verdict(Verdict::Duplicate { of, uri });
    assert_eq!(answers[0].as_ref().unwrap().said, verdict);
    assert_eq!(dump(&store, &events).await.claims.len(), 2);
}

#[tokio::test]
async fn what_another_process_decided_and_did_not_live_to_do_is_not_overlooked() {
    let store = MemStore::new();
    let mut ours = Batches::new(stores(&RoughStore::smooth(store.clone())), true);
    let first = ours.handle(&[submit("r1", &["a"], 1)]).await.unwrap();
    assert!(first[0].is_ok());

    // The other process applies our intent once more, writes its own, and dies before it claims.
    let rough = RoughStore::crashing(store.clone(), 4, LastWrite::Lost);
    let theirs = [submit("r2", &["b"], 2)];
    run(&rough, &theirs, 1).await.unwrap_err();

    // Where nothing is written no condition can fail; the refusal must look for itself.
    let answers = ours.handle(&[finish("r2", "landed", 3)]).await.unwrap();
    let state = "landed".to_owned();
    assert_eq!(answers[0].as_ref().unwrap().said, Said::Finished { state });
    ours.end().await.unwrap();
    let all = dump(&store, &theirs).await;
    assert_eq!(
        (all.intents, all.claims.len(), all.requests.len()),
        (0, 1, 2)
    );
}

/// The answers without the mark of redelivery.
fn said(answers: &Answers) -> Vec<std::result::Result<&Said, &Refusal>> {
    let said = answers
        .iter()
        .map(|answer| answer.as_ref().map(|answer| &answer.said));
    said.collect()
}
