//! What can be said behind `changestore change-contract`, and its help.

use std::path::{Path, PathBuf};

use changestore_sql::contract::{MIN_RETENTION, Mode};
use clap::builder::{NonEmptyStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand, ValueHint, value_parser};

use super::cursor_place::CursorPlace;

#[derive(Debug, Subcommand)]
pub(crate) enum ChangeContractCommand {
    /// Show what there is of a contract, and whether it can be relied on. Changes nothing.
    Status {
        #[command(flatten)]
        database: Database,
    },
    Enable(EnableArgs),
    /// Advance the generation: every reader reads everything once. For a rewrite past the triggers.
    Bump {
        #[command(flatten)]
        database: Database,
        /// Why, for whoever asks for the status.
        #[arg(long, value_name = "TEXT")]
        reason: String,
    },
    /// Remove the contract with its log and all its triggers.
    Disable {
        #[command(flatten)]
        database: Database,
    },
    /// Write a copy of the database without the contract. The database is only read.
    Export {
        #[command(flatten)]
        database: Database,
        /// The copy. There must be no such file.
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        to: PathBuf,
    },
    Changes(ChangesArgs),
}

impl ChangeContractCommand {
    /// The database that it is about.
    pub(super) fn db(&self) -> &Path {
        match self {
            Self::Status { database }
            | Self::Bump { database, .. }
            | Self::Disable { database }
            | Self::Export { database, .. } => &database.db,
            Self::Enable(args) => &args.database.db,
            Self::Changes(args) => &args.db,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Database {
    /// The SQLite database.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) db: PathBuf,

    /// Only if this is the database's `PRAGMA user_version`. Without, only a store of changestore's own
    /// is touched, and only if its schema is this version's.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) user_version: Option<i64>,
}

/// Create the contract, or bring the one that is there to what is said.
#[derive(Debug, Args)]
#[command(long_about = ENABLE_ABOUT, after_long_help = ENABLE_EXAMPLES)]
pub(crate) struct EnableArgs {
    #[command(flatten)]
    pub(crate) database: Database,

    /// Track a table: the keys of its changed rows, or with `:table` only that it changed.
    #[arg(long, value_name = "TABLE[:rows|:table]", value_parser = tracked)]
    pub(crate) track: Vec<TrackedTable>,

    /// Let readers ask for these tables by one name.
    #[arg(long, value_name = "NAME=T1,T2", value_parser = family, requires = "track")]
    pub(crate) family: Vec<Family>,

    /// Tables and families from a TOML file instead.
    #[arg(
        long,
        value_name = "FILE",
        value_hint = ValueHint::FilePath,
        conflicts_with_all = ["track", "family"]
    )]
    pub(crate) config: Option<PathBuf>,

    /// How many changes the log keeps; 1,000,000 at first.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u64).range(MIN_RETENTION..=i64::MAX.unsigned_abs()))]
    pub(crate) retention: Option<u64>,
}

const ENABLE_ABOUT: &str = r#"Create the contract, or bring the one that is there to what is said.

Triggers on the tracked tables number every insert, update and delete, whoever writes. What is said
are all tables and families: a table that is not named any more is no longer tracked. Where none
is named, those that there are stay, and are armed again if a migration has disarmed them. The log
stays. It takes the database's ordinary write lock, so it can be run beside writers.

The file of --config, for names with `:`, `=` or `,`, too:

  retention = 200000
  [tables]
  threads = "rows"
  statistics = "table"
  [families]
  dashboard = ["threads", "statistics"]"#;

const ENABLE_EXAMPLES: &str = "\
Examples:
  changestore change-contract enable --db changestore.db --track changestore_claims \
--family claims=changestore_claims
  changestore change-contract enable --db other.db --user-version 7 --config contract.toml";

/// Say which rows of a family of tables changed since a cursor.
#[derive(Debug, Args)]
#[command(long_about = CHANGES_ABOUT, after_long_help = CHANGES_EXAMPLES)]
pub(crate) struct ChangesArgs {
    /// The SQLite database.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) db: PathBuf,

