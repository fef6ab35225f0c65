//! The command line: what can be said, and its help.

use changestore_core::{Etag, Timestamp, Version};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::backend::{Access, DEFAULT_URL};
#[cfg(feature = "sqlite")]
use crate::change_contract::ChangeContractCommand;
use crate::text::{Source, Text};
use crate::time;
use crate::value::{delta, etag, limit, pk, present_version, queue, request_id, sk, uri, version};

/// Claims of changes by land requests, and documents, on any store.
#[derive(Debug, Parser)]
#[command(name = "changestore", version, max_term_width = 100, after_long_help = AFTER_HELP)]
pub(crate) struct Cli {
    // Checked by `StoreUrl` and not by clap, whose errors repeat the value: it may hold a password.
    /// The store: `sqlite:PATH` (with `?synchronous=normal` and the like), the path of an SQLite
    /// database, `postgres://USER:PASSWORD@HOST/DATABASE`, `mysql://…`, or `mem:`. A password is
    /// better given in the variable, which other users of the machine cannot see.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "CHANGESTORE_STORE",
        hide_env_values = true,
        default_value = DEFAULT_URL,
        help_heading = EVERYWHERE
    )]
    pub(crate) store: String,

    /// Print one JSON object per line instead of text for people.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EVERYWHERE: &str = "Options of every command";

const AFTER_HELP: &str = "\
Exit status:
  0    done
  1    failed: not found, a condition that does not hold, a broken line, a store out of reach
  2    called wrongly: an unknown flag, a bad URL, a key that no store accepts
  130  interrupted with Ctrl-C; 143: ended by SIGTERM; 141: the reader of the output went away

Examples:
  changestore validate land-events.jsonl
  changestore --store mem: --json validate - < land-events.jsonl
  changestore claim list main github://github.com/o/r/pull/7/3f1c
  changestore doc put JOB#EXPORT 17 '{\"rows\": 5}' --if-absent --ttl 1h
  changestore doc query REQUEST#main --limit 10 --json
  changestore change-contract changes --db changestore.db --family claims --follow";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(ValidateArgs),
    /// Claims of changes: create, list, annotate.
    #[command(subcommand)]
    Claim(ClaimCommand),
    /// Documents and counters under a partition key and a sort key.
    #[command(subcommand)]
    Doc(DocCommand),
    /// The schema that the store needs.
    #[command(subcommand)]
    Schema(SchemaCommand),
    /// Which rows of an SQLite database changed since a cursor: enable, inspect, follow.
    #[cfg(feature = "sqlite")]
    #[command(subcommand)]
    ChangeContract(ChangeContractCommand),
    /// Print the completions of a shell, such as `changestore completions bash`.
    Completions {
        /// The shell.
        shell: Shell,
    },
}

/// Validate land requests: refuse duplicates, claim the changes of the rest.
#[derive(Debug, Args)]
#[command(long_about = VALIDATE_ABOUT, after_long_help = VALIDATE_EXAMPLES)]
pub(crate) struct ValidateArgs {
    /// The events, or `-` for standard input.
    #[arg(value_name = "FILE", default_value = "-", value_hint = ValueHint::FilePath)]
    pub(crate) file: Source,

    /// Go on behind a broken line. The exit status is 1 all the same.
    #[arg(long)]
    pub(crate) keep_going: bool,
}

const VALIDATE_ABOUT: &str = r#"Validate land requests: refuse duplicates, claim the changes of the rest.

Reads events as JSON lines, in order:

  {"event":"submit","queue":"main","request_id":"main/7","uris":["github://…"],"at":1768328247000}
  {"event":"finish","queue":"main","request_id":"main/7","state":"landed","at":1768328307000}

A submitted request is a duplicate if a live request of the same queue has claimed one of its
uris; otherwise all of them are claimed for it. A request is live from its claim to its finish;
a duplicate never is. `at` is in milliseconds since 1970, UTC. Further fields are passed over.

Each event gets one answer: claimed, duplicate, or finished. An event that was handled before,
in this run or in an earlier one, changes nothing and gets the same answer, marked as redelivered.
So a run that was interrupted, even killed, is completed by giving the same file again. Requests
are kept as documents in the partition REQUEST#<queue>.

A broken line (no event, a finish of an unknown request, a request id that comes back with other
uris or another state) is reported with its number, nothing of it is applied, and the run stops.
Several processes may validate the same queue at the same time."#;

const VALIDATE_EXAMPLES: &str = "\
Examples:
  changestore validate land-events.jsonl
  tail -f events.jsonl | changestore validate --json -
  changestore --store 'sqlite:claims.db?synchronous=normal' validate --keep-going events.jsonl";

