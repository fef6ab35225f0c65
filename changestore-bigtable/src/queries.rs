//! Queries: a stream of the server's, one message of it in memory at a time.

use std::ops::Bound;
use std::sync::Arc;

use changestore_core::{
    Error, Key, Operation, QueryOptions, QueryPlan, Record, RecordStream, Result,
};
use changestore_retry::Resend;
use futures::stream::{self, StreamExt, TryStreamExt};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_range::StartKey;

use crate::cells;
use crate::filters;
use crate::layout;
use crate::scan::{Range, Scan};
use crate::store::{Shared, named};

pub(crate) fn query(
    shared: &Arc<Shared>,
    pk: &str,
    sk_prefix: &str,
    options: &QueryOptions,
) -> RecordStream {
    let reading = QueryPlan::new(pk, sk_prefix, options).map(|plan| Reading {
        shared: Arc::clone(shared),
        scan: (!plan.is_empty()).then(|| Scan::new(range(&plan), plan.remaining())),
        pk: plan.pk().to_owned(),
    });
    let key = format_args!("({pk:?})").to_string();
    let batches = stream::once(async move { reading }).map_ok(|reading| {
        stream::try_unfold(reading, |mut reading| async move {
            let batch = reading.next().await?;
            Ok::<_, Error>(batch.map(|batch| (stream::iter(batch).map(Ok), reading)))
        })
        .try_flatten()
    });
    batches
        .try_flatten()
        .map_err(move |error| named(error, Operation::Query).with_key(&key))
        .boxed()
}

/// A query on its way.
struct Reading {
    shared: Arc<Shared>,
    pk: String,
    /// None if the plan is for nothing.
    scan: Option<Scan>,
}

impl Reading {
    /// The next records; none at the end.
    async fn next(&mut self) -> Result<Option<Vec<Record>>> {
        let Some(scan) = &mut self.scan else {
            return Ok(None);
        };
        let shared = &*self.shared;
        let prefix = layout::document_prefix(&self.pk).len();
        let mut attempts = shared.attempts(Resend::Reads);
        let filter = || filters::live_record(shared.now());
        let rows = scan.next(shared, &mut attempts, filter).await?;
        if rows.is_empty() {
            return Ok(None);
        }
        let wrong = || Error::corrupt("a stored row key is not ours");
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            let sk = row.key.get(prefix..).unwrap_or_default();
            let sk = std::str::from_utf8(sk).map_err(|_| wrong())?;
            let key = Key::new(self.pk.as_str(), sk).map_err(|_| wrong())?;
            // The stream may be older than the record's end.
            records.extend(cells::record(key, row, shared.now())?);
        }
        scan.replace(rows.len() - records.len());
        Ok(Some(records))
    }
}

/// The plan's sort keys, as row keys.
fn range(plan: &QueryPlan) -> Range {
    let prefix = layout::document_prefix(plan.pk());
    let row = |sk: &str| [&prefix, sk.as_bytes()].concat();
    let start = match plan.lower() {
        Bound::Included(sk) => StartKey::StartKeyClosed(row(sk).into()),
        Bound::Excluded(sk) => StartKey::StartKeyOpen(row(sk).into()),
        Bound::Unbounded => StartKey::StartKeyClosed(prefix.clone().into()),
    };
    let end = match plan.upper() {
        Bound::Excluded(sk) => row(sk),
        // The least row behind it.
        Bound::Included(sk) => row(sk).into_iter().chain([0]).collect(),
        Bound::Unbounded => layout::behind(&prefix),
    };
    Range {
        start,
        end,
        is_reversed: plan.descending(),
    }
}
