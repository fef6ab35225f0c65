//! One page of a query.

use std::ops::Bound;

use changestore_core::{QueryPlan, Timestamp};
use sqlx::mysql::MySqlConnection;
use sqlx::query;

use super::rows;
use super::statements::{ABOVE_ALL_KEYS, BELOW_ALL_KEYS, Statements};
use crate::flow::rows::RecordRow;

/// At most so many records of the plan's range, each with its sort key.
pub(super) async fn read(
    statements: &Statements,
    connection: &mut MySqlConnection,
    plan: &QueryPlan,
    limit: usize,
    now: Timestamp,
) -> Result<Vec<(String, RecordRow)>, sqlx::Error> {
    let (includes_lower, lower) = match plan.lower() {
        Bound::Included(lower) => (true, lower.as_bytes()),
        Bound::Excluded(lower) => (false, lower.as_bytes()),
        Bound::Unbounded => (false, BELOW_ALL_KEYS),
    };
    let upper = match plan.upper() {
        Bound::Included(upper) | Bound::Excluded(upper) => upper.as_bytes(),
        Bound::Unbounded => ABOVE_ALL_KEYS,
    };
    let found = query(statements.page(includes_lower, plan.descending()))
        .bind(plan.pk().as_bytes())
        .bind(lower)
        .bind(upper)
        .bind(now.as_millis())
        .bind(u64::try_from(limit).unwrap_or(u64::MAX))
        .fetch_all(connection)
        .await?;
    let records = found
        .iter()
        .map(|row| Ok((rows::text(row, 0)?, rows::record(row, 1)?)));
    records.collect()
}
