#![doc = include_str!("../README.md")]

mod attempts;
mod deadlines;
mod failure;
mod pause;
mod policy;

pub use attempts::{Attempts, Resend, Sent};
pub use failure::{Failure, Fate};
pub use policy::{Retries, RetryPolicy};
