//! The judge of 0.1.0, the text of which is some weeks younger than the crates
//! of that number: nobody published types or reducers of it in Rust, so they
//! stand here in our own words.

mod actions;
pub(crate) mod client;
mod reducer;
mod state;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Mirror;
use actions::Action;
use state::{RootState, SessionState, TerminalState};

#[derive(Debug, Default)]
pub(crate) struct States(BTreeMap<String, State>);

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum State {
    Root(RootState),
    Session(Box<SessionState>),
    Terminal(TerminalState),
}

fn read<T: for<'de> Deserialize<'de>>(it: Value) -> Result<T, String> {
    let told = it.to_string();
    serde_json::from_value(it).map_err(|error| format!("{error}: {told}"))
}

impl State {
    fn read(state: Value) -> Result<Self, String> {
        let has = |key: &str| state.get(key).is_some();
        if has("agents") {
            read(state).map(Self::Root)
        } else if has("lifecycle") {
            read(state).map(Self::Session)
        } else {
            read(state).map(Self::Terminal)
        }
    }
}

impl Mirror for States {
    fn load(&mut self, channel: &str, state: Value) -> Result<(), String> {
        self.0.insert(channel.to_owned(), State::read(state)?);
        Ok(())
    }

    fn apply(&mut self, channel: &str, action: Value) -> Result<(), String> {
        let action: Action = read(action)?;
        match self.0.get_mut(channel) {
            Some(State::Root(state)) => reducer::root(state, action),
            Some(State::Session(state)) => reducer::session(state, action),
            Some(State::Terminal(state)) => reducer::terminal(state, action),
            None => {}
        }
        Ok(())
    }

    fn state(&self, channel: &str) -> Option<Value> {
        serde_json::to_value(self.0.get(channel)?).ok()
    }

    fn read(&self, state: Value) -> Result<Value, String> {
        serde_json::to_value(State::read(state)?).map_err(|it| it.to_string())
    }

    fn read_action(&self, action: Value) -> Result<Value, String> {
        let action: Action = read(action)?;
        serde_json::to_value(action).map_err(|it| it.to_string())
    }
}
