//! Stores in DynamoDB. Those that need a server are ignored; `cargo xtask ci` runs them.

use changestore_dynamo::aws_sdk_dynamodb::Client;
use changestore_dynamo::aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};

use super::*;

const URL: &str = "CHANGESTORE_DYNAMO_URL";
const REGION: &str = "eu-central-1";
const SECRET: &str = "hunter2";

/// A table of its own on a server, gone when it is dropped.
struct OnServer {
    endpoint: String,
    table: String,
}

impl OnServer {
    fn new() -> Self {
        Self {
            endpoint: std::env::var(URL)
                .unwrap_or_else(|_| panic!("{URL} is not set; run cargo xtask ci")),
            table: format!("cli_{}", std::process::id()),
        }
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let store = format!(
            "dynamodb://{}?region={REGION}&endpoint={}",
            self.table, self.endpoint
        );
        run(&store, arguments)
    }
}

impl Drop for OnServer {
    fn drop(&mut self) {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .region(Region::from_static(REGION))
            .credentials_provider(Credentials::new("test", SECRET, None, None, "test"))
            .endpoint_url(&self.endpoint);
        let client = Client::from_conf(config.build());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let dropped = client.delete_table().table_name(&self.table).send();
        runtime.unwrap().block_on(dropped).unwrap();
    }
}

/// The command with this store, and credentials as the SDK finds them in the environment.
fn run(store: &str, arguments: &[&str]) -> Ran {
    let place = Workplace::new();
    let mut command = place.command(arguments);
    command
        .env("CHANGESTORE_STORE", store)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_EC2_METADATA_DISABLED", "true");
    Ran::new(command.output().unwrap())
}

#[test]
#[ignore = "needs CHANGESTORE_DYNAMO_URL; run cargo xtask ci"]
fn dynamodb_validates_the_sample() {
    let server = OnServer::new();
    let file = sample();
    let file = file.to_str().unwrap();
    for _ in 0..2 {
        let applied = server.run(&["schema", "apply"]).ok();
        assert_eq!(applied, "dynamodb: schema version 1\n");
    }
    let answers = server.run(&["--json", "validate", file]).ok();
    let place = Workplace::new();
    let expected = place
        .run(["--json", "--store", "mem:", "validate", file])
        .ok();
    assert_eq!(answers, expected);
    let again = server.run(&["validate", file]);
    assert_eq!(
        again.last_line(),
        "424 requests: 359 claimed, 65 duplicates; 424 finished; 0 errors \
         (848 events redelivered, nothing changed)"
    );
}

#[test]
fn what_is_missing_is_said_in_words() {
    for (store, words) in [
        (
            "dynamodb://claims?region=eu-central-1&endpoint=http://127.0.0.1:1",
            "unavailable: the endpoint cannot be reached",
        ),
        ("dynamodb://claims", "there is no region: set AWS_REGION"),
    ] {
        let message = run(store, &["doc", "get", "a", "b"]).failed(1);
        assert!(message.contains(words), "{message}");
        assert!(!message.contains(SECRET), "{message}");
    }
}

#[test]
fn the_table_can_be_printed_without_a_server() {
    let printed = run("dynamodb://claims", &["schema", "print"]).ok();
    assert!(printed.contains(r#""KeyType": "RANGE""#), "{printed}");
    assert!(printed.contains("TimeToLiveSpecification"), "{printed}");
}
