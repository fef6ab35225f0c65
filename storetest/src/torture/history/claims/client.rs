//! A client of a change store that writes down what it does.

use std::collections::BTreeMap;
use std::sync::Arc;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, CreateOutcome, ErrorKind, Metadata, MetadataUpdate,
    Outcome, Result, Timestamp, Version,
};

use super::spec::{Action, Answer, Claim};
use crate::torture::Anomaly;
use crate::torture::history::journal::{Journal, is_an_answer};

/// What all clients of a history share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn ChangeStore>,
    pub(crate) journal: Journal<ChangeKey, Claim>,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) number: usize,
    /// The versions that it has seen last.
    pub(crate) seen: BTreeMap<ChangeKey, u64>,
}

impl Client {
    pub(crate) fn new(shared: &Arc<Shared>, number: usize) -> Self {
        Self {
            shared: Arc::clone(shared),
            number,
            seen: BTreeMap::new(),
        }
    }

    pub(crate) async fn create(&mut self, key: &ChangeKey) -> Result<CreateOutcome> {
        let shared = Arc::clone(&self.shared);
        let write = shared.journal.new_write();
        let record = ChangeRecord::new(key.clone(), self.metadata(write), time_of(write));
        let begun = shared.journal.begin();
        let outcome = shared.store.create(record).await;
        let ended = shared.journal.end(begun);
        self.note(&outcome).await;
        let answer = match &outcome {
            Ok(CreateOutcome::Created) => Some(Answer::Created),
            Ok(CreateOutcome::AlreadyThere) => Some(Answer::AlreadyThere),
            Err(error) if error.outcome() == Outcome::Unknown => None,
            Err(_) => Some(Answer::NotApplied),
        };
        let action = Action::Create { write };
        shared
            .journal
            .write_down(self.number, ended, key.clone(), action, answer)
            .await;
        outcome
    }

    pub(crate) async fn update(&mut self, key: &ChangeKey, old: u64) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let write = shared.journal.new_write();
        let old_version = Version::new(old)?;
        let update = MetadataUpdate {
            metadata: self.metadata(write),
            old_version,
            new_version: old_version.next(),
            updated_at: time_of(write),
        };
        let begun = shared.journal.begin();
        let updated = shared.store.update_metadata(key, update).await;
        let ended = shared.journal.end(begun);
        self.note(&updated).await;
        let answer = match &updated {
            Ok(()) => {
                self.seen.insert(key.clone(), old + 1);
                Some(Answer::Updated)
            }
            Err(error) if error.outcome() == Outcome::Unknown => None,
            Err(error) => Some(match error.kind() {
                ErrorKind::NotFound => Answer::NotFound,
                ErrorKind::VersionMismatch { stored } => {
                    self.seen.insert(key.clone(), stored.get());
                    Answer::Mismatch {
                        stored: stored.get(),
                    }
                }
                _ => Answer::NotApplied,
            }),
        };
        let action = Action::Update { write, old };
        shared
            .journal
            .write_down(self.number, ended, key.clone(), action, answer)
            .await;
        updated
    }

    /// Reads a URI: for each of these keys of it, whether its claim came.
    pub(crate) async fn read(&mut self, uri: &ChangeKey, keys: &[ChangeKey]) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let begun = shared.journal.begin();
        let claims = shared.store.get_by_uri(uri.queue(), uri.uri()).await;
        let ended = shared.journal.end(begun);
        self.note(&claims).await;
        let claims = claims?;
        let of_uri = keys.iter().filter(|key| key.uri() == uri.uri());
        let is_right = claims.is_sorted_by(|a, b| a.key < b.key)
            && claims
                .iter()
                .all(|claim| of_uri.clone().any(|key| *key == claim.key));
        if !is_right {
            let shown = format!("the claims of {uri} are {claims:?}");
            shared.journal.violation(Anomaly::WrongAnswer, shown).await;
        }
        for key in of_uri {
            let claim = claims.iter().find(|claim| claim.key == *key);
            let answer = if let Some(claim) = claim {
                let Some(write) = self.write_of(claim) else {
                    let shown = format!("there is {claim:?}, which nobody has written");
                    shared.journal.violation(Anomaly::WrongAnswer, shown).await;
                    continue;
                };
                let version = claim.version.get();
                self.seen.insert(key.clone(), version);
                Answer::Found { write, version }
            } else {
                Answer::NotFound
            };
            let (key, answer) = (key.clone(), Some(answer));
            shared
                .journal
                .write_down(self.number, ended, key, Action::Read, answer)
                .await;
        }
        Ok(())
    }

    /// Takes note of a failure that is no answer.
    async fn note<T>(&self, result: &Result<T>) {
        if let Err(error) = result
            && !is_an_answer(error)
        {
            self.shared.journal.failed(error).await;
        }
    }

    fn metadata(&self, write: u64) -> Metadata {
        let data = self.shared.journal.data_of(write);
        Metadata::new(format!("{{\"write\": \"{data}\"}}")).expect("JSON")
    }

    /// The write that a claim is from: all of it, or it is torn.
    fn write_of(&self, claim: &ChangeRecord) -> Option<u64> {
        let data = claim.metadata.as_str().split('"').nth(3)?;
        let write = self.shared.journal.write_of(data.as_bytes())?;
        (claim.updated_at == time_of(write)).then_some(write)
    }
}

/// A time that tells one write from another.
fn time_of(write: u64) -> Timestamp {
    let millis = i64::try_from(write).expect("a few");
    Timestamp::from_millis(millis).expect("in range")
}
