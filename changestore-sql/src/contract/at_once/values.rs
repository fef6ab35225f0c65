//! Keys, values and names of every kind come through one statement as they are.

use super::super::{ContractPlan, Mode, Operation, Value};
use super::{Archive, key, row};

#[tokio::test]
async fn keys_that_sql_cannot_tell_are_left_to_a_snapshot() {
    for parts in ["'k', 0.5", "'k', x'31'", "'k', 9e999", "char(0), 1"] {
        let mut archive = Archive::new().await;
        archive
            .write(&format!("INSERT INTO two VALUES ({parts}, 'v')"))
            .await;
        assert!(archive.fetch_at_once().await.is_none(), "{parts}");
        let wanted: [(&str, &[&str]); 1] = [("two", &["v"])];
        let cursor = Some(&archive.cursor);
        let fetched = archive.reader.fetch(cursor, &wanted).await.unwrap();
        let values = fetched.rows("two")[0].values.clone();
        assert_eq!(values, Some(vec![Value::Text("v".into())]), "{parts}");
    }
}

/// Names that the statement uses itself.
#[tokio::test]
async fn tables_may_be_called_as_parts_of_the_statement() {
    for name in ["seen", "b", "e", "l", "t", "last", "value"] {
        let mut archive = Archive::of_table(name, "value INTEGER PRIMARY KEY, last").await;
        archive
            .write(&format!("INSERT INTO {name} VALUES (3, 'x')"))
            .await;
        let expected = [Value::Text("x".into())];
        archive.both_ways_give(name, &["last"], &expected).await;
    }
}

/// More columns than an expression of SQLite's may be deep.
#[tokio::test]
async fn a_table_may_be_wide() {
    let names: Vec<_> = (0..1_500).map(|place| format!("c{place}")).collect();
    let columns = format!("id INTEGER PRIMARY KEY, {}", names.join(","));
    let mut archive = Archive::of_table("wide", &columns).await;
    archive
        .write("INSERT INTO wide(id, c0, c1, c1499) VALUES (3, x'00ff', 0.1, 'last')")
        .await;
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut expected = vec![Value::Null; 1_500];
    expected[0] = Value::Blob(vec![0, 255]);
    expected[1] = Value::Real(0.1);
    expected[1_499] = Value::Text("last".into());
    archive.both_ways_give("wide", &columns, &expected).await;
}

/// 1, '1', 1.0 and x'31' are four keys, and so is each of them in another table: also of so many entries that the
/// statement looks for repeated keys, whether there are any or not.
#[tokio::test]
async fn keys_that_look_alike_are_told_apart() {
    const EQUAL: &str =
        "INSERT INTO {} VALUES (1, 'gone'); DELETE FROM {}; INSERT INTO {} VALUES (1.0, 'real')";
    const MORE: &str =
        "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
         INSERT INTO {} SELECT i, 'more' FROM n";
    for (more, repeated) in [(false, false), (true, false), (true, true)] {
        let plan = ContractPlan::new()
            .with_table("one", Mode::Rows)
            .with_table("other", Mode::Rows)
            .with_family("rows", ["one", "other"]);
        let schema = "CREATE TABLE one(k NOT NULL PRIMARY KEY, v) WITHOUT ROWID;
                      CREATE TABLE other(k NOT NULL PRIMARY KEY, v) WITHOUT ROWID;";
        let mut archive = Archive::of(schema, &plan).await;
        for table in ["one", "other"] {
            archive.write(&EQUAL.replace("{}", table)).await;
            let alike = "INSERT INTO {} VALUES ('1', 'text'), (x'31', 'blob')";
            archive.write(&alike.replace("{}", table)).await;
            if more {
                archive.write(&MORE.replace("{}", table)).await;
            }
            if repeated {
                let again = "UPDATE {} SET v = v WHERE k = 40";
                archive.write(&again.replace("{}", table)).await;
            }
        }
        let cursor = Some(&archive.cursor);
        let wanted: [(&str, &[&str]); 2] = [("one", &["v"]), ("other", &["v"])];
        let fetched = archive.reader.fetch_at_once(cursor, &wanted).await;
        let fetched = fetched.unwrap().unwrap();
        for table in ["one", "other"] {
            let text = |text: &str| [Value::Text(text.to_owned())];
            let insert = Operation::Insert;
            assert_eq!(
                fetched.rows(table)[..4],
                [
                    row(key(Value::Integer(1), 1), Operation::Delete, None),
                    row(key(Value::Real(1.0), 1), insert, Some(&text("real"))),
                    row(key(Value::Text("1".into()), 1), insert, Some(&text("text"))),
                    row(
                        key(Value::Blob(b"1".to_vec()), 1),
                        insert,
                        Some(&text("blob"))
                    ),
                ],
                "{table}"
            );
            let all = if more { 35 } else { 4 };
            assert_eq!(fetched.rows(table).len(), all, "{table}");
        }
    }
}

/// Integers and texts are packed plainly until a row has another value.
#[tokio::test]
async fn a_value_that_plain_json_lacks_is_packed_with_its_type() {
    for (sql, value) in [
        ("0.1", Value::Real(0.1)),
        ("2.0", Value::Real(2.0)),
        ("9e999", Value::Real(f64::INFINITY)),
        ("x'00ff'", Value::Blob(vec![0, 255])),
    ] {
        let mut archive = Archive::of_table("one", "id INTEGER PRIMARY KEY, v").await;
        let text = Value::Text("{\"real\":[1,2]}".into());
        for (written, expected) in [
            ("'{\"real\":[1,2]}'", &text),
            (sql, &value),
            ("NULL", &Value::Null),
        ] {
            archive
                .write(&format!("INSERT OR REPLACE INTO one VALUES (1, {written})"))
                .await;
            let expected = std::slice::from_ref(expected);
            archive.both_ways_give("one", &["v"], expected).await;
        }
    }
}

/// What SQLite's JSON functions made is text to whoever reads the column.
#[tokio::test]
async fn a_generated_column_of_json_is_text() {
    let columns = "id INTEGER PRIMARY KEY, x, list AS (json_array(x, char(0))),
         object AS (json_object('real', json(list))), number AS (json('5')),
         stored AS (json(list)) STORED";
    let names = ["list", "object", "NUMBER", "stored"];
    let expected = [
        r#"[7,"\u0000"]"#,
        r#"{"real":[7,"\u0000"]}"#,
        "5",
        r#"[7,"\u0000"]"#,
    ];
    let expected = expected.map(|text| Value::Text(text.into()));
    let mut archive = Archive::of_table("one", columns).await;
    archive.write("INSERT INTO one(id, x) VALUES (1, 7)").await;
    archive.both_ways_give("one", &names, &expected).await;

    let columns = "id INTEGER PRIMARY KEY, x, same AS (x)";
    let mut archive = Archive::of_table("one", columns).await;
    for (sql, value) in [
        ("'a' || char(0) || 'b'", Value::Text("a\0b".into())),
        ("7", Value::Integer(7)),
        ("0.5", Value::Real(0.5)),
        ("x'00'", Value::Blob(vec![0])),
        ("NULL", Value::Null),
    ] {
        let insert = format!("INSERT OR REPLACE INTO one(id, x) VALUES (1, {sql})");
        archive.write(&insert).await;
        archive.both_ways_give("one", &["same"], &[value]).await;
    }
}
