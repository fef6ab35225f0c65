//! Reads of rows: a stream, taken up again behind the last whole row when it breaks.

use std::time::Duration;

use bytes::Bytes;
use changestore_core::Result;
use changestore_retry::{Attempts, Sent};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::row_range::{EndKey, StartKey};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    ReadRowsRequest, ReadRowsResponse, RowFilter, RowRange, RowSet,
};

use crate::classify::{self, Failure};
use crate::connection::Answers;
use crate::merge::{Merger, Row};
use crate::store::Shared;

/// Which rows, and from which end.
#[derive(Debug, Clone)]
pub(crate) struct Range {
    pub(crate) start: StartKey,
    /// Exclusive.
    pub(crate) end: Vec<u8>,
    pub(crate) is_reversed: bool,
}

/// A read on its way. Nothing is sent before it is asked for rows.
pub(crate) struct Scan {
    range: Range,
    /// How many more rows are wanted; none for all.
    limit: Option<usize>,
    stream: Option<Answers<ReadRowsResponse>>,
    merger: Merger,
    /// Whether the range holds no more.
    is_at_end: bool,
}

impl Scan {
    pub(crate) fn new(range: Range, limit: Option<usize>) -> Self {
        Self {
            merger: Merger::new(range.is_reversed),
            range,
            limit,
            stream: None,
            is_at_end: false,
        }
    }

    /// The next rows, at least one; none at the end. Each stream that is begun has a filter of its time.
    pub(crate) async fn next(
        &mut self,
        shared: &Shared,
        attempts: &mut Attempts<'_>,
        filter: impl Fn() -> RowFilter + Sync,
    ) -> Result<Vec<Row>> {
        while !self.is_over() {
            let mut rows = Vec::new();
            if let Sent::Again = attempts
                .send(|| self.step(shared, &filter, &mut rows))
                .await?
            {
                // What was begun is given up, perhaps in the middle of a row.
                self.stream = None;
            }
            // Rows that came before a stream broke are whole.
            self.count(rows.len());
            if !rows.is_empty() {
                return Ok(rows);
            }
        }
        Ok(Vec::new())
    }

    /// Begins a stream if there is none, and takes its next message.
    async fn step(
        &mut self,
        shared: &Shared,
        filter: impl Fn() -> RowFilter,
        rows: &mut Vec<Row>,
    ) -> Result<(), Failure> {
        let stream = if let Some(stream) = &mut self.stream {
            stream
        } else {
            self.go_on_behind();
            if self.is_at_end {
                return Ok(());
            }
            let request = self.request(shared, filter());
            let deadline = shared.retries.policy().operation_timeout;
            let stream = shared.transport.read_rows(request, deadline).await?;
            self.stream.insert(stream)
        };
        match stream.message().await {
            Ok(Some(message)) => self.merger.push(message, rows).map_err(classify::malformed),
            Ok(None) if self.merger.is_between_rows() => {
                self.is_at_end = true;
                Ok(())
            }
            Ok(None) => Err(classify::cut_short()),
            Err(status) => Err(classify::classify(&status)),
        }
    }

    fn is_over(&self) -> bool {
        self.is_at_end || self.limit == Some(0)
    }

    fn count(&mut self, rows: usize) {
        if let Some(limit) = &mut self.limit {
            *limit = limit.saturating_sub(rows);
        }
    }

    /// So many of the rows that came were none: with a limit, as many more are wanted.
    pub(crate) fn replace(&mut self, rows: usize) {
        if let Some(limit) = &mut self.limit
            && rows > 0
        {
            *limit += rows;
            // It would end too early.
            self.stream = None;
        }
    }

    /// Moves the end that is read first behind what has come.
    fn go_on_behind(&mut self) {
        let Some(passed) = self.merger.passed().cloned() else {
            self.merger = Merger::new(self.range.is_reversed);
            return;
        };
        self.merger = Merger::new(self.range.is_reversed);
        if self.range.is_reversed {
            self.range.end = passed.to_vec();
        } else {
            self.range.start = StartKey::StartKeyOpen(passed);
        }
        let start = match &self.range.start {
            StartKey::StartKeyOpen(start) => {
                // The least key behind it.
                let mut least = start.to_vec();
                least.push(0);
                least
            }
            StartKey::StartKeyClosed(start) => start.to_vec(),
        };
        self.is_at_end |= start >= self.range.end;
    }

    fn request(&self, shared: &Shared, filter: RowFilter) -> ReadRowsRequest {
        let range = RowRange {
            start_key: Some(self.range.start.clone()),
            end_key: Some(EndKey::EndKeyOpen(self.range.end.clone().into())),
        };
        ReadRowsRequest {
            rows: Some(RowSet {
                row_keys: Vec::new(),
                row_ranges: vec![range],
            }),
            filter: Some(filter),
            // 0 is all.
            rows_limit: self
                .limit
                .map_or(0, |limit| i64::try_from(limit).unwrap_or(i64::MAX)),
            reversed: self.range.is_reversed,
            ..shared.read_request()
        }
    }
}

impl Shared {
    /// One row, as far as the filter lets it through.
    pub(crate) async fn row(
        &self,
        attempts: &mut Attempts<'_>,
        key: &Bytes,
        filter: impl Fn() -> RowFilter,
    ) -> Result<Option<Row>> {
        let deadline = self.retries.policy().attempt_timeout;
        let row = attempts.answer(|| {
            let request = ReadRowsRequest {
                rows: Some(RowSet {
                    row_keys: vec![key.clone()],
                    row_ranges: Vec::new(),
                }),
                filter: Some(filter()),
                rows_limit: 1,
                ..self.read_request()
            };
            self.only_row(request, deadline)
        });
        row.await
    }

    async fn only_row(
        &self,
        request: ReadRowsRequest,
        deadline: Duration,
    ) -> Result<Option<Row>, Failure> {
        let mut stream = self.transport.read_rows(request, deadline).await?;
        let mut merger = Merger::new(false);
        let mut rows = Vec::new();
        loop {
            match stream.message().await {
                Ok(Some(message)) => merger
                    .push(message, &mut rows)
                    .map_err(classify::malformed)?,
                Ok(None) if merger.is_between_rows() => return Ok(rows.pop()),
                Ok(None) => return Err(classify::cut_short()),
                Err(status) => return Err(classify::classify(&status)),
            }
        }
    }
}
