//! The source files themselves.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Findings;

/// Longer files hold more than one idea.
const MOST_LINES: usize = 400;

/// The files that git knows, or would add.
pub(super) fn tracked_files() -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("git ls-files")?;
    ensure!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let files = String::from_utf8(output.stdout)?;
    let exists = |file: &&str| fs::exists(file).unwrap_or(false);
    Ok(files.lines().filter(exists).map(str::to_owned).collect())
}

/// Those of the files whose name ends so.
pub(super) fn with_extension<'a>(
    files: &'a [String],
    extension: &'a str,
) -> impl Iterator<Item = &'a String> {
    files.iter().filter(move |file| {
        Path::new(file)
            .extension()
            .is_some_and(|is| is == extension)
    })
}

pub(super) fn check(files: &[String]) -> Result<Findings> {
    let mut findings = Findings::new();
    for file in with_extension(files, "rs") {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let has_docs = text.starts_with("//!") || text.starts_with("#![doc = include_str!(");
        if !has_docs {
            findings.push(format!("{file}: does not start with module docs"));
        }
        let lines = text.lines().count();
        if lines > MOST_LINES {
            findings.push(format!("{file}: {lines} lines, at most {MOST_LINES}"));
        }
    }
    for manifest in files
        .iter()
        .filter_map(|file| file.strip_suffix("/Cargo.toml"))
    {
        let readme = format!("{manifest}/README.md");
        if manifest != "xtask" && !files.contains(&readme) {
            findings.push(format!("{readme}: is missing"));
        }
    }
    Ok(findings)
}
