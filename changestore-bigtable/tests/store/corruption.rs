//! Rows that no store has written. A cell is bytes and a time, whatever is meant by them.

use async_trait::async_trait;
use bytes::Bytes;
use changestore_core::{Condition, DocumentStore, ErrorKind, Timestamp};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::bigtable_client::BigtableClient;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::mutation::{
    self, DeleteFromRow, SetCell,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    MutateRowRequest, Mutation, ReadRowsRequest, RowSet,
};
use storetest::corruption::{self, Field, Row, Tally, Value, Vandal};
use tonic::transport::{Channel, Endpoint};

use super::*;

/// The server's own stubs.
#[derive(Debug)]
struct Direct {
    stubs: BigtableClient<Channel>,
    table: String,
}

/// The cells of one row.
#[derive(Debug)]
struct Cells(Vec<SetCell>);

impl Direct {
    async fn of(site: &Site) -> Self {
        support::collect_nothing(site.store.table()).await;
        let endpoint = Endpoint::from_shared(format!("http://{}", support::url())).unwrap();
        Self {
            stubs: BigtableClient::new(endpoint.connect_lazy()),
            table: site.store.table().to_owned(),
        }
    }

    /// The row as it is, which is short enough to come in whole cells.
    async fn read(&self, row: &[u8]) -> Cells {
        let request = ReadRowsRequest {
            table_name: self.table.clone(),
            rows: Some(RowSet {
                row_keys: vec![Bytes::copy_from_slice(row)],
                row_ranges: Vec::new(),
            }),
            ..ReadRowsRequest::default()
        };
        let mut messages = self
            .stubs
            .clone()
            .read_rows(request)
            .await
            .unwrap()
            .into_inner();
        let mut cells: Vec<SetCell> = Vec::new();
        while let Some(message) = messages.message().await.unwrap() {
            for chunk in message.chunks {
                assert_eq!(chunk.value_size, 0, "a cell in pieces");
                let last = cells.last();
                // What is not named is as before.
                let family_name = match chunk.family_name {
                    Some(name) => name,
                    None => last.unwrap().family_name.clone(),
                };
                let column_qualifier = match chunk.qualifier {
                    Some(qualifier) => qualifier.into(),
                    None => last.unwrap().column_qualifier.clone(),
                };
                cells.push(SetCell {
                    family_name,
                    column_qualifier,
                    timestamp_micros: chunk.timestamp_micros,
                    value: chunk.value,
                });
            }
        }
        Cells(cells)
    }

    /// Puts these cells in the place of the row's.
    async fn write(&self, row: &[u8], cells: Cells) {
        let set = cells.0.into_iter().map(mutation::Mutation::SetCell);
        let clear = mutation::Mutation::DeleteFromRow(DeleteFromRow {});
        let mutations = std::iter::once(clear).chain(set).map(|mutation| Mutation {
            mutation: Some(mutation),
        });
        let request = MutateRowRequest {
            table_name: self.table.clone(),
            row_key: Bytes::copy_from_slice(row),
            mutations: mutations.collect(),
            ..MutateRowRequest::default()
        };
        self.stubs.clone().mutate_row(request).await.unwrap();
    }
}

impl Cells {
    fn has(&self, column: &str) -> bool {
        self.0.iter().any(|cell| cell.column_qualifier == column)
    }

    /// Replaces a cell's value, or removes the cell.
    fn set(&mut self, column: &str, value: Option<Bytes>) {
        match value {
            None => self.0.retain(|cell| cell.column_qualifier != column),
            Some(value) => {
                let mut cells = self.0.iter_mut();
                let cell = cells.find(|cell| cell.column_qualifier == column);
                cell.unwrap_or_else(|| panic!("no {column}")).value = value;
            }
        }
    }

    /// Lets a record expire then: in the time of each cell, and in what its key says. False if no cell can say that.
    fn expire(&mut self, millis: i64) -> bool {
        let (Some(micros), Some(expiry)) = (millis.checked_mul(1_000), millis.checked_mul(4))
        else {
            return false;
        };
        // Behind the latest time there is is what never expires.
        if millis < 0 || millis == Timestamp::MAX.as_millis() + 1 {
            return false;
        }
        for cell in &mut self.0 {
            cell.timestamp_micros = micros;
        }
        self.set("expiry", Some(number(expiry + 1)));
        true
    }
}

fn number(value: i64) -> Bytes {
    Bytes::copy_from_slice(&value.to_be_bytes())
}

/// The value as a cell has it.
fn bytes(value: &Value) -> Option<Bytes> {
    match value {
        Value::Nothing => None,
        Value::Integer(value) => Some(number(*value)),
        Value::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
        Value::Bytes(bytes) => Some(Bytes::copy_from_slice(bytes)),
    }
}

