//! `changestore claim`: claims by hand.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt, Clock, CreateOutcome, Metadata,
    MetadataUpdate, SystemClock, Version,
};
use serde::Serialize;

use crate::cli::ClaimCommand;
use crate::failure::{Result, print_note};
use crate::output::{Output, Printable, Time};
use crate::text::read_metadata;

#[derive(Serialize)]
struct CreatedLine<'a> {
    queue: &'a str,
    uri: &'a str,
    request_id: &'a str,
    /// False if the claim was there before.
    created: bool,
}

#[derive(Serialize)]
struct ClaimLine<'a> {
    queue: &'a str,
    uri: &'a str,
    request_id: &'a str,
    version: u64,
    created_at: i64,
    updated_at: i64,
    /// The JSON text as it is stored, as a string: byte for byte, and on one line.
    metadata: &'a str,
}

#[derive(Serialize)]
struct AnnotatedLine<'a> {
    queue: &'a str,
    uri: &'a str,
    request_id: &'a str,
    version: u64,
}

/// Reads the metadata that the command is given; the default where it takes or has none.
pub(crate) fn read_input(command: &ClaimCommand) -> Result<Metadata> {
    let metadata = match command {
        ClaimCommand::Create { metadata, .. } => metadata.metadata.as_ref(),
        ClaimCommand::Annotate { metadata, .. } => Some(metadata),
        ClaimCommand::List { .. } => None,
    };
    Ok(metadata.map(read_metadata).transpose()?.unwrap_or_default())
}

/// Runs the command with what [`read_input`] has read.
pub(crate) async fn run(
    store: &dyn ChangeStore,
    command: &ClaimCommand,
    metadata: Metadata,
    output: &mut Output,
) -> Result<()> {
    match command {
        ClaimCommand::Create {
            queue,
            request_id,
            uris,
            ..
        } => {
            // All keys are checked before the first is written.
            let keys: Vec<ChangeKey> = uris
                .iter()
                .map(|uri| ChangeKey::new(queue, uri, request_id))
                .collect::<Result<_, _>>()?;
            for key in keys {
                create(store, key, metadata.clone(), output).await?;
            }
            Ok(())
        }
        ClaimCommand::List { queue, uri } => list(store, queue, uri, output).await,
        ClaimCommand::Annotate {
            queue,
            uri,
            request_id,
            if_version,
            ..
        } => {
            let key = ChangeKey::new(queue, uri, request_id)?;
            annotate(store, &key, metadata, *if_version, output).await
        }
    }
}

async fn create(
    store: &dyn ChangeStore,
    key: ChangeKey,
    metadata: Metadata,
    output: &mut Output,
) -> Result<()> {
    let claim = ChangeRecord::new(key.clone(), metadata, SystemClock.now());
    let created = store.create(claim).await? == CreateOutcome::Created;
    if output.is_json() {
        output.object(&CreatedLine {
            queue: key.queue(),
            uri: key.uri(),
            request_id: key.request_id(),
            created,
        })?;
    } else {
        let what = if created { "created" } else { "already there" };
        let uri = Printable(key.uri());
        output.line(format_args!("{what:<13}  {uri}"))?;
    }
    Ok(())
}

async fn list(store: &dyn ChangeStore, queue: &str, uri: &str, output: &mut Output) -> Result<()> {
    ChangeKey::check_uri(queue, uri)?;
    let claims = store.get_by_uri(queue, uri).await?;
    if claims.is_empty() && !output.is_json() {
        print_note("no claims");
    }
    for claim in claims {
        if output.is_json() {
            output.object(&ClaimLine {
                queue: claim.key.queue(),
                uri: claim.key.uri(),
                request_id: claim.key.request_id(),
                version: claim.version.get(),
                created_at: claim.created_at.as_millis(),
                updated_at: claim.updated_at.as_millis(),
                metadata: claim.metadata.as_str(),
            })?;
            continue;
        }
        let request = Printable(claim.key.request_id());
        let (version, created) = (claim.version, Time(claim.created_at));
        output.line(format_args!(
            "{request}  version {version}  created {created}"
        ))?;
        if claim.updated_at != claim.created_at {
            output.line(format_args!("    updated {}", Time(claim.updated_at)))?;
        }
        if claim.metadata != Metadata::default() {
            let metadata = Printable(claim.metadata.as_str());
            output.line(format_args!("    metadata {metadata}"))?;
        }
    }
    Ok(())
}

async fn annotate(
    store: &dyn ChangeStore,
    key: &ChangeKey,
    metadata: Metadata,
    if_version: Option<Version>,
    output: &mut Output,
) -> Result<()> {
    let now = SystemClock.now();
    let version = match if_version {
        None => store.annotate(key, now, |_| Ok(metadata.clone())).await?,
        Some(old_version) => {
            let update = MetadataUpdate {
                metadata,
                old_version,
                new_version: old_version.next(),
                updated_at: now,
            };
            store.update_metadata(key, update).await?;
            old_version.next()
        }
    };
    if output.is_json() {
        output.object(&AnnotatedLine {
            queue: key.queue(),
            uri: key.uri(),
            request_id: key.request_id(),
            version: version.get(),
        })?;
    } else {
        output.line(format_args!("annotated, now version {version}"))?;
    }
    Ok(())
}
