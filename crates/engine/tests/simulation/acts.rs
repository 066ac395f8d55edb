//! What clients do: everything that the protocol allows, and a good deal that
//! it does not.

use innkeeper_protocol::ChannelUri;
use serde_json::{Value, json};

use crate::annotations;
use crate::changes::{DIRECTORIES, any_changeset, is_changeset};
use crate::client::{Asked, ROOT};
use crate::dispatches::{dispatch_to_chat, dispatch_to_session};
use crate::extensions;
use crate::hear::State;
use crate::looking_on;
use crate::world::{ACTORS, World};

/// An ordinary beginning: everybody is here, and there is something to do.
pub(crate) fn begin(world: &mut World) {
    for client in 0..ACTORS {
        come_in(world, client);
        world.drain();
    }
    for session in &SESSIONS[..2] {
        create(world, 0, session);
    }
    world.finish_work();
    if world.rng.chance(40) {
        talk(world, &ChannelUri::default_chat_of(SESSIONS[0]).to_string());
    }
    for client in 0..ACTORS {
        for session in &SESSIONS[..2] {
            for channel in [
                (*session).to_owned(),
                ChannelUri::default_chat_of(session).to_string(),
            ] {
                if world.rng.chance(60) {
                    let mut params = json!({"channel": channel});
                    if world.rng.chance(30) {
                        params["view"] = json!({"turns": 1 + world.rng.below(2)});
                    }
                    let asked = Asked::Subscribe(channel);
                    ask(world, client, "subscribe", &params, asked);
                }
            }
        }
    }
    world.drain();
}

pub(crate) fn create(world: &mut World, client: usize, session: &str) {
    let asked = Asked::Create(session.to_owned());
    let mut params = json!({"channel": session});
    choose_directory(world, &mut params);
    ask(world, client, "createSession", &params, asked);
}

/// Most sessions work somewhere, some of them apart: but not where clients of
/// older versions look on. Up to 0.6 there is no word for a directory that is
/// replaced, so who looks on while a session is being made is not told.
fn choose_directory(world: &mut World, params: &mut Value) {
    if world.rng.chance(70) {
        let first = world.rng.pick(&DIRECTORIES).copied();
        let mut directories = vec![first];
        let alone = world.onlookers.is_empty();
        if world.rng.chance(if alone { 25 } else { 60 }) {
            directories.push(world.rng.pick(&DIRECTORIES).copied());
        }
        params["workingDirectories"] = json!(directories);
        if alone && world.rng.chance(15) && params.get("config").is_none() {
            params["config"] = json!({"isolation": "worktree"});
        }
    }
}

/// A chat with some history.
fn talk(world: &mut World, chat: &str) {
    for _ in 0..3 + world.rng.below(4) {
        let number = world.name();
        let action = json!({
            "type": "chat/turnStarted", "turnId": format!("turn-{number}"),
            "message": message("Some history", "user"),
        });
        dispatch(world, 0, chat, &action);
        world.finish_work();
    }
}

/// Names for sessions: few, so that they are taken, disposed and used again.
pub(crate) const SESSIONS: [&str; 6] = [
    "ahp-session:/1",
    "ahp-session:/2",
    "ahp-session:/3",
    "custom:four",
    "x-y.z:/five",
    "ahp-session:/6",
];

pub(crate) const CHATS: [&str; 3] = ["ahp-chat:/a", "ahp-chat:/b", "custom-chat:/c"];

