//! Whatever clients say to the engine, with time and an agent in between:
//! nothing panics, every request is answered once, and whoever folds what was
//! published holds what a newcomer is given.
//!
//! Each line is one thing that happens. `0` to `3` and a text: that client says
//! it. `a` and `b` with the number of a client: it dispatches that action to
//! the chat, to the session. `q` with a client and a letter: a request. `e`:
//! an event of the agent. `t`: time. `c`, `d`: a client comes, goes. `f`, `g`:
//! the store fails, recovers. `r`: the host begins again.
#![no_main]

use std::collections::BTreeMap;

use ahp::reducers::{apply_action_to_chat, apply_action_to_session};
use ahp_types::actions::StateAction;
use ahp_types::state::SnapshotState;
use innkeeper_engine::Input;
use innkeeper_fuzz::host::{Host, SESSION, chat};
use innkeeper_protocol::agent::{AgentEnd, AgentEvent, HowEnded, ProcessEnd, TurnEvent};
use innkeeper_protocol::version::Version;
use innkeeper_store::MemoryStore;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

const OBSERVER: u64 = 9;

/// Methods that wait for nothing but the store and the machine, which answer
/// at once here.
const METHODS: [&str; 10] = [
    "subscribe",
    "unsubscribe",
    "listSessions",
    "fetchTurns",
    "createSession",
    "disposeSession",
    "createChat",
    "disposeChat",
    "resolveSessionConfig",
    "completions",
];

struct Fuzzed {
    host: Host,
    /// Requests by connection and id, while the connection lasts.
    asked: BTreeMap<(u64, String), u64>,
    last: u64,
    states: BTreeMap<String, SnapshotState>,
    from: u64,
    read: usize,
}

impl Fuzzed {
    fn new() -> Self {
        Self {
            host: Host::new(Box::new(MemoryStore::default())),
            asked: BTreeMap::new(),
            last: 0,
            states: BTreeMap::new(),
            from: 0,
            read: 0,
        }
    }

    fn begin(&mut self, versions: &[u8; 4]) {
        for (at, version) in versions.iter().enumerate() {
            let version = Version::ALL[usize::from(*version) % Version::ALL.len()];
            self.host.enter(version, at as u64, &format!("c{at}"));
        }
        self.host.enter(Version::NEWEST, OBSERVER, "observer");
        let params = json!({"channel": SESSION, "provider": "alpha"});
        self.host.ask(OBSERVER, "create", "createSession", params);
        self.host.report(AgentEvent::Opened { resume: None });
        self.observe();
    }

    /// The observer begins to listen, or begins anew.
    fn observe(&mut self) {
        for channel in [SESSION.to_owned(), chat()] {
            let Some(snapshot) = self.host.snapshot(OBSERVER, &channel) else {
                return;
            };
            self.from = snapshot["fromSeq"].as_u64().unwrap_or(0);
            if let Ok(state) = serde_json::from_value(snapshot["state"].clone()) {
                self.states.insert(channel, state);
            }
            self.read = self.host.heard.get(&OBSERVER).map_or(0, Vec::len);
        }
    }

    fn fold(&mut self) {
        let heard = self
            .host
            .heard
            .get(&OBSERVER)
            .map_or(&[][..], Vec::as_slice);
        for frame in heard.get(self.read..).unwrap_or_default() {
            let params = &frame["params"];
            if frame["method"] != "action" || params.get("rejectionReason").is_some() {
                continue;
            }
            let channel = params["channel"].as_str().unwrap_or_default();
            let action: StateAction =
                serde_json::from_value(params["action"].clone()).expect("an action");
            match self.states.get_mut(channel) {
                Some(SnapshotState::Chat(state)) => drop(apply_action_to_chat(state, &action)),
                Some(SnapshotState::Session(state)) => {
                    drop(apply_action_to_session(state, &action));
                }
                _ => {}
            }
        }
        self.read = heard.len();
    }

    /// The observer holds what a newcomer is given.
    fn compare(&mut self) {
        for channel in [SESSION.to_owned(), chat()] {
            let fresh = self.host.snapshot(OBSERVER, &channel);
            self.fold();
            let Some(fresh) = fresh.filter(|it| it["state"].is_object()) else {
                // The session may have been disposed of.
                continue;
            };
            let plain = |mut state: Value| {
                // The catalogue of chats is told with a delay.
                if let Some(state) = state.as_object_mut() {
                    state.remove("chats");
                }
                state
            };
            let Some(held) = self.states.get(&channel) else {
                continue;
            };
            let fresh: SnapshotState =
                serde_json::from_value(fresh["state"].clone()).expect("a state");
            assert_eq!(plain(json!(held)), plain(json!(fresh)), "{channel}");
        }
    }

