//! What a URL asks for: the driver's part of it, and this library's.
//!
//! The driver passes over what it does not know. Here an unknown parameter is refused by its name, and nothing else
//! of a URL is ever repeated.

use changestore_core::Result;
use sqlx::mysql::MySqlConnectOptions;

pub(super) use crate::server::refuse;
use crate::server::unknown_parameter;

/// The driver's parameters. What else it knows is set for each connection, whatever a URL says.
const DRIVERS: [&str; 6] = [
    "ssl-mode",
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "socket",
    "statement-cache-capacity",
];

/// This library's own.
const OURS: [&str; 2] = ["table_prefix", "connections"];

/// A URL taken apart.
#[derive(Debug)]
pub(super) struct Location {
    pub(super) connect: MySqlConnectOptions,
    /// This library's parameters and their values.
    pub(super) parameters: Vec<(&'static str, String)>,
}

impl Location {
    pub(super) fn parse(url: &str) -> Result<Self> {
        let rest = ["mysql://", "mariadb://"]
            .iter()
            .find_map(|scheme| url.strip_prefix(scheme));
        let Some(rest) = rest else {
            return Err(refuse("the URL begins with mysql:// or mariadb://"));
        };
        let (base, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parameters: Vec<(&'static str, String)> = Vec::new();
        let mut drivers = Vec::new();
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if let Some(ours) = OURS.into_iter().find(|ours| *ours == name) {
                if parameters.iter().any(|(there, _)| *there == ours) {
                    return Err(refuse(format!("the URL has {ours} twice")));
                }
                parameters.push((ours, value.to_owned()));
            } else if DRIVERS.contains(&name) {
                drivers.push(parameter);
            } else {
                return Err(unknown_parameter(name, query));
            }
        }
        // The parser's own words could repeat a part of the URL.
        let connect: MySqlConnectOptions = format!("mysql://{base}?{}", drivers.join("&"))
            .parse()
            .map_err(|_| {
                refuse("not a URL of the form mysql://USER:PASSWORD@HOST:PORT/DATABASE")
            })?;
        if connect.get_database().is_none() {
            return Err(refuse("the URL names no database"));
        }
        Ok(Self {
            connect,
            parameters,
        })
    }
}

#[cfg(test)]
mod tests {
    use changestore_core::ErrorKind;

    use super::*;

    #[test]
    fn our_parameters_are_taken_out_and_the_drivers_stay() {
        let location = Location::parse(
            "mariadb://u:p@h:1/d?table_prefix=q_&socket=%2Ftmp%2Fs&connections=3&ssl-mode=DISABLED",
        )
        .unwrap();
        let ours = [
            ("table_prefix", "q_".to_owned()),
            ("connections", "3".to_owned()),
        ];
        assert_eq!(location.parameters, ours);
        let connect = location.connect;
        assert_eq!((connect.get_host(), connect.get_port()), ("h", 1));
        assert_eq!(connect.get_database(), Some("d"));
        assert_eq!(connect.get_socket().unwrap().to_str(), Some("/tmp/s"));
        assert!(matches!(
            connect.get_ssl_mode(),
            sqlx::mysql::MySqlSslMode::Disabled
        ));
    }

    #[test]
    fn nothing_that_is_refused_is_repeated_but_names() {
        for (url, words) in [
            ("postgres://u:s3cret@h/d", "begins with"),
            ("u:s3cret@h/d", "begins with"),
            ("mysql://u:s3cret@h", "no database"),
            ("mysql://u:s3cret@h/", "no database"),
            ("mysql://u:s3cret@h/d?charset=s3cret", "\"charset\""),
            ("mysql://u:s3cret@h/d?pasword=s3cret", "\"pasword\""),
            (
                "mysql://u:s3cret@h/d?connections=s3cret&connections=1",
                "twice",
            ),
            ("mysql://u:s3cret@h:s3cret/d", "not a URL"),
            ("mysql://u:top?s3cret@h/d", "percent-encode"),
            ("mysql://u:top?s3cret&more=1@h/d", "percent-encode"),
            ("mysql://u:s3cret@h/d?ssl-mode=s3cret", "not a URL"),
        ] {
            let error = Location::parse(url).unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Configuration);
            let printed = format!("{error} {error:?}");
            assert!(printed.contains(words), "{printed}");
            assert!(!printed.contains("s3cret"), "{printed}");
        }
    }
}
