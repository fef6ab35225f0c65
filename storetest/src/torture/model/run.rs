//! Runs a program on a store and on its model, and compares what they tell, step by step.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt as _, Clock as _, Condition,
    DocumentStore, DocumentStoreExt as _, Etag, Key, ManualClock, Metadata, MetadataUpdate,
    NewRecord, QueryOptions, Record, Result, Timestamp, Version, limits,
};
use store_mem::MemStore;

use super::program::{At, ClaimAt, On, Program, Step, prefix};
use super::told::{Etags, Told};

/// The stores of a harness, on one clock.
#[derive(Debug)]
pub(super) struct Stores {
    pub(super) documents: Arc<dyn DocumentStore>,
    pub(super) changes: Arc<dyn ChangeStore>,
    pub(super) clock: ManualClock,
}

/// What a step was told by both, where they differ.
pub(super) struct Difference {
    pub(super) store: String,
    pub(super) model: String,
    pub(super) step: usize,
}

/// A program on its way.
struct Run<'a> {
    stores: &'a Stores,
    model: MemStore,
    program: &'a Program,
    /// Before the outer texts, so that no two runs on one store meet.
    number: u64,
    etags: Etags,
    /// The etags of each key's writes, the store's and the model's.
    writes: HashMap<Key, Vec<(Etag, Etag)>>,
}

/// Runs a program; how far it came if the stores differ.
pub(super) async fn run(stores: &Stores, program: &Program, run: u64) -> Result<(), Difference> {
    let mut running = Run {
        stores,
        model: MemStore::with_clock(stores.clock.clone()),
        program,
        number: run,
        etags: Etags::default(),
        writes: HashMap::new(),
    };
    for (number, step) in program.steps.iter().enumerate() {
        let (store, model) = running.step(step).await;
        if store != model {
            return Err(Difference {
                store: format!("{store:?}"),
                model: format!("{model:?}"),
                step: number,
            });
        }
    }
    Ok(())
}

