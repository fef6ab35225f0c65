//! The table's definition, as Google's command `cbt` takes it.

/// Makes the table, its families and their garbage collection.
pub const CREATE_TABLE: &str = include_str!("../schema/create-table.sh");
