//! Streams made by hand.

use proptest::prelude::*;

use super::*;

/// A chunk of a cell in `f:q`, with its row's key.
fn chunk(key: &str, value: &str) -> CellChunk {
    CellChunk {
        row_key: Bytes::copy_from_slice(key.as_bytes()),
        family_name: Some("f".to_owned()),
        qualifier: Some(b"q".to_vec()),
        timestamp_micros: 1_000,
        value: Bytes::copy_from_slice(value.as_bytes()),
        ..CellChunk::default()
    }
}

/// A chunk that goes on where the last one ended.
fn more(value: &str) -> CellChunk {
    CellChunk {
        value: Bytes::copy_from_slice(value.as_bytes()),
        ..CellChunk::default()
    }
}

fn of(mut chunk: CellChunk, size: i32) -> CellChunk {
    chunk.value_size = size;
    chunk
}

fn last(mut chunk: CellChunk) -> CellChunk {
    chunk.row_status = Some(RowStatus::CommitRow(true));
    chunk
}

fn reset() -> CellChunk {
    CellChunk {
        row_status: Some(RowStatus::ResetRow(true)),
        ..CellChunk::default()
    }
}

fn message(chunks: impl Into<Vec<CellChunk>>) -> ReadRowsResponse {
    ReadRowsResponse {
        chunks: chunks.into(),
        ..ReadRowsResponse::default()
    }
}

fn scanned(key: &str) -> ReadRowsResponse {
    ReadRowsResponse {
        last_scanned_row_key: Bytes::copy_from_slice(key.as_bytes()),
        ..ReadRowsResponse::default()
    }
}

/// The rows of a stream, as `key=value,value`, and where it left the merger.
fn merged(messages: impl IntoIterator<Item = ReadRowsResponse>) -> (Vec<String>, Merger) {
    let mut merger = Merger::new(false);
    let mut rows = Vec::new();
    for message in messages {
        merger.push(message, &mut rows).unwrap();
    }
    let text = |bytes: &Bytes| String::from_utf8(bytes.to_vec()).unwrap();
    let rows = rows.iter().map(|row| {
        let values: Vec<_> = row.cells.iter().map(|cell| text(&cell.value)).collect();
        format!("{}={}", text(&row.key), values.join(","))
    });
    (rows.collect(), merger)
}

fn malformed(messages: impl IntoIterator<Item = ReadRowsResponse>) -> &'static str {
    let mut merger = Merger::new(false);
    let mut rows = Vec::new();
    let refused = messages
        .into_iter()
        .find_map(|message| merger.push(message, &mut rows).err());
    refused.expect("it is malformed").0
}

#[test]
fn a_row_split_over_messages_is_one_row() {
    let (rows, merger) = merged([
        message([chunk("a", "1")]),
        message([more("2")]),
        message([]),
        message([last(more("3"))]),
    ]);
    assert_eq!(rows, ["a=1,2,3"]);
    assert!(merger.is_between_rows());
    assert_eq!(merger.passed().unwrap(), &b"a"[..]);
}

#[test]
fn a_cell_split_over_messages_is_one_cell() {
    let (rows, _) = merged([
        message([of(chunk("a", "one "), 9)]),
        message([of(more("ce"), 9)]),
        message([last(more("ll!"))]),
        message([last(of(chunk("b", "whole"), 0))]),
    ]);
    assert_eq!(rows, ["a=one cell!", "b=whole"]);
}

#[test]
fn families_columns_and_times_are_those_last_named() {
    let mut next_column = more("2");
    next_column.qualifier = Some(b"r".to_vec());
    next_column.timestamp_micros = 2_000;
    let mut next_family = more("3");
    next_family.family_name = Some("g".to_owned());
    next_family.qualifier = Some(Vec::new());
    let mut older = more("4");
    older.timestamp_micros = 1_000;
    let mut merger = Merger::new(false);
    let mut rows = Vec::new();
    let chunks = [chunk("a", "1"), next_column, next_family, last(older)];
    merger.push(message(chunks), &mut rows).unwrap();
    let cells: Vec<_> = rows[0]
        .cells
        .iter()
        .map(|cell| (&*cell.family, &*cell.qualifier, cell.time))
        .collect();
    let expected: [(&str, &[u8], i64); 4] = [
        ("f", b"q", 1_000),
        ("f", b"r", 2_000),
        ("g", b"", 0),
        ("g", b"", 1_000),
    ];
    assert_eq!(cells, expected);
}

