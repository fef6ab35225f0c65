//! The servers that backends are tested on: given by a URL, in Docker, or of this machine's packages.

mod docker;
mod fleet;
mod list;

use engines::Server;

pub(crate) use docker::MANIFEST as DOCKER_MANIFEST;
pub(crate) use fleet::Fleet;
pub(crate) use list::{BIGTABLE, DYNALITE, DYNOXIDE, MARIADB, MARIADB_HOSTILE, POSTGRES};

/// A server as some backend needs it.
#[derive(Debug)]
pub(crate) struct Engine {
    /// What it is, for people.
    pub(crate) name: &'static str,
    /// What is unlike in it, where a backend has several.
    pub(crate) variant: Option<&'static str>,
    /// The variable in which the tests look for its URL.
    pub(crate) variable: &'static str,
    /// The variable in which its URL may be given, if somebody has such a server already.
    pub(crate) given: &'static str,
    /// The image's name in `engines-docker`, if there is one.
    image: Option<&'static str>,
    /// The variable in which somebody names the image; while it is not set there is none.
    image_named_by: Option<&'static str>,
    /// Whether this machine has what a server needs.
    check: fn() -> engines::Result<()>,
    /// Starts a server of this machine's packages.
    start: fn() -> engines::Result<Server>,
}

/// Where a server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Source {
    /// From a URL in the environment, such as `CHANGESTORE_POSTGRES_URL`.
    Url,
    /// Docker, with pinned images.
    Docker,
    /// The machine's own packages, in a temporary folder and on a free port.
    Local,
}

/// How engines are had.
#[derive(Debug, Default, Clone, clap::Args)]
pub(crate) struct Options {
    /// Take every server from there. Otherwise the first that there is: a URL, Docker, local packages.
    #[arg(long, value_name = "SOURCE")]
    engine: Option<Source>,

    /// Install what is missing for local servers, as root or with sudo (Debian packages).
    #[arg(long)]
    pub(crate) install: bool,
}

/// A server that can be used for as long as this is there.
pub(crate) struct Running {
    pub(crate) url: String,
    pub(crate) place: Source,
    /// Stops the server when dropped.
    _guard: Option<Guard>,
}

enum Guard {
    Local { _server: Server },
    Docker { _container: docker::Container },
}

impl Engine {
    /// Whether this machine has what a server needs.
    pub(crate) fn is_local(&self) -> bool {
        (self.check)().is_ok()
    }

    /// The image's name in `engines-docker`, if there is one to be used.
    fn image(&self) -> Option<&'static str> {
        let is_named = |variable| std::env::var_os(variable).is_some();
        self.image
            .filter(|_| self.image_named_by.is_none_or(is_named))
    }
}

impl Source {
    /// As it stands behind the engine's name in the matrix.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Url => "given by URL",
            Self::Docker => "in Docker",
            Self::Local => "local",
        }
    }
}
