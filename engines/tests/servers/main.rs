//! Servers start, answer, survive a kill with their data, and go with whoever started them.
//!
//! Ignored unless asked for: they need the machine's packages. `cargo xtask ci` asks for them.

mod lifetime;
mod queries;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

/// The argument that makes this program a holder of a server, for tests to end it.
const HOLD: &str = "hold";

type Start = fn() -> engines::Result<engines::Server>;

/// The engines by name.
const ENGINES: [(&str, Start); 3] = [
    ("postgres", engines::postgres::start),
    ("mariadb", engines::mariadb::start),
    ("hostile_mariadb", || {
        engines::mariadb::start_with(engines::mariadb::HOSTILE)
    }),
];

/// Those that keep nothing, and that everybody may ask.
const IN_MEMORY: [(&str, Start); 3] = [
    ("Bigtable emulator", engines::bigtable::start),
    ("dynoxide", engines::dynoxide::start),
    ("dynalite", engines::dynalite::start),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    if let [_, hold, engine] = arguments.as_slice()
        && hold == HOLD
    {
        lifetime::hold(engine);
    }
    let mut trials = vec![Trial::test("pgbouncer::answers", queries::pgbouncer)];
    for (engine, start) in ENGINES {
        trials.push(Trial::test(
            format!("{engine}::goes_when_dropped"),
            move || {
                lifetime::goes_when_dropped(start()?);
                Ok(())
            },
        ));
        let mut add = |name: &str, test: fn(&engines::Server)| {
            trials.push(Trial::test(format!("{engine}::{name}"), move || {
                test(&start()?);
                Ok(())
            }));
        };
        add("keeps_its_data_when_killed", queries::keeps_its_data);
        add("says_its_version", queries::says_its_version);
    }
    for engine in ["postgres", "mariadb"] {
        let mut add = |name: &str, test: fn(&str)| {
            trials.push(Trial::test(format!("{engine}::{name}"), move || {
                test(engine);
                Ok(())
            }));
        };
        add("goes_with_its_holder", lifetime::goes_with_its_holder);
        add(
            "goes_while_it_is_prepared",
            lifetime::goes_while_it_is_prepared,
        );
    }
    for (engine, start) in IN_MEMORY {
        trials.push(Trial::test(
            format!("{}::comes_and_goes", engine.replace(' ', "_")),
            move || {
                let server = start()?;
                assert!(server.version().starts_with(engine), "{server:?}");
                server.restart()?;
                lifetime::goes_when_dropped(server);
                Ok(())
            },
        ));
    }
    let trials = trials
        .into_iter()
        .map(|trial| trial.with_ignored_flag(true))
        .collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
