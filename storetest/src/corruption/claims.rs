//! Spoiled claims.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, ErrorKind, Metadata, MetadataUpdate,
    Operation, Timestamp, Version,
};

use super::told::{Place, is_corrupt};
use super::{Field, Row, Tally, Value, Vandal, values};

const FIELDS: [Field; 4] = [
    Field::Version,
    Field::Metadata,
    Field::CreatedAt,
    Field::UpdatedAt,
];

/// Spoils claims of an empty store in every awkward way and in so many random ones, and checks what its operations say.
///
/// # Panics
/// If one panics, hangs, tells a value that nobody stored, or changes what it says that it has not.
pub async fn claims(
    store: &dyn ChangeStore,
    vandal: &dyn Vandal,
    seed: u64,
    rounds: usize,
) -> Tally {
    let mut tally = Tally::default();
    let random = (0..rounds).map(|n| values::random(seed, n));
    for (n, value) in values::awkward().into_iter().chain(random).enumerate() {
        for field in FIELDS {
            let what = (field, &value);
            let place = Place { seed, what: &what };
            check(store, vandal, n, field, &value, &place, &mut tally).await;
        }
    }
    tally
}

async fn check(
    store: &dyn ChangeStore,
    vandal: &dyn Vandal,
    n: usize,
    field: Field,
    value: &Value,
    place: &Place<'_>,
    tally: &mut Tally,
) {
    let uri = format!("uri{n}/{field:?}");
    let claim = |request_id: &str| {
        let key = ChangeKey::new("queue", &uri, request_id).expect("a key");
        ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH)
    };
    let (spoiled, whole) = (claim("a"), claim("b"));
    for claim in [&spoiled, &whole] {
        let outcome = store.create(claim.clone()).await;
        assert_eq!(outcome.expect("created"), CreateOutcome::Created, "{place}");
    }
    if !vandal
        .spoil(&Row::Claim(spoiled.key.clone()), field, value)
        .await
    {
        tally.impossible += 1;
        return;
    }
    tally.spoiled += 1;
    let meaning = meaning(&spoiled, field, value);

    let read = store.get_by_uri("queue", &uri);
    let read = place.call(tally, Operation::GetByUri, read).await;
    match (&meaning, &read) {
        (Some(meaning), Ok(claims)) => {
            assert_eq!(claims, &[meaning.clone(), whole.clone()], "{place}");
        }
        (None, Err(error)) => assert!(is_corrupt(error), "{error:?} {place}"),
        (meaning, read) => panic!("{read:?} is not {meaning:?} {place}"),
    }

    let again = store.create(spoiled.clone());
    let again = place.call(tally, Operation::Create, again).await;
    assert!(
        matches!(again, Ok(CreateOutcome::AlreadyThere)),
        "{again:?} {place}"
    );

    let update = MetadataUpdate {
        metadata: Metadata::new("[1]").expect("metadata"),
        old_version: Version::FIRST,
        new_version: Version::FIRST.next(),
        updated_at: Timestamp::EPOCH,
    };
    // What stands beside it is none the worse, though it may be written in the same transaction.
    let (updated, beside) = tokio::join!(
        place.call(
            tally,
            Operation::UpdateMetadata,
            store.update_metadata(&spoiled.key, update.clone())
        ),
        store.update_metadata(&whole.key, update.clone()),
    );
    beside.unwrap_or_else(|error| panic!("{error:?} of the claim beside {place}"));
    let version = match field {
        Field::Version => version(value),
        _ => Some(Version::FIRST),
    };
    match (version, updated) {
        (Some(Version::FIRST), Ok(())) => {}
        // Nobody has to write into a row of which something else is damaged.
        (Some(Version::FIRST), Err(error)) if meaning.is_none() && is_corrupt(&error) => {}
        (Some(stored), Err(error)) if stored != Version::FIRST => {
            assert_eq!(
                *error.kind(),
                ErrorKind::VersionMismatch { stored },
                "{place}"
            );
        }
        (None, Err(error)) => assert!(is_corrupt(&error), "{error:?} {place}"),
        (version, updated) => panic!("{updated:?} at {version:?} {place}"),
    }
}

/// The claim that the row is by now; none if it is none.
fn meaning(claim: &ChangeRecord, field: Field, value: &Value) -> Option<ChangeRecord> {
    let mut claim = claim.clone();
    match (field, value) {
        (Field::Version, value) => claim.version = version(value)?,
        (Field::Metadata, Value::Text(text)) => {
            claim.metadata = Metadata::new(text.clone())
                .ok()
                .filter(|_| !text.is_empty())?;
        }
        (Field::CreatedAt, Value::Integer(millis)) => {
            claim.created_at = Timestamp::from_millis(*millis).ok()?;
        }
        (Field::UpdatedAt, Value::Integer(millis)) => {
            claim.updated_at = Timestamp::from_millis(*millis).ok()?;
        }
        _ => return None,
    }
    Some(claim)
}

fn version(value: &Value) -> Option<Version> {
    match value {
        Value::Integer(version @ 1..) => Version::try_from(*version).ok(),
        _ => None,
    }
}
