//! Queries: page by page, each a statement of its own.
//!
//! No read transaction stays open between two pages: it would keep SQLite from reusing the WAL for as
//! long as the caller takes. A page ends after some records or some bytes, whichever comes first.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use changestore_core::{
    Operation, QueryOptions, QueryPlan, Record, RecordStream, Result, Timestamp, limits,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use sqlx::Row as _;
use sqlx::sqlite::SqliteConnection;

use super::contracts::call;
use super::options::ROWS_AHEAD;
use super::read::{Read, record_row};
use super::statements;
use super::store::Inner;
use crate::call::Parts;
use crate::rows::{RecordRow, stored_key};

/// The most records of the first page, whose size nobody knows yet: as many as the reader's thread reads
/// ahead, so that it never waits in the middle of one.
const FIRST_PAGE: usize = ROWS_AHEAD;
/// The most records of a page.
const PAGE: usize = 256;
/// A page is full when it has so many bytes of data.
const PAGE_BYTES: usize = 1 << 20;

struct Scan {
    store: Arc<Inner>,
    plan: QueryPlan,
    page: VecDeque<Record>,
    /// The most records of the next page.
    page_size: usize,
    /// Whether the page is the last one.
    is_last: bool,
}

/// The stream of a query; its arguments are checked when it is first polled.
pub(super) fn query(
    store: Arc<Inner>,
    pk: &str,
    sk_prefix: &str,
    options: &QueryOptions,
) -> RecordStream {
    let is_short = limits::PARTITION_KEY.check_len(pk.len()).is_ok();
    let key = is_short.then(|| Parts([pk.to_owned()]));
    let call = call(Operation::Query, key);
    let plan = match QueryPlan::new(pk, sk_prefix, options) {
        Ok(plan) => plan,
        Err(error) => return stream::iter([Err(call.blame(error))]).boxed(),
    };
    let scan = Scan {
        store,
        plan,
        page: VecDeque::new(),
        page_size: FIRST_PAGE,
        is_last: false,
    };
    let records = stream::try_unfold(scan, |mut scan| async {
        if scan.page.is_empty() && !scan.is_last && !scan.plan.is_empty() {
            scan.turn().await?;
        }
        Ok(scan.page.pop_front().map(|record| (record, scan)))
    });
    records.map_err(move |error| call.blame(error)).boxed()
}

impl Scan {
    /// Reads the next page.
    async fn turn(&mut self) -> Result<()> {
        let read = ReadPage {
            plan: &self.plan,
            limit: self.plan.page_limit(self.page_size),
        };
        let Page { rows, is_last } = self.store.read(&read).await?;
        for (sk, row) in rows {
            let key = stored_key(self.plan.pk(), sk)?;
            self.page.push_back(row.into_record(key)?);
        }
        self.is_last = is_last;
        let bytes: usize = self.page.iter().map(|record| record.data.len()).sum();
        self.page_size = fitting(self.page.len(), bytes);
        if let Some(last) = self.page.back() {
            self.plan.advance(last.key.sk(), self.page.len());
        }
        Ok(())
    }
}

/// How many records of the size that they had on the last page fill a page.
fn fitting(records: usize, bytes: usize) -> usize {
    (PAGE_BYTES * records / bytes.max(1)).clamp(1, PAGE)
}

struct Page {
    rows: Vec<(String, RecordRow)>,
    /// Nothing follows.
    is_last: bool,
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
            let sk = row.try_get(0)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_large_records_are_short() {
        assert_eq!(fitting(64, 6_400), PAGE);
        assert_eq!(fitting(64, 64 * 16 * 1024), 64);
        assert_eq!(fitting(3, 3 * 384 * 1024), 2);
        assert_eq!(fitting(1, 2 * PAGE_BYTES), 1);
        assert_eq!(fitting(64, 0), PAGE);
        assert_eq!(fitting(0, 0), 1);
    }
}
