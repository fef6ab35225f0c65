//! The table: each mistake that a real adapter makes, and the case that names it.

use storetest::CaseName;

macro_rules! faults {
    ($($(#[doc = $mistake:literal])+ $fault:ident => $contract:ident::$topic:ident::$case:ident;)*) => {
        /// A mistake that [`Faulty`](crate::store::Faulty) makes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Fault {
            $($(#[doc = $mistake])+ $fault,)*
        }

        /// Every fault with the case that must fail because of it.
        pub(crate) const TABLE: &[(Fault, CaseName)] = &[$((
            Fault::$fault,
            CaseName {
                contract: stringify!($contract),
                topic: stringify!($topic),
                case: stringify!($case),
            },
        ),)*];
    };
}

faults! {
    // Claims: keys.
    /// A collation that ignores case.
    UrisFoldCase => change::identity::confusable_uris_are_different;
    /// A collation that pads with spaces.
    RequestsLoseTrailingSpaces => change::identity::confusable_requests_are_different;
    /// A composite key without escapes: `(a, b/c)` and `(a/b, c)` meet.
    ClaimPartsAreJoined => change::identity::separators_inside_the_parts_move_nothing;
    /// INSERT IGNORE, or an index on a prefix: only so many bytes of a key are kept.
    UrisAreCut => change::limits::the_last_byte_of_the_longest_part_counts;
    /// What the types do not check (plain text) is cut and not refused.
    LongArgumentsAreCut => change::limits::a_text_over_the_limit_is_not_cut_to_it;
    /// Nobody looks at the plain arguments.
    EmptyArgumentsFindNothing => change::limits::empty_parts_are_refused;

    // Claims: create.
    /// An upsert: the last write wins.
    CreateOverwrites => change::create::the_same_triple_again_changes_nothing;
    /// The duplicate key is passed on as an error.
    CreateAgainFails => change::create::created_is_told_from_already_there;
    /// The count of affected rows is the same for both.
    CreateAlwaysSaysCreated => change::create::created_is_told_from_already_there;
    /// Whatever version the record has, 1 is written.
    CreateTakesAnyVersion => change::create::a_version_other_than_one_is_refused;
    /// The database's `now()` instead of the caller's time.
    CreateTakesTheStoresTime => change::create::times_are_the_callers;
    /// Look, then insert: the losers of a race fail.
    CreateIsNotAtomic => change::races::of_racing_creates_exactly_one_is_created;
    /// Insert a row, then fill it in another statement.
    CreateHasTwoSteps => change::cancellation::a_dropped_create_is_whole_or_absent;

    // Claims: metadata.
    /// A JSON type that normalises.
    MetadataAreNormalised => change::metadata::spacing_and_the_order_of_keys_survive;
    /// Numbers go through a float.
    MetadataNumbersAreFloats => change::metadata::numbers_keep_their_digits;
    /// A JSON type that cannot hold NUL.
    MetadataRefuseNulEscapes => change::metadata::escapes_survive;
    /// The server's JSON check gives up at a depth.
    MetadataHaveADepth => change::metadata::nesting_has_no_limit;
    /// A column that is a little too short.
    MetadataAreShort => change::metadata::the_longest_text_is_stored;

    // Claims: updates.
    /// No version in the WHERE clause.
    UpdateIgnoresTheVersion => change::update_metadata::a_mismatch_changes_nothing;
    /// No request in the WHERE clause.
    UpdateReachesOtherRequests => change::update_metadata::other_claims_stay_untouched;
    /// Read, compare, then write.
    UpdateIsNotAtomic => change::races::of_racing_updates_on_one_version_exactly_one_wins;
    /// Zero affected rows are taken for success.
    UpdateOfNothingSucceeds => change::update_metadata::without_a_claim_it_is_not_found;
    /// The count of changed rows is taken for the count of matched ones.
    UpdateToTheSameFails => change::update_metadata::the_same_metadata_at_the_right_version_succeed;
    /// The mismatch reports what was asked for.
    MismatchCarriesTheAskedVersion => change::update_metadata::a_mismatch_carries_the_stored_version;
    /// `version = version + 1`, whatever the caller says.
    UpdateAddsOne => change::update_metadata::the_new_version_is_whatever_the_caller_says;
    /// `ON UPDATE CURRENT_TIMESTAMP`, in the wrong column.
    UpdateMovesCreatedAt
        => change::update_metadata::it_sets_metadata_version_and_time_and_nothing_else;

    // Claims: reads.
    /// The queue is not part of the look-up.
    QueuesLeak => change::get_by_uri::a_queue_does_not_see_another_queues_claims;
    /// The uri is looked up as a prefix.
    UrisMatchByPrefix => change::get_by_uri::a_prefix_of_a_uri_is_another_uri;
    /// The client sorts as its language sorts strings.
    RequestsInUtf16Order => change::get_by_uri::the_order_is_that_of_the_request_ids_bytes;
    /// Only the first page is read.
    OnlyAHundredRequests => change::get_by_uri::a_thousand_requests_on_one_uri_all_come;
    /// Only the first megabyte is read.
    OnlyAMegabyteOfClaims => change::get_by_uri::claims_of_several_megabytes_all_come;
    /// The store thinks that it knows which claims count.
    LandedClaimsAreHidden => change::get_by_uri::nothing_is_filtered_by_owner_or_state;
    /// A cache, or a replica that lags behind.
    ClaimsAreStale => change::read_after_write::another_task_sees_the_claim;

    // Both: failures and dropped futures.
    /// A connection is lost with each dropped future.
    DroppedCallsLeakConnections => change::cancellation::after_dropped_reads_the_store_goes_on;
    /// The adapter forgets its name.
    ErrorsNameNoBackend => document::errors::they_name_backend_operation_and_key;
    /// The key was not at hand where the error was made.
    ErrorsNameNoKey => change::errors::they_name_backend_operation_and_key;
    /// The failing row is put into the message.
    ErrorsPrintThePayload => document::errors::nothing_printed_holds_data;

    // Documents: keys and data.
    /// A collation that ignores case.
    SortKeysFoldCase => document::keys::confusable_sort_keys_are_different;
    /// A composite key without escapes.
    KeyPartsAreJoined => document::keys::separators_inside_the_parts_move_nothing;
    /// A partition's range ends with those of which its key is a prefix.
    PartitionsLeak => document::keys::a_partition_does_not_see_another_ones_records;
    /// Only so many bytes of a key are kept.
    SortKeysAreCut => document::limits::the_last_byte_of_the_longest_part_counts;
    /// Data go through a string.
    DataAreText => document::data::bytes_that_are_no_text_survive;
    /// Data go through a C string.
    DataEndAtNul => document::data::every_byte_survives;
    /// Empty is taken for missing.
    EmptyDataAreRefused => document::data::empty_data_are_data;

    // Documents: conditions.
    /// Version 0 is compared like any other.
    VersionZeroIsNoAbsence => document::put_conditions::if_version_zero_is_if_absent;
    /// A version was asked for, nothing is there, and it is written.
    StaleVersionsCreate => document::put_conditions::where_nothing_was_ever;
    /// The failure is reported after the write.
    FailedPutsWrite => document::put_conditions::over_a_live_record;
    /// Read, compare, then write.
    PutIsNotAtomic => document::races::of_racing_puts_on_one_etag_exactly_one_wins;
    /// Read the version, add one, write without a condition.
    VersionsAreNotAtomic => document::races::racing_unconditional_puts_each_take_a_version;
    /// Insert a record, then fill it in another statement.
    PutHasTwoSteps => document::cancellation::a_dropped_put_is_whole_or_absent;
    /// The old expiry stays where none is given.
    PutKeepsTheOldExpiry => document::put::expiry_is_replaced_too;
    /// The etag is the version.
    EtagIsTheVersion
        => document::leases::the_old_etag_fails_after_it_was_deleted_and_made_again;
    /// The etag is a hash of the content.
    EtagIsAHash => document::put::no_two_writes_have_the_same_etag;
    /// Tombstones keep counting.
    VersionsGoOnAfterADelete => document::put::after_a_delete_versions_start_again;
    /// Zero affected rows are taken for success.
    DeleteOfNothingSucceeds
        => document::delete::what_is_missing_is_not_found_whatever_the_condition;
    /// Nothing was deleted, so nothing was there.
    StaleDeleteIsNotFound
        => document::delete::a_stale_version_or_etag_fails_and_deletes_nothing;
    /// If absent is no argument of a delete, and nobody looks.
    DeleteTakesIfAbsent => document::delete::if_absent_is_an_invalid_argument;
    /// Get and compare, then delete without a condition.
    DeleteIsNotAtomic => document::races::of_racing_deletes_on_one_etag_exactly_one_wins;
    /// A cache, or a replica that lags behind.
    RecordsAreStale => document::read_after_write::get_sees_a_put;

    // Documents: expiry.
    /// Only the server's TTL removes what has expired, some time later.
    GetSeesExpired => document::expiry::get_sees_a_record_up_to_its_last_millisecond;
    /// As above, in queries.
    QuerySeesExpired => document::expiry::query_sees_a_record_up_to_its_last_millisecond;
    /// As above, for a put.
    PutSeesExpired => document::put_conditions::where_a_record_has_expired;
    /// As above, for a delete.
    DeleteSeesExpired => document::expiry::delete_does_not_find_what_expired;
    /// `expire_at < now`.
    ExpiryIsOffByOne => document::expiry::get_sees_a_record_up_to_its_last_millisecond;
    /// Whoever finds something expired deletes it.
    GarbageIsDeletedAtOnce => document::expiry::a_clock_set_back_shows_what_it_had_hidden;
    /// The server's clock decides.
    ServersClockDecides => document::expiry::only_the_stores_clock_counts;
    /// A put over an expired record counts on.
    VersionsGoOnAfterExpiry => document::expiry::after_expiry_versions_start_again;

    // Documents: queries.
    /// LIKE, without escapes.
    PrefixIsAPattern => document::prefixes::pattern_characters_are_ordinary;
    /// LIKE, as SQLite has it.
    PrefixFoldsCase => document::prefixes::case_accents_and_spaces_count;
    /// `prefix || U+FFFF` as the upper end.
    PrefixEndsTooEarly => document::prefixes::the_range_ends_behind_the_last_character;
    /// The last character plus one is no character, and the range is empty.
    PrefixStopsAtTheSurrogates => document::prefixes::the_range_ends_behind_the_last_character;
    /// The client sorts as its language sorts strings.
    SortKeysInUtf16Order => document::query::the_order_is_that_of_the_sort_keys_bytes;
    /// The option is not looked at.
    DescendingIsIgnored => document::query::descending_is_the_same_backwards;
    /// `LIMIT 0`.
    LimitZeroIsNothing => document::query::a_limit_of_zero_is_none;
    /// The limit becomes a negative number.
    LimitOverflows => document::query::a_limit_over_what_is_there_asks_for_all;
    /// The filter comes after the limit.
    LimitCountsExpired => document::query::limit_does_not_count_expired_records;
    /// `>=`.
    StartAfterIsInclusive => document::start_after::the_record_itself_does_not_come;
    /// The position is looked up, and not there.
    StartAfterMustExist => document::start_after::no_record_need_have_it;
    /// As a server that validates ranges answers.
    StartAfterOutsideFails => document::start_after::before_the_prefix_it_cuts_nothing_or_all;
    /// The position replaces the lower end of the prefix.
    StartAfterReplacesThePrefix => document::start_after::before_the_prefix_it_cuts_nothing_or_all;
    /// The last record of a page is taken for the one behind it.
    RecordLostBetweenPages => document::pages::ten_thousand_records_come_once_and_in_order;
    /// The last record of a page is the first of the next.
    RecordDoubledBetweenPages => document::pages::ten_thousand_records_come_once_and_in_order;
    /// A page on which everything was filtered out is taken for the end.
    EmptyPageEndsTheQuery => document::pages::thousands_of_expired_ones_ahead_hide_nothing;
    /// Only the first megabyte is read.
    OnlyAMegabyteOfRecords => document::pages::records_of_many_megabytes_come_whole;
    /// Pages by OFFSET, which deletes shift.
    PagesByOffset => document::scans::what_nobody_touches_comes_exactly_once;
    /// Each stream keeps a connection of the pool.
    StreamsHoldConnections => document::scans::open_streams_hinder_nobody;
    /// Refused arguments end the stream without a word.
    QueryHidesRefusals => document::query::a_refused_argument_ends_the_stream;

    // Documents: counters.
    /// Read, add, write.
    IncrementIsNotAtomic => document::races::racing_increments_see_every_value_once;
    /// Two's complement.
    OverflowWraps => document::counters::overflow_is_an_invalid_delta_and_changes_nothing;
    /// The expiry is set before the sum is looked at.
    OverflowSetsTheExpiry => document::counters::overflow_is_an_invalid_delta_and_changes_nothing;
    /// Numbers of 53 bits.
    CountersAreFloats => document::counters::an_absent_counter_starts_at_the_delta;
    /// The sum of an expired counter goes on.
    ExpiredCountersGoOn
        => document::counters::an_expired_counter_starts_at_the_delta_with_no_old_expiry;
    /// An increment without an expiry takes it away.
    IncrementDropsTheExpiry => document::counters::without_one_it_keeps_the_expiry_it_has;
    /// An expiry is only looked at when the counter starts.
    IncrementIgnoresTheExpiry => document::counters::a_given_expiry_becomes_the_counters;
    /// The client sends it again when the reply is lost.
    IncrementIsResent => document::cancellation::a_dropped_increment_counts_at_most_once;

    // Documents: kinds.
    /// A counter is shown as a record.
    GetSeesCounters => document::wrong_kind::get_does_not_see_counters;
    /// Counters come with the records.
    QuerySeesCounters => document::wrong_kind::query_does_not_see_counters;
    /// A delete takes a counter away.
    DeleteSeesCounters => document::wrong_kind::delete_does_not_see_counters;
    /// A put replaces a counter.
    PutReplacesCounters => document::wrong_kind::a_put_at_a_counter_is_refused_whatever_the_condition;
    /// The condition is judged first, and a counter is nothing.
    ConditionIsJudgedBeforeTheKind
        => document::wrong_kind::a_put_at_a_counter_is_refused_whatever_the_condition;
    /// An increment replaces a record.
    IncrementReplacesRecords => document::wrong_kind::an_increment_at_a_record_is_refused;
}
