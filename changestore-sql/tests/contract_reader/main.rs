//! The reader of the change contract: against the contract's own SQL in Python, against full reads, and reason
//! by reason.

mod archive;
mod batches;
mod example;
mod following;
mod histories;
mod keys;
mod oracle;
mod random;
mod reasons;
mod shape;
mod typed;
mod writers;
