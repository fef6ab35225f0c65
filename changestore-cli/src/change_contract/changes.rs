//! `changestore change-contract changes`: the reader, as a command.

use changestore_sql::contract::{
    Changes, ContractReader, Cursor, Poll, RebuildReason, RowChange, RowKey,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::args::ChangesArgs;
use super::cursor_lock::CursorLock;
use super::cursor_place::CursorPlace;
use crate::audience::Audience;
use crate::failure::{Failure, Result};
use crate::interrupt::Interrupt;
use crate::output::{Output, Printable};

#[derive(Serialize)]
struct RowLine<'a> {
    table: &'a str,
    operation: &'a str,
    key_columns: &'a [String],
    /// In the order of the columns.
    key: &'a RawValue,
}

/// What was decided, behind the rows if there are any.
#[derive(Serialize)]
#[serde(tag = "decision", rename_all = "lowercase")]
enum DecisionLine<'a> {
    Unchanged {
        cursor: &'a Cursor,
    },
    Rows {
        rows: usize,
        more: bool,
        cursor: &'a Cursor,
    },
    Rebuild {
        reason: &'a str,
        /// The reason for people, with the table's name where there is one.
        message: String,
        cursor: Option<&'a Cursor>,
    },
}

/// Runs the command.
pub(super) async fn run(args: &ChangesArgs, output: &mut Output) -> Result<()> {
    let _lock = args.cursor.as_ref().map(CursorLock::take).transpose()?;
    let cursor = args
        .cursor
        .as_ref()
        .map(CursorPlace::load)
        .transpose()?
        .flatten();
    let reader = ContractReader::open(&args.db, &args.family).await?;
    let reader = reader.with_batch(args.batch);
    let mut answers = Answers {
        place: args.cursor.as_ref(),
        stored: cursor.clone(),
        output,
    };
    if args.follow {
        follow(reader, cursor, &mut answers).await
    } else {
        once(reader, cursor, args, &mut answers).await
    }
}

/// Everything up to now, or up to the limit.
async fn once(
    mut reader: ContractReader,
    mut cursor: Option<Cursor>,
    args: &ChangesArgs,
    answers: &mut Answers<'_>,
) -> Result<()> {
    let mut left = args.limit;
    loop {
        if let Some(left) = left {
            // A batch has no more rows than log entries.
            reader = reader.with_batch(args.batch.min(left));
        }
        let poll = reader
            .poll(cursor.as_ref())
            .await
            .map_err(Failure::failed)?;
        answers.give(&poll)?;
        let more = match &poll {
            Poll::Rows(Changes { rows, more, .. }) => {
                let rows = u32::try_from(rows.len()).unwrap_or(u32::MAX);
                left = left.map(|left| left.saturating_sub(rows));
                *more && left != Some(0)
            }
            Poll::Unchanged { .. } | Poll::Rebuild { .. } => false,
        };
        cursor = poll.next().cloned();
        if !more {
            return answers.say_cursor(cursor.as_ref());
        }
    }
}

/// Each change as it happens.
async fn follow(
    mut reader: ContractReader,
    cursor: Option<Cursor>,
    answers: &mut Answers<'_>,
) -> Result<()> {
    let mut interrupt = Interrupt::listen();
    let audience = Audience::watch();
    let mut follow = reader.follow(cursor);
    loop {
        // Never between the rows and their cursor.
        let poll = tokio::select! {
            biased;
            signal = interrupt.wait() => {
                // It has passed over what was written elsewhere.
                answers.store(follow.cursor())?;
                return Err(Failure::Stopped(signal));
            }
            () = audience.gone() => {
                answers.store(follow.cursor())?;
                return Err(Failure::BrokenPipe);
            }
            poll = follow.next() => poll.map_err(Failure::failed)?,
        };
        answers.give(&poll)?;
    }
}

/// Prints what a poll said, then stores its cursor.
struct Answers<'a> {
    place: Option<&'a CursorPlace>,
    stored: Option<Cursor>,
    output: &'a mut Output,
}

impl Answers<'_> {
    fn give(&mut self, poll: &Poll) -> Result<()> {
        match poll {
            Poll::Unchanged { next } => self.unchanged(next)?,
            Poll::Rows(changes) => self.rows(changes)?,
            Poll::Rebuild { reason, next } => self.rebuild(reason, next.as_ref())?,
        }
        // First the lines: a cursor before them could pass over what nobody has read.
        self.output.flush()?;
        self.store(poll.next())
    }

    fn unchanged(&mut self, cursor: &Cursor) -> Result<()> {
        if self.output.is_json() {
            self.output.object(&DecisionLine::Unchanged { cursor })?;
        } else {
            self.output.line(format_args!("unchanged"))?;
        }
        Ok(())
    }

    fn rows(&mut self, changes: &Changes) -> Result<()> {
        for row in &changes.rows {
            self.row(row)?;
        }
        if self.output.is_json() {
            self.output.object(&DecisionLine::Rows {
                rows: changes.rows.len(),
                more: changes.more,
                cursor: &changes.next,
            })?;
        }
        Ok(())
    }

    fn row(&mut self, row: &RowChange) -> Result<()> {
        let operation = row.operation.as_str();
        let key = key_array(&row.key);
        if self.output.is_json() {
            let key = RawValue::from_string(key).map_err(Failure::failed)?;
            self.output.object(&RowLine {
                table: &row.table,
                operation,
                key_columns: &row.key_columns,
                key: &key,
            })?;
        } else {
            let (table, key) = (Printable(&row.table), Printable(&key));
            self.output
                .line(format_args!("{operation}  {table}  {key}"))?;
        }
        Ok(())
    }

    fn rebuild(&mut self, reason: &RebuildReason, cursor: Option<&Cursor>) -> Result<()> {
        let message = reason.to_string();
        if self.output.is_json() {
            let reason = reason.as_str();
            self.output.object(&DecisionLine::Rebuild {
                reason,
                message,
                cursor,
            })?;
        } else {
            self.output
                .line(format_args!("rebuild  {}", Printable(&message)))?;
        }
        Ok(())
    }

    fn store(&mut self, cursor: Option<&Cursor>) -> Result<()> {
        if let (Some(place), Some(cursor)) = (self.place, cursor)
            && self.stored.as_ref() != Some(cursor)
        {
            place.store(cursor)?;
            self.stored = Some(cursor.clone());
        }
        Ok(())
    }

    /// Tells people the next cursor, where it is in no file.
    fn say_cursor(&mut self, cursor: Option<&Cursor>) -> Result<()> {
        let is_in_file = matches!(self.place, Some(CursorPlace::File(_)));
        if let Some(cursor) = cursor
            && !is_in_file
            && !self.output.is_json()
        {
            self.output.line(format_args!("cursor   {cursor}"))?;
        }
        Ok(())
    }
}

/// The key's values as a JSON array, also where there is only one.
fn key_array(key: &RowKey) -> String {
    if key.parts().len() == 1 {
        format!("[{key}]")
    } else {
        key.to_string()
    }
}
