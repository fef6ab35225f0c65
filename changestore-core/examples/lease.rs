//! A lease: one worker at a time, taken over when its holder falls silent.
//!
//! What makes it safe is the etag. A holder that was away for too long finds another's lease at the
//! same version, and still cannot renew or release it by mistake.
//!
//! `cargo run --package changestore-core --example lease`

use std::time::Duration;

use changestore_core::{
    Clock, Condition, DocumentStore, ErrorKind, Etag, Key, ManualClock, NewRecord, Result,
    Timestamp,
};
use store_mem::MemStore;

const TERM: Duration = Duration::from_secs(30);

/// A held lease: what is needed to renew and to release it.
#[derive(Debug)]
struct Lease {
    key: Key,
    holder: String,
    etag: Etag,
}

impl Lease {
    /// Takes the lease, if nobody holds it.
    async fn acquire(
        store: &dyn DocumentStore,
        clock: &dyn Clock,
        key: &Key,
        holder: &str,
    ) -> Result<Option<Self>> {
        let record = NewRecord::new(key.clone(), holder.to_owned())?
            .with_expire_at(clock.now().saturating_add(TERM));
        match store.put(record, Condition::IfAbsent).await {
            Ok(stored) => Ok(Some(Self {
                key: key.clone(),
                holder: holder.to_owned(),
                etag: stored.etag,
            })),
            Err(error) if error.is_condition_failed() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Holds it for another term; false if it is lost.
    async fn renew(&mut self, store: &dyn DocumentStore, clock: &dyn Clock) -> Result<bool> {
        let record = NewRecord::new(self.key.clone(), self.holder.clone())?
            .with_expire_at(clock.now().saturating_add(TERM));
        match store
            .put(record, Condition::IfEtag(self.etag.clone()))
            .await
        {
            Ok(stored) => {
                self.etag = stored.etag;
                Ok(true)
            }
            Err(error) if error.is_condition_failed() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Gives it back; nothing happens if it is lost already.
    async fn release(self, store: &dyn DocumentStore) -> Result<()> {
        match store.delete(&self.key, Condition::IfEtag(self.etag)).await {
            Err(error)
                if !matches!(
                    error.kind(),
                    ErrorKind::NotFound | ErrorKind::ConditionFailed
                ) =>
            {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    // The clock of this example is stepped by hand; a program takes the default, the system's.
    let clock = ManualClock::new(Timestamp::from_millis(1_795_996_800_000)?);
    let store = MemStore::with_clock(clock.clone());
    let key = Key::new("LEASE#ingest", "LOCK")?;

    let mut first = Lease::acquire(&store, &clock, &key, "worker 1")
        .await?
        .expect("it is free");
    println!("worker 1 holds the lease");
    assert!(
        Lease::acquire(&store, &clock, &key, "worker 2")
            .await?
            .is_none()
    );
    println!("worker 2 has to wait");

    clock.advance(TERM / 2);
    assert!(first.renew(&store, &clock).await?);
    println!("worker 1 renews it, and falls silent");

    clock.advance(TERM);
    let second = Lease::acquire(&store, &clock, &key, "worker 2")
        .await?
        .expect("it has expired");
    println!("worker 2 takes over when it has expired");

    assert!(!first.renew(&store, &clock).await?);
    first.release(&store).await?;
    assert_eq!(store.get(&key).await?.data, "worker 2");
    println!("worker 1 comes back, and can neither renew nor release it");

    second.release(&store).await?;
    assert!(store.get(&key).await.unwrap_err().is_not_found());
    println!("worker 2 releases it");
    Ok(())
}
