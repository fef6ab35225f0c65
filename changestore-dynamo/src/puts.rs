//! Puts: one request that carries the whole condition and makes the version.
//!
//! Where the condition says which version is there, the whole item is put. Where it does not, the version is
//! counted up in place; an expired record is then replaced by a second request.

use aws_sdk_dynamodb::operation::put_item::builders::PutItemFluentBuilder;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure::AllOld;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use changestore_core::{
    Condition, Error, ErrorKind, Etag, NewRecord, Outcome, Record, RecordKind, Result, Timestamp,
    Version,
};
use changestore_retry::Resend;

use crate::attempts::{Attempts, Sent};
use crate::documents::live;
use crate::item::{self, Standing};
use crate::layout::{self, DATA, ETAG, EXPIRE_AT, Item, PK, TTL, VALUE, VERSION, number, text};
use crate::store::Shared;

/// A put, and the etag by which it knows its own write again.
struct Put<'a> {
    record: &'a NewRecord,
    condition: &'a Condition,
    etag: &'a Etag,
}

impl Put<'_> {
    fn item_key(&self) -> Item {
        layout::document_key(self.record.key())
    }
}

impl Shared {
    pub(crate) async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let etag = Etag::unique();
        let put = Put {
            record: &record,
            condition: &condition,
            etag: &etag,
        };
        let resend = match condition {
            Condition::IfEtag(_) => Resend::Recognizes,
            _ => Resend::Never,
        };
        let mut attempts = self.attempts(resend, record.data().len());
        let version = match self.written(&put, &mut attempts).await {
            Err(lost) if lost.outcome() == Outcome::Unknown => {
                self.look_for(&put, &attempts, lost).await?
            }
            written => written?,
        };
        Ok(record.into_record(version, etag))
    }

    /// After a lost reply: the version that the put wrote, if it is still there to be seen.
    async fn look_for(
        &self,
        put: &Put<'_>,
        attempts: &Attempts<'_>,
        lost: Error,
    ) -> Result<Version> {
        match self.item(&mut attempts.reads(), || put.item_key()).await {
            Ok(Some(stored)) if item::is_written_by(&stored, ETAG, put.etag) => {
                item::version(&stored)
            }
            _ => Err(lost),
        }
    }

    /// Sends a put until it has its answer: the version that it wrote.
    async fn written(&self, put: &Put<'_>, attempts: &mut Attempts<'_>) -> Result<Version> {
        let mut nothing_is_there = *put.condition == Condition::IfAbsent;
        loop {
            let now = self.now();
            let sent = match put.condition {
                Condition::IfVersion(version) => {
                    let request = self
                        .replace(put, version.next())
                        .condition_expression(concat!(
                            live!(),
                            " AND #version = :version AND #version <= :greatest"
                        ));
                    let request = request
                        .expression_attribute_names("#version", VERSION)
                        .expression_attribute_names("#value", VALUE)
                        .expression_attribute_values(":version", number(version.as_i64()))
                        .expression_attribute_values(":greatest", number(i64::MAX - 1))
                        .expression_attribute_values(":now", number(now.as_millis()));
                    whole(attempts, request, version.next()).await?
                }
                Condition::IfAbsent | Condition::None if nothing_is_there => {
                    let request = self
                        .replace(put, Version::FIRST)
                        .condition_expression("attribute_not_exists(#pk) OR #expire_at <= :now")
                        .expression_attribute_names("#pk", PK)
                        .expression_attribute_values(":now", number(now.as_millis()));
                    whole(attempts, request, Version::FIRST).await?
                }
                Condition::IfEtag(wanted) => {
                    let request = self
                        .count_up(put, now)
                        .condition_expression(concat!(
                            live!(),
                            " AND #etag = :wanted AND #version BETWEEN :one AND :greatest"
                        ))
                        .expression_attribute_values(":wanted", text(wanted.as_str()));
                    counted(attempts, request).await?
                }
                Condition::None | Condition::IfAbsent => {
                    let request = self
                        .count_up(put, now)
                        .condition_expression(concat!(
                            "attribute_not_exists(#pk) OR (",
                            live!(),
                            " AND #version BETWEEN :one AND :greatest)"
                        ))
                        .expression_attribute_names("#pk", PK);
                    counted(attempts, request).await?
                }
            };
            let stored = match sent {
                Sent::Answered(version) => return Ok(version),
                Sent::Again => continue,
                Sent::Refused(stored) => stored,
            };
            let stored = self.refused_item(attempts, || put.item_key(), stored);
            let stored = stored.await?;
            if let Some(stored) = &stored
                && item::is_written_by(stored, ETAG, put.etag)
            {
                return item::version(stored);
            }
            let live = match Standing::of(stored.as_ref(), now)? {
                Standing::Counter(_) => {
                    let stored = RecordKind::Counter;
                    return Err(attempts.refuse(Error::new(ErrorKind::WrongKind { stored })));
                }
                Standing::Record { version, etag } => Some((version, etag)),
                Standing::Absent => None,
            };
            let holds = put
                .condition
                .holds(live.as_ref().map(|(version, etag)| (*version, etag)));
            match live {
                _ if !holds => return Err(attempts.refuse(Error::new(ErrorKind::ConditionFailed))),
                Some((Version::MAX, _)) => {
                    return Err(Error::corrupt(
                        "the stored version is the greatest there is",
                    ));
                }
                // Something has expired there: nobody was faster.
                None if !nothing_is_there => nothing_is_there = true,
                _ => {
                    nothing_is_there = live.is_none();
                    attempts.overtaken().await?;
                }
            }
        }
    }

    /// Puts the whole item, at this version. `#version` is not named yet: not every condition has it.
    fn replace(&self, put: &Put<'_>, version: Version) -> PutItemFluentBuilder {
        let mut item = put.item_key();
        let attributes = [(VERSION, number(version.as_i64()))];
        for (name, value) in attributes.into_iter().chain(attributes_of(put)) {
            item.insert(name.to_owned(), value);
        }
        self.client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item))
            .expression_attribute_names("#expire_at", EXPIRE_AT)
            .return_values_on_condition_check_failure(AllOld)
    }

    /// Sets everything in place and adds one to the version.
    fn count_up(&self, put: &Put<'_>, now: Timestamp) -> UpdateItemFluentBuilder {
        let mut set = "SET #version = if_not_exists(#version, :zero) + :one".to_owned();
        let mut request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(put.item_key()))
            .expression_attribute_names("#version", VERSION)
            .expression_attribute_names("#value", VALUE)
            .expression_attribute_values(":zero", number(0))
            .expression_attribute_values(":one", number(1))
            .expression_attribute_values(":greatest", number(i64::MAX - 1))
            .expression_attribute_values(":now", number(now.as_millis()));
        let mut gone = vec![DATA, EXPIRE_AT, TTL];
        for (name, value) in attributes_of(put) {
            set = set + ", #" + name + " = :" + name;
            gone.retain(|gone| *gone != name);
            request = request
                .expression_attribute_names(format!("#{name}"), name)
                .expression_attribute_values(format!(":{name}"), value);
        }
        if !gone.is_empty() {
            set += " REMOVE ";
            set += &gone
                .iter()
                .map(|name| format!("#{name}"))
                .collect::<Vec<_>>()
                .join(", ");
        }
        for name in gone.into_iter().chain([EXPIRE_AT]) {
            request = request.expression_attribute_names(format!("#{name}"), name);
        }
        request
            .update_expression(set)
            .return_values(ReturnValue::UpdatedNew)
            .return_values_on_condition_check_failure(AllOld)
    }
}

