//! What onlookers do.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::gates::down;
use innkeeper_protocol::record::{ExtraFacts, GateFacts};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::acts::{any_session, operation, review};
use crate::annotations;
use crate::changes::{any_changeset, is_changeset};
use crate::dispatches::{dispatch_to_chat, dispatch_to_session};
use crate::onlooker::Asked;
use crate::world::{ACTORS, World};
use crate::{automation_acts, machine_acts};

pub(crate) fn act(world: &mut World, index: usize) {
    let it = &world.onlookers[index];
    if it.wire.is_none() {
        return come_in(world, index);
    }
    if !it.ready {
        return;
    }
    let before_0_5 = it.version < Version::V0_5;
    if world.automates && it.version.has_automations() && world.rng.chance(25) {
        return automation_acts::act(world, index);
    }
    let kind = world.rng.weighted(&[
        (14, "subscribe"),
        (2, "unsubscribe"),
        (26, "say in a chat"),
        (10, "say in a session"),
        (6, "select"),
        (4, "be active"),
        (3, "create"),
        (1, "dispose"),
        (5, "fetch"),
        (3, "list"),
        (6, "check"),
        (5, "operate"),
        (6, "review"),
        (8, "annotate"),
        (14, "machine"),
    ]);
    match kind {
        "subscribe" => subscribe(world, index),
        "unsubscribe" => unsubscribe(world, index),
        "say in a chat" | "say in a session" => {
            // It says what somebody else would: that one knows what there is.
            let prompter = world.rng.below(ACTORS);
            world.speaker = Some(index);
            match kind {
                "say in a chat" => dispatch_to_chat(world, prompter),
                _ => dispatch_to_session(world, prompter),
            }
            world.speaker = None;
        }
        "operate" if !world.onlookers[index].is_draft() => {
            let prompter = world.rng.below(ACTORS);
            let mut params = operation(world, prompter);
            let channel = params["channel"].take();
            let channel = channel.as_str().unwrap_or_default();
            let method = "invokeChangesetOperation";
            ask(world, index, method, Some(channel), params, Asked::Other);
        }
        "review" | "annotate" => {
            let prompter = world.rng.below(ACTORS);
            world.speaker = Some(index);
            match kind {
                "review" => review(world, prompter),
                _ => annotations::write(world, prompter),
            }
            world.speaker = None;
        }
        "select" if before_0_5 => select(world, index),
        "be active" if before_0_5 => be_active(world, index),
        "create" => {
            let session = any_session(world);
            ask(
                world,
                index,
                "createSession",
                Some(&session),
                json!({}),
                Asked::Other,
            );
        }
        "dispose" => {
            let session = match world.rng.chance(50) {
                true => any_session(world),
                false => any_further_chat(world, index),
            };
            ask(
                world,
                index,
                "disposeSession",
                Some(&session),
                json!({}),
                Asked::Other,
            );
        }
        "fetch" => fetch(world, index),
        "machine" => machine_acts::act(world, index),
        "list" if before_0_5 => ask(world, index, "listSessions", None, json!({}), Asked::List),
        "check" => {
            let followed = world.onlookers[index].followed.keys();
            let whole: Vec<String> = followed
                .filter(|channel| world.onlookers[index].cursor(channel).is_none())
                .cloned()
                .collect();
            if let Some(channel) = world.rng.pick(&whole).cloned() {
                check_channel(world, index, &channel);
            }
        }
        _ => {}
    }
}

pub(crate) fn ask(
    world: &mut World,
    index: usize,
    method: &str,
    channel: Option<&str>,
    params: Value,
    asked: Asked,
) {
    let text = world.onlookers[index].ask(method, channel, params, asked);
    world.onlooker_says(index, &text);
}

fn come_in(world: &mut World, index: usize) {
    world.connect_onlooker(index);
    let it = &world.onlookers[index];
    let root = it.root();
    if it.seen > 0 && it.followed.contains_key(root) && world.rng.chance(75) {
        let it = &world.onlookers[index];
        let channels: Vec<&String> = it.followed.keys().collect();
        let params = json!({
            "clientId": it.id, "lastSeenServerSeq": it.seen, "subscriptions": channels,
        });
        world.note("an onlooker comes back");
        return ask(world, index, "reconnect", None, params, Asked::Reconnect);
    }
    let mut channels = vec![root.to_owned()];
    if world.rng.chance(50) {
        channels.push(any_session(world));
    }
    let it = &world.onlookers[index];
    let mut params = json!({"clientId": it.id, "initialSubscriptions": channels});
    match it.version {
        Version::Draft1 => params["protocolVersion"] = 1.into(),
        named => params["protocolVersions"] = json!([named.to_string()]),
    }
    ask(world, index, "initialize", None, params, Asked::Initialize);
}

