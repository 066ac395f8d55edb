//! The actions that clients dispatch to chats and sessions, sound and unsound.

use serde_json::json;

use crate::acts::{any_chat, any_session, dispatch, message};
use crate::hear::State;
use crate::world::World;

pub(crate) fn dispatch_to_chat(world: &mut World, client: usize) {
    let chat = any_chat(world, client);
    let turns = world.clients[client].turns(&chat);
    let active = match world.clients[client].mirrors.get(&chat).map(|m| &m.state) {
        Some(State::Chat(state)) => state.active_turn.as_ref().map(|turn| turn.id.clone()),
        _ => None,
    };
    let kind = world.rng.weighted(&[
        (40, "turnStarted"),
        (6, "turnCancelled"),
        (10, "turnResume"),
        (5, "truncated"),
        (14, "draftChanged"),
        (3, "isReadChanged"),
        (3, "isArchivedChanged"),
        (2, "delta"),
        (2, "juggled"),
        (2, "over the chat"),
    ]);
    let any_turn = world
        .rng
        .pick(&turns)
        .cloned()
        .unwrap_or_else(|| "none".to_owned());
    let number = world.name();
    let action = match kind {
        "turnStarted" => {
            let id = match world.rng.below(12) {
                0 => any_turn,
                1 => String::new(),
                2 => format!("common-{}", world.rng.below(3)),
                _ => format!("turn-{number}"),
            };
            let origin = if world.rng.chance(3) { "agent" } else { "user" };
            let mut action = json!({
                "type": "chat/turnStarted", "turnId": id,
                "message": message(&format!("Please do {number}"), origin),
            });
            match world.rng.below(8) {
                0 => action["startedAt"] = json!("2025-06-15T12:00:00.000Z"),
                1 => action["startedAt"] = json!("9999-12-30T22:00:00.999Z"),
                2 => action["startedAt"] = json!("whenever"),
                _ => {}
            }
            action
        }
        "turnCancelled" => {
            json!({"type": "chat/turnCancelled", "turnId": active.unwrap_or(any_turn)})
        }
        "turnResume" => {
            let last = turns.last().cloned().unwrap_or(any_turn);
            json!({"type": "chat/turnResume", "turnId": last})
        }
        "truncated" => match world.rng.below(4) {
            0 => json!({"type": "chat/truncated"}),
            1 => {
                // One that this client may not have been given yet.
                let all = world.ledger.chats.get(&chat).map(|chat| chat.turns.clone());
                let turn = world.rng.pick(&all.unwrap_or_default()).cloned();
                json!({"type": "chat/truncated", "turnId": turn.unwrap_or(any_turn)})
            }
            _ => json!({"type": "chat/truncated", "turnId": any_turn}),
        },
        "draftChanged" if world.rng.chance(30) => json!({"type": "chat/draftChanged"}),
        "draftChanged" => {
            let draft = message(&format!("draft {number}"), "user");
            json!({"type": "chat/draftChanged", "draft": draft})
        }
        "isReadChanged" => {
            json!({"type": "chat/isReadChanged", "isRead": world.rng.chance(50)})
        }
        "isArchivedChanged" => {
            json!({"type": "chat/isArchivedChanged", "isArchived": world.rng.chance(50)})
        }
        "delta" => json!({
            "type": "chat/delta", "turnId": any_turn, "partId": "p1", "content": "forged",
        }),
        "juggled" => json!({"type": "chat/juggled", "balls": 3}),
        _ => json!({"type": "session/titleChanged", "title": format!("Over the chat {number}")}),
    };
    dispatch(world, client, &chat, &action);
}

pub(crate) fn dispatch_to_session(world: &mut World, client: usize) {
    let session = any_session(world);
    let id = world.clients[client].id.clone();
    let number = world.name();
    let kind = world.rng.weighted(&[
        (8, "title"),
        (4, "read"),
        (4, "archived"),
        (6, "config"),
        (5, "active"),
        (3, "inactive"),
        (2, "default chat"),
        (1, "ready"),
    ]);
    let flag = world.rng.chance(50);
    let action = match kind {
        "title" if world.rng.chance(15) => json!({"type": "session/titleChanged", "title": " "}),
        "title" => json!({"type": "session/titleChanged", "title": format!("Title {number}")}),
        "read" => json!({"type": "session/isReadChanged", "isRead": flag}),
        "archived" => json!({"type": "session/isArchivedChanged", "isArchived": flag}),
        "config" => {
            let config = match world.rng.below(4) {
                0 => json!({"mode": "juggle"}),
                1 => json!({"branch": "other"}),
                _ => json!({"mode": if flag { "ask" } else { "do" }}),
            };
            json!({"type": "session/configChanged", "config": config})
        }
        "active" => {
            let id = if world.rng.chance(15) {
                "somebody"
            } else {
                &id
            };
            let name = format!("Window {}", world.rng.below(2));
            let client = json!({"clientId": id, "displayName": name, "tools": []});
            json!({"type": "session/activeClientSet", "activeClient": client})
        }
        "inactive" => json!({"type": "session/activeClientRemoved", "clientId": id}),
        "default chat" => {
            let chat = any_chat(world, client);
            json!({"type": "session/defaultChatChanged", "defaultChat": chat})
        }
        _ => json!({"type": "session/ready"}),
    };
    dispatch(world, client, &session, &action);
}
