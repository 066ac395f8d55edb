//! The official reducer cases of 0.2.0, run in the newest version: the initial
//! state and the actions are raised, reduced there, and the result is lowered.

use std::path::{Path, PathBuf};

use ahp::reducers;
use ahp_types::actions::StateAction;
use ahp_types::state::{
    ChangesetState, ChatState, ResourceWatchState, RootState, SessionState, TerminalState,
};
use innkeeper_protocol::gates::following::follow;
use innkeeper_protocol::gates::up::PartialAction;
use innkeeper_protocol::gates::{Object, SnapshotForGates, down, up};
use innkeeper_protocol::version::Version;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const VERSION: Version = Version::V0_2;

pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// The case is about something that the newest version cannot say.
    DoesNotApply(&'static str),
}

#[test]
fn reducer_cases() {
    let directories = std::env::var("AHP_REDUCER_CASES").unwrap_or_else(|_| {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let shared = workspace.join("../shared/spec/0.2.0/reducers");
        shared.to_string_lossy().into_owned()
    });
    let mut files: Vec<PathBuf> = directories
        .split(':')
        .filter_map(|directory| std::fs::read_dir(directory).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "json"))
        .collect();
    files.sort();
    if files.is_empty() {
        println!("skipped: no reducer cases in {directories}");
        return;
    }
    let (mut passed, mut failed, mut foreign) = (0, 0, 0);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let text = std::fs::read_to_string(file).unwrap();
        let case: Value = serde_json::from_str(&text).unwrap();
        match run(&case) {
            Outcome::Passed => passed += 1,
            Outcome::DoesNotApply(reason) => {
                foreign += 1;
                println!("does not apply: {name}: {reason}");
            }
            Outcome::Failed(reason) => {
                failed += 1;
                println!("failed: {name}: {reason}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, {foreign} do not apply");
    assert_eq!(failed, 0, "some reducer cases failed");
}

fn run(case: &Value) -> Outcome {
    let initial = case["initial"].clone();
    let actions = case["actions"].as_array().cloned().unwrap_or_default();
    let result = match case["reducer"].as_str().unwrap_or_default() {
        "session" => match in_the_newest(initial, &actions) {
            Ok(state) => state,
            Err(outcome) => return outcome,
        },
        "root" => fold(initial, &actions, |state: &mut RootState, action| {
            reducers::apply_action_to_root(state, action);
        }),
        "terminal" => fold(initial, &actions, |state: &mut TerminalState, action| {
            reducers::apply_action_to_terminal(state, action);
        }),
        "changeset" => fold(initial, &actions, |state: &mut ChangesetState, action| {
            reducers::apply_action_to_changeset(state, action);
        }),
        "resourceWatch" => fold(
            initial,
            &actions,
            |state: &mut ResourceWatchState, action| {
                reducers::apply_action_to_resource_watch(state, action);
            },
        ),
        _ => return Outcome::DoesNotApply("0.2.0 has no such reducer"),
    };
    let (result, expected) = (comparable(result), comparable(case["expected"].clone()));
    match result == expected {
        true => Outcome::Passed,
        false => Outcome::Failed(format!("\n     got {result}\nexpected {expected}")),
    }
}

/// A state on a channel that is the same in the newest version and the case.
fn fold<S: DeserializeOwned + serde::Serialize>(
    initial: Value,
    actions: &[Value],
    reduce: impl Fn(&mut S, &StateAction),
) -> Value {
    let raised = up::snapshot(VERSION, SnapshotForGates::new("x:state", initial));
    let mut state: S = serde_json::from_value(raised.state.into()).unwrap();
    for action in actions {
        let (act, _) = up::action(VERSION, "x:state", action.clone());
        if let Ok(action) = serde_json::from_value(act.action.into()) {
            reduce(&mut state, &action);
        }
    }
    let state = serde_json::to_value(&state).unwrap();
    down::snapshot(VERSION, SnapshotForGates::new("x:state", state))
        .state
        .into()
}

/// A session and its default chat.
struct Newest {
    session: SessionState,
    chat: ChatState,
}

pub(crate) fn in_the_newest(initial: Value, actions: &[Value]) -> Result<Value, Outcome> {
    let asks = |it: &&Value| it["type"] == "session/inputRequested";
    let has_question = !initial["inputRequests"].is_null() || actions.iter().any(|it| asks(&it));
    if has_question && initial["activeTurn"].is_null() {
        return Err(Outcome::DoesNotApply(
            "a question without a turn: in the newest version questions are parts of turns",
        ));
    }
    let uri = initial["summary"]["resource"].as_str().unwrap_or_default();
    let raised = up::snapshot(VERSION, SnapshotForGates::new(uri, initial.clone()));
    let summary = raised.summary.clone();
    let session: SessionState = serde_json::from_value(raised.state.into()).unwrap();
    let mut chat: ChatState =
        serde_json::from_value(raised.chat.unwrap_or_default().into()).unwrap();
    for (key, partial) in [
        ("model", PartialAction::Model as fn(Value) -> PartialAction),
        ("agent", PartialAction::Agent),
    ] {
        if let Some(selected) = raised.selection.get(key) {
            chat.draft = draft(&chat, &partial(selected.clone().into()));
        }
    }
    let mut newest = Newest { session, chat };
    for action in actions {
        newest.lift(uri, action);
    }
    let selection = json!({
        "model": newest.chat.draft.as_ref().and_then(|it| it.model.as_ref()),
        "agent": newest.chat.draft.as_ref().and_then(|it| it.agent.as_ref()),
    });
    let value = |it: Value| it.as_object().cloned().map(Object::from);
    let mut lowered = SnapshotForGates::new(uri, serde_json::to_value(&newest.session).unwrap());
    lowered.chat = value(serde_json::to_value(&newest.chat).unwrap());
    lowered.selection = value(selection).unwrap_or_default();
    lowered.summary = summary;
    Ok(down::snapshot(VERSION, lowered).state.into())
}

fn draft(chat: &ChatState, partial: &PartialAction) -> Option<ahp_types::state::Message> {
    let now = chat
        .draft
        .as_ref()
        .and_then(|it| serde_json::to_value(it).ok());
    let whole = partial.complete_draft(now)?;
    serde_json::from_value(whole.into()).ok()
}

impl Newest {
    /// What the host does with an action of a client of 0.2.0.
    fn lift(&mut self, uri: &str, action: &Value) {
        let (act, partial) = up::action(VERSION, uri, action.clone());
        match partial {
            None => self.apply(act.action.into()),
            Some(partial @ (PartialAction::Model(_) | PartialAction::Agent(_))) => {
                let draft = draft(&self.chat, &partial);
                self.apply(json!({"type": "chat/draftChanged", "draft": draft}));
            }
            Some(partial) => {
                let first = self.session.active_clients.first();
                let first = first.and_then(|it| serde_json::to_value(it).ok());
                let next = partial.complete_client(first.clone());
                if let Some(first) = first {
                    let id = &first["clientId"];
                    if next.as_ref().is_none_or(|next| &next["clientId"] != id)
                        && !matches!(partial, PartialAction::ClientTools(_))
                    {
                        let gone = json!({"type": "session/activeClientRemoved", "clientId": id});
                        self.apply(gone);
                    }
                }
                if let Some(next) = next {
                    self.apply(json!({"type": "session/activeClientSet", "activeClient": next}));
                }
            }
        }
    }

    fn apply(&mut self, mut action: Value) {
        match action["type"].as_str() {
            Some("chat/turnStarted") => action["startedAt"] = "2026-01-01T00:00:00.000Z".into(),
            Some("chat/turnComplete" | "chat/turnCancelled" | "chat/error") => {
                action["duration"] = 1.into();
            }
            _ => {}
        }
        let Ok(mut action) = serde_json::from_value::<StateAction>(action) else {
            return;
        };
        if !follow(&mut action, self.chat.active_turn.as_ref()) {
            return;
        }
        reducers::apply_action_to_session(&mut self.session, &action);
        reducers::apply_action_to_chat(&mut self.chat, &action);
        // The host marks a session as unread when something begins in it.
        if matches!(
            action,
            StateAction::ChatTurnStarted(_) | StateAction::ChatInputRequested(_)
        ) {
            self.session.status &= !32;
        }
    }
}

/// Without what the old reducer takes from its own clock, and with what is
/// absent left out.
pub(crate) fn comparable(mut value: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.retain(|_, it| !it.is_null());
                object.values_mut().for_each(strip);
            }
            Value::Array(list) => list.iter_mut().for_each(strip),
            _ => {}
        }
    }
    strip(&mut value);
    if let Some(summary) = value.get_mut("summary").and_then(Value::as_object_mut) {
        summary.remove("modifiedAt");
    }
    value
}
