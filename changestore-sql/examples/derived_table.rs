//! Keeps "open claims per queue" up to date from the changed rows alone, in a database of its own, and shows
//! that it equals what reading everything gives, after thousands of random writes.
//!
//! ```sh
//! cargo run -p changestore-sql --features sqlite --example derived_table
//! ```
//!
//! Three things make it exact. Each changed row is read again by its key, in the snapshot of the poll. What it
//! counted for before is looked up in what was derived from it, not guessed from the operation. And the cursor
//! is committed together with the counts, so that a crash at any moment repeats or skips nothing.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt, Clock, Metadata, SystemClock,
};
use changestore_sql::SqliteStore;
use changestore_sql::contract::{
    ChangedRow, ContractOwner, ContractPlan, ContractReader, Cursor, Mode, Poll, Snapshot, Value,
};
use changestore_sql::contract::{MIN_RETENTION, SchemaGuard};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _};

const CLAIMS: &str = "changestore_claims";

/// The metadata of a claim that counts. Metadata are kept byte for byte, so they can be compared so.
const OPEN: &str = r#"{"state":"open"}"#;
const LANDED: &str = r#"{"state":"landed"}"#;

const ROUNDS: u64 = 40;
const WRITES_PER_ROUND: u64 = 150;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("claims.db");
    let store =
        SqliteStore::open(&format!("sqlite:{}?synchronous=normal", archive.display())).await?;
    let owner = ContractOwner::open(&archive, SchemaGuard::OurMigrations).await?;
    let plan = ContractPlan::new()
        .with_table(CLAIMS, Mode::Rows)
        .with_family("claims", [CLAIMS])
        // So small that a consumer that stays away for long has to read everything.
        .with_retention(MIN_RETENTION);
    owner.enable(&plan).await?;

    let mut random = Random(7);
    let mut elsewhere = connect(&archive).await?;
    let mut reader = ContractReader::open(&archive, "claims")
        .await?
        .with_batch(64);
    let mut derived = Derived::open(&folder.path().join("derived.db")).await?;
    let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
    for round in 1..=ROUNDS {
        for _ in 0..WRITES_PER_ROUND {
            write(&store, &mut random).await?;
        }
        match round % 20 {
            // Another program, which knows nothing of the contract.
            5 => delete_some(&mut elsewhere, "COMMIT").await?,
            6 => delete_some(&mut elsewhere, "ROLLBACK").await?,
            10 => drop(owner.bump("for the example's sake").await?),
            // The consumer stays away.
            11..20 if round > 20 => continue,
            _ => {}
        }
        // A consumer that was restarted goes on where it was.
        if round % 7 == 0 {
            derived = derived.reopen().await?;
        }
        let outcome = derived.catch_up(&mut reader).await?;
        *outcomes.entry(outcome).or_default() += 1;

        let mut anew = Derived::open(&folder.path().join(format!("anew-{round}.db"))).await?;
        anew.catch_up(&mut reader).await?;
        assert_eq!(
            derived.counts().await?,
            anew.counts().await?,
            "round {round}"
        );
    }

    // What was shown would be worth little if everything had been read anew all the time.
    assert!(outcomes["incremental"] > ROUNDS / 2);
    for (outcome, times) in outcomes {
        println!("{times:>3} × {outcome}");
    }
    for (queue, open) in derived.counts().await? {
        println!("{queue}: {open} open claims");
    }
    store.close().await;
    Ok(())
}

/// What is derived, and the cursor up to which it is.
struct Derived {
    path: std::path::PathBuf,
    connection: SqliteConnection,
}

impl Derived {
    async fn open(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut connection = connect(path).await?;
        sqlx::raw_sql(
            "CREATE TABLE IF NOT EXISTS open_claim (
                 queue TEXT, uri TEXT, request_id TEXT, PRIMARY KEY (queue, uri, request_id)
             ) WITHOUT ROWID;
             CREATE TABLE IF NOT EXISTS open_claims_per_queue (queue TEXT PRIMARY KEY, open INTEGER);
             CREATE TABLE IF NOT EXISTS up_to (cursor TEXT);",
        )
        .execute(&mut connection)
        .await?;
        let path = path.to_owned();
        Ok(Self { path, connection })
    }

    async fn reopen(self) -> Result<Self, Box<dyn Error>> {
        self.connection.close().await?;
        Self::open(&self.path).await
    }

    /// Takes in what has changed; says how.
    async fn catch_up(&mut self, reader: &mut ContractReader) -> Result<String, Box<dyn Error>> {
        loop {
            let mut transaction = self.connection.begin().await?;
            let stored: Option<String> = sqlx::query_scalar("SELECT cursor FROM up_to")
                .fetch_optional(&mut *transaction)
                .await?;
            let cursor: Option<Cursor> = stored.map(|cursor| cursor.parse()).transpose()?;
            let mut snapshot = reader.snapshot(cursor.as_ref()).await?;
            let (outcome, more) = match snapshot.poll() {
                Poll::Unchanged { .. } => ("unchanged".to_owned(), false),
                Poll::Rows(changes) => {
                    let more = changes.more;
                    for row in snapshot.rows(CLAIMS, &["metadata"]).await? {
                        take_in(&mut transaction, &row).await?;
                    }
                    ("incremental".to_owned(), more)
                }
                Poll::Rebuild { reason, .. } => {
                    let outcome = format!("rebuild: {reason}");
                    rebuild(&mut transaction, &mut snapshot).await?;
                    (outcome, false)
                }
            };
            if let Some(next) = snapshot.end().await?.next() {
                sqlx::query("DELETE FROM up_to")
                    .execute(&mut *transaction)
                    .await?;
                sqlx::query("INSERT INTO up_to VALUES (?1)")
                    .bind(next.to_string())
                    .execute(&mut *transaction)
                    .await?;
            }
            transaction.commit().await?;
            if !more {
                return Ok(outcome);
            }
        }
    }

    async fn counts(&mut self) -> Result<Vec<(String, i64)>, sqlx::Error> {
        let sql = "SELECT queue, open FROM open_claims_per_queue WHERE open <> 0 ORDER BY queue";
        sqlx::query_as(sql).fetch_all(&mut self.connection).await
    }
}

