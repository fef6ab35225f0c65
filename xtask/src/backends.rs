//! The backends: the one place where one is added.

use crate::engine::{BIGTABLE, DYNALITE, DYNOXIDE, Engine, MARIADB, MARIADB_HOSTILE, POSTGRES};

/// A backend that the suite runs on, that the README lists, and that tidy holds to the layers.
#[derive(Debug)]
pub(crate) struct Backend {
    /// Its name in reports; what its harness calls itself.
    pub(crate) name: &'static str,
    /// What it is, for people.
    pub(crate) title: &'static str,
    /// The adapter crate.
    pub(crate) package: &'static str,
    /// The crate's feature for it, if it has several backends.
    pub(crate) feature: Option<&'static str>,
    /// The crate's manifest where it lies outside of the workspace.
    pub(crate) manifest: Option<&'static str>,
    /// The crate's test with the suite.
    pub(crate) test: &'static str,
    /// The servers that the suite runs on, one after the other; none where the store is in the process.
    pub(crate) engines: &'static [Engine],
    /// Where what is stored outlives a `kill -9`.
    pub(crate) durable: Durable,
    /// What a user gives to `changestore --store`.
    pub(crate) store_url: Option<&'static str>,
}

/// What can be killed and must keep what it has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// The server, as it is tested, has all in memory; or the store has.
    Nothing,
    /// The process whose store it is.
    Process,
    /// The server.
    Server,
}

/// All of them, in the order of the matrix.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend {
        name: "mem",
        title: "memory",
        package: "store-mem",
        feature: None,
        manifest: None,
        test: "conformance",
        engines: &[],
        durable: Durable::Nothing,
        store_url: Some("mem:"),
    },
    Backend {
        name: "sqlite",
        title: "SQLite",
        package: "changestore-sql",
        feature: Some("sqlite"),
        manifest: None,
        test: "conformance",
        engines: &[],
        durable: Durable::Process,
        store_url: Some("sqlite:FILE"),
    },
    Backend {
        name: "postgres",
        title: "PostgreSQL",
        package: "changestore-sql",
        feature: Some("postgres"),
        manifest: None,
        test: "conformance_postgres",
        engines: &[POSTGRES],
        durable: Durable::Server,
        store_url: Some("postgres://…"),
    },
    Backend {
        name: "mysql",
        title: "MySQL, MariaDB",
        package: "changestore-sql",
        feature: Some("mysql"),
        manifest: None,
        test: "conformance_mysql",
        engines: &[MARIADB, MARIADB_HOSTILE],
        durable: Durable::Server,
        store_url: Some("mysql://…"),
    },
    Backend {
        name: "dynamodb",
        title: "DynamoDB",
        package: "changestore-dynamo",
        feature: None,
        manifest: None,
        test: "conformance",
        engines: &[DYNOXIDE, DYNALITE],
        durable: Durable::Nothing,
        store_url: Some("dynamodb://TABLE"),
    },
    Backend {
        name: "bigtable",
        title: "Bigtable",
        package: "changestore-bigtable",
        feature: None,
        manifest: None,
        test: "conformance",
        engines: &[BIGTABLE],
        durable: Durable::Nothing,
        store_url: Some("bigtable://PROJECT/INSTANCE/TABLE"),
    },
    Backend {
        name: "redb",
        title: "redb (the example of a vendor crate)",
        package: "vendor-redb",
        feature: None,
        manifest: Some("examples/vendor-redb/Cargo.toml"),
        test: "conformance",
        engines: &[],
        durable: Durable::Process,
        store_url: None,
    },
];

impl Backend {
    /// The arguments of `cargo test` that select this backend's conformance tests.
    pub(crate) fn test_arguments(&self) -> Vec<&'static str> {
        let mut arguments = vec!["--package", self.package, "--test", self.test];
        if let Some(feature) = self.feature {
            arguments.extend(["--features", feature]);
        }
        if let Some(manifest) = self.manifest {
            // One target folder, so that what both depend on is built once.
            arguments.extend(["--manifest-path", manifest, "--target-dir", "target"]);
        }
        arguments
    }

    /// The names, for `--help`.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        BACKENDS.iter().map(|backend| backend.name)
    }

    /// The names of those that need a server.
    pub(crate) fn names_with_engines() -> impl Iterator<Item = &'static str> {
        let with_engines = BACKENDS
            .iter()
            .filter(|backend| !backend.engines.is_empty());
        with_engines.map(|backend| backend.name)
    }
}

/// A row of the matrix: a backend, on one of its engines if it has any.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) backend: &'static Backend,
    pub(crate) engine: Option<&'static Engine>,
}

impl Row {
    /// All of them.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        BACKENDS.iter().flat_map(|backend| {
            let in_process = backend.engines.is_empty().then_some(None);
            let engines = in_process
                .into_iter()
                .chain(backend.engines.iter().map(Some));
            engines.map(move |engine| Self { backend, engine })
        })
    }

    /// The rows of a backend's first engine, or of none: the row that stands for the backend where
    /// there is place for one server only.
    pub(crate) fn firsts() -> impl Iterator<Item = Self> {
        BACKENDS.iter().map(|backend| Self {
            backend,
            engine: backend.engines.first(),
        })
    }

    /// What the torture tests kill here. A server is killed where this machine's packages can start one for it.
    pub(crate) fn kills(self) -> Durable {
        match (self.backend.durable, self.engine) {
            (Durable::Server, Some(engine)) if engine.variant.is_none() && engine.is_local() => {
                Durable::Server
            }
            (Durable::Server, _) => Durable::Nothing,
            (other, _) => other,
        }
    }

    /// The arguments for the test programs that leave out what cannot be killed here.
    pub(crate) fn skipped(self) -> &'static [&'static str] {
        match self.kills() {
            Durable::Server => &[],
            _ => &["--skip", "torture_by_crashes"],
        }
    }

    /// The backend's name, with what is unlike in this engine.
    pub(crate) fn name(self) -> String {
        self.with_variant(self.backend.name)
    }

    /// The backend's title, with what is unlike in this engine.
    pub(crate) fn title(self) -> String {
        self.with_variant(self.backend.title)
    }

    fn with_variant(self, name: &str) -> String {
        match self.engine.and_then(|engine| engine.variant) {
            Some(variant) => format!("{name} ({variant})"),
            None => name.to_owned(),
        }
    }
}
