//! All servers that a command needs, started side by side while something is built.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::thread;

use anyhow::{Context as _, Result, anyhow, bail};

use super::{Engine, Guard, Options, Running, Source, docker};
use crate::backends::Row;

/// The servers by the names of their rows.
pub(crate) struct Fleet(HashMap<String, Ship>);

/// What became of a server, waited for when it is first asked for.
type Ship = LazyCell<Result<Running>, Box<dyn FnOnce() -> Result<Running>>>;

impl Fleet {
    /// Starts the servers of these rows; does not wait for them. What cannot be had is said by
    /// [`wait`](Self::wait) to whoever needs it.
    pub(crate) fn start(rows: impl IntoIterator<Item = Row>, options: &Options) -> Self {
        let docker_answers = options.engine != Some(Source::Url) && docker::answers();
        let ships = rows.into_iter().filter_map(|row| {
            let engine = row.engine?;
            let wait: Box<dyn FnOnce() -> Result<Running>> =
                match source(engine, options, docker_answers) {
                    Ok(source) => {
                        let starting = thread::spawn(move || start(engine, source));
                        let panicked = |_| Err(anyhow!("its start panicked"));
                        Box::new(move || starting.join().unwrap_or_else(panicked))
                    }
                    Err(error) => Box::new(|| Err(error)),
                };
            Some((row.name(), LazyCell::new(wait)))
        });
        Self(ships.collect())
    }

    /// The server of a row, when it has answered; none if the row needs none.
    pub(crate) fn wait(&self, row: Row) -> Result<Option<&Running>> {
        if row.engine.is_none() {
            return Ok(None);
        }
        let ship = self.0.get(&row.name()).context("it was not started")?;
        match &**ship {
            Ok(running) => Ok(Some(running)),
            Err(error) => bail!("{error:#}"),
        }
    }

    /// What tests find in their environment: the first server of each backend, as far as it is there.
    pub(crate) fn urls(&self) -> impl Iterator<Item = (&'static str, &str)> {
        Row::firsts().filter_map(|row| {
            let server = self.wait(row).ok().flatten()?;
            Some((row.engine?.variable, server.url.as_str()))
        })
    }
}

/// Where the engine is taken from: what was asked for, or the first that there is.
fn source(engine: &Engine, options: &Options, docker_answers: bool) -> Result<Source> {
    let given = std::env::var_os(engine.given).is_some();
    let source = match options.engine {
        Some(source) => source,
        None if given => Source::Url,
        None if docker_answers && engine.image().is_some() => Source::Docker,
        None => Source::Local,
    };
    match source {
        Source::Url if !given => bail!("{} is not set", engine.given),
        Source::Docker if !docker_answers => bail!("no Docker engine answers"),
        Source::Docker if engine.image().is_none() => match engine.image_named_by {
            Some(variable) => bail!("{variable} names no image (REPOSITORY:TAG)"),
            None => bail!("there is no image of {}", engine.name),
        },
        // One after the other and before anything starts, since packages have one lock.
        Source::Local if options.install => engines::install_missing(engine.check)?,
        _ => {}
    }
    Ok(source)
}

fn start(engine: &Engine, source: Source) -> Result<Running> {
    let (url, guard) = match source {
        Source::Url => (std::env::var(engine.given)?, None),
        Source::Docker => {
            let image = engine.image().context("no image")?;
            let (url, container) = docker::start(image)?;
            let guard = Guard::Docker {
                _container: container,
            };
            (url, Some(guard))
        }
        Source::Local => {
            let server = (engine.start)()?;
            (server.url(), Some(Guard::Local { _server: server }))
        }
    };
    Ok(Running {
        url,
        place: source,
        _guard: guard,
    })
}
