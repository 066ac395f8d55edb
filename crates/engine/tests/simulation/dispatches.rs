//! The actions that clients dispatch to chats and sessions, sound and unsound.

use innkeeper_protocol::newest::state::{ResponsePart, ToolCallContributor, ToolCallState};
use serde_json::json;

use crate::acts::{any_chat, any_session, ask, choosy_message, dispatch, message};
use crate::client::{Asked, ROOT};
use crate::customizations::IDS;
use crate::directories;
use crate::hear::State;
use crate::servers;
use crate::world::World;

pub(crate) fn dispatch_to_chat(world: &mut World, client: usize) {
    let chat = any_chat(world, client);
    if world.rng.chance(45) {
        return decide_something(world, client, &chat);
    }
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
        (1, "directories"),
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
            // Some are commands for a terminal.
            let text = match world.rng.chance(6) {
                true => format!("!make {number}"),
                false => format!("Please do {number}"),
            };
            let message = choosy_message(world, &text, origin);
            let mut action = json!({
                "type": "chat/turnStarted", "turnId": id, "message": message,
            });
            match world.rng.below(8) {
                0 => action["startedAt"] = json!("2025-06-15T12:00:00.000Z"),
                1 => action["startedAt"] = json!("9999-12-30T22:00:00.999Z"),
                2 => action["startedAt"] = json!("whenever"),
                _ => {}
            }
            action
        }
        "directories" => directories::change_chat(world),
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
            let draft = choosy_message(world, &format!("draft {number}"), "user");
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

/// What people do while an agent works: they decide, answer, queue and steer.
fn decide_something(world: &mut World, client: usize, chat: &str) {
    let kind = world.rng.weighted(&[
        (16, "toolCallConfirmed"),
        (8, "toolCallResultConfirmed"),
        (8, "toolCallComplete"),
        (5, "toolCallContentChanged"),
        (8, "inputAnswerChanged"),
        (10, "inputCompleted"),
        (14, "pendingMessageSet"),
        (5, "pendingMessageRemoved"),
        (5, "queuedMessagesReordered"),
    ]);
    let (turn, mut call) = any_call(world, client, chat);
    let facts = world.ledger.chats.get(chat);
    let steering = facts.and_then(|facts| facts.steering.clone());
    let judged = call_with_a_result(world, client, chat).filter(|_| world.rng.chance(60));
    let asked = call_to_approve(world, client, chat).filter(|_| world.rng.chance(60));
    let kind = match (judged, asked) {
        (Some(waiting), _) => {
            call = waiting;
            "toolCallResultConfirmed"
        }
        (None, Some(waiting)) => {
            call = waiting;
            "toolCallConfirmed"
        }
        (None, None) => kind,
    };
    let (number, flag) = (world.name(), world.rng.chance(60));
    let mut action = match kind {
        "toolCallConfirmed" => {
            let mut action = json!({"approved": flag});
            if !flag && world.rng.chance(85) {
                action["reason"] = json!("denied");
            }
            match world.rng.below(5) {
                0 => action["selectedOptionId"] = json!(if flag { "yes" } else { "no" }),
                1 => action["selectedOptionId"] = json!("perhaps"),
                2 => action["editedToolInput"] = json!(format!("edited {number}")),
                _ => {}
            }
            action
        }
        "toolCallResultConfirmed" => json!({"approved": flag}),
        "toolCallComplete" => json!({
            "result": {"success": flag, "pastTenseMessage": format!("ran {number}")},
            "requiresResultConfirmation": world.rng.chance(20),
        }),
        "toolCallContentChanged" => {
            json!({"content": [{"type": "text", "text": format!("so far {number}")}]})
        }
        "inputAnswerChanged" => {
            let value = match world.rng.chance(85) {
                true => json!({"kind": "text", "value": format!("answer {number}")}),
                false => json!({"kind": "number", "value": 7}),
            };
            let mut action = json!({"requestId": any_question(world), "questionId": "a"});
            if world.rng.chance(80) {
                action["answer"] = json!({"state": "draft", "value": value});
            }
            action
        }
        "inputCompleted" => {
            let value = json!({"kind": "text", "value": "final"});
            let response = *world
                .rng
                .pick(&["accept", "accept", "decline", "cancel"])
                .unwrap_or(&"cancel");
            let mut action = json!({"requestId": any_question(world), "response": response});
            if world.rng.chance(70) {
                action["answers"] = json!({"a": {"state": "submitted", "value": value}});
            }
            action
        }
        "pendingMessageSet" => {
            let kind = if world.rng.chance(70) {
                "queued"
            } else {
                "steering"
            };
            let id = format!("m{}", world.rng.below(5));
            let message = message(&format!("Then {number}"), "user");
            json!({"kind": kind, "id": id, "message": message})
        }
        "pendingMessageRemoved" if world.rng.chance(50) && steering.is_some() => {
            json!({"kind": "steering", "id": steering})
        }
        "pendingMessageRemoved" => {
            let kind = if world.rng.chance(70) {
                "queued"
            } else {
                "steering"
            };
            json!({"kind": kind, "id": format!("m{}", world.rng.below(5))})
        }
        _ => {
            let order: Vec<String> = (0..world.rng.below(5))
                .map(|_| format!("m{}", world.rng.below(6)))
                .collect();
            json!({"order": order})
        }
    };
    action["type"] = json!(format!("chat/{kind}"));
    if kind.starts_with("toolCall") {
        action["turnId"] = json!(turn);
        action["toolCallId"] = json!(call);
    }
    dispatch(world, client, chat, &action);
}

