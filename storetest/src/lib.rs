#![doc = include_str!("../README.md")]
// A case that stands in no list is dead code: it would never run.
#![deny(dead_code)]

pub mod change;
pub mod document;
pub mod harness;
pub mod report;
mod run;

mod cases;

pub use cases::CaseName;
pub use harness::{Fixture, Harness};

#[doc(hidden)]
pub use run::run_case;
