//! Increments: added in place by the server where a counter lives, and never sent again after a lost reply.
//!
//! The server adds without asking, and wraps around. Two things make that exact. Adding to `expiry` nothing tells in the
//! same request what was added to: to a live counter, and it counted; or to a record, a dead row or nothing, and it
//! did nothing that anybody sees. And only what can neither overflow nor die is added in that way. A counter that has left
//! the [middle](MIDDLE) of the range, or that expires, is *guarded*: it has its value in another column, and that is replaced
//! under a condition. Else one client could add to a counter that is dead by its clock and in vain, and another one, which
//! has read the time before, would be told a sum with that in it.

use bytes::Bytes;
use changestore_core::{Error, ErrorKind, Key, RecordKind, Result, Timestamp};
use changestore_retry::{Attempts, Resend, Sent};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::read_modify_write_rule::Rule;
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::{
    ReadModifyWriteRowRequest, ReadModifyWriteRowResponse, ReadModifyWriteRule, RowFilter,
};

use crate::cells::{self, Counter, Standing};
use crate::filters;
use crate::layout::{self, COUNT, EXPIRY, Expiry, GUARDED_COUNT, Holding, KEY};
use crate::mutations;
use crate::store::{Conditional, Shared};

/// How far from zero a counter may be that is added to in place, and still be so after an addition. Each call whose
/// addition takes it further guards it; until one has, as many calls at once as an `i32` has numbers could not
/// take it out of the range.
const MIDDLE: u64 = 1 << 62;

/// An increment.
struct Increment {
    row: Bytes,
    delta: i64,
    expire_at: Option<Timestamp>,
}

/// What an addition in place has come to.
enum Added {
    /// It counted.
    To(i64),
    /// A guarded counter is there: it did not count.
    ToGuarded,
    /// Nothing is there: it did not count.
    ToNothing,
}

impl Shared {
    pub(crate) async fn increment(
        &self,
        key: &Key,
        delta: i64,
        expire_at: Option<Timestamp>,
    ) -> Result<i64> {
        let increment = Increment {
            row: layout::document_row(key).into(),
            delta,
            expire_at,
        };
        let mut attempts = self.attempts(Resend::Never);
        let mut adds_in_place = expire_at.is_none() && i32::try_from(delta).is_ok();
        let mut turn = None;
        loop {
            if !adds_in_place && turn.is_none() {
                turn = Some(attempts.wait_for(self.turns.turn(&increment.row)).await?);
            }
            let now = self.now();
            let sent = if adds_in_place {
                match self.add(&mut attempts, &increment, now).await? {
                    Sent::Answered(Added::To(value)) => return Ok(value),
                    Sent::Answered(Added::ToNothing) => {
                        self.start(&mut attempts, &increment, now).await?
                    }
                    Sent::Answered(Added::ToGuarded) => {
                        adds_in_place = false;
                        continue;
                    }
                    Sent::Again => continue,
                }
            } else {
                self.replace(&mut attempts, &increment, now).await?
            };
            match sent {
                Sent::Answered(Some(value)) => return Ok(value),
                Sent::Answered(None) => attempts.overtaken().await?,
                Sent::Again => {}
            }
        }
    }

    /// Adds in place, and learns from the answer to what.
    async fn add(
        &self,
        attempts: &mut Attempts<'_>,
        increment: &Increment,
        now: Timestamp,
    ) -> Result<Sent<Added>> {
        let add = |qualifier: &[u8], amount| ReadModifyWriteRule {
            family_name: KEY.to_owned(),
            column_qualifier: Bytes::copy_from_slice(qualifier),
            rule: Some(Rule::IncrementAmount(amount)),
        };
        let request = ReadModifyWriteRowRequest {
            table_name: self.table.clone(),
            app_profile_id: self.address.app_profile.clone(),
            row_key: increment.row.clone(),
            rules: vec![add(EXPIRY, 0), add(COUNT, increment.delta)],
            ..ReadModifyWriteRowRequest::default()
        };
        let deadline = self.retries.policy().attempt_timeout;
        let sent = attempts
            .send(|| self.transport.read_modify_write(request, deadline))
            .await?;
        let Sent::Answered(answer) = sent else {
            return Ok(Sent::Again);
        };
        let expiry = Expiry::from_stored(number(&answer, EXPIRY)?);
        Ok(Sent::Answered(match expiry.holding(now) {
            None => Added::ToNothing,
            Some(Holding::GuardedCounter) => Added::ToGuarded,
            Some(Holding::Record) => return Err(wrong_kind()),
            Some(Holding::Counter) => {
                let value = number(&answer, COUNT)?;
                if is_great(value) {
                    // It has counted, whatever becomes of this; the next who adds tries again.
                    let _ = self.guard(&increment.row).await;
                }
                Added::To(value)
            }
        }))
    }

