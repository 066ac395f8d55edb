//! What every store of Innkeeper must do, as tests.
//!
//! A store brings a [`Subject`]: how it is opened, and how it dies. Then
//! [`store_suite!`] makes a test of each thing that is asked of it:
//!
//! ```ignore
//! innkeeper_store_conformance::store_suite!(MySubject::new);
//! ```
//!
//! *Boundary*: the suite knows a store by its door only
//! ([`innkeeper_protocol::record::store`]), so how it groups, merges and lays
//! out what it keeps is its own affair.

#![expect(clippy::unwrap_used, clippy::panic, reason = "all of this is tests")]

use std::time::Duration;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::store::Store;

pub mod automations;
pub mod cluster;
pub mod crashes;
pub mod journal;
pub mod log;
pub mod model;
pub mod records;
pub mod search;
pub mod sequence;
pub mod sessions;
pub mod set_aside;
mod stage;

pub use stage::Stage;

/// A store that is put to the test: at first there is nothing in it.
pub trait Subject {
    /// Opens what is there. What was opened before is closed, dropped, or was
    /// left behind by [`crash`](Subject::crash).
    fn reopen(&mut self, opening: &Opening) -> Box<dyn Store>;

    /// The process that has the store open dies at this moment, as by `kill
    /// -9`: what is durable now is what `reopen` finds, whatever those who have
    /// it open still write.
    fn crash(&mut self);

    /// In how many random histories it is tried.
    const CASES: u32 = 256;
}

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// The time of opening.
    pub now: Timestamp,
    /// In how many days a host runs before a disposed session goes.
    pub keep_disposed_days: u64,
    /// How long a batch that is not urgent may wait for company.
    pub group_commit: Duration,
}

impl Default for Opening {
    fn default() -> Self {
        Self {
            now: Timestamp::default(),
            keep_disposed_days: 30,
            group_commit: Duration::ZERO,
        }
    }
}

/// Makes a test of everything that is asked of a store. `$subject` makes an
/// empty one: `fn() -> impl Subject`.
#[macro_export]
macro_rules! store_suite {
    ($subject:expr) => {
        $crate::store_suite! { $subject, where true }
    };
    // Only where what it needs is there; `$there` says so if it is not.
    ($subject:expr, where $there:expr) => {
        $crate::store_suite! { @tests $subject, $there;
            sessions:
                a_turn_of_any_size_comes_back_as_it_went,
                a_session_comes_back_as_it_went,
                turns_can_be_cut_off_and_grow_again,
                the_next_life_is_told_what_it_needs,
                a_session_that_nothing_happened_in_is_told_apart,
                a_client_that_is_forgotten_does_not_come_back,
                a_disposed_session_is_hidden_and_its_log_is_gone,
                a_disposed_session_can_be_brought_back,
                a_new_session_under_the_name_of_a_disposed_one_inherits_nothing,
                a_chat_under_the_name_of_a_disposed_one_inherits_nothing,
                a_chat_that_moves_takes_its_turns_along,
                a_deleted_session_is_gone_for_good,
                a_disposed_session_goes_when_the_host_has_run_for_so_many_days,
                a_clock_that_is_years_ahead_removes_nothing,
                days_in_which_the_host_is_started_count_once_each,
                without_a_time_to_be_kept_a_disposed_session_goes_with_the_next_start,
                contents_that_are_shared_with_a_copy_live_as_long_as_one_of_both,
                excerpts_of_contents_come_with_the_session_and_with_its_copy,
                annotations_come_with_their_session_in_order_and_go_with_it;
            automations:
                automations_and_runs_come_back_in_the_order_in_which_they_were_created,
                an_automation_takes_its_runs_along_when_it_goes;
            log:
                an_action_comes_back_as_it_went,
                a_range_has_every_entry_that_touches_it,
                trimming_forgets_what_lies_below_and_says_so,
                a_batch_that_cannot_be_stored_leaves_no_trace,
                what_makes_no_sense_changes_nothing;
            sequence:
                a_fresh_store_begins_at_one,
                a_crash_skips_what_was_reserved,
                a_clean_end_leaves_no_gap_and_joins_the_lives,
                a_life_that_stored_nothing_leaves_no_epoch,
                a_lost_life_between_two_clean_ones_is_a_gap,
                numbers_beyond_the_reservation_are_not_given_out_again,
                numbers_outlive_the_log_of_a_session_that_is_disposed_of,
                trimming_moves_the_start_and_forgets_the_epochs_below_it;
            search:
                what_was_said_thought_called_and_titled_is_found_with_a_snippet,
                a_title_counts_more_than_an_answer,
                only_the_fields_that_are_asked_for_are_searched,
                filters_leave_out_what_is_not_wanted,
                pages_show_everything_once_and_in_order,
                nothing_that_is_typed_is_an_error,
                a_search_ends_when_its_time_is_over,
                what_is_gone_is_not_found_from_the_commit_on,
                a_session_that_is_brought_back_is_found_again,
                a_title_that_changed_is_found_by_its_new_words,
                a_further_chat_is_found_by_what_its_session_lists_it_as,
                a_chat_that_moved_is_found_where_it_is,
                what_was_stored_before_a_crash_is_found_after_it,
                a_store_that_was_closed_is_found_complete,
                turns_are_counted_by_day_and_a_copy_counts_once,
                what_was_paid_for_counts_when_it_is_gone;
            model:
                what_is_read_does_not_depend_on_how_it_was_grouped;
            journal:
                batches_wait_for_an_urgent_one_and_become_durable_with_it,
                batches_that_are_not_urgent_become_durable_by_themselves,
                closing_commits_what_is_queued,
                submissions_from_many_threads_keep_their_order,
                readers_see_what_was_reported_as_committed,
                many_read_at_once_and_each_sees_a_state_between_two_commits,
                a_store_that_was_closed_can_be_opened_again;
            set_aside:
                a_batch_that_can_never_be_stored_is_set_aside_and_the_others_are_stored,
                what_builds_on_something_set_aside_is_set_aside_until_its_session_is_reread,
                numbers_stay_reserved_whatever_becomes_of_their_batch;
            crashes:
                what_is_left_is_a_beginning_of_what_was_submitted,
                what_was_reported_is_there_after_a_crash,
                no_number_is_given_out_twice_over_many_crashes;
        }
    };
    (@tests $subject:expr, $there:expr; $($module:ident: $($test:ident),+;)+) => {
        $(
            mod $module {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[test]
                    fn $test() {
                        if $there {
                            $crate::$module::$test($subject);
                        }
                    }
                )+
            }
        )+
    };
}
