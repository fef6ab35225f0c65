//! The images, pinned; of DynamoDB's API whoever runs it names one.

use std::fmt::Write as _;

/// A server's image, and how one talks to it.
#[derive(Debug)]
pub(crate) struct Image {
    name: &'static str,
    pub(crate) engine: &'static str,
    pub(crate) source: Source,
    pub(crate) port: u16,
    /// What its server is started with; none leaves it to the image.
    pub(crate) arguments: &'static [&'static str],
    /// Settings of the server, beside the arguments.
    settings: &'static [(&'static str, &'static str)],
    pub(crate) protocol: Protocol,
}

/// Where an image comes from.
#[derive(Debug)]
pub(crate) enum Source {
    Pinned {
        repository: &'static str,
        tag: &'static str,
    },
    /// What the variable says, as `REPOSITORY:TAG`: the vendor's image is not free software, and so is somebody's
    /// own choice.
    Variable(&'static str),
}

/// What the server speaks, and how it is known to be ready.
#[derive(Debug)]
pub(crate) enum Protocol {
    Sql(Sql),
    /// JSON over HTTP; no password.
    Http,
    /// gRPC; no password, and the URL is an address.
    Grpc,
}

/// A database with a client in its image.
#[derive(Debug)]
pub(crate) struct Sql {
    scheme: &'static str,
    user: &'static str,
    database: &'static str,
    /// Set in the container, it is the password of `user`.
    pub(crate) password_variable: &'static str,
    /// Asks for the version, over TCP.
    pub(crate) query: &'static [&'static str],
    /// Where `query` takes the password from.
    pub(crate) client_password_variable: &'static str,
}

/// Cases run side by side, on as many threads as the machine has.
const POSTGRES_ARGUMENTS: &[&str] = &["-cmax_connections=400"];
const MYSQL_ARGUMENTS: &[&str] = &["--max_connections=400"];

const IMAGES: &[Image] = &[
    Image {
        name: "postgres",
        engine: "PostgreSQL",
        source: Source::Pinned {
            repository: "postgres",
            // Its default locale is en_US.UTF-8, as for the local server.
            tag: "15.14-bookworm",
        },
        port: 5432,
        arguments: POSTGRES_ARGUMENTS,
        settings: &[],
        protocol: Protocol::Sql(Sql {
            scheme: "postgres",
            user: "postgres",
            database: "postgres",
            password_variable: "POSTGRES_PASSWORD",
            query: &[
                "psql",
                "--no-align",
                "--tuples-only",
                "--host=127.0.0.1",
                "--username=postgres",
                "--command=SELECT current_setting('server_version')",
            ],
            client_password_variable: "PGPASSWORD",
        }),
    },
    Image {
        name: "mysql",
        engine: "MySQL",
        source: Source::Pinned {
            repository: "mysql",
            tag: "8.4.6",
        },
        settings: &[
            // The default needs TLS, which the adapter's tests are built without.
            ("mysql_native_password", "ON"),
            ("authentication_policy", "mysql_native_password"),
        ],
        protocol: Protocol::Sql(Sql {
            password_variable: "MYSQL_ROOT_PASSWORD",
            query: &[
                "mysql",
                "--protocol=tcp",
                "--host=127.0.0.1",
                "--user=root",
                "--batch",
                "--skip-column-names",
                "--execute=SELECT VERSION()",
            ],
            ..MARIADB_CLIENT
        }),
        ..MARIADB
    },
    Image {
        name: "mariadb-hostile",
        settings: engines::mariadb::HOSTILE,
        ..MARIADB
    },
    Image {
        name: "dynamodb",
        engine: "DynamoDB",
        source: Source::Variable("CHANGESTORE_DYNAMO_IMAGE"),
        port: 8000,
        arguments: &[],
        settings: &[],
        protocol: Protocol::Http,
    },
    Image {
        name: "bigtable",
        engine: "Bigtable emulator",
        source: Source::Pinned {
            repository: "gcr.io/google.com/cloudsdktool/google-cloud-cli",
            tag: "528.0.0-emulators",
        },
        port: 8086,
        arguments: &[
            "gcloud",
            "beta",
            "emulators",
            "bigtable",
            "start",
            "--host-port=0.0.0.0:8086",
        ],
        settings: &[],
        protocol: Protocol::Grpc,
    },
];

const MARIADB: Image = Image {
    name: "mariadb",
    engine: "MariaDB",
    source: Source::Pinned {
        repository: "mariadb",
        tag: "10.11.14",
    },
    port: 3306,
    arguments: MYSQL_ARGUMENTS,
    settings: &[],
    protocol: Protocol::Sql(MARIADB_CLIENT),
};

const MARIADB_CLIENT: Sql = Sql {
    scheme: "mysql",
    user: "root",
    database: "mysql",
    password_variable: "MARIADB_ROOT_PASSWORD",
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
    pub(crate) fn command(&self) -> Vec<String> {
        let setting = |(name, value): &(&str, &str)| format!("--{name}={value}");
        self.arguments
            .iter()
            .map(ToString::to_string)
            .chain(self.settings.iter().map(setting))
            .collect()
    }

    pub(crate) fn url(&self, password: &str, host: &str, port: u16) -> String {
        match &self.protocol {
            Protocol::Sql(sql) => {
                let Sql {
                    scheme,
                    user,
                    database,
                    ..
                } = sql;
                format!("{scheme}://{user}:{password}@{host}:{port}/{database}")
            }
            Protocol::Http => format!("http://{host}:{port}"),
            Protocol::Grpc => format!("{host}:{port}"),
        }
    }
}

impl Source {
    /// Repository and tag.
    pub(crate) fn parts(&self) -> Result<(String, String), String> {
        match self {
            Self::Pinned { repository, tag } => Ok((repository.to_string(), tag.to_string())),
            Self::Variable(variable) => {
                let named =
                    std::env::var(variable).map_err(|_| format!("{variable} is not set"))?;
                match named.rsplit_once(':') {
                    // A registry's port is followed by a slash.
                    Some((repository, tag)) if !tag.contains('/') => {
                        Ok((repository.to_owned(), tag.to_owned()))
                    }
                    _ => Err(format!(
                        "{variable} must be REPOSITORY:TAG, and is {named:?}"
                    )),
                }
            }
        }
    }
}
