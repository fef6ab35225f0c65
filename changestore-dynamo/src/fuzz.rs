//! Fuzz targets: keys, and items that no store has written.
//!
//! As tests they run for a second each, or as long as `BOLERO_RANDOM_TEST_TIME_MS` says; `cargo bolero test` runs one
//! under libFuzzer or AFL.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use bolero::check;
use changestore_core::{ChangeKey, ErrorKind, Key, Result, Timestamp, Version};

use crate::item::{self, Standing};
use crate::layout::{
    self, CREATED_AT, DATA, ETAG, EXPIRE_AT, Item, METADATA, PK, SK, UPDATED_AT, VALUE, VERSION,
};

fn at(item: &Item) -> (&str, &str) {
    (item[PK].as_s().unwrap(), item[SK].as_s().unwrap())
}

#[test]
fn keys_meet_nobody_and_sort_as_the_contract_does() {
    type Parts = [String; 3];
    check!().with_type::<(Parts, Parts)>().for_each(
        |([queue, uri, request], [other_queue, other_uri, other_request])| {
            let claim = ChangeKey::new(queue, uri, request);
            let other = ChangeKey::new(other_queue, other_uri, other_request);
            let document = Key::new(queue, uri);
            let Ok(claim) = claim else {
                return;
            };
            let item = layout::claim_key(&claim);
            assert_eq!(layout::request_id_of(at(&item).1), Some(&**request));
            if let Ok(other) = other {
                let others = layout::claim_key(&other);
                assert_eq!(at(&item).cmp(&at(&others)), claim.cmp(&other));
            }
            let document = document.expect("shorter than a claim's");
            let record = layout::document_key(&document);
            assert_ne!(at(&item), at(&record));
            assert_eq!(at(&record).1, uri);
        },
    );
}

const NAMES: [&str; 9] = [
    SK, VERSION, ETAG, EXPIRE_AT, DATA, VALUE, METADATA, CREATED_AT, UPDATED_AT,
];

/// An attribute of any type; a small number often, since that is what most are.
fn attribute(kind: u8, number: i64, text: &str) -> AttributeValue {
    match kind % 7 {
        0 => AttributeValue::N(number.to_string()),
        1 => AttributeValue::N((number % 4).to_string()),
        2 => AttributeValue::N(text.to_owned()),
        3 | 4 => AttributeValue::S(text.to_owned()),
        5 => AttributeValue::B(Blob::new(text.as_bytes())),
        _ => AttributeValue::Null(true),
    }
}

fn is_told<T>(result: Result<T>) -> Option<T> {
    result
        .map_err(|error| assert_eq!(*error.kind(), ErrorKind::Corrupt))
        .ok()
}

#[test]
fn an_item_is_what_it_says_or_corrupt() {
    check!()
        .with_type::<(Vec<(u8, u8, i64, String)>, u32)>()
        .for_each(|(attributes, now)| {
            let attributes = attributes.iter().map(|(name, kind, number, text)| {
                let name = NAMES[usize::from(*name) % NAMES.len()].to_owned();
                (name, attribute(*kind, *number, text))
            });
            let item: Item = attributes.collect();
            let now = Timestamp::from_millis(i64::from(*now)).unwrap();
            let standing = is_told(Standing::of(Some(&item), now));
            let key = Key::new("pk", "sk").unwrap();
            let record = is_told(item::live_record(key, item.clone(), now)).flatten();
            if let Some(record) = record {
                assert!(record.version >= Version::FIRST);
                assert!(record.expire_at.is_none_or(|at| !at.is_expired_at(now)));
                let (version, etag) = (record.version, record.etag);
                assert_eq!(standing, Some(Standing::Record { version, etag }));
            }
            if let Some(claim) = is_told(item::claim("queue", "uri", item)) {
                assert!(claim.version >= Version::FIRST);
                assert!(!claim.metadata.as_str().is_empty());
            }
        });
}