/// A record's attributes but its key and version.
fn attributes_of<'a>(
    put: &'a Put<'_>,
) -> impl Iterator<Item = (&'static str, AttributeValue)> + use<'a> {
    let data = put.record.data();
    let data = (!data.is_empty()).then(|| (DATA, AttributeValue::B(Blob::new(data.to_vec()))));
    let expiry = put.record.expire_at().map(layout::expiry);
    [(ETAG, text(put.etag.as_str()))]
        .into_iter()
        .chain(data)
        .chain(expiry.into_iter().flatten())
}

/// Sends what writes exactly that version.
async fn whole(
    attempts: &mut Attempts<'_>,
    request: PutItemFluentBuilder,
    version: Version,
) -> Result<Sent<Version>> {
    Ok(match attempts.send(|| request.send()).await? {
        Sent::Answered(_) => Sent::Answered(version),
        Sent::Refused(stored) => Sent::Refused(stored),
        Sent::Again => Sent::Again,
    })
}

/// Sends what counts the version up, and reads it from the answer.
async fn counted(
    attempts: &mut Attempts<'_>,
    request: UpdateItemFluentBuilder,
) -> Result<Sent<Version>> {
    Ok(match attempts.send(|| request.send()).await? {
        Sent::Answered(answer) => {
            let version = item::version(&answer.attributes.unwrap_or_default());
            // It was taken, whatever the answer says.
            Sent::Answered(version.map_err(|error| error.with_outcome(Outcome::Unknown))?)
        }
        Sent::Refused(stored) => Sent::Refused(stored),
        Sent::Again => Sent::Again,
    })
}
