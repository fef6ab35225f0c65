//! A page of a query: one statement.
//!
//! No read transaction stays open between two pages: it would keep SQLite from reusing the WAL for as
//! long as the caller takes. A page ends after some records or some bytes, whichever comes first.

use std::ops::Bound;

use changestore_core::{QueryPlan, Result, Timestamp};
use futures::TryStreamExt as _;
use sqlx::sqlite::SqliteConnection;

use super::read::{Read, record_row, there};
use super::statements;
use super::store::Inner;
use crate::flow::scan::{PAGE_BYTES, Page, Pages};

impl Pages for Inner {
    async fn page(&self, plan: &QueryPlan, limit: usize) -> Result<Page> {
        self.read(&ReadPage { plan, limit }).await
    }
}

struct ReadPage<'a> {
    plan: &'a QueryPlan,
    limit: usize,
}

impl Read for ReadPage<'_> {
    type Output = Page;

    async fn run(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
    ) -> Result<Page, sqlx::Error> {
        let Self { plan, limit } = *self;
        let (includes_lower, lower) = match plan.lower() {
            Bound::Included(lower) => (true, lower),
            Bound::Excluded(lower) => (false, lower),
            // No key is empty.
            Bound::Unbounded => (false, ""),
        };
        let upper = match plan.upper() {
            Bound::Excluded(upper) => Some(upper),
            Bound::Included(_) | Bound::Unbounded => None,
        };
        let sql = statements::page(includes_lower, upper.is_some(), plan.descending());
        let mut stream = sqlx::query(sql)
            .bind(plan.pk())
            .bind(lower)
            .bind(upper)
            .bind(now.as_millis())
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch(connection);
        let mut rows = Vec::new();
        let mut bytes = 0;
        while let Some(row) = stream.try_next().await? {
            let sk = there(&row, 0)?;
            let row = record_row(&row, 1)?;
            bytes += row.data.len();
            rows.push((sk, row));
            if bytes >= PAGE_BYTES {
                // Dropping the stream ends the statement.
                return Ok(Page {
                    rows,
                    is_last: false,
                });
            }
        }
        let is_last = rows.len() < limit;
        Ok(Page { rows, is_last })
    }
}
