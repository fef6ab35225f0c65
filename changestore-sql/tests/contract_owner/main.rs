//! The owner's side of the change contract, and the journal.

mod archive;
mod commands;
mod defaults;
mod differential;
mod export;
mod journal;
mod keys;
mod live_writer;
mod names;
mod nested;
mod refusals;
mod replace;
mod replace_row_id;
mod retention;
