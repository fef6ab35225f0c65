//! Where things stand in the table: names, keys, and when the table's TTL collects them.
//!
//! Claims and documents share one table. The first two characters of the partition key are the contract's, so
//! no queue meets a pk; they lie in the partition key, which has room (2,048 bytes), and not in
//! the sort key, which has none: a document's has up to 1,024 bytes, and so has a claim's.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use changestore_core::limits::GARBAGE_GRACE;
use changestore_core::{ChangeKey, Key, Timestamp};

/// An item as the SDK has it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// The partition key.
pub(crate) const PK: &str = "pk";
/// The sort key.
pub(crate) const SK: &str = "sk";
/// The table's TTL attribute: the second from which on an item is garbage.
pub(crate) const TTL: &str = "ttl";

/// Of records and claims.
pub(crate) const VERSION: &str = "version";
/// Of records and counters, in milliseconds.
pub(crate) const EXPIRE_AT: &str = "expire_at";

/// A record's bytes; not there if there are none.
pub(crate) const DATA: &str = "data";
/// A record's etag: the write that stored it.
pub(crate) const ETAG: &str = "etag";
/// A counter's value, which no record has.
pub(crate) const VALUE: &str = "value";

/// A claim's metadata, as text.
pub(crate) const METADATA: &str = "metadata";
pub(crate) const CREATED_AT: &str = "created_at";
pub(crate) const UPDATED_AT: &str = "updated_at";
/// The write that made a claim; it stays.
pub(crate) const CREATE_TOKEN: &str = "create_token";
/// The write that set a claim's metadata last.
pub(crate) const UPDATE_TOKEN: &str = "update_token";

/// Between the uri and the request id. No key holds a NUL, so no two pairs are joined alike; and nothing sorts
/// before it, so the claims of a uri stand together and in the order of their request ids.
const SEPARATOR: char = '\0';

const CLAIMS: &str = "C#";
const DOCUMENTS: &str = "D#";

/// The partition of a queue's claims.
pub(crate) fn queue_partition(queue: &str) -> AttributeValue {
    AttributeValue::S([CLAIMS, queue].concat())
}

/// The partition of a pk's records and counters.
pub(crate) fn document_partition(pk: &str) -> AttributeValue {
    AttributeValue::S([DOCUMENTS, pk].concat())
}

/// What the sort keys of a uri's claims begin with, and those of no other uri.
pub(crate) fn uri_prefix(uri: &str) -> String {
    let mut prefix = String::with_capacity(uri.len() + 1);
    prefix.push_str(uri);
    prefix.push(SEPARATOR);
    prefix
}

/// The request id in a claim's sort key.
pub(crate) fn request_id_of(sk: &str) -> Option<&str> {
    let (_, request_id) = sk.split_once(SEPARATOR)?;
    Some(request_id)
}

/// The primary key of a claim.
pub(crate) fn claim_key(key: &ChangeKey) -> Item {
    let sk = uri_prefix(key.uri()) + key.request_id();
    primary_key(queue_partition(key.queue()), sk)
}

/// The primary key of a record or counter.
pub(crate) fn document_key(key: &Key) -> Item {
    primary_key(document_partition(key.pk()), key.sk().to_owned())
}

pub(crate) fn primary_key(partition: AttributeValue, sk: String) -> Item {
    HashMap::from([
        (PK.to_owned(), partition),
        (SK.to_owned(), AttributeValue::S(sk)),
    ])
}

/// The second at which the table's TTL may delete what expires then: a day later, rounded up.
fn collected_at(expire_at: Timestamp) -> i64 {
    let millis = expire_at.saturating_add(GARBAGE_GRACE).as_millis();
    // Not negative, so this is rounding up.
    (millis + 999) / 1000
}

