//! Values that are given on the command line, in a file, or on standard input.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use changestore_core::{Limit, Metadata, limits};

use crate::failure::{Failure, Result};

/// Where to read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl From<String> for Source {
    fn from(text: String) -> Self {
        match text.as_str() {
            "-" => Self::Stdin,
            path => Self::File(path.into()),
        }
    }
}

/// For messages.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// A value that stands on the command line or somewhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Text {
    /// The value itself.
    Here(String),
    /// To be read.
    From(Source),
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        match text.strip_prefix('@') {
            Some(path) => Self::From(Source::File(path.into())),
            None if text == "-" => Self::From(Source::Stdin),
            None => Self::Here(text),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_can_stand_elsewhere() {
        let text = |text: &str| Text::from(text.to_owned());
        assert_eq!(text("{}"), Text::Here("{}".to_owned()));
        assert_eq!(text("-"), Text::From(Source::Stdin));
        assert_eq!(text("@-"), Text::From(Source::File("-".into())));
        assert_eq!(text("@a b"), Text::From(Source::File("a b".into())));
    }
}
