//! `claim`: create, list, annotate.

use super::*;

#[test]
fn claims_are_created_once() {
    let place = Workplace::new();
    let first = place
        .run(["claim", "create", "q", "r", "u1", "u2", "u1"])
        .ok();
    assert_eq!(
        first,
        "created        u1\ncreated        u2\nalready there  u1\n"
    );
    let metadata = r#"{"later": true}"#;
    let again = [
        "--json",
        "claim",
        "create",
        "q",
        "r",
        "u1",
        "--metadata",
        metadata,
    ];
    let again = json(&place.run(again).ok());
    assert_eq!(
        again,
        json(r#"{"queue":"q","uri":"u1","request_id":"r","created":false}"#)
    );
    let claim = json(&place.run(["--json", "claim", "list", "q", "u1"]).ok());
    assert_eq!(claim["metadata"], "{}");
    let none = place.run(["claim", "list", "q", "u"]);
    assert_eq!((none.status, none.stdout.as_str()), (Some(0), ""));
    assert_eq!(none.stderr, "no claims\n");
    assert_eq!(place.run(["--json", "claim", "list", "q", "u"]).ok(), "");
}

#[test]
fn metadata_are_kept_byte_for_byte_and_versions_guard_them() {
    let place = Workplace::new();
    let text = "{ \"n\": 1.5777777777770001,\n  \"n\": 10000000000000000000000 }\n";
    let file = place.write("metadata.json", text);
    let at_file = format!("@{}", file.display());
    place
        .run(["claim", "create", "q", "r", "u", "--metadata", &at_file])
        .ok();
    let claim = json(&place.run(["--json", "claim", "list", "q", "u"]).ok());
    assert_eq!(claim["metadata"], text);

    let annotate = |arguments: &[&str]| {
        place.run(["claim", "annotate", "q", "u", "r"].iter().chain(arguments))
    };
    let ok = annotate(&["--metadata", "[1]", "--if-version", "1"]).ok();
    assert_eq!(ok, "annotated, now version 2\n");
    let message = annotate(&["--metadata", "[2]", "--if-version", "1"]).failed(1);
    assert!(
        message.contains("version mismatch: the stored version is 2"),
        "{message}"
    );
    let line = json(&annotate(&["--metadata", "[3]", "--json"]).ok());
    assert_eq!(line["version"], 3);
    let shown = place.run(["claim", "list", "q", "u"]).ok();
    assert!(shown.contains("version 3  created ") && shown.contains("    metadata [3]\n"));

    let message = annotate(&["--metadata", "{"]).failed(2);
    assert!(
        message.starts_with("error: metadata is invalid: not JSON"),
        "{message}"
    );
    let message = place
        .run(["claim", "annotate", "q", "u", "s", "--metadata", "1"])
        .failed(1);
    assert!(message.contains("not found"), "{message}");
}
