//! Sending a statement: prepared once per connection, or with its values written into it.

use std::sync::Arc;

use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Executor as _};

use super::value::{Value, arguments, written_out};

/// What every connection of the store's own is set to, in one round trip.
///
/// One statement after the other, each its own transaction: the weakest level is the right one, and the server's
/// default may be another. Every statement goes by a primary key; a plan that was made when
/// the tables were empty would scan them, and stay when they have grown.
pub(super) const SET_UP: &str = "\
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET enable_sort = off;
SET jit = off";

/// How statements are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Prepared on a connection's first use of them, then only bound.
    Prepared,
    /// As one text each, with nothing that outlives it: a pooler in transaction mode sends the next one on
    /// another connection to the server.
    Simple,
}

impl Protocol {
    pub(super) async fn fetch(
        self,
        connection: &mut PgConnection,
        sql: &Arc<str>,
        values: &[Value<'_>],
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        match self {
            Self::Prepared => {
                let query = sqlx::query_with(AssertSqlSafe(Arc::clone(sql)), arguments(values)?);
                connection.fetch_all(query).await
            }
            Self::Simple => {
                // One transaction, for which the answer's form is set: texts of bytes could have another.
                let text = format!("SET LOCAL bytea_output = hex; {}", written_out(sql, values));
                connection
                    .fetch_all(sqlx::raw_sql(AssertSqlSafe(text)))
                    .await
            }
        }
    }

    pub(super) async fn fetch_optional(
        self,
        connection: &mut PgConnection,
        sql: &Arc<str>,
        values: &[Value<'_>],
    ) -> Result<Option<PgRow>, sqlx::Error> {
        let rows = self.fetch(connection, sql, values).await?;
        Ok(rows.into_iter().next())
    }
}
