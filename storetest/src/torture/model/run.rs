//! Runs a program on a store, and holds what it tells against the model, step by step.

use std::collections::{BTreeSet, HashMap};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Clock as _, Condition, DocumentStore, Etag, Key,
    ManualClock, Metadata, MetadataUpdate, NewRecord, Outcome, QueryOptions, Result, Timestamp,
    Version, limits,
};
use futures::FutureExt as _;

use super::call::{Action, Call};
use super::program::{At, ClaimAt, Failure, On, Program, Step, prefix};
use super::told::Answer;
use super::worlds::Worlds;
use crate::cancel::drop_at;
use crate::torture::Anomaly;
use crate::torture::faults::{Proxy, bounded};
use crate::torture::run::panic_text;
use crate::torture::tries::Tries;

/// The stores of a harness, on one clock.
#[derive(Debug)]
pub(in crate::torture) struct Stores<'a> {
    pub(super) documents: Arc<dyn DocumentStore>,
    pub(super) changes: Arc<dyn ChangeStore>,
    pub(super) clock: ManualClock,
    /// Before the servers of documents and of claims, if there are such.
    pub(super) proxies: Option<[&'a Proxy; 2]>,
}

/// Where a store is wrong.
pub(super) struct Difference {
    pub(super) anomaly: Anomaly,
    pub(super) shown: String,
}

/// What came of a call.
enum Ended {
    Told(Result<Answer>),
    Dropped,
    Never,
    Panicked(String),
}

/// A program on its way.
struct Run<'a> {
    stores: &'a Stores<'a>,
    program: &'a Program,
    /// Before the outer texts, so that no two runs on one store meet.
    number: u64,
    worlds: Worlds,
    calls: usize,
    /// The etags of each key's writes as far as they are known, the store's.
    writes: HashMap<Key, Vec<Etag>>,
    dropped: u64,
}

/// Runs a program; how many of its calls were dropped, or where the store is wrong.
pub(super) async fn run(
    stores: &Stores<'_>,
    program: &Program,
    run: u64,
) -> Result<u64, Difference> {
    let mut running = Run {
        stores,
        program,
        number: run,
        worlds: Worlds::new(stores.clock.now()),
        calls: 0,
        writes: HashMap::new(),
        dropped: 0,
    };
    for (number, (step, failure)) in program.steps.iter().enumerate() {
        running.step(number, step, *failure).await?;
        if running.worlds.are_too_many() {
            return Ok(running.dropped);
        }
    }
    running.look_at_everything().await?;
    Ok(running.dropped)
}

