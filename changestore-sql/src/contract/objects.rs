//! The contract's own objects: creating them, finding out whether they are all there, and dropping them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use changestore_core::Result;
use serde::Serialize;
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row as _};

use super::failure::failed;
use super::identifiers::{PREFIX, quoted};
use super::key_sql::element;
use super::types::Types;

/// `{e.k1}` stands for the JSON form of `e.k1`.
static SQL: LazyLock<String> = LazyLock::new(|| {
    let mut sql = include_str!("objects.sql").to_owned();
    for column in ["e.k1", "e.k2", "e.k3"] {
        sql = sql.replace(&format!("{{{column}}}"), &element(column, Types::ANY));
    }
    sql
});

/// What each object is to have in `sqlite_schema`, by its name.
static OBJECTS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    statements()
        .map(|statement| {
            let name = statement
                .split([' ', '\n'])
                .find(|word| word.starts_with(PREFIX));
            (name.unwrap_or_default(), statement)
        })
        .collect()
});

/// Blank lines are between them, and nowhere else; comments come first.
fn statements() -> impl Iterator<Item = &'static str> {
    SQL.split("\n\n").filter_map(|paragraph| {
        let start = paragraph.find("CREATE ")? + "CREATE ".len();
        paragraph[start..].trim_end().strip_suffix(';')
    })
}

/// How much of a contract a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Presence {
    /// Nothing of it.
    Absent,
    /// Something is missing or is not what it should be.
    Partial,
    /// All its objects. Its tables may be unarmed.
    Whole,
}

