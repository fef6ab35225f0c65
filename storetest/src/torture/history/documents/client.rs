//! A client of a document store that writes down what it does.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use changestore_core::{
    Condition, DocumentStore, DocumentStoreExt as _, Error, ErrorKind, Etag, Key, NewRecord,
    Outcome, QueryOptions, Record, Result, Timestamp,
};
use tokio::sync::Mutex;

use super::spec::{Action, Answer, Document, If};
use crate::torture::Anomaly;
use crate::torture::history::journal::{Journal, is_an_answer};

/// What all clients of a history share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn DocumentStore>,
    pub(crate) journal: Journal<Key, Document>,
    /// Which write has which etag, and which etag is which write's.
    etags: Mutex<(HashMap<u64, Etag>, HashMap<Etag, u64>)>,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: usize,
    /// The records that it has seen last.
    pub(crate) seen: BTreeMap<Key, Record>,
}

impl Shared {
    pub(crate) fn new(store: Arc<dyn DocumentStore>, journal: Journal<Key, Document>) -> Arc<Self> {
        Arc::new(Self {
            store,
            journal,
            etags: Mutex::default(),
        })
    }

    /// Holds an etag against those that were seen before.
    async fn check_etag(&self, write: u64, record: &Record) {
        let mut etags = self.etags.lock().await;
        let of_write = etags
            .0
            .entry(write)
            .or_insert_with(|| record.etag.clone())
            .clone();
        let of_etag = *etags.1.entry(record.etag.clone()).or_insert(write);
        if of_write != record.etag || of_etag != write {
            let shown = format!(
                "{}: the etag {} of write {write} is that of write {of_etag}; the write's was {of_write}",
                record.key, record.etag
            );
            self.journal.violation(Anomaly::ReusedEtag, shown).await;
        }
    }
}

