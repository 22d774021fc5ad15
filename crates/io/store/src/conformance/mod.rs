//! The suite that every store runs: each promise of the traits, once, for all of them.
//!
//! A store's own crate makes tests of all cases with [`conformance_tests!`](crate::conformance_tests):
//!
//! ```
//! threadkeep_store::conformance_tests!(|| threadkeep_store::conformance::Subject::of(
//!     threadkeep_store::MemoryStore::new()
//! ));
//! # fn main() {}
//! ```

pub mod cells;
pub mod elsewhere;
pub mod feed;
pub mod fences;
mod hands;
pub mod items;
pub mod keys;
pub mod leases;
pub mod lists;
pub mod log;
pub mod processes;
pub mod registry;
pub mod shelves;
pub mod threads;
pub mod timers;
pub mod upkeep;
pub mod uploads;

pub use hands::Hands;

use std::any::Any;
use std::future::Future;

use crate::{Blobs, Feed, Fences, Leases, Processes, Registry, Shelves, Store, Stores, Timers, Upkeep};

/// A fresh, empty store to test, with values that must live as long as it does.
pub struct Subject {
    /// The store under test.
    pub stores: Stores,
    _guard: Box<dyn Any>,
}

impl Subject {
    /// A store that needs nothing beside it.
    pub fn of<S>(store: S) -> Self
    where
        S: Store + Blobs + Leases + Feed + Timers + Upkeep + Registry + Shelves + Processes + Fences + 'static,
    {
        Self::guarded(store, ())
    }

    /// A store that lives as long as `guard`, such as a temporary folder.
    pub fn guarded<S>(store: S, guard: impl Any) -> Self
    where
        S: Store + Blobs + Leases + Feed + Timers + Upkeep + Registry + Shelves + Processes + Fences + 'static,
    {
        Self::made_of(Stores::of(store), guard)
    }

    /// Stores that are put together, which live as long as `guard`.
    pub fn made_of(stores: Stores, guard: impl Any) -> Self {
        Self { stores, _guard: Box::new(guard) }
    }
}

/// Runs one case to its end.
pub fn run<F: Future<Output = ()>>(subject: Subject, case: impl FnOnce(Hands) -> F) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(case(Hands::new(subject.stores.clone())));
    drop(subject);
}

/// Makes a test of every case about content outside the store, for a store that has rows for it and not the content; the
/// argument makes a [`Subject`].
#[macro_export]
macro_rules! elsewhere_tests {
    ($make:expr) => {
        $crate::conformance_tests!(@cases $make;
            elsewhere: content_elsewhere_is_named_like_any_other_and_says_where_it_is,
                 content_elsewhere_comes_home_with_a_commit_that_brings_it
        );
    };
}

