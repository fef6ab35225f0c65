//! The same requests as the store's, made with the stubs: the same headers, filters, conditions and cells, keys of the same
//! size.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use changestore_core::Etag;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::bigtable_client::BigtableClient;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::mutation::{
    DeleteFromRow, Mutation as Kind, SetCell,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_modify_write_rule::Rule;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_filter::{
    Chain, Filter, Interleave,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_range::{EndKey, StartKey};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::value_range::{
    EndValue, StartValue,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    CheckAndMutateRowRequest, ColumnRange, Mutation, ReadModifyWriteRowRequest,
    ReadModifyWriteRule, ReadRowsRequest, RowFilter, RowRange, RowSet, TimestampRange, ValueRange,
    column_range,
};
use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::{Channel, Endpoint};

use super::Operation::{self, Create, Get, GetByUri, Increment, Put, PutIfAbsent};
use super::{DATA, nth, support};

/// When something expires that never does, as a cell's time.
const NEVER: i64 = 253_402_300_800_000_000;
const NOW: i64 = 1_800_000_000_000_000;

const DEADLINE: Duration = Duration::from_secs(5);

/// What a client knows of the protocol, and its name.
const FEATURES: &str = "CAEgAQ==";
const CLIENT: &str = "gl-rust gccl/0.1.0 grpc/tonic";

pub(crate) struct Direct {
    channels: Vec<Channel>,
    next: AtomicUsize,
    table: String,
    /// How Bigtable finds the table, in the headers of every request.
    resource: MetadataValue<Ascii>,
    parameters: MetadataValue<Ascii>,
}

impl Direct {
    pub(crate) fn new(address: &str, table: &str, channels: usize) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{address}"))
            .expect("an address")
            .tcp_nodelay(true);
        let (project, instance) = (support::PROJECT, support::INSTANCE);
        let table = format!("projects/{project}/instances/{instance}/tables/{table}");
        let parameters = format!("table_name={}", table.replace('/', "%2F"));
        Self {
            resource: table.parse().expect("a header"),
            parameters: parameters.parse().expect("a header"),
            channels: (0..channels).map(|_| endpoint.connect_lazy()).collect(),
            next: AtomicUsize::new(0),
            table,
        }
    }

    pub(crate) async fn run(&self, operation: Operation, number: usize) {
        let row = |key: String| Bytes::from(key.into_bytes());
        match operation {
            Create => {
                let token = Etag::unique();
                let cells = [
                    ("metadata", b"{}".to_vec()),
                    ("created_at", vec![0; 8]),
                    ("updated_at", vec![0; 8]),
                    ("version", 1_i64.to_be_bytes().to_vec()),
                    ("create_token", token.as_str().into()),
                    ("update_token", token.as_str().into()),
                ];
                let cells = cells.map(|(column, value)| set("c", column, 0, value));
                let key = row(format!("direct\0curi{number}\0request"));
                let claim = chain([family("c"), latest()]);
                assert!(!self.check(key, claim, cells.into()).await);
            }
            GetByUri => {
                let prefix = format!("shared\0c{}\0", nth(number));
                let end = prefix.replace(&nth(number), &(nth(number) + "\u{1}"));
                let range = RowRange {
                    start_key: Some(StartKey::StartKeyClosed(row(prefix))),
                    end_key: Some(EndKey::EndKeyOpen(row(end))),
                };
                let rows = RowSet {
                    row_keys: vec![],
                    row_ranges: vec![range],
                };
                let claim = chain([family("c"), latest()]);
                let found = self.read(rows, claim, 0).await;
                assert!(found > 0);
            }
            Get => {
                let record = chain([family("r"), latest(), live()]);
                let found = self.row("shared", &nth(number), record).await;
                assert!(found > 0);
            }
            PutIfAbsent => {
                let key = row(format!("direct\0dnew{number}"));
                let first = (NOW / 250).to_be_bytes().to_vec();
                let by_key = chain([column("k", "expiry"), latest(), value(first, None)]);
                let by_record = chain([column("r", "version"), latest(), live()]);
                let anything = filter(Filter::Interleave(Interleave {
                    filters: vec![by_key, by_record],
                }));
                assert!(!self.check(key, anything, record()).await);
            }
            Put => {
                let sk = nth(number);
                let columns = "version|etag|expiry|count|guarded_count";
                let columns = Filter::ColumnQualifierRegexFilter(columns.into());
                self.row("direct", &sk, chain([filter(columns), latest()]))
                    .await;
                let key = row(format!("direct\0d{sk}"));
                // Another than is there, so what is done is done where it is not.
                let etag = format!("1-{}", Etag::unique()).into_bytes();
                let is_etag = value(etag.clone(), Some(etag));
                let same = chain([column("r", "etag"), latest(), live(), is_etag]);
                assert!(!self.check(key, same, record()).await);
            }
            Increment => {
                let add = |column: &'static str, amount| ReadModifyWriteRule {
                    family_name: "k".to_owned(),
                    column_qualifier: Bytes::from_static(column.as_bytes()),
                    rule: Some(Rule::IncrementAmount(amount)),
                };
                let number = number % super::RECORDS;
                let request = ReadModifyWriteRowRequest {
                    table_name: self.table.clone(),
                    row_key: row(format!("shared\0dcounter{number}")),
                    rules: vec![add("expiry", 0), add("count", 1)],
                    ..ReadModifyWriteRowRequest::default()
                };
                let answer = self
                    .client()
                    .read_modify_write_row(self.request(request))
                    .await;
                assert!(answer.expect("a number").into_inner().row.is_some());
            }
        }
    }

    /// With the headers and the deadline that no request to Bigtable goes without.
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let headers = request.metadata_mut();
        headers.insert("google-cloud-resource-prefix", self.resource.clone());
        headers.insert("x-goog-request-params", self.parameters.clone());
        headers.insert("bigtable-features", MetadataValue::from_static(FEATURES));
        headers.insert("x-goog-api-client", MetadataValue::from_static(CLIENT));
        request.set_timeout(DEADLINE);
        request
    }

    fn client(&self) -> BigtableClient<Channel> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        BigtableClient::new(self.channels[next % self.channels.len()].clone())
    }

    async fn row(&self, pk: &str, sk: &str, filter: RowFilter) -> usize {
        let rows = RowSet {
            row_keys: vec![Bytes::from(format!("{pk}\0d{sk}").into_bytes())],
            row_ranges: vec![],
        };
        self.read(rows, filter, 1).await
    }

    /// How many bytes came.
    async fn read(&self, rows: RowSet, filter: RowFilter, rows_limit: i64) -> usize {
        let request = ReadRowsRequest {
            table_name: self.table.clone(),
            rows: Some(rows),
            filter: Some(filter),
            rows_limit,
            ..ReadRowsRequest::default()
        };
        let answer = self.client().read_rows(self.request(request)).await;
        let mut stream = answer.expect("rows").into_inner();
        let mut bytes = 0;
        while let Some(message) = stream.message().await.expect("a message") {
            bytes += message
                .chunks
                .iter()
                .map(|chunk| chunk.value.len())
                .sum::<usize>();
        }
        bytes
    }

    /// Does it where the predicate does not match; whether it does.
    async fn check(&self, row_key: Bytes, predicate: RowFilter, mutations: Vec<Mutation>) -> bool {
        let request = CheckAndMutateRowRequest {
            table_name: self.table.clone(),
            row_key,
            predicate_filter: Some(predicate),
            false_mutations: mutations,
            ..CheckAndMutateRowRequest::default()
        };
        let answer = self
            .client()
            .check_and_mutate_row(self.request(request))
            .await;
        answer.expect("a write").into_inner().predicate_matched
    }
}

