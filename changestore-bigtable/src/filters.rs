//! The server's filters that the store uses, by what they mean here.
//!
//! Filters by bytes are regular expressions; exact bytes are a range from and to them. A chain has two filters
//! at least.

use bytes::Bytes;
use changestore_core::{Etag, Timestamp, Version};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_filter::{
    Chain, Condition, Filter, Interleave,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::value_range::{
    EndValue, StartValue,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    ColumnRange, RowFilter, TimestampRange, ValueRange, column_range,
};

use crate::layout::{self, CLAIM, ETAG, EXPIRY, Expiry, KEY, RECORD, STANDING, VERSION};

/// A live record's cells.
pub(crate) fn live_record(now: Timestamp) -> RowFilter {
    chain([family(RECORD), latest(), live(now)])
}

/// Matches where a live record is.
pub(crate) fn is_live_record(now: Timestamp) -> RowFilter {
    chain([column(RECORD, VERSION), latest(), live(now)])
}

/// Matches where a live record of that version is.
pub(crate) fn is_version(version: Version, now: Timestamp) -> RowFilter {
    let version = value_is(version.as_i64().to_be_bytes().to_vec());
    chain([column(RECORD, VERSION), latest(), live(now), version])
}

/// Matches where the live record of that etag is.
pub(crate) fn is_etag(etag: &Etag, now: Timestamp) -> RowFilter {
    let etag = value_is(etag.as_str().as_bytes().to_vec());
    chain([column(RECORD, ETAG), latest(), live(now), etag])
}

/// Matches where anything live is, a record or a counter: by what the key says, or by a record's own cells, which a key
/// that is damaged would let nobody see.
pub(crate) fn is_anything_live(now: Timestamp) -> RowFilter {
    let first = Expiry::first_live(now).number().to_be_bytes();
    let live = ValueRange {
        start_value: Some(StartValue::StartValueClosed(bytes(first.to_vec()))),
        end_value: None,
    };
    let by_key = chain([
        column(KEY, EXPIRY),
        latest(),
        filter(Filter::ValueRangeFilter(live)),
    ]);
    filter(Filter::Interleave(Interleave {
        filters: vec![by_key, is_live_record(now)],
    }))
}

/// Everything that says what is at a document's key, dead or alive, but its data.
pub(crate) fn standing() -> RowFilter {
    let columns = filter(Filter::ColumnQualifierRegexFilter(bytes(
        STANDING.as_bytes().to_vec(),
    )));
    chain([columns, latest()])
}

/// Matches where a column's latest cell is exactly that.
pub(crate) fn is(family: &str, qualifier: &[u8], value: impl Into<Vec<u8>>) -> RowFilter {
    chain([column(family, qualifier), latest(), value_is(value.into())])
}

/// Matches where both do.
pub(crate) fn both(first: RowFilter, second: RowFilter) -> RowFilter {
    filter(Filter::Condition(Box::new(Condition {
        predicate_filter: Some(Box::new(first)),
        true_filter: Some(Box::new(second)),
        false_filter: None,
    })))
}

/// Matches nowhere.
pub(crate) fn nothing() -> RowFilter {
    filter(Filter::BlockAllFilter(true))
}

/// A claim's cells; matches where any of them is.
pub(crate) fn claim() -> RowFilter {
    chain([family(CLAIM), latest()])
}

fn filter(filter: Filter) -> RowFilter {
    RowFilter {
        filter: Some(filter),
    }
}

fn chain<const N: usize>(filters: [RowFilter; N]) -> RowFilter {
    filter(Filter::Chain(Chain {
        filters: filters.into(),
    }))
}

fn family(family: &str) -> RowFilter {
    filter(Filter::FamilyNameRegexFilter(family.to_owned()))
}

fn column(family: &str, qualifier: &[u8]) -> RowFilter {
    let qualifier = bytes(qualifier.to_vec());
    let range = ColumnRange {
        family_name: family.to_owned(),
        start_qualifier: Some(column_range::StartQualifier::StartQualifierClosed(
            qualifier.clone(),
        )),
        end_qualifier: Some(column_range::EndQualifier::EndQualifierClosed(qualifier)),
    };
    filter(Filter::ColumnRangeFilter(range))
}

/// Older cells of a column may still be there.
fn latest() -> RowFilter {
    filter(Filter::CellsPerColumnLimitFilter(1))
}

fn live(now: Timestamp) -> RowFilter {
    filter(Filter::TimestampRangeFilter(TimestampRange {
        start_timestamp_micros: layout::first_live_time(now),
        // No end.
        end_timestamp_micros: 0,
    }))
}

fn value_is(value: Vec<u8>) -> RowFilter {
    let value = bytes(value);
    filter(Filter::ValueRangeFilter(ValueRange {
        start_value: Some(StartValue::StartValueClosed(value.clone())),
        end_value: Some(EndValue::EndValueClosed(value)),
    }))
}

fn bytes(bytes: Vec<u8>) -> Bytes {
    bytes.into()
}
