//! The table of what is true of each type of action, held against everything
//! that the small host says.

use std::collections::{BTreeMap, BTreeSet};

use ahp_types::actions::StateAction;
use innkeeper_judges::ACTION_TYPES;
use innkeeper_protocol::action_traits::{ActionContent, ActionTraits, traits_of};
use innkeeper_protocol::record::{GateFacts, LogEntry, Sequenced, merge};
use serde_json::{Value, json};

use crate::model_host::ModelHost;

/// What the small host never says.
fn unsaid() -> [Value; 6] {
    [
        json!({"type": "chat/turnsLoaded", "turns": []}),
        json!({"type": "chat/workingDirectoryRemoved", "directory": "file:///w"}),
        json!({"type": "session/mcpServerBackgroundRequested", "id": "m"}),
        json!({"type": "session/mcpServerStopRequested", "id": "m"}),
        json!({"type": "session/workingDirectoryRemoved", "directory": "file:///w"}),
        json!({"type": "session/workingDirectoryReplaced", "directory": "file:///w", "replacement": "file:///v"}),
    ]
}

/// Actions of all types there are, by type.
fn actions() -> BTreeMap<String, Vec<StateAction>> {
    let mut all: Vec<Value> = unsaid().into();
    for seed in 0..60 {
        let mut host = ModelHost::new(seed);
        for _ in 0..60 {
            host.step();
        }
        all.extend(host.events.into_iter().map(|event| event.action));
    }
    let mut actions: BTreeMap<String, Vec<StateAction>> = BTreeMap::new();
    for action in all {
        let kind = action["type"].as_str().unwrap().to_owned();
        let action = serde_json::from_value(action).unwrap();
        actions.entry(kind).or_default().push(action);
    }
    actions
}

/// The types of which some action is so.
fn types_that(is_so: impl Fn(&StateAction) -> bool) -> Vec<String> {
    let actions = actions().into_iter();
    let found = actions.filter(|(_, all)| all.iter().any(&is_so));
    found.map(|(kind, _)| kind).collect()
}

fn check(is_so: fn(ActionTraits) -> bool, expected: &[&str]) {
    assert_eq!(types_that(|action| is_so(traits_of(action))), expected);
}

#[test]
fn every_type_of_action_is_one_that_the_table_names() {
    let newest = ACTION_TYPES.iter().filter(|(_, _, until)| *until == "1.0");
    let newest: BTreeSet<&str> = newest.map(|(kind, _, _)| *kind).collect();
    let actions = actions();
    let tried: BTreeSet<&str> = actions.keys().map(String::as_str).collect();
    assert_eq!(tried, newest);
    let is_unknown = |action: &&StateAction| matches!(action, StateAction::Unknown(_));
    let unknown = actions.values().flatten().find(is_unknown);
    assert_eq!(unknown, None);
}

#[test]
fn what_happens_within_a_turn_is_known_by_its_type() {
    check(
        |traits| traits.is_within_turn,
        &[
            "chat/delta",
            "chat/inputAnswerChanged",
            "chat/inputCompleted",
            "chat/inputRequested",
            "chat/reasoning",
            "chat/responsePart",
            "chat/toolCallAuthRequired",
            "chat/toolCallAuthResolved",
            "chat/toolCallComplete",
            "chat/toolCallConfirmed",
            "chat/toolCallContentChanged",
            "chat/toolCallDelta",
            "chat/toolCallReady",
            "chat/toolCallResultConfirmed",
            "chat/toolCallStart",
            "chat/usage",
        ],
    );
}

#[test]
fn what_may_need_somebody_is_known_by_its_type() {
    check(
        |traits| traits.may_need_somebody,
        &[
            "chat/inputAnswerChanged",
            "chat/inputCompleted",
            "chat/inputRequested",
            "chat/toolCallComplete",
            "chat/toolCallConfirmed",
            "chat/toolCallReady",
            "chat/toolCallResultConfirmed",
        ],
    );
}

#[test]
fn only_what_a_watch_saw_is_news() {
    check(|traits| traits.is_news, &["resourceWatch/changed"]);
}

#[test]
fn what_begins_or_ends_a_turn_is_known_by_its_type() {
    check(
        |traits| traits.bounds_turn,
        &[
            "chat/error",
            "chat/turnCancelled",
            "chat/turnComplete",
            "chat/turnResume",
            "chat/turnStarted",
        ],
    );
}

#[test]
fn what_may_be_large_is_known_by_its_type() {
    check(
        |traits| traits.content != ActionContent::Little,
        &[
            "changeset/contentChanged",
            "chat/delta",
            "chat/draftChanged",
            "chat/pendingMessageSet",
            "chat/reasoning",
            "chat/toolCallComplete",
            "chat/toolCallContentChanged",
            "chat/toolCallReady",
            "chat/turnStarted",
            "terminal/data",
        ],
    );
}

#[test]
fn what_appends_merges_with_what_follows_and_nothing_else_does() {
    let merges = |action: &StateAction| {
        let one = Sequenced {
            seq: 1.into(),
            channel: "ahp-chat:/1".into(),
            action: action.clone(),
            origin: None,
            facts: GateFacts::default(),
        };
        let mut entry = LogEntry::from(&one);
        entry.absorb(&Sequenced {
            seq: 2.into(),
            ..one
        })
    };
    let appends = |action: &StateAction| appended(action).is_some();
    assert_eq!(types_that(merges), types_that(appends));
}

#[test]
fn the_text_that_is_appended_is_the_one_that_is_merged() {
    for action in actions().values().flatten() {
        assert_eq!(appended(action), merge::appended_text(action), "{action:?}");
    }
}

fn appended(action: &StateAction) -> Option<&str> {
    match traits_of(action).content {
        ActionContent::Appended(text) => Some(text),
        _ => None,
    }
}

#[test]
fn nothing_is_true_of_what_nobody_knows() {
    let action: Value = json!({"type": "chat/fromTheFuture", "content": "x"});
    let action: StateAction = serde_json::from_value(action).unwrap();
    let traits = traits_of(&action);
    assert!(!traits.is_within_turn && !traits.may_need_somebody && !traits.is_news);
    assert!(!traits.bounds_turn);
    assert_eq!(traits.content, ActionContent::Little);
}
