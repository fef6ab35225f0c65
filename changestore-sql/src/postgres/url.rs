//! What a URL asks for: the driver's part of it, and this library's.
//!
//! The driver passes over a parameter that it does not know, and writes its value into the log. Here an unknown
//! one is refused by its name, so that a misspelt `pasword` is not printed.

use std::str::FromStr as _;

use changestore_core::Result;
use sqlx::postgres::PgConnectOptions;

pub(super) use crate::server::refuse;
use crate::server::unknown_parameter;

/// The parameters that the driver knows; `options[…]` beside them.
const DRIVERS: [&str; 17] = [
    "sslmode",
    "ssl-mode",
    "sslrootcert",
    "ssl-root-cert",
    "ssl-ca",
    "sslcert",
    "ssl-cert",
    "sslkey",
    "ssl-key",
    "statement-cache-capacity",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "user",
    "password",
    "application_name",
];

/// This library's own.
const OURS: [&str; 4] = [
    "schema",
    "table_prefix",
    "connections",
    "prepared_statements",
];

/// A URL taken apart.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) connect: PgConnectOptions,
    /// This library's parameters and their values.
    pub(super) parameters: Vec<(&'static str, String)>,
}

impl Location {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let is_ours = ["postgres://", "postgresql://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !is_ours {
            return Err(refuse(
                "a PostgreSQL URL begins with postgres:// or postgresql://",
            ));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let mut parameters: Vec<(&'static str, String)> = Vec::new();
        let mut rest = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if let Some(ours) = OURS.into_iter().find(|ours| *ours == name) {
                if parameters.iter().any(|(there, _)| *there == ours) {
                    return Err(refuse(format!("the URL has {ours} twice")));
                }
                parameters.push((ours, value.to_owned()));
            } else if DRIVERS.contains(&name) || name == "options" || name.starts_with("options[") {
                rest.push(parameter);
            } else {
                return Err(unknown_parameter(name, query));
            }
        }
        let url = match rest.as_slice() {
            [] => base.to_owned(),
            rest => format!("{base}?{}", rest.join("&")),
        };
        // The parser's own words could repeat a part of the URL.
        let connect = PgConnectOptions::from_str(&url).map_err(|_| {
            refuse("not a URL of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")
        })?;
        Ok(Self {
            // What a driver asks of floating-point numbers by default is unknown to poolers, and there are none.
            connect: connect.extra_float_digits(None),
            parameters,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_parameters_are_taken_out_and_the_drivers_stay() {
        let location = Location::parse(
            "postgres://u:p@h:1/d?schema=queue&sslmode=disable&connections=3&application_name=x",
        )
        .unwrap();
        assert_eq!(
            location.parameters,
            [
                ("schema", "queue".to_owned()),
                ("connections", "3".to_owned())
            ]
        );
        assert_eq!(location.connect.get_host(), "h");
        assert_eq!(location.connect.get_database(), Some("d"));
        assert_eq!(location.connect.get_application_name(), Some("x"));
    }

    #[test]
    fn nothing_that_is_refused_is_repeated_but_names() {
        for url in [
            "postgres://u:secret@h/d?pasword=secret",
            "postgres://u:secret@h:port/d",
            "postgres://u:secret@h:70000/d",
            "postgres://u:secret@h/d?port=secret",
            "postgres://u:secret@[h/d",
            "postgres:secret",
            "postgres:/u:secret@h/d",
            "postgres://u:top?secret@h/d",
            "postgres://u:top?secret&more=1@h/d",
            "mysql://u:secret@h/d",
            "postgres://h/d?schema=secret&schema=secret",
        ] {
            let error = Location::parse(url).unwrap_err();
            let printed = format!("{error} {error:?}");
            assert!(!printed.contains("secret"), "{printed}");
        }
    }
}
