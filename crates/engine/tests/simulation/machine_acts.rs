//! What onlookers do with terminals and watches, each in its own words.

use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::acts::any_session;
use crate::looking_on::{ask, say};
use crate::onlooker::Asked;
use crate::world::World;

/// Names for terminals: few, so that they are taken, disposed and used again.
const TERMINALS: [&str; 3] = ["ahp-terminal:/1", "ahp-terminal:/2", "ahp-terminal:/3"];

/// An ordinary beginning: a terminal that a session holds, and a watch, which
/// most follow.
pub(crate) fn begin(world: &mut World, session: &str) {
    let last = world.onlookers.len() - 1;
    let claim = json!({"kind": "session", "session": session, "chat": "ahp-chat:/any"});
    let params = json!({ "claim": claim });
    ask_about_terminal(world, last, "createTerminal", TERMINALS[0], params);
    watch(world, last);
    world.drain();
    let mut channels: Vec<String> = vec![TERMINALS[0].to_owned()];
    channels.extend(world.onlookers[last].watches.pop());
    for index in 0..world.onlookers.len() {
        for channel in &channels {
            if world.rng.chance(70) {
                follow(world, index, channel);
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

pub(crate) fn act(world: &mut World, index: usize) {
    let kind = world.rng.weighted(&[
        (6, "open"),
        (2, "dispose"),
        (8, "subscribe"),
        (12, "say"),
        (3, "watch"),
    ]);
    match kind {
        "open" => open(world, index),
        "dispose" => {
            let terminal = any_terminal(world, index);
            ask_about_terminal(world, index, "disposeTerminal", &terminal, json!({}));
        }
        "subscribe" => {
            let channel = match world.onlookers[index].watches.pop() {
                Some(watch) => watch,
                None => any_terminal(world, index),
            };
            follow(world, index, &channel);
        }
        "say" => dispatch(world, index),
        _ => watch(world, index),
    }
}

fn open(world: &mut World, index: usize) {
    let terminal = *world.rng.pick(&TERMINALS).unwrap_or(&"");
    let mut params = json!({ "claim": claim(world, index) });
    match world.rng.below(6) {
        0 => params["name"] = json!("Mine"),
        1 => params["cols"] = json!(0),
        2 => {
            params["cwd"] = json!("file:///w");
            params["cols"] = json!(100);
            params["rows"] = json!(30);
        }
        _ => {}
    }
    if world.onlookers[index].version <= Version::V0_8
        && let Some(claim) = params["claim"].as_object_mut()
    {
        claim.remove("chat");
    }
    ask_about_terminal(world, index, "createTerminal", terminal, params);
}

/// Draft 1 has a word of its own for what these requests are about.
fn ask_about_terminal(
    world: &mut World,
    index: usize,
    method: &str,
    terminal: &str,
    mut params: Value,
) {
    let key = match world.onlookers[index].is_draft() {
        true => "terminal",
        false => "channel",
    };
    params[key] = terminal.into();
    ask(world, index, method, None, params, Asked::Other);
}

/// For oneself, for a session, or for nobody that there is.
fn claim(world: &mut World, index: usize) -> Value {
    match world.rng.below(10) {
        0 => json!({"kind": "client", "clientId": "nobody"}),
        1..=3 => {
            let session = any_session(world);
            json!({"kind": "session", "session": session, "chat": "ahp-chat:/any"})
        }
        _ => json!({"kind": "client", "clientId": world.onlookers[index].id}),
    }
}

/// A terminal that the onlooker knows of: from the list, or from a tool call
/// whose command may have ended long ago.
fn any_terminal(world: &mut World, index: usize) -> String {
    let it = &world.onlookers[index];
    let mut known = it.listed_terminals();
    for channel in it.followed.keys() {
        terminals_in(&it.state(channel), &mut known);
    }
    match world.rng.pick(&known) {
        Some(terminal) if world.rng.chance(90) => terminal.clone(),
        _ => (*world.rng.pick(&TERMINALS).unwrap_or(&"")).to_owned(),
    }
}

/// The terminals that the tool calls of a state show.
fn terminals_in(state: &Value, found: &mut Vec<String>) {
    match state {
        Value::String(text) if text.starts_with("ahp-terminal:/life") => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|it| terminals_in(it, found)),
        Value::Object(fields) => fields.values().for_each(|it| terminals_in(it, found)),
        _ => {}
    }
}

fn dispatch(world: &mut World, index: usize) {
    let terminal = any_terminal(world, index);
    let number = world.name();
    let action = match world.rng.below(14) {
        0..=2 => json!({"type": "terminal/input", "data": format!("make {number}\n")}),
        3..=6 => {
            let cols = 80 + world.rng.below(3);
            json!({"type": "terminal/resized", "cols": cols, "rows": 24})
        }
        7 => json!({"type": "terminal/resized", "cols": 0, "rows": 24}),
        8..=9 => json!({"type": "terminal/claimed", "claim": claim(world, index)}),
        10 => json!({"type": "terminal/titleChanged", "title": format!("Mine {number}")}),
        11 => json!({"type": "terminal/titleChanged", "title": " "}),
        12 => json!({"type": "terminal/cleared"}),
        _ => json!({"type": "terminal/data", "data": "forged"}),
    };
    say(world, index, &terminal, &action);
}

/// Draft 1 has no watches.
fn watch(world: &mut World, index: usize) {
    if world.onlookers[index].is_draft() {
        return;
    }
    let mut params = json!({"uri": "file:///w", "recursive": world.rng.chance(50)});
    match world.rng.below(5) {
        0 => params["includes"] = json!({"items": ["*.rs"]}),
        1 => params["excludes"] = json!("everything"),
        _ => {}
    }
    let root = world.onlookers[index].root();
    let asked = Asked::Watch;
    ask(
        world,
        index,
        "createResourceWatch",
        Some(root),
        params,
        asked,
    );
}
