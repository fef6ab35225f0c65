//! The engine's half of a store: its statements with their parameters, each one round trip but for a
//! delete that is refused.

use changestore_core::{ChangeRecord, Condition, Etag, Key, NewRecord, QueryPlan, Timestamp};
use sqlx::mysql::{MySql, MySqlArguments, MySqlConnection};
use sqlx::query::Query;
use sqlx::{Row as _, query};

use super::codes::{self, MYSQL};
use super::rows::{self, Stored};
use super::statements::{MOST_CREATES, MOST_PUTS, Statements};
use super::tables::Tables;
use super::{collect, effect, page, session};
use crate::flow::classify::Dialect;
use crate::flow::garbage::{Position, Step};
use crate::flow::judge::{Effect, Standing};
use crate::flow::rows::{ClaimRow, RecordRow};
use crate::flow::write::Write;
use crate::server::{Engine, Fate, Put, Setback};

type Statement = Query<'static, MySql, MySqlArguments>;

/// MySQL or MariaDB: they are sent the same.
#[derive(Debug)]
pub(super) struct MySqlEngine {
    pub(super) statements: Statements,
}

impl MySqlEngine {
    pub(super) fn new(tables: &Tables) -> Self {
        Self {
            statements: Statements::new(tables),
        }
    }
}

impl Engine for MySqlEngine {
    type Database = MySql;

    const DIALECT: &'static Dialect = &MYSQL;
    const MOST_CREATES: usize = MOST_CREATES;
    // sqlx reads a packet's head and its body one after the other: dropped in between, it takes the body for a head.
    const SURVIVES_DROPS: bool = false;
    const MOST_PUTS: usize = MOST_PUTS;
    const ALTERS_SESSIONS: bool = true;

    async fn prepare(
        &self,
        connection: &mut MySqlConnection,
        _is_own: bool,
    ) -> Result<(), sqlx::Error> {
        session::prepare(connection).await
    }

    async fn write(
        &self,
        connection: &mut MySqlConnection,
        write: &Write,
        now: Timestamp,
    ) -> Result<Effect, Setback> {
        let sql = &self.statements;
        match write {
            Write::Create(claim) => {
                let reply = claim_values(query(sql.create.clone()), claim);
                Ok(effect::of_create(&reply.execute(connection).await?))
            }
            Write::UpdateMetadata { key, update } => {
                let old = update.old_version.as_i64();
                let reply = query(sql.update_metadata.clone())
                    .bind(old)
                    .bind(update.updated_at.as_millis())
                    .bind(old)
                    .bind(update.metadata.as_str())
                    .bind(old)
                    .bind(update.new_version.as_i64())
                    .bind(key.queue().as_bytes())
                    .bind(key.uri().as_bytes())
                    .bind(key.request_id().as_bytes());
                Ok(effect::of_update(&reply.execute(connection).await?))
            }
            Write::Put {
                record,
                condition: condition @ (Condition::None | Condition::IfAbsent),
                etag,
            } => {
                let now = now.as_millis();
                let replaces = *condition == Condition::None;
                if replaces {
                    let put = record_values(query(sql.put_over.clone()), record, etag).bind(now);
                    match put.execute(&mut *connection).await {
                        Err(error) if codes::is_out_of_range(&error) => {}
                        put => return Ok(effect::of_put(&put?)),
                    }
                }
                let put = record_values(query(sql.put.clone()), record, etag)
                    .bind(now)
                    .bind(replaces)
                    .bind(now);
                Ok(effect::of_put(&put.execute(connection).await?))
            }
            Write::Put {
                record,
                condition: condition @ (Condition::IfVersion(_) | Condition::IfEtag(_)),
                etag,
            } => {
                let now = now.as_millis();
                let etag = etag.as_str().as_bytes();
                let reply = wanted(query(sql.replace.clone()).bind(now), condition)
                    .bind(etag)
                    .bind(etag)
                    .bind(now)
                    .bind(etag)
                    .bind(record.expire_at().map(Timestamp::as_millis))
                    .bind(etag)
                    .bind(&record.data()[..]);
                let reply = at(reply, record.key()).execute(connection).await?;
                Ok(effect::of_replace(&reply))
            }
            Write::Delete { key, condition } => self.delete(connection, key, condition, now).await,
            Write::Increment {
                key,
                delta,
                expire_at,
            } => {
                let now = now.as_millis();
                let reply = at(query(sql.increment.clone()), key)
                    .bind(expire_at.map(Timestamp::as_millis))
                    .bind(Etag::unique().as_str().as_bytes())
                    .bind(*delta)
                    .bind(now)
                    .bind(i64::MIN - (*delta).min(0))
                    .bind(i64::MAX - (*delta).max(0))
                    .bind(now)
                    .bind(now);
                let reply = reply.execute(connection).await?;
                Ok(effect::of_increment(&reply, *delta))
            }
        }
    }

