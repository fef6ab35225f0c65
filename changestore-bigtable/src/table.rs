//! The table: its families, making it where nobody else does, and seeing that it can be used.

use std::collections::BTreeMap;

use changestore_core::limits::GARBAGE_GRACE;
use changestore_core::{Error, ErrorKind, Operation, Result};
use changestore_retry::{Attempts, Resend};
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::gc_rule::Rule;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::modify_column_families_request::Modification;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::modify_column_families_request::modification::Mod;
use googleapis_tonic_google_bigtable_admin_v2::google::bigtable::admin::v2::{
    ColumnFamily, CreateTableRequest, GcRule, GetTableRequest, ModifyColumnFamiliesRequest, Table,
    table,
};
use googleapis_tonic_google_bigtable_v2::google::bigtable::v2::CheckAndMutateRowRequest;
use tonic::Code;

use crate::classify::Failure;
use crate::filters;
use crate::layout::{CLAIM, KEY, RECORD};
use crate::mutations;
use crate::store::{BigtableStore, Shared, call};

impl BigtableStore {
    /// Creates the table, or what it lacks of its families.
    ///
    /// For tests and small set-ups; `schema/` has the same for `cbt`. Nothing is changed about what is there
    /// already, rules of garbage collection included.
    ///
    /// # Errors
    /// [`Configuration`](ErrorKind::Configuration) if there is no such instance;
    /// [`PermissionDenied`](ErrorKind::PermissionDenied).
    pub async fn create_table(&self) -> Result<()> {
        let table = &self.shared.address.table;
        call(Operation::Migrate, table, self.shared.create_table()).await
    }

    /// What [`open`](crate::BigtableBuilder::open) sees to.
    pub(crate) async fn check(&self) -> Result<()> {
        let table = &self.shared.address.table;
        call(Operation::Open, table, self.shared.check()).await
    }
}

impl Shared {
    async fn create_table(&self) -> Result<()> {
        // Sent again it finds its own table.
        let mut attempts = self.attempts(Resend::Reads);
        let deadline = self.retries.policy().operation_timeout;
        let created = attempts.answer(async || {
            let request = CreateTableRequest {
                parent: self.address.instance_name(),
                table_id: self.address.table.clone(),
                table: Some(definition()),
                ..CreateTableRequest::default()
            };
            match self.transport.create_table(request, deadline).await {
                Ok(_) => Ok(true),
                Err(failure) if failure.code == Some(Code::AlreadyExists) => Ok(false),
                Err(failure) => Err(failure),
            }
        });
        if created.await? {
            return Ok(());
        }
        loop {
            let table = attempts.answer(|| self.described()).await?;
            let missing = missing(&table);
            if missing.is_empty() {
                return Ok(());
            }
            let added = attempts.answer(async || {
                let families = definition().column_families;
                let missing = families
                    .into_iter()
                    .filter(|(name, _)| missing.contains(&&**name));
                let request = ModifyColumnFamiliesRequest {
                    name: self.table.clone(),
                    modifications: missing.map(creation).collect(),
                    ..ModifyColumnFamiliesRequest::default()
                };
                match self.transport.modify_families(request, deadline).await {
                    Ok(_) => Ok(true),
                    // Somebody else is creating it, too.
                    Err(failure) if failure.code == Some(Code::AlreadyExists) => Ok(false),
                    Err(failure) => Err(failure),
                }
            });
            if added.await? {
                return Ok(());
            }
        }
    }

    async fn check(&self) -> Result<()> {
        let mut attempts = self.attempts(Resend::Reads);
        self.check_transactions(&mut attempts).await?;
        let table = match attempts.answer(|| self.described()).await {
            Ok(table) => table,
            // Data can be read and written without the right to look at the table.
            Err(error) if *error.kind() == ErrorKind::PermissionDenied => return Ok(()),
            Err(error) => return Err(error),
        };
        let missing = missing(&table);
        if missing.is_empty() {
            return Ok(());
        }
        let message = format!(
            "the table lacks the families {}; `changestore schema apply` creates them",
            missing.join(", ")
        );
        Err(Error::new(ErrorKind::Configuration).with_message(message))
    }

