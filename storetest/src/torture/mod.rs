//! What many clients see while things break: random programs, concurrent histories, faults on the wire.
//!
//! The cases of the suite say what one client sees, step by step. These tests draw what to do from a seed and hold
//! what came back against the contract:
//!
//! - [`model`]: one client runs random programs on the store and on the store in memory, which must agree; also where
//!   calls are dropped, or fail.
//! - [`history`]: 32 clients work on a few keys at once, and what each of them saw must be explained by some order of
//!   the calls, key by key (linearizability).
//! - [`faults`]: every operation under every fault of the network between the store and its server, and programs and
//!   concurrent histories under random ones.
//! - [`crashes`]: concurrent histories whose server is killed in the middle, and comes back.
//! - [`kills`]: a process that is killed while it writes to a store of its own.
//!
//! Each runs for as long as [`Settings`] say, two seconds unless somebody asks for more, and at least once. A
//! violation is named ([`Anomaly`]), shown as short as it can be, and comes with the seed that draws it again.

mod anomaly;
pub mod crashes;
pub mod faults;
pub mod history;
pub mod kills;
pub mod model;
pub mod report;
mod rounds;
mod run;
mod settings;
mod tally;
mod tries;

pub use anomaly::{Anomaly, Violation};
pub use settings::Settings;
pub use tally::Tally;

#[doc(hidden)]
pub use run::run_test;

/// The tests that each backend has, in a module `torture`.
pub const TESTS: [&str; 4] = [
    "programs",
    "programs_with_dropped_calls",
    "document_histories",
    "claim_histories",
];

/// The tests that a backend has beside these if there is a network between the store and its server.
pub const NETWORK_TESTS: [&str; 5] = [
    "programs_under_faults",
    "document_faults",
    "claim_faults",
    "document_histories_under_faults",
    "claim_histories_under_faults",
];

/// The tests that a backend has beside these if its server keeps what it stores.
pub const CRASH_TESTS: [&str; 2] = [
    "document_histories_over_a_crash",
    "claim_histories_over_a_crash",
];

/// A `#[test]` for random programs and for concurrent histories of each contract, in a module `torture`.
///
/// Takes a [`Harness`](crate::Harness) by a path from the crate's root, and attributes for each test, if any, as
/// [`change_store_tests!`](crate::change_store_tests) does.
#[macro_export]
macro_rules! torture_tests {
    ($harness:expr $(, $(#[$attribute:meta])*)?) => {
        mod torture {
            $crate::__torture! { [$($(#[$attribute])*)?] $harness,
                programs = $crate::torture::model::check,
                programs_with_dropped_calls = $crate::torture::model::check_dropped_calls,
                document_histories = $crate::torture::history::check_documents,
                claim_histories = $crate::torture::history::check_claims,
            }
        }
    };
}

/// A `#[test]` for each contract under every fault of the network, and under random ones, in a module
/// `torture_by_faults`.
///
/// Takes a [`NetworkHarness`](faults::NetworkHarness) by a path from the crate's root; as [`torture_tests!`].
#[macro_export]
macro_rules! fault_tests {
    ($harness:expr $(, $(#[$attribute:meta])*)?) => {
        mod torture_by_faults {
            $crate::__torture! { [$($(#[$attribute])*)?] $harness,
                programs_under_faults = $crate::torture::faults::check_programs,
                document_faults = $crate::torture::faults::check_documents,
                claim_faults = $crate::torture::faults::check_claims,
                document_histories_under_faults = $crate::torture::faults::check_document_histories,
                claim_histories_under_faults = $crate::torture::faults::check_claim_histories,
            }
        }
    };
}

/// A `#[test]` for each contract over crashes of the server, in a module `torture_by_crashes`.
///
/// Takes a [`CrashHarness`](crashes::CrashHarness) by a path from the crate's root; as [`torture_tests!`].
#[macro_export]
macro_rules! crash_tests {
    ($harness:expr $(, $(#[$attribute:meta])*)?) => {
        mod torture_by_crashes {
            $crate::__torture! { [$($(#[$attribute])*)?] $harness,
                document_histories_over_a_crash = $crate::torture::crashes::check_documents,
                claim_histories_over_a_crash = $crate::torture::crashes::check_claims,
            }
        }
    };
}

/// The test that a backend has beside these if its stores live in a folder, and not in a server.
pub const KILL_TESTS: [&str; 1] = ["writes_over_a_kill"];

/// A `#[test]` of a process that is killed while it writes, in a module `torture_by_kills`.
///
/// Takes a [`KillHarness`](kills::KillHarness) by a path from the crate's root.
#[macro_export]
macro_rules! kill_tests {
    ($harness:expr) => {
        mod torture_by_kills {
            #[test]
            fn writes_over_a_kill() {
                let test = concat!(module_path!(), "::writes_over_a_kill");
                $crate::torture::run_test(&$harness, "writes_over_a_kill", |harness, settings| {
                    $crate::torture::kills::check(harness, settings, test)
                });
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __torture {
    ($attributes:tt $harness:expr, $($test:ident = $check:path,)*) => {
        $($crate::__torture_test! { $attributes $harness, $test, $check })*
    };
}

/// One test function. A macro of its own, since the attributes repeat independently of the tests.
#[doc(hidden)]
#[macro_export]
macro_rules! __torture_test {
    ([$(#[$attribute:meta])*] $harness:expr, $test:ident, $check:path) => {
        #[test]
        $(#[$attribute])*
        fn $test() {
            $crate::torture::run_test(&$harness, stringify!($test), |harness, settings| {
                $check(harness, settings)
            });
        }
    };
}
