//! The `DocumentStore` with its mistakes: queries.

use changestore_core::{
    Clock, DocumentStore, DocumentStoreExt, Error, ErrorKind, Key, QueryOptions, Record,
    RecordStream, Result,
};
use futures::FutureExt;
use futures::stream::{self, StreamExt};

use crate::documents::counter_as_record;
use crate::store::Faulty;
use crate::table::Fault;

/// The records of one of the spoilt pages.
const PAGE: usize = 100;

impl Faulty {
    pub(crate) fn spoilt_query(
        &self,
        pk: &str,
        sk_prefix: &str,
        mut options: QueryOptions,
    ) -> RecordStream {
        if self.has(Fault::StreamsHoldConnections) {
            let stream = self.inner.query(pk, sk_prefix, options);
            return match self.connection() {
                Ok(held) => stream.inspect(move |_| _ = &held).boxed(),
                Err(error) => stream::iter([Err(error)]).boxed(),
            };
        }
        if self.has(Fault::PagesByOffset) {
            return self.by_offset(pk, sk_prefix, options);
        }
        if self.has_none() {
            return self.inner.query(pk, sk_prefix, options);
        }
        if self.has(Fault::DescendingIsIgnored) {
            options.descending = false;
        }
        if let Some(refused) = self.refused(sk_prefix, &options) {
            return stream::iter([Err(refused)]).boxed();
        }
        // Memory answers at once, so the mistakes can work on all that there is.
        let read = |prefix: &str, options: &QueryOptions| {
            let all = self.inner.query_all(pk, prefix, options.clone());
            all.now_or_never().expect("memory does not wait")
        };
        let found = self.spoilt_range(sk_prefix, &options, read);
        let result = found.map(|found| self.spoilt_pages(pk, sk_prefix, &options, found));
        match result {
            Err(_) if self.has(Fault::QueryHidesRefusals) => stream::empty().boxed(),
            Err(error) => stream::iter([Err(error)]).boxed(),
            Ok(found) => stream::iter(found.into_iter().map(Ok)).boxed(),
        }
    }

    fn refused(&self, sk_prefix: &str, options: &QueryOptions) -> Option<Error> {
        let start_after = options.start_after.as_deref();
        let outside = start_after.is_some_and(|after| !after.starts_with(sk_prefix));
        let refused = self.has(Fault::LimitOverflows) && i64::try_from(options.limit).is_err()
            || self.has(Fault::StartAfterOutsideFails) && outside;
        refused.then(|| Error::new(ErrorKind::Other).with_message("invalid range"))
    }

    /// The records of the range, which is not the one that was asked for.
    fn spoilt_range(
        &self,
        sk_prefix: &str,
        options: &QueryOptions,
        read: impl Fn(&str, &QueryOptions) -> Result<Vec<Record>>,
    ) -> Result<Vec<Record>> {
        let matches: Box<dyn Fn(&str) -> bool> = if self.has(Fault::PrefixIsAPattern) {
            Box::new(|sk| is_like(sk, sk_prefix))
        } else if self.has(Fault::PrefixFoldsCase) {
            let folded = sk_prefix.to_lowercase();
            Box::new(move |sk| sk.to_lowercase().starts_with(&folded))
        } else if self.has(Fault::PrefixEndsTooEarly) {
            let end = format!("{sk_prefix}\u{ffff}");
            Box::new(move |sk| sk.starts_with(sk_prefix) && sk < end.as_str())
        } else if self.has(Fault::PrefixStopsAtTheSurrogates) {
            Box::new(|sk| sk.starts_with(sk_prefix) && !sk_prefix.ends_with('\u{d7ff}'))
        } else if self.has(Fault::StartAfterReplacesThePrefix) && options.start_after.is_some() {
            Box::new(|_| true)
        } else {
            return read(sk_prefix, options);
        };
        let whole = QueryOptions::default().with_limit(options.limit);
        let mut whole = whole.with_descending(options.descending);
        whole.start_after.clone_from(&options.start_after);
        let mut found = read("", &whole)?;
        found.retain(|record| matches(record.key.sk()));
        Ok(found)
    }