    /// Makes a conditional write that never happens: an app profile that does not allow single-row transactions
    /// refuses it, and so does an instance without such a table or app profile.
    async fn check_transactions(&self, attempts: &mut Attempts<'_>) -> Result<()> {
        let deadline = self.retries.policy().attempt_timeout;
        let checked = attempts.answer(async || {
            let request = CheckAndMutateRowRequest {
                table_name: self.table.clone(),
                app_profile_id: self.address.app_profile.clone(),
                // No key of ours: those have a NUL.
                row_key: b"changestore".as_slice().into(),
                predicate_filter: Some(filters::nothing()),
                true_mutations: vec![mutations::clear()],
                ..CheckAndMutateRowRequest::default()
            };
            self.transport
                .check_and_mutate(request, deadline)
                .await
                .map(drop)
        });
        match checked.await {
            // It may still read.
            Err(error) if is_lacking_a_right(&error) => Ok(()),
            checked => checked,
        }
    }

    async fn described(&self) -> Result<Table, Failure> {
        let request = GetTableRequest {
            name: self.table.clone(),
            view: table::View::SchemaView.into(),
        };
        let deadline = self.retries.policy().operation_timeout;
        self.transport.table(request, deadline).await
    }
}

/// The families of the table, and what the server may collect of them.
fn definition() -> Table {
    let family = |rule| ColumnFamily {
        gc_rule: Some(GcRule { rule: Some(rule) }),
        value_type: None,
    };
    let dead_for_a_day = || {
        Rule::MaxAge(prost_types::Duration {
            seconds: i64::try_from(GARBAGE_GRACE.as_secs()).unwrap_or(i64::MAX),
            nanos: 0,
        })
    };
    let families = [
        (CLAIM, family(Rule::MaxNumVersions(1))),
        (KEY, family(dead_for_a_day())),
        (RECORD, family(dead_for_a_day())),
    ];
    Table {
        column_families: families
            .map(|(name, family)| (name.to_owned(), family))
            .into(),
        ..Table::default()
    }
}

/// Those that a table lacks.
fn missing(table: &Table) -> Vec<&'static str> {
    let families: &BTreeMap<_, _> = &table.column_families;
    [CLAIM, KEY, RECORD]
        .into_iter()
        .filter(|family| !families.contains_key(*family))
        .collect()
}

fn creation((name, family): (String, ColumnFamily)) -> Modification {
    Modification {
        id: name,
        r#mod: Some(Mod::Create(family)),
        ..Modification::default()
    }
}

/// Unlike credentials that are not accepted at all.
fn is_lacking_a_right(error: &Error) -> bool {
    *error.kind() == ErrorKind::PermissionDenied
        && error
            .message()
            .is_some_and(|message| message.contains("lack a right"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DEFAULT_TABLE, schema};

    /// A family as `cbt` takes it.
    fn as_cbt((name, family): (&String, &ColumnFamily)) -> String {
        let rule = match family.gc_rule.as_ref().and_then(|gc| gc.rule.as_ref()) {
            Some(Rule::MaxNumVersions(versions)) => format!("maxversions={versions}"),
            Some(Rule::MaxAge(age)) => format!("maxage={}d", age.seconds / 86_400),
            other => panic!("{other:?}"),
        };
        format!("{name}:{rule}")
    }

    #[test]
    fn the_commands_of_cbt_create_what_the_code_creates() {
        let commands: Vec<_> = schema::CREATE_TABLE
            .lines()
            .filter(|line| !line.starts_with('#'))
            .collect();
        let families = definition().column_families;
        let families: Vec<_> = families.iter().map(as_cbt).collect();
        let expected = format!(
            "cbt createtable {DEFAULT_TABLE} \"families={}\"",
            families.join(",")
        );
        assert_eq!(commands, [expected]);
    }
}
