//! `change-contract enable --config`: tables and families from a TOML file.

use super::contract::{contract, others, status};
use super::*;

#[test]
fn a_file_names_what_flags_cannot() {
    let place = Workplace::new();
    others(&place);
    let toml = "retention = 3000\n\
        [tables]\nthreads = \"table\"\n\"a:b=c,d\" = \"rows\"\n\
        [families]\n\"x=y\" = [\"a:b=c,d\", \"threads\"]\n";
    place.write("contract.toml", toml);
    let enable = "enable --db o.db --user-version 7 --config contract.toml";
    contract(&place, enable).ok();
    let status = status(&place, "o.db");
    assert_eq!(status["retention"], 3000);
    assert_eq!(status["tables"][0]["name"], "a:b=c,d");
    assert_eq!(status["tables"][0]["mode"], "rows");
    assert_eq!(status["families"], json(r#"{"x=y":["a:b=c,d","threads"]}"#));
    let enabled = contract(&place, &format!("{enable} --retention 4000 --json"));
    assert_eq!(json(&enabled.ok())["retention"], 4000);
}

#[test]
fn a_file_that_is_wrong_is_refused_by_line_and_key() {
    for (toml, reason) in [
        (
            "retentoin = 5000",
            "line 1, retentoin: unknown field `retentoin`",
        ),
        (
            "retention = true",
            "line 1, retention: invalid type: boolean `true`, expected u64",
        ),
        (
            "[tables]\nt = \"row\"",
            "line 2, tables.t: unknown variant `row`",
        ),
        (
            "[families]\nf = \"t\"",
            "line 2, families.f: invalid type: string \"t\"",
        ),
        ("[tables", "line 1: unclosed table"),
    ] {
        let place = Workplace::new();
        others(&place);
        place.write("c.toml", toml);
        let ran = contract(&place, "enable --db o.db --user-version 7 --config c.toml");
        let message = ran.failed(2);
        assert!(
            message.starts_with(&format!("error: c.toml, {reason}")),
            "{message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(status(&place, "o.db")["presence"], "absent");
    }
}
