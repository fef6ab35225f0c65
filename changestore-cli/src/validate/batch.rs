//! Events of one queue, decided together and carried out together.

use changestore_core::Result;

use super::decide::{Answer, Refusal, decide};
use super::event::Event;
use super::intent::{Intent, Intents};
use super::snapshot::Snapshot;
use crate::backend::Stores;

/// Handles batches. Their results do not depend on how the events are cut into batches.
#[derive(Debug)]
pub(crate) struct Batches {
    stores: Stores,
    intents: Intents,
    keep_going: bool,
}

impl Batches {
    /// `keep_going`: a refused event does not end its batch.
    pub(crate) fn new(stores: Stores, keep_going: bool) -> Self {
        Self {
            intents: Intents::new(stores.clone()),
            stores,
            keep_going,
        }
    }

    /// Answers the events, all of one queue, in their order, as many as fit into one intent and at
    /// least the first. An answer is returned only when what it says is stored.
    ///
    /// The last answer may be a refusal with events left behind it: the caller stops there unless it
    /// keeps going.
    pub(crate) async fn handle(
        &mut self,
        events: &[Event],
    ) -> Result<Vec<std::result::Result<Answer, Refusal>>> {
        let Some(Event { queue, .. }) = events.first() else {
            return Ok(Vec::new());
        };
        loop {
            self.intents.catch_up(queue).await?;
            let (answers, intent) = self.decide_all(queue, events).await?;
            let settled = if !intent.is_empty() {
                self.intents.carry_out(queue, intent).await?
            } else if answers.iter().any(std::result::Result::is_err) {
                // A refusal writes nothing, so no condition has told that it is up to date.
                self.intents.is_current(queue).await?
            } else {
                true // What is told again never changes.
            };
            if settled {
                return Ok(answers);
            }
        }
    }

    async fn decide_all(
        &self,
        queue: &str,
        events: &[Event],
    ) -> Result<(Vec<std::result::Result<Answer, Refusal>>, Intent)> {
        let mut snapshot = Snapshot::read(&self.stores, queue, events).await?;
        let mut intent = Intent::default();
        let mut answers = Vec::with_capacity(events.len());
        for event in events {
            match decide(&snapshot, event).await? {
                Ok((answer, None)) => answers.push(Ok(answer)),
                Ok((answer, Some(decision))) => {
                    if !intent.has_room_for(&decision) {
                        break;
                    }
                    snapshot.apply(&decision)?;
                    intent.push(decision);
                    answers.push(Ok(answer));
                }
                Err(refusal) => {
                    answers.push(Err(refusal));
                    if !self.keep_going {
                        break;
                    }
                }
            }
        }
        Ok((answers, intent))
    }

    /// Leaves nothing behind but claims and requests.
    pub(crate) async fn end(mut self) -> Result<()> {
        self.intents.clear().await
    }
}