    /// The family of tables.
    #[arg(long, value_name = "NAME")]
    pub(crate) family: String,

    /// Where the cursor is kept, or the cursor itself as JSON. Without, there is none.
    #[arg(long, value_name = "FILE|JSON", value_hint = ValueHint::FilePath,
        value_parser = NonEmptyStringValueParser::new().map(CursorPlace::from))]
    pub(crate) cursor: Option<CursorPlace>,

    /// Wait for changes and print each as it happens, until Ctrl-C.
    #[arg(long)]
    pub(crate) follow: bool,

    /// At most so many rows; the rest comes with the next call.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..), conflicts_with = "follow")]
    pub(crate) limit: Option<u32>,

    /// Changes that are read at once. The cursor is stored after each batch.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..), default_value_t = 10_000)]
    pub(crate) batch: u32,
}

const CHANGES_ABOUT: &str = "\
Say which rows of a family of tables changed since a cursor.

Each changed row is a line: what was done to it last, its table, and its key as JSON. A row that cannot
be read any more by its key was deleted. `rebuild` says that the log cannot tell, and why: all
tables of the family are to be read anew. `unchanged` says that no row was written.

The next cursor is put into the cursor's file when everything before it was printed, so what was
interrupted is printed again. Where there is no such file, there is no cursor: that is a rebuild.
A cursor's file is for one reader at a time: a file `.lock` beside it keeps others away.";

const CHANGES_EXAMPLES: &str = "\
Examples:
  changestore change-contract changes --db changestore.db --family claims --cursor claims.cursor
  changestore --json change-contract changes --db changestore.db --family claims --follow";

/// A value of `--track`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrackedTable {
    pub(crate) name: String,
    pub(crate) mode: Mode,
}

fn tracked(text: &str) -> Result<TrackedTable, String> {
    let (name, mode) = match text.rsplit_once(':') {
        None => (text, Mode::Rows),
        Some((name, "rows")) => (name, Mode::Rows),
        Some((name, "table")) => (name, Mode::Table),
        Some((_, other)) => {
            return Err(format!(
                "the mode is rows or table, not `{other}`; a name with `:` goes into --config"
            ));
        }
    };
    if name.is_empty() {
        return Err("names no table".to_owned());
    }
    let name = name.to_owned();
    Ok(TrackedTable { name, mode })
}

/// A value of `--family`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Family {
    pub(crate) name: String,
    pub(crate) tables: Vec<String>,
}

fn family(text: &str) -> Result<Family, String> {
    let Some((name, tables)) = text.split_once('=') else {
        return Err("no `=` between the family's name and its tables".to_owned());
    };
    let tables: Vec<_> = tables.split(',').map(str::to_owned).collect();
    if name.is_empty() || tables.iter().any(String::is_empty) {
        return Err("a name is empty".to_owned());
    }
    let name = name.to_owned();
    Ok(Family { name, tables })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_tracked_by_rows_unless_said_otherwise() {
        let table = |text| tracked(text).map(|table| (table.name, table.mode));
        assert_eq!(table("t"), Ok(("t".to_owned(), Mode::Rows)));
        assert_eq!(table("a b:rows"), Ok(("a b".to_owned(), Mode::Rows)));
        assert_eq!(table("t:table"), Ok(("t".to_owned(), Mode::Table)));
        assert_eq!(table("a:b:rows"), Ok(("a:b".to_owned(), Mode::Rows)));
        for wrong in ["", ":rows", "t:", "t:row", "a:b"] {
            assert!(table(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn families_have_a_name_and_tables() {
        let family = |text| family(text).map(|family| (family.name, family.tables.join("|")));
        assert_eq!(family("f=t"), Ok(("f".to_owned(), "t".to_owned())));
        assert_eq!(
            family("a b=t,c d"),
            Ok(("a b".to_owned(), "t|c d".to_owned()))
        );
        for wrong in ["", "f", "f=", "=t", "f=a,,b", "f=a,"] {
            assert!(family(wrong).is_err(), "{wrong}");
        }
    }
}