#[test]
fn what_is_reset_never_was() {
    let (rows, _) = merged([
        message([chunk("a", "wrong"), of(more("half"), 8)]),
        message([reset(), last(chunk("a", "right"))]),
        message([chunk("b", "wrong"), reset()]),
        message([last(chunk("c", "3"))]),
    ]);
    assert_eq!(rows, ["a=right", "c=3"]);
}

#[test]
fn a_scanned_key_is_passed_without_a_row() {
    let (rows, merger) = merged([message([last(chunk("a", "1"))]), scanned("k"), scanned("m")]);
    assert_eq!(rows, ["a=1"]);
    assert_eq!(merger.passed().unwrap(), &b"m"[..]);
    assert!(merger.is_between_rows());
}

#[test]
fn a_stream_that_breaks_within_a_row_has_passed_the_row_before_it() {
    let (rows, merger) = merged([message([last(chunk("a", "1")), chunk("b", "2")])]);
    assert_eq!(rows, ["a=1"]);
    assert!(!merger.is_between_rows());
    assert_eq!(merger.passed().unwrap(), &b"a"[..]);
}

#[test]
fn keys_go_one_way() {
    let row = |key| message([last(chunk(key, ""))]);
    assert_eq!(malformed([row("b"), row("a")]), "keys out of order");
    assert_eq!(malformed([row("b"), row("b")]), "keys out of order");
    assert_eq!(malformed([scanned("b"), row("a")]), "keys out of order");
    let mut merger = Merger::new(true);
    let mut rows = Vec::new();
    merger.push(row("b"), &mut rows).unwrap();
    merger.push(row("a"), &mut rows).unwrap();
    assert_eq!(rows.len(), 2);
    assert!(merger.push(row("c"), &mut rows).is_err());
}

#[test]
fn what_no_server_sends_is_refused() {
    let mut no_column = chunk("a", "");
    no_column.qualifier = None;
    let mut family_alone = more("");
    family_alone.family_name = Some("g".to_owned());
    for (chunks, words) in [
        (vec![more("")], "without a key"),
        (vec![no_column], "in no column"),
        (vec![chunk("a", ""), chunk("b", "")], "within another"),
        (vec![chunk("a", ""), family_alone], "without a column"),
        (
            vec![of(chunk("a", "x"), 2), chunk("a", "y")],
            "within another",
        ),
        (vec![last(of(chunk("a", "x"), 2))], "ends within a cell"),
        (vec![reset()], "a reset of nothing"),
    ] {
        let why = malformed([message(chunks)]);
        assert!(why.contains(words), "{why}: {words}");
    }
    let half_a_row = [message([chunk("a", "")]), scanned("b")];
    assert!(malformed(half_a_row).contains("in the middle of a row"));
}

proptest! {
    /// However values are cut and chunks are spread over messages, the same rows come out.
    #[test]
    fn cuts_do_not_matter(
        rows in proptest::collection::vec(proptest::collection::vec("[a-z]{0,8}", 1..4), 1..5),
        cut in 1_usize..4,
        per_message in 1_usize..5,
    ) {
        let mut chunks = Vec::new();
        for (number, cells) in rows.iter().enumerate() {
            for (at, value) in cells.iter().enumerate() {
                let pieces: Vec<_> = value.as_bytes().chunks(cut).collect();
                let pieces = if pieces.is_empty() { vec![&b""[..]] } else { pieces };
                for (piece_at, piece) in pieces.iter().enumerate() {
                    let piece = std::str::from_utf8(piece).unwrap();
                    let mut next = match (at, piece_at) {
                        (0, 0) => chunk(&number.to_string(), piece),
                        _ => more(piece),
                    };
                    if piece_at + 1 < pieces.len() {
                        next.value_size = i32::try_from(value.len()).unwrap();
                    } else if at + 1 == cells.len() {
                        next = last(next);
                    }
                    chunks.push(next);
                }
            }
        }
        let messages = chunks.chunks(per_message).map(message);
        let (found, merger) = merged(messages);
        let expected: Vec<_> = rows
            .iter()
            .enumerate()
            .map(|(number, cells)| format!("{number}={}", cells.join(",")))
            .collect();
        prop_assert_eq!(found, expected);
        prop_assert!(merger.is_between_rows());
    }
}
