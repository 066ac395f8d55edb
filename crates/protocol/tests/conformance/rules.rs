//! Every MUST and SHOULD of the texts that the host is held against, in our
//! own words, with the tests that hold it.

/// The texts, by what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Text {
    /// The guide to the state model of the draft 0.1.0.
    Guide,
    /// The reference of the state types of the draft 0.1.0.
    Types,
    /// The reference of the session channel in 0.2.0.
    Reference,
    /// The specification of the session channel in 0.2.0.
    Specification,
}

pub(crate) struct Rule {
    pub(crate) text: Text,
    /// The line of the text.
    pub(crate) line: usize,
    pub(crate) level: &'static str,
    /// Whom it binds: the host, or a client. For clients, the web client.
    pub(crate) binds: &'static str,
    pub(crate) rule: &'static str,
    /// Names of tests in Rust, or titles of tests of the web client.
    pub(crate) held_by: &'static [&'static str],
}

const fn rule(
    (text, line): (Text, usize),
    level: &'static str,
    binds: &'static str,
    rule: &'static str,
    held_by: &'static [&'static str],
) -> Rule {
    Rule {
        text,
        line,
        level,
        binds,
        rule,
        held_by,
    }
}

const MUST: &str = "MUST";
const SHOULD: &str = "SHOULD";
const HOST: &str = "host";
const CLIENT: &str = "client";

const META: &[&str] = &[
    "goes along whole, with everything in its _meta",
    "attachments_of_0_1_reach_everybody_whole",
];
const REPRESENTATION: &[&str] = &[
    "files of any kind go along, wherever they are dropped, and what is too large is named",
    "a_command_that_stands_in_the_message_is_not_said_again",
];
const UNKNOWN_KIND: &[&str] = &["follows its kind, and is a file's where no one knows the kind"];
const OPTIONS: &[&str] = &["the host's own options are offered, and the chosen one is sent"];
const ORDER: &[&str] = &["always first, as goose lists them"];
const PART_FIRST: &[&str] = &["a_part_is_made_before_text_is_streamed_into_it"];
const QUEUED_WHILE_IDLE: &[&str] = &["a_message_queued_while_idle_starts_at_once"];
const OWNER: &[&str] = &["a_call_names_its_owner_and_only_the_owner_may_run_it"];
const DEFERRED: &[&str] = &[
    "a_model_that_is_selected_during_a_turn_counts_from_the_next_one",
    "a_message_that_was_queued_before_does_not_undo_a_selection",
];

use Text::{Guide, Reference, Specification, Types};

