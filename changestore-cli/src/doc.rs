//! `changestore doc`: documents and counters by hand.

use changestore_core::{
    Clock, Condition, DocumentStore, Etag, Key, NewRecord, QueryOptions, QueryPlan, Record,
    SystemClock, Timestamp, Version, limits,
};
use futures::TryStreamExt;
use serde::Serialize;

use crate::cli::{DeleteCondition, DocCommand, DocKey, Expiry, PutCondition};
use crate::failure::{Result, print_note, print_warning};
use crate::output::{Data, Output, Printable, Time};
use crate::text::read_bytes;

#[derive(Serialize)]
struct RecordLine<'a> {
    pk: &'a str,
    sk: &'a str,
    version: u64,
    etag: &'a str,
    /// Milliseconds since the epoch; null if it does not expire.
    expire_at: Option<i64>,
    #[serde(flatten)]
    data: Data<'a>,
}

/// What a put answers: the record but its data, which the caller has.
#[derive(Serialize)]
struct PutLine<'a> {
    pk: &'a str,
    sk: &'a str,
    version: u64,
    etag: &'a str,
    expire_at: Option<i64>,
}

#[derive(Serialize)]
struct DeletedLine<'a> {
    pk: &'a str,
    sk: &'a str,
    deleted: bool,
}

#[derive(Serialize)]
struct CounterLine<'a> {
    pk: &'a str,
    sk: &'a str,
    value: i64,
}

/// A number below this is a time before March 1973, but a good one of seconds.
const FEWER_ARE_SECONDS: i64 = 100_000_000_000;

/// Reads the data that the command is given; empty where it takes none.
pub(crate) fn read_input(command: &DocCommand) -> Result<Vec<u8>> {
    match command {
        DocCommand::Put { data, .. } => read_bytes(data, limits::DATA),
        DocCommand::Get { .. }
        | DocCommand::Delete { .. }
        | DocCommand::Query { .. }
        | DocCommand::Increment { .. } => Ok(Vec::new()),
    }
}

/// Runs the command with what [`read_input`] has read.
pub(crate) async fn run(
    store: &dyn DocumentStore,
    command: &DocCommand,
    data: Vec<u8>,
    output: &mut Output,
) -> Result<()> {
    match command {
        DocCommand::Get { key, raw } => {
            let record = store.get(&parse_key(key)?).await?;
            if *raw {
                return Ok(output.raw(&record.data)?);
            }
            print_record(&record, output)
        }
        DocCommand::Put {
            key,
            condition,
            expiry,
            ..
        } => {
            let key = parse_key(key)?;
            let record = NewRecord::new(key, data)?.with_expire_at(expire_at(expiry));
            let record = store.put(record, put_condition(condition)).await?;
            print_put(&record, output)
        }
        DocCommand::Delete { key, condition } => {
            let key = parse_key(key)?;
            store.delete(&key, delete_condition(condition)).await?;
            if output.is_json() {
                let (pk, sk) = (key.pk(), key.sk());
                let deleted = true;
                output.object(&DeletedLine { pk, sk, deleted })?;
            } else {
                output.line(format_args!("deleted"))?;
            }
            Ok(())
        }
        DocCommand::Query {
            pk,
            sk_prefix,
            descending,
            limit,
            start_after,
        } => {
            let mut options = QueryOptions::default()
                .with_descending(*descending)
                .with_limit(*limit);
            options.start_after.clone_from(start_after);
            // Refuses what no store accepts, before one is asked.
            QueryPlan::new(pk, sk_prefix, &options)?;
            let mut records = store.query(pk, sk_prefix, options);
            let mut is_empty = true;
            while let Some(record) = records.try_next().await? {
                is_empty = false;
                print_row(&record, output)?;
            }
            if is_empty && !output.is_json() {
                print_note("no records");
            }
            Ok(())
        }
        DocCommand::Increment { key, delta, expiry } => {
            let key = parse_key(key)?;
            let value = store.increment(&key, *delta, expire_at(expiry)).await?;
            if output.is_json() {
                let (pk, sk) = (key.pk(), key.sk());
                output.object(&CounterLine { pk, sk, value })?;
            } else {
                output.line(format_args!("{value}"))?;
            }
            Ok(())
        }
    }
}

