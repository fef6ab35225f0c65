//! What PostgreSQL adds to the contracts: schemas, sessions, poolers, lost servers, other processes.
//!
//! The program starts itself again in a role ([`processes`]); hence its own `main`, with the options and
//! the output of any other test program. Everything here needs a server: that of
//! `CHANGESTORE_POSTGRES_URL`, or one of its own to be killed, and is ignored unless it is asked for.

mod cancellation;
mod corruption;
mod databases;
mod isolation;
mod keys;
mod killed;
mod opening;
mod pooler;
mod processes;
mod restart;
mod server;
mod sessions;
#[path = "../support/killed.rs"]
mod writer;

use std::future::Future;

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::Runtime;

fn trial<F: Future<Output = ()> + 'static>(name: &str, test: fn() -> F) -> Trial {
    Trial::test(name, move || {
        Runtime::new()?.block_on(test());
        Ok::<(), Failed>(())
    })
    .with_ignored_flag(true)
}

/// A trial for each function, by its module and name.
macro_rules! trials {
    ($($module:ident: $($test:ident)+;)+) => {
        vec![$($(trial(
            concat!(stringify!($module), "::", stringify!($test)),
            $module::$test,
        ),)+)+]
    };
}

fn main() {
    if processes::play_role() || killed::play_role() {
        return;
    }
    let trials = trials! {
        cancellation:
            four_hundred_dropped_operations_leave_a_small_store_whole
            four_hundred_dropped_operations_leave_a_small_pool_whole;
        corruption:
            spoiled_documents_are_told_and_harm_nobody
            spoiled_claims_are_told_and_harm_nobody;
        databases:
            texts_of_bytes_have_any_form
            an_encoding_that_sorts_otherwise_is_refused
            a_role_that_may_not_use_the_schema_is_told_so
            a_role_with_the_least_rights_does_everything
            an_idle_session_that_was_ended_costs_no_write;
        isolation:
            every_level_of_the_pools_sessions_is_exact
            a_transaction_of_the_owners_is_waited_for
            a_lock_timeout_of_the_roles_reaches_nobody;
        keys:
            keys_are_ordered_by_bytes_where_the_database_is_not
            a_long_compressible_key_is_refused_by_the_table
            metadata_are_kept_with_null_escapes_and_spacing
            every_statement_goes_by_the_key_alone;
        killed:
            what_was_acknowledged_survives_a_kill_of_the_process
            what_was_acknowledged_survives_a_kill_of_both;
        opening:
            a_missing_schema_is_named
            an_older_and_a_newer_schema_are_told
            many_processes_migrate_at_once
            a_prefix_and_a_schema_keep_stores_apart
            no_error_prints_the_password
            a_database_that_is_not_there_is_named
            a_closed_store_refuses_and_gives_the_pool_back;
        pooler:
            all_operations_go_through_a_pooler_in_transaction_mode
            with_prepared_statements_the_error_says_what_to_do;
        processes:
            two_processes_of_64_tasks_never_disagree;
        restart:
            what_was_acknowledged_survives_a_kill_of_the_server
            an_idle_store_writes_on_after_a_restart;
        sessions:
            creates_that_wait_are_one_statement
            a_replica_is_named
            garbage_is_collected_by_those_who_write
            a_statement_that_hangs_is_given_up;
    };
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
