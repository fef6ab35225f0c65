//! What is bound to the writes' statements, in the order of their parameters.

use changestore_core::{Condition, Timestamp};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Arguments, Encode, Sqlite, Type};

use super::script::Kind;
use crate::flow::write::Write;

type Result<T, E = sqlx::Error> = std::result::Result<T, E>;
/// Collects arguments; the first one that cannot be encoded fails it.
#[derive(Debug, Default)]
pub(super) struct Binder(SqliteArguments);

impl Binder {
    fn bind<'t, T: Encode<'t, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> Result<()> {
        self.0.add(value).map_err(sqlx::Error::Encode)
    }

    pub(super) fn finish(self) -> SqliteArguments {
        self.0
    }

    /// Binds what a write of this kind needs.
    pub(super) fn write(&mut self, kind: Kind, write: &Write, now: Timestamp) -> Result<()> {
        let now = now.as_millis();
        match (kind, write) {
            (Kind::Create, Write::Create(claim)) => {
                self.bind(claim.key.queue())?;
                self.bind(claim.key.uri())?;
                self.bind(claim.key.request_id())?;
                self.bind(claim.version.as_i64())?;
                self.bind(claim.created_at.as_millis())?;
                self.bind(claim.updated_at.as_millis())?;
                self.bind(claim.metadata.as_str())
            }
            (Kind::UpdateMetadata, Write::UpdateMetadata { key, update }) => {
                self.bind(update.new_version.as_i64())?;
                self.bind(update.updated_at.as_millis())?;
                self.bind(update.metadata.as_str())?;
                let key = [key.queue(), key.uri(), key.request_id()];
                key.iter().try_for_each(|part| self.bind(*part))?;
                self.bind(update.old_version.as_i64())?;
                key.iter().try_for_each(|part| self.bind(*part))
            }
            (
                Kind::Put,
                Write::Put {
                    record,
                    condition,
                    etag,
                },
            ) => {
                let key = record.key();
                self.bind(key.pk())?;
                self.bind(key.sk())?;
                self.bind(record.expire_at().map(Timestamp::as_millis))?;
                self.bind(etag.as_str())?;
                self.bind(&record.data()[..])?;
                self.bind(now)?;
                self.bind(now)?;
                self.bind(*condition == Condition::None)?;
                self.standing(key.pk(), key.sk(), now)
            }
            (
                Kind::Replace,
                Write::Put {
                    record,
                    condition,
                    etag,
                },
            ) => {
                let key = record.key();
                self.bind(record.expire_at().map(Timestamp::as_millis))?;
                self.bind(etag.as_str())?;
                self.bind(&record.data()[..])?;
                self.bind(key.pk())?;
                self.bind(key.sk())?;
                self.bind(now)?;
                self.condition(condition)?;
                self.standing(key.pk(), key.sk(), now)
            }
            (Kind::Delete, Write::Delete { key, condition }) => {
                self.bind(key.pk())?;
                self.bind(key.sk())?;
                self.bind(now)?;
                self.bind(*condition == Condition::None)?;
                self.condition(condition)?;
                self.standing(key.pk(), key.sk(), now)
            }
            (
                Kind::Increment,
                Write::Increment {
                    key,
                    delta,
                    expire_at,
                },
            ) => {
                self.bind(key.pk())?;
                self.bind(key.sk())?;
                self.bind(expire_at.map(Timestamp::as_millis))?;
                self.bind(*delta)?;
                self.bind(now)?;
                self.bind(now)?;
                self.bind(now)?;
                self.standing(key.pk(), key.sk(), now)
            }
            (kind, _) => Err(sqlx::Error::Protocol(format!(
                "a write of another kind in a script of {kind:?}"
            ))),
        }
    }

    fn condition(&mut self, condition: &Condition) -> Result<()> {
        let (version, etag) = match condition {
            Condition::None | Condition::IfAbsent => (None, None),
            Condition::IfVersion(version) => (Some(version.as_i64()), None),
            Condition::IfEtag(etag) => (None, Some(etag.as_str())),
        };
        self.bind(version)?;
        self.bind(etag)
    }

    fn standing(&mut self, pk: &str, sk: &str, now: i64) -> Result<()> {
        self.bind(pk)?;
        self.bind(sk)?;
        self.bind(now)
    }
}