    fn forget(&mut self, connection: u64) {
        self.asked.retain(|(it, _), _| *it != connection);
    }

    fn happens(&mut self, line: &str) {
        let mut letters = line.chars();
        let kind = letters.next().unwrap_or_default();
        let rest = letters.as_str();
        let client = rest.bytes().next().map_or(0, |it| u64::from(it % 4));
        match kind {
            '0'..='3' => {
                let client = u64::from(kind) - u64::from('0');
                self.host.say(client, rest);
            }
            'a' | 'b' => self.dispatch(kind == 'a', client, rest.get(1..).unwrap_or_default()),
            'q' => self.request(client, rest.get(1..).unwrap_or_default()),
            'e' => self.agent(rest),
            't' => {
                let power = rest.bytes().next().map_or(0, |it| u32::from(it % 8));
                self.host.wait(10i64.pow(power));
            }
            'c' => {
                self.forget(client);
                self.host.leave(client);
                let version = rest.bytes().nth(1).map_or(0, usize::from);
                let version = Version::ALL[version % Version::ALL.len()];
                self.host.enter(version, client, &format!("c{client}"));
            }
            'd' => {
                self.forget(client);
                self.host.leave(client);
            }
            'f' => self.host.feed(Input::StoreFailing {
                reason: "full".to_owned(),
            }),
            'g' => self.host.feed(Input::StoreRecovered),
            'r' => {
                self.host.restart();
                self.asked.clear();
                self.states.clear();
                self.host.enter(Version::NEWEST, OBSERVER, "observer");
                self.observe();
            }
            _ => {}
        }
    }

    fn dispatch(&mut self, to_chat: bool, client: u64, action: &str) {
        let Some(version) = self.host.version_of(client) else {
            return;
        };
        let Ok(mut action) = serde_json::from_str::<Value>(action) else {
            return;
        };
        let channel = match to_chat && version >= Version::V0_4 {
            true => chat(),
            false => SESSION.to_owned(),
        };
        if let (true, Some(action)) = (version <= Version::V0_1, action.as_object_mut()) {
            action.insert("session".to_owned(), SESSION.into());
        }
        self.last += 1;
        let params = json!({"channel": channel, "clientSeq": self.last, "action": action});
        let text = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.host.say(client, &text.to_string());
    }

    fn request(&mut self, client: u64, rest: &str) {
        if self.host.version_of(client).is_none() || self.host.closed.contains(&client) {
            return;
        }
        let letter = rest.bytes().next().map_or(0, usize::from);
        let method = METHODS[letter % METHODS.len()];
        let params = serde_json::from_str(rest.get(1..).unwrap_or_default());
        self.last += 1;
        let id = format!("r{}", self.last);
        self.asked.insert((client, id.clone()), self.last);
        self.host
            .ask(client, &id, method, params.unwrap_or(Value::Null));
    }

    fn agent(&mut self, rest: &str) {
        let text = rest.get(1..).unwrap_or_default().to_owned();
        let end = AgentEnd::Process(ProcessEnd {
            how: HowEnded::Signal(9),
            last_words: None,
        });
        match rest.bytes().next().unwrap_or(0) % 10 {
            0 => self.host.report(AgentEvent::Opened { resume: None }),
            1 => self.host.in_turn(TurnEvent::Completed),
            2 => self.host.in_turn(TurnEvent::Cancelled),
            3 => self.host.in_turn(TurnEvent::Text(text)),
            4 => self.host.in_turn(TurnEvent::Reasoning(text)),
            5 => self.host.in_turn(TurnEvent::Break),
            6 => self.host.report(AgentEvent::Title(text)),
            7 => self.host.report(AgentEvent::Exited { end, idle: false }),
            8 => self.host.report(AgentEvent::Exited { end, idle: true }),
            _ => self.host.in_turn(TurnEvent::StopReason(text)),
        }
    }

    fn every_request_is_answered_once(&self) {
        for (client, id) in self.asked.keys() {
            if self.host.closed.contains(client) {
                continue;
            }
            let heard = self.host.heard.get(client).into_iter().flatten();
            let answers = heard.filter(|frame| frame["id"] == id.as_str()).count();
            assert_eq!(answers, 1, "answers to {id} of {client}");
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((versions, lines)) = data.split_first_chunk::<4>() else {
        return;
    };
    let Ok(lines) = std::str::from_utf8(lines) else {
        return;
    };
    let mut fuzzed = Fuzzed::new();
    fuzzed.begin(versions);
    for line in lines.lines().take(64) {
        fuzzed.happens(line);
        fuzzed.fold();
    }
    // Requests may wait for an agent that starts.
    fuzzed.host.feed(Input::StoreRecovered);
    fuzzed.host.report(AgentEvent::Opened { resume: None });
    fuzzed.compare();
    fuzzed.every_request_is_answered_once();
});