#[derive(Debug, Subcommand)]
pub(crate) enum ClaimCommand {
    /// Claim changes for a request. What is claimed already stays as it is.
    Create {
        /// The merge queue.
        #[arg(value_parser = queue)]
        queue: String,
        /// The land request.
        #[arg(value_name = "REQUEST", value_parser = request_id)]
        request_id: String,
        /// The changes.
        #[arg(value_name = "URI", required = true, value_parser = uri)]
        uris: Vec<String>,
        #[command(flatten)]
        metadata: OptionalMetadata,
    },
    /// List the claims of a change, in the order of the requests' ids.
    List {
        /// The merge queue.
        #[arg(value_parser = queue)]
        queue: String,
        /// The change, exactly.
        #[arg(value_parser = uri)]
        uri: String,
    },
    /// Replace the metadata of a claim.
    Annotate {
        /// The merge queue.
        #[arg(value_parser = queue)]
        queue: String,
        /// The change.
        #[arg(value_parser = uri)]
        uri: String,
        /// The land request.
        #[arg(value_name = "REQUEST", value_parser = request_id)]
        request_id: String,
        /// The new metadata: JSON text, `@FILE`, or `-` for standard input.
        #[arg(long, value_name = "JSON", required = true)]
        metadata: Text,
        /// Only if the claim still has this version.
        #[arg(long, value_name = "N", value_parser = version, allow_negative_numbers = true)]
        if_version: Option<Version>,
    },
}

impl ClaimCommand {
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::List { .. } => Access::Read,
            Self::Create { .. } | Self::Annotate { .. } => Access::Write,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct OptionalMetadata {
    /// Metadata of each claim: JSON text, `@FILE`, or `-` for standard input. `{}` if not given.
    #[arg(long, value_name = "JSON")]
    pub(crate) metadata: Option<Text>,
}

#[derive(Debug, Args)]
pub(crate) struct DocKey {
    /// The partition key.
    #[arg(value_parser = pk)]
    pub(crate) pk: String,
    /// The sort key.
    #[arg(value_parser = sk)]
    pub(crate) sk: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DocCommand {
    /// Print a record.
    Get {
        #[command(flatten)]
        key: DocKey,
        /// Print the data alone, byte for byte.
        #[arg(long, conflicts_with = "json")]
        raw: bool,
    },
    /// Write a record, whatever it replaces unless a condition is given.
    Put {
        #[command(flatten)]
        key: DocKey,
        /// The data: text, `@FILE`, or `-` for standard input.
        #[arg(allow_negative_numbers = true)]
        data: Text,
        #[command(flatten)]
        condition: PutCondition,
        #[command(flatten)]
        expiry: Expiry,
    },
    /// Delete a record.
    Delete {
        #[command(flatten)]
        key: DocKey,
        #[command(flatten)]
        condition: DeleteCondition,
    },
    /// List the records of a partition, in the order of their sort keys' bytes.
    Query {
        /// The partition key.
        #[arg(value_parser = pk)]
        pk: String,
        /// What the sort keys start with.
        #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
        sk_prefix: String,
        /// From the greatest sort key to the least.
        #[arg(long)]
        descending: bool,
        /// At most so many records; 0 sets no limit.
        #[arg(
            long,
            value_name = "N",
            value_parser = limit,
            allow_negative_numbers = true,
            default_value_t = 0,
            hide_default_value = true
        )]
        limit: usize,
        /// Only what comes behind this sort key. There need not be such a record.
        #[arg(long, value_name = "SK")]
        start_after: Option<String>,
    },
    /// Add to a counter and print its value. It starts at 0; adding 0 reads it.
    Increment {
        #[command(flatten)]
        key: DocKey,
        /// How much to add.
        #[arg(value_parser = delta, default_value_t = 1, allow_negative_numbers = true)]
        delta: i64,
        #[command(flatten)]
        expiry: Expiry,
    },
}

impl DocCommand {
    pub(crate) fn access(&self) -> Access {
        match self {
            Self::Get { .. } | Self::Query { .. } => Access::Read,
            Self::Put { .. } | Self::Delete { .. } | Self::Increment { .. } => Access::Write,
        }
    }
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct PutCondition {
    /// Only if there is no record.
    #[arg(long = "if-absent")]
    pub(crate) absent: bool,
    /// Only if the record has this version; 0 is the same as --if-absent.
    #[arg(
        long = "if-version",
        value_name = "N",
        value_parser = version,
        allow_negative_numbers = true
    )]
    pub(crate) version: Option<Version>,
    /// Only if the record is still that very write.
    #[arg(long = "if-etag", value_name = "ETAG", value_parser = etag)]
    pub(crate) etag: Option<Etag>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct DeleteCondition {
    /// Only if the record has this version, 1 or more.
    #[arg(
        long = "if-version",
        value_name = "N",
        value_parser = present_version,
        allow_negative_numbers = true
    )]
    pub(crate) version: Option<Version>,
    /// Only if the record is still that very write.
    #[arg(long = "if-etag", value_name = "ETAG", value_parser = etag)]
    pub(crate) etag: Option<Etag>,
}

#[derive(Debug, Args)]
#[group(multiple = false)]
pub(crate) struct Expiry {
    /// Expire after this time, such as `30s`, `1h 30m` or `7d`.
    // With a unit behind it, `-1s` is no number to clap.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = time::duration,
        allow_hyphen_values = true
    )]
    pub(crate) ttl: Option<std::time::Duration>,
    /// Expire at this time: milliseconds since 1970 (UTC), or RFC 3339.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = time::timestamp,
        allow_negative_numbers = true
    )]
    pub(crate) expire_at: Option<Timestamp>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SchemaCommand {
    /// Print the statements that make the schema of --store, without reaching for it.
    Print,
    /// Bring the schema of --store up to date. Opening a SQLite store does that, too.
    Apply,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
