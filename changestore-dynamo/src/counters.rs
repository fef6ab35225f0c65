//! Increments: added in place where a counter lives or nothing is, and never sent again after a lost reply.

use aws_sdk_dynamodb::types::ReturnValue;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use changestore_core::{Error, ErrorKind, Key, Outcome, RecordKind, Result, Timestamp};
use changestore_retry::Resend;

use crate::attempts::{Attempts, Sent};
use crate::item::{self, Standing};
use crate::layout::{self, EXPIRE_AT, Item, PK, TTL, VALUE, number};
use crate::store::Shared;

/// An increment.
struct Increment<'a> {
    key: &'a Key,
    delta: i64,
    expire_at: Option<Timestamp>,
}

impl Increment<'_> {
    fn item_key(&self) -> Item {
        layout::document_key(self.key)
    }
}

impl Shared {
    pub(crate) async fn increment(
        &self,
        key: &Key,
        delta: i64,
        expire_at: Option<Timestamp>,
    ) -> Result<i64> {
        let increment = Increment {
            key,
            delta,
            expire_at,
        };
        let mut attempts = self.attempts(Resend::Never, 0);
        let mut has_expired = false;
        loop {
            let now = self.now();
            let sent = if has_expired {
                self.start_again(&mut attempts, &increment, now).await?
            } else {
                self.add(&mut attempts, &increment, now).await?
            };
            let stored = match sent {
                Sent::Answered(value) => return Ok(value),
                Sent::Again => continue,
                Sent::Refused(stored) => stored,
            };
            let stored = self.refused_item(&attempts, || increment.item_key(), stored);
            let stored = stored.await?;
            match Standing::of(stored.as_ref(), now)? {
                Standing::Record { .. } => {
                    let stored = RecordKind::Record;
                    return Err(Error::new(ErrorKind::WrongKind { stored }));
                }
                Standing::Counter(value) if value.checked_add(delta).is_none() => {
                    return Err(Error::counter_overflow(delta));
                }
                Standing::Absent if !has_expired => has_expired = true,
                standing => {
                    has_expired = standing == Standing::Absent;
                    attempts.overtaken().await?;
                }
            }
        }
    }

    /// Adds to a live counter, or to nothing; the sum stays in the range of an `i64`, which is not
    /// the server's.
    async fn add(
        &self,
        attempts: &mut Attempts<'_>,
        increment: &Increment<'_>,
        now: Timestamp,
    ) -> Result<Sent<i64>> {
        let delta = increment.delta;
        let (fits, bound) = if delta < 0 {
            ("#value >= :bound", i64::MIN - delta)
        } else {
            ("#value <= :bound", i64::MAX - delta)
        };
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(increment.item_key()))
            .condition_expression(format!(
                "attribute_not_exists(#pk) OR \
                 ({fits} AND (attribute_not_exists(#expire_at) OR #expire_at > :now))"
            ))
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#value", VALUE)
            .expression_attribute_names("#expire_at", EXPIRE_AT)
            .expression_attribute_values(":delta", number(delta))
            .expression_attribute_values(":bound", number(bound))
            .expression_attribute_values(":now", number(now.as_millis()))
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(AllOld);
        let mut update = "ADD #value :delta".to_owned();
        if let Some(expire_at) = increment.expire_at {
            update += " SET #expire_at = :expire_at, #ttl = :ttl";
            request = request.expression_attribute_names("#ttl", TTL);
            for (name, value) in layout::expiry(expire_at) {
                request = request.expression_attribute_values(format!(":{name}"), value);
            }
        }
        let request = request.update_expression(update);
        Ok(match attempts.send(|| request.send()).await? {
            Sent::Answered(answer) => {
                let written = answer.attributes.unwrap_or_default();
                let value = item::number(&written, VALUE);
                // It has counted, whatever the answer says.
                Sent::Answered(value.map_err(|error| error.with_outcome(Outcome::Unknown))?)
            }
            Sent::Refused(stored) => Sent::Refused(stored),
            Sent::Again => Sent::Again,
        })
    }

    /// Replaces what has expired, of either kind, by a counter at the delta.
    async fn start_again(
        &self,
        attempts: &mut Attempts<'_>,
        increment: &Increment<'_>,
        now: Timestamp,
    ) -> Result<Sent<i64>> {
        let mut item = increment.item_key();
        item.insert(VALUE.to_owned(), number(increment.delta));
        for (name, value) in increment.expire_at.into_iter().flat_map(layout::expiry) {
            item.insert(name.to_owned(), value);
        }
        let request = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#pk) OR #expire_at <= :now")
            .expression_attribute_names("#pk", PK)
            .expression_attribute_names("#expire_at", EXPIRE_AT)
            .expression_attribute_values(":now", number(now.as_millis()))
            .return_values_on_condition_check_failure(AllOld);
        Ok(match attempts.send(|| request.send()).await? {
            Sent::Answered(_) => Sent::Answered(increment.delta),
            Sent::Refused(stored) => Sent::Refused(stored),
            Sent::Again => Sent::Again,
        })
    }
}
