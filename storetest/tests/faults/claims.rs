//! The `ChangeStore` with its mistakes.

use async_trait::async_trait;
use changestore_core::limits::{METADATA, URI};
use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, ChangeStoreExt, Clock, CreateOutcome, Error, ErrorKind,
    Metadata, MetadataUpdate, Result, Version,
};
use serde_json::Value;

use crate::store::{Faulty, cut, pause};
use crate::table::Fault;

/// JSON nested deeper than this is refused by some servers' checks.
const DEPTH: usize = 1_000;

impl Faulty {
    /// The key under which the store keeps a claim.
    fn kept_key(&self, key: &ChangeKey) -> ChangeKey {
        let (queue, uri, request) = (key.queue(), key.uri(), key.request_id());
        let kept = if self.has(Fault::UrisFoldCase) {
            ChangeKey::new(queue, uri.to_lowercase(), request)
        } else if self.has(Fault::RequestsLoseTrailingSpaces) && !request.trim().is_empty() {
            ChangeKey::new(queue, uri, request.trim_end())
        } else if self.has(Fault::UrisAreCut) {
            ChangeKey::new(queue, cut(uri, 191), request)
        } else if self.has(Fault::ClaimPartsAreJoined) {
            ChangeKey::new("all", format!("{queue}/{uri}"), request)
        } else {
            Ok(key.clone())
        };
        kept.expect("legal")
    }

    fn kept_metadata(&self, metadata: Metadata) -> Result<Metadata> {
        let text = metadata.as_str();
        let is_normal = |text: &str| serde_json::from_str::<Value>(text).map(|v| v.to_string());
        if self.has(Fault::MetadataAreNormalised) {
            return Metadata::new(is_normal(text).expect("JSON"));
        }
        if self.has(Fault::MetadataNumbersAreFloats)
            && let Ok(number) = text.parse::<f64>()
        {
            return Metadata::new(format!("{number:e}"));
        }
        let refused = self.has(Fault::MetadataRefuseNulEscapes) && text.contains(r"\u0000")
            || self.has(Fault::MetadataHaveADepth) && text.matches(['[', '{']).count() > DEPTH
            || self.has(Fault::MetadataAreShort) && text.len() == METADATA.max_bytes();
        if refused {
            return Err(Error::new(ErrorKind::Other).with_message("invalid input syntax"));
        }
        Ok(metadata)
    }

    /// Sets what the update says at whatever version is there.
    async fn overwrite(&self, key: &ChangeKey, mut update: MetadataUpdate) -> Result<()> {
        loop {
            let Some(stored) = self.inner.find_claim(key).await? else {
                return Err(Error::new(ErrorKind::NotFound));
            };
            update.old_version = stored.version;
            match self.inner.update_metadata(key, update.clone()).await {
                Err(error) if error.stored_version().is_some() => {}
                done => return done,
            }
        }
    }

    async fn spoilt_create(&self, mut record: ChangeRecord) -> Result<CreateOutcome> {
        let asked = record.key.clone();
        record.key = self.kept_key(&asked);
        record.metadata = self.kept_metadata(record.metadata)?;
        let (key, metadata) = (record.key.clone(), record.metadata.clone());
        self.memory()
            .claims
            .entry(key.clone())
            .or_insert_with(|| asked.clone());
        if self.has(Fault::CreateTakesAnyVersion) {
            record.version = Version::FIRST;
        }
        if self.has(Fault::CreateTakesTheStoresTime) {
            record.created_at = self.clock.now();
        }
        let updated_at = record.updated_at;
        if self.has(Fault::CreateIsNotAtomic) {
            let found = self.inner.find_claim(&key).await?;
            pause().await;
            return match (found, self.inner.create(record).await?) {
                (None, CreateOutcome::AlreadyThere) => {
                    Err(Error::new(ErrorKind::Other).with_message("unique constraint"))
                }
                (_, outcome) => Ok(outcome),
            };
        }
        if self.has(Fault::CreateHasTwoSteps) {
            record.metadata = Metadata::default();
        }
        let outcome = self.inner.create(record).await?;
        let fill = MetadataUpdate {
            metadata,
            old_version: Version::FIRST,
            new_version: Version::FIRST,
            updated_at,
        };
        match outcome {
            CreateOutcome::Created if self.has(Fault::CreateHasTwoSteps) => {
                pause().await;
                self.inner.update_metadata(&key, fill).await?;
            }
            CreateOutcome::AlreadyThere if self.has(Fault::CreateOverwrites) => {
                self.overwrite(&key, fill).await?;
            }
            CreateOutcome::AlreadyThere if self.has(Fault::CreateAgainFails) => {
                return Err(Error::new(ErrorKind::Other).with_message("duplicate key"));
            }
            CreateOutcome::AlreadyThere if self.has(Fault::CreateAlwaysSaysCreated) => {
                return Ok(CreateOutcome::Created);
            }
            _ => {}
        }
        Ok(outcome)
    }