fn row_key(row: &Row) -> Vec<u8> {
    match row {
        Row::Document(key) => format!("{}\0d{}", key.pk(), key.sk()),
        Row::Claim(key) => format!("{}\0c{}\0{}", key.queue(), key.uri(), key.request_id()),
    }
    .into_bytes()
}

#[expect(clippy::match_same_arms, reason = "each has its own reason")]
#[async_trait]
impl Vandal for Direct {
    async fn spoil(&self, row: &Row, field: Field, value: &Value) -> bool {
        let row_key = row_key(row);
        let mut cells = self.read(&row_key).await;
        let (stored, is_record) = (bytes(value), cells.has("data"));
        let is_a_number = |stored: &Bytes| stored.len() == 8;
        match (field, value) {
            // Eight bytes are a number, whatever else they were meant to be.
            (
                Field::Version | Field::CreatedAt | Field::UpdatedAt | Field::Counter,
                Value::Text(_) | Value::Bytes(_),
            ) if stored.as_ref().is_some_and(is_a_number) => return false,
            // The etag names another: nobody can know which of them is right.
            (Field::Version, Value::Integer(1..)) if is_record => return false,
            (Field::Etag, Value::Integer(value))
                if std::str::from_utf8(&value.to_be_bytes()).is_ok() =>
            {
                return false;
            }
            // Data are any bytes.
            (Field::Data, Value::Integer(_) | Value::Text(_)) => return false,
            (Field::ExpireAt, Value::Integer(millis)) => {
                if !cells.expire(*millis) {
                    return false;
                }
            }
            // The time of a cell is a number.
            (Field::ExpireAt, _) => return false,
            // An addition leaves a count in whatever row it meets, and nobody reads it in a record's.
            (Field::Counter, _) if is_record => return *value == Value::Nothing,
            // The server adds to no count as to 0.
            (Field::Counter, Value::Nothing) => return false,
            // A count that an addition could take out of the range is guarded.
            (Field::Counter, Value::Integer(value)) if value.unsigned_abs() > 1 << 62 => {
                cells.set(
                    "expiry",
                    Some(number((Timestamp::MAX.as_millis() + 1) * 4 + 3)),
                );
                cells.set("count", stored);
                let count = cells
                    .0
                    .iter_mut()
                    .find(|cell| cell.column_qualifier == "count");
                count.unwrap().column_qualifier = Bytes::from_static(b"guarded_count");
            }
            (Field::Version, _) => cells.set("version", stored),
            (Field::Etag, _) => cells.set("etag", stored),
            (Field::Data, _) => cells.set("data", stored),
            (Field::Counter, _) => cells.set("count", stored),
            (Field::Metadata, _) => cells.set("metadata", stored),
            (Field::CreatedAt, _) => cells.set("created_at", stored),
            (Field::UpdatedAt, _) => cells.set("updated_at", stored),
        }
        self.write(&row_key, cells).await;
        true
    }
}

fn check(tally: Tally) {
    assert!(tally.spoiled > 80, "{tally:?}");
    assert!(tally.corrupt > tally.spoiled / 2, "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn spoiled_documents_are_told_and_harm_nobody() {
    let site = Site::new().await;
    let direct = Direct::of(&site).await;
    check(corruption::documents(&site.store, &direct, site.clock.now(), 1, 12).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn spoiled_claims_are_told_and_harm_nobody() {
    let site = Site::new().await;
    let direct = Direct::of(&site).await;
    check(corruption::claims(&site.store, &direct, 1, 12).await);
}

/// What a key says of itself is read by writes, and a record's own cells by reads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CHANGESTORE_BIGTABLE_URL; run cargo xtask ci"]
async fn an_expiry_that_is_not_ours() {
    let site = Site::new().await;
    let direct = Direct::of(&site).await;
    for (n, expiry) in [
        Value::Nothing,
        Value::Text("~".to_owned()),
        Value::Bytes(vec![0xff; 9]),
    ]
    .iter()
    .enumerate()
    {
        let sk = format!("sk{n}");
        let stored = site
            .store
            .put(record(&sk, "first"), Condition::None)
            .await
            .unwrap();
        let row = row_key(&Row::Document(stored.key.clone()));
        let mut cells = direct.read(&row).await;
        cells.set("expiry", bytes(expiry));
        direct.write(&row, cells).await;
        for condition in [
            Condition::None,
            Condition::IfAbsent,
            Condition::IfVersion(stored.version.next()),
        ] {
            let put = site.store.put(record(&sk, "second"), condition).await;
            assert_eq!(*put.unwrap_err().kind(), ErrorKind::Corrupt, "{expiry:?}");
        }
        let counted = site.store.increment(&stored.key, 1, None).await;
        assert_eq!(
            *counted.unwrap_err().kind(),
            ErrorKind::Corrupt,
            "{expiry:?}"
        );
        assert_eq!(site.store.get(&stored.key).await.unwrap(), stored);
    }
}
