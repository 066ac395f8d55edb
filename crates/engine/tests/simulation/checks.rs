//! What must be true whenever everything is quiet. A client that has just come
//! and looks at everything (the auditor) is the measure: the others must hold
//! what it is given, and it must be given what the store has committed.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_protocol::newest::state::{
    ChangesetStatus, ChatState, ResponsePart, SessionInputRequest, SessionLifecycle, SessionState,
    SessionStatus, SessionSummary, Turn,
};
use serde_json::json;

use crate::acts::{ask, dispatch};
use crate::annotations;
use crate::changes;
use crate::client::{Asked, Mirror, ROOT};
use crate::hear::State;
use crate::looking_on;
use crate::world::{ACTORS, AUDITOR, World, waits_for_a_person};

const ACTIVITY_BITS: u32 = 31;

pub(crate) fn quiet(world: &mut World) {
    world.say(|| "--- quiet".to_owned());
    world.note("quiet");
    // Who looks at everything must not be sent away meanwhile.
    let chance = std::mem::take(&mut world.refusals.chance);
    world.drain();
    world.pass_time();
    let listed = look_at_everything(world);
    check_auditor(world, &listed);
    check_ledger(world);
    for client in 0..ACTORS {
        check_client(world, client, &listed);
    }
    check_interrupted(world);
    looking_on::check_all(world);
    if let Some(wire) = world.clients[AUDITOR].wire {
        world.cut(wire);
    }
    world.refusals.chance = chance;
}

/// The auditor comes, subscribes to all there is, and lists the sessions.
fn look_at_everything(world: &mut World) -> BTreeMap<String, SessionSummary> {
    world.connect(AUDITOR);
    let mut channels = vec![ROOT.to_owned()];
    channels.extend(world.ledger.sessions.keys().cloned());
    let params = json!({
        "clientId": "client-4", "protocolVersions": ["1.0.0"], "initialSubscriptions": channels,
    });
    world.clients[AUDITOR].mirrors.clear();
    ask(world, AUDITOR, "initialize", &params, Asked::Initialize);
    world.drain();
    let sessions = world.clients[AUDITOR].mirrors.values();
    let chats: Vec<String> = sessions
        .filter_map(|mirror| match &mirror.state {
            State::Session(state) => Some(state.chats.iter().map(|chat| chat.resource.clone())),
            _ => None,
        })
        .flatten()
        .collect();
    let mirrors = world.clients.iter().flat_map(|it| it.mirrors.keys());
    let onlookers = world.onlookers.iter();
    let followed = mirrors.chain(onlookers.flat_map(|it| it.followed.keys()));
    let changesets = followed.filter(|uri| changes::is_changeset(uri)).cloned();
    let changesets: BTreeSet<String> = changesets.collect();
    let sessions = world.ledger.sessions.keys();
    let annotations: Vec<String> = sessions.map(|uri| annotations::channel_of(uri)).collect();
    for chat in chats.into_iter().chain(changesets).chain(annotations) {
        let asked = Asked::Subscribe(chat.clone());
        ask(
            world,
            AUDITOR,
            "subscribe",
            &json!({"channel": chat}),
            asked,
        );
    }
    world.drain();
    // Loading a session may have changed its summary a little.
    world.pass_time();
    world.drain();
    world.clients[AUDITOR].pages.clear();
    let mut params = json!({});
    loop {
        ask(
            world,
            AUDITOR,
            "listSessions",
            &params,
            Asked::List { whole: false },
        );
        world.drain();
        match &world.clients[AUDITOR].next_page {
            Some(cursor) => params = json!({"cursor": cursor}),
            None => break,
        }
    }
    let mut listed = BTreeMap::new();
    for row in std::mem::take(&mut world.clients[AUDITOR].pages) {
        let twice = listed.insert(row.resource.clone(), row);
        assert!(twice.is_none(), "listed twice: {twice:?}");
    }
    listed
}

fn chat_of<'a>(world: &'a World, client: usize, uri: &str) -> Option<&'a ChatState> {
    match world.clients[client].mirrors.get(uri).map(|m| &m.state) {
        Some(State::Chat(chat)) => Some(chat),
        _ => None,
    }
}

