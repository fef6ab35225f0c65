//! What is the same for every engine: the contracts' checks, the writes and their answers, errors, pages
//! of a query, garbage, the state of a schema.

pub(crate) mod backoff;
pub(crate) mod call;
pub(crate) mod classify;
pub(crate) mod contracts;
pub(crate) mod garbage;
pub(crate) mod judge;
pub(crate) mod migrations;
pub(crate) mod reply;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod write;
