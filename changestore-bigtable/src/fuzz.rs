//! Fuzz targets: keys, streams that no server sends, and rows that no store has written.
//!
//! As tests they run for a second each, or as long as `BOLERO_RANDOM_TEST_TIME_MS` says; `cargo bolero test` runs one
//! under libFuzzer or AFL.

use bolero::check;
use bytes::Bytes;
use changestore_core::{ChangeKey, ErrorKind, Key, Result, Timestamp, Version};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::ReadRowsResponse;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_rows_response::CellChunk;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_rows_response::cell_chunk::RowStatus;

use crate::cells::{self, Standing};
use crate::layout::{
    self, CLAIM, COUNT, CREATED_AT, DATA, ETAG, EXPIRY, GUARDED_COUNT, KEY, METADATA, RECORD,
    UPDATED_AT, VERSION,
};
use crate::merge::{Cell, Merger, Row};

#[test]
fn keys_meet_nobody_and_sort_as_the_contract_does() {
    type Parts = [String; 3];
    check!().with_type::<(Parts, Parts)>().for_each(
        |([queue, uri, request], [other_queue, other_uri, other_request])| {
            let claim = ChangeKey::new(queue, uri, request);
            let other = ChangeKey::new(other_queue, other_uri, other_request);
            let (Ok(claim), Ok(other)) = (claim, other) else {
                return;
            };
            let (row, others) = (layout::claim_row(&claim), layout::claim_row(&other));
            assert_eq!(row.cmp(&others), claim.cmp(&other));
            let of_uri = layout::uri_prefix(queue, uri);
            assert_eq!(&row[of_uri.len()..], request.as_bytes());
            let range = of_uri.clone()..layout::behind(&of_uri);
            assert!(range.contains(&row));
            assert_eq!(
                range.contains(&others),
                (queue, uri) == (other_queue, other_uri)
            );
            let document =
                |pk: &String, sk: &String| Key::new(pk, sk).expect("shorter than a claim's");
            let (one, another) = (document(queue, uri), document(other_queue, other_uri));
            let (record, others) = (layout::document_row(&one), layout::document_row(&another));
            assert_eq!(record.cmp(&others), one.cmp(&another));
            assert!(!range.contains(&record) && !range.contains(&others));
        },
    );
}

#[test]
fn a_stream_of_anything_is_rows_in_order_or_malformed() {
    check!()
        .with_type::<(bool, Vec<Vec<(u8, u8, i16, Vec<u8>)>>)>()
        .for_each(|(is_reversed, messages)| {
            let mut merger = Merger::new(*is_reversed);
            let mut rows = Vec::new();
            for chunks in messages {
                let chunks = chunks.iter().map(|(flags, key, size, value)| CellChunk {
                    row_key: Bytes::copy_from_slice(&[*key][..usize::from(flags & 1)]),
                    family_name: (flags & 2 != 0).then(|| RECORD.to_owned()),
                    qualifier: (flags & 4 != 0).then(|| DATA.to_vec()),
                    timestamp_micros: i64::from(*size),
                    value_size: if flags & 8 == 0 { 0 } else { (*size).into() },
                    value: value.clone().into(),
                    row_status: match flags >> 6 {
                        0 => None,
                        1 => Some(RowStatus::ResetRow(true)),
                        _ => Some(RowStatus::CommitRow(true)),
                    },
                    ..CellChunk::default()
                });
                let message = ReadRowsResponse {
                    chunks: chunks.collect(),
                    ..ReadRowsResponse::default()
                };
                if merger.push(message, &mut rows).is_err() {
                    break;
                }
            }
            let in_order = |a: &Row, b: &Row| a.key != b.key && (a.key < b.key) != *is_reversed;
            assert!(rows.is_sorted_by(in_order));
            assert!(rows.iter().all(|row| !row.key.is_empty()));
        });
}

const COLUMNS: [(&str, &[u8]); 11] = [
    (RECORD, VERSION),
    (RECORD, ETAG),
    (RECORD, DATA),
    (KEY, EXPIRY),
    (KEY, COUNT),
    (KEY, GUARDED_COUNT),
    (CLAIM, VERSION),
    (CLAIM, METADATA),
    (CLAIM, CREATED_AT),
    (CLAIM, UPDATED_AT),
    (CLAIM, b"another"),
];

/// A cell of any column; a number often, since that is what most are.
fn cell((column, kind, number, value): &(u8, u8, i64, Vec<u8>)) -> Cell {
    let (family, qualifier) = COLUMNS[usize::from(*column) % COLUMNS.len()];
    let integer = match kind % 4 {
        0 => Some(*number),
        1 => Some(number % 4),
        _ => None,
    };
    Cell {
        family: family.into(),
        qualifier: Bytes::from_static(qualifier),
        // Of a server's only ones that are not negative.
        time: if kind & 16 == 0 {
            layout::cell_time(None)
        } else {
            number & i64::MAX
        },
        value: match integer {
            Some(integer) => Bytes::copy_from_slice(&integer.to_be_bytes()),
            None => value.clone().into(),
        },
    }
}

fn is_told<T>(result: Result<T>) -> Option<T> {
    result
        .map_err(|error| assert_eq!(*error.kind(), ErrorKind::Corrupt))
        .ok()
}

#[test]
fn a_row_is_what_it_says_or_corrupt() {
    check!()
        .with_type::<(Vec<(u8, u8, i64, Vec<u8>)>, u32)>()
        .for_each(|(columns, now)| {
            let row = Row {
                key: Bytes::from_static(b"row"),
                cells: columns.iter().map(cell).collect(),
            };
            let now = Timestamp::from_millis(i64::from(*now)).unwrap();
            if let Some(Standing::Record { version, .. }) = is_told(Standing::of(Some(&row), now)) {
                assert!(version >= Version::FIRST);
            }
            let record = cells::record(Key::new("pk", "sk").unwrap(), &row, now);
            if let Some(record) = is_told(record).flatten() {
                assert!(record.version >= Version::FIRST);
                assert!(record.expire_at.is_none_or(|at| !at.is_expired_at(now)));
            }
            if let Some(claim) = is_told(cells::claim("queue", "uri", b"request", &row)) {
                assert!(claim.version >= Version::FIRST);
                assert!(!claim.metadata.as_str().is_empty());
            }
        });
}
