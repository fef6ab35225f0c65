//! The cases of the `DocumentStore` contract.

mod get;

use crate::cases::CaseName;
use crate::harness::Harness;

/// The list of cases; the only place where their names stand.
#[doc(hidden)]
#[macro_export]
macro_rules! __document_cases {
    ($mode:ident [$($arguments:tt)*]) => {
        $crate::__expand! {
            $mode [$($arguments)*]
            document {
                get {
                    a_missing_record_is_not_found,
                }
            }
        }
    };
}

/// The names of all cases.
pub const CASES: &[CaseName] = __document_cases!(names []);

/// Runs one case by its name.
///
/// # Panics
/// If the case fails, or there is none of that name.
pub fn run(harness: &dyn Harness, topic: &str, case: &str) {
    __document_cases!(dispatch [harness, topic, case, documents]);
}
