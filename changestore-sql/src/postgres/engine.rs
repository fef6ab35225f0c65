//! PostgreSQL's half of the flow: which statement each operation is.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use changestore_core::{ChangeRecord, Condition, Key, QueryPlan, Timestamp};
use sqlx::postgres::PgConnection;
use sqlx::{Executor as _, Postgres, Row as _};

use super::codes::{self, POSTGRES};
use super::rows;
use super::session::{Protocol, SET_UP};
use super::statements::Statements;
use super::tables::Tables;
use super::value::Value;
use crate::flow::classify::Dialect;
use crate::flow::garbage::{Position, ROWS_PER_STEP, Step};
use crate::flow::judge::{Effect, Standing};
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::Write;
use crate::server::{Engine, Fate, Put, Setback};

#[derive(Debug)]
pub(super) struct PostgresEngine {
    statements: Statements,
    protocol: Protocol,
}

impl PostgresEngine {
    pub(super) fn new(tables: &Tables, protocol: Protocol) -> Self {
        Self {
            statements: Statements::new(tables),
            protocol,
        }
    }
}

impl Engine for PostgresEngine {
    type Database = Postgres;

    const DIALECT: &'static Dialect = &POSTGRES;
    const MOST_CREATES: usize = 64;
    // sqlx takes a message out of its buffer when all of it is there, counts the answers that are owed, and reads them away.
    const SURVIVES_DROPS: bool = true;
    const MOST_PUTS: usize = 64;

