//! What REPLACE writes where NULL is not allowed: the column's default, as the column stores it.
//!
//! SQLite alone knows what the text of a default means (`abc` and `"abc"` are texts there) and what a column of that
//! type makes of it (`'5'` becomes 5 in an INTEGER column). So a column like it, in memory, is asked.

use changestore_core::Result;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};

use super::failure::failed;

/// A column's default where NULL is not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NullDefault {
    /// There is none, or NULL is allowed: REPLACE fails, or writes NULL.
    None,
    /// A literal of the stored value.
    Literal(String),
    /// Not the same each time, or not to be written down: an expression, the current time.
    Unknown,
}

impl NullDefault {
    /// Of a NOT NULL column with this declared type and text of a default.
    pub(super) async fn of(declared: &str, strict: bool, default: &str) -> Result<Self> {
        let text = default.trim();
        if text.starts_with('(') || text.to_ascii_uppercase().starts_with("CURRENT_") {
            return Ok(Self::Unknown);
        }
        let mut memory = SqliteConnectOptions::new()
            .in_memory(true)
            .disable_statement_logging()
            .connect()
            .await
            .map_err(failed)?;
        // A newline, because the text may end in a comment.
        let strict = if strict { "STRICT" } else { "" };
        let create = format!("CREATE TABLE t(c {declared} DEFAULT {default}\n) {strict}");
        let stored = stored(&mut memory, create).await;
        memory.close().await.map_err(failed)?;
        Ok(match stored {
            Ok((kind, literal)) if kind != "real" => Self::Literal(literal),
            // SQLite's way from a REAL to a literal is not exact, but what was read once is read again.
            Ok(_) if text.parse::<f64>().is_ok() => Self::Literal(format!("CAST({text} AS REAL)")),
            // Or nothing that a table could be created with, other than this one.
            _ => Self::Unknown,
        })
    }
}

async fn stored(
    memory: &mut SqliteConnection,
    create: String,
) -> Result<(String, String), sqlx::Error> {
    for sql in [create, "INSERT INTO t DEFAULT VALUES".to_owned()] {
        sqlx::query(AssertSqlSafe(sql))
            .execute(&mut *memory)
            .await?;
    }
    let row = sqlx::query("SELECT typeof(c), quote(c) FROM t")
        .fetch_one(memory)
        .await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}
