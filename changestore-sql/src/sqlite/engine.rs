//! The writer's half on SQLite: one connection, and a batch as one transaction on it.

use std::sync::Arc;

use changestore_core::{Clock, limits};
use futures::TryStreamExt as _;
use sqlx::sqlite::{SqliteArguments, SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Connection as _, Either, Executor as _, Row as _};

use super::bind::Binder;
use super::codes::{self, SQLITE};
use super::group_commit::{Engine, Failure};
use super::read::there;
use super::script::{Kind, Run, Scripts, runs};
use super::source::Source;
use super::statements;
use crate::flow::classify::Cause;
use crate::flow::garbage::{Position, ROWS_PER_STEP, Step};
use crate::flow::judge::{Effect, Standing};
use crate::flow::rows::stored_version;
use crate::flow::write::Write;

#[derive(Debug)]
pub(super) struct SqliteEngine {
    source: Source,
    /// None after it was lost, until the next transaction.
    connection: Option<SqliteConnection>,
    clock: Arc<dyn Clock>,
    scripts: Scripts,
}

/// What a script's statements returned: the rows of each.
type Answers = Vec<Vec<SqliteRow>>;

/// How far a transaction had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begin,
    Work,
    Commit,
}

/// Which statement of a script failed, and how.
struct Broken {
    statement: usize,
    error: sqlx::Error,
}

impl Engine for SqliteEngine {
    async fn run(&mut self, writes: &[&Write]) -> Result<Vec<Effect>, Failure> {
        match runs(writes).as_slice() {
            [whole] => self.whole(whole, writes).await,
            pieces => self.pieces(pieces, writes).await,
        }
    }

    async fn collect(&mut self, from: &Position) -> Result<Step, Failure> {
        let (pk, sk) = match from {
            Some((pk, sk)) => (pk.as_str(), sk.as_str()),
            None => ("", ""),
        };
        let now = self.clock.now();
        let long_ago = now.saturating_sub(limits::GARBAGE_GRACE).as_millis();
        let connection = self.connection().await?;
        let done = async {
            let end = sqlx::query(statements::STRETCH)
                .bind(pk)
                .bind(sk)
                .bind(ROWS_PER_STEP - 1)
                .fetch_optional(&mut *connection)
                .await?;
            let Some(end) = end else {
                let rest = sqlx::query(statements::COLLECT_REST)
                    .bind(pk)
                    .bind(sk)
                    .bind(long_ago)
                    .execute(connection)
                    .await?;
                return Ok((rest, None));
            };
            let end: (String, String) = (end.try_get(0)?, end.try_get(1)?);
            let stretch = sqlx::query(statements::COLLECT)
                .bind(pk)
                .bind(sk)
                .bind(&end.0)
                .bind(&end.1)
                .bind(long_ago)
                .execute(connection)
                .await?;
            Ok((stretch, Some(end)))
        };
        match done.await {
            Ok((result, next)) => Ok(Step {
                deleted: result.rows_affected(),
                next,
            }),
            Err(error) => Err(self.abandon(Stage::Work, error).await),
        }
    }

    async fn close(self) {
        if let Some(connection) = self.connection {
            // Everything that was acknowledged is committed; there is nobody to tell about the rest.
            let _ = connection.close().await;
        }
    }
}

impl SqliteEngine {
    pub(super) fn new(source: Source, connection: SqliteConnection, clock: Arc<dyn Clock>) -> Self {
        Self {
            source,
            connection: Some(connection),
            clock,
            scripts: Scripts::default(),
        }
    }