/// Brings one claim from what was derived of it to what it is now.
async fn take_in(derived: &mut SqliteConnection, row: &ChangedRow) -> Result<(), Box<dyn Error>> {
    let [Value::Text(queue), Value::Text(uri), Value::Text(request)] = row.key.parts() else {
        return Err(format!("not the key of a claim: {}", row.key).into());
    };
    let is_open = matches!(row.values.as_deref(), Some([Value::Text(text)]) if text == OPEN);
    let sql = if is_open {
        "INSERT OR IGNORE INTO open_claim VALUES (?1, ?2, ?3)"
    } else {
        "DELETE FROM open_claim WHERE (queue, uri, request_id) = (?1, ?2, ?3)"
    };
    let query = sqlx::query(sql).bind(queue).bind(uri).bind(request);
    // 0 if it was already so.
    let differs = query.execute(&mut *derived).await?.rows_affected();
    let differs = i64::try_from(differs)?;
    sqlx::query(
        "INSERT INTO open_claims_per_queue VALUES (?1, ?2)
         ON CONFLICT DO UPDATE SET open = open + excluded.open",
    )
    .bind(queue)
    .bind(if is_open { differs } else { -differs })
    .execute(derived)
    .await?;
    Ok(())
}

/// Reads all claims.
async fn rebuild(
    derived: &mut SqliteConnection,
    snapshot: &mut Snapshot<'_>,
) -> Result<(), sqlx::Error> {
    let open: Vec<(String, String, String)> =
        sqlx::query_as("SELECT queue, uri, request_id FROM changestore_claims WHERE metadata = ?1")
            .bind(OPEN)
            .fetch_all(snapshot.connection())
            .await?;
    sqlx::raw_sql("DELETE FROM open_claim; DELETE FROM open_claims_per_queue;")
        .execute(&mut *derived)
        .await?;
    for (queue, uri, request) in open {
        sqlx::query("INSERT INTO open_claim VALUES (?1, ?2, ?3)")
            .bind(queue)
            .bind(uri)
            .bind(request)
            .execute(&mut *derived)
            .await?;
    }
    sqlx::query(
        "INSERT INTO open_claims_per_queue SELECT queue, count(*) FROM open_claim GROUP BY queue",
    )
    .execute(derived)
    .await?;
    Ok(())
}

/// Claims something, or opens or lands what is claimed.
async fn write(store: &SqliteStore, random: &mut Random) -> changestore_core::Result<()> {
    let queue = ["main", "release", "docs"][random.below(3)];
    let uri = format!("github://github.com/o/r/pull/{}/3f1c", random.below(150));
    let key = ChangeKey::new(queue, uri, format!("{queue}/{}", random.below(3)))?;
    let state = Metadata::new([OPEN, LANDED][random.below(2)])?;
    let now = SystemClock.now();
    match store.find_claim(&key).await? {
        None => drop(store.create(ChangeRecord::new(key, state, now)).await?),
        Some(_) => drop(store.annotate(&key, now, |_| Ok(state.clone())).await?),
    }
    Ok(())
}

/// Deletes some claims in one transaction that ends so.
async fn delete_some(
    elsewhere: &mut SqliteConnection,
    end: &'static str,
) -> Result<(), sqlx::Error> {
    let sql = "DELETE FROM changestore_claims WHERE uri LIKE '%7/3f1c'";
    sqlx::raw_sql("BEGIN IMMEDIATE")
        .execute(&mut *elsewhere)
        .await?;
    sqlx::raw_sql(sql).execute(&mut *elsewhere).await?;
    sqlx::raw_sql(end).execute(elsewhere).await?;
    Ok(())
}

async fn connect(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .synchronous(SqliteSynchronous::Normal)
        .connect()
        .await
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % end
    }
}