/// What the host shows agrees with itself.
fn check_auditor(world: &World, listed: &BTreeMap<String, SessionSummary>) {
    let count = listed.len();
    for (uri, mirror) in &world.clients[AUDITOR].mirrors {
        match &mirror.state {
            State::Root(root) => {
                assert_eq!(root.active_sessions, Some(count as i64), "active sessions");
            }
            State::Session(session) => {
                let row = listed.get(uri);
                let row = row.unwrap_or_else(|| panic!("{uri} is not listed"));
                check_session(world, uri, session, row);
            }
            State::Chat(chat) => check_chat(uri, chat),
            State::Changeset(changeset) => {
                let status = &changeset.status;
                assert_ne!(*status, ChangesetStatus::Computing, "{uri} is computed");
            }
            State::Annotations(state) => {
                let mut entries = state.annotations.iter().map(|it| it.entries.len());
                assert!(entries.all(|count| count > 0), "without an entry in {uri}");
            }
        }
    }
}

fn check_session(world: &World, uri: &str, session: &SessionState, row: &SessionSummary) {
    assert!(
        session.default_chat.is_some(),
        "{uri} lost its default chat"
    );
    let (mut bits, mut waiting) = (Vec::new(), 0);
    for listed in &session.chats {
        let chat = chat_of(world, AUDITOR, &listed.resource);
        let chat = chat.unwrap_or_else(|| panic!("{} cannot be seen", listed.resource));
        assert_eq!(listed.status, chat.status, "status of {}", listed.resource);
        assert_eq!(listed.modified_at, chat.modified_at, "{}", listed.resource);
        let activity = listed.activity.clone().filter(|text| !text.is_empty());
        assert_eq!(activity, chat.activity, "activity of {}", listed.resource);
        bits.push(chat.status & ACTIVITY_BITS);
        let parts = chat
            .active_turn
            .iter()
            .flat_map(|turn| &turn.response_parts);
        waiting += parts.filter(|part| waits_for_a_person(part)).count();
    }
    let told = session.input_needed.iter().flatten();
    let told =
        told.filter(|request| !matches!(request, SessionInputRequest::ToolClientExecution(_)));
    assert_eq!(told.count(), waiting, "what {uri} waits for");
    let needs = session.status & SessionStatus::InputNeeded.bits();
    let needs = needs == SessionStatus::InputNeeded.bits();
    assert_eq!(needs, waiting > 0, "whether {uri} waits");
    assert_eq!(row.title, session.title, "title of {uri}");
    assert_eq!(
        row.status & !ACTIVITY_BITS,
        session.status & !ACTIVITY_BITS,
        "flags of {uri}"
    );
    let activity = row.status & ACTIVITY_BITS;
    // No chat says that its session could not be created.
    let failed = session.lifecycle == SessionLifecycle::Failed;
    let failed = failed && activity == SessionStatus::Error.bits();
    assert!(
        failed || bits.contains(&activity),
        "status of {uri}: {row:?}"
    );
    let newest = session
        .chats
        .iter()
        .map(|chat| chat.modified_at.as_str())
        .max();
    assert_eq!(
        Some(row.modified_at.as_str()),
        newest,
        "{uri} was modified at"
    );
    let chats = row
        .chats
        .iter()
        .flatten()
        .map(|chat| (&chat.resource, chat.status));
    let expected = session
        .chats
        .iter()
        .map(|chat| (&chat.resource, Some(chat.status)));
    assert!(chats.eq(expected), "chats of {uri}");
    let activity = row.activity.clone().filter(|text| !text.is_empty());
    assert_eq!(activity, session.activity, "activity of {uri}");
}

fn check_chat(uri: &str, chat: &ChatState) {
    let running = chat.status & SessionStatus::InProgress.bits() != 0;
    assert_eq!(running, chat.active_turn.is_some(), "status of {uri}");
    assert!(
        running || chat.activity.is_none(),
        "{uri} is idle and {:?}",
        chat.activity
    );
    assert_eq!(chat.turns_next_cursor, None, "{uri} is whole");
}

