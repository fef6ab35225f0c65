//! Who may depend on whom.

use std::collections::{HashMap, HashSet};

use anyhow::{Context as _, Result};
use cargo_metadata::{DependencyKind, Metadata, PackageId};

use super::Findings;
use crate::backends::BACKENDS;

const CORE: &str = "changestore-core";

/// What adapters share, and so no vendor's.
const RETRY: &str = "changestore-retry";

/// What the torture tests hold every other store against.
const REFERENCE: &str = "store-mem";

/// The vendors' crates, and the runtimes: no contract and no test kit depends on the former, and the
/// core on none of the latter either.
const VENDORS: [&str; 6] = [
    "sqlx",
    "libsqlite3-sys",
    "rusqlite",
    "aws-sdk-dynamodb",
    "tonic",
    "redb",
];
const RUNTIMES: [&str; 2] = ["tokio", "smol"];

pub(super) fn check(metadata: &Metadata) -> Result<Findings> {
    let graph = Graph::new(metadata)?;
    let adapters: HashSet<&str> = BACKENDS
        .iter()
        .filter(|backend| backend.manifest.is_none())
        .map(|backend| backend.package)
        .collect();
    let mut findings = Findings::new();
    let mut refuse = |package: &str, forbidden: &dyn Fn(&str) -> bool| -> Result<()> {
        for dependency in graph.dependencies(package)? {
            if forbidden(dependency) {
                findings.push(format!("{package} depends on {dependency}"));
            }
        }
        Ok(())
    };
    for adapter in &adapters {
        refuse(adapter, &|name| {
            adapters.contains(name) || name == "storetest"
        })?;
    }
    refuse(CORE, &|name| {
        VENDORS.contains(&name) || RUNTIMES.contains(&name)
    })?;
    refuse(RETRY, &|name| {
        VENDORS.contains(&name) || adapters.contains(name) || name == "storetest"
    })?;
    refuse("storetest", &|name| {
        VENDORS.contains(&name) || adapters.contains(name) && name != REFERENCE
    })?;
    findings.extend(too_new(metadata));
    Ok(findings)
}

/// Packages that need a later Rust than the workspace promises.
fn too_new(metadata: &Metadata) -> Findings {
    let msrv = metadata
        .workspace_packages()
        .iter()
        .find(|package| package.name == CORE)
        .and_then(|package| package.rust_version.clone());
    let needs_more = metadata
        .packages
        .iter()
        .filter(|package| package.rust_version > msrv);
    needs_more
        .map(|package| {
            let version = package.rust_version.as_ref().map(ToString::to_string);
            format!(
                "{} {} needs Rust {}",
                package.name,
                package.version,
                version.unwrap_or_default()
            )
        })
        .collect()
}

/// The normal dependencies, all features on, without those of tests and builds.
struct Graph<'a> {
    edges: HashMap<&'a PackageId, Vec<&'a PackageId>>,
    names: HashMap<&'a PackageId, &'a str>,
}

impl<'a> Graph<'a> {
    fn new(metadata: &'a Metadata) -> Result<Self> {
        let resolve = metadata
            .resolve
            .as_ref()
            .context("cargo metadata resolved nothing")?;
        let edges = resolve.nodes.iter().map(|node| {
            let normal = node.deps.iter().filter(|dependency| {
                dependency
                    .dep_kinds
                    .iter()
                    .any(|kind| kind.kind == DependencyKind::Normal)
            });
            (&node.id, normal.map(|dependency| &dependency.pkg).collect())
        });
        let names = metadata
            .packages
            .iter()
            .map(|package| (&package.id, package.name.as_str()));
        Ok(Self {
            edges: edges.collect(),
            names: names.collect(),
        })
    }

    /// Everything that a package of the workspace depends on, directly or not.
    fn dependencies(&self, package: &str) -> Result<Vec<&'a str>> {
        let (root, _) = self
            .names
            .iter()
            .find(|(_, name)| **name == package)
            .with_context(|| format!("there is no package {package}"))?;
        let mut seen = HashSet::new();
        let mut open = vec![*root];
        while let Some(id) = open.pop() {
            for dependency in self.edges.get(id).into_iter().flatten() {
                if seen.insert(*dependency) {
                    open.push(dependency);
                }
            }
        }
        let mut names: Vec<_> = seen
            .into_iter()
            .filter_map(|id| self.names.get(id).copied())
            .collect();
        names.sort_unstable();
        Ok(names)
    }
}