/// Makes a test of every case of the suite; the argument makes a [`Subject`].
#[macro_export]
macro_rules! conformance_tests {
    ($make:expr) => {
        $crate::conformance_tests!(@cases $make;
            log: appended_entries_get_positions_ordinals_and_tallies,
                 an_expected_version_that_moved_is_a_conflict_with_the_current_one,
                 a_moved_era_is_told_and_appends_do_not_move_it,
                 plain_appends_never_conflict_and_lose_nothing,
                 a_commit_over_two_threads_is_whole_or_nothing,
                 a_retry_under_a_key_returns_the_first_result,
                 a_key_with_another_request_is_refused,
                 a_key_is_forgotten_after_a_day_and_belongs_to_its_account,
                 times_never_go_back_within_a_thread,
                 entries_are_read_in_ranges_in_both_directions,
                 messages_are_read_by_ordinal_and_filtered,
                 changes_are_read_by_what_they_change_and_by_position,
                 a_branch_opens_a_segment_and_raises_era_and_fence,
                 a_chain_follows_the_links_to_the_root,
                 one_read_takes_the_segments_of_a_lineage_in_order,
                 what_is_told_of_a_thread_stays_right_as_it_goes_on,
                 bodies_are_kept_to_the_byte,
                 actors_accounts_and_causes_are_kept,
                 a_segment_id_that_is_taken_is_refused;
            keys: a_key_is_looked_up_without_a_commit,
                 a_key_is_found_by_its_own_account_thread_and_day_alone,
                 a_repeated_creation_gives_the_first_thread_and_makes_none,
                 creations_at_once_under_one_key_make_one_thread,
                 a_repeated_fork_gives_the_thread_that_was_made,
                 a_fork_that_writes_nothing_to_its_parent_is_repeated_too,
                 a_key_does_not_bring_back_a_thread_that_was_deleted;
            threads: a_thread_is_found_by_both_spellings,
                 an_unknown_thread_is_none_and_cannot_be_written,
                 a_taken_short_id_is_refused,
                 entries_and_threads_keep_the_times_that_they_bring,
                 a_record_is_replaced_whole,
                 a_new_owner_lists_the_thread_and_the_former_one_does_not,
                 a_list_is_newest_first_and_pages_are_stable_under_inserts,
                 a_list_keeps_accounts_agents_and_archived_apart,
                 relations_are_seen_from_both_ends,
                 a_fork_that_is_refused_makes_no_thread_and_tells_its_parent_nothing,
                 forks_and_appends_of_one_thread_at_once_all_hold,
                 forks_with_tags_and_without_are_made_in_turn,
                 checkpoints_are_listed_in_order_and_a_name_moves,
                 a_deleted_thread_is_gone_and_its_id_stays_refused,
                 threads_are_found_by_prefix;
            lists: any_filter_gives_what_looking_at_every_thread_gives,
                 a_thread_with_more_than_is_indexed_is_found_all_the_same,
                 a_page_goes_on_where_it_ended_also_within_one_moment,
                 threads_that_change_again_within_a_minute_are_listed_in_order,
                 parents_are_read_for_many_threads_at_once,
                 times_before_the_epoch_are_listed_too,
                 common_filters_and_far_offsets_give_what_looking_at_every_thread_gives;
            leases: a_lease_is_taken_read_renewed_and_released,
                 a_second_holder_is_refused_and_told_who_and_until_when,
                 changes_of_the_conversation_need_the_token_and_others_pass,
                 a_lease_ends_with_its_time_and_is_not_renewed_then,
                 a_late_write_under_an_older_token_is_refused,
                 a_token_is_never_given_twice,
                 a_lease_belongs_to_one_living_thread,
                 one_of_many_takes_the_lease;
            processes: a_lease_of_a_process_holds_until_it_ends_and_never_comes_back,
                 a_commit_of_a_process_whose_lease_ended_leaves_no_trace,
                 leases_of_processes_do_not_touch_each_other;
            items: an_item_is_its_newest_entry_in_the_place_of_its_first,
                 items_of_several_threads_are_read_at_once,
                 an_item_may_come_and_go_within_one_commit,
                 an_item_may_take_the_place_of_one_of_another_kind,
                 a_delivered_message_is_counted_and_found_by_both_names,
                 items_are_one_threads_own_and_go_with_it,
                 the_tally_says_where_agent_and_skills_are_told,
                 subagents_are_found_by_their_main_thread,
                 a_rebuild_brings_items_and_other_names_back;
            cells: the_newest_cell_of_a_name_counts_up_to_a_position,
                 several_spans_are_seen_together_and_the_near_one_counts,
                 pages_of_names_go_on_where_they_ended,
                 large_values_are_found_in_their_entry,
                 files_keep_their_content_while_they_are_seen_and_parts_of_it_are_read,
                 a_rebuild_brings_cells_back;
            timers: an_item_is_found_by_its_key_in_whichever_thread_it_is,
                 items_of_an_account_are_listed_in_the_order_they_were_made,
                 what_is_due_comes_soonest_first_in_pages,
                 an_item_that_changed_or_went_is_not_due_any_more,
                 a_rebuild_keeps_when_things_are_due_and_made,
                 items_are_counted_and_due_by_their_kind;
            feed: the_feed_tells_births_entries_and_deletions_in_order,
                 the_feed_goes_on_from_any_cursor_without_gap_or_repeat,
                 a_signal_is_there_by_the_time_the_commit_returns,
                 feed_cursors_are_never_reused_after_gc;
            upkeep: a_fork_survives_the_deletion_of_its_origin,
                 gc_frees_kind_by_kind_what_no_link_reaches,
                 gc_leaves_living_threads_alone,
                 blobs_are_stored_once_and_freed_with_their_last_reference,
                 a_commit_that_names_a_missing_blob_is_refused,
                 everything_can_be_walked_in_pages,
                 a_snapshot_shows_one_moment_in_the_order_of_exports,
                 a_snapshot_shows_segments_of_other_threads_as_far_as_links_reach,
                 an_entry_without_its_damaged_body_stays_damaged,
                 an_import_can_be_repeated,
                 an_import_that_differs_is_refused,
                 a_deleted_thread_cannot_be_imported,
                 deletions_are_imported_too,
                 gc_waits_for_an_import,
                 a_rebuild_changes_nothing_that_was_right;
            uploads: what_was_uploaded_is_named_by_a_commit_and_read_in_parts,
                 nobody_sees_an_upload_before_it_is_finished,
                 an_upload_that_lacks_bytes_is_not_finished,
                 what_was_given_up_is_gone_and_takes_nothing_more,
                 equal_content_is_kept_once_however_it_came,
                 uploads_side_by_side_do_not_mix,
                 gc_leaves_young_uploads_alone_and_frees_old_ones,
                 what_nobody_named_goes_once_its_upload_ends;
            registry: documents_are_registered_found_replaced_and_taken_out,
                 a_document_is_replaced_only_if_it_is_as_expected,
                 documents_are_listed_by_kind_and_account_in_pages,
                 gc_and_rebuild_leave_documents_alone;
            fences: a_frozen_account_writes_nothing_and_others_do,
                 documents_of_a_frozen_account_stay_as_they_are_and_keys_do_not,
                 what_was_acknowledged_before_the_freeze_is_all_there_is,
                 a_released_account_is_gone_and_may_come_back,
                 an_import_brings_the_documents_of_an_account,
                 idempotency_keys_go_along_with_their_threads;
            shelves: volumes_are_added_read_and_removed_by_account,
                 of_two_who_change_the_index_one_is_told_to_look_again,
                 an_index_that_was_cleared_is_empty_and_whoever_changed_it_is_told,
                 gc_and_rebuild_leave_volumes_alone
        );
    };
    (@cases $make:expr; $($group:ident: $($case:ident),+);+) => {$(
        mod $group {
            #[allow(unused_imports, reason = "what makes a subject may stand in the parent")]
            use super::*;
            $(
                #[test]
                fn $case() {
                    $crate::conformance::run(($make)(), $crate::conformance::$group::$case);
                }
            )+
        }
    )+};
}

#[cfg(test)]
mod tests {
    use super::Subject;
    use crate::MemoryStore;

    crate::conformance_tests!(|| Subject::of(MemoryStore::new()));
    crate::elsewhere_tests!(|| Subject::of(MemoryStore::new()));
}
