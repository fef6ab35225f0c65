//! The images, pinned.

use std::fmt::Write as _;

/// A server's image, and how one talks to it.
#[derive(Debug)]
pub(crate) struct Image {
    name: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) repository: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) port: u16,
    scheme: &'static str,
    user: &'static str,
    database: &'static str,
    /// Set in the container, it is the password of `user`.
    pub(crate) password_variable: &'static str,
    /// Settings of the server, beside those that all have.
    settings: &'static [(&'static str, &'static str)],
    /// Asks for the version, over TCP.
    pub(crate) query: &'static [&'static str],
    /// Where `query` takes the password from.
    pub(crate) client_password_variable: &'static str,
}

const IMAGES: &[Image] = &[
    Image {
        name: "postgres",
        engine: "PostgreSQL",
        repository: "postgres",
        // Its default locale is en_US.UTF-8, as for the local server.
        tag: "15.14-bookworm",
        port: 5432,
        scheme: "postgres",
        user: "postgres",
        database: "postgres",
        password_variable: "POSTGRES_PASSWORD",
        settings: &[],
        query: &[
            "psql",
            "--no-align",
            "--tuples-only",
            "--host=127.0.0.1",
            "--username=postgres",
            "--command=SELECT current_setting('server_version')",
        ],
        client_password_variable: "PGPASSWORD",
    },
    Image {
        name: "mysql",
        engine: "MySQL",
        repository: "mysql",
        tag: "8.4.6",
        password_variable: "MYSQL_ROOT_PASSWORD",
        settings: &[
            // The default needs TLS, which the adapter's tests are built without.
            ("mysql_native_password", "ON"),
            ("authentication_policy", "mysql_native_password"),
        ],
        query: &[
            "mysql",
            "--protocol=tcp",
            "--host=127.0.0.1",
            "--user=root",
            "--batch",
            "--skip-column-names",
            "--execute=SELECT VERSION()",
        ],
        ..MARIADB
    },
    Image {
        name: "mariadb-hostile",
        settings: engines::mariadb::HOSTILE,
        ..MARIADB
    },
];

const MARIADB: Image = Image {
    name: "mariadb",
    engine: "MariaDB",
    repository: "mariadb",
    tag: "10.11.14",
    port: 3306,
    scheme: "mysql",
    user: "root",
    database: "mysql",
    password_variable: "MARIADB_ROOT_PASSWORD",
    settings: &[],
    query: &[
        "mariadb",
        "--protocol=tcp",
        "--host=127.0.0.1",
        "--user=root",
        "--batch",
        "--skip-column-names",
        "--execute=SELECT VERSION()",
    ],
    client_password_variable: "MYSQL_PWD",
};

pub(crate) fn named(name: &str) -> Option<&'static Image> {
    IMAGES.iter().find(|image| image.name == name)
}

pub(crate) fn names() -> String {
    let mut names = String::new();
    for image in IMAGES {
        let comma = if names.is_empty() { "" } else { ", " };
        let _ = write!(names, "{comma}{}", image.name);
    }
    names
}

impl Image {
    /// What the image's server is started with.
    pub(crate) fn arguments(&self) -> Vec<String> {
        // Cases run side by side, on as many threads as the machine has.
        [("max_connections", "400")]
            .iter()
            .chain(self.settings)
            .map(|(name, value)| match self.scheme {
                "postgres" => format!("-c{name}={value}"),
                _ => format!("--{name}={value}"),
            })
            .collect()
    }

    pub(crate) fn url(&self, password: &str, host: &str, port: u16) -> String {
        let Self {
            scheme,
            user,
            database,
            ..
        } = self;
        format!("{scheme}://{user}:{password}@{host}:{port}/{database}")
    }
}
