//! One step of garbage collection: a stretch of the documents, in ranges that the engines can find by
//! the key.

use changestore_core::Timestamp;
use sqlx::mysql::MySqlConnection;
use sqlx::query;

use super::rows;
use super::statements::{ABOVE_ALL_KEYS, BELOW_ALL_KEYS, Statements};
use crate::flow::garbage::{Position, ROWS_PER_STEP, Step};

/// Deletes what expired at or before a time in the stretch behind a key.
pub(super) async fn step(
    statements: &Statements,
    connection: &mut MySqlConnection,
    from: &Position,
    long_ago: Timestamp,
) -> Result<Step, sqlx::Error> {
    let (pk, sk) = from.as_ref().map_or(("", ""), |(pk, sk)| (pk, sk));
    let end = query(statements.stretch.clone())
        .bind(pk.as_bytes())
        .bind(sk.as_bytes())
        .bind(ROWS_PER_STEP)
        .bind(pk.as_bytes())
        .bind(ROWS_PER_STEP)
        .bind(ROWS_PER_STEP - 1)
        .fetch_all(&mut *connection)
        .await?;
    let next = match end.first() {
        Some(end) => Some((rows::text(end, 0)?, rows::text(end, 1)?)),
        None => None,
    };
    let mut collector = Collector {
        statements,
        connection,
        long_ago: long_ago.as_millis(),
        deleted: 0,
    };
    let (pk, sk) = (pk.as_bytes(), sk.as_bytes());
    match &next {
        Some((partition, last)) if partition.as_bytes() == pk => {
            collector.within(pk, sk, last.as_bytes()).await?;
        }
        Some((partition, last)) => {
            let partition = partition.as_bytes();
            collector.within(pk, sk, ABOVE_ALL_KEYS).await?;
            collector.between(pk, partition).await?;
            collector
                .within(partition, BELOW_ALL_KEYS, last.as_bytes())
                .await?;
        }
        None => {
            collector.within(pk, sk, ABOVE_ALL_KEYS).await?;
            collector.between(pk, ABOVE_ALL_KEYS).await?;
        }
    }
    Ok(Step {
        deleted: collector.deleted,
        next,
    })
}

struct Collector<'a> {
    statements: &'a Statements,
    connection: &'a mut MySqlConnection,
    long_ago: i64,
    deleted: u64,
}

impl Collector<'_> {
    /// The rows of a partition behind one sort key, up to another.
    async fn within(&mut self, pk: &[u8], behind: &[u8], last: &[u8]) -> Result<(), sqlx::Error> {
        let deleted = query(self.statements.collect_within.clone())
            .bind(pk)
            .bind(behind)
            .bind(last)
            .bind(self.long_ago)
            .execute(&mut *self.connection)
            .await?;
        self.deleted += deleted.rows_affected();
        Ok(())
    }

    /// The partitions between two.
    async fn between(&mut self, pk: &[u8], next: &[u8]) -> Result<(), sqlx::Error> {
        let deleted = query(self.statements.collect_between.clone())
            .bind(pk)
            .bind(next)
            .bind(self.long_ago)
            .execute(&mut *self.connection)
            .await?;
        self.deleted += deleted.rows_affected();
        Ok(())
    }
}