    async fn create_all(
        &self,
        connection: &mut MySqlConnection,
        claims: &[&ChangeRecord],
    ) -> Result<Vec<Effect>, sqlx::Error> {
        let order = by_key(claims, |claim| &claim.key);
        let sql = self.statements.create_all(claims.len());
        let sql = sql.ok_or_else(|| mistaken(claims.len()))?;
        let reply = order.iter().fold(query(sql), |reply, place| {
            claim_values(reply, claims[*place])
        });
        let reply = reply.execute(connection).await?;
        let effects = effect::of_create_all(&reply, claims.len());
        let effects = effects.ok_or_else(|| mistaken(claims.len()))?;
        Ok(back_in_place(&order, effects))
    }

    async fn put_all(
        &self,
        connection: &mut MySqlConnection,
        puts: &[Put<'_>],
        now: Timestamp,
    ) -> Result<Vec<Option<Effect>>, sqlx::Error> {
        let order = by_key(puts, |put| put.record.key());
        let sql = self.statements.put_all(puts.len());
        let sql = sql.ok_or_else(|| mistaken(puts.len()))?;
        let reply = order.iter().fold(query(sql), |reply, place| {
            record_values(reply, puts[*place].record, puts[*place].etag)
        });
        let now = now.as_millis();
        let reply = reply.bind(now).bind(now).execute(connection).await?;
        let effects = effect::of_put_all(&reply, puts.len());
        let effects = effects.ok_or_else(|| mistaken(puts.len()))?;
        Ok(back_in_place(&order, effects))
    }

    async fn claims(
        &self,
        connection: &mut MySqlConnection,
        queue: &str,
        uri: &str,
    ) -> Result<Vec<ClaimRow>, sqlx::Error> {
        let found = query(self.statements.get_by_uri.clone())
            .bind(queue.as_bytes())
            .bind(uri.as_bytes())
            .fetch_all(connection)
            .await?;
        found.iter().map(rows::claim).collect()
    }

    async fn record(
        &self,
        connection: &mut MySqlConnection,
        key: &Key,
        now: Timestamp,
    ) -> Result<Option<RecordRow>, sqlx::Error> {
        let found = at(query(self.statements.get.clone()), key)
            .fetch_all(connection)
            .await?;
        let Some(row) = found.first() else {
            return Ok(None);
        };
        let expire_at: Option<i64> = row.try_get(2)?;
        if expire_at.is_some_and(|at| at <= now.as_millis()) {
            return Ok(None);
        }
        rows::record(row, 0).map(Some)
    }

    async fn page(
        &self,
        connection: &mut MySqlConnection,
        plan: &QueryPlan,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<(String, RecordRow)>, sqlx::Error> {
        page::read(&self.statements, connection, plan, limit, now).await
    }

    async fn collect(
        &self,
        connection: &mut MySqlConnection,
        from: &Position,
        long_ago: Timestamp,
    ) -> Result<Step, sqlx::Error> {
        collect::step(&self.statements, connection, from, long_ago).await
    }

    fn fate(&self, error: &sqlx::Error) -> Fate {
        codes::fate(error)
    }
}

impl MySqlEngine {
    /// The reply to a DELETE only counts. Where it counts none, a second statement looks at what lives there; if
    /// the condition holds by then, neither of the two has seen a reason to refuse, and the delete is
    /// sent again.
    async fn delete(
        &self,
        connection: &mut MySqlConnection,
        key: &Key,
        condition: &Condition,
        now: Timestamp,
    ) -> Result<Effect, Setback> {
        let now = now.as_millis();
        let delete = at(query(self.statements.delete.clone()), key)
            .bind(now)
            .bind(*condition == Condition::None);
        let deleted = wanted(delete, condition).execute(&mut *connection).await?;
        if deleted.rows_affected() > 0 {
            return Ok(Effect::Applied(0));
        }
        match self.standing(connection, key, condition, now).await {
            Ok(Some(standing)) => Ok(Effect::Nothing(standing)),
            Ok(None) => Err(Setback::Passed),
            Err(error) => Err(Setback::FailedToLook(error)),
        }
    }

    /// What lives at a key; none if it is a record that the condition would delete.
    async fn standing(
        &self,
        connection: &mut MySqlConnection,
        key: &Key,
        condition: &Condition,
        now: i64,
    ) -> Result<Option<Standing>, sqlx::Error> {
        let found = at(query(self.statements.standing.clone()), key)
            .bind(now)
            .fetch_all(connection)
            .await?;
        let Some(row) = found.first() else {
            return Ok(Some(Standing::Absent));
        };
        Ok(match rows::stored(row)? {
            Stored::Record(version, etag) if condition.holds(Some((version, &etag))) => None,
            Stored::Record(version, _) => Some(Standing::Record(version)),
            Stored::Counter => Some(Standing::Counter),
            Stored::Damaged => Some(Standing::Damaged),
        })
    }
}

fn claim_values(statement: Statement, claim: &ChangeRecord) -> Statement {
    statement
        .bind(claim.key.queue().as_bytes())
        .bind(claim.key.uri().as_bytes())
        .bind(claim.key.request_id().as_bytes())
        .bind(claim.created_at.as_millis())
        .bind(claim.updated_at.as_millis())
        .bind(claim.metadata.as_str())
}

fn record_values(statement: Statement, record: &NewRecord, etag: &Etag) -> Statement {
    at(statement, record.key())
        .bind(record.expire_at().map(Timestamp::as_millis))
        .bind(etag.as_str().as_bytes())
        .bind(&record.data()[..])
}

/// The places in the order of the keys, so that no two statements wait for each other's rows.
fn by_key<T, K: Ord>(items: &[T], key: impl Fn(&T) -> &K) -> Vec<usize> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by(|left, right| key(&items[*left]).cmp(key(&items[*right])));
    order
}

/// From that order to the one in which they were asked.
fn back_in_place<T: Copy>(order: &[usize], effects: Vec<T>) -> Vec<T> {
    let mut in_place = effects.clone();
    for (place, effect) in order.iter().zip(effects) {
        in_place[*place] = effect;
    }
    in_place
}

/// More or fewer than there are statements for, or than the reply tells of.
fn mistaken(writes: usize) -> sqlx::Error {
    sqlx::Error::Protocol(format!("the reply is not that of {writes} writes"))
}

fn at(statement: Statement, key: &Key) -> Statement {
    statement
        .bind(key.pk().as_bytes())
        .bind(key.sk().as_bytes())
}

/// The version or the etag that must be there; the other is NULL, which nothing equals.
fn wanted(statement: Statement, condition: &Condition) -> Statement {
    let (version, etag) = match condition {
        Condition::None | Condition::IfAbsent => (None, None),
        Condition::IfVersion(version) => (Some(version.as_i64()), None),
        Condition::IfEtag(etag) => (None, Some(etag.as_str().as_bytes())),
    };
    statement.bind(version).bind(etag)
}