#[rustfmt::skip]
pub(crate) const RULES: &[Rule] = &[
    rule((Guide, 112), SHOULD, CLIENT, "A session's status is read bit by bit.",
        &["what a session does is read from its bits, whatever marks it has and whatever bits are new"]),
    rule((Guide, 198), MUST, CLIENT, "The `_meta` of an attachment that came with a completion goes along unchanged.", META),
    rule((Guide, 294), SHOULD, HOST, "Labels of confirmation options are in the language of the client.",
        &["labels_follow_the_locale_of_the_client"]),
    rule((Guide, 296), SHOULD, CLIENT, "Confirmation options are shown in the order in which they are defined.", ORDER),
    rule((Guide, 342), SHOULD, HOST, "Clients that show the list receive every change of a session's row.",
        &["every_client_of_a_draft_hears_of_sessions_without_subscribing", "what_is_selected_stands_in_the_catalogue_also_after_a_restart"]),
    rule((Guide, 374), SHOULD, HOST, "A message that is queued while the session is idle starts at once.", QUEUED_WHILE_IDLE),

    rule((Types, 105), SHOULD, CLIENT, "An attachment of an unknown kind is shown in a plain way.", UNKNOWN_KIND),
    rule((Types, 106), MUST, CLIENT, "The `_meta` of an attachment that came with a completion goes along unchanged.", META),
    rule((Types, 113), MUST, CLIENT, "A `simple` attachment that a client made says what the model is to be shown. The web client makes none; the host takes one without as coming from a completion.", REPRESENTATION),
    rule((Types, 180), SHOULD, CLIENT, "Options of the host are shown in place of plain approve and deny.", OPTIONS),

    rule((Reference, 55), SHOULD, HOST, "The active client is unset when it disconnects.",
        &["a_client_that_disconnects_is_unset_after_a_grace_period"]),
    rule((Reference, 95), SHOULD, CLIENT, "Values of a dynamic setting are asked for while someone types.",
        &["values_of_a_dynamic_setting_are_completed_by_the_agent", "a setting with too many values to list suggests those that fit what is typed"]),
    rule((Reference, 292), SHOULD, CLIENT, "An attachment of an unknown kind is shown in a plain way.", UNKNOWN_KIND),
    rule((Reference, 293), MUST, CLIENT, "The `_meta` of an attachment that came with a completion goes along unchanged.", META),
    rule((Reference, 299), MUST, CLIENT, "A `simple` attachment that a client made says what the model is to be shown.", REPRESENTATION),
    rule((Reference, 399), SHOULD, CLIENT, "Confirmation options are shown in the order in which they are defined.", ORDER),
    rule((Reference, 424), SHOULD, CLIENT, "Options of the host are shown in place of plain approve and deny.", OPTIONS),
    rule((Reference, 595), SHOULD, CLIENT, "A plugin that a client publishes has a nonce. The web client publishes none; the host reads a plugin again when its nonce changes, and takes one without.",
        &["a_plugin_that_only_its_client_has_is_fetched_from_it"]),
    rule((Reference, 679), MUST, HOST, "A part is made before text is streamed into it.", PART_FIRST),
    rule((Reference, 712), SHOULD, HOST, "A running call that needs approval says what for. (`invocationMessage`; reducers keep the `_meta` of the start.)",
        &["a_call_that_needs_approval_while_it_runs_says_what_for", "a_running_call_may_need_approval_once_more"]),
    rule((Reference, 723), SHOULD, CLIENT, "Options of the host are shown in place of plain approve and deny.", OPTIONS),
    rule((Reference, 735), MUST, CLIENT, "The owner of a tool says so if it cannot run it. The web client offers no tools; the host accepts a refusal, and the turn continues.",
        &["the_owner_may_refuse_and_the_turn_goes_on"]),
    rule((Reference, 749), SHOULD, HOST, "Only the owner of a tool may complete a call to it.", OWNER),
    rule((Reference, 766), SHOULD, HOST, "Only the owner of a tool may stream content of a call to it.", OWNER),
    rule((Reference, 805), MUST, HOST, "A part is made before reasoning is streamed into it.", PART_FIRST),
    rule((Reference, 821), MUST, HOST, "An agent that is selected during a turn counts from the next turn on.", DEFERRED),
    rule((Reference, 863), SHOULD, HOST, "A second client that wants to be active is rejected.",
        &["a_second_client_is_not_active_until_the_first_has_left"]),
    rule((Reference, 863), SHOULD, HOST, "When the active client disconnects, the host publishes `activeClient: null`.",
        &["a_client_that_disconnects_is_unset_after_a_grace_period"]),
    rule((Reference, 870), SHOULD, HOST, "Only the active client may change its tools.",
        &["a_client_that_is_not_active_can_neither_change_tools_nor_release"]),
    rule((Reference, 915), SHOULD, HOST, "A change to a session's `_meta` keeps its other keys.",
        &["what_else_the_meta_of_a_session_says_stays_when_git_changes"]),
    rule((Reference, 930), SHOULD, HOST, "A message that is queued while the session is idle starts at once.", QUEUED_WHILE_IDLE),
    rule((Reference, 994), MUST, HOST, "The client that is active from the start is the one that creates the session.",
        &["a_client_is_active_from_the_start_only_under_its_own_id"]),
    rule((Reference, 1036), SHOULD, HOST, "Completions are answered promptly, with what is at hand.",
        &["completions_do_not_wait_for_an_agent", "a_client_of_a_draft_completes_in_its_session"]),
    rule((Reference, 1036), SHOULD, CLIENT, "Completions are asked for after a pause, not with every key.",
        &["of calls in quick succession the last one counts, and one that is cancelled does not"]),
    rule((Reference, 1047), MUST, HOST, "The offset of a completion is a position in the text, in UTF-16 units.",
        &["an_offset_that_is_no_position_is_refused", "offsets_count_utf_16_units"]),

    rule((Specification, 52), MUST, HOST, "The host validates dispatched actions before it applies them.",
        &["malformed_actions_are_refused_and_change_nothing"]),
    rule((Specification, 52), MUST, HOST, "The host rejects invalid actions with a reason.",
        &["every_sound_action_is_answered_once_also_when_it_changes_nothing", "a_rejection_calls_the_action_and_its_place_what_the_client_calls_them"]),
    rule((Specification, 55), MUST, HOST, "An action on a session that does not exist gets no answer.",
        &["an_action_on_a_channel_that_does_not_exist_is_rejected_or_met_with_silence_up_to_0_2"]),
    rule((Specification, 56), MUST, HOST, "A decision about a call that is not pending is rejected.",
        &["tool_call_confirmed_is_rejected_unless_the_call_is_pending"]),
    rule((Specification, 57), MUST, HOST, "A cancellation without a running turn is rejected.",
        &["turn_cancelled_is_rejected_without_a_turn"]),
    rule((Specification, 58), MUST, HOST, "A model that is selected during a turn counts from the next turn on.", DEFERRED),
    rule((Specification, 59), MUST, HOST, "An agent that is selected during a turn counts from the next turn on.", DEFERRED),
    rule((Specification, 60), SHOULD, HOST, "An answer to a question that is not open is rejected.",
        &["input_answer_changed_is_rejected_for_an_unknown_request"]),
    rule((Specification, 61), SHOULD, HOST, "An answer without the value that it needs is rejected.",
        &["input_answer_changed_is_rejected_without_the_value_that_its_state_needs"]),
    rule((Specification, 62), SHOULD, HOST, "A question that is not open cannot be completed.",
        &["input_completed_is_rejected_for_an_unknown_request"]),
    rule((Specification, 63), SHOULD, HOST, "A question is accepted only when all that is required is answered.",
        &["input_completed_is_rejected_while_a_required_answer_is_only_a_draft"]),
    rule((Specification, 64), SHOULD, HOST, "A message that is not pending cannot be removed.",
        &["pending_message_removed_is_rejected_for_an_unknown_id_or_the_wrong_kind"]),
    rule((Specification, 68), SHOULD, HOST, "When a turn completes, the first queued message leaves the queue and starts a turn that names it.",
        &["queued_messages_become_turns_first_in_first_out"]),
    rule((Specification, 72), SHOULD, HOST, "A message that is queued while the session is idle starts at once, in the same two steps.", QUEUED_WHILE_IDLE),
];