fn parse_key(key: &DocKey) -> Result<Key> {
    Ok(Key::new(&key.pk, &key.sk)?)
}

fn expire_at(expiry: &Expiry) -> Option<Timestamp> {
    let now = SystemClock.now();
    if let Some(at) = expiry.expire_at
        && at <= now
    {
        // Legal, and a way to make a record go; but a surprise to whoever gave seconds.
        let hint = if at.as_millis() < FEWER_ARE_SECONDS {
            " (a number is taken as milliseconds, not seconds)"
        } else {
            ""
        };
        print_warning(&format!(
            "--expire-at {} is past{hint}: the record counts as absent at once",
            Time(at)
        ));
    }
    let after = expiry.ttl.map(|ttl| now.saturating_add(ttl));
    after.or(expiry.expire_at)
}

fn put_condition(condition: &PutCondition) -> Condition {
    if condition.absent {
        return Condition::IfAbsent;
    }
    if_version_or_etag(condition.version, condition.etag.as_ref())
}

fn delete_condition(condition: &DeleteCondition) -> Condition {
    if_version_or_etag(condition.version, condition.etag.as_ref())
}

fn if_version_or_etag(version: Option<Version>, etag: Option<&Etag>) -> Condition {
    match (version, etag) {
        (Some(version), _) => Condition::IfVersion(version),
        (None, Some(etag)) => Condition::IfEtag(etag.clone()),
        (None, None) => Condition::None,
    }
}

fn record_line(record: &Record) -> RecordLine<'_> {
    RecordLine {
        pk: record.key.pk(),
        sk: record.key.sk(),
        version: record.version.get(),
        etag: record.etag.as_str(),
        expire_at: record.expire_at.map(Timestamp::as_millis),
        data: Data::new(&record.data),
    }
}

fn print_record(record: &Record, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return Ok(output.object(&record_line(record))?);
    }
    output.line(format_args!("version  {}", record.version))?;
    output.line(format_args!("etag     {}", Printable(record.etag.as_str())))?;
    if let Some(expire_at) = record.expire_at {
        output.line(format_args!("expires  {}", Time(expire_at)))?;
    }
    output.line(format_args!("bytes    {}", record.data.len()))?;
    output.line(format_args!("data     {}", Data::new(&record.data)))?;
    Ok(())
}

fn print_put(record: &Record, output: &mut Output) -> Result<()> {
    if output.is_json() {
        let line = PutLine {
            pk: record.key.pk(),
            sk: record.key.sk(),
            version: record.version.get(),
            etag: record.etag.as_str(),
            expire_at: record.expire_at.map(Timestamp::as_millis),
        };
        return Ok(output.object(&line)?);
    }
    output.line(format_args!("version  {}", record.version))?;
    output.line(format_args!("etag     {}", Printable(record.etag.as_str())))?;
    if let Some(expire_at) = record.expire_at {
        output.line(format_args!("expires  {}", Time(expire_at)))?;
    }
    Ok(())
}

/// One record of a query: one line.
fn print_row(record: &Record, output: &mut Output) -> Result<()> {
    if output.is_json() {
        return Ok(output.object(&record_line(record))?);
    }
    let (sk, version) = (Printable(record.key.sk()), record.version);
    let data = Data::new(&record.data);
    match record.expire_at {
        None => output.line(format_args!("{sk}  v{version}  {data}"))?,
        Some(at) => output.line(format_args!(
            "{sk}  v{version}  expires {}  {data}",
            Time(at)
        ))?,
    }
    Ok(())
}
