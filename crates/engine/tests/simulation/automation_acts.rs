//! What onlookers do with automations, if their version has any.

use serde_json::{Value, json};

use crate::looking_on::{ask, say};
use crate::onlooker::{Asked, Onlooker};
use crate::world::World;

const CATALOGUE: &str = "ahp-automations://";

/// Names for automations: few, so that they are taken and used again.
const AUTOMATIONS: [&str; 3] = [
    "ahp-automation:/1",
    "ahp-automation:/2",
    "ahp-automation:/3",
];

/// An ordinary beginning: a run that waits for an agent until its automation is
/// changed, and those who can follow it.
pub(crate) fn begin(world: &mut World) {
    let able: Vec<usize> = (0..world.onlookers.len())
        .filter(|&index| world.onlookers[index].version.has_automations())
        .collect();
    for &index in &able {
        follow(world, index, CATALOGUE);
    }
    world.drain();
    let Some(&first) = able.last() else {
        return;
    };
    let mut definition = definition(world, json!([]));
    definition["session"] = json!({"provider": "nobody"});
    let action = json!({
        "type": "automation/createRequested", "resource": AUTOMATIONS[0],
        "definition": definition,
    });
    say(world, first, CATALOGUE, &action);
    run(world, first, AUTOMATIONS[0]);
    world.drain();
    for &index in &able {
        if let Some(run) = any_run(world, index) {
            follow(world, index, &run);
        }
    }
    world.drain();
    let action = json!({
        "type": "automation/updateRequested", "resource": AUTOMATIONS[0],
        "changes": {"session": {}},
    });
    say(world, first, CATALOGUE, &action);
}

pub(crate) fn act(world: &mut World, index: usize) {
    if !world.onlookers[index].version.has_automations() {
        return;
    }
    if !world.onlookers[index].followed.contains_key(CATALOGUE) {
        return follow(world, index, CATALOGUE);
    }
    let automation = *world.rng.pick(&AUTOMATIONS).unwrap_or(&"");
    match world.rng.below(13) {
        0..=2 => {
            let triggers = triggers(world);
            let definition = definition(world, triggers);
            let action = json!({
                "type": "automation/createRequested", "resource": automation,
                "definition": definition,
            });
            say(world, index, CATALOGUE, &action);
        }
        3 => {
            let changes = match world.rng.below(3) {
                0 => json!({"enabled": world.rng.chance(50)}),
                1 => json!({"title": format!("Title {}", world.name())}),
                _ => json!({"triggers": triggers(world)}),
            };
            let action = json!({
                "type": "automation/updateRequested", "resource": automation, "changes": changes,
            });
            say(world, index, CATALOGUE, &action);
        }
        4 => remove(world, index, automation),
        5..=7 => run(world, index, automation),
        8 => dispose_of_session(world, index),
        9..=10 => {
            if let Some(run) = any_run(world, index) {
                follow(world, index, &run);
            }
        }
        _ => {
            if let Some(run) = any_run(world, index) {
                let action = json!({"type": "automationRun/cancelRequested"});
                say(world, index, &run, &action);
            }
        }
    }
}

fn follow(world: &mut World, index: usize, channel: &str) {
    if !world.onlookers[index].followed.contains_key(channel) {
        let asked = Asked::Subscribe(channel.to_owned());
        ask(world, index, "subscribe", Some(channel), json!({}), asked);
    }
}

/// Nobody is told that the runs of an automation go with it, so it stays while
/// somebody may follow one.
fn remove(world: &mut World, index: usize, automation: &str) {
    // Whoever waits for an answer may be about to follow one.
    world.drain();
    let runs = runs(world, index);
    let own = runs.iter().filter(|run| run["automation"] == automation);
    let own: Vec<&str> = own.filter_map(|run| run["resource"].as_str()).collect();
    let mut all = world.onlookers.iter();
    let may_follow = |it: &Onlooker| {
        let mut followed = it.followed.keys();
        !it.asked.is_empty() || followed.any(|channel| own.contains(&channel.as_str()))
    };
    if all.any(may_follow) {
        return;
    }
    let action = json!({"type": "automation/removed", "resource": automation});
    say(world, index, CATALOGUE, &action);
}

fn any_run(world: &mut World, index: usize) -> Option<String> {
    let runs = runs(world, index);
    let names = runs.iter().filter_map(|run| run["resource"].as_str());
    let names: Vec<String> = names.map(str::to_owned).collect();
    world.rng.pick(&names).cloned()
}

/// The runs that an onlooker knows of.
fn runs(world: &World, index: usize) -> Vec<Value> {
    let state = world.onlookers[index].state(CATALOGUE);
    let entries = state["entries"].as_array().into_iter().flatten();
    let runs = entries.flat_map(|entry| entry["runs"].as_array().into_iter().flatten());
    runs.cloned().collect()
}

/// The session of a run goes, at work or not.
fn dispose_of_session(world: &mut World, index: usize) {
    let runs = runs(world, index);
    let sessions = runs.iter().filter_map(|run| run["primarySession"].as_str());
    let sessions: Vec<String> = sessions.map(str::to_owned).collect();
    if let Some(session) = world.rng.pick(&sessions).cloned() {
        let (method, params) = ("disposeSession", json!({}));
        ask(world, index, method, Some(&session), params, Asked::Other);
    }
}

fn run(world: &mut World, index: usize, automation: &str) {
    let request = format!("r{}", world.rng.below(6));
    let params = json!({"automation": automation, "requestId": request});
    let (method, channel) = ("runAutomation", Some(CATALOGUE));
    ask(world, index, method, channel, params, Asked::Other);
}

/// By hand, once a year, after turns of sessions, or one that is wrong.
fn triggers(world: &mut World) -> Value {
    let schedule = json!({"expression": "0 0 1 1 *", "timeZone": "Europe/Berlin"});
    let events = json!([{"id": "turnCompleted", "title": ""}]);
    match world.rng.below(4) {
        0 => json!([]),
        1 => json!([{"kind": "schedule", "id": "s", "schedule": schedule}]),
        2 => json!([
            {"kind": "event", "id": "e", "type": "session", "title": "", "events": events},
        ]),
        _ => json!([{"kind": "schedule", "id": "", "schedule": schedule}]),
    }
}

fn definition(world: &mut World, triggers: Value) -> Value {
    json!({
        "title": format!("Automation {}", world.name()),
        "message": {"text": "Go", "origin": {"kind": "automation"}},
        "session": {}, "enabled": true, "triggers": triggers,
    })
}
