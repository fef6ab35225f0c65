//! The cases of the `DocumentStore` contract.

mod data;
mod delete;
mod expiry;
mod get;
mod keys;
mod leases;
mod limits;
mod put;
mod put_conditions;
mod records;
mod wrong_kind;

use crate::cases::CaseName;
use crate::harness::Harness;

/// The list of cases; the only place where their names stand.
#[doc(hidden)]
#[macro_export]
macro_rules! __document_cases {
    ($mode:ident [$($arguments:tt)*]) => {
        $crate::__expand! {
            $mode [$($arguments)*]
            document {
                keys {
                    confusable_partition_keys_are_different,
                    confusable_sort_keys_are_different,
                    separators_inside_the_parts_move_nothing,
                    confusable_keys_are_different_counters,
                    a_partition_does_not_see_another_ones_records,
                }
                limits {
                    each_part_at_its_longest_is_stored,
                    both_parts_at_their_longest_at_once_are_stored,
                    the_last_byte_of_the_longest_part_counts,
                    a_counter_may_have_the_longest_key,
                    one_byte_more_is_refused,
                    characters_are_counted_in_bytes,
                    empty_parts_are_refused,
                    nul_is_refused,
                }
                data {
                    empty_data_are_data,
                    every_byte_survives,
                    bytes_that_are_no_text_survive,
                    the_longest_data_are_stored,
                    one_byte_more_is_refused,
                }
                get {
                    a_missing_record_is_not_found,
                    it_returns_what_the_last_put_returned,
                }
                put {
                    it_returns_the_record_as_stored,
                    versions_count_from_one_without_gaps,
                    after_a_delete_versions_start_again,
                    no_two_writes_have_the_same_etag,
                    data_are_replaced_whole,
                    expiry_is_replaced_too,
                    an_earlier_expiry_holds,
                    what_has_expired_already_is_absent_at_once,
                }
                put_conditions {
                    over_a_live_record,
                    where_nothing_was_ever,
                    where_a_record_was_deleted,
                    where_a_record_has_expired,
                    if_version_zero_is_if_absent,
                    a_failed_put_does_not_prolong_a_life,
                }
                delete {
                    a_deleted_record_is_gone,
                    under_a_condition_that_holds,
                    a_stale_version_or_etag_fails_and_deletes_nothing,
                    what_is_missing_is_not_found_whatever_the_condition,
                    if_absent_is_an_invalid_argument,
                    only_the_record_of_that_key_goes,
                }
                leases {
                    while_it_is_held_nobody_else_gets_it,
                    its_holder_renews_and_releases_it,
                    the_old_etag_fails_after_it_was_deleted_and_made_again,
                    the_old_etag_fails_after_it_expired_and_was_made_again,
                    it_cannot_be_renewed_once_it_expired,
                    of_racing_heirs_exactly_one_gets_it,
                }
                expiry {
                    get_sees_a_record_up_to_its_last_millisecond,
                    query_sees_a_record_up_to_its_last_millisecond,
                    put_finds_nothing_where_a_record_expired,
                    after_expiry_versions_start_again,
                    delete_does_not_find_what_expired,
                    increment_counts_a_counter_up_to_its_last_millisecond,
                    the_latest_time_is_far_away,
                    without_expiry_a_record_stays,
                    only_the_stores_clock_counts,
                    others_do_not_expire_with_it,
                }
                wrong_kind {
                    a_put_at_a_counter_is_refused_whatever_the_condition,
                    an_increment_at_a_record_is_refused,
                    get_does_not_see_counters,
                    query_does_not_see_counters,
                    delete_does_not_see_counters,
                    an_expired_counter_makes_way_for_a_record,
                    an_expired_record_makes_way_for_a_counter,
                    a_deleted_record_makes_way_for_a_counter,
                }
            }
        }
    };
}

/// The names of all cases.
pub const CASES: &[CaseName] = __document_cases!(names []);

/// Runs one case by its name.
///
/// # Panics
/// If the case fails, or there is none of that name.
pub fn run(harness: &dyn Harness, topic: &str, case: &str) {
    __document_cases!(dispatch [harness, topic, case, documents]);
}
