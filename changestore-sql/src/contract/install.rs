//! Enabling: from what is there to what is planned, in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use changestore_core::{Error, Result};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;
use uuid::Uuid;

use super::armed::fault;
use super::enabled::Enabled;
use super::failure::failed;
use super::installed::{Installed, armed, position};
use super::objects::{self, Presence, drop_object};
use super::plan::{ContractPlan, DEFAULT_RETENTION, Mode};
use super::state::{advance_generation, set_retention};
use super::table_info::TableInfo;
use super::tracked::Tracked;
use super::triggers::TableTriggers;

/// Makes it so, in the caller's transaction: everything or, on an error, nothing.
pub(super) async fn enable(
    connection: &mut SqliteConnection,
    plan: &ContractPlan,
) -> Result<Enabled> {
    plan.check()?;
    let presence = objects::presence(connection).await?;
    let installed = match presence {
        Presence::Whole => Some(Installed::read(connection).await?),
        Presence::Absent | Presence::Partial => None,
    };
    let keeps = plan.is_empty();
    let plan = match &installed {
        Some(installed) if keeps => kept(installed, plan.retention, connection).await?,
        None if keeps => {
            return Err(Error::invalid_argument(
                "tables",
                "there is nothing to track",
            ));
        }
        _ => plan.clone(),
    };
    let mut tables = Vec::with_capacity(plan.tables.len());
    for (name, mode) in &plan.tables {
        tables.push(Tracked::find(connection, name, *mode).await?);
    }
    let families = existing_names(connection, &plan.families).await?;
    let retention = plan
        .retention
        .map(|retention| i64::try_from(retention).unwrap_or(i64::MAX));
    if installed.is_none() {
        let survived = match presence {
            Presence::Partial => objects::surviving_retention(connection).await?,
            _ => None,
        };
        objects::drop_all(connection).await?;
        let default = i64::try_from(DEFAULT_RETENTION).unwrap_or(i64::MAX);
        let retention = retention.or(survived).unwrap_or(default);
        let epoch = Uuid::new_v4().simple().to_string();
        objects::create(connection, &epoch, retention).await?;
    }
    let change = Change {
        installed: installed.as_ref(),
        keeps,
        connection: &mut *connection,
    };
    let mut enabled = change.apply(&tables, &families).await?;
    if let (Some(installed), Some(retention)) = (&installed, retention)
        && retention != installed.retention
    {
        set_retention(connection, retention).await?;
        enabled.retention_changed = true;
    }
    enabled.position = position(connection).await?;
    let retention: i64 = sqlx::query_scalar("SELECT retention FROM change_contract_state")
        .fetch_one(connection)
        .await
        .map_err(failed)?;
    enabled.retention = u64::try_from(retention).unwrap_or_default();
    Ok(enabled)
}

/// The plan of a contract that is to stay what it is. Tables that were dropped are left out, and stay known
/// all the same: they have their identifiers again when they are created anew.
async fn kept(
    installed: &Installed,
    retention: Option<u64>,
    connection: &mut SqliteConnection,
) -> Result<ContractPlan> {
    let mut tables = BTreeMap::new();
    for definition in &installed.definitions {
        if TableInfo::read(connection, &definition.name)
            .await?
            .is_some()
        {
            tables.insert(definition.name.clone(), definition.mode.parse::<Mode>()?);
        }
    }
    Ok(ContractPlan {
        tables,
        families: installed.families.clone(),
        retention,
    })
}

/// The families with the names that the tables were created by; readers compare them byte by byte.
async fn existing_names(
    connection: &mut SqliteConnection,
    families: &BTreeMap<String, BTreeSet<String>>,
) -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut result = BTreeMap::new();
    for (family, tables) in families {
        let mut names = BTreeSet::new();
        for table in tables {
            let found = TableInfo::read(connection, table).await?;
            names.insert(found.map_or_else(|| table.clone(), |info| info.name));
        }
        result.insert(family.clone(), names);
    }
    Ok(result)
}

/// The step from one set of tables and families to another.
struct Change<'a> {
    installed: Option<&'a Installed>,
    /// Tables that were dropped stay known.
    keeps: bool,
    connection: &'a mut SqliteConnection,
}