    /// Begins a counter at the delta where nothing lives; none if by now something does.
    async fn start(
        &self,
        attempts: &mut Attempts<'_>,
        increment: &Increment,
        now: Timestamp,
    ) -> Result<Sent<Option<i64>>> {
        let value = increment.delta;
        let conditional = Conditional {
            predicate: filters::is_anything_live(now),
            if_matched: Vec::new(),
            if_not: mutations::count(
                value,
                is_guarded(value, increment.expire_at),
                increment.expire_at,
            ),
        };
        let sent = self.check_and_mutate(attempts, &increment.row, conditional);
        Ok(match sent.await? {
            Sent::Answered(false) => Sent::Answered(Some(value)),
            Sent::Answered(true) => {
                // Somebody was faster, or the row is damaged, which a look at it tells.
                self.standing(attempts, &increment.row, now).await?;
                Sent::Answered(None)
            }
            Sent::Again => Sent::Again,
        })
    }

    /// Reads the counter and replaces it, if it is still the same; none if it is not.
    async fn replace(
        &self,
        attempts: &mut Attempts<'_>,
        increment: &Increment,
        now: Timestamp,
    ) -> Result<Sent<Option<i64>>> {
        let counter = match self.standing(attempts, &increment.row, now).await? {
            Standing::Absent => return self.start(attempts, increment, now).await,
            Standing::Record { .. } => return Err(wrong_kind()),
            Standing::Counter(counter) => counter,
        };
        let Some(sum) = counter.value.checked_add(increment.delta) else {
            return Err(Error::counter_overflow(increment.delta));
        };
        let expire_at = increment.expire_at.or(counter.expiry.expire_at());
        let conditional = Conditional {
            predicate: is_still(counter),
            if_matched: mutations::count(sum, is_guarded(sum, expire_at), expire_at),
            if_not: Vec::new(),
        };
        let sent = self.check_and_mutate(attempts, &increment.row, conditional);
        Ok(match sent.await? {
            Sent::Answered(is_still) => Sent::Answered(is_still.then_some(sum)),
            Sent::Again => Sent::Again,
        })
    }

    /// Guards a counter, at whatever value it has, if it is great.
    async fn guard(&self, row: &Bytes) -> Result<()> {
        // As often as it is sent it does the same.
        let mut attempts = self.attempts(Resend::Reads);
        loop {
            let counter = match self.standing(&attempts, row, self.now()).await? {
                Standing::Counter(counter) if !counter.is_guarded && is_great(counter.value) => {
                    counter
                }
                _ => return Ok(()),
            };
            let conditional = Conditional {
                predicate: is_still(counter),
                if_matched: mutations::count(counter.value, true, counter.expiry.expire_at()),
                if_not: Vec::new(),
            };
            match self
                .check_and_mutate(&mut attempts, row, conditional)
                .await?
            {
                Sent::Answered(true) => return Ok(()),
                Sent::Answered(false) => attempts.overtaken().await?,
                Sent::Again => {}
            }
        }
    }
}

/// Whether a counter may not be added to in place.
fn is_guarded(value: i64, expire_at: Option<Timestamp>) -> bool {
    is_great(value) || expire_at.is_some()
}

/// Whether one addition might take a counter out of the range.
fn is_great(value: i64) -> bool {
    value.unsigned_abs() > MIDDLE
}

/// Matches where the counter is as it was read.
fn is_still(counter: Counter) -> RowFilter {
    let column = if counter.is_guarded {
        GUARDED_COUNT
    } else {
        COUNT
    };
    filters::both(
        filters::is(KEY, EXPIRY, counter.expiry.number().to_be_bytes()),
        filters::is(KEY, column, counter.value.to_be_bytes()),
    )
}

fn wrong_kind() -> Error {
    let stored = RecordKind::Record;
    Error::new(ErrorKind::WrongKind { stored })
}

/// A column's number, as an addition left it.
fn number(answer: &ReadModifyWriteRowResponse, qualifier: &'static [u8]) -> Result<i64> {
    let row = answer.row.as_ref();
    let columns = row.into_iter().flat_map(|row| {
        let families = row.families.iter().filter(|family| family.name == KEY);
        families.flat_map(|family| &family.columns)
    });
    let mut cells = columns
        .filter(|column| column.qualifier == qualifier)
        .flat_map(|column| &column.cells);
    cells
        .next()
        .and_then(|cell| cells::integer_of(&cell.value))
        .ok_or_else(|| cells::wrong(qualifier))
}
