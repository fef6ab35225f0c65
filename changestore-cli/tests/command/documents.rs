//! `doc`: records and counters.

use super::*;

#[test]
fn put_get_delete_under_conditions() {
    let place = Workplace::new();
    let put = |arguments: &[&str]| {
        let all = ["--json", "doc", "put", "JOB", "17"]
            .iter()
            .chain(arguments);
        place.run(all)
    };
    let first = json(&put(&["one", "--if-absent"]).ok());
    assert_eq!(
        (&first["version"], &first["expire_at"]),
        (&1.into(), &().into())
    );
    let message = put(&["two", "--if-absent"]).failed(1);
    assert_eq!(
        message,
        "error: sqlite: put (\"JOB\", \"17\"): condition failed\n"
    );
    put(&["two", "--if-version", "2"]).failed(1);
    let second = json(&put(&["two", "--if-version", "1"]).ok());
    assert_eq!(second["version"], 2);
    put(&["three", "--if-etag", first["etag"].as_str().unwrap()]).failed(1);
    let third = json(&put(&["three", "--if-etag", second["etag"].as_str().unwrap()]).ok());
    assert_eq!(third["version"], 3);

    let record = json(&place.run(["doc", "get", "JOB", "17", "--json"]).ok());
    assert_eq!(record["data"], "three");
    assert_eq!(record["etag"], third["etag"]);
    let shown = place.run(["doc", "get", "JOB", "17"]).ok();
    let etag = third["etag"].as_str().unwrap();
    assert_eq!(
        shown,
        format!("version  3\netag     {etag}\nbytes    5\ndata     three\n")
    );

    place
        .run(["doc", "delete", "JOB", "17", "--if-version", "2"])
        .failed(1);
    assert_eq!(
        place
            .run(["doc", "delete", "JOB", "17", "--if-version", "3"])
            .ok(),
        "deleted\n"
    );
    let message = place.run(["doc", "get", "JOB", "17"]).failed(1);
    assert_eq!(message, "error: sqlite: get (\"JOB\", \"17\"): not found\n");
    place.run(["doc", "delete", "JOB", "17"]).failed(1);
}

#[test]
fn data_come_from_the_argument_a_file_or_standard_input_and_go_out_byte_for_byte() {
    let place = Workplace::new();
    let bytes = b"a\0\xff\n";
    place.write("data.bin", bytes);
    place.run(["doc", "put", "a", "file", "@data.bin"]).ok();
    place
        .run_with_input(["doc", "put", "a", "stdin", "-"], bytes)
        .ok();
    place.run(["doc", "put", "a", "text", "line\nü"]).ok();
    place.run(["doc", "put", "a", "nothing", ""]).ok();
    for sk in ["file", "stdin"] {
        let raw = place
            .command(["doc", "get", "a", sk, "--raw"])
            .output()
            .unwrap();
        assert_eq!(raw.stdout, bytes);
        let record = json(&place.run(["doc", "get", "a", sk, "--json"]).ok());
        assert_eq!(
            (&record["data_base64"], record.get("data")),
            (&"YQD/Cg==".into(), None)
        );
    }
    let rows = place.run(["doc", "query", "a"]).ok();
    let expected = "file  v1  base64:YQD/Cg==\n\
        nothing  v1  \n\
        stdin  v1  base64:YQD/Cg==\n\
        text  v1  line\\nü\n";
    assert_eq!(rows, expected);

    let message = place.run(["doc", "put", "a", "x", "@nope"]).failed(1);
    assert!(
        message.starts_with("error: cannot read nope\n  caused by: "),
        "{message}"
    );
    place.write("large", vec![0; 384 * 1024 + 1]);
    let message = place.run(["doc", "put", "a", "x", "@large"]).failed(2);
    assert_eq!(
        message,
        "error: data is too large: more than 393216 bytes\n"
    );
}

#[test]
fn queries_have_a_direction_a_limit_and_a_place_to_start() {
    let place = Workplace::new();
    for sk in ["A#1", "A#2", "A#3", "B#1"] {
        place.run(["doc", "put", "p", sk, "x"]).ok();
    }
    let query = |arguments: &[&str]| {
        let all = ["--json", "doc", "query", "p"].iter().chain(arguments);
        let lines = place.run(all).ok();
        let keys = lines
            .lines()
            .map(|line| json(line)["sk"].as_str().unwrap().to_owned());
        keys.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(query(&[]), "A#1 A#2 A#3 B#1");
    assert_eq!(query(&["A#"]), "A#1 A#2 A#3");
    assert_eq!(query(&["--descending", "--limit", "2"]), "B#1 A#3");
    assert_eq!(query(&["A#", "--start-after", "A#1"]), "A#2 A#3");
    assert_eq!(
        query(&["A#", "--descending", "--start-after", "A#3", "--limit", "1"]),
        "A#2"
    );
    place
        .run(["doc", "query", "p", "--start-after", ""])
        .failed(2);
}

#[test]
fn records_expire_at_their_time() {
    let place = Workplace::new();
    let past = place.run(["doc", "put", "a", "past", "x", "--expire-at", "1"]);
    assert_eq!(past.status, Some(0), "{past:?}");
    assert_eq!(past.last_line(), "expires  1970-01-01T00:00:00.001Z");
    assert!(past.stderr.starts_with("warning: "), "{past:?}");
    place.run(["doc", "get", "a", "past"]).failed(1);
    place
        .run([
            "doc",
            "put",
            "a",
            "later",
            "x",
            "--expire-at",
            "2999-01-01T00:00:00Z",
        ])
        .ok();
    let rows = place.run(["doc", "query", "a"]).ok();
    assert_eq!(rows, "later  v1  expires 2999-01-01T00:00:00Z  x\n");
    let record = json(
        &place
            .run(["--json", "doc", "put", "a", "ttl", "x", "--ttl", "1h"])
            .ok(),
    );
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let left = record["expire_at"].as_i64().unwrap() - i64::try_from(now.as_millis()).unwrap();
    assert!((3_500_000..=3_600_000).contains(&left), "{left}");
}

#[test]
fn counters_count() {
    let place = Workplace::new();
    assert_eq!(place.run(["doc", "increment", "HITS", "x"]).ok(), "1\n");
    assert_eq!(
        place.run(["doc", "increment", "HITS", "x", "-5"]).ok(),
        "-4\n"
    );
    let line = json(
        &place
            .run(["--json", "doc", "increment", "HITS", "x", "0"])
            .ok(),
    );
    assert_eq!(line, json(r#"{"pk":"HITS","sk":"x","value":-4}"#));
    let message = place
        .run(["doc", "increment", "HITS", "x", "-9223372036854775808"])
        .failed(1);
    assert!(message.contains("delta is invalid"), "{message}");
    let message = place.run(["doc", "put", "HITS", "x", "y"]).failed(1);
    assert!(message.contains("it holds a counter"), "{message}");
}
