//! What clients of the simulation write about files.

use innkeeper_protocol::ChannelUri;
use serde_json::{Value, json};

use crate::acts::{any_session, dispatch};
use crate::hear::State;
use crate::rng::Rng;
use crate::world::World;

/// What the files are found to hold when the host looks into them.
pub(crate) const TEXTS: [Option<&str>; 4] = [
    None,
    Some("a\nb\nc\nd\n"),
    Some("x\na\nb\nc\nd\n"),
    Some("c\nd\n"),
];

pub(crate) fn channel_of(session: &str) -> String {
    ChannelUri::annotations_of(session).to_string()
}

pub(crate) fn is_annotations(channel: &str) -> bool {
    ChannelUri::from(channel).session_of_annotations().is_some()
}

/// Says something about the annotations of a session, mostly about those that
/// the client knows.
pub(crate) fn write(world: &mut World, client: usize) {
    let session = any_session(world);
    let channel = channel_of(&session);
    let mirror = world.clients[client].mirrors.get(&channel);
    let known = match mirror.map(|mirror| &mirror.state) {
        Some(State::Annotations(state)) => json!(state.annotations),
        _ => json!([]),
    };
    let ids = ["n1", "n2", "n3"];
    let id = *world.rng.pick(&ids).unwrap_or(&"");
    let entries = known.as_array().into_iter().flatten();
    let entries = entries.filter(|it| it["id"] == id);
    let entries: Vec<Value> = entries
        .flat_map(|it| it["entries"].as_array().cloned().unwrap_or_default())
        .collect();
    let entry = world.rng.pick(&entries).map(|entry| entry["id"].clone());
    let action = match world.rng.below(9) {
        0..=2 => json!({"type": "annotations/set", "annotation": {
            "id": id, "origin": {"session": session}, "resource": file(&mut world.rng),
            "range": lines(&mut world.rng), "resolved": false,
            "entries": [{"id": "e0", "text": "Why?"}],
        }}),
        3 | 4 => {
            let mut action = json!({"type": "annotations/updated", "annotationId": id});
            if world.rng.chance(60) {
                action["resolved"] = world.rng.chance(50).into();
            }
            if world.rng.chance(40) {
                action["range"] = lines(&mut world.rng);
            }
            action
        }
        5 | 6 => {
            let entry = format!("e{}", world.rng.below(3));
            let text = *world.rng.pick(&["Because.", "", "No."]).unwrap_or(&"");
            json!({"type": "annotations/entrySet", "annotationId": id,
                "entry": {"id": entry, "text": text}})
        }
        7 => json!({"type": "annotations/entryRemoved", "annotationId": id,
            "entryId": entry.unwrap_or_else(|| "e0".into())}),
        _ => json!({"type": "annotations/removed", "annotationId": id}),
    };
    dispatch(world, client, &channel, &action);
}

fn file(rng: &mut Rng) -> &'static str {
    let files = ["file:///w/a.txt", "file:///w/b.txt", "x:other"];
    rng.pick(&files).copied().unwrap_or("x:")
}

fn lines(rng: &mut Rng) -> Value {
    let first = rng.below(4);
    let last = first + rng.below(2);
    json!({"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}})
}
