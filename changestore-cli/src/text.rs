//! Values that are given on the command line, in a file, or on standard input.

use std::fs::File;
use std::io::{self, Read};

use anyhow::{Context, anyhow};
use changestore_core::{Limit, Metadata, limits};

use crate::cli::{Source, Text};
use crate::failure::{Failure, Result};

/// Reads a value's bytes, of which no more than the limit are ever in memory.
pub(crate) fn read_bytes(text: &Text, limit: Limit) -> Result<Vec<u8>> {
    let source = match text {
        Text::Here(text) => return Ok(text.clone().into_bytes()),
        Text::From(source) => source,
    };
    let mut bytes = Vec::new();
    let one_more = limit.max_bytes() as u64 + 1;
    let read = match source {
        Source::Stdin => io::stdin().lock().take(one_more).read_to_end(&mut bytes),
        Source::File(path) => {
            File::open(path).and_then(|file| file.take(one_more).read_to_end(&mut bytes))
        }
    };
    read.with_context(|| format!("cannot read {source}"))
        .map_err(Failure::failed)?;
    if bytes.len() > limit.max_bytes() {
        return Err(Failure::usage(anyhow!(
            "{} is too large: more than {} bytes",
            limit.field(),
            limit.max_bytes()
        )));
    }
    Ok(bytes)
}

/// Reads metadata. JSON files usually end with a line break; it is kept like every other byte.
pub(crate) fn read_metadata(text: &Text) -> Result<Metadata> {
    let bytes = read_bytes(text, limits::METADATA)?;
    let json = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(anyhow!("metadata is invalid: not UTF-8")))?;
    Ok(Metadata::new(json)?)
}
