//! What the store costs beside the same calls of the SDK made directly, and how many requests it makes.
//!
//! `cargo bench -p changestore-dynamo [OPERATION...]`
//!
//! The server is that of `CHANGESTORE_DYNAMO_URL`, or a dynoxide that is started for it. Rounds are short and in turns, so
//! that what else the machine does meets both alike.

use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, ConfigBag, Credentials, Intercept, Region, RuntimeComponents,
};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue::{B, N, S};
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, CreateOutcome, DocumentStore, Key, Metadata,
    NewRecord, Timestamp,
};
use changestore_dynamo::DynamoStore;
use tokio::runtime::Runtime;

const ROUND: Duration = Duration::from_millis(100);
const ROUNDS: usize = 101;
/// So many records are read.
const RECORDS: usize = 1_000;
const DATA: [u8; 256] = [b'x'; 256];

/// Counts the requests of a client.
#[derive(Debug, Clone, Default)]
struct Requests(Arc<AtomicUsize>);

impl Intercept for Requests {
    fn name(&self) -> &'static str {
        "Requests"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Create,
    GetByUri,
    Get,
    PutIfAbsent,
    Put,
    Increment,
}

use Operation::{Create, Get, GetByUri, Increment, Put, PutIfAbsent};

const OPERATIONS: [(&str, Operation); 6] = [
    ("create", Create),
    ("get_by_uri", GetByUri),
    ("get", Get),
    ("put, if absent", PutIfAbsent),
    ("put", Put),
    ("increment", Increment),
];

/// Who does it: the store, or the SDK.
#[derive(Clone)]
enum Contender {
    Sdk(Client, String),
    Store(DynamoStore),
}

impl Contender {
    async fn run(&self, operation: Operation, number: usize) {
        match self {
            Self::Sdk(client, table) => direct(client, table, operation, number).await,
            Self::Store(store) => stored(store, operation, number).await,
        }
    }
}

fn nth(number: usize) -> String {
    format!("{:08}", number % RECORDS)
}

async fn stored(store: &DynamoStore, operation: Operation, number: usize) {
    let key = |sk: String| Key::new("store", sk).expect("a key");
    let record = |sk: String| NewRecord::new(key(sk), &DATA[..]).expect("a record");
    match operation {
        Create => {
            let key = ChangeKey::new("store", format!("uri{number}"), "request").expect("a key");
            let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
            let outcome = store.create(claim).await.expect("a claim");
            assert_eq!(outcome, CreateOutcome::Created);
        }
        GetByUri => {
            let found = store.get_by_uri("shared", &nth(number)).await;
            assert_eq!(found.expect("claims").len(), 1);
        }
        Get => {
            let key = Key::new("shared", nth(number)).expect("a key");
            store.get(&key).await.expect("a record");
        }
        PutIfAbsent => {
            let record = record(format!("new{number}"));
            store.put(record, Condition::IfAbsent).await.expect("a put");
        }
        Put => {
            let record = record(nth(number));
            store.put(record, Condition::None).await.expect("a put");
        }
        Increment => {
            let key = key(format!("counter{}", number % RECORDS));
            store.increment(&key, 1, None).await.expect("a number");
        }
    }
}