fn subscribe(world: &mut World, index: usize) {
    let session = any_session(world);
    let (is_flat, is_draft) = {
        let it = &world.onlookers[index];
        (it.is_flat(), it.is_draft())
    };
    let has_annotations = world.onlookers[index].version.has_annotations();
    let channel = match world.rng.below(17) {
        0..=3 => session,
        4..=7 if !is_flat => ChannelUri::default_chat_of(&session).to_string(),
        8 | 9 => any_further_chat(world, index),
        10..=13 if !is_draft => any_changeset(&mut world.rng, &session, &[]),
        14..=16 if has_annotations => annotations::channel_of(&session),
        _ => session,
    };
    if world.onlookers[index].followed.contains_key(&channel) {
        return;
    }
    let mut params = json!({});
    if world.onlookers[index].version >= Version::V0_5 && world.rng.chance(40) {
        params["view"] = json!({"turns": 1 + world.rng.below(2)});
    }
    let asked = Asked::Subscribe(channel.clone());
    ask(world, index, "subscribe", Some(&channel), params, asked);
}

/// Subscribes to a session and to its chat, as clients do that show it.
pub(crate) fn follow(world: &mut World, index: usize, session: &str) {
    let mut channels = vec![session.to_owned()];
    if !world.onlookers[index].is_flat() {
        channels.push(ChannelUri::default_chat_of(session).to_string());
    }
    if !world.onlookers[index].is_draft() {
        channels.push(any_changeset(&mut world.rng, session, &[]));
    }
    if world.onlookers[index].version.has_annotations() {
        channels.push(annotations::channel_of(session));
    }
    channels.retain(|channel| !world.onlookers[index].followed.contains_key(channel));
    for channel in channels {
        let asked = Asked::Subscribe(channel.clone());
        ask(world, index, "subscribe", Some(&channel), json!({}), asked);
    }
}

/// A chat that is no default chat. From 0.4 on, one of a session that the
/// onlooker follows: else nobody would tell it when the chat is gone.
fn any_further_chat(world: &mut World, index: usize) -> String {
    let it = &world.onlookers[index];
    let chats: Vec<String> = match it.is_flat() {
        true => {
            let all = world.ledger.chats.keys();
            let further = all.filter(|uri| !uri.starts_with("ahp-chat://default/"));
            further.cloned().collect()
        }
        false => {
            let listed = it.followed.keys().map(|session| it.state(session));
            let listed = listed.flat_map(|session| match &session["chats"] {
                Value::Array(chats) => chats.clone(),
                _ => Vec::new(),
            });
            let listed = listed.filter_map(|chat| chat["resource"].as_str().map(str::to_owned));
            listed.collect()
        }
    };
    let chat = world.rng.pick(&chats).cloned();
    chat.unwrap_or_else(|| "ahp-chat:/none".to_owned())
}

fn unsubscribe(world: &mut World, index: usize) {
    let it = &world.onlookers[index];
    let further = |uri: &String| {
        !it.is_flat() && uri.contains("chat:/") && !uri.starts_with("ahp-chat://default/")
    };
    // A session is left only when none of its further chats is followed.
    let keeps_sessions = it.followed.keys().any(further);
    let may_go = it.followed.keys().filter(|uri| {
        let is_chat = uri.contains("chat:/");
        let is_beside = is_changeset(uri) || annotations::is_annotations(uri);
        **uri != it.root() && (is_chat || is_beside || !keeps_sessions)
    });
    let may_go: Vec<String> = may_go.cloned().collect();
    if let Some(channel) = world.rng.pick(&may_go).cloned() {
        let asked = Asked::Unsubscribe(channel.clone());
        ask(
            world,
            index,
            "unsubscribe",
            Some(&channel),
            json!({}),
            asked,
        );
    }
}

/// Says an action of the newest version in the onlooker's own words.
pub(crate) fn say(world: &mut World, index: usize, channel: &str, action: &Value) {
    let it = &world.onlookers[index];
    let mut action = action.clone();
    for field in ["/activeClient/clientId", "/clientId"] {
        if let Some(id) = action.pointer_mut(field) {
            *id = it.id.as_str().into();
        }
    }
    let mut extra = ExtraFacts::default();
    match action["type"].as_str() {
        Some("session/activeClientSet") => {
            extra.client_after = Some(action["activeClient"].clone());
        }
        Some("session/activeClientRemoved") => extra.client_before = Some(json!({})),
        _ => {}
    }
    let session = ChannelUri::from(channel).session_of_default_chat();
    let facts = GateFacts {
        is_default_chat: session.is_some(),
        session,
        extra: Some(Box::new(extra)),
    };
    for act in down::action(it.version, channel, action, &facts) {
        say_as_it_is(world, index, &act.channel, act.action.into());
    }
}