    async fn prepare(
        &self,
        connection: &mut PgConnection,
        is_own: bool,
    ) -> Result<(), sqlx::Error> {
        // A pooler in transaction mode would set it for others, and a connection of the user's
        // pool goes back there.
        if is_own && self.protocol == Protocol::Prepared {
            connection.execute(sqlx::raw_sql(SET_UP)).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        connection: &mut PgConnection,
        write: &Write,
        now: Timestamp,
    ) -> Result<Effect, Setback> {
        let now = Value::from(now.as_millis());
        let statements = &self.statements;
        let (sql, values) = match write {
            Write::Create(claim) => {
                let values = vec![
                    claim.key.queue().into(),
                    claim.key.uri().into(),
                    claim.key.request_id().into(),
                    claim.created_at.as_millis().into(),
                    claim.updated_at.as_millis().into(),
                    claim.metadata.as_str().into(),
                ];
                let row = self
                    .protocol
                    .fetch_optional(connection, &statements.create, &values)
                    .await?;
                return Ok(created(row.is_some()));
            }
            Write::UpdateMetadata { key, update } => (
                &statements.update_metadata,
                vec![
                    key.queue().into(),
                    key.uri().into(),
                    key.request_id().into(),
                    update.new_version.as_i64().into(),
                    update.updated_at.as_millis().into(),
                    update.metadata.as_str().into(),
                    update.old_version.as_i64().into(),
                ],
            ),
            Write::Put {
                record,
                condition,
                etag,
            } => {
                let mut values = vec![
                    record.key().pk().into(),
                    record.key().sk().into(),
                    Value::Int(record.expire_at().map(Timestamp::as_millis)),
                    etag.as_str().into(),
                    Value::Bytes(record.data()),
                    now,
                ];
                match condition {
                    Condition::None | Condition::IfAbsent => {
                        values.push(Value::Bool(*condition == Condition::None));
                        (&statements.put, values)
                    }
                    Condition::IfVersion(_) | Condition::IfEtag(_) => {
                        values.extend(wanted(condition));
                        (&statements.replace, values)
                    }
                }
            }
            Write::Delete { key, condition } => {
                let mut values = vec![
                    key.pk().into(),
                    key.sk().into(),
                    now,
                    Value::Bool(*condition == Condition::None),
                ];
                values.extend(wanted(condition));
                (&statements.delete, values)
            }
            Write::Increment {
                key,
                delta,
                expire_at,
            } => (
                &statements.increment,
                vec![
                    key.pk().into(),
                    key.sk().into(),
                    Value::Int(expire_at.map(Timestamp::as_millis)),
                    (*delta).into(),
                    now,
                ],
            ),
        };
        let row = self
            .protocol
            .fetch_optional(connection, sql, &values)
            .await?;
        rows::effect(write, row.as_ref())
    }

    async fn create_all(
        &self,
        connection: &mut PgConnection,
        claims: &[&ChangeRecord],
    ) -> Result<Vec<Effect>, sqlx::Error> {
        let mut sorted = claims.to_vec();
        // Stable: of two claims with one key the first one comes first, and wins.
        sorted.sort_by_key(|claim| &claim.key);
        let texts = |text: fn(&ChangeRecord) -> &str| -> Vec<&str> {
            sorted.iter().map(|claim| text(claim)).collect()
        };
        let times = |time: fn(&ChangeRecord) -> Timestamp| -> Vec<i64> {
            sorted.iter().map(|claim| time(claim).as_millis()).collect()
        };
        let queues = texts(|claim| claim.key.queue());
        let uris = texts(|claim| claim.key.uri());
        let request_ids = texts(|claim| claim.key.request_id());
        let created_at = times(|claim| claim.created_at);
        let updated_at = times(|claim| claim.updated_at);
        let metadata = texts(|claim| claim.metadata.as_str());
        let values = [
            Value::Texts(&queues),
            Value::Texts(&uris),
            Value::Texts(&request_ids),
            Value::Ints(&created_at),
            Value::Ints(&updated_at),
            Value::Texts(&metadata),
        ];
        let rows = self
            .protocol
            .fetch(connection, &self.statements.create_all, &values)
            .await?;
        let mut new = HashSet::with_capacity(rows.len());
        for row in &rows {
            let key: [&str; 3] = [row.try_get(0)?, row.try_get(1)?, row.try_get(2)?];
            new.insert(key);
        }
        let keys = claims.iter().map(|claim| &claim.key);
        Ok(keys
            .map(|key| created(new.remove(&[key.queue(), key.uri(), key.request_id()])))
            .collect())
    }

    async fn put_all(
        &self,
        connection: &mut PgConnection,
        puts: &[Put<'_>],
        now: Timestamp,
    ) -> Result<Vec<Option<Effect>>, sqlx::Error> {
        let mut sorted = puts.to_vec();
        sorted.sort_by_key(|put| put.record.key());
        let pks: Vec<&str> = sorted.iter().map(|put| put.record.key().pk()).collect();
        let sks: Vec<&str> = sorted.iter().map(|put| put.record.key().sk()).collect();
        let times = sorted.iter().map(|put| put.record.expire_at());
        let times: Vec<Option<i64>> = times.map(|time| time.map(Timestamp::as_millis)).collect();
        let etags: Vec<&str> = sorted.iter().map(|put| put.etag.as_str()).collect();
        let data: Vec<&[u8]> = sorted.iter().map(|put| &put.record.data()[..]).collect();
        let values = [
            Value::Texts(&pks),
            Value::Texts(&sks),
            Value::Times(&times),
            Value::Texts(&etags),
            Value::Blobs(&data),
            now.as_millis().into(),
        ];
        let rows = self
            .protocol
            .fetch(connection, &self.statements.put_all, &values)
            .await?;
        let mut versions = HashMap::with_capacity(rows.len());
        for row in &rows {
            let key: [&str; 2] = [row.try_get(0)?, row.try_get(1)?];
            let version: i64 = row.try_get(2)?;
            versions.insert(key, version);
        }
        let keys = puts.iter().map(|put| put.record.key());
        Ok(keys
            .map(|key| versions.get(&[key.pk(), key.sk()]).copied())
            .map(|version| version.map(Effect::Applied))
            .collect())
    }

    async fn claims(
        &self,
        connection: &mut PgConnection,
        queue: &str,
        uri: &str,
    ) -> Result<Vec<ClaimRow>, sqlx::Error> {
        let values = [queue.into(), uri.into()];
        let rows = self
            .protocol
            .fetch(connection, &self.statements.claims, &values)
            .await?;
        rows.iter().map(rows::claim).collect()
    }

    async fn record(
        &self,
        connection: &mut PgConnection,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<RecordRow>, sqlx::Error> {
        let values = [key.pk().into(), key.sk().into(), now.as_millis().into()];
        let row = self
            .protocol
            .fetch_optional(connection, &self.statements.get, &values)
            .await?;
        row.map(|row| rows::record(&row, 0)).transpose()
    }

    async fn page(
        &self,
        connection: &mut PgConnection,
        plan: &QueryPlan,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<(String, RecordRow)>, sqlx::Error> {
        let (includes_lower, lower) = match plan.lower() {
            Bound::Included(lower) => (true, lower),
            Bound::Excluded(lower) => (false, lower),
            // No key is empty.
            Bound::Unbounded => (false, ""),
        };
        let upper = match plan.upper() {
            Bound::Excluded(upper) => Some(upper),
            Bound::Included(_) | Bound::Unbounded => None,
        };
        let sql = self
            .statements
            .page(includes_lower, upper.is_some(), plan.descending());
        let values = [
            plan.pk().into(),
            lower.into(),
            Value::Text(upper),
            now.as_millis().into(),
            i64::try_from(limit).unwrap_or(i64::MAX).into(),
        ];
        let rows = self.protocol.fetch(connection, sql, &values).await?;
        rows.iter()
            .map(|row| Ok((row.try_get(0)?, rows::record(row, 1)?)))
            .collect()
    }

    async fn collect(
        &self,
        connection: &mut PgConnection,
        from: &Position,
        long_ago: Timestamp,
    ) -> Result<Step, sqlx::Error> {
        let (pk, sk) = match from {
            Some((pk, sk)) => (pk.as_str(), sk.as_str()),
            None => ("", ""),
        };
        let values = [
            pk.into(),
            sk.into(),
            i64::from(ROWS_PER_STEP).into(),
            long_ago.as_millis().into(),
        ];
        let row = self
            .protocol
            .fetch_optional(connection, &self.statements.collect, &values)
            .await?;
        let Some(row) = row else {
            return Ok(Step {
                deleted: 0,
                next: None,
            });
        };
        let deleted: i64 = row.try_get(0)?;
        let seen: i64 = row.try_get(1)?;
        let is_last = seen < i64::from(ROWS_PER_STEP);
        let last = (row.try_get(2)?, row.try_get(3)?);
        Ok(Step {
            deleted: deleted.unsigned_abs(),
            next: (!is_last).then_some(last),
        })
    }

    fn fate(&self, error: &sqlx::Error) -> Fate {
        codes::fate(error)
    }
}

fn created(is_new: bool) -> Effect {
    if is_new {
        Effect::Applied(1)
    } else {
        Effect::Nothing(Standing::Absent)
    }
}

/// The version and the etag that a condition asks for.
fn wanted(condition: &Condition) -> [Value<'_>; 2] {
    match condition {
        Condition::None | Condition::IfAbsent => [Value::Int(None), Value::Text(None)],
        Condition::IfVersion(version) => [version.as_i64().into(), Value::Text(None)],
        Condition::IfEtag(etag) => [Value::Int(None), etag.as_str().into()],
    }
}