impl Run<'_> {
    async fn step(
        &mut self,
        number: usize,
        step: &Step,
        failure: Option<Failure>,
    ) -> Result<(), Difference> {
        if let Some(action) = self.action(step) {
            let place = format!("step {}", number + 1);
            self.call(action, failure, &place).await
        } else {
            self.worlds.clock_shows(self.stores.clock.now());
            Ok(())
        }
    }

    /// Reads what may be there, each in the way that it can be read in.
    async fn look_at_everything(&mut self) -> Result<(), Difference> {
        let (mut partitions, mut uris, mut counters) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (step, _) in &self.program.steps {
            match step {
                Step::Put { at, .. } => drop(partitions.insert(self.outer(at.partition))),
                Step::Increment { at, .. } => drop(counters.insert(self.key(*at))),
                Step::Create { at, .. } => {
                    let key = self.claim(*at);
                    uris.insert((key.queue().to_owned(), key.uri().to_owned()));
                }
                _ => {}
            }
        }
        let all = partitions
            .into_iter()
            .map(|pk| Action::Query(pk, String::new(), QueryOptions::default()))
            .chain(
                uris.into_iter()
                    .map(|(queue, uri)| Action::GetByUri(queue, uri)),
            )
            .chain(
                counters
                    .into_iter()
                    .map(|key| Action::Increment(key, 0, None)),
            );
        for action in all {
            let place = format!("in the end, {action:?}");
            self.call(action, None, &place).await?;
        }
        Ok(())
    }

    async fn call(
        &mut self,
        action: Action,
        failure: Option<Failure>,
        place: &str,
    ) -> Result<(), Difference> {
        // A fault, of another program's even, leaves broken connections that are met later. Without a network nothing can
        // have been in a call's way.
        let may_be_broken = self.stores.proxies.is_some();
        let mut tries = Tries::default();
        let different = |anomaly, shown| Difference {
            anomaly,
            shown: format!("{place}: {shown}"),
        };
        let may_fail = failure.is_some() && may_be_broken;
        loop {
            let begun = Instant::now();
            let call = Call {
                number: self.calls,
                now: self.stores.clock.now(),
                action: action.clone(),
            };
            self.calls += 1;
            match self.end(&call, failure).await {
                Ended::Told(Ok(answer)) => {
                    self.remember(&answer);
                    return self.worlds.are_told(&call, &answer).map_err(|instead| {
                        let (told, instead) = (answer.told, instead.join("\n    or "));
                        let shown = format!("the store says {told:?}\n  the model {instead}");
                        different(Anomaly::UnlikeTheModel, shown)
                    });
                }
                Ended::Told(Err(error)) => {
                    if error.outcome() == Outcome::Unknown {
                        self.worlds.are_not_told(&call);
                    }
                    let is_tried_again =
                        failure.is_none() && may_be_broken && tries.has_another(begun);
                    if !is_tried_again {
                        return if may_fail {
                            Ok(())
                        } else {
                            Err(different(Anomaly::Unhealthy, format!("{error:?}")))
                        };
                    }
                }
                Ended::Dropped => {
                    self.worlds.are_not_told(&call);
                    return Ok(());
                }
                Ended::Never => return Err(different(Anomaly::Unbounded, String::new())),
                Ended::Panicked(text) => return Err(different(Anomaly::Panic, text)),
            }
        }
    }

    async fn end(&mut self, call: &Call, failure: Option<Failure>) -> Ended {
        let Stores {
            documents, changes, ..
        } = self.stores;
        let asked = call.ask(&**documents, &**changes, Etag::clone);
        let asked = bounded(AssertUnwindSafe(asked).catch_unwind());
        let ended = match failure {
            None => Some(asked.await),
            Some(Failure::Dropped(point)) => drop_at(point, asked).await,
            Some(Failure::Fault { after, fault }) => {
                let proxies = self.stores.proxies.expect("faults need them");
                let proxy = proxies[usize::from(!call.is_of_documents())];
                proxy.once(after, fault);
                let ended = asked.await;
                proxy.calm();
                Some(ended)
            }
        };
        match ended {
            None => {
                self.dropped += 1;
                Ended::Dropped
            }
            Some(None) => Ended::Never,
            Some(Some(Ok(told))) => Ended::Told(told),
            Some(Some(Err(panic))) => Ended::Panicked(panic_text(&*panic).to_owned()),
        }
    }

    fn remember(&mut self, answer: &Answer) {
        for (key, etag) in answer.keys() {
            let writes = self.writes.entry(key.clone()).or_default();
            if !writes.contains(etag) {
                writes.push(etag.clone());
            }
        }
    }

    /// What a step asks for; none if it only moves the clock, which is done by then.
    fn action(&self, step: &Step) -> Option<Action> {
        let Program { outer, inner, .. } = self.program;
        let now = self.stores.clock.now();
        Some(match step {
            Step::Get(at) => Action::Get(self.key(*at)),
            Step::Put {
                at,
                data,
                condition,
                expires_in,
            } => {
                let key = self.key(*at);
                let condition = self.condition(&key, *condition);
                let record = NewRecord::new(key, data.clone())
                    .expect("short")
                    .with_expire_at(self.time(*expires_in));
                Action::Put(record, condition)
            }
            Step::Delete { at, condition } => {
                let key = self.key(*at);
                let condition = self.condition(&key, *condition);
                Action::Delete(key, condition)
            }
            Step::Increment {
                at,
                delta,
                expires_in,
            } => Action::Increment(self.key(*at), *delta, self.time(*expires_in)),
            Step::Query {
                partition,
                prefix: (text, chars),
                descending,
                limit,
                start_after,
            } => {
                let prefix = prefix(inner[*text], *chars, limits::SORT_KEY);
                let mut options = QueryOptions::default()
                    .with_descending(*descending)
                    .with_limit(*limit);
                options.start_after = start_after.map(|text| inner[text].to_owned());
                Action::Query(self.outer(*partition), prefix.to_owned(), options)
            }
            Step::Create { at, metadata } => {
                let metadata = Metadata::new(*metadata).expect("JSON");
                Action::Create(ChangeRecord::new(self.claim(*at), metadata, now))
            }
            Step::GetByUri { queue, uri } => {
                Action::GetByUri(self.outer(*queue), outer[*uri].to_owned())
            }
            Step::UpdateMetadata {
                at,
                metadata,
                old,
                new,
            } => {
                let key = self.claim(*at);
                let old_version = match old {
                    On::Version(version) => Version::from(*version),
                    _ => self.worlds.version_of_claim(&key).unwrap_or(Version::FIRST),
                };
                let update = MetadataUpdate {
                    metadata: Metadata::new(*metadata).expect("JSON"),
                    old_version,
                    new_version: Version::from(*new),
                    updated_at: now,
                };
                Action::UpdateMetadata(key, update)
            }
            Step::Clock(millis) => {
                let step = Duration::from_millis(millis.unsigned_abs());
                let clock = &self.stores.clock;
                if *millis < 0 {
                    clock.set(now.saturating_sub(step));
                } else {
                    clock.advance(step);
                }
                return None;
            }
        })
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

    /// The condition as the store is asked.
    fn condition(&self, key: &Key, on: On) -> Condition {
        match on {
            On::Nothing => Condition::None,
            On::Absence => Condition::IfAbsent,
            On::Version(version) => Condition::IfVersion(Version::from(version)),
            On::ItsVersion => {
                let version = self.worlds.version(key, self.stores.clock.now());
                Condition::IfVersion(version.unwrap_or(Version::FIRST))
            }
            On::NobodysEtag => Condition::IfEtag(Etag::unique()),
            On::EtagOfWrite(before) => {
                let writes = self.writes.get(key).map_or(&[][..], Vec::as_slice);
                let etag = writes.iter().nth_back(before);
                Condition::IfEtag(etag.cloned().unwrap_or_else(Etag::unique))
            }
        }
    }
}
