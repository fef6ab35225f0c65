//! What comes back: rows, and what a write's row says of it.

use changestore_core::{Etag, Version};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::flow::judge::{Effect, Standing};
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::Write;
use crate::server::Setback;

type Result<T, E = sqlx::Error> = std::result::Result<T, E>;

pub(super) fn claim(row: &PgRow) -> Result<ClaimRow> {
    Ok(ClaimRow {
        request_id: row.try_get(0)?,
        version: row.try_get(1)?,
        created_at: row.try_get(2)?,
        updated_at: row.try_get(3)?,
        metadata: row.try_get(4)?,
    })
}

/// A record's columns, from this one on.
pub(super) fn record(row: &PgRow, first: usize) -> Result<RecordRow> {
    Ok(RecordRow {
        version: row.try_get(first)?,
        etag: row.try_get(first + 1)?,
        expire_at: row.try_get(first + 2)?,
        data: row.try_get(first + 3)?,
    })
}

/// What a write did, by the row of its statement.
pub(super) fn effect(write: &Write, row: Option<&PgRow>) -> Result<Effect, Setback> {
    let Some(row) = row else {
        return nothing_stands(write);
    };
    let is_applied: bool = row.try_get(0)?;
    let number: i64 = row.try_get(1)?;
    if is_applied {
        return Ok(Effect::Applied(number));
    }
    let etag: Option<String> = row.try_get(2)?;
    let (standing, would_hold) = match (write, etag) {
        (Write::UpdateMetadata { update, .. }, _) => {
            let version = version(number)?;
            (Standing::Claim(version), version == update.old_version)
        }
        (_, None) => {
            let fits = match write {
                Write::Increment { delta, .. } => number.checked_add(*delta).is_some(),
                _ => false,
            };
            (Standing::Counter, fits)
        }
        (_, Some(etag)) => {
            let version = version(number)?;
            let etag = Etag::new(etag).map_err(undecodable)?;
            let holds = match write {
                Write::Put { condition, .. } => {
                    condition.holds(Some((version, &etag))) && version < Version::MAX
                }
                Write::Delete { condition, .. } => condition.holds(Some((version, &etag))),
                _ => false,
            };
            (Standing::Record(version), holds)
        }
    };
    if would_hold {
        return Err(Setback::Passed);
    }
    Ok(Effect::Nothing(standing))
}

/// A write that did nothing, and met nothing in its snapshot.
fn nothing_stands(write: &Write) -> Result<Effect, Setback> {
    let would_hold = match write {
        Write::Put { condition, .. } => condition.holds(None),
        Write::Increment { .. } => true,
        // The create's statement does not look: it is there.
        Write::Create(_) | Write::UpdateMetadata { .. } | Write::Delete { .. } => false,
    };
    if would_hold {
        return Err(Setback::Passed);
    }
    Ok(Effect::Nothing(Standing::Absent))
}

fn version(number: i64) -> Result<Version> {
    Version::try_from(number).map_err(undecodable)
}

fn undecodable(error: changestore_core::Error) -> sqlx::Error {
    sqlx::Error::Decode(Box::new(error))
}
