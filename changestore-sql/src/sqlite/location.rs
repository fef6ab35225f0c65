//! From a path or URL to a file, and what the URL asks for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use changestore_core::{Error, ErrorKind, Operation, Result};
use percent_encoding::percent_decode_str;

use super::options::Synchronous;

/// What a path or URL says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) path: PathBuf,
    pub(super) synchronous: Option<Synchronous>,
    pub(super) mode: Option<Mode>,
}

/// The parameter `mode`, as SQLite's own URIs have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// `ro`: for reading only.
    Read,
    /// `rw`: a file that is there.
    Write,
    /// `rwc`: a file that is created if it is missing.
    Create,
}

impl Location {
    pub(super) fn parse(path_or_url: &str) -> Result<Self> {
        let Some(rest) = path_or_url.strip_prefix("sqlite:") else {
            return Self::plain(path_or_url);
        };
        let hierarchical = rest.strip_prefix("//");
        let rest = hierarchical.unwrap_or(rest);
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        if hierarchical.is_some() && has_authority(path) {
            return Err(refuse(
                "an SQLite URL has no user, no host and no port; write sqlite:PATH (and %40 for an @ \
                 in the first part of a path)",
            ));
        }
        let mut location = Self::at(&decode(path)?)?;
        let mut names = BTreeSet::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            let name = decode(name)?;
            location.set(&name, &decode(value)?)?;
            if let Some(twice) = names.replace(name) {
                return Err(refuse(format!("the parameter {twice:?} is there twice")));
            }
        }
        Ok(location)
    }

    /// A path as it stands: `%` and `?` are ordinary characters of a file's name.
    fn plain(path: &str) -> Result<Self> {
        if let Some((scheme, _)) = path.split_once("://") {
            if !scheme.chars().all(is_of_a_scheme) {
                return Err(refuse("a URL of SQLite's begins with sqlite:"));
            }
            return Err(refuse(format!(
                "{scheme:?} is another scheme; SQLite takes a path or sqlite:PATH"
            )));
        }
        if path.starts_with("file:") {
            return Err(refuse(
                "SQLite's own file: URIs are not taken; write the path, or sqlite:PATH?mode=…",
            ));
        }
        Self::at(path)
    }

    fn at(path: &str) -> Result<Self> {
        if path.is_empty() {
            return Err(refuse("the path is empty"));
        }
        if path == ":memory:" {
            return Err(refuse(
                "a database in memory is not taken: each connection would have its own; use the \
                 crate store-mem for a store in memory",
            ));
        }
        if path.contains('\0') {
            return Err(refuse("the path contains NUL"));
        }
        Ok(Self {
            path: path.into(),
            synchronous: None,
            mode: None,
        })
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        match name {
            "synchronous" => self.synchronous = Some(value.parse()?),
            "mode" => {
                self.mode = Some(match value {
                    "ro" => Mode::Read,
                    "rw" => Mode::Write,
                    "rwc" => Mode::Create,
                    _ => return Err(refuse(format!("mode is ro, rw or rwc, not {value:?}"))),
                });
            }
            _ => {
                return Err(refuse(format!(
                    "unknown parameter {name:?}; there are synchronous and mode"
                )));
            }
        }
        Ok(())
    }
}

/// Whether a path begins like a user or a host, as no relative path of a database does: it may hold a
/// password, which is never printed.
fn has_authority(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let is_drive = first.len() == 2 && first.ends_with(':');
    first.contains('@') || (first.contains(':') && first != ":memory:" && !is_drive)
}

fn is_of_a_scheme(character: char) -> bool {
    character.is_ascii_alphanumeric() || "+-.".contains(character)
}

fn decode(text: &str) -> Result<String> {
    let mut escapes = text.split('%').skip(1);
    let is_hexadecimal = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    if !escapes.all(|rest| rest.as_bytes().get(..2).is_some_and(is_hexadecimal)) {
        return Err(refuse(
            "in a URL two hexadecimal digits follow each %; write %25 for a percent sign itself",
        ));
    }
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) => Ok(decoded.into_owned()),
        Err(error) => Err(refuse("the URL is not UTF-8 when decoded").with_source(error)),
    }
}

pub(super) fn refuse(message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Configuration)
        .with_backend(super::codes::SQLITE.backend)
        .with_operation(Operation::Open)
        .with_message(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(path_or_url: &str) -> String {
        let location = Location::parse(path_or_url).unwrap();
        location.path.to_str().unwrap().to_owned()
    }

    fn refused(path_or_url: &str) -> String {
        let error = Location::parse(path_or_url).unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Configuration);
        error.to_string()
    }

    #[test]
    fn paths_are_taken_as_they_stand_and_urls_are_decoded() {
        assert_eq!(path("changestore.db"), "changestore.db");
        assert_eq!(path("/abs/x.db"), "/abs/x.db");
        assert_eq!(path("50%25?.db"), "50%25?.db");
        assert_eq!(path("sqlite:changestore.db"), "changestore.db");
        assert_eq!(path("sqlite://changestore.db"), "changestore.db");
        assert_eq!(path("sqlite:///abs/x.db"), "/abs/x.db");
        assert_eq!(path("sqlite:/abs/a%20b%3F.db?mode=ro"), "/abs/a b?.db");
    }

    #[test]
    fn parameters_are_read_and_unknown_ones_named() {
        let location = Location::parse("sqlite:x.db?synchronous=normal&mode=rw").unwrap();
        assert_eq!(location.synchronous, Some(Synchronous::Normal));
        assert_eq!(location.mode, Some(Mode::Write));
        assert!(refused("sqlite:x.db?jornal=wal").contains("\"jornal\""));
        assert!(refused("sqlite:x.db?mode=memory").contains("\"memory\""));
        assert!(refused("sqlite:x.db?synchronous=off").contains("\"off\""));
    }

    #[test]
    fn what_is_no_file_is_refused_in_words() {
        assert!(refused(":memory:").contains("store-mem"));
        assert!(refused("sqlite::memory:").contains("store-mem"));
        assert!(refused("postgres://host/db").contains("\"postgres\""));
        assert!(refused("file:x.db?mode=ro").contains("file:"));
        assert!(refused("").contains("empty"));
        assert!(refused("sqlite:").contains("empty"));
        assert!(refused("sqlite:%ff").contains("UTF-8"));
        for half in ["sqlite:bad%zz.db", "sqlite:bad%", "sqlite:x.db?mode=r%6"] {
            assert!(refused(half).contains("hexadecimal"), "{half}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("sqlite:x.db?mode=ro&mode=rw").contains("\"mode\" is there twice"));
        assert!(refused("sqlite:x.db?mode=ro&m%6fde=ro").contains("twice"));
    }

    #[test]
    fn a_user_or_a_host_is_refused_and_not_printed() {
        for url in [
            "sqlite://user:hunter2@host/x.db",
            "sqlite://hunter2@host/x.db",
            "sqlite://user:hunter2/3@host/x.db",
            "sqlite://host:5432/x.db?password=hunter2",
        ] {
            let message = refused(url);
            assert!(message.contains("no user"), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
        assert!(!refused("user:hunter2@sqlite://x.db").contains("hunter2"));
        assert_eq!(path("sqlite://a%40b/x.db"), "a@b/x.db");
        assert_eq!(path("sqlite:///a@b/c:d.db"), "/a@b/c:d.db");
        assert_eq!(path("sqlite://C:/x.db"), "C:/x.db");
    }
}
