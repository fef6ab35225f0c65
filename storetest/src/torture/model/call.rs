//! One call of a program, as a store is asked and as its model is.

use changestore_core::{
    ChangeKey, ChangeRecord, ChangeStore, Condition, DocumentStore, DocumentStoreExt as _, Error,
    ErrorKind, Etag, Key, MetadataUpdate, NewRecord, Outcome, QueryOptions, Result, Timestamp,
};

use super::told::{Answer, Told};

/// A call, and the time that the store's clock showed.
#[derive(Debug, Clone)]
pub(super) struct Call {
    /// No other call of the program has it.
    pub(super) number: usize,
    pub(super) now: Timestamp,
    pub(super) action: Action,
}

/// What is asked for. Etags are the store's.
#[derive(Debug, Clone)]
pub(super) enum Action {
    Get(Key),
    Put(NewRecord, Condition),
    Delete(Key, Condition),
    Increment(Key, i64, Option<Timestamp>),
    Query(String, String, QueryOptions),
    Create(ChangeRecord),
    GetByUri(String, String),
    UpdateMetadata(ChangeKey, MetadataUpdate),
}

/// What an action is about.
#[derive(Debug, PartialEq, Eq)]
enum Subject<'a> {
    Document(&'a Key),
    Partition(&'a str),
    Claim(&'a ChangeKey),
    Uri(&'a str, &'a str),
}

impl Call {
    /// Asks; an answer is what the contract may say, refusals too, and an error that something was in the way.
    pub(super) async fn ask(
        &self,
        documents: &dyn DocumentStore,
        changes: &dyn ChangeStore,
        etag: impl Fn(&Etag) -> Etag + Send,
    ) -> Result<Answer> {
        let understood = |condition: &Condition| match condition {
            Condition::IfEtag(its) => Condition::IfEtag(etag(its)),
            other => other.clone(),
        };
        let result = match &self.action {
            Action::Get(key) => documents
                .get(key)
                .await
                .map(|record| Answer::records(&[record])),
            Action::Put(record, condition) => documents
                .put(record.clone(), understood(condition))
                .await
                .map(|record| Answer::records(&[record])),
            Action::Delete(key, condition) => documents
                .delete(key, understood(condition))
                .await
                .map(|()| Told::Done.into()),
            Action::Increment(key, delta, expire_at) => documents
                .increment(key, *delta, *expire_at)
                .await
                .map(|value| Told::Counted(value).into()),
            Action::Query(pk, prefix, options) => documents
                .query_all(pk, prefix, options.clone())
                .await
                .map(|records| Answer::records(&records)),
            Action::Create(record) => changes
                .create(record.clone())
                .await
                .map(|outcome| Told::Created(outcome).into()),
            Action::GetByUri(queue, uri) => changes
                .get_by_uri(queue, uri)
                .await
                .map(|claims| Told::Claims(claims).into()),
            Action::UpdateMetadata(key, update) => changes
                .update_metadata(key, update.clone())
                .await
                .map(|()| Told::Done.into()),
        };
        result.or_else(|error| {
            if is_in_the_way(&error) {
                return Err(error);
            }
            Ok(Told::refusal(&error).into())
        })
    }

    pub(super) fn is_write(&self) -> bool {
        !matches!(
            self.action,
            Action::Get(_) | Action::Query(..) | Action::GetByUri(..)
        )
    }

    pub(super) fn is_of_documents(&self) -> bool {
        matches!(self.subject(), Subject::Document(_) | Subject::Partition(_))
    }

    /// Whether one of the two can see what the other does.
    pub(super) fn meets(&self, other: &Self) -> bool {
        let has = |whole: &Subject<'_>, part: &Subject<'_>| match (whole, part) {
            (Subject::Partition(pk), Subject::Document(key)) => *pk == key.pk(),
            (Subject::Uri(queue, uri), Subject::Claim(key)) => {
                (*queue, *uri) == (key.queue(), key.uri())
            }
            (whole, part) => whole == part,
        };
        let (mine, others) = (self.subject(), other.subject());
        has(&mine, &others) || has(&others, &mine)
    }

    fn subject(&self) -> Subject<'_> {
        match &self.action {
            Action::Put(record, _) => Subject::Document(record.key()),
            Action::Get(key) | Action::Delete(key, _) | Action::Increment(key, ..) => {
                Subject::Document(key)
            }
            Action::Query(pk, ..) => Subject::Partition(pk),
            Action::Create(record) => Subject::Claim(&record.key),
            Action::UpdateMetadata(key, _) => Subject::Claim(key),
            Action::GetByUri(queue, uri) => Subject::Uri(queue, uri),
        }
    }
}

/// Whether a call failed for no reason of the contract's.
fn is_in_the_way(error: &Error) -> bool {
    let is_of_the_contract = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::ConditionFailed
            | ErrorKind::VersionMismatch { .. }
            | ErrorKind::WrongKind { .. }
            | ErrorKind::InvalidArgument { .. }
            | ErrorKind::TooLarge { .. }
            | ErrorKind::Corrupt
    );
    !is_of_the_contract || error.outcome() == Outcome::Unknown
}
