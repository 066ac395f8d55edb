//! What fuzzers reach of this language: what is said during a turn, without
//! the process that says it.

use std::collections::BTreeSet;

use innkeeper_protocol::agent::TurnEvent;
use serde_json::Value;

use super::call::Around;
use super::questions::Questions;
use super::rpc::{Incoming, RequestNo, sentence, understood};
use super::settings::Settings;
use super::turn::Turn;
use super::whole_edits::Texts;
use super::{past, permission};

/// Takes in lines as a conversation does. A call that is told of has begun.
pub(crate) fn hear(lines: &str) {
    let mut turn = Turn::new(RequestNo::NONE);
    let mut questions = Questions::default();
    let mut settings = Settings::of(&Value::Null, None, true);
    let mut begun = BTreeSet::new();
    let mut updates = Vec::new();
    for line in lines.lines() {
        let Some(incoming) = serde_json::from_str(line).ok().and_then(understood) else {
            continue;
        };
        let around = Around {
            terminals: &|_| None,
            texts: &Texts::new(),
        };
        let events = match incoming {
            Incoming::Response { result: Ok(it), .. } => {
                settings = Settings::of(&it, None, true);
                let events = turn.closing(&it, around);
                turn = Turn::new(RequestNo::NONE);
                events
            }
            Incoming::Response {
                result: Err(error), ..
            } => {
                sentence(&error);
                Vec::new()
            }
            Incoming::Notification { params, .. } => {
                let update = &params["update"];
                updates.push(update.clone());
                let kind = update["sessionUpdate"].as_str().unwrap_or_default();
                settings.options_changed(&update["configOptions"]);
                settings.mode_changed(update["currentModeId"].as_str().unwrap_or_default());
                turn.update(kind, update, around)
            }
            Incoming::Request { id, params, .. } => {
                if let Ok(asked) = serde_json::from_value(params.clone()) {
                    questions.ask(id.clone(), asked);
                }
                match permission::asked(&id, &params) {
                    Ok((call, request)) => turn.calls.ask(call, request, around.texts),
                    Err(_) => Vec::new(),
                }
            }
        };
        follow(&mut begun, &events);
    }
    settings.schema();
    settings.values();
    past::recounted(&updates);
}

fn follow(begun: &mut BTreeSet<String>, events: &[TurnEvent]) {
    for event in events {
        match event {
            TurnEvent::ToolStarted(start) => drop(begun.insert(start.call.to_string())),
            TurnEvent::ToolReady(ready) => assert!(begun.contains(ready.call.as_str())),
            TurnEvent::ToolFinished { call, .. } => assert!(begun.contains(call.as_str())),
            _ => {}
        }
    }
}
