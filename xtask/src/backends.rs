//! The backends: the one place where one is added.

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
    /// What a user gives to `changestore --store`.
    pub(crate) store_url: Option<&'static str>,
}

/// All of them, in the order of the matrix.
pub(crate) const BACKENDS: &[Backend] = &[
    Backend {
        name: "mem",
        title: "memory",
        package: "store-mem",
        feature: None,
        manifest: None,
        store_url: Some("mem:"),
    },
    Backend {
        name: "sqlite",
        title: "SQLite",
        package: "changestore-sql",
        feature: Some("sqlite"),
        manifest: None,
        store_url: Some("sqlite:FILE"),
    },
    Backend {
        name: "redb",
        title: "redb (the example of a vendor crate)",
        package: "vendor-redb",
        feature: None,
        manifest: Some("examples/vendor-redb/Cargo.toml"),
        store_url: None,
    },
];

impl Backend {
    /// The arguments of `cargo test` that select this backend's conformance tests.
    pub(crate) fn test_arguments(&self) -> Vec<&'static str> {
        let mut arguments = vec!["--package", self.package, "--test", "conformance"];
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
}