    async fn spoilt_update(&self, asked: &ChangeKey, mut update: MetadataUpdate) -> Result<()> {
        let key = &self.kept_key(asked);
        update.metadata = self.kept_metadata(update.metadata)?;
        let stored = self.inner.find_claim(key).await?;
        if self.has(Fault::UpdateIgnoresTheVersion) {
            return self.overwrite(key, update).await;
        }
        if self.has(Fault::UpdateAddsOne) {
            update.new_version = update.old_version.next();
        }
        if self.has(Fault::UpdateToTheSameFails)
            && let Some(stored) = &stored
            && stored.metadata == update.metadata
            && stored.version == update.new_version
        {
            return Err(Error::new(ErrorKind::VersionMismatch {
                stored: stored.version,
            }));
        }
        if self.has(Fault::UpdateIsNotAtomic)
            && stored.is_some_and(|stored| stored.version == update.old_version)
        {
            pause().await;
            return self.overwrite(key, update).await;
        }
        let asked_version = update.old_version;
        match self.inner.update_metadata(key, update.clone()).await {
            Err(error) if error.is_not_found() && self.has(Fault::UpdateOfNothingSucceeds) => {
                Ok(())
            }
            Err(error)
                if error.stored_version().is_some()
                    && self.has(Fault::MismatchCarriesTheAskedVersion) =>
            {
                Err(Error::new(ErrorKind::VersionMismatch {
                    stored: asked_version,
                }))
            }
            Ok(()) if self.has(Fault::UpdateReachesOtherRequests) => {
                for other in self.inner.get_by_uri(key.queue(), key.uri()).await? {
                    self.overwrite(&other.key, update.clone()).await?;
                }
                Ok(())
            }
            other => other,
        }
    }

    async fn spoilt_read(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        if self.has(Fault::EmptyArgumentsFindNothing) && (queue.is_empty() || uri.is_empty()) {
            return Ok(Vec::new());
        }
        let uri = match uri.len() {
            over if over > URI.max_bytes() && self.has(Fault::LongArgumentsAreCut) => {
                cut(uri, URI.max_bytes())
            }
            _ => uri,
        };
        ChangeKey::check_uri(queue, uri).map_err(|error| error.with_backend("mem"))?;
        let asked = (queue.to_owned(), uri.to_owned());
        let stale = self.memory().stale_claims.get(&asked).cloned();
        if let (Some(stale), true) = (stale, self.has(Fault::ClaimsAreStale)) {
            return Ok(stale);
        }
        let claims = self.memory().claims.clone();
        let kept = self.kept_key(&ChangeKey::new(queue, uri, "any")?);
        let mut places = vec![(kept.queue(), kept.uri())];
        if self.has(Fault::QueuesLeak) || self.has(Fault::UrisMatchByPrefix) {
            let leaks = |key: &&ChangeKey| {
                key.uri() == uri && self.has(Fault::QueuesLeak)
                    || key.queue() == queue
                        && self.has(Fault::UrisMatchByPrefix)
                        && key.uri().starts_with(uri)
            };
            places = claims
                .keys()
                .filter(leaks)
                .map(|key| (key.queue(), key.uri()))
                .collect();
            places.dedup();
        }
        let mut found = Vec::new();
        for (queue, uri) in places {
            found.extend(self.inner.get_by_uri(queue, uri).await?);
        }
        for claim in &mut found {
            claim.key = claims.get(&claim.key).expect("it was created here").clone();
        }
        self.spoil_found(&mut found);
        self.memory().stale_claims.insert(asked, found.clone());
        Ok(found)
    }

    fn spoil_found(&self, found: &mut Vec<ChangeRecord>) {
        if self.has(Fault::RequestsInUtf16Order) {
            found.sort_by_key(|claim| claim.key.request_id().encode_utf16().collect::<Vec<_>>());
        }
        if self.has(Fault::OnlyAHundredRequests) {
            found.truncate(100);
        }
        if self.has(Fault::OnlyAMegabyteOfClaims) {
            let mut left = 1 << 20;
            found.retain(|claim| {
                left -= claim.metadata.as_str().len().min(left);
                left > 0
            });
        }
        if self.has(Fault::LandedClaimsAreHidden) {
            found.retain(|claim| !claim.metadata.as_str().contains("landed"));
        }
        if self.has(Fault::UpdateMovesCreatedAt) {
            for claim in found {
                claim.created_at = claim.updated_at;
            }
        }
    }
}

#[async_trait]
impl ChangeStore for Faulty {
    async fn create(&self, record: ChangeRecord) -> Result<CreateOutcome> {
        self.send().await?;
        let payload = record.metadata.clone();
        let created = self.spoilt_create(record).await;
        created.map_err(|error| self.spoilt(error, payload.as_str().as_bytes()))
    }

    async fn get_by_uri(&self, queue: &str, uri: &str) -> Result<Vec<ChangeRecord>> {
        self.send().await?;
        self.spoilt_read(queue, uri).await
    }

    async fn update_metadata(&self, key: &ChangeKey, update: MetadataUpdate) -> Result<()> {
        self.send().await?;
        let payload = update.metadata.clone();
        let updated = self.spoilt_update(key, update).await;
        updated.map_err(|error| self.spoilt(error, payload.as_str().as_bytes()))
    }
}