/// Looks at the objects, and at the rows without which they are useless. Triggers of tracked tables are not among
/// them: those can be armed again.
pub(super) async fn presence(connection: &mut SqliteConnection) -> Result<Presence> {
    let rows = sqlx::query(
        "SELECT name, sql, type FROM sqlite_schema
         WHERE name LIKE 'change\\_contract\\_%' ESCAPE '\\'",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(failed)?;
    let mut found = 0;
    let mut any = false;
    for row in rows {
        let name: &str = row.try_get(0).map_err(failed)?;
        let kind: &str = row.try_get(2).map_err(failed)?;
        let sql: Option<&str> = row.try_get(1).map_err(failed)?;
        any |= kind == "trigger" || OBJECTS.contains_key(name);
        if let Some(expected) = OBJECTS.get(name) {
            if sql.and_then(|sql| sql.strip_prefix("CREATE ")) != Some(expected) {
                return Ok(Presence::Partial);
            }
            found += 1;
        }
    }
    if found < OBJECTS.len() {
        return Ok(if any {
            Presence::Partial
        } else {
            Presence::Absent
        });
    }
    let sound: bool = sqlx::query_scalar(
        "SELECT (SELECT count(*) FROM change_contract_state) = 1
             AND (SELECT contract_version FROM change_contract_state) = 1
             AND (SELECT count(value) FROM change_contract_positions WHERE id IN (0, -1, -2)) = 3
             AND NOT EXISTS (
                 SELECT 1 FROM change_contract_definitions d
                 LEFT JOIN change_contract_positions p ON p.id = d.table_id WHERE p.value IS NULL)
             AND (SELECT count(*) FROM change_contract_powers) = ?1
             AND ifnull((SELECT max(seq) FROM change_contract_entries), 0)
                 < (SELECT value + 64 FROM change_contract_positions WHERE id = 0)",
    )
    .bind(i64::try_from(powers().count()).unwrap_or(i64::MAX))
    .fetch_one(connection)
    .await
    .map_err(failed)?;
    Ok(if sound {
        Presence::Whole
    } else {
        Presence::Partial
    })
}

/// The retention that is left of a contract, wherever it is.
pub(super) async fn surviving_retention(connection: &mut SqliteConnection) -> Result<Option<i64>> {
    for sql in [
        "SELECT max(retention) FROM change_contract_state",
        "SELECT max(value) FROM change_contract_positions WHERE id = -2",
    ] {
        // Whatever is wrong with the objects, they are about to be replaced.
        let found: Result<Option<i64>, _> =
            sqlx::query_scalar(sql).fetch_one(&mut *connection).await;
        match found {
            Ok(Some(retention)) if retention >= 1024 => return Ok(Some(retention)),
            Ok(_) => {}
            Err(error) if super::failure::is_schema(&error) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(None)
}

/// Creates them all, with the rows that stand for an empty journal.
pub(super) async fn create(
    connection: &mut SqliteConnection,
    epoch: &str,
    retention: i64,
) -> Result<()> {
    for statement in statements() {
        let sql = format!("CREATE {statement}");
        sqlx::query(AssertSqlSafe(sql))
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    sqlx::query("INSERT INTO change_contract_state VALUES (1, ?1, 1, ?2, 1, 'created')")
        .bind(epoch)
        .bind(retention)
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
    sqlx::query("INSERT INTO change_contract_positions VALUES (0, 0), (-1, 0), (-2, ?1)")
        .bind(retention)
        .execute(&mut *connection)
        .await
        .map_err(failed)?;
    for (least, [factor, factor2], exponent) in powers() {
        sqlx::query("INSERT INTO change_contract_powers VALUES (?1, ?2, ?3, ?4)")
            .bind(least)
            .bind(factor)
            .bind(factor2)
            .bind(exponent)
            .execute(&mut *connection)
            .await
            .map_err(failed)?;
    }
    Ok(())
}

/// Powers of two in steps of ten: a REAL's 53 bits and those ten make an INTEGER's 63. The least REALs are
/// so small that one factor cannot do it.
fn powers() -> impl Iterator<Item = (f64, [f64; 2], i32)> {
    let power = |exponent: i32| 2_f64.powi(exponent);
    let first = (0.0, [power(1000), power(74)], -1074);
    let rest = (-1012..=1018).step_by(10).map(move |least| {
        let exponent: i32 = least - 52;
        let half = -exponent / 2;
        (
            power(least),
            [power(half), power(-exponent - half)],
            exponent,
        )
    });
    std::iter::once(first).chain(rest)
}

/// Drops everything of the contract; says whether there was anything.
pub(super) async fn drop_all(connection: &mut SqliteConnection) -> Result<bool> {
    let rows = sqlx::query(
        "SELECT type, name FROM sqlite_schema
         WHERE name LIKE 'change\\_contract\\_%' ESCAPE '\\'
         ORDER BY CASE type WHEN 'trigger' THEN 1 WHEN 'view' THEN 2 WHEN 'index' THEN 3 ELSE 4 END",
    )
    .fetch_all(&mut *connection)
    .await
    .map_err(failed)?;
    let mut any = false;
    for row in &rows {
        let kind: &str = row.try_get(0).map_err(failed)?;
        let name: &str = row.try_get(1).map_err(failed)?;
        if kind == "trigger" || OBJECTS.contains_key(name) {
            any = true;
            drop_object(connection, kind, name).await?;
        }
    }
    Ok(any)
}

/// Drops a trigger, a view, an index or a table.
pub(super) async fn drop_object(
    connection: &mut SqliteConnection,
    kind: &str,
    name: &str,
) -> Result<()> {
    let sql = format!("DROP {kind} IF EXISTS {}", quoted(name));
    sqlx::query(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map_err(failed)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_object_is_found_under_its_name() {
        assert_eq!(OBJECTS.len(), statements().count());
        assert!(OBJECTS.contains_key("change_contract_log_prune"));
        assert!(
            OBJECTS.iter().all(|(name, sql)| sql.contains(name)),
            "{OBJECTS:?}"
        );
        assert!(
            OBJECTS.values().all(|sql| !sql.contains("--")),
            "{OBJECTS:?}"
        );
    }

    /// Each REAL finds a row that makes it whole without overflow.
    #[test]
    fn the_powers_cover_every_real() {
        let rows: Vec<_> = powers().collect();
        for shift in 0..2046 {
            for real in [
                f64::from_bits((shift << 52) | 1),
                f64::from_bits((shift << 52) | ((1 << 52) - 1)),
            ] {
                let row = rows.iter().rev().find(|(least, ..)| *least <= real);
                let (_, factors, exponent) = row.unwrap();
                let whole = real * factors[0] * factors[1];
                assert!(
                    whole < 2_f64.powi(63) && whole.fract() == 0.0,
                    "{real:e} {exponent}"
                );
            }
        }
    }
}