    async fn connection(&mut self) -> Result<&mut SqliteConnection, Failure> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => match self.source.connect_writer().await {
                Ok(connection) => connection,
                Err(error) => return Err(self.abandon(Stage::Begin, error).await),
            },
        };
        Ok(self.connection.insert(connection))
    }

    /// Runs a script that is a transaction of its own: one call.
    async fn whole(&mut self, run: &Run, writes: &[&Write]) -> Result<Vec<Effect>, Failure> {
        let last = run.statements() + 1;
        match self.execute(run, writes, true).await? {
            Ok(answers) => Ok(effects(run, &answers[1..last])),
            Err(Broken { statement, error }) => {
                let stage = match statement {
                    0 => Stage::Begin,
                    statement if statement < last => Stage::Work,
                    _ => Stage::Commit,
                };
                Err(self.abandon(stage, error).await)
            }
        }
    }

    /// Runs several scripts between BEGIN and COMMIT.
    async fn pieces(&mut self, runs: &[Run], writes: &[&Write]) -> Result<Vec<Effect>, Failure> {
        self.statement(statements::BEGIN, Stage::Begin).await?;
        let mut all = vec![Effect::Nothing(Standing::Absent); writes.len()];
        for run in runs {
            match self.execute(run, writes, false).await? {
                Ok(answers) => {
                    for (place, effect) in run.places.iter().zip(effects(run, &answers)) {
                        all[*place] = effect;
                    }
                }
                Err(broken) => return Err(self.abandon(Stage::Work, broken.error).await),
            }
        }
        self.statement(statements::COMMIT, Stage::Commit).await?;
        Ok(all)
    }

    async fn statement(&mut self, sql: &'static str, stage: Stage) -> Result<(), Failure> {
        let connection = self.connection().await?;
        match sqlx::query(sql).execute(connection).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.abandon(stage, error).await),
        }
    }

    /// Sends a script and collects what its statements return.
    async fn execute(
        &mut self,
        run: &Run,
        writes: &[&Write],
        is_whole: bool,
    ) -> Result<Result<Answers, Broken>, Failure> {
        let text = self.scripts.text(run, is_whole);
        let statements = run.statements() + if is_whole { 2 } else { 0 };
        let arguments = self.arguments(run, writes);
        let connection = self.connection().await?;
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => {
                return Ok(Err(Broken {
                    statement: 0,
                    error,
                }));
            }
        };
        let mut answers = Answers::with_capacity(statements);
        let mut rows = Vec::new();
        let mut stream = connection.fetch_many(sqlx::query_with(AssertSqlSafe(text), arguments));
        loop {
            match stream.try_next().await {
                Ok(Some(Either::Right(row))) => rows.push(row),
                Ok(Some(Either::Left(_done))) => answers.push(std::mem::take(&mut rows)),
                Ok(None) if answers.len() == statements => return Ok(Ok(answers)),
                // The connection's thread ended in the middle, who knows where.
                Ok(None) => {
                    return Ok(Err(Broken {
                        statement: usize::MAX,
                        error: sqlx::Error::WorkerCrashed,
                    }));
                }
                Err(error) => {
                    return Ok(Err(Broken {
                        statement: answers.len(),
                        error,
                    }));
                }
            }
        }
    }

    /// Takes the time and binds a run's writes.
    fn arguments(&self, run: &Run, writes: &[&Write]) -> Result<SqliteArguments, sqlx::Error> {
        let now = self.clock.now();
        let mut binder = Binder::default();
        for place in &run.places {
            binder.write(run.kind, writes[*place], now)?;
        }
        Ok(binder.finish())
    }

    /// Ends a transaction that failed, and says what became of it.
    async fn abandon(&mut self, stage: Stage, error: sqlx::Error) -> Failure {
        let is_broken = codes::is_broken(&error);
        if is_broken || (stage != Stage::Begin && !self.roll_back().await) {
            // Dropping a connection rolls back what it had begun.
            self.connection = None;
        }
        let is_locked = codes::is_locked(&error);
        let cause = Cause::new(error, &SQLITE);
        match stage {
            _ if is_locked => Failure::Locked(cause),
            Stage::Begin | Stage::Work => Failure::Aborted(cause),
            Stage::Commit => Failure::Unknown(cause),
        }
    }

    /// Whether the connection is outside of any transaction now.
    async fn roll_back(&mut self) -> bool {
        let Some(connection) = &mut self.connection else {
            return true;
        };
        match sqlx::query(statements::ROLLBACK).execute(connection).await {
            Ok(_) => true,
            // SQLite does it by itself after some errors.
            Err(error) => codes::is_no_transaction(&error),
        }
    }
}

/// What each write of a run did, in the order of its places. A row that cannot be read is the matter of the one write
/// that met it, and not of those that share its transaction.
fn effects(run: &Run, answers: &[Vec<SqliteRow>]) -> Vec<Effect> {
    answers
        .chunks(run.kind.statements())
        .map(|answers| match answers {
            [written, ..] if !written.is_empty() => applied(run.kind, &written[0]),
            [_, standing] => Effect::Nothing(standing_of(run.kind, standing)),
            // A claim that was there before needs no reason.
            _ => Effect::Nothing(Standing::Absent),
        })
        .collect()
}

/// The number that a write left. Of what a delete took, however damaged it was, nobody asks; and all others have
/// written theirs.
fn applied(kind: Kind, row: &SqliteRow) -> Effect {
    match kind {
        Kind::Delete => Effect::Applied(0),
        _ => there(row, 0).map_or(Effect::Nothing(Standing::Damaged), Effect::Applied),
    }
}

/// What stands where a write did nothing.
fn standing_of(kind: Kind, rows: &[SqliteRow]) -> Standing {
    let Some(row) = rows.first() else {
        return Standing::Absent;
    };
    let version = row.try_get::<Option<i64>, _>(0);
    let version = version.map(|version| version.map(stored_version));
    if kind == Kind::UpdateMetadata {
        return match version {
            Ok(Some(Ok(version))) => Standing::Claim(version),
            _ => Standing::Damaged,
        };
    }
    match (version, row.try_get::<Option<i64>, _>(1)) {
        (Ok(Some(Ok(version))), Ok(None)) => Standing::Record(version),
        (Ok(None), Ok(Some(_))) => Standing::Counter,
        _ => Standing::Damaged,
    }
}