/// The attributes of something that expires: when, and when it is collected.
pub(crate) fn expiry(expire_at: Timestamp) -> [(&'static str, AttributeValue); 2] {
    [
        (EXPIRE_AT, number(expire_at.as_millis())),
        (TTL, number(collected_at(expire_at))),
    ]
}

pub(crate) fn number(value: i64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

pub(crate) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

#[cfg(test)]
mod tests {
    use changestore_core::limits;
    use proptest::prelude::*;

    use super::*;

    fn sk(item: &Item) -> &str {
        item[SK].as_s().unwrap()
    }

    #[test]
    fn the_longest_keys_fit() {
        let long = |limit: limits::Limit| "x".repeat(limit.max_bytes());
        let claim = ChangeKey::new(
            long(limits::QUEUE),
            long(limits::URI),
            long(limits::REQUEST_ID),
        );
        let document = Key::new(long(limits::PARTITION_KEY), long(limits::SORT_KEY));
        for item in [claim_key(&claim.unwrap()), document_key(&document.unwrap())] {
            assert!(sk(&item).len() <= 1024);
            assert!(item[PK].as_s().unwrap().len() <= 2048);
        }
    }

    #[test]
    fn claims_sort_by_uri_and_then_by_request() {
        let claim = |uri, request| claim_key(&ChangeKey::new("q", uri, request).unwrap());
        let (a, ab, a_longer) = (claim("a", "b"), claim("ab", "\u{1}"), claim("a", "b\u{1}"));
        assert!(sk(&a) < sk(&a_longer) && sk(&a_longer) < sk(&ab));
        assert!(!sk(&ab).starts_with(&uri_prefix("a")));
        assert_eq!(request_id_of(sk(&a_longer)), Some("b\u{1}"));
    }

    #[test]
    fn garbage_is_collected_a_day_after_it_expired_and_no_sooner() {
        let at = |millis| collected_at(Timestamp::from_millis(millis).unwrap());
        assert_eq!(at(0), 86_400);
        assert_eq!(at(1), 86_401);
        assert_eq!(at(1_000), 86_401);
        assert_eq!(collected_at(Timestamp::MAX), 253_402_300_800);
    }

    /// Characters that are awkward beside a separator or another one, and any.
    fn part() -> impl Strategy<Value = String> {
        let awkward = prop_oneof![
            Just('\u{1}'),
            Just('#'),
            Just('a'),
            Just('\u{7f}'),
            Just('\u{e9}'),
            Just('\u{ffff}'),
            Just('\u{10000}'),
            any::<char>(),
        ];
        let character = awkward.prop_filter("no NUL", |character| *character != '\0');
        proptest::collection::vec(character, 1..5).prop_map(String::from_iter)
    }

    fn at(item: &Item) -> (&str, &str) {
        (item[PK].as_s().unwrap(), sk(item))
    }

    proptest! {
        #[test]
        fn keys_come_back_and_sort_as_the_contract_does(
            left in [part(), part(), part()],
            right in [part(), part(), part()],
        ) {
            let claim = |[queue, uri, request]: &[String; 3]| {
                claim_key(&ChangeKey::new(queue, uri, request).unwrap())
            };
            let document = |[pk, sk, _]: &[String; 3]| document_key(&Key::new(pk, sk).unwrap());
            let (a, b) = (claim(&left), claim(&right));
            // By the bytes of the parts, one after the other: so no two keys meet.
            prop_assert_eq!(at(&a).cmp(&at(&b)), left.cmp(&right));
            prop_assert_eq!(request_id_of(sk(&a)), Some(&*left[2]));
            let is_of_uri = sk(&a).starts_with(&uri_prefix(&right[1]));
            prop_assert_eq!(is_of_uri, left[1] == right[1]);
            let (a, b) = (document(&left), document(&right));
            prop_assert_eq!(at(&a).cmp(&at(&b)), left[..2].cmp(&right[..2]));
            let claim = claim(&left);
            prop_assert_ne!(at(&claim), at(&b));
        }
    }
}