impl Run<'_> {
    async fn step(&mut self, step: &Step) -> (Told, Told) {
        let (documents, model) = (&*self.stores.documents, &self.model.clone());
        match step {
            Step::Get(at) => {
                let key = self.key(*at);
                let (store, model) = (documents.get(&key).await, model.get(&key).await);
                self.one_record(&store, &model)
            }
            Step::Put {
                at,
                data,
                condition,
                expires_in,
            } => {
                let key = self.key(*at);
                let (for_store, for_model) = self.conditions(&key, *condition).await;
                let record = NewRecord::new(key.clone(), data.clone())
                    .expect("short")
                    .with_expire_at(self.time(*expires_in));
                let store = documents.put(record.clone(), for_store).await;
                let model = model.put(record, for_model).await;
                if let (Ok(store), Ok(model)) = (&store, &model) {
                    let etags = (store.etag.clone(), model.etag.clone());
                    self.writes.entry(key).or_default().push(etags);
                }
                self.one_record(&store, &model)
            }
            Step::Delete { at, condition } => {
                let key = self.key(*at);
                let (for_store, for_model) = self.conditions(&key, *condition).await;
                let store = documents.delete(&key, for_store).await;
                let model = model.delete(&key, for_model).await;
                (
                    Told::new(&store, |()| Told::Done),
                    Told::new(&model, |()| Told::Done),
                )
            }
            Step::Increment {
                at,
                delta,
                expires_in,
            } => {
                let (key, expire_at) = (self.key(*at), self.time(*expires_in));
                let store = documents.increment(&key, *delta, expire_at).await;
                let model = model.increment(&key, *delta, expire_at).await;
                let told = |value: &i64| Told::Counted(*value);
                (Told::new(&store, told), Told::new(&model, told))
            }
            Step::Query {
                partition,
                prefix: (text, chars),
                descending,
                limit,
                start_after,
            } => {
                let pk = self.outer(*partition);
                let prefix = prefix(self.program.inner[*text], *chars, limits::SORT_KEY);
                let mut options = QueryOptions::default()
                    .with_descending(*descending)
                    .with_limit(*limit);
                options.start_after = start_after.map(|text| self.program.inner[text].to_owned());
                let store = documents.query_all(&pk, prefix, options.clone()).await;
                let model = model.query_all(&pk, prefix, options).await;
                self.records(&store, &model)
            }
            _ => self.claim_step(step).await,
        }
    }

    async fn claim_step(&mut self, step: &Step) -> (Told, Told) {
        let (changes, model) = (&*self.stores.changes, &self.model);
        match step {
            Step::Create { at, metadata } => {
                let metadata = Metadata::new(*metadata).expect("JSON");
                let record = ChangeRecord::new(self.claim(*at), metadata, self.stores.clock.now());
                let store = changes.create(record.clone()).await;
                let model = model.create(record).await;
                (
                    Told::new(&store, |outcome| Told::Created(*outcome)),
                    Told::new(&model, |outcome| Told::Created(*outcome)),
                )
            }
            Step::GetByUri { queue, uri } => {
                let (queue, uri) = (self.outer(*queue), self.program.outer[*uri]);
                let store = changes.get_by_uri(&queue, uri).await;
                let model = model.get_by_uri(&queue, uri).await;
                (
                    Told::new(&store, |claims| Told::Claims(claims.clone())),
                    Told::new(&model, |claims| Told::Claims(claims.clone())),
                )
            }
            Step::UpdateMetadata {
                at,
                metadata,
                old,
                new,
            } => {
                let key = self.claim(*at);
                let stored = model.find_claim(&key).await.expect("memory does not fail");
                let its = stored.map_or(Version::FIRST, |claim| claim.version);
                let update = MetadataUpdate {
                    metadata: Metadata::new(*metadata).expect("JSON"),
                    old_version: match old {
                        On::Version(version) => Version::from(*version),
                        _ => its,
                    },
                    new_version: Version::from(*new),
                    updated_at: self.stores.clock.now(),
                };
                let store = changes.update_metadata(&key, update.clone()).await;
                let model = model.update_metadata(&key, update).await;
                (
                    Told::new(&store, |()| Told::Done),
                    Told::new(&model, |()| Told::Done),
                )
            }
            Step::Clock(millis) => {
                let step = Duration::from_millis(millis.unsigned_abs());
                let clock = &self.stores.clock;
                if *millis < 0 {
                    clock.set(clock.now().saturating_sub(step));
                } else {
                    clock.advance(step);
                }
                (Told::Done, Told::Done)
            }
            _ => unreachable!("the steps on documents are done"),
        }
    }

    fn outer(&self, text: usize) -> String {
        format!("{}.{}", self.number, self.program.outer[text])
    }

    fn key(&self, at: At) -> Key {
        let sk = self.program.inner[at.sort_key];
        Key::new(self.outer(at.partition), sk).expect("legal")
    }

    fn claim(&self, at: ClaimAt) -> ChangeKey {
        let Program { outer, inner, .. } = self.program;
        let key = ChangeKey::new(self.outer(at.queue), outer[at.uri], inner[at.request]);
        key.expect("legal")
    }

    fn time(&self, expires_in: Option<i64>) -> Option<Timestamp> {
        let now = self.stores.clock.now().as_millis();
        expires_in.map(|millis| Timestamp::from_millis(now + millis).expect("in range"))
    }

    /// The condition as the store is asked, and as the model is.
    async fn conditions(&self, key: &Key, on: On) -> (Condition, Condition) {
        let same = |condition: Condition| (condition.clone(), condition);
        match on {
            On::Nothing => same(Condition::None),
            On::Absence => same(Condition::IfAbsent),
            On::Version(version) => same(Condition::IfVersion(Version::from(version))),
            On::ItsVersion => {
                let live = self.model.find(key).await.expect("memory does not fail");
                same(Condition::IfVersion(
                    live.map_or(Version::FIRST, |live| live.version),
                ))
            }
            On::NobodysEtag => same(Condition::IfEtag(Etag::unique())),
            On::EtagOfWrite(before) => {
                let writes = self.writes.get(key).map_or(&[][..], Vec::as_slice);
                match writes.iter().nth_back(before) {
                    None => same(Condition::IfEtag(Etag::unique())),
                    Some((store, model)) => (
                        Condition::IfEtag(store.clone()),
                        Condition::IfEtag(model.clone()),
                    ),
                }
            }
        }
    }

    fn one_record(&mut self, store: &Result<Record>, model: &Result<Record>) -> (Told, Told) {
        let list = |result: &Result<Record>| {
            Told::new(result, |record| Told::records(std::slice::from_ref(record)))
        };
        let told = (list(store), list(model));
        if let (Ok(store), Ok(model)) = (store, model)
            && !self.etags.pair(&store.etag, &model.etag)
        {
            return (Told::Done, told.1);
        }
        told
    }

    fn records(
        &mut self,
        store: &Result<Vec<Record>>,
        model: &Result<Vec<Record>>,
    ) -> (Told, Told) {
        let list =
            |result: &Result<Vec<Record>>| Told::new(result, |records| Told::records(records));
        let (Ok(store_records), Ok(model_records)) = (store, model) else {
            return (list(store), list(model));
        };
        for (store, model) in store_records.iter().zip(model_records) {
            if !self.etags.pair(&store.etag, &model.etag) {
                return (Told::Done, list(&Ok(model_records.clone())));
            }
        }
        (list(store), list(model))
    }
}
