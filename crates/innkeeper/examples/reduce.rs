//! Folds actions with the protocol's own reducers: one JSON object a line in
//! (`channel`, `state`, `actions`), the resulting state a line out. The web
//! client's tests compare their reducers with it.

use std::io::{self, BufRead as _, Write as _};

use ahp::reducers::{
    apply_action_to_annotations, apply_action_to_automation, apply_action_to_automation_run,
    apply_action_to_canvas, apply_action_to_changeset, apply_action_to_chat, apply_action_to_root,
    apply_action_to_session, apply_action_to_terminal,
};
use innkeeper_protocol::newest::actions::StateAction;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize)]
struct Run {
    channel: String,
    state: Value,
    actions: Vec<Value>,
}

fn main() -> anyhow::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let run: Run = serde_json::from_str(&line?)?;
        let state = match run.channel.as_str() {
            "root" => fold(run, |state, action| {
                apply_action_to_root(state, action);
            })?,
            "session" => fold(run, |state, action| {
                apply_action_to_session(state, action);
            })?,
            "chat" => fold(run, |state, action| {
                apply_action_to_chat(state, action);
            })?,
            "terminal" => fold(run, |state, action| {
                apply_action_to_terminal(state, action);
            })?,
            "canvas" => fold(run, |state, action| {
                apply_action_to_canvas(state, action);
            })?,
            "annotations" => fold(run, |state, action| {
                apply_action_to_annotations(state, action);
            })?,
            "automations" => fold(run, |state, action| {
                apply_action_to_automation(state, action);
            })?,
            "automationRun" => fold(run, |state, action| {
                apply_action_to_automation_run(state, action);
            })?,
            _ => fold(run, |state, action| {
                apply_action_to_changeset(state, action);
            })?,
        };
        serde_json::to_writer(&mut out, &state)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

fn fold<S>(run: Run, reduce: impl Fn(&mut S, &StateAction)) -> anyhow::Result<Value>
where
    S: DeserializeOwned + Serialize,
{
    let mut state = serde_json::from_value(run.state)?;
    for action in run.actions {
        reduce(&mut state, &serde_json::from_value(action)?);
    }
    Ok(serde_json::to_value(state)?)
}
