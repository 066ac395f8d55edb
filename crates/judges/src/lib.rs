//! The judges: for each version, states that are kept with that version's own
//! types and reducers, as its own clients would.
//!
//! A crate of its own, and not part of the tests that use it, because ten
//! versions of all types take minutes to compile and never change.

use std::collections::BTreeMap;

use serde_json::Value;

mod action_types;
mod changesets;
pub mod client;
mod comparison;
mod coverage;
mod draft;
mod schemas;

pub use action_types::{ACTION_TYPES, CLIENTS_SAY};
pub use comparison::{comparable, difference};
pub use coverage::Coverage;
pub use schemas::{Conformity, Schemas};

/// The names of all versions, oldest first.
pub const VERSIONS: [&str; 11] = [
    "draft 1", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0",
];

/// What a client of one version holds.
pub trait Mirror: std::fmt::Debug {
    /// Takes a snapshot. The error says what the version's types do not know.
    fn load(&mut self, channel: &str, state: Value) -> Result<(), String>;
    /// Folds an action in, if it is about a channel that was loaded.
    fn apply(&mut self, channel: &str, action: Value) -> Result<(), String>;
    fn state(&self, channel: &str) -> Option<Value>;
    /// Brings a state into the form in which [`Mirror::state`] gives it.
    fn read(&self, state: Value) -> Result<Value, String>;
    /// An action as the version's own types write it, if they know it.
    fn read_action(&self, action: Value) -> Result<Value, String>;
}

/// What nobody may be sent: something that the version reads as unknown.
fn known<T: std::fmt::Debug>(it: T) -> Result<T, String> {
    let text = format!("{it:?}");
    match text.find("Unknown(") {
        Some(at) => Err(format!(
            "unknown to this version: {}",
            text.get(at..).unwrap_or("")
        )),
        None => Ok(it),
    }
}

macro_rules! mirror {
    ($name:ident, $ahp:ident, $types:ident, [$($kind:ident => $reduce:ident),*]
     $(, ours: [$($own_kind:ident => $own_reduce:path),*])?) => {
        mod $name {
            use super::*;
            use $types::actions::StateAction;
            use $types::state::SnapshotState;

            #[derive(Debug, Default)]
            pub(crate) struct States(BTreeMap<String, SnapshotState>);

            fn read(state: Value) -> Result<SnapshotState, String> {
                let told = state.to_string();
                let state = serde_json::from_value(state).map_err(|it| format!("{it}: {told}"))?;
                known(state)
            }

            impl Mirror for States {
                fn load(&mut self, channel: &str, state: Value) -> Result<(), String> {
                    self.0.insert(channel.to_owned(), read(state)?);
                    Ok(())
                }

                fn apply(&mut self, channel: &str, action: Value) -> Result<(), String> {
                    let told = action.to_string();
                    let action: StateAction =
                        serde_json::from_value(action).map_err(|it| format!("{it}: {told}"))?;
                    let action = known(action).map_err(|it| format!("{it} in {told}"))?;
                    match self.0.get_mut(channel) {
                        $(Some(SnapshotState::$kind(state)) => {
                            $ahp::reducers::$reduce(state, &action);
                        })*
                        $($(Some(SnapshotState::$own_kind(state)) => {
                            $own_reduce(state, &action);
                        })*)?
                        _ => {}
                    }
                    Ok(())
                }

                fn state(&self, channel: &str) -> Option<Value> {
                    serde_json::to_value(self.0.get(channel)?).ok()
                }

                fn read(&self, state: Value) -> Result<Value, String> {
                    let state: SnapshotState =
                        serde_json::from_value(state).map_err(|it| it.to_string())?;
                    serde_json::to_value(state).map_err(|it| it.to_string())
                }

                fn read_action(&self, action: Value) -> Result<Value, String> {
                    let action: StateAction =
                        serde_json::from_value(action).map_err(|it| it.to_string())?;
                    serde_json::to_value(known(action)?).map_err(|it| it.to_string())
                }
            }
        }
    };
}

mirror!(draft_1, ahp_0_1, ahp_types_0_1, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Terminal => apply_action_to_terminal
]);
mirror!(v0_2, ahp_0_2, ahp_types_0_2, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Terminal => apply_action_to_terminal
], ours: [Changeset => changesets::v0_2]);
mirror!(v0_3, ahp_0_3, ahp_types_0_3, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Terminal => apply_action_to_terminal
], ours: [Changeset => changesets::v0_3]);
mirror!(v0_4, ahp_0_4, ahp_types_0_4, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch
]);
mirror!(v0_5, ahp_0_5, ahp_types_0_5, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch
]);
mirror!(v0_6, ahp_0_6, ahp_types_0_6, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch
]);
mirror!(v0_7, ahp_0_7, ahp_types_0_7, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch
]);
mirror!(v0_8, ahp_0_8, ahp_types_0_8, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch
]);
mirror!(v0_9, ahp_0_9, ahp_types_0_9, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch,
    Automations => apply_action_to_automation, AutomationRun => apply_action_to_automation_run
]);
mirror!(v1_0, ahp, ahp_types, [
    Root => apply_action_to_root, Session => apply_action_to_session,
    Chat => apply_action_to_chat, Terminal => apply_action_to_terminal,
    Changeset => apply_action_to_changeset, Annotations => apply_action_to_annotations,
    ResourceWatch => apply_action_to_resource_watch, Canvas => apply_action_to_canvas,
    Automations => apply_action_to_automation, AutomationRun => apply_action_to_automation_run
]);

/// What a version is called here: `"0.2"` for `"0.2.0"`.
pub fn name_of(version: impl std::fmt::Display) -> String {
    let full = version.to_string();
    let short = full.rsplit_once('.').map(|(short, _)| short.to_owned());
    short.unwrap_or(full)
}

/// How old a version is: the place of its name in [`VERSIONS`].
pub fn age(version: &str) -> Option<usize> {
    VERSIONS.iter().position(|name| *name == version)
}

/// The judge of a version, by its name: `"0.2"`.
pub fn mirror(version: &str) -> Option<Box<dyn Mirror>> {
    Some(match version {
        "draft 1" => Box::new(draft_1::States::default()),
        "0.1" => Box::new(draft::States::default()),
        "0.2" => Box::new(v0_2::States::default()),
        "0.3" => Box::new(v0_3::States::default()),
        "0.4" => Box::new(v0_4::States::default()),
        "0.5" => Box::new(v0_5::States::default()),
        "0.6" => Box::new(v0_6::States::default()),
        "0.7" => Box::new(v0_7::States::default()),
        "0.8" => Box::new(v0_8::States::default()),
        "0.9" => Box::new(v0_9::States::default()),
        "1.0" => Box::new(v1_0::States::default()),
        _ => return None,
    })
}