pub(crate) fn act(world: &mut World, client: usize) {
    if world.clients[client].wire.is_none() {
        return come_in(world, client);
    }
    if !world.clients[client].ready {
        return;
    }
    let kind = world.rng.weighted(&[
        (8, "subscribe"),
        (3, "unsubscribe"),
        (5, "createSession"),
        (2, "disposeSession"),
        (45, "dispatch to a chat"),
        (14, "dispatch to a session"),
        (2, "dispatch to the root"),
        (2, "dispatch elsewhere"),
        (4, "createChat"),
        (2, "disposeChat"),
        (6, "moveChat"),
        (3, "take back"),
        (1, "search"),
        (5, "invokeChangesetOperation"),
        (4, "review"),
        (6, "annotate"),
        (4, "fetchTurns"),
        (2, "completions"),
        (2, "sessionConfigCompletions"),
        (4, "listSessions"),
        (3, "resourceRead"),
        (3, "resourceWrite"),
        (2, "resolveSessionConfig"),
        (2, "garbage"),
        (1, "ping"),
    ]);
    world.note(kind);
    match kind {
        "invokeChangesetOperation" => invoke(world, client),
        "review" => review(world, client),
        "annotate" => annotations::write(world, client),
        "subscribe" => subscribe(world, client),
        "unsubscribe" => unsubscribe(world, client),
        "createSession" => create_session(world, client),
        "disposeSession" => {
            let channel = any_session(world);
            let asked = Asked::Dispose(channel.clone());
            ask(
                world,
                client,
                "disposeSession",
                &json!({"channel": channel}),
                asked,
            );
        }
        "dispatch to a chat" => dispatch_to_chat(world, client),
        "dispatch to a session" => dispatch_to_session(world, client),
        "dispatch to the root" => {
            let value = *world
                .rng
                .pick(&["alpha", "beta", "nobody"])
                .unwrap_or(&"alpha");
            let config = match world.rng.below(3) {
                0 => json!({}),
                _ => json!({"defaultAgent": value}),
            };
            let replace = world.rng.chance(40);
            let action =
                json!({"type": "root/configChanged", "config": config, "replace": replace});
            dispatch(world, client, ROOT, &action);
        }
        "dispatch elsewhere" => {
            let channel = *world
                .rng
                .pick(&["x:nowhere", "ahp-chat:/none"])
                .unwrap_or(&"x:");
            let action = json!({"type": "chat/draftChanged"});
            dispatch(world, client, channel, &action);
        }
        "createChat" => create_chat(world, client),
        "disposeChat" => {
            let chat = any_chat(world, client);
            ask(
                world,
                client,
                "disposeChat",
                &json!({"channel": chat}),
                Asked::Other,
            );
        }
        "moveChat" => move_chat(world, client),
        "take back" => extensions::take_back(world, client),
        "search" => extensions::search(world, client),
        "fetchTurns" => fetch_turns(world, client),
        "completions" => {
            let channel = any_chat(world, client);
            let text = *world.rng.pick(&["/do", "@src", "plain"]).unwrap_or(&"");
            let params = json!({
                "channel": channel, "kind": "userMessage", "text": text,
                "offset": world.rng.below(7),
            });
            ask(world, client, "completions", &params, Asked::Other);
        }
        "sessionConfigCompletions" => {
            let property = *world.rng.pick(&["branch", "none"]).unwrap_or(&"");
            let params = json!({"property": property});
            ask(
                world,
                client,
                "sessionConfigCompletions",
                &params,
                Asked::Other,
            );
        }
        "listSessions" => list_sessions(world, client),
        "resourceRead" => {
            let contents: Vec<String> = world.ledger.contents.keys().cloned().collect();
            let uri = match world.rng.pick(&contents) {
                Some(uri) if world.rng.chance(80) => uri.clone(),
                _ => "innkeeper-content:/none".to_owned(),
            };
            ask(
                world,
                client,
                "resourceRead",
                &json!({"uri": uri}),
                Asked::Read,
            );
        }
        "resourceWrite" => {
            let sessions: Vec<String> = world.ledger.sessions.keys().cloned().collect();
            let session = world.rng.pick(&sessions).cloned();
            let session = session.unwrap_or_else(|| "ahp-session:/none".to_owned());
            // Few names, so that they meet.
            let uri = format!("innkeeper-content:/uploads/{}", world.rng.below(20));
            let params = json!({"channel": session, "uri": uri, "encoding": "utf-8",
                                "data": "brought along"});
            ask(world, client, "resourceWrite", &params, Asked::Write);
        }
        "garbage" => garbage(world, client),
        "resolveSessionConfig" => {
            let params = match world.rng.below(4) {
                0 => json!({"channel": ROOT}),
                1 => json!({"channel": ROOT, "provider": "alpha", "config": {}}),
                2 => json!({"channel": ROOT, "provider": "gamma"}),
                _ => json!({"channel": ROOT, "config": {"mode": 3, "nonsense": true}}),
            };
            ask(world, client, kind, &params, Asked::Resolve);
        }
        _ => ask(world, client, "ping", &json!({}), Asked::Other),
    }
}

