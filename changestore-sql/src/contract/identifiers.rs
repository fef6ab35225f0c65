//! Names in SQL text: any name that SQLite takes, whatever characters it has.

/// A name, quoted.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What every object of the contract, and nothing else, is called by.
pub(super) const PREFIX: &str = "change_contract_";

/// The names by which a table without a column of that name has its row id.
pub(super) const ROWID_NAMES: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// Whether a table's name belongs to the contract or to SQLite.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with(PREFIX) || name.starts_with("sqlite_")
}
