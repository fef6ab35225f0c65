//! Rows from the chunks of `ReadRows`: a row, and even a cell, may come in pieces over several messages.
//!
//! A row is out when its last chunk says so, and never in part: what a broken stream leaves of a row is
//! read again. The server may also take back what it has sent of a row, and say how far it has looked where
//! nothing was to be sent.

use std::cmp::Ordering;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::ReadRowsResponse;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_rows_response::CellChunk;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_rows_response::cell_chunk::RowStatus;

/// A row as far as the filter lets it through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: Bytes,
    pub(crate) cells: Vec<Cell>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) family: Arc<str>,
    pub(crate) qualifier: Bytes,
    /// Microseconds.
    pub(crate) time: i64,
    pub(crate) value: Bytes,
}

/// What no server of this API sends: why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// What has come of one stream.
#[derive(Debug, Default)]
pub(crate) struct Merger {
    is_reversed: bool,
    row: Option<Row>,
    /// The family and column of the row's last cell; the following ones need not name them.
    family: Option<Arc<str>>,
    qualifier: Bytes,
    cell: Option<PartialCell>,
    /// Up to where everything has come: the last row, or the last key that the server has looked at.
    passed: Option<Bytes>,
}

/// A cell of which more is to come.
#[derive(Debug)]
struct PartialCell {
    time: i64,
    value: BytesMut,
}

impl Merger {
    pub(crate) fn new(is_reversed: bool) -> Self {
        Self {
            is_reversed,
            ..Self::default()
        }
    }

    /// Takes a message; whole rows are added to `rows`.
    pub(crate) fn push(
        &mut self,
        message: ReadRowsResponse,
        rows: &mut Vec<Row>,
    ) -> Result<(), Malformed> {
        if !message.last_scanned_row_key.is_empty() {
            if self.row.is_some() {
                return Err(Malformed("a scanned key in the middle of a row"));
            }
            self.pass(message.last_scanned_row_key)?;
        }
        for chunk in message.chunks {
            if let Some(row) = self.chunk(chunk)? {
                self.pass(row.key.clone())?;
                rows.push(row);
            }
        }
        Ok(())
    }

    /// Whether the stream may end here: not within a row.
    pub(crate) fn is_between_rows(&self) -> bool {
        self.row.is_none()
    }

    /// The key up to which nothing need be read again.
    pub(crate) fn passed(&self) -> Option<&Bytes> {
        self.passed.as_ref()
    }

    fn pass(&mut self, key: Bytes) -> Result<(), Malformed> {
        let forward = if self.is_reversed {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        if self
            .passed
            .as_ref()
            .is_some_and(|passed| key.cmp(passed) != forward)
        {
            return Err(Malformed("keys out of order"));
        }
        self.passed = Some(key);
        Ok(())
    }

    fn chunk(&mut self, chunk: CellChunk) -> Result<Option<Row>, Malformed> {
        if let Some(RowStatus::ResetRow(true)) = chunk.row_status {
            return self.reset(&chunk).map(|()| None);
        }
        let commits = matches!(chunk.row_status, Some(RowStatus::CommitRow(true)));
        let is_split = chunk.value_size > 0;
        if commits && is_split {
            return Err(Malformed("a row that ends within a cell"));
        }
        match self.cell.take() {
            Some(cell) => self.go_on(cell, &chunk, is_split)?,
            None => self.begin(chunk, is_split)?,
        }
        if !commits {
            return Ok(None);
        }
        self.family = None;
        Ok(self.row.take())
    }

    /// Forgets the row that the server takes back.
    fn reset(&mut self, chunk: &CellChunk) -> Result<(), Malformed> {
        let says_more = !chunk.row_key.is_empty()
            || chunk.family_name.is_some()
            || chunk.qualifier.is_some()
            || !chunk.value.is_empty();
        if self.row.is_none() || says_more {
            return Err(Malformed("a reset of nothing, or with a cell"));
        }
        self.row = None;
        self.cell = None;
        self.family = None;
        Ok(())
    }

    /// The first piece of a cell, or all of it.
    fn begin(&mut self, chunk: CellChunk, is_split: bool) -> Result<(), Malformed> {
        match &self.row {
            None if chunk.row_key.is_empty() => return Err(Malformed("a row without a key")),
            None if chunk.family_name.is_none() || chunk.qualifier.is_none() => {
                return Err(Malformed("a row whose first cell is in no column"));
            }
            None => {
                self.row = Some(Row {
                    key: chunk.row_key,
                    cells: Vec::new(),
                });
            }
            Some(row) if !chunk.row_key.is_empty() && chunk.row_key != row.key => {
                return Err(Malformed("a row within another"));
            }
            Some(_) => {}
        }
        if let Some(family) = chunk.family_name {
            if chunk.qualifier.is_none() {
                return Err(Malformed("a family without a column"));
            }
            if self.family.as_deref() != Some(&*family) {
                self.family = Some(family.into());
            }
        }
        if let Some(qualifier) = chunk.qualifier {
            self.qualifier = qualifier.into();
        }
        if is_split {
            // What the server says of the size is a hint, and no reason to reserve gigabytes.
            let mut value = BytesMut::with_capacity(chunk.value.len() * 2);
            value.extend_from_slice(&chunk.value);
            self.cell = Some(PartialCell {
                time: chunk.timestamp_micros,
                value,
            });
            return Ok(());
        }
        self.end(chunk.timestamp_micros, chunk.value)
    }

    /// A further piece of a cell.
    fn go_on(
        &mut self,
        mut cell: PartialCell,
        chunk: &CellChunk,
        is_split: bool,
    ) -> Result<(), Malformed> {
        let names_a_cell =
            !chunk.row_key.is_empty() || chunk.family_name.is_some() || chunk.qualifier.is_some();
        if names_a_cell || chunk.timestamp_micros != 0 {
            return Err(Malformed("a cell within another"));
        }
        cell.value.extend_from_slice(&chunk.value);
        if is_split {
            self.cell = Some(cell);
            return Ok(());
        }
        self.end(cell.time, cell.value.freeze())
    }

    fn end(&mut self, time: i64, value: Bytes) -> Result<(), Malformed> {
        let (Some(row), Some(family)) = (&mut self.row, &self.family) else {
            return Err(Malformed("a cell in no row"));
        };
        row.cells.push(Cell {
            family: Arc::clone(family),
            qualifier: self.qualifier.clone(),
            time,
            value,
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