/// Deals with a tool call that waits for this client, or for anybody, as far
/// as it knows.
pub(crate) fn deal_with_what_waits(world: &mut World, client: usize) {
    let id = &world.clients[client].id;
    let of_call = |part: &ResponsePart| {
        let ResponsePart::ToolCall(part) = part else {
            return None;
        };
        match &part.tool_call {
            ToolCallState::PendingConfirmation(call) => {
                Some(("toolCallConfirmed", call.tool_call_id.clone()))
            }
            ToolCallState::PendingResultConfirmation(call) => {
                Some(("toolCallResultConfirmed", call.tool_call_id.clone()))
            }
            ToolCallState::AuthRequired(call) => Some(("authenticate", call.tool_call_id.clone())),
            ToolCallState::Running(call) => match &call.contributor {
                Some(ToolCallContributor::Client(by)) if by.client_id == *id => {
                    Some(("toolCallContentChanged", call.tool_call_id.clone()))
                }
                _ => None,
            },
            _ => None,
        }
    };
    let mut chats = world.clients[client].mirrors.iter();
    let waiting = chats.find_map(|(uri, mirror)| {
        let State::Chat(chat) = &mirror.state else {
            return None;
        };
        let turn = chat.active_turn.as_ref()?;
        let (kind, call) = turn.response_parts.iter().find_map(of_call)?;
        Some((uri.clone(), turn.id.clone(), kind, call))
    });
    let Some((chat, turn, kind, call)) = waiting else {
        return;
    };
    if kind == "authenticate" {
        let token = format!("token {}", world.name());
        let params = json!({"channel": ROOT, "resource": servers::RESOURCE, "token": token});
        return ask(world, client, "authenticate", &params, Asked::Other);
    }
    let approved = world.rng.chance(85);
    let mut action = json!({
        "type": format!("chat/{kind}"), "turnId": turn, "toolCallId": call,
    });
    match kind {
        "toolCallContentChanged" => {
            let text = format!("so far {}", world.name());
            action["content"] = json!([{"type": "text", "text": text}]);
        }
        _ => action["approved"] = json!(approved),
    }
    if kind == "toolCallConfirmed" && !approved {
        action["reason"] = json!("denied");
    }
    dispatch(world, client, &chat, &action);
}

