//! The reply is lost after the server has done what it was asked for: the answer is the truth, or unknown.

use changestore_core::{
    ChangeStore, ChangeStoreExt, Condition, CreateOutcome, DocumentStore, ErrorKind, Etag,
    Metadata, MetadataUpdate, Outcome, Timestamp, Version,
};

use super::*;
use support::proxy::Fault;

/// The ways to lose a reply.
const LOSSES: [Fault; 2] = [Fault::LoseReply, Fault::FailAfterwards];

fn once(fault: Fault) -> [Option<Fault>; 1] {
    [Some(fault)]
}

fn update(old: u32, new: u32) -> MetadataUpdate {
    MetadataUpdate {
        metadata: Metadata::new(r#"{"state":"landed"}"#).unwrap(),
        old_version: Version::from(old),
        new_version: Version::from(new),
        updated_at: Timestamp::EPOCH,
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_create_knows_its_own_claim_again() {
    let site = Site::new().await;
    for (number, loss) in LOSSES.into_iter().enumerate() {
        let claim = claim(&number.to_string());
        site.proxy.next(once(loss));
        let outcome = site.store.create(claim.clone()).await.unwrap();
        assert_eq!(outcome, CreateOutcome::Created);
        assert_eq!(
            site.store.create(claim).await.unwrap(),
            CreateOutcome::AlreadyThere
        );
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_create_of_what_is_there_is_already_there() {
    let site = Site::new().await;
    assert_eq!(
        site.store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    site.proxy.next(once(Fault::LoseReply));
    assert_eq!(
        site.store.create(claim("1")).await.unwrap(),
        CreateOutcome::AlreadyThere
    );
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_update_of_metadata_is_applied_once() {
    let site = Site::new().await;
    let claim = claim("1");
    assert_eq!(
        site.store.create(claim.clone()).await.unwrap(),
        CreateOutcome::Created
    );
    // The second leaves the version as it is: only its token tells that it has happened.
    for (loss, (old, new)) in LOSSES.into_iter().zip([(1, 2), (2, 2)]) {
        site.proxy.next(once(loss));
        site.store
            .update_metadata(&claim.key, update(old, new))
            .await
            .unwrap();
        let stored = site.store.find_claim(&claim.key).await.unwrap().unwrap();
        assert_eq!(stored.version, Version::from(new));
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_update_that_was_overtaken_afterwards_is_unknown() {
    let site = Site::new().await;
    let claim = claim("1");
    assert_eq!(
        site.store.create(claim.clone()).await.unwrap(),
        CreateOutcome::Created
    );
    // The reply is lost, and while the client pauses somebody else updates from version 2.
    let direct = site.direct();
    site.proxy.next(once(Fault::LoseReply));
    let ours = site.store.update_metadata(&claim.key, update(1, 2));
    let theirs = async {
        loop {
            if direct
                .update_metadata(&claim.key, update(2, 3))
                .await
                .is_ok()
            {
                break;
            }
        }
    };
    let (ours, ()) = tokio::join!(ours, theirs);
    // Ours may have been sent again before theirs came, and has been told the truth then.
    if let Err(error) = ours {
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn puts_under_each_condition_report_what_they_wrote() {
    let site = Site::new().await;
    let store = &site.store;
    for loss in LOSSES {
        let sk = format!("{loss:?}");
        site.proxy.next(once(loss));
        let first = store
            .put(record(&sk, "1"), Condition::IfAbsent)
            .await
            .unwrap();
        site.proxy.next(once(loss));
        let second = store
            .put(record(&sk, "2"), Condition::IfVersion(first.version))
            .await
            .unwrap();
        site.proxy.next(once(loss));
        let third = store
            .put(record(&sk, "3"), Condition::IfEtag(second.etag))
            .await
            .unwrap();
        site.proxy.next_of("CheckAndMutateRow", loss);
        let fourth = store.put(record(&sk, "4"), Condition::None).await.unwrap();
        let versions = [first.version, third.version, fourth.version];
        assert_eq!(versions, [1, 3, 4].map(Version::from));
        assert_eq!(store.get(&key(&sk)).await.unwrap(), fourth);
        assert_eq!(site.proxy.left(), 0);
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_put_that_its_condition_may_have_refused_is_unknown() {
    let site = Site::new().await;
    let store = &site.store;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    for condition in [
        Condition::IfAbsent,
        Condition::IfVersion(Version::from(7)),
        // As the store's own are; with another nothing would be sent.
        Condition::IfEtag(Etag::new(format!("1-{}", Etag::unique())).unwrap()),
    ] {
        site.proxy.next(once(Fault::LoseReply));
        let error = store.put(record("a", "2"), condition).await.unwrap_err();
        // Nobody can know that the lost reply was a refusal: what is stored may have come later.
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
        assert_eq!(store.get(&key("a")).await.unwrap().version, Version::FIRST);
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_unconditional_put_is_sent_again_over_the_same_record_only() {
    let site = Site::new().await;
    let store = &site.store;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    site.proxy.seen();
    site.proxy.next_of("CheckAndMutateRow", Fault::LoseRequest);
    let second = store.put(record("a", "2"), Condition::None).await.unwrap();
    assert_eq!(second.version, Version::from(2));
    let sent = ["ReadRows", "CheckAndMutateRow", "CheckAndMutateRow"];
    assert_eq!(site.proxy.seen(), sent);
    // The reply is lost, and while the client pauses others write, over what was written or before it is.
    let direct = site.direct();
    for loss in [Fault::LoseReply, Fault::LoseRequest] {
        site.proxy.next_of("CheckAndMutateRow", loss);
        let before = store.get(&key("a")).await.unwrap();
        site.proxy.seen();
        let ours = store.put(record("a", "3"), Condition::None);
        let theirs = async {
            // Only once ours has been sent, which the proxy sees.
            let mut seen = Vec::new();
            while !seen.contains(&"CheckAndMutateRow".to_owned()) {
                tokio::task::yield_now().await;
                seen.extend(site.proxy.seen());
            }
            direct.put(record("a", "theirs"), Condition::None).await
        };
        let (ours, theirs) = tokio::join!(ours, theirs);
        let theirs = theirs.unwrap();
        match ours {
            // Theirs came first or last, and ours knows.
            Ok(ours) => assert_ne!(ours.version, theirs.version),
            Err(error) => {
                assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
                assert_eq!(*error.kind(), ErrorKind::Unavailable);
            }
        }
        // Never twice.
        let after = store.get(&key("a")).await.unwrap();
        assert!(after.version.get() <= before.version.get() + 2);
    }
}

/// What an etag does not name may be there again, made by others, when the request comes a second time.
#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn what_others_may_have_made_anew_is_never_written_over() {
    let site = Site::new().await;
    let store = &site.store;
    store.put(record("a", "1"), Condition::None).await.unwrap();
    let claim = claim("1");
    assert_eq!(
        store.create(claim.clone()).await.unwrap(),
        CreateOutcome::Created
    );
    let first = Condition::IfVersion(Version::FIRST);
    for (write, then) in [
        ("put if absent", &["CheckAndMutateRow", "ReadRows"][..]),
        ("put if version", &["CheckAndMutateRow", "ReadRows"]),
        ("delete if version", &["CheckAndMutateRow"]),
        ("update", &["CheckAndMutateRow", "ReadRows"]),
    ] {
        site.proxy.seen();
        site.proxy.next(once(Fault::LoseRequest));
        let lost = match write {
            "put if absent" => store.put(record("b", "1"), Condition::IfAbsent).await.err(),
            "put if version" => store.put(record("a", "2"), first.clone()).await.err(),
            "delete if version" => store.delete(&key("a"), first.clone()).await.err(),
            _ => store.update_metadata(&claim.key, update(1, 1)).await.err(),
        };
        assert_eq!(lost.unwrap().outcome(), Outcome::Unknown, "{write}");
        assert_eq!(site.proxy.seen(), then, "{write}");
    }
    assert!(store.get(&key("b")).await.unwrap_err().is_not_found());
    let stored = store.get(&key("a")).await.unwrap();
    assert_eq!(stored.version, Version::FIRST);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_delete_that_may_have_happened_is_unknown() {
    let site = Site::new().await;
    let store = &site.store;
    for loss in LOSSES {
        for conditional in [true, false] {
            let stored = store.put(record("a", "1"), Condition::None).await.unwrap();
            let condition = if conditional {
                Condition::IfEtag(stored.etag)
            } else {
                Condition::None
            };
            site.proxy.next(once(loss));
            let error = store.delete(&key("a"), condition).await.unwrap_err();
            assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
            assert!(error.is_retryable());
            assert!(store.get(&key("a")).await.unwrap_err().is_not_found());
        }
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn a_delete_that_did_not_happen_is_sent_again() {
    let site = Site::new().await;
    let stored = site
        .store
        .put(record("a", "1"), Condition::None)
        .await
        .unwrap();
    site.proxy.next(once(Fault::LoseRequest));
    site.store
        .delete(&key("a"), Condition::IfEtag(stored.etag))
        .await
        .unwrap();
    assert!(site.store.get(&key("a")).await.unwrap_err().is_not_found());
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_increment_counts_once_and_is_unknown() {
    let site = Site::new().await;
    let soon = Some(site.clock_after(1));
    // Of a counter that does not end, of one that then does, and of that one, which is read before it is written.
    for ((expire_at, write), loss) in [
        (None, "ReadModifyWriteRow"),
        (soon, "CheckAndMutateRow"),
        (None, "CheckAndMutateRow"),
    ]
    .into_iter()
    .flat_map(|case| LOSSES.map(|loss| (case, loss)))
    {
        let before = site.count().await;
        site.proxy.seen();
        site.proxy.next_of(write, loss);
        let error = site
            .store
            .increment(&key("n"), 1, expire_at)
            .await
            .unwrap_err();
        assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
        let sent = site.proxy.seen();
        assert!(sent.last().unwrap() != "ReadRows", "{sent:?}");
        assert_eq!(site.count().await, before + 1);
    }
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_increment_over_an_expired_counter_counts_once_too() {
    let site = Site::new().await;
    let soon = site.clock_after(1);
    site.store
        .increment(&key("n"), 41, Some(soon))
        .await
        .unwrap();
    site.clock.set(soon);
    // An addition finds the expired counter; then a conditional write replaces it.
    site.proxy.next_of("CheckAndMutateRow", Fault::LoseReply);
    let error = site.store.increment(&key("n"), 1, None).await.unwrap_err();
    assert_eq!(error.outcome(), Outcome::Unknown, "{error:?}");
    assert_eq!(site.count().await, 1);
}

#[tokio::test]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn reads_are_sent_again() {
    let site = Site::new().await;
    let store = &site.store;
    let stored = store.put(record("a", "1"), Condition::None).await.unwrap();
    assert_eq!(
        store.create(claim("1")).await.unwrap(),
        CreateOutcome::Created
    );
    for loss in LOSSES {
        site.proxy.next(once(loss));
        assert_eq!(store.get(&key("a")).await.unwrap(), stored);
        site.proxy.next(once(loss));
        assert_eq!(store.get_by_uri("queue", "uri").await.unwrap().len(), 1);
        site.proxy.next(once(loss));
        let found = changestore_core::DocumentStoreExt::query_all(
            store,
            "partition",
            "",
            changestore_core::QueryOptions::default(),
        );
        assert_eq!(found.await.unwrap(), std::slice::from_ref(&stored));
        assert_eq!(site.proxy.left(), 0);
    }
}
