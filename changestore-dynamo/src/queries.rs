//! Queries: a stream of pages, each a request made when it is asked for.

use std::ops::Bound;
use std::sync::Arc;

use changestore_core::{
    Error, Key, Operation, QueryOptions, QueryPlan, Record, RecordStream, Result,
};
use changestore_retry::Resend;
use futures::stream::{self, StreamExt, TryStreamExt};

use crate::item;
use crate::layout::{self, EXPIRE_AT, Item, PK, SK, VALUE, number, text};
use crate::store::{Shared, named};

/// What is no counter and has not expired. All else is told, also what has no version or an expiry that is
/// no number: it is damaged, and its reader has to know.
const LIVE: &str = "attribute_not_exists(#value) AND \
                    (attribute_not_exists(#expire_at) OR NOT #expire_at <= :now)";

/// The most items that a page looks at, of a query with a limit. A page without one is a megabyte.
const PAGE_ITEMS: usize = 1_000;

pub(crate) fn query(
    shared: &Arc<Shared>,
    pk: &str,
    sk_prefix: &str,
    options: &QueryOptions,
) -> RecordStream {
    let scan = QueryPlan::new(pk, sk_prefix, options).map(|plan| Scan {
        shared: Arc::clone(shared),
        prefix: sk_prefix.to_owned(),
        items: plan.remaining().map(with_headroom),
        is_over: plan.is_empty(),
        plan,
    });
    let key = format_args!("({pk:?})").to_string();
    let pages = stream::once(async move { scan }).map_ok(|scan| {
        stream::try_unfold(scan, |mut scan| async move {
            if scan.is_over {
                return Ok(None);
            }
            let page = scan.next_page().await?;
            Ok::<_, Error>(Some((stream::iter(page).map(Ok), scan)))
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
    prefix: String,
    plan: QueryPlan,
    /// How many items the next page looks at; all that fit if none.
    items: Option<usize>,
    is_over: bool,
}

impl Scan {
    /// The next records; perhaps none of them, if all that the page looked at has expired.
    async fn next_page(&mut self) -> Result<Vec<Record>> {
        let (items, last) = self.read().await?;
        let pk = self.plan.pk();
        let records = items.into_iter().map(|item| {
            let key = Key::new(pk, item::sort_key(&item)?)
                .map_err(|_| Error::corrupt("a stored sort key is not ours"))?;
            // The server has left out what has expired and what is a counter.
            item::record(key, item)
        });
        let records: Vec<_> = records
            .take(self.plan.remaining().unwrap_or(usize::MAX))
            .collect::<Result<_>>()?;
        match last {
            Some(last) => {
                self.plan.advance(item::sort_key(&last)?, records.len());
                self.is_over = self.plan.is_empty();
                // Where much has expired, a page of what is still wanted would bring little again.
                let twice = |items: usize| (2 * items).min(PAGE_ITEMS);
                self.items = self.items.map(twice);
            }
            None => self.is_over = true,
        }
        Ok(records)
    }

    /// A page: its items, and the key that the next one starts behind.
    async fn read(&self) -> Result<(Vec<Item>, Option<Item>)> {
        let shared = &*self.shared;
        let mut attempts = shared.attempts(Resend::Reads, 0);
        let start = self.start_key();
        let page = attempts.answer(|| {
            let request = shared
                .client
                .query()
                .table_name(&shared.table)
                .consistent_read(true)
                .scan_index_forward(!self.plan.descending())
                .filter_expression(LIVE)
                .expression_attribute_names("#pk", PK)
                .expression_attribute_names("#value", VALUE)
                .expression_attribute_names("#expire_at", EXPIRE_AT)
                .expression_attribute_values(":pk", layout::document_partition(self.plan.pk()))
                .expression_attribute_values(":now", number(shared.now().as_millis()))
                .set_exclusive_start_key(start.clone())
                .set_limit(self.items.and_then(|items| i32::try_from(items).ok()));
            let request = if self.prefix.is_empty() {
                // Nothing begins with the empty text, to DynamoDB.
                request.key_condition_expression("#pk = :pk")
            } else {
                request
                    .key_condition_expression("#pk = :pk AND begins_with(#sk, :prefix)")
                    .expression_attribute_names("#sk", SK)
                    .expression_attribute_values(":prefix", text(&self.prefix))
            };
            request.send()
        });
        let page = page.await?;
        let last = page.last_evaluated_key.filter(|key| !key.is_empty());
        Ok((page.items.unwrap_or_default(), last))
    }

    /// The key to start behind: the plan's end at which the query starts, if it has moved into the prefix. No
    /// item need be there; outside of the prefix DynamoDB would refuse it.
    fn start_key(&self) -> Option<Item> {
        let start = if self.plan.descending() {
            self.plan.upper()
        } else {
            self.plan.lower()
        };
        match start {
            Bound::Excluded(sk) if sk.starts_with(&self.prefix) => Some(layout::primary_key(
                layout::document_partition(self.plan.pk()),
                sk.to_owned(),
            )),
            _ => None,
        }
    }
}

/// A few more items than are wanted, for what has expired among them: an item is cheaper than a request.
fn with_headroom(wanted: usize) -> usize {
    let wanted = wanted.min(PAGE_ITEMS);
    (wanted + wanted / 8 + 1).min(PAGE_ITEMS)
}
