//! The backends that this build can reach, and what `--store` says.
//!
//! A backend is one module here and one line in [`BACKENDS`].

#[cfg(feature = "bigtable")]
mod bigtable;
#[cfg(feature = "dynamodb")]
mod dynamodb;
mod mem;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use changestore_core::{ChangeStore, DocumentStore};

use crate::failure::Result;

/// All that this build has, in the order in which help and errors name them.
static BACKENDS: &[&dyn Backend] = &[
    #[cfg(feature = "sqlite")]
    &sqlite::Sqlite,
    #[cfg(feature = "postgres")]
    &postgres::Postgres,
    #[cfg(feature = "mysql")]
    &mysql::MySql,
    #[cfg(feature = "dynamodb")]
    &dynamodb::Dynamo,
    #[cfg(feature = "bigtable")]
    &bigtable::Bigtable,
    &mem::Mem,
];

/// Whose a path is, such as `claims.db`.
const PATH_SCHEME: &str = "sqlite";

/// Where `--store` is not given.
pub(crate) const DEFAULT_URL: &str = if cfg!(feature = "sqlite") {
    "sqlite:changestore.db"
} else {
    "mem:"
};

/// What this program asks of a backend.
#[async_trait]
trait Backend: Sync {
    /// What its URLs start with, without the colon; what follows is its own. The first is its name.
    fn schemes(&self) -> &'static [&'static str];

    /// Whether its URLs may hold a user and a password. If so, no error of its repeats them.
    fn takes_a_user(&self) -> bool {
        false
    }

    /// Checks a URL without reaching for anything; the error says what is wrong with it.
    fn check(&self, url: &str) -> Result<(), String>;

    /// Opens the store. Where it is the user's own file, writing creates it and its schema.
    async fn open(&self, url: &str, access: Access) -> Result<Opened>;

    /// Brings the schema up to date.
    async fn apply_schema(&self, url: &str) -> Result<()>;

    /// The steps that make its schema, oldest first; empty if it needs none.
    fn schema(&self) -> Vec<SchemaStep>;
}

/// What a command does with the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// It only looks: nothing is created, not even a schema.
    Read,
    /// It may write.
    Write,
}

/// One store behind both contracts.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    pub(crate) changes: Arc<dyn ChangeStore>,
    pub(crate) documents: Arc<dyn DocumentStore>,
}

/// A store to be [closed](Self::close) when done with.
pub(crate) struct Opened {
    pub(crate) stores: Stores,
    close: Option<Box<dyn Close>>,
}

#[async_trait]
trait Close: Send {
    async fn close(self: Box<Self>);
}

impl Opened {
    fn new<S: ChangeStore + DocumentStore>(store: S, close: Option<Box<dyn Close>>) -> Self {
        let store = Arc::new(store);
        Self {
            stores: Stores {
                changes: store.clone(),
                documents: store,
            },
            close,
        }
    }

    /// Waits until the backend has let go of everything.
    pub(crate) async fn close(self) {
        if let Some(close) = self.close {
            close.close().await;
        }
    }
}

/// One step of a schema.
pub(crate) struct SchemaStep {
    pub(crate) version: i64,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// A checked value of `--store`.
#[derive(Clone)]
pub(crate) struct StoreUrl {
    url: String,
    backend: &'static dyn Backend,
}

impl StoreUrl {
    pub(crate) async fn open(&self, access: Access) -> Result<Opened> {
        self.backend.open(&self.url, access).await
    }

    pub(crate) async fn apply_schema(&self) -> Result<()> {
        self.backend.apply_schema(&self.url).await
    }

    /// The name of the backend, whatever the URL calls it.
    pub(crate) fn scheme(&self) -> &'static str {
        self.backend.schemes()[0]
    }

