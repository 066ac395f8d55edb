//! What onlookers do with automations, if their version has any.

use serde_json::{Value, json};

use crate::looking_on::{ask, say};
use crate::onlooker::Asked;
use crate::world::World;

const CATALOGUE: &str = "ahp-automations://";
const RUN_SCHEME: &str = "ahp-automation-run:";

/// Names for automations: few, so that they are taken and used again.
const AUTOMATIONS: [&str; 3] = [
    "ahp-automation:/1",
    "ahp-automation:/2",
    "ahp-automation:/3",
];

pub(crate) fn act(world: &mut World, index: usize) {
    if !world.onlookers[index].version.has_automations() {
        return;
    }
    if !world.onlookers[index].followed.contains_key(CATALOGUE) {
        return follow(world, index, CATALOGUE);
    }
    let automation = *world.rng.pick(&AUTOMATIONS).unwrap_or(&"");
    match world.rng.below(12) {
        0..=2 => {
            let definition = definition(world);
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
                _ => json!({"triggers": definition(world)["triggers"]}),
            };
            let action = json!({
                "type": "automation/updateRequested", "resource": automation, "changes": changes,
            });
            say(world, index, CATALOGUE, &action);
        }
        4 => remove(world, index, automation),
        5..=7 => {
            let request = format!("r{}", world.rng.below(6));
            let params = json!({"automation": automation, "requestId": request});
            ask(
                world,
                index,
                "runAutomation",
                Some(CATALOGUE),
                params,
                Asked::Other,
            );
        }
        8..=9 => {
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
    let mut all = world.onlookers.iter();
    let is_run = |channel: &String| channel.starts_with(RUN_SCHEME);
    if all.any(|it| it.followed.keys().any(is_run) || !it.asked.is_empty()) {
        return;
    }
    let action = json!({"type": "automation/removed", "resource": automation});
    say(world, index, CATALOGUE, &action);
}

fn any_run(world: &mut World, index: usize) -> Option<String> {
    let state = world.onlookers[index].state(CATALOGUE);
    let entries = state["entries"].as_array().into_iter().flatten();
    let runs = entries.flat_map(|entry| entry["runs"].as_array().into_iter().flatten());
    let runs: Vec<String> = runs
        .filter_map(|run| run["resource"].as_str().map(str::to_owned))
        .collect();
    world.rng.pick(&runs).cloned()
}

/// By hand, every minute, after turns of sessions, or one that is wrong.
fn definition(world: &mut World) -> Value {
    let schedule = json!({"expression": "* * * * *", "timeZone": "Europe/Berlin"});
    let events = json!([{"id": "turnCompleted", "title": ""}]);
    let triggers = match world.rng.below(4) {
        0 => json!([]),
        1 => json!([{"kind": "schedule", "id": "s", "schedule": schedule}]),
        2 => json!([
            {"kind": "event", "id": "e", "type": "session", "title": "", "events": events},
        ]),
        _ => json!([{"kind": "schedule", "id": "", "schedule": schedule}]),
    };
    json!({
        "title": format!("Automation {}", world.name()),
        "message": {"text": "Go", "origin": {"kind": "automation"}},
        "session": {}, "enabled": true, "triggers": triggers,
    })
}
