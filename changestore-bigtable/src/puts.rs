//! Puts: one request that carries the whole condition, or for an unconditional one, a read and then such a
//! request.
//!
//! An etag says which version it is of: so what follows an etag is known without asking.

use bytes::Bytes;
use changestore_core::{
    Condition, Error, ErrorKind, Etag, NewRecord, Record, RecordKind, Result, Timestamp, Version,
};
use changestore_retry::{Attempts, Resend, Sent};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::RowFilter;

use crate::cells::Standing;
use crate::filters;
use crate::layout;
use crate::mutations;
use crate::store::{Conditional, Shared};

/// Between the version and the token in an etag.
const SEPARATOR: char = '-';

/// A put, and the token by which it knows its own write again.
struct Put<'a> {
    record: &'a NewRecord,
    condition: &'a Condition,
    row: Bytes,
    token: Etag,
}

/// What a put writes over.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Nothing,
    Version(Version),
    Etag(Version, Etag),
}

/// What a put has come to know of its condition.
enum Judged {
    /// This put wrote what is there.
    Written(Version, Etag),
    /// What is there now would be written over.
    Holds(Target),
    Refused(ErrorKind),
}

impl Shared {
    pub(crate) async fn put(&self, record: NewRecord, condition: Condition) -> Result<Record> {
        let put = Put {
            record: &record,
            condition: &condition,
            row: layout::document_row(record.key()).into(),
            token: Etag::unique(),
        };
        let (version, etag) = self.written(&put).await?;
        Ok(record.into_record(version, etag))
    }

    /// Sends a put until it has its answer: what it wrote.
    async fn written(&self, put: &Put<'_>) -> Result<(Version, Etag)> {
        let mut attempts = self.attempts(Resend::Recognizes);
        let is_unconditional = *put.condition == Condition::None;
        let _turn = if is_unconditional {
            Some(attempts.wait_for(self.turns.turn(&put.row)).await?)
        } else {
            None
        };
        let mut target = Target::of(put.condition);
        let mut was_refused = false;
        // What an attempt was to write over whose reply was lost.
        let mut at_stake = None;
        loop {
            let now = self.now();
            let aim = match target.take() {
                Some(aim) => aim,
                None => match self.judge(put, &attempts, now).await? {
                    Judged::Written(version, etag) => return Ok((version, etag)),
                    Judged::Refused(kind) => return Err(attempts.refuse(Error::new(kind))),
                    Judged::Holds(aim) => {
                        if was_refused && !is_unconditional {
                            attempts.overtaken().await?;
                        }
                        aim
                    }
                },
            };
            if at_stake.as_ref().is_some_and(|stake| *stake != aim) {
                // Others have written, perhaps over what the lost attempt wrote: another would be our second.
                return Err(attempts.refuse(Error::new(ErrorKind::ConditionFailed)));
            }
            let version = aim.next_version()?;
            let etag = put.etag(version)?;
            let conditional = put.over(&aim, version, &etag, now);
            match self
                .check_and_mutate(&mut attempts, &put.row, conditional)
                .await?
            {
                Sent::Answered(matched) if matched != (aim == Target::Nothing) => {
                    return Ok((version, etag));
                }
                Sent::Answered(_) => {
                    was_refused = true;
                    if is_unconditional {
                        attempts.overtaken().await?;
                    }
                }
                Sent::Again if attempts.has_lost() && !matches!(aim, Target::Etag(..)) => {
                    // Nothing, and a version, may be there again, when others have deleted what we wrote.
                    return match self.judge(put, &attempts, now).await? {
                        Judged::Written(version, etag) => Ok((version, etag)),
                        _ => Err(attempts.refuse(Error::new(ErrorKind::ConditionFailed))),
                    };
                }
                Sent::Again => {
                    if is_unconditional && attempts.has_lost() {
                        at_stake = Some(aim.clone());
                    }
                    target = Some(aim);
                }
            }
        }
    }

    /// What is at the key, to this put.
    async fn judge(
        &self,
        put: &Put<'_>,
        attempts: &Attempts<'_>,
        now: Timestamp,
    ) -> Result<Judged> {
        let (version, etag) = match self.standing(attempts, &put.row, now).await? {
            Standing::Absent if put.condition.holds(None) => {
                return Ok(Judged::Holds(Target::Nothing));
            }
            Standing::Absent => return Ok(Judged::Refused(ErrorKind::ConditionFailed)),
            Standing::Counter(_) => {
                let stored = RecordKind::Counter;
                return Ok(Judged::Refused(ErrorKind::WrongKind { stored }));
            }
            Standing::Record { version, etag } => (version, etag),
        };
        Ok(if put.has_written(&etag) {
            Judged::Written(version, etag)
        } else if put.condition.holds(Some((version, &etag))) {
            Judged::Holds(Target::Etag(version, etag))
        } else {
            Judged::Refused(ErrorKind::ConditionFailed)
        })
    }
}

impl Put<'_> {
    fn etag(&self, version: Version) -> Result<Etag> {
        Etag::new(format!("{version}{SEPARATOR}{}", self.token))
    }

    fn has_written(&self, etag: &Etag) -> bool {
        let token = etag.as_str().split_once(SEPARATOR);
        token.is_some_and(|(_, token)| token == self.token.as_str())
    }

    fn over(&self, aim: &Target, version: Version, etag: &Etag, now: Timestamp) -> Conditional {
        let record = mutations::put(self.record, version, etag);
        match aim.predicate(now) {
            Some(predicate) => Conditional {
                predicate,
                if_matched: record,
                if_not: Vec::new(),
            },
            None => Conditional {
                predicate: filters::is_anything_live(now),
                if_matched: Vec::new(),
                if_not: record,
            },
        }
    }
}

impl Target {
    /// What the condition alone says is there; none if that has to be looked up.
    fn of(condition: &Condition) -> Option<Self> {
        match condition {
            // Nothing follows the greatest, so nothing can be written over it.
            Condition::None | Condition::IfVersion(Version::MAX) => None,
            Condition::IfAbsent => Some(Self::Nothing),
            Condition::IfVersion(version) => Some(Self::Version(*version)),
            Condition::IfEtag(etag) => {
                // An etag of another form is none of ours, and no record has it.
                let (version, _) = etag.as_str().split_once(SEPARATOR)?;
                let version = Version::new(version.parse().ok()?).ok()?;
                (version != Version::MAX).then(|| Self::Etag(version, etag.clone()))
            }
        }
    }

    fn next_version(&self) -> Result<Version> {
        match self {
            Self::Nothing => Ok(Version::FIRST),
            Self::Version(Version::MAX) | Self::Etag(Version::MAX, _) => {
                Err(Error::corrupt("there is no version after the greatest"))
            }
            Self::Version(version) | Self::Etag(version, _) => Ok(version.next()),
        }
    }

    /// Matches where the target is; none if the target is that nothing is there.
    fn predicate(&self, now: Timestamp) -> Option<RowFilter> {
        match self {
            Self::Nothing => None,
            Self::Version(version) => Some(filters::is_version(*version, now)),
            Self::Etag(_, etag) => Some(filters::is_etag(etag, now)),
        }
    }
}
