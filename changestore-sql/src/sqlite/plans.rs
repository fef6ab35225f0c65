//! Tests that every statement goes by the primary key and sorts nothing.

use rusqlite::Connection;

use super::statements::{self, page};
use crate::schema;

fn database() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    for migration in schema::sqlite() {
        connection.execute_batch(migration.sql).unwrap();
    }
    connection
}

/// The steps of a statement's plan.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection
        .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
        .unwrap();
    let parameters = vec![rusqlite::types::Null; statement.parameter_count()];
    let steps = statement.query_map(rusqlite::params_from_iter(parameters), |row| row.get(3));
    steps.unwrap().map(Result::unwrap).collect()
}

/// Checks a script, and returns the steps that search a table.
fn searches(script: &str) -> Vec<String> {
    let connection = database();
    let mut searches = Vec::new();
    let statements = script.split(';').map(str::trim);
    for sql in statements.filter(|sql| !sql.is_empty()) {
        for step in plan(&connection, sql) {
            assert!(step.starts_with("SEARCH changestore_"), "{step}\nin {sql}");
            assert!(step.contains("USING PRIMARY KEY"), "{step}\nin {sql}");
            searches.push(step);
        }
    }
    searches
}

#[test]
fn reads_and_writes_search_by_the_whole_key() {
    for script in [
        statements::UPDATE_METADATA,
        statements::GET,
        statements::REPLACE,
        statements::DELETE,
    ] {
        let searches = searches(script);
        assert!(!searches.is_empty());
        for step in searches {
            let is_whole = step.ends_with("(queue=? AND uri=? AND request_id=?)")
                || step.ends_with("(pk=? AND sk=?)");
            assert!(is_whole, "{step}");
        }
    }
    assert_eq!(searches(statements::CREATE), [] as [&str; 0]);
    for script in [statements::PUT, statements::INCREMENT] {
        assert_eq!(
            searches(script).len(),
            1,
            "only the look at what stands there"
        );
    }
}

#[test]
fn the_claims_of_a_uri_are_a_range() {
    let searches = searches(statements::GET_BY_URI);
    assert_eq!(searches.len(), 1);
    assert!(searches[0].ends_with("(queue=? AND uri=?)"), "{searches:?}");
}

#[test]
fn every_page_of_a_query_is_a_range() {
    let all = [true, false];
    for includes_lower in all {
        for has_upper in all {
            for descending in all {
                let searches = searches(page(includes_lower, has_upper, descending));
                assert_eq!(searches.len(), 1);
                let range = if has_upper { "sk>? AND sk<?" } else { "sk>?" };
                let expected = format!("(pk=? AND {range})");
                assert!(searches[0].ends_with(&expected), "{searches:?}");
            }
        }
    }
}

#[test]
fn garbage_is_looked_for_in_ranges() {
    for (script, range) in [
        (statements::STRETCH, "((pk,sk)>(?,?))"),
        (statements::COLLECT, "((pk,sk)>(?,?) AND (pk,sk)<(?,?))"),
        (statements::COLLECT_REST, "((pk,sk)>(?,?))"),
    ] {
        let searches = searches(script);
        assert_eq!(searches.len(), 1);
        assert!(searches[0].ends_with(range), "{searches:?}");
    }
}