/// The same requests: keys, attributes and conditions of the same size.
async fn direct(client: &Client, table: &str, operation: Operation, number: usize) {
    let text = |text: &str| S(text.to_owned());
    let put = |pk: &str, sk: String| {
        client
            .put_item()
            .table_name(table)
            .item("pk", text(pk))
            .item("sk", S(sk))
            .item("version", N("1".to_owned()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
    let update = |sk: String| {
        client
            .update_item()
            .table_name(table)
            .key("pk", text("D#sdk"))
            .key("sk", S(sk))
            .expression_attribute_names("#pk", "pk")
            .expression_attribute_names("#expire_at", "expire_at")
            .expression_attribute_values(":now", N("1800000000000".to_owned()))
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    };
    let token = || S(changestore_core::Etag::unique().as_str().to_owned());
    match operation {
        Create => {
            put("C#sdk", format!("uri{number}\0request"))
                .item("metadata", text("{}"))
                .item("created_at", N("0".to_owned()))
                .item("updated_at", N("0".to_owned()))
                .item("create_token", token())
                .condition_expression("attribute_not_exists(#pk)")
                .expression_attribute_names("#pk", "pk")
                .send()
                .await
                .expect("a claim");
        }
        GetByUri => {
            let found = client
                .query()
                .table_name(table)
                .consistent_read(true)
                .key_condition_expression("#pk = :pk AND begins_with(#sk, :uri)")
                .expression_attribute_names("#pk", "pk")
                .expression_attribute_names("#sk", "sk")
                .expression_attribute_values(":pk", text("C#shared"))
                .expression_attribute_values(":uri", S(nth(number) + "\0"))
                .send()
                .await
                .expect("claims");
            assert_eq!(found.count(), 1);
        }
        Get => {
            let found = client
                .get_item()
                .table_name(table)
                .consistent_read(true)
                .key("pk", text("D#shared"))
                .key("sk", S(nth(number)))
                .send()
                .await
                .expect("a record");
            assert!(found.item.is_some());
        }
        PutIfAbsent => {
            put("D#sdk", format!("new{number}"))
                .item("data", B(Blob::new(DATA)))
                .item("etag", token())
                .condition_expression("attribute_not_exists(#pk) OR #expire_at <= :now")
                .expression_attribute_names("#pk", "pk")
                .expression_attribute_names("#expire_at", "expire_at")
                .expression_attribute_values(":now", N("1800000000000".to_owned()))
                .send()
                .await
                .expect("a put");
        }
        Put => {
            update(nth(number))
                .update_expression(
                    "SET #version = if_not_exists(#version, :zero) + :one, #etag = :etag, #data = :data \
                     REMOVE #expire_at, #ttl",
                )
                .condition_expression(
                    "attribute_not_exists(#pk) OR (attribute_exists(#version) AND attribute_not_exists(#value) \
                     AND (attribute_not_exists(#expire_at) OR #expire_at > :now) \
                     AND #version BETWEEN :one AND :greatest)",
                )
                .expression_attribute_names("#value", "value")
                .expression_attribute_names("#version", "version")
                .expression_attribute_names("#etag", "etag")
                .expression_attribute_names("#data", "data")
                .expression_attribute_names("#ttl", "ttl")
                .expression_attribute_values(":zero", N("0".to_owned()))
                .expression_attribute_values(":one", N("1".to_owned()))
                .expression_attribute_values(":greatest", N((i64::MAX - 1).to_string()))
                .expression_attribute_values(":etag", token())
                .expression_attribute_values(":data", B(Blob::new(DATA)))
                .send()
                .await
                .expect("a put");
        }
        Increment => {
            update(format!("counter{}", number % RECORDS))
                .update_expression("ADD #value :delta")
                .condition_expression(
                    "attribute_not_exists(#pk) OR (#value <= :bound AND \
                     (attribute_not_exists(#expire_at) OR #expire_at > :now))",
                )
                .expression_attribute_names("#value", "value")
                .expression_attribute_values(":delta", N("1".to_owned()))
                .expression_attribute_values(":bound", N((i64::MAX - 1).to_string()))
                .send()
                .await
                .expect("a number");
        }
    }
}

fn main() {
    // Ends with the benchmark.
    let mut own_server = None;
    let url = env::var("CHANGESTORE_DYNAMO_URL").unwrap_or_else(|_| {
        let server = engines::dynoxide::start().expect("a server");
        println!("{}", server.version());
        own_server.insert(server).url()
    });
    let runtime = Runtime::new().expect("a runtime");
    let requests = Requests::default();
    let config = Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .endpoint_url(url)
        .interceptor(requests.clone());
    let client = Client::from_conf(config.build());
    let table = format!("bench_{}", std::process::id());
    let store = DynamoStore::builder(client.clone())
        .with_table(&table)
        .build()
        .expect("a store");
    runtime.block_on(fill(&store));
    let contenders = [
        Contender::Sdk(client.clone(), table.clone()),
        Contender::Store(store),
    ];
    println!(
        "\n| | tasks | SDK, per second | store, per second | ratio | requests per operation |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    let wanted: Vec<_> = env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    for (name, operation) in OPERATIONS {
        if !wanted.is_empty() && !wanted.iter().any(|word| name == word) {
            continue;
        }
        for tasks in [1, 32] {
            let measured = measure(&runtime, &contenders, operation, tasks, &requests);
            println!(
                "| `{name}` | {tasks} | {:.0} | {:.0} | {:.2} | {:.2} |",
                measured.sdk, measured.store, measured.ratio, measured.requests
            );
        }
    }
    runtime
        .block_on(client.delete_table().table_name(table).send())
        .expect("no table");
}

async fn fill(store: &DynamoStore) {
    store.create_table().await.expect("a table");
    for number in 0..RECORDS {
        let key = Key::new("shared", nth(number)).expect("a key");
        let record = NewRecord::new(key, &DATA[..]).expect("a record");
        store.put(record, Condition::IfAbsent).await.expect("a put");
        let key = ChangeKey::new("shared", nth(number), "request").expect("a key");
        let claim = ChangeRecord::new(key, Metadata::default(), Timestamp::EPOCH);
        let outcome = store.create(claim).await.expect("a claim");
        assert_eq!(outcome, CreateOutcome::Created);
    }
}

/// Operations per second and their ratio, each the median of the rounds, and the store's requests for each operation.
/// What the machine does besides drifts from round to round; the ratio is of two that follow each other.
struct Measured {
    sdk: f64,
    store: f64,
    ratio: f64,
    requests: f64,
}

fn measure(
    runtime: &Runtime,
    contenders: &[Contender; 2],
    operation: Operation,
    tasks: usize,
    requests: &Requests,
) -> Measured {
    static NUMBERS: AtomicUsize = AtomicUsize::new(0);
    let mut rates = [const { Vec::new() }; 2];
    let mut sent = [0, 0];
    let mut operations = [0, 0];
    for round in 0..=ROUNDS {
        for turn in 0..contenders.len() {
            // Each is first as often as the other.
            let place = (turn + round) % contenders.len();
            let contender = &contenders[place];
            let before = requests.0.load(Ordering::Relaxed);
            let begun = Instant::now();
            let done = runtime.block_on(async {
                let running: Vec<_> = (0..tasks)
                    .map(|_| {
                        let contender = contender.clone();
                        tokio::spawn(async move {
                            let mut done = 0_usize;
                            while begun.elapsed() < ROUND {
                                // Each task at a key of its own.
                                let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
                                contender.run(operation, number).await;
                                done += 1;
                            }
                            done
                        })
                    })
                    .collect();
                let mut done = 0;
                for task in running {
                    done += task.await.expect("a task");
                }
                done
            });
            // The first round opens connections.
            if round > 0 {
                rates[place].push(number(done) / begun.elapsed().as_secs_f64());
                operations[place] += done;
                sent[place] += requests.0.load(Ordering::Relaxed) - before;
            }
        }
    }
    let [sdk, store] = rates;
    let ratios = sdk.iter().zip(&store).map(|(sdk, store)| store / sdk);
    Measured {
        ratio: median(ratios.collect()),
        sdk: median(sdk),
        store: median(store),
        requests: number(sent[1]) / number(operations[1]),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).expect("few enough"))
}