/// Connects and introduces itself, as new or as one that comes back.
pub(crate) fn come_in(world: &mut World, client: usize) {
    let replaces = world.clients[client].wire.is_some();
    world.note(if replaces { "replace" } else { "connect" });
    world.connect(client);
    let state = &mut world.clients[client];
    let id = state.id.clone();
    if state.last_seen > 0 && world.rng.chance(80) {
        let mut channels: Vec<String> = state.mirrors.keys().cloned().collect();
        if !channels.iter().any(|channel| channel == ROOT) {
            // Without the root's state to fold into, begin anew.
            return introduce(world, client, &id);
        }
        if world.rng.chance(10) {
            channels.push("x:never-was".to_owned());
        }
        let params = json!({
            "clientId": id, "lastSeenServerSeq": state.last_seen, "subscriptions": channels,
        });
        world.note("reconnect");
        ask(world, client, "reconnect", &params, Asked::Reconnect);
    } else {
        introduce(world, client, &id);
    }
}

fn introduce(world: &mut World, client: usize, id: &str) {
    let mut channels = vec![ROOT.to_owned()];
    if world.rng.chance(50) {
        channels.push(any_session(world));
    }
    if world.rng.chance(30) {
        channels.push(ChannelUri::default_chat_of(&any_session(world)).to_string());
    }
    let params = json!({
        "channel": ROOT, "clientId": id, "protocolVersions": ["1.0.0"],
        "initialSubscriptions": channels,
        "clientInfo": {"name": "simulated", "version": "1"},
        "capabilities": match client {
            0 => json!({"mcpApps": {}}),
            _ => json!({}),
        },
    });
    world.note("initialize");
    ask(world, client, "initialize", &params, Asked::Initialize);
}

pub(crate) fn ask(world: &mut World, client: usize, method: &str, params: &Value, asked: Asked) {
    let text = world.clients[client].ask(method, params, asked);
    world.send_text(client, &text);
}

pub(crate) fn dispatch(world: &mut World, client: usize, channel: &str, action: &Value) {
    let kind = action["type"].as_str().unwrap_or("(none)").to_owned();
    world.note(&kind);
    if let Some(onlooker) = world.speaker {
        return looking_on::say(world, onlooker, channel, action);
    }
    let text = world.clients[client].dispatch(channel, action);
    world.send_text(client, &text);
}

pub(crate) fn any_session(world: &mut World) -> String {
    let known: Vec<String> = world.ledger.sessions.keys().cloned().collect();
    match world.rng.pick(&known) {
        Some(session) if world.rng.chance(90) => session.clone(),
        _ => some_name(world),
    }
}

fn some_name(world: &mut World) -> String {
    let names = &SESSIONS[..world.session_names];
    (*world.rng.pick(names).unwrap_or(&"")).to_owned()
}

/// A chat that the client knows, or the default chat of some session.
pub(crate) fn any_chat(world: &mut World, client: usize) -> String {
    let mirrors = world.clients[client].mirrors.iter();
    let known: Vec<String> = mirrors
        .flat_map(|(uri, mirror)| match &mirror.state {
            State::Chat(_) => vec![uri.clone(), uri.clone()],
            State::Session(state) => state.chats.iter().map(|c| c.resource.clone()).collect(),
            State::Root(_) | State::Changeset(_) | State::Annotations(_) => Vec::new(),
        })
        .collect();
    match world.rng.pick(&known) {
        Some(chat) if world.rng.chance(85) => chat.clone(),
        _ => ChannelUri::default_chat_of(&any_session(world)).to_string(),
    }
}

fn subscribe(world: &mut World, client: usize) {
    let channel = match world.rng.below(16) {
        0..=3 => any_session(world),
        4..=7 => ChannelUri::default_chat_of(&any_session(world)).to_string(),
        8 => any_listed_chat(world, client),
        9 => "x:unknown".to_owned(),
        10 | 11 => annotations::channel_of(&any_session(world)),
        _ => {
            let session = any_session(world);
            let turns = world.clients[client].turns(ChannelUri::default_chat_of(&session).as_str());
            any_changeset(&mut world.rng, &session, &turns)
        }
    };
    let mut params = json!({"channel": channel});
    if world.rng.chance(50) {
        let turns = world.rng.below(3);
        params["view"] = json!({"turns": turns});
        world.note("subscribe with a window");
    }
    if world.rng.chance(20) {
        params["delivery"] = json!({"maxLatencyMs": 50});
    }
    let asked = Asked::Subscribe(channel);
    ask(world, client, "subscribe", &params, asked);
}

