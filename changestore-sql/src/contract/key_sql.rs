//! Expressions over the columns of a key: its form in the log, whether it changed, and whether two rows
//! have the same.
//!
//! Each column is given by what stands for it where the expression is used, such as `NEW."id"`.

use super::identifiers::quoted;
use super::table_info::Key;
use super::types::Types;

/// A key's columns, each after the qualifier, such as `NEW`.
pub(super) fn columns(key: &Key, qualifier: &str) -> Vec<String> {
    let column = |name: &&str| format!("{qualifier}.{}", quoted(name));
    key.names().iter().map(column).collect()
}

/// A note's columns of the key.
pub(super) fn noted(key: &Key, qualifier: &str) -> Vec<String> {
    (1..=key.parts.len())
        .map(|place| format!("{qualifier}.k{place}"))
        .collect()
}

/// What the journal stores of a key: its columns' names there, and an expression for each.
pub(super) struct Stored {
    pub(super) names: String,
    pub(super) values: String,
}

/// Columns of a key that the journal stores as they are.
const AS_THEY_ARE: usize = 3;

pub(super) fn stored(key: &Key, columns: &[String]) -> Stored {
    let (first, rest) = columns.split_at(columns.len().min(AS_THEY_ARE));
    let mut values = first.to_vec();
    let rest: Vec<_> = rest
        .iter()
        .zip(&key.parts[first.len()..])
        .map(|(column, part)| element(column, part.column.types))
        .collect();
    if !rest.is_empty() {
        values.push(rest.join(" || ',' || "));
    }
    let names: Vec<_> = (1..=values.len())
        .map(|place| format!("k{place}"))
        .collect();
    Stored {
        names: names.join(", "),
        values: values.join(", "),
    }
}

/// One column of a composite key, as a JSON array has it. No JSON functions: older versions of SQLite refuse them in triggers and
/// views to programs that do not trust schemas.
pub(super) fn element(column: &str, types: Types) -> String {
    let mut forms = Vec::with_capacity(4);
    if types.integer {
        forms.push(("integer", column.to_owned()));
    }
    if types.text {
        forms.push(("text", text(column)));
    }
    if types.real {
        forms.push(("real", real(column)));
    }
    if types.blob {
        forms.push((
            "blob",
            format!("'{{\"blob\":\"' || hex({column}) || '\"}}'"),
        ));
    }
    let last = forms.pop().map(|(_, form)| form).unwrap_or_default();
    if forms.is_empty() {
        return last;
    }
    let cases: Vec<_> = forms
        .iter()
        .map(|(name, form)| format!("WHEN '{name}' THEN {form}"))
        .collect();
    format!("CASE typeof({column}) {} ELSE {last} END", cases.join(" "))
}

/// A string has no control characters in it, and SQL no way to replace NUL. `hex` gives the bytes of the database's
/// encoding.
fn text(column: &str) -> String {
    format!(
        "CASE WHEN {column} GLOB '*[' || char(1) || '-' || char(31) || ']*' \
         OR instr({column}, char(0)) > 0 THEN CASE hex('a') WHEN '61' THEN '{{\"text\":\"' \
         WHEN '6100' THEN '{{\"utf16le\":\"' ELSE '{{\"utf16be\":\"' END || hex({column}) || '\"}}' \
         ELSE '\"' || replace(replace({column}, '\\', '\\\\'), '\"', '\\\"') || '\"' END"
    )
}

/// SQLite prints and reads decimal fractions inexactly, so there are none.
fn real(column: &str) -> String {
    format!(
        "CASE WHEN abs({column}) < 9007199254740992 AND {column} = CAST({column} AS INTEGER) \
         THEN CAST({column} AS INTEGER) || '.0' \
         WHEN {column} = 9e999 THEN '9e999' WHEN {column} = -9e999 THEN '-9e999' \
         ELSE (SELECT '{{\"real\":[' || CAST({column} * p.factor * p.factor2 AS INTEGER) || ',' \
         || p.exponent || ']}}' FROM change_contract_powers p \
         WHERE p.least <= abs({column}) ORDER BY p.least DESC LIMIT 1) END"
    )
}

/// Whether an update gives the row another key. Never NULL.
pub(super) fn changed(key: &Key) -> String {
    let columns = columns(key, "NEW").into_iter().zip(columns(key, "OLD"));
    let mut parts = Vec::new();
    for ((new, old), part) in columns.zip(&key.parts) {
        let types = part.column.types;
        let binary = if types.text { " COLLATE BINARY" } else { "" };
        parts.push(format!("{new}{binary} IS NOT {old}"));
        if types.integer && types.real {
            let types = format!("typeof({new}) IS NOT typeof({old})");
            parts.push(if part.column.types.prefers_integer {
                // The one whole number that such a column holds both as INTEGER and as REAL.
                format!("({new} IS -9223372036854775808 AND {types})")
            } else {
                types
            });
        }
    }
    parts.join(" OR ")
}

/// Whether two rows' keys are equal to the key's own index; it can be used to find the first of them.
pub(super) fn equal(key: &Key, one: &[String], other: &[String]) -> String {
    let parts: Vec<_> = one
        .iter()
        .zip(other)
        .zip(&key.parts)
        .map(|((one, other), part)| equality(one, other, part.column.types, &part.collation))
        .collect();
    parts.join(" AND ")
}

/// Whether they are the same key, byte by byte and type by type.
pub(super) fn same(key: &Key, one: &[String], other: &[String]) -> String {
    let mut parts = vec![equal(key, one, other)];
    for ((one, other), part) in one.iter().zip(other).zip(&key.parts) {
        let types = part.column.types;
        if types.text && !part.collation.eq_ignore_ascii_case("BINARY") {
            parts.push(format!("{one} COLLATE BINARY IS {other}"));
        }
        if types.integer && types.real {
            parts.push(format!("typeof({one}) = typeof({other})"));
        }
    }
    parts.join(" AND ")
}

/// As an index of this collation has it.
pub(super) fn equality(one: &str, other: &str, types: Types, collation: &str) -> String {
    if types.text {
        format!("{one} COLLATE {} = {other}", quoted(collation))
    } else {
        format!("{one} = {other}")
    }
}
