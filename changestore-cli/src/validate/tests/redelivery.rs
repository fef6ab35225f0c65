//! Whatever is delivered again, however the events are cut: the same answers, and nothing written.

use proptest::prelude::*;
use store_mem::MemStore;

use super::rough::{LastWrite, RoughStore};
use super::*;

/// Events of few requests on few changes, so that they meet in every way.
fn any_event() -> impl Strategy<Value = Event> {
    let request_id = "r[1-5]";
    let uris = proptest::sample::subsequence(vec!["a", "b", "c", "d"], 1..=3).prop_shuffle();
    prop_oneof![
        (request_id, uris, 0..1_000i64).prop_map(|(id, uris, at)| submit(&id, &uris, at)),
        (request_id, "landed|failed", 0..1_000i64)
            .prop_map(|(id, state, at)| finish(&id, &state, at)),
    ]
}

fn any_events() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(any_event(), 1..25)
}

/// Events none of which is refused.
fn faultless_events() -> impl Strategy<Value = Vec<Event>> {
    any_events().prop_filter_map("at least one event", |events| {
        let mut model = Model::default();
        let faultless = events
            .into_iter()
            .filter(|event| model.answer(event).is_some());
        let faultless: Vec<Event> = faultless.collect();
        (!faultless.is_empty()).then_some(faultless)
    })
}

/// Events, and the same with copies among them, each some way behind its original.
fn with_redelivery(
    events: impl Strategy<Value = Vec<Event>>,
) -> impl Strategy<Value = (Vec<Event>, Vec<Event>)> {
    let copies = proptest::collection::vec((any::<prop::sample::Index>(), 0..25usize), 0..20);
    (events, copies).prop_map(|(events, copies)| {
        let mut slots: Vec<Vec<Event>> = events.iter().map(|event| vec![event.clone()]).collect();
        for (original, behind) in copies {
            let original = original.index(events.len());
            let place = (original + behind).min(events.len() - 1);
            slots[place].push(events[original].clone());
        }
        (events, slots.concat())
    })
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

proptest! {
    #[test]
    fn the_answers_are_the_models_however_the_events_are_cut(
        (_, events) in with_redelivery(any_events()),
        batch in 1..30usize,
    ) {
        let mut model = Model::default();
        let expected: Vec<_> = events.iter().map(|event| model.answer(event)).collect();
        let store = RoughStore::smooth(MemStore::new());
        let answers = block_on(run(&store, &events, batch)).unwrap();
        let answers: Vec<_> = answers.into_iter().map(std::result::Result::ok).collect();
        prop_assert_eq!(answers, expected);
    }

    // What is refused is not remembered, and may be in order when it comes again: such as a finish
    // ahead of its submit. So this is about files without a fault.
    #[test]
    fn redelivered_events_change_nothing(
        (events, redelivered) in with_redelivery(faultless_events()),
        batch in 1..30usize,
    ) {
        let store = MemStore::new();
        let smooth = RoughStore::smooth(store.clone());
        block_on(run(&smooth, &events, batch)).unwrap();
        let expected = block_on(dump(&store, &events));

        let other = MemStore::new();
        let smooth = RoughStore::smooth(other.clone());
        block_on(run(&smooth, &redelivered, batch)).unwrap();
        prop_assert_eq!(block_on(dump(&other, &events)), expected);

        // Everything once more, on a store that dies at the first write.
        let dying = RoughStore::crashing(other.clone(), 1, LastWrite::Lost);
        let answers = block_on(run(&dying, &redelivered, batch)).unwrap();
        prop_assert!(!dying.is_dead());
        prop_assert!(answers.iter().flatten().all(|answer| answer.redelivered));
    }
}

#[tokio::test]
async fn each_conflict_is_refused_in_words_and_changes_nothing() {
    let store = MemStore::new();
    let smooth = RoughStore::smooth(store.clone());
    let events = [submit("r", &["a", "b"], 1), finish("r", "landed", 2)];
    run(&smooth, &events, 2).await.unwrap();
    let before = dump(&store, &events).await;
    let refused = [
        submit("r", &["a"], 1),
        submit("r", &["b", "a"], 1),
        finish("r", "failed", 2),
        finish("s", "landed", 2),
    ];
    let answers = run(&smooth, &refused, 4).await.unwrap();
    let reasons: Vec<String> = (answers.into_iter())
        .map(|answer| answer.unwrap_err().to_string())
        .collect();
    let other_uris = r#"conflict: request "r" was submitted before with another list of uris"#;
    let expected = [
        other_uris,
        other_uris,
        r#"conflict: request "r" has finished as "landed" before, not as "failed""#,
        r#"finish of a request that was not submitted: "s" in queue "q""#,
    ];
    assert_eq!(reasons, expected);
    assert_eq!(dump(&store, &events).await, before);
}

#[tokio::test]
async fn a_request_too_large_for_its_record_is_refused_and_large_ones_share_no_intent() {
    let store = MemStore::new();
    let smooth = RoughStore::smooth(store.clone());
    let uris = |request: &str, count: usize| -> Vec<String> {
        let uri = |number| format!("{request}{number:0>767}");
        (0..count).map(uri).collect()
    };
    let submit = |request: &str, count| {
        let uris = uris(request, count);
        submit(
            request,
            &uris.iter().map(String::as_str).collect::<Vec<_>>(),
            1,
        )
    };
    let events = [submit("a", 500), submit("b", 500), submit("c", 509)];
    let answers = run(&smooth, &events, 3).await.unwrap();
    assert!(answers[0].is_ok() && answers[1].is_ok());
    let reason = answers[2].as_ref().unwrap_err().to_string();
    assert!(
        reason.starts_with("uris are too large: the request's record takes 3924"),
        "{reason}"
    );
    assert_eq!(dump(&store, &events).await.claims.len(), 1_000);
}