/// A chat in a session that the client follows: it will hear of its end.
fn any_listed_chat(world: &mut World, client: usize) -> String {
    let mirrors = world.clients[client].mirrors.values();
    let listed: Vec<String> = mirrors
        .filter_map(|mirror| match &mirror.state {
            State::Session(state) => Some(state.chats.iter().map(|chat| chat.resource.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    let chat = world.rng.pick(&listed).cloned();
    chat.unwrap_or_else(|| "ahp-chat:/none".to_owned())
}

/// A changeset that the client follows, with the files and operations that it
/// knows; or one that it does not.
fn any_known_changeset(world: &mut World, client: usize) -> (String, Value) {
    let mirrors = world.clients[client].mirrors.iter();
    let known: Vec<(String, Value)> = mirrors
        .filter_map(|(uri, mirror)| match &mirror.state {
            State::Changeset(state) => Some((uri.clone(), json!(state))),
            _ => None,
        })
        .collect();
    match world.rng.pick(&known).cloned() {
        Some(known) => known,
        None => {
            let session = any_session(world);
            let channel = any_changeset(&mut world.rng, &session, &[]);
            (channel, json!({}))
        }
    }
}

fn any_of(world: &mut World, list: &Value) -> String {
    let list = list.as_array().cloned().unwrap_or_default();
    let ids: Vec<&str> = list.iter().filter_map(|it| it["id"].as_str()).collect();
    (*world.rng.pick(&ids).unwrap_or(&"nothing")).to_owned()
}

pub(crate) fn operation(world: &mut World, client: usize) -> Value {
    let (channel, state) = any_known_changeset(world, client);
    let mut params =
        json!({"channel": channel, "operationId": any_of(world, &state["operations"])});
    if world.rng.chance(30) {
        let file = any_of(world, &state["files"]);
        params["target"] = json!({"kind": "resource", "resource": file});
    }
    params
}

fn invoke(world: &mut World, client: usize) {
    let params = operation(world, client);
    let method = "invokeChangesetOperation";
    ask(world, client, method, &params, Asked::Other);
}

pub(crate) fn review(world: &mut World, client: usize) {
    let (channel, state) = any_known_changeset(world, client);
    let file = any_of(world, &state["files"]);
    let reviewed = world.rng.chance(70);
    let action = json!({
        "type": "changeset/filesReviewChanged", "files": [file], "reviewed": reviewed,
    });
    dispatch(world, client, &channel, &action);
}

fn unsubscribe(world: &mut World, client: usize) {
    let mirrors = &world.clients[client].mirrors;
    let is_further = |uri: &str| uri.contains("chat:/") && !uri.starts_with("ahp-chat://");
    let plain =
        |uri: &str| ChannelUri::from(uri).session_of_default_chat().is_some() || is_further(uri);
    let is_beside = |uri: &str| is_changeset(uri) || annotations::is_annotations(uri);
    // A session is left only when none of its further chats is followed.
    let further = mirrors.keys().any(|uri| is_further(uri));
    let candidates: Vec<String> = mirrors
        .keys()
        .filter(|uri| *uri != ROOT && (plain(uri) || is_beside(uri) || !further))
        .cloned()
        .collect();
    let channel = match world.rng.pick(&candidates) {
        Some(channel) if world.rng.chance(90) => channel.clone(),
        _ => "x:unknown".to_owned(),
    };
    if world.rng.chance(40) {
        let text = world.clients[client].leave_at_once(&channel);
        world.send_text(client, &text);
    } else {
        let params = json!({"channel": channel});
        let asked = Asked::Unsubscribe(channel);
        ask(world, client, "unsubscribe", &params, asked);
    }
}

fn create_session(world: &mut World, client: usize) {
    let channel = match world.rng.below(12) {
        0 => "no uri at all".to_owned(),
        1 => ChannelUri::default_chat_of(&any_session(world)).to_string(),
        _ => some_name(world),
    };
    let mut params = json!({"channel": channel});
    match world.rng.below(10) {
        0 => params["provider"] = json!("nobody"),
        1 => params["provider"] = json!("beta"),
        2 => params["config"] = json!({"branch": "main", "mode": "do"}),
        3 => params["config"] = json!({"branch": 7}),
        4 => params["activeClient"] = json!({"clientId": "somebody", "tools": []}),
        5 | 6 => {
            let id = &world.clients[client].id;
            params["activeClient"] = json!({"clientId": id, "tools": [{"name": "tool"}]});
        }
        _ => {}
    }
    if world.rng.chance(20) {
        let session = any_session(world);
        let chat = ChannelUri::default_chat_of(&session).to_string();
        let turns = world.clients[client].turns(&chat);
        let turn = world.rng.pick(&turns).cloned().unwrap_or_default();
        params["fork"] = json!({"session": session, "turnId": turn});
        world.note("fork of a session");
    }
    choose_directory(world, &mut params);
    let asked = Asked::Create(channel);
    ask(world, client, "createSession", &params, asked);
}

fn move_chat(world: &mut World, client: usize) {
    let after = any_chat(world, client);
    // Most often one that can be moved, unless something runs in it.
    let further = world.ledger.chats.keys();
    let further = further.filter(|uri| !uri.starts_with("ahp-chat://"));
    let further: Vec<String> = further.cloned().collect();
    let chat = match world.rng.pick(&further) {
        Some(chat) if world.rng.chance(80) => chat.clone(),
        _ => any_chat(world, client),
    };
    let mut to = json!({"kind": "session", "session": any_session(world)});
    if world.rng.chance(30) {
        to = json!({"kind": "newSession"});
    } else if world.rng.chance(30) {
        to["after"] = json!(after);
    }
    let params = json!({"channel": chat, "destination": to});
    ask(world, client, "moveChat", &params, Asked::Other);
}

fn create_chat(world: &mut World, client: usize) {
    let session = any_session(world);
    let chat = *world.rng.pick(&CHATS).unwrap_or(&"");
    let mut params = json!({"channel": session, "chat": chat});
    if world.rng.chance(40) {
        let source = any_chat(world, client);
        let turns = world.clients[client].turns(&source);
        let turn = world.rng.pick(&turns).cloned().unwrap_or_default();
        let kind = if world.rng.chance(60) {
            "fork"
        } else {
            "sideChat"
        };
        params["source"] = json!({"kind": kind, "chat": source, "turnId": turn});
        world.note(kind);
    }
    if world.rng.chance(40) {
        let origin = if world.rng.chance(10) {
            "agent"
        } else {
            "user"
        };
        params["initialMessage"] = message("begin", origin);
    }
    ask(world, client, "createChat", &params, Asked::Other);
}

fn fetch_turns(world: &mut World, client: usize) {
    let mirrors = world.clients[client].mirrors.iter();
    let open: Vec<(String, String)> = mirrors
        .filter_map(|(uri, mirror)| match &mirror.state {
            State::Chat(chat) => Some((uri.clone(), chat.turns_next_cursor.clone()?)),
            _ => None,
        })
        .collect();
    let params = match world.rng.pick(&open).cloned() {
        Some((channel, cursor)) if world.rng.chance(80) => {
            world.note("fetchTurns with a cursor");
            json!({"channel": channel, "cursor": cursor})
        }
        Some((channel, _)) => json!({"channel": channel}),
        None => json!({"channel": any_chat(world, client), "cursor": "bm8gdHVybg"}),
    };
    ask(world, client, "fetchTurns", &params, Asked::Other);
}

fn list_sessions(world: &mut World, client: usize) {
    let whole = world.rng.chance(70);
    let next = world.clients[client].next_page.clone();
    let params = match next {
        _ if whole => json!({}),
        Some(cursor) if world.rng.chance(70) => json!({"limit": 2, "cursor": cursor}),
        _ => json!({"limit": world.rng.below(4)}),
    };
    ask(
        world,
        client,
        "listSessions",
        &params,
        Asked::List { whole },
    );
}

fn garbage(world: &mut World, client: usize) {
    let complaints = &mut world.clients[client].complaints;
    let text = match world.rng.below(5) {
        0 => {
            *complaints += 1;
            "{nonsense".to_owned()
        }
        1 => {
            *complaints += 1;
            r#"{"jsonrpc":"2.0"}"#.to_owned()
        }
        2 => r#"{"jsonrpc":"2.0","method":"juggle"}"#.to_owned(),
        3 => r#"{"jsonrpc":"2.0","id":77777,"result":null}"#.to_owned(),
        _ => return ask(world, client, "juggle", &json!({}), Asked::Other),
    };
    world.send_text(client, &text);
}

pub(crate) fn message(text: &str, kind: &str) -> Value {
    json!({"text": text, "origin": {"kind": kind}})
}

/// A message that now and then says which model and which agent it is for.
pub(crate) fn choosy_message(world: &mut World, text: &str, kind: &str) -> Value {
    let mut message = message(text, kind);
    if world.rng.chance(25) {
        message["model"] = json!({"id": format!("m{}", world.rng.below(3))});
    }
    if world.rng.chance(15) {
        message["agent"] = json!({"uri": "x:agent"});
    }
    message
}