/// What was committed is what the host shows.
fn check_ledger(world: &World) {
    let auditor = &world.clients[AUDITOR];
    for (uri, facts) in &world.ledger.sessions {
        let Some(State::Session(session)) = auditor.mirrors.get(uri).map(|m| &m.state) else {
            panic!("the session {uri} is lost");
        };
        if let Some(title) = &facts.title {
            assert_eq!(&session.title, title, "title of {uri}");
        }
        let has = |flag: SessionStatus| session.status & flag.bits() != 0;
        if let Some(archived) = facts.archived {
            assert_eq!(has(SessionStatus::IsArchived), archived, "{uri} archived");
        }
        if let Some(read) = facts.read {
            assert_eq!(has(SessionStatus::IsRead), read, "{uri} read");
        }
        let channel = annotations::channel_of(uri);
        let shown = auditor.mirrors.get(&channel).map(|it| &it.state);
        let Some(State::Annotations(shown)) = shown else {
            panic!("the annotations of {uri} are lost");
        };
        assert_eq!(shown.annotations, facts.annotations, "annotations of {uri}");
    }
    for (uri, facts) in &world.ledger.chats {
        let chat = chat_of(world, AUDITOR, uri);
        let chat = chat.unwrap_or_else(|| panic!("the chat {uri} is lost"));
        assert_eq!(all_turns(chat), facts.turns, "turns of {uri}");
        assert_eq!(chat.draft, facts.draft, "draft of {uri}");
        let queue = chat.queued_messages.iter().flatten();
        let queue: Vec<_> = queue.map(|message| message.id.clone()).collect();
        assert_eq!(queue, facts.queue, "queue of {uri}");
        let steering = chat.steering_message.as_ref();
        let steering = steering.map(|message| message.id.clone());
        assert_eq!(steering, facts.steering, "steering of {uri}");
    }
    let shown = auditor.mirrors.keys();
    let shown = shown.filter(|uri| !changes::is_changeset(uri)).count();
    let known = 1 + 2 * world.ledger.sessions.len() + world.ledger.chats.len();
    assert_eq!(shown, known, "channels: {:?}", auditor.mirrors.keys());
}

fn all_turns(chat: &ChatState) -> Vec<String> {
    let active = chat.active_turn.iter().map(|turn| turn.id.clone());
    chat.turns
        .iter()
        .map(|turn| turn.id.clone())
        .chain(active)
        .collect()
}

/// A client that has heard everything holds what the auditor was given.
fn check_client(world: &mut World, index: usize, listed: &BTreeMap<String, SessionSummary>) {
    let client = &world.clients[index];
    if client.wire.is_none() {
        return;
    }
    let name = client.id.clone();
    assert!(
        client.asked.is_empty(),
        "{name} waits for {:?}",
        client.asked
    );
    assert_eq!(client.complaints, 0, "{name} waits for a complaint");
    let mut gone = Vec::new();
    for (uri, mirror) in &client.mirrors {
        match world.clients[AUDITOR].mirrors.get(uri) {
            Some(truth) => compare(&name, uri, mirror, truth),
            None => gone.push(uri.clone()),
        }
    }
    assert!(gone.is_empty(), "{name} follows what is gone: {gone:?}");
    let client = &mut world.clients[index];
    // From now on nothing more may come from there.
    client.left.clear();
    if let Some(catalogue) = &client.catalogue {
        let plain = |row: &SessionSummary| SessionSummary {
            activity: row.activity.clone().filter(|text| !text.is_empty()),
            ..row.clone()
        };
        let held: Vec<_> = catalogue.values().map(plain).collect();
        let truth: Vec<_> = listed.values().map(plain).collect();
        assert_eq!(held, truth, "the sessions that {name} knows");
    }
}

