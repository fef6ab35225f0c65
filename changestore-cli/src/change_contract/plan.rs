//! The tables and families to be tracked, from flags or from a file.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use changestore_sql::contract::ContractPlan;

use super::args::EnableArgs;
use crate::failure::{Failure, Result};

pub(super) fn plan(args: &EnableArgs) -> Result<ContractPlan> {
    let mut plan = match &args.config {
        None => ContractPlan::new(),
        Some(path) => read(path)?,
    };
    for table in &args.track {
        plan = plan.with_table(&table.name, table.mode);
    }
    for family in &args.family {
        plan = plan.with_family(&family.name, &family.tables);
    }
    Ok(match args.retention {
        None => plan,
        Some(retention) => plan.with_retention(retention),
    })
}

fn read(path: &Path) -> Result<ContractPlan> {
    let text = fs::read_to_string(path)
        .with_context(|| format!("cannot read {}", path.display()))
        .map_err(Failure::failed)?;
    parse(&text).map_err(|reason| Failure::usage(anyhow!("{}, {reason}", path.display())))
}

/// From a file's text. The error names the line and the key.
fn parse(text: &str) -> Result<ContractPlan, String> {
    let described = |error: &toml::de::Error, key: &str| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..at].matches('\n').count() + 1;
        format!("line {line}{key}: {}", error.message())
    };
    let parsed = toml::Deserializer::parse(text).map_err(|error| described(&error, ""))?;
    serde_path_to_error::deserialize(parsed)
        .map_err(|error| described(error.inner(), &format!(", {}", error.path())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_line_and_key() {
        for (text, expected) in [
            (
                "retentoin = 5000",
                "line 1, retentoin: unknown field `retentoin`",
            ),
            (
                "retention = \"x\"",
                "line 1, retention: invalid type: string \"x\"",
            ),
            (
                "[tables]\n\na = \"row\"",
                "line 3, tables.a: unknown variant `row`",
            ),
            (
                "[families]\nf = [\n\"a\",\n3]",
                "line 4, families.f[1]: invalid type: integer",
            ),
            (
                "[families]\n\"f.g\" = \"t\"",
                "line 2, families.f.g: invalid type: string",
            ),
            ("[tables\n", "line 1: unclosed table"),
            (
                "[tables]\na = \"rows\"\na = \"rows\"",
                "line 3: duplicate key",
            ),
        ] {
            let reason = parse(text).unwrap_err();
            assert!(reason.starts_with(expected), "{text}: {reason}");
        }
    }

    /// A file of anything is a plan, or is refused with a line and a reason, as the library has it.
    #[test]
    fn files() {
        const MADE_OF: &[&str] = &[
            "retention = ",
            "5000",
            "\n",
            "[tables]\n",
            "[families]\n",
            "t",
            " = ",
            "\"rows\"",
            "[",
            "]",
            ",",
            ".",
            "\"\"\"",
            "'",
            "#",
            "é",
            "\u{1f980}",
            "\r",
            "\\u00e9",
        ];
        bolero::check!().for_each(|bytes| {
            // Of a byte's upper half what such files are made of, of its lower half the character.
            let piece = |byte: &u8| match byte.checked_sub(128) {
                None => char::from(*byte).to_string(),
                Some(number) => MADE_OF[usize::from(number) % MADE_OF.len()].to_owned(),
            };
            let text: String = bytes.iter().map(piece).collect();
            let parsed = parse(&text);
            assert_eq!(
                parsed.is_ok(),
                ContractPlan::from_toml(&text).is_ok(),
                "{text:?}"
            );
            if let Err(reason) = parsed {
                assert!(reason.starts_with("line "), "{text:?}: {reason}");
            }
        });
    }
}
