#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod change;
pub mod clock;
pub mod condition;
pub mod document;
pub mod duplicate;
pub mod error;
pub mod key;
pub mod limits;
pub mod metadata;
pub mod query;

pub use change::{ChangeRecord, ChangeStore, ChangeStoreExt, CreateOutcome, MetadataUpdate};
pub use clock::{Clock, ManualClock, SystemClock, Timestamp};
pub use condition::{Condition, Etag, Version};
pub use document::{DocumentStore, DocumentStoreExt, NewRecord, Record, RecordStream};
pub use duplicate::{Duplicate, Liveness, RequestState, find_duplicate};
pub use error::{Error, ErrorKind, Operation, Outcome, RecordKind, Result};
pub use key::{ChangeKey, Key};
pub use limits::Limit;
pub use metadata::Metadata;
pub use query::{QueryOptions, QueryPlan};