impl Client {
    pub(crate) fn new(shared: &Arc<Shared>, number: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            number,
            seen: BTreeMap::new(),
        }
    }

    pub(crate) async fn get(&mut self, key: &Key) -> Result<Option<Record>> {
        let shared = Arc::clone(&self.shared);
        let begun = shared.journal.begin();
        let found = shared.store.find(key).await;
        let ended = shared.journal.end(begun);
        // A read that failed says nothing of the key.
        if let Err(error) = &found {
            shared.journal.failed(error).await;
        }
        let found = found?;
        let answer = self.read(key, found.as_ref()).await;
        if let Some(answer) = answer {
            let journal = &shared.journal;
            journal
                .write_down(self.number, ended, key.clone(), Action::Read, Some(answer))
                .await;
        }
        Ok(found)
    }

    /// Reads the partition: for each of these keys, whether its record came.
    pub(crate) async fn query(&mut self, pk: &str, keys: &[Key], descending: bool) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let options = QueryOptions::default().with_descending(descending);
        let begun = shared.journal.begin();
        let found = shared.store.query_all(pk, "", options).await;
        let ended = shared.journal.end(begun);
        if let Err(error) = &found {
            shared.journal.failed(error).await;
        }
        let found = found?;
        let is_sorted = found.is_sorted_by(|a, b| (a.key < b.key) != descending && a.key != b.key);
        if !is_sorted || found.iter().any(|record| !keys.contains(&record.key)) {
            let keys: Vec<_> = found.iter().map(|record| record.key.to_string()).collect();
            let shown = format!("a query of {pk:?} returned {}", keys.join(", "));
            shared.journal.violation(Anomaly::WrongAnswer, shown).await;
        }
        for key in keys {
            let found = found.iter().find(|record| record.key == *key);
            if let Some(answer) = self.read(key, found).await {
                let (key, answer) = (key.clone(), Some(answer));
                shared
                    .journal
                    .write_down(self.number, ended, key, Action::Read, answer)
                    .await;
            }
        }
        Ok(())
    }

    pub(crate) async fn put(
        &mut self,
        key: &Key,
        condition: If,
        expire_at: Option<Timestamp>,
    ) -> Result<Record> {
        let shared = Arc::clone(&self.shared);
        let write = shared.journal.new_write();
        let data = shared.journal.data_of(write);
        let record = NewRecord::new(key.clone(), data)?.with_expire_at(expire_at);
        let asked = self.condition(key, condition);
        let begun = shared.journal.begin();
        let stored = shared.store.put(record.clone(), asked).await;
        let ended = shared.journal.end(begun);
        let answer = match &stored {
            Ok(stored) => {
                let expected = record.into_record(stored.version, stored.etag.clone());
                if *stored != expected {
                    let shown = format!("put of {expected:?} returned {stored:?}");
                    shared.journal.violation(Anomaly::WrongAnswer, shown).await;
                }
                shared.check_etag(write, stored).await;
                self.seen.insert(key.clone(), stored.clone());
                Some(Answer::Stored {
                    version: stored.version.get(),
                })
            }
            Err(error) => self.refusal(error).await,
        };
        let action = Action::Put {
            write,
            condition,
            expire_at,
        };
        shared
            .journal
            .write_down(self.number, ended, key.clone(), action, answer)
            .await;
        stored
    }

    pub(crate) async fn delete(&mut self, key: &Key, condition: If) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let asked = self.condition(key, condition);
        let begun = shared.journal.begin();
        let deleted = shared.store.delete(key, asked).await;
        let ended = shared.journal.end(begun);
        let answer = match &deleted {
            Ok(()) => Some(Answer::Deleted),
            Err(error) => self.refusal(error).await,
        };
        let action = Action::Delete { condition };
        shared
            .journal
            .write_down(self.number, ended, key.clone(), action, answer)
            .await;
        deleted
    }

    pub(crate) async fn increment(
        &mut self,
        key: &Key,
        delta: i64,
        expire_at: Option<Timestamp>,
    ) -> Result<i64> {
        let shared = Arc::clone(&self.shared);
        let begun = shared.journal.begin();
        let counted = shared.store.increment(key, delta, expire_at).await;
        let ended = shared.journal.end(begun);
        let answer = match &counted {
            Ok(value) => Some(Answer::Counted(*value)),
            Err(error) => self.refusal(error).await,
        };
        let action = Action::Increment { delta, expire_at };
        shared
            .journal
            .write_down(self.number, ended, key.clone(), action, answer)
            .await;
        counted
    }

    /// The condition on the version, or on the etag, of the record that this client has seen last.
    pub(crate) fn on_seen(&self, key: &Key, by_etag: bool) -> If {
        let seen = self.seen.get(key);
        seen.and_then(|record| {
            if by_etag {
                return self.shared.journal.write_of(&record.data).map(If::Etag);
            }
            Some(If::Version(record.version.get()))
        })
        .unwrap_or(If::Absent)
    }

    fn condition(&self, key: &Key, condition: If) -> Condition {
        match condition {
            If::Always => Condition::None,
            If::Absent => Condition::IfAbsent,
            If::Version(version) => {
                Condition::IfVersion(changestore_core::Version::new(version).expect("was stored"))
            }
            // `on_seen` alone makes one, from the record that was seen last.
            If::Etag(_) => Condition::IfEtag(self.seen[key].etag.clone()),
        }
    }

    /// What a read has seen; none if it is wrong whatever else happened.
    async fn read(&mut self, key: &Key, found: Option<&Record>) -> Option<Answer> {
        let Some(record) = found else {
            return Some(Answer::NotFound);
        };
        let journal = &self.shared.journal;
        let write = journal.write_of(&record.data);
        let (Some(write), true) = (write, record.key == *key) else {
            let shown = format!("at {key} there is {record:?}, which nobody has put there");
            journal.violation(Anomaly::WrongAnswer, shown).await;
            return None;
        };
        self.shared.check_etag(write, record).await;
        self.seen.insert(key.clone(), record.clone());
        Some(Answer::Found {
            write,
            version: record.version.get(),
            expire_at: record.expire_at,
        })
    }

    /// What a failed call was told; none if its outcome is unknown.
    async fn refusal(&self, error: &Error) -> Option<Answer> {
        if !is_an_answer(error) {
            self.shared.journal.failed(error).await;
        }
        if error.outcome() == Outcome::Unknown {
            return None;
        }
        Some(match error.kind() {
            ErrorKind::NotFound => Answer::NotFound,
            ErrorKind::ConditionFailed => Answer::ConditionFailed,
            ErrorKind::WrongKind { stored } => Answer::WrongKind(*stored),
            _ => Answer::NotApplied,
        })
    }
}
