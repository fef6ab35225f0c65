//! What is stored, and the ranges of keys that are read.
//!
//! redb compares tuples part by part and `&str` by its bytes: the contract's order, and no separator
//! that a key could contain. A key of one kind of thing is in one table, so counters are out of the
//! way of queries.

use std::ops::Bound;

use changestore_core::QueryPlan;
use redb::{TableDefinition, WriteTransaction};

use crate::error::Failure;

/// Queue, URI and request id: the queue leads, and the claims of one URI lie side by side.
pub(crate) type ClaimKey = (&'static str, &'static str, &'static str);
/// Version, time of creation, time of update, metadata.
pub(crate) type ClaimValue = (i64, i64, i64, &'static str);
pub(crate) const CLAIMS: TableDefinition<'_, ClaimKey, ClaimValue> =
    TableDefinition::new("changestore_claims");

/// Partition key and sort key.
pub(crate) type DocumentKey = (&'static str, &'static str);
/// Version, time of expiry, etag, data.
pub(crate) type RecordValue = (i64, Option<i64>, &'static str, &'static [u8]);
pub(crate) const RECORDS: TableDefinition<'_, DocumentKey, RecordValue> =
    TableDefinition::new("changestore_records");
/// Value, time of expiry.
pub(crate) type CounterValue = (i64, Option<i64>);
pub(crate) const COUNTERS: TableDefinition<'_, DocumentKey, CounterValue> =
    TableDefinition::new("changestore_counters");

type Range<K> = (Bound<K>, Bound<K>);

/// Makes the tables where they are missing: a reader cannot open what was never written.
pub(crate) fn create(transaction: &WriteTransaction) -> Result<(), Failure> {
    transaction.open_table(CLAIMS)?;
    transaction.open_table(RECORDS)?;
    transaction.open_table(COUNTERS)?;
    Ok(())
}

/// The least text after this one: no text lies between. Keys hold no NUL, so it is no key itself,
/// and it ends the range of all keys that have `text` as their part.
pub(crate) fn successor(text: &str) -> String {
    format!("{text}\0")
}

/// The claims of one URI; `uri_end` is the URI's [`successor`].
pub(crate) fn claims_of_uri<'a>(
    queue: &'a str,
    uri: &'a str,
    uri_end: &'a str,
) -> Range<(&'a str, &'a str, &'a str)> {
    (
        Bound::Included((queue, uri, "")),
        Bound::Excluded((queue, uri_end, "")),
    )
}

/// The records of a plan; `pk_end` is its partition's [`successor`].
pub(crate) fn records_of_plan<'a>(
    plan: &'a QueryPlan,
    pk_end: &'a str,
) -> Range<(&'a str, &'a str)> {
    let lower = match plan.lower() {
        Bound::Unbounded => Bound::Included((plan.pk(), "")),
        bound => bound.map(|sk| (plan.pk(), sk)),
    };
    let upper = match plan.upper() {
        Bound::Unbounded => Bound::Excluded((pk_end, "")),
        bound => bound.map(|sk| (plan.pk(), sk)),
    };
    (lower, upper)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use redb::{Key, Value};

    use super::DocumentKey;

    fn compare(left: (&str, &str), right: (&str, &str)) -> Ordering {
        let (left, right) = (DocumentKey::as_bytes(&left), DocumentKey::as_bytes(&right));
        DocumentKey::compare(&left, &right)
    }

    #[test]
    fn redb_orders_keys_part_by_part_and_by_their_utf8_bytes() {
        // UTF-16 has these two the other way round.
        assert_eq!(
            compare(("\u{e000}", "s"), ("\u{1f600}", "s")),
            Ordering::Less
        );
        // The first part decides, however long the parts are, and wherever a separator stood.
        assert_eq!(compare(("a", "bc"), ("ab", "c")), Ordering::Less);
        assert_eq!(compare(("a", "\u{10ffff}"), ("a\0", "")), Ordering::Less);
        assert_eq!(compare(("aa", "a"), ("b", "")), Ordering::Less);
        assert_eq!(compare(("p", "a"), ("p", "B")), Ordering::Greater);
    }
}
