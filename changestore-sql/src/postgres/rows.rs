//! What comes back: rows, and what a write's row says of it.

use changestore_core::{Etag, Version};
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::flow::judge::{Effect, Standing};
use crate::flow::rows::{ClaimRow, RecordRow, stored_version};
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
    if is_applied {
        // Of what a delete took, however damaged it was, nobody asks for the version.
        let number: Option<i64> = row.try_get(1)?;
        return Ok(Effect::Applied(number.unwrap_or_default()));
    }
    let (standing, would_hold) = if let Write::UpdateMetadata { update, .. } = write {
        let Some(version) = version(row)? else {
            return Ok(Effect::Nothing(Standing::Damaged));
        };
        (Standing::Claim(version), version == update.old_version)
    } else {
        let counter: Option<i64> = row.try_get(2)?;
        let etag: Option<String> = row.try_get(3)?;
        match (version(row)?, counter, etag.map(Etag::new)) {
            (Some(version), None, Some(Ok(etag))) => {
                let holds = match write {
                    Write::Put { condition, .. } => {
                        condition.holds(Some((version, &etag))) && version < Version::MAX
                    }
                    Write::Delete { condition, .. } => condition.holds(Some((version, &etag))),
                    _ => false,
                };
                (Standing::Record(version), holds)
            }
            (None, Some(value), None) => {
                let fits = match write {
                    Write::Increment { delta, .. } => value.checked_add(*delta).is_some(),
                    _ => false,
                };
                (Standing::Counter, fits)
            }
            _ => (Standing::Damaged, false),
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

/// The version of what stands there; none if it is none, or an impossible one.
fn version(row: &PgRow) -> Result<Option<Version>> {
    let version: Option<i64> = row.try_get(1)?;
    Ok(version.and_then(|version| stored_version(version).ok()))
}
