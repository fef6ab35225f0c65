//! Several processes on one queue: as if one came after the other.

use futures::future::join_all;
use store_mem::MemStore;

use super::rough::RoughStore;
use super::*;

#[tokio::test]
async fn of_requests_on_one_change_only_one_is_claimed() {
    for seed in 0..200 {
        let store = MemStore::new();
        let stalling = RoughStore::stalling(store.clone(), seed);
        // Nothing finishes, so claimed requests must not share a change.
        let files: Vec<Vec<Event>> = (0..4)
            .map(|process| {
                let request = |number| {
                    let (first, second) = (format!("u{number}"), format!("u{}", number + process));
                    submit(&format!("p{process}/{number}"), &[&first, &second], 1)
                };
                (0..4).map(request).collect()
            })
            .collect();
        let runs = files.iter().map(|events| run(&stalling, events, 2));
        for answers in join_all(runs).await {
            answers.unwrap();
        }
        let all = dump(&store, &files.concat()).await;
        assert_eq!(all.intents, 0);
        assert_eq!(all.requests.len(), 16);
        let mut owners = BTreeMap::new();
        for claim in &all.claims {
            let owner = owners.insert(claim.key.uri(), claim.key.request_id());
            assert_eq!(owner, None, "seed {seed}: {}", claim.key);
        }
        // Each refused request names one that was claimed.
        for (request, _, data) in &all.requests {
            let claimed = data.contains(r#""verdict":"claimed""#);
            assert_eq!(
                claimed,
                owners.values().any(|owner| owner == request),
                "{data}"
            );
        }
    }
}

#[tokio::test]
async fn the_same_file_twice_at_once_is_as_one_run() {
    let mut events = Vec::new();
    for number in 0..12 {
        let request = format!("r{number}");
        let (mine, shared) = (format!("u{number}"), format!("s{}", number % 3));
        events.push(submit(&request, &[&mine, &shared], number));
        if number % 2 == 0 {
            events.push(finish(&request, "landed", number));
        }
    }
    let store = MemStore::new();
    let smooth = RoughStore::smooth(store.clone());
    let whole = run(&smooth, &events, 4).await.unwrap();
    let expected = dump(&store, &events).await;
    for seed in 0..200 {
        let store = MemStore::new();
        let stalling = RoughStore::stalling(store.clone(), seed);
        let runs = [1, 3, 7].map(|batch| run(&stalling, &events, batch));
        for answers in join_all(runs).await {
            let said = |answers: &Answers| {
                let said = answers.iter().map(|answer| answer.clone().unwrap().said);
                said.collect::<Vec<_>>()
            };
            assert_eq!(said(&answers.unwrap()), said(&whole), "seed {seed}");
        }
        assert_eq!(dump(&store, &events).await, expected, "seed {seed}");
    }
}
