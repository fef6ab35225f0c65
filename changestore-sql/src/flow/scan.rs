//! Queries: page by page, each a statement of its own, so that a slow caller holds nothing open. A page ends
//! after some records or some bytes.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

use changestore_core::{Operation, QueryOptions, QueryPlan, Record, RecordStream, Result, limits};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::call::{Call, Parts};
use super::contracts::Backend;
use super::rows::{RecordRow, stored_key};

/// The most records of the first page, whose size nobody knows yet.
pub(crate) const FIRST_PAGE: usize = 64;
/// The most records of a page.
const PAGE: usize = 256;
/// A page is full when it has so many bytes of data.
pub(crate) const PAGE_BYTES: usize = 1 << 20;

/// The engine's half: one page.
pub(crate) trait Pages: Backend {
    /// At most so many records of what the plan still wants, in its order.
    fn page(&self, plan: &QueryPlan, limit: usize) -> impl Future<Output = Result<Page>> + Send;
}

#[derive(Debug)]
pub(crate) struct Page {
    /// Each with its sort key.
    pub(crate) rows: Vec<(String, RecordRow)>,
    /// Nothing follows.
    pub(crate) is_last: bool,
}

struct Scan<P> {
    store: Arc<P>,
    plan: QueryPlan,
    page: VecDeque<Record>,
    /// The most records of the next page.
    page_size: usize,
    /// Whether the page is the last one.
    is_last: bool,
}

/// The stream of a query; its arguments are checked when it is first polled.
pub(crate) fn query<P: Pages>(
    store: Arc<P>,
    pk: &str,
    sk_prefix: &str,
    options: &QueryOptions,
) -> RecordStream {
    let is_short = limits::PARTITION_KEY.check_len(pk.len()).is_ok();
    let key = is_short.then(|| Parts([pk.to_owned()]));
    let call = Call::new(P::NAME, Operation::Query, key);
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

impl<P: Pages> Scan<P> {
    /// Reads the next page.
    async fn turn(&mut self) -> Result<()> {
        let limit = self.plan.page_limit(self.page_size);
        let Page { rows, is_last } = self.store.page(&self.plan, limit).await?;
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
