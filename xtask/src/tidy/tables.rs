//! The tables of backends in the docs, generated from the list of backends.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Context as _, Result, bail};

use super::Findings;
use super::sources::with_extension;
use crate::backends::BACKENDS;

const START: &str = "<!-- backends: written by `cargo xtask tidy --fix` -->\n";
const END: &str = "<!-- end of backends -->\n";

/// Compares the table in each file that has one, or writes it.
pub(super) fn check(files: &[String], fix: bool) -> Result<Findings> {
    let mut findings = Findings::new();
    let mut tables = 0;
    for file in with_extension(files, "md") {
        let text = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
        let Some(wanted) = replaced(&text).with_context(|| file.clone())? else {
            continue;
        };
        tables += 1;
        if text == wanted {
            continue;
        }
        if fix {
            fs::write(file, wanted).with_context(|| format!("cannot write {file}"))?;
        } else {
            findings.push(format!(
                "{file}: the table of backends is out of date; run `cargo xtask tidy --fix`"
            ));
        }
    }
    if tables == 0 {
        bail!("no file has a table of backends; its place is marked by {START}");
    }
    Ok(findings)
}

/// The text with its table written anew; none if it has no table.
fn replaced(text: &str) -> Result<Option<String>> {
    let Some((before, rest)) = text.split_once(START) else {
        return Ok(None);
    };
    let (_, after) = rest
        .split_once(END)
        .context("the table of backends has no end")?;
    Ok(Some(format!("{before}{START}{}{END}{after}", table())))
}

fn table() -> String {
    let mut text =
        "\n| backend | crate | `--store` | `ChangeStore` | `DocumentStore` |\n".to_owned();
    text.push_str("|---|---|---|---|---|\n");
    let changes = storetest::change::CASES.len();
    let documents = storetest::document::CASES.len();
    for backend in BACKENDS {
        let package = match (backend.manifest, backend.feature) {
            (Some(manifest), _) => {
                let folder = manifest.trim_end_matches("/Cargo.toml");
                format!("[`{folder}`]({folder})")
            }
            (None, Some(feature)) => {
                format!("[`{0}`]({0}), feature `{feature}`", backend.package)
            }
            (None, None) => format!("[`{0}`]({0})", backend.package),
        };
        let url = backend
            .store_url
            .map_or_else(|| "–".to_owned(), |url| format!("`{url}`"));
        let _ = writeln!(
            text,
            "| {} | {package} | {url} | {changes} cases | {documents} cases |",
            backend.title
        );
    }
    text.push('\n');
    text
}