fn say_as_it_is(world: &mut World, index: usize, channel: &str, mut action: Value) {
    let it = &mut world.onlookers[index];
    if it.is_draft() && channel != it.root() && action.get("terminal").is_none() {
        action["session"] = channel.into();
    }
    let text = it.dispatch(channel, action);
    world.onlooker_says(index, &text);
}

/// Up to 0.4 a model or an agent is selected for a session.
fn select(world: &mut World, index: usize) {
    let flat = world.onlookers[index].is_flat();
    let channel = match world.rng.chance(25) && flat {
        true => any_further_chat(world, index),
        false => any_session(world),
    };
    let has_agents = world.onlookers[index].version >= Version::V0_2;
    let action = match world.rng.below(3) {
        0 if has_agents => json!({"type": "session/agentChanged", "agent": {"uri": "x:agent"}}),
        1 if has_agents => json!({"type": "session/agentChanged"}),
        _ => {
            let model = format!("m{}", world.rng.below(3));
            json!({"type": "session/modelChanged", "model": {"id": model}})
        }
    };
    say_as_it_is(world, index, &channel, action);
}

fn be_active(world: &mut World, index: usize) {
    let flat = world.onlookers[index].is_flat();
    let channel = match world.rng.chance(20) && flat {
        true => any_further_chat(world, index),
        false => any_session(world),
    };
    let tools = json!([{"name": format!("tool-{}", world.rng.below(3))}]);
    let action = match world.rng.below(3) {
        0 => {
            let client = json!({"clientId": world.onlookers[index].id, "tools": tools});
            let enters = json!({"type": "session/activeClientChanged", "activeClient": client});
            say_as_it_is(world, index, &channel, enters);
            let tools = json!([{"name": "tool-of-its-own"}]);
            json!({"type": "session/activeClientToolsChanged", "tools": tools})
        }
        1 => json!({"type": "session/activeClientToolsChanged", "tools": tools}),
        _ => json!({"type": "session/activeClientChanged"}),
    };
    say_as_it_is(world, index, &channel, action);
}

fn fetch(world: &mut World, index: usize) {
    let followed: Vec<String> = world.onlookers[index].followed.keys().cloned().collect();
    let Some(channel) = world.rng.pick(&followed).cloned() else {
        return;
    };
    if world.onlookers[index].version < Version::V0_5 {
        // The answer has the turns.
        let params = json!({"limit": 1 + world.rng.below(3)});
        return ask(
            world,
            index,
            "fetchTurns",
            Some(&channel),
            params,
            Asked::Other,
        );
    }
    ask_for_next_page(world, index, &channel);
}

/// Asks for the turns that come before those it was given; returns whether
/// there are any.
fn ask_for_next_page(world: &mut World, index: usize, channel: &str) -> bool {
    let Some(cursor) = world.onlookers[index].cursor(channel) else {
        return false;
    };
    let params = json!({"cursor": cursor});
    let channel = Some(channel);
    ask(world, index, "fetchTurns", channel, params, Asked::Other);
    true
}

fn check_channel(world: &mut World, index: usize, channel: &str) {
    let asked = Asked::Check(channel.to_owned());
    ask(world, index, "subscribe", Some(channel), json!({}), asked);
}

/// All is quiet: each onlooker asks for all that it has not been given yet,
/// and then holds what it would be given now.
pub(crate) fn check_all(world: &mut World) {
    let present: Vec<usize> = (0..world.onlookers.len())
        .filter(|&index| world.onlookers[index].ready)
        .collect();
    for &index in &present {
        let it = &world.onlookers[index];
        assert!(it.asked.is_empty(), "{} waits for {:?}", it.id, it.asked);
    }
    loop {
        let mut pages = 0;
        for &index in &present {
            let followed: Vec<String> = world.onlookers[index].followed.keys().cloned().collect();
            for channel in followed {
                pages += usize::from(ask_for_next_page(world, index, &channel));
            }
        }
        if pages == 0 {
            break;
        }
        world.drain();
    }
    for &index in &present {
        let followed: Vec<String> = world.onlookers[index].followed.keys().cloned().collect();
        for channel in followed {
            check_channel(world, index, &channel);
            world.note("an onlooker is compared");
        }
        if world.onlookers[index].version < Version::V0_5 {
            ask(world, index, "listSessions", None, json!({}), Asked::List);
        }
    }
    world.drain();
}