fn record() -> Vec<Mutation> {
    let etag = format!("1-{}", Etag::unique());
    vec![
        Mutation {
            mutation: Some(Kind::DeleteFromRow(DeleteFromRow {})),
        },
        set("r", "data", NEVER, DATA.to_vec()),
        set("r", "version", NEVER, 1_i64.to_be_bytes().to_vec()),
        set("r", "etag", NEVER, etag.into_bytes()),
        set("k", "expiry", NEVER, (NEVER / 250).to_be_bytes().to_vec()),
    ]
}

fn set(family: &str, column: &'static str, time: i64, value: Vec<u8>) -> Mutation {
    Mutation {
        mutation: Some(Kind::SetCell(SetCell {
            family_name: family.to_owned(),
            column_qualifier: Bytes::from_static(column.as_bytes()),
            timestamp_micros: time,
            value: value.into(),
        })),
    }
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

fn column(family: &str, column: &'static str) -> RowFilter {
    let qualifier = Bytes::from_static(column.as_bytes());
    filter(Filter::ColumnRangeFilter(ColumnRange {
        family_name: family.to_owned(),
        start_qualifier: Some(column_range::StartQualifier::StartQualifierClosed(
            qualifier.clone(),
        )),
        end_qualifier: Some(column_range::EndQualifier::EndQualifierClosed(qualifier)),
    }))
}

fn value(first: Vec<u8>, last: Option<Vec<u8>>) -> RowFilter {
    filter(Filter::ValueRangeFilter(ValueRange {
        start_value: Some(StartValue::StartValueClosed(first.into())),
        end_value: last.map(|last| EndValue::EndValueClosed(last.into())),
    }))
}

fn latest() -> RowFilter {
    filter(Filter::CellsPerColumnLimitFilter(1))
}

fn live() -> RowFilter {
    filter(Filter::TimestampRangeFilter(TimestampRange {
        start_timestamp_micros: NOW,
        end_timestamp_micros: 0,
    }))
}
