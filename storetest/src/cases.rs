//! From one list of case names to tests, constants and dispatch.
//!
//! A contract's list stands once, in `change/mod.rs` and `document/mod.rs`, as a macro that hands the
//! list to `__expand!` with a mode. Names and bodies cannot drift apart: a name without a body does
//! not compile, and a body without a name is dead code, which this crate denies.

use std::fmt;

/// The name of a case: contract, topic and the clause it checks, as in
/// `document::query::limit_does_not_count_expired_records`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CaseName {
    /// `change` or `document`.
    pub contract: &'static str,
    /// The module of the body.
    pub topic: &'static str,
    /// The function that is the body.
    pub case: &'static str,
}

impl fmt::Display for CaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}::{}", self.contract, self.topic, self.case)
    }
}

/// Expands a list of cases by mode: `tests`, `names` or `dispatch`.
#[doc(hidden)]
#[macro_export]
macro_rules! __expand {
    (
        tests [$harness:expr, $attributes:tt]
        $contract:ident { $($topic:ident { $($case:ident),* $(,)? })* }
    ) => {
        mod $contract {
            $(mod $topic {
                $($crate::__test! { $attributes $harness, $contract, $topic, $case })*
            })*
        }
    };
    (names [] $contract:ident { $($topic:ident { $($case:ident),* $(,)? })* }) => {
        &[$($(
            $crate::CaseName {
                contract: stringify!($contract),
                topic: stringify!($topic),
                case: stringify!($case),
            },
        )*)*]
    };
    (
        dispatch [$harness:ident, $wanted_topic:ident, $wanted_case:ident, $open:ident]
        $contract:ident { $($topic:ident { $($case:ident),* $(,)? })* }
    ) => {
        match ($wanted_topic, $wanted_case) {
            $($(
                (stringify!($topic), stringify!($case)) => {
                    let name = $crate::CaseName {
                        contract: stringify!($contract),
                        topic: stringify!($topic),
                        case: stringify!($case),
                    };
                    $crate::run_case(
                        $harness,
                        name,
                        async |namespace: &str, clock| $harness.$open(namespace, clock).await,
                        async |fixture: &_| $topic::$case(fixture).await,
                    );
                }
            )*)*
            _ => panic!("no case {}::{}::{}", stringify!($contract), $wanted_topic, $wanted_case),
        }
    };
}

/// One test function. A macro of its own, since the attributes repeat independently of the cases.
#[doc(hidden)]
#[macro_export]
macro_rules! __test {
    ([$(#[$attribute:meta])*] $harness:expr, $contract:ident, $topic:ident, $case:ident) => {
        #[test]
        $(#[$attribute])*
        fn $case() {
            $crate::$contract::run(&$harness, stringify!($topic), stringify!($case));
        }
    };
}

/// A `#[test]` per case of the `ChangeStore` contract.
///
/// Takes a [`Harness`](crate::Harness) by a path from the crate's root, and attributes for each test,
/// if any.
///
/// ```ignore
/// storetest::change_store_tests!(crate::MemHarness);
/// storetest::change_store_tests!(crate::PostgresHarness, #[ignore = "needs a server"]);
/// ```
#[macro_export]
macro_rules! change_store_tests {
    ($harness:expr $(, $(#[$attribute:meta])*)?) => {
        $crate::__change_cases!(tests [$harness, [$($(#[$attribute])*)?]]);
    };
}

/// A `#[test]` per case of the `DocumentStore` contract; as [`change_store_tests!`].
#[macro_export]
macro_rules! document_store_tests {
    ($harness:expr $(, $(#[$attribute:meta])*)?) => {
        $crate::__document_cases!(tests [$harness, [$($(#[$attribute])*)?]]);
    };
}
