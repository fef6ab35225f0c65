//! The cases of the `DocumentStore` contract.

mod cancellation;
mod counters;
mod data;
mod delete;
mod errors;
mod expiry;
mod get;
mod keys;
mod leases;
mod limits;
mod pages;
mod prefixes;
mod put;
mod put_conditions;
mod query;
mod races;
mod read_after_write;
mod records;
mod scans;
mod start_after;
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
                    a_clock_set_back_shows_what_it_had_hidden,
                    others_do_not_expire_with_it,
                }
                query {
                    the_order_is_that_of_the_sort_keys_bytes,
                    descending_is_the_same_backwards,
                    records_come_whole,
                    where_nothing_matches_it_is_empty,
                    the_limit_is_the_most_that_come,
                    a_limit_of_zero_is_none,
                    a_limit_over_what_is_there_asks_for_all,
                    limit_does_not_count_expired_records,
                    a_refused_argument_ends_the_stream,
                    every_combination_of_arguments_is_its_definition,
                }
                start_after {
                    the_record_itself_does_not_come,
                    no_record_need_have_it,
                    before_the_prefix_it_cuts_nothing_or_all,
                    behind_the_prefix_it_cuts_all_or_nothing,
                    it_may_equal_the_prefix,
                    its_record_may_be_gone,
                    it_may_be_a_counter,
                    the_last_key_of_a_page_leads_to_the_next,
                }
                prefixes {
                    pattern_characters_are_ordinary,
                    case_accents_and_spaces_count,
                    the_range_ends_behind_the_last_character,
                    the_greatest_character_alone_is_a_prefix,
                    the_record_of_the_prefix_itself_comes,
                    it_may_be_as_long_as_a_sort_key,
                }
                pages {
                    ten_thousand_records_come_once_and_in_order,
                    thousands_of_expired_ones_ahead_hide_nothing,
                    counters_ahead_hide_nothing,
                    records_of_many_megabytes_come_whole,
                    a_page_is_read_when_it_is_asked_for,
                }
                scans {
                    a_stream_may_be_dropped_early,
                    open_streams_hinder_nobody,
                    a_stream_outlives_what_it_was_made_from,
                    nothing_happens_before_it_is_polled,
                    what_nobody_touches_comes_exactly_once,
                    a_clock_that_moves_meanwhile_hides_no_living_record,
                }
                counters {
                    an_absent_counter_starts_at_the_delta,
                    deltas_add_up_in_both_directions,
                    a_delta_of_zero_reads_and_creates,
                    it_may_stand_at_the_ends_of_the_range,
                    overflow_is_an_invalid_delta_and_changes_nothing,
                    what_expired_cannot_overflow,
                    a_given_expiry_becomes_the_counters,
                    without_one_it_keeps_the_expiry_it_has,
                    an_expired_counter_starts_at_the_delta_with_no_old_expiry,
                    an_expiry_that_is_over_ends_the_counter,
                    each_key_counts_for_itself,
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
                races {
                    of_racing_puts_if_absent_exactly_one_wins,
                    of_racing_puts_on_one_version_exactly_one_wins,
                    of_racing_puts_on_one_etag_exactly_one_wins,
                    of_racing_deletes_on_one_etag_exactly_one_wins,
                    of_a_put_and_a_delete_on_one_etag_one_wins,
                    no_compare_and_set_is_lost,
                    racing_unconditional_puts_each_take_a_version,
                    racing_increments_see_every_value_once,
                    racing_increments_over_an_expired_counter_see_every_value_once,
                    racing_increments_never_pass_the_range,
                    of_a_racing_record_and_counter_one_kind_wins,
                }
                read_after_write {
                    get_sees_a_put,
                    get_sees_a_delete,
                    query_sees_puts_and_deletes,
                    an_increment_follows_another_tasks,
                }
                cancellation {
                    a_dropped_put_is_whole_or_absent,
                    a_dropped_replacement_leaves_the_old_or_the_new,
                    a_dropped_delete_has_happened_or_not,
                    a_dropped_increment_counts_at_most_once,
                    after_dropped_reads_the_store_goes_on,
                    calls_dropped_after_a_pause_answer_no_others,
                }
                errors {
                    they_name_backend_operation_and_key,
                    keys_are_printed_escaped,
                    nothing_printed_holds_data,
                    a_refused_query_says_so_in_the_stream,
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
