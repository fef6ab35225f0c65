//! Queries: a stream of pages, each a request made when it is asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use changestore_core::{
    Error, Key, Operation, QueryOptions, QueryPlan, Record, RecordStream, Result,
};
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::attempts::Resend;
use crate::documents::live;
use crate::item;
use crate::layout::{self, EXPIRE_AT, Item, PK, SK, VERSION, number};
use crate::range::{self, Range};
use crate::store::{Shared, named};

/// The most items that a page looks at, of a query with a limit. A page without one is a megabyte.
const PAGE_ITEMS: usize = 1_000;

pub(crate) fn query(
    shared: &Arc<Shared>,
    pk: &str,
    sk_prefix: &str,
    options: &QueryOptions,
) -> RecordStream {
    let plan = QueryPlan::new(pk, sk_prefix, options);
    let scan = plan.map(|plan| Scan {
        items: plan.remaining().map(with_headroom),
        shared: Arc::clone(shared),
        plan,
        is_over: false,
    });
    let key = format_args!("({pk:?})").to_string();
    let pages = stream::once(async move { scan }).map_ok(|scan| {
        stream::try_unfold(scan, |mut scan| async move {
            let page = scan.next_page().await?;
            Ok::<_, Error>(page.map(|page| (stream::iter(page).map(Ok), scan)))
        })
        .try_flatten()
    });
    pages
        .try_flatten()
        .map_err(move |error| named(error, Operation::Query).with_key(&key))
        .boxed()
}

/// A query on its way.
struct Scan {
    shared: Arc<Shared>,
    plan: QueryPlan,
    /// How many items the next page looks at; all that fit if none.
    items: Option<usize>,
    is_over: bool,
}

impl Scan {
    /// The next records, perhaps none of them; none if there are no more pages.
    async fn next_page(&mut self) -> Result<Option<VecDeque<Record>>> {
        if self.is_over {
            return Ok(None);
        }
        let Some(range) = Range::of(&self.plan) else {
            return Ok(None);
        };
        let (items, last) = self.read(range).await?;
        let mut records = VecDeque::with_capacity(items.len());
        for item in items {
            let sk = item::sort_key(&item)?;
            if !range::holds(&self.plan, sk) {
                continue;
            }
            let key = Key::new(self.plan.pk(), sk)
                .map_err(|_| Error::corrupt("a stored sort key is not ours"))?;
            // The server has left out what has expired and what is a counter.
            records.push_back(item::record(key, item)?);
        }
        if let Some(wanted) = self.plan.remaining() {
            records.truncate(wanted);
        }
        match last {
            Some(last) => {
                self.plan.advance(item::sort_key(&last)?, records.len());
                // Where much has expired, a page of what is still wanted would bring little again.
                self.items = self
                    .items
                    .map(|items| (2 * items).min(PAGE_ITEMS).max(items));
                self.is_over = self.plan.remaining() == Some(0);
            }
            None => self.is_over = true,
        }
        Ok(Some(records))
    }

    /// A page: its items, and the key that the next one starts behind.
    async fn read(&self, range: Range) -> Result<(Vec<Item>, Option<Item>)> {
        let shared = &*self.shared;
        let mut attempts = shared.attempts(Resend::Reads, 0);
        let start = range.start_key(self.plan.pk());
        let condition = range.condition;
        let ends: Vec<_> = range.values().collect();
        let page = attempts.answer(|| {
            let mut request = shared
                .client
                .query()
                .table_name(&shared.table)
                .consistent_read(true)
                .scan_index_forward(!self.plan.descending())
                .key_condition_expression(condition)
                .filter_expression(live!())
                .expression_attribute_names("#pk", PK)
                .expression_attribute_names("#version", VERSION)
                .expression_attribute_names("#expire_at", EXPIRE_AT)
                .expression_attribute_values(":pk", layout::document_partition(self.plan.pk()))
                .expression_attribute_values(":now", number(shared.now().as_millis()))
                .set_exclusive_start_key(start.clone())
                .set_limit(self.items.and_then(|items| i32::try_from(items).ok()));
            if !ends.is_empty() {
                request = request.expression_attribute_names("#sk", SK);
            }
            for (name, value) in &ends {
                request = request.expression_attribute_values(name, value.clone());
            }
            request.send()
        });
        let page = page.await?;
        let last = page.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((page.items.unwrap_or_default(), last))
    }
}

/// A few more items than are wanted, for what has expired among them: an item is cheaper than a request.
fn with_headroom(wanted: usize) -> usize {
    let wanted = wanted.min(PAGE_ITEMS);
    (wanted + wanted / 8 + 1).min(PAGE_ITEMS)
}