impl Change<'_> {
    async fn apply(
        mut self,
        tables: &[Tracked],
        families: &BTreeMap<String, BTreeSet<String>>,
    ) -> Result<Enabled> {
        let mut armed = armed(self.connection).await?;
        let mut added = Vec::new();
        let mut rearmed = Vec::new();
        for table in tables {
            let name = &table.info.name;
            let known = self.installed.and_then(|installed| {
                let definition = installed.definition(name)?;
                Some((installed, definition))
            });
            match known {
                None => {
                    let id = self.next_id().await?;
                    let triggers = table.triggers(id);
                    self.define(table, id, &triggers).await?;
                    self.arm(table, id, &triggers, &armed).await?;
                    strike(&mut armed, &triggers);
                    added.push(name.clone());
                }
                Some((installed, definition)) => {
                    let triggers = table.triggers(definition.id);
                    let fault = fault(self.connection, table, installed, definition, &armed);
                    if fault.await?.is_some() {
                        self.define(table, definition.id, &triggers).await?;
                        self.arm(table, definition.id, &triggers, &armed).await?;
                        rearmed.push(name.clone());
                    }
                    strike(&mut armed, &triggers);
                }
            }
        }
        let removed = self.remove(tables).await?;
        // What is left is of tables that are no longer tracked, or came along when a table was renamed.
        for trigger in armed.keys() {
            drop_object(self.connection, "trigger", trigger).await?;
        }
        let before = self.installed.map(|installed| &installed.families);
        let families_changed = before != Some(families);
        if families_changed {
            self.set_families(families).await?;
        }
        let joined = families.iter().any(|(family, tables)| {
            before.is_some_and(|before| {
                // One that is new may have been there before, with a reader that has not forgotten it.
                before
                    .get(family)
                    .is_none_or(|before| !tables.is_subset(before))
            })
        });
        if let Some(reason) = reason(&added, &rearmed, joined).filter(|_| self.installed.is_some())
        {
            advance_generation(self.connection, reason).await?;
        }
        let created = self.installed.is_none();
        Ok(Enabled {
            added: if created { Vec::new() } else { added },
            families_changed: families_changed && !created,
            created,
            removed,
            rearmed,
            retention_changed: false,
            retention: 0,
            position: position(self.connection).await?,
        })
    }

    /// An identifier that no table has had.
    async fn next_id(&mut self) -> Result<i64> {
        sqlx::query_scalar(
            "UPDATE change_contract_state SET next_table_id = next_table_id + 1
             RETURNING next_table_id - 1",
        )
        .fetch_one(&mut *self.connection)
        .await
        .map_err(failed)
    }

    /// Records a table. Its `last_seq` stays what it is.
    async fn define(&mut self, table: &Tracked, id: i64, triggers: &TableTriggers) -> Result<()> {
        sqlx::query("INSERT OR REPLACE INTO change_contract_definitions VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")
            .bind(id)
            .bind(&table.info.name)
            .bind(table.mode.as_str())
            .bind(table.key_columns())
            .bind(&triggers.insert.sql)
            .bind(&triggers.update.sql)
            .bind(&triggers.delete.sql)
            .execute(&mut *self.connection)
            .await
            .map_err(failed)?;
        sqlx::query("INSERT OR IGNORE INTO change_contract_positions VALUES (?1, 0)")
            .bind(id)
            .execute(&mut *self.connection)
            .await
            .map_err(failed)?;
        sqlx::query("DELETE FROM change_contract_triggers WHERE table_id = ?1")
            .bind(id)
            .execute(&mut *self.connection)
            .await
            .map_err(failed)?;
        for trigger in triggers.all() {
            sqlx::query("INSERT OR REPLACE INTO change_contract_triggers VALUES (?1, ?2, ?3)")
                .bind(&trigger.name)
                .bind(id)
                .bind(&trigger.sql)
                .execute(&mut *self.connection)
                .await
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Drops whatever has the table's triggers' names, or is on the table, and creates them.
    async fn arm(
        &mut self,
        table: &Tracked,
        id: i64,
        triggers: &TableTriggers,
        armed: &BTreeMap<String, (String, String)>,
    ) -> Result<()> {
        for (name, (on, _)) in armed {
            let same_name = triggers
                .all()
                .any(|trigger| trigger.name.eq_ignore_ascii_case(name));
            if same_name || on.eq_ignore_ascii_case(&table.info.name) {
                drop_object(self.connection, "trigger", name).await?;
            }
        }
        sqlx::query("DELETE FROM change_contract_notes WHERE table_id = ?1")
            .bind(id)
            .execute(&mut *self.connection)
            .await
            .map_err(failed)?;
        for trigger in triggers.all() {
            sqlx::query(AssertSqlSafe(trigger.sql.clone()))
                .execute(&mut *self.connection)
                .await
                .map_err(failed)?;
        }
        Ok(())
    }

    /// Forgets tables that are not planned. Their log entries stay until they are pruned.
    async fn remove(&mut self, tables: &[Tracked]) -> Result<Vec<String>> {
        let mut removed = Vec::new();
        let definitions = self.installed.map(|installed| &*installed.definitions);
        for definition in definitions.unwrap_or_default() {
            let planned = |table: &Tracked| table.info.name.eq_ignore_ascii_case(&definition.name);
            if self.keeps || tables.iter().any(planned) {
                continue;
            }
            for sql in [
                "DELETE FROM change_contract_triggers WHERE table_id = ?1",
                "DELETE FROM change_contract_definitions WHERE table_id = ?1",
                "DELETE FROM change_contract_positions WHERE id = ?1",
                "DELETE FROM change_contract_notes WHERE table_id = ?1",
            ] {
                sqlx::query(sql)
                    .bind(definition.id)
                    .execute(&mut *self.connection)
                    .await
                    .map_err(failed)?;
            }
            removed.push(definition.name.clone());
        }
        Ok(removed)
    }

    async fn set_families(&mut self, families: &BTreeMap<String, BTreeSet<String>>) -> Result<()> {
        sqlx::query("DELETE FROM change_contract_families")
            .execute(&mut *self.connection)
            .await
            .map_err(failed)?;
        for (family, tables) in families {
            for table in tables {
                sqlx::query("INSERT INTO change_contract_families VALUES (?1, ?2)")
                    .bind(family)
                    .bind(table)
                    .execute(&mut *self.connection)
                    .await
                    .map_err(failed)?;
            }
        }
        Ok(())
    }
}

fn strike(armed: &mut BTreeMap<String, (String, String)>, triggers: &TableTriggers) {
    armed.retain(|name, _| {
        !triggers
            .all()
            .any(|trigger| trigger.name.eq_ignore_ascii_case(name))
    });
}

/// Why readers have to read everything again, if they have to.
fn reason(added: &[String], rearmed: &[String], joined: bool) -> Option<String> {
    if !rearmed.is_empty() {
        Some(format!("re-armed {}", rearmed.join(", ")))
    } else if !added.is_empty() {
        Some(format!("tracked {}", added.join(", ")))
    } else if joined {
        Some("tables joined a family".to_owned())
    } else {
        None
    }
}
