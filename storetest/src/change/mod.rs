//! The cases of the `ChangeStore` contract.

mod cancellation;
mod claims;
mod create;
mod errors;
mod get_by_uri;
mod identity;
mod limits;
mod metadata;
mod races;
mod read_after_write;
mod update_metadata;

use crate::cases::CaseName;
use crate::harness::Harness;

/// The list of cases; the only place where their names stand.
#[doc(hidden)]
#[macro_export]
macro_rules! __change_cases {
    ($mode:ident [$($arguments:tt)*]) => {
        $crate::__expand! {
            $mode [$($arguments)*]
            change {
                create {
                    the_same_triple_again_changes_nothing,
                    created_is_told_from_already_there,
                    a_redelivery_does_not_undo_an_update,
                    requests_stand_side_by_side_on_one_uri,
                    a_version_other_than_one_is_refused,
                    times_are_the_callers,
                    a_created_claim_comes_back_whole,
                }
                races {
                    of_racing_creates_exactly_one_is_created,
                    racing_creates_of_many_claims_each_have_one_winner,
                    racing_requests_on_one_uri_are_all_created,
                    of_racing_updates_on_one_version_exactly_one_wins,
                    no_update_is_lost,
                }
                identity {
                    confusable_queues_are_different,
                    confusable_uris_are_different,
                    confusable_requests_are_different,
                    separators_inside_the_parts_move_nothing,
                    parts_do_not_move_between_uri_and_request,
                    a_key_is_the_same_however_it_was_made,
                }
                limits {
                    each_part_at_its_longest_is_stored,
                    all_parts_at_their_longest_at_once_are_stored,
                    the_last_byte_of_the_longest_part_counts,
                    one_byte_more_is_refused,
                    a_text_over_the_limit_is_not_cut_to_it,
                    characters_are_counted_in_bytes,
                    empty_parts_are_refused,
                    nul_is_refused,
                }
                get_by_uri {
                    without_claims_the_list_is_empty,
                    a_queue_does_not_see_another_queues_claims,
                    a_prefix_of_a_uri_is_another_uri,
                    the_order_is_that_of_the_request_ids_bytes,
                    a_thousand_requests_on_one_uri_all_come,
                    claims_of_several_megabytes_all_come,
                    nothing_is_filtered_by_owner_or_state,
                }
                metadata {
                    empty_text_is_an_empty_object,
                    spacing_and_the_order_of_keys_survive,
                    duplicate_keys_survive,
                    numbers_keep_their_digits,
                    escapes_survive,
                    any_json_value_is_legal,
                    nesting_has_no_limit,
                    the_longest_text_is_stored,
                    one_byte_more_is_refused,
                    what_is_no_json_is_refused,
                }
                update_metadata {
                    it_sets_metadata_version_and_time_and_nothing_else,
                    without_a_claim_it_is_not_found,
                    a_mismatch_carries_the_stored_version,
                    a_mismatch_changes_nothing,
                    the_same_metadata_at_the_right_version_succeed,
                    the_new_version_is_whatever_the_caller_says,
                    a_new_version_of_zero_is_refused,
                    other_claims_stay_untouched,
                }
                read_after_write {
                    another_task_sees_the_claim,
                    another_task_sees_the_update,
                }
                cancellation {
                    a_dropped_create_is_whole_or_absent,
                    a_dropped_update_is_whole_or_absent,
                    after_dropped_reads_the_store_goes_on,
                    calls_dropped_after_a_pause_answer_no_others,
                }
                errors {
                    they_name_backend_operation_and_key,
                    keys_are_printed_escaped,
                    nothing_printed_holds_metadata,
                    a_refused_argument_is_no_other_kind,
                }
            }
        }
    };
}

/// The names of all cases.
pub const CASES: &[CaseName] = __change_cases!(names []);

/// Runs one case by its name.
///
/// # Panics
/// If the case fails, or there is none of that name.
pub fn run(harness: &dyn Harness, topic: &str, case: &str) {
    __change_cases!(dispatch [harness, topic, case, changes]);
}