    fn spoilt_pages(
        &self,
        pk: &str,
        sk_prefix: &str,
        options: &QueryOptions,
        mut found: Vec<Record>,
    ) -> Vec<Record> {
        let memory = self.memory();
        let now = self.clock.now();
        let in_range = |key: &Key| key.pk() == pk && key.sk().starts_with(sk_prefix);
        let start_after = options.start_after.as_deref();
        if self.has(Fault::QuerySeesExpired) {
            let keys = memory.records.keys().filter(|key| in_range(key));
            found.extend(keys.filter_map(|key| memory.expired(key, now)));
        }
        if self.has(Fault::QuerySeesCounters) {
            let counters = memory.counters.iter().filter(|(key, _)| in_range(key));
            found.extend(counters.map(|(key, (value, _))| counter_as_record(key, *value)));
        }
        if self.has(Fault::PartitionsLeak) {
            let others = memory.records.values();
            let leaking = |record: &&Record| {
                record.key.pk() != pk
                    && record.key.pk().starts_with(pk)
                    && record.key.sk().starts_with(sk_prefix)
            };
            found.extend(others.filter(leaking).cloned());
        }
        if self.has(Fault::QuerySeesExpired) || self.has(Fault::QuerySeesCounters) {
            found.sort_by(|a, b| a.key.sk().cmp(b.key.sk()));
            if options.descending {
                found.reverse();
            }
        }
        if self.has(Fault::SortKeysInUtf16Order) {
            found.sort_by_key(|record| record.key.sk().encode_utf16().collect::<Vec<_>>());
        }
        if self.has(Fault::LimitCountsExpired) && options.limit > 0 && !options.descending {
            let first = memory
                .records
                .keys()
                .filter(|key| in_range(key))
                .take(options.limit);
            let first: Vec<_> = first.collect();
            found.retain(|record| first.contains(&&record.key));
        }
        if let (Some(start_after), true) = (start_after, self.has(Fault::StartAfterIsInclusive)) {
            let at = Key::new(pk, start_after).ok();
            let itself = at.and_then(|key| memory.records.get(&key));
            found.splice(0..0, itself.filter(|record| in_range(&record.key)).cloned());
        }
        if let (Some(start_after), true) = (start_after, self.has(Fault::StartAfterMustExist)) {
            let exists = memory.records.keys().any(|key| key.sk() == start_after);
            found.retain(|_| exists);
        }
        if self.has(Fault::LimitZeroIsNothing) {
            found.truncate(options.limit);
        }
        if self.has(Fault::RecordLostBetweenPages) {
            let mut number = 0;
            found.retain(|_| {
                number += 1;
                number % PAGE != 0
            });
        }
        if self.has(Fault::RecordDoubledBetweenPages) && found.len() > PAGE {
            let last = found[PAGE - 1].clone();
            found.insert(PAGE, last);
        }
        if self.has(Fault::EmptyPageEndsTheQuery) {
            let mut first_page = memory.records.keys().filter(|key| in_range(key)).take(PAGE);
            let all_expired = first_page.all(|key| memory.expired(key, now).is_some());
            found.retain(|_| !all_expired);
        }
        if self.has(Fault::OnlyAMegabyteOfRecords) {
            let mut left = 1 << 20;
            found.retain(|record| {
                left -= record.data.len().min(left);
                left > 0
            });
        }
        found
    }

    /// Each page is the query anew, behind as many records as have come.
    fn by_offset(&self, pk: &str, sk_prefix: &str, options: QueryOptions) -> RecordStream {
        let store = self.inner.clone();
        let (pk, prefix) = (pk.to_owned(), sk_prefix.to_owned());
        let pages = stream::unfold(0, move |offset| {
            let rest = store.query(&pk, &prefix, options.clone()).skip(offset);
            async move {
                let page: Vec<_> = rest.take(PAGE).collect().await;
                // The next page comes when its time has come, and others write meanwhile.
                tokio::task::yield_now().await;
                (!page.is_empty()).then(|| (stream::iter(page), offset + PAGE))
            }
        });
        pages.flatten().boxed()
    }
}

/// `text LIKE 'pattern%'`.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut pattern_rest = pattern.chars();
    match pattern_rest.next() {
        None => true,
        Some('%') => {
            let mut tails = text.char_indices().map(|(at, _)| &text[at..]).chain([""]);
            tails.any(|tail| is_like(tail, pattern_rest.as_str()))
        }
        Some(wanted) => {
            let mut rest = text.chars();
            let first = rest.next();
            let fits = first.is_some_and(|first| wanted == '_' || first == wanted);
            fits && is_like(rest.as_str(), pattern_rest.as_str())
        }
    }
}