fn any_question(world: &mut World) -> String {
    format!("q{}", world.rng.below(2))
}

/// A tool call whose result waits for approval, as the client sees it.
fn call_with_a_result(world: &World, client: usize, chat: &str) -> Option<String> {
    call_that(world, (client, chat), |call| match call {
        ToolCallState::PendingResultConfirmation(call) => Some(call.tool_call_id.clone()),
        _ => None,
    })
}

/// The first tool call that the client sees and that is in a certain state.
fn call_that(
    world: &World,
    (client, chat): (usize, &str),
    wanted: impl Fn(&ToolCallState) -> Option<String>,
) -> Option<String> {
    let mirror = world.clients[client].mirrors.get(chat)?;
    let State::Chat(chat) = &mirror.state else {
        return None;
    };
    let parts = &chat.active_turn.as_ref()?.response_parts;
    parts.iter().find_map(|part| match part {
        ResponsePart::ToolCall(part) => wanted(&part.tool_call),
        _ => None,
    })
}

/// A tool call that the client sees and that waits for approval.
fn call_to_approve(world: &World, client: usize, chat: &str) -> Option<String> {
    call_that(world, (client, chat), |call| match call {
        ToolCallState::PendingConfirmation(call) => Some(call.tool_call_id.clone()),
        _ => None,
    })
}

/// A tool call that the client sees, or one that may not be there.
fn any_call(world: &mut World, client: usize, chat: &str) -> (String, String) {
    let turn = match world.clients[client].mirrors.get(chat).map(|m| &m.state) {
        Some(State::Chat(state)) => state.active_turn.as_ref().map(|turn| turn.id.clone()),
        _ => None,
    };
    let call = format!("c{}", world.rng.below(3));
    (turn.unwrap_or_else(|| "none".to_owned()), call)
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
        (4, "switch"),
        (6, "server"),
        (3, "directories"),
        (1, "ready"),
    ]);
    let flag = world.rng.chance(50);
    let action = match kind {
        "title" if world.rng.chance(15) => json!({"type": "session/titleChanged", "title": " "}),
        "title" => json!({"type": "session/titleChanged", "title": format!("Title {number}")}),
        "read" => json!({"type": "session/isReadChanged", "isRead": flag}),
        "archived" => json!({"type": "session/isArchivedChanged", "isArchived": flag}),
        "config" => {
            let config = match world.rng.below(5) {
                0 => json!({"mode": "juggle"}),
                2 => json!({"autoApprove": if flag { "ask" } else { "autoApprove" }}),
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
            let client = json!({"clientId": id, "displayName": name, "tools": [{"name": "tool"}]});
            json!({"type": "session/activeClientSet", "activeClient": client})
        }
        "directories" => directories::change(world, client, &session),
        "inactive" => json!({"type": "session/activeClientRemoved", "clientId": id}),
        "default chat" => {
            let chat = any_chat(world, client);
            json!({"type": "session/defaultChatChanged", "defaultChat": chat})
        }
        "switch" => {
            let mut enablement = vec![json!({"kind": "session", "enabled": flag})];
            match world.rng.below(4) {
                0 => enablement.clear(),
                1 => enablement.push(json!({"kind": "global", "enabled": !flag})),
                2 => enablement = vec![json!({"kind": "global", "enabled": flag})],
                _ => {}
            }
            let id = world.rng.pick(&IDS);
            json!({"type": "session/customizationToggled", "id": id, "enablement": enablement})
        }
        "server" => {
            let what = world
                .rng
                .pick(&["Start", "Stop", "Background", "Background"]);
            let id = world.rng.pick(&servers::IDS);
            let kind = format!("session/mcpServer{}Requested", what.unwrap());
            json!({"type": kind, "id": id})
        }
        _ => json!({"type": "session/ready"}),
    };
    dispatch(world, client, &session, &action);
}
