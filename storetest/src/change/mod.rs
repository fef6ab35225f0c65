//! The cases of the `ChangeStore` contract.

mod create;

use crate::cases::CaseName;
use crate::harness::Harness;

/// The list of cases; the only place where their names stand.
#[doc(hidden)]
#[macro_export]
macro_rules! __change_cases {
    ($mode:ident [$($arguments:tt)*]) => {
        $crate::__expand! {
            $mode [$($arguments)*]
            change {
                create {
                    the_same_triple_again_changes_nothing,
                }
            }
        }
    };
}

/// The names of all cases.
pub const CASES: &[CaseName] = __change_cases!(names []);

/// Runs one case by its name.
///
/// # Panics
/// If the case fails, or there is none of that name.
pub fn run(harness: &dyn Harness, topic: &str, case: &str) {
    __change_cases!(dispatch [harness, topic, case, changes]);
}
