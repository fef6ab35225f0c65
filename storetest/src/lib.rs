#![doc = include_str!("../README.md")]
// A case that stands in no list is dead code: it would never run.
#![deny(dead_code)]

mod cancel;
mod cases;
pub mod change;
pub mod corruption;
pub mod document;
mod expect;
pub mod harness;
mod race;
pub mod report;
mod run;
mod texts;
#[cfg(feature = "torture")]
pub mod torture;

pub use cases::CaseName;
pub use harness::{Fixture, Harness};

#[doc(hidden)]
pub use run::run_case;
