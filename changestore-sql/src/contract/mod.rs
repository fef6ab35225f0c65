//! The change contract: which rows of an SQLite database changed since a cursor.
//!
//! The contract lives in the database. Triggers number every insert, update and delete of the tracked tables in the
//! writer's own transaction, whoever the writer is, and in rows mode note the changed row's key. The owner
//! creates, arms and removes it ([`ContractOwner`]); a reader asks what changed since its cursor
//! ([`ContractReader`]). `docs/change-contract.md` in the crate describes the objects, which readers in any
//! language can use.

// The owner's side, and the journal.
mod armed;
mod enabled;
mod export;
mod failure;
mod guard;
mod identifiers;
mod install;
mod installed;
mod key_sql;
mod null_default;
mod objects;
mod owner;
mod plan;
mod rearm;
mod replace;
mod row_key;
mod state;
mod status;
mod table_info;
#[cfg(test)]
mod torn;
mod tracked;
mod triggers;
mod types;
mod value;

// The reader's side.
mod algorithm;
#[cfg(test)]
mod at_once;
mod changes;
mod cursor;
mod decide;
mod fetch;
mod fetch_sql;
mod follow;
mod identity;
mod observe;
mod packed;
mod reader;
mod rows;
mod shape;
mod snapshot;
mod verify;
mod wake;

pub use algorithm::Poll;
pub use changes::{Changes, Operation, RowChange};
pub use cursor::Cursor;
pub use decide::RebuildReason;
pub use enabled::Enabled;
pub use fetch::Fetched;
pub use follow::Follow;
pub use guard::SchemaGuard;
pub use identity::FileIdentity;
pub use installed::Position;
pub use owner::ContractOwner;
pub use plan::{ContractPlan, DEFAULT_RETENTION, MIN_RETENTION, Mode};
pub use reader::ContractReader;
pub(crate) use rearm::rearm;
pub use row_key::RowKey;
pub use rows::ChangedRow;
pub use snapshot::Snapshot;
pub use status::{Presence, Status, TableStatus};
pub use value::Value;