fn compare(name: &str, uri: &str, held: &Mirror, truth: &Mirror) {
    let state = match (&held.state, &truth.state) {
        (State::Chat(held), State::Chat(truth)) => {
            let hidden = truth.turns.len().checked_sub(held.turns.len());
            let hidden =
                hidden.unwrap_or_else(|| panic!("{name} has turns of {uri} that are gone"));
            assert_eq!(
                held.turns_next_cursor.is_some(),
                hidden > 0,
                "{name}: cursor of {uri}"
            );
            let mut whole = held.clone();
            whole.turns_next_cursor = None;
            whole
                .turns
                .splice(..0, truth.turns[..hidden].iter().cloned());
            State::Chat(whole)
        }
        (State::Root(held), State::Root(truth)) => {
            // No action changes the schema of the host's settings.
            let mut held = held.clone();
            if let (Some(held), Some(truth)) = (&mut held.config, &truth.config) {
                held.schema = truth.schema.clone();
            }
            State::Root(held)
        }
        (held, _) => held.clone(),
    };
    // The published types do not read a call that waits for a sign-in from a
    // snapshot, and keep it as it is; its JSON is the same.
    let same = match (&state, &truth.state) {
        (State::Chat(held), State::Chat(truth)) => json!(held) == json!(truth),
        _ => false,
    };
    if !same {
        assert_eq!(state, truth.state, "{name}: {uri} (held on the left)");
    }
}

/// What ran when the host died was ended so that it can be resumed.
fn check_interrupted(world: &mut World) {
    for (uri, id, start) in std::mem::take(&mut world.interrupted) {
        let Some(chat) = chat_of(world, AUDITOR, &uri) else {
            continue;
        };
        // It may have been cut off, and its name used again.
        let same = |turn: &&Turn| turn.id == id && turn.started_at.as_ref() == Some(&start);
        let Some(turn) = chat.turns.iter().find(same) else {
            continue;
        };
        // It may have been resumed since; the error stays where it was.
        let told = turn.response_parts.iter().any(|part| {
            matches!(part, ResponsePart::Error(part)
                if part.error.error_type == "hostInterrupted" && part.resumable == Some(true))
        });
        assert!(told, "{id} of {uri} was interrupted: {turn:?}");
        world.note("found an interrupted turn");
    }
}

/// A turn that goes on only when a person does something.
fn turn_that_waits(world: &World) -> Option<(String, String)> {
    let mirrors = world.clients[AUDITOR].mirrors.iter();
    let mut waiting = mirrors.filter_map(|(uri, mirror)| match &mirror.state {
        State::Chat(chat) => {
            let turn = chat.active_turn.as_ref()?;
            let waits = turn.response_parts.iter().any(waits_for_a_person);
            waits.then(|| (uri.clone(), turn.id.clone()))
        }
        _ => None,
    });
    waiting.next()
}

/// When every agent does its work, every turn ends.
pub(crate) fn finish(world: &mut World) {
    world.finish_work();
    quiet(world);
    let mut patience = 40;
    while let Some((chat, turn)) = turn_that_waits(world) {
        patience -= 1;
        assert!(patience > 0, "{chat} never ends");
        world.note("somebody ends what waits");
        look_at_everything(world);
        let action = json!({"type": "chat/turnCancelled", "turnId": turn});
        dispatch(world, AUDITOR, &chat, &action);
        world.finish_work();
        quiet(world);
    }
    for (uri, mirror) in &world.clients[AUDITOR].mirrors {
        if let State::Chat(chat) = &mirror.state {
            let active = chat.active_turn.as_ref().map(|turn| &turn.id);
            assert_eq!(active, None, "{uri} never ends");
        }
    }
    // One whose successor was never let in may live on.
    let ghosts: Vec<u64> = world
        .wires
        .iter()
        .filter(|(id, wire)| {
            let client = world.clients.get(wire.client);
            client.is_some_and(|client| client.ready && wire.welcomed && client.wire != Some(**id))
        })
        .map(|(id, _)| *id)
        .collect();
    assert!(
        ghosts.is_empty(),
        "replaced connections were not closed: {ghosts:?}"
    );
    let kept = world.leave_alone();
    assert_eq!(kept, 0, "sessions in memory that nobody needs");
}