    pub(crate) fn schema(&self) -> Vec<SchemaStep> {
        self.backend.schema()
    }
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("must not be empty".to_owned());
        }
        if let Some(url) = lacks_its_colon(text) {
            return Err(format!(
                "`{text}` alone would be a file of that name; say `{url}`, or `./{text}` for the file"
            ));
        }
        let scheme = scheme(text);
        if scheme.is_none() && is_parameters(text) {
            // Not repeated: there is a password in it.
            return Err(
                "parameters with a password are no store; say postgres://USER@HOST/DATABASE \
                 or mysql://USER@HOST/DATABASE"
                    .to_owned(),
            );
        }
        let scheme = scheme.unwrap_or(PATH_SCHEME);
        let backend = BACKENDS
            .iter()
            .find(|backend| backend.schemes().contains(&scheme));
        let Some(&backend) = backend else {
            let known: Vec<_> = BACKENDS.iter().map(|known| known.schemes()[0]).collect();
            let known = known.join(":, ");
            let not_by_default = match scheme {
                "dynamodb" => "; with the feature `dynamodb` it has",
                "bigtable" => "; with the feature `bigtable` it has",
                _ => "",
            };
            return Err(format!(
                "this build has no store `{scheme}:`{not_by_default}; it has {known}:"
            ));
        };
        // From here on an error may repeat the path, which is not to hold a password.
        if names_a_user(text) && !backend.takes_a_user() {
            return Err(format!(
                "a store `{}:` takes no user or password; \
                 a path with `@` in it follows the colon without `//`",
                backend.schemes()[0]
            ));
        }
        backend.check(text)?;
        let url = text.to_owned();
        Ok(Self { url, backend })
    }
}

/// The scheme of a URL; none if the text is a path. One letter is a drive of Windows.
fn scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once(':')?;
    let legal = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(legal);
    is_scheme.then_some(scheme)
}

/// Whether the text is like `scheme://user:password@host`, whatever the scheme and the characters of
/// the password. `scheme:///path` has no host, hence no user.
pub(crate) fn names_a_user(text: &str) -> bool {
    let (_, behind) = text.split_once("//").unwrap_or_default();
    text.contains(':') && !behind.starts_with('/') && behind.contains('@')
}

/// What is meant by the name of a store that is given like a path.
fn lacks_its_colon(text: &str) -> Option<&'static str> {
    match text.to_ascii_lowercase().as_str() {
        "mem" | "memory" | ":memory:" => Some("mem:"),
        "sqlite" => Some("sqlite:PATH"),
        "postgres" | "postgresql" => Some("postgres://USER@HOST/DATABASE"),
        "mysql" | "mariadb" => Some("mysql://USER@HOST/DATABASE"),
        "dynamodb" | "dynamo" => Some("dynamodb://TABLE"),
        "bigtable" => Some("bigtable://PROJECT/INSTANCE/TABLE"),
        _ => None,
    }
}

/// Whether the text is what other programs connect with, `host=db password=secret`, and no path.
fn is_parameters(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["password", "passwd", "pwd"].iter().any(|name| {
        text.split_whitespace()
            .flat_map(|part| part.split(';'))
            .any(|part| {
                part.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('='))
            })
    })
}

/// Names the backend and nothing that may be secret.
impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreUrl({}:…)", self.scheme())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_no_scheme() {
        assert_eq!(scheme("sqlite:x.db"), Some("sqlite"));
        assert_eq!(scheme("mem:"), Some("mem"));
        assert_eq!(scheme("postgres://u:p@h/d"), Some("postgres"));
        for path in ["x.db", "./a:b", "/a:b", "C:\\x.db", ":memory:", "1a:b"] {
            assert_eq!(scheme(path), None, "{path}");
        }
    }

    #[test]
    fn an_unknown_store_is_refused_without_repeating_its_secrets() {
        let error = "oracle://scott:tiger@h".parse::<StoreUrl>().unwrap_err();
        assert!(
            error.contains("`oracle:`") && error.contains("mem:"),
            "{error}"
        );
        assert!(!error.contains("tiger"), "{error}");
        let url: StoreUrl = "mem:".parse().unwrap();
        assert_eq!(format!("{url:?}"), "StoreUrl(mem:…)");
    }

    #[test]
    fn a_user_is_told_from_a_path() {
        for url in [
            "sqlite://user:hunter2@host/x.db",
            "sqlite://u:pa/ss@host",
            "mem://u@h",
            "1://u:p@h",
            "//u:p@h/x.db",
        ] {
            assert!(names_a_user(url), "{url}");
        }
        for path in [
            "sqlite:///a@b/x.db",
            "sqlite:a@b.db",
            "/a//b@c.db",
            "x.db",
            "a@b.db",
        ] {
            assert!(!names_a_user(path), "{path}");
        }
    }

    #[cfg(not(feature = "sqlite"))]
    #[test]
    fn a_backend_that_was_not_built_in_is_said_to_be_missing() {
        assert!(
            "x.db"
                .parse::<StoreUrl>()
                .unwrap_err()
                .contains("`sqlite:`")
        );
    }
}
