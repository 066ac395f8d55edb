//! Over a real socket: clients of every published protocol version, alone and
//! together on one session. Each is the client that was published with its
//! version, says everything in that version's words, and keeps its states with
//! that version's types and reducers.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::git::git;
use crate::common::{Inn, InnOptions, ROOT, in_time, script};
use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper::WorkspaceOptions;
use innkeeper_judges::client::{Frames, OfficialClient, connect};
use innkeeper_judges::{Conformity, Mirror, VERSIONS, age, comparable, mirror, name_of};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;

const SESSION: &str = "ahp-session:/s";

/// A client that was written against one version.
struct Old {
    version: &'static str,
    id: String,
    client: Box<dyn OfficialClient>,
    mirror: Box<dyn Mirror>,
    /// Everything that was heard of each channel, by type.
    heard: Vec<(String, Value)>,
    seen: u64,
    closed: bool,
}

/// Carries frames over a real socket.
async fn over_a_socket(url: &str, version: &str) -> Frames {
    let (socket, _) = tokio_tungstenite::connect_async(url).await.unwrap();
    let (mut sink, mut stream) = socket.split();
    let (outgoing, mut to_send) = mpsc::unbounded_channel::<String>();
    let (received, incoming) = mpsc::unbounded_channel();
    let conformity = Conformity::of(version).map(|it| Arc::new(Mutex::new(it)));
    let said = conformity.clone();
    tokio::spawn(async move {
        while let Some(text) = to_send.recv().await {
            if let Some(conformity) = &said {
                conformity.lock().unwrap().said(&text);
            }
            if sink.send(Message::text(text)).await.is_err() {
                return;
            }
        }
        let _ = sink.close().await;
    });
    tokio::spawn(async move {
        while let Some(Ok(frame)) = stream.next().await {
            let Message::Text(text) = frame else {
                continue;
            };
            if let Some(conformity) = &conformity {
                conformity.lock().unwrap().heard(&text).unwrap();
            }
            if received.send(text.to_string()).is_err() {
                return;
            }
        }
    });
    Frames { outgoing, incoming }
}

impl Old {
    async fn arrive(inn: &Inn, version: &'static str, id: &str) -> Self {
        let frames = over_a_socket(&inn.url, version).await;
        Self {
            version,
            id: id.to_owned(),
            client: connect(version, frames).await.unwrap(),
            mirror: mirror(version).unwrap(),
            heard: Vec::new(),
            seen: 0,
            closed: false,
        }
    }

    fn is_draft(&self) -> bool {
        age(self.version) <= age("0.1")
    }

    /// Whether turns live on the session's own channel.
    fn is_flat(&self) -> bool {
        age(self.version) < age("0.4")
    }

    /// Where turns live, in this version.
    fn place(&self) -> String {
        match self.is_flat() {
            true => SESSION.to_owned(),
            false => ChannelUri::default_chat_of(SESSION).to_string(),
        }
    }

    fn family(&self) -> &'static str {
        if self.is_flat() { "session" } else { "chat" }
    }

    /// Waits for an action and takes it in.
    async fn hear(&mut self) {
        match in_time("an action", self.client.action()).await {
            Some(envelope) => self.take(&envelope),
            None => self.closed = true,
        }
    }

    fn take(&mut self, envelope: &Value) {
        let action = envelope["action"].clone();
        let channel = match self.is_draft() {
            true => {
                assert!(
                    envelope.get("channel").is_none(),
                    "the drafts have no channel: {envelope}"
                );
                let subject = action.get("session").or(action.get("terminal"));
                subject
                    .and_then(Value::as_str)
                    .unwrap_or("agenthost:/root")
                    .to_owned()
            }
            false => envelope["channel"].as_str().unwrap().to_owned(),
        };
        let seq = envelope["serverSeq"].as_u64().unwrap();
        assert!(seq >= self.seen, "numbers only grow: {envelope}");
        self.seen = seq;
        if envelope.get("rejectionReason").is_none() {
            self.mirror
                .apply(&channel, action.clone())
                .unwrap_or_else(|error| panic!("{} cannot read {error}", self.version));
        }
        self.heard.push((channel, envelope.clone()));
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        in_time(method, self.client.request(method, params))
            .await
            .unwrap()
    }

    async fn initialize(&mut self) -> Value {
        let root = if self.is_draft() {
            "agenthost:/root"
        } else {
            "ahp-root://"
        };
        let welcome = self.client.initialize(&self.id, vec![root.to_owned()]);
        let welcome = in_time("a welcome", welcome).await.unwrap();
        let expected = match self.version {
            "draft 1" => json!(1),
            "0.5" => json!("0.5.2"),
            version => json!(format!("{version}.0")),
        };
        assert_eq!(welcome["protocolVersion"], expected);
        for snapshot in welcome["snapshots"].as_array().unwrap() {
            assert_eq!(snapshot["resource"], root);
            self.load(snapshot);
        }
        welcome
    }

    fn load(&mut self, snapshot: &Value) {
        let channel = snapshot["resource"].as_str().unwrap();
        self.mirror
            .load(channel, snapshot["state"].clone())
            .unwrap_or_else(|error| panic!("{} cannot read {error}", self.version));
    }

    fn about(&self, session: &str) -> Value {
        match self.is_draft() {
            true => json!({"session": session}),
            false => json!({"channel": session}),
        }
    }

    async fn create(&mut self) {
        self.create_in(None).await;
    }

    async fn create_in(&mut self, directory: Option<&Path>) {
        let mut params = self.about(SESSION);
        params["provider"] = "script".into();
        if let Some(directory) = directory {
            let uri = format!("file://{}", directory.display());
            match age(self.version) < age("0.7") {
                true => params["workingDirectory"] = uri.into(),
                false => params["workingDirectories"] = json!([uri]),
            }
        }
        self.request("createSession", params).await;
    }

    async fn snapshot(&mut self, channel: &str) -> Value {
        let answer = self.client.subscribe(channel);
        let mut result = in_time("a snapshot", answer).await.unwrap();
        result["snapshot"].take()
    }

    async fn subscribe(&mut self) {
        let mut channels = vec![SESSION.to_owned()];
        if !self.is_flat() {
            channels.push(self.place());
        }
        for channel in channels {
            let snapshot = self.snapshot(&channel).await;
            self.load(&snapshot);
        }
        while self.mirror.state(SESSION).unwrap_or_default()["lifecycle"] != "ready" {
            assert!(!self.closed, "{} waits for the session", self.version);
            self.hear().await;
        }
    }

    /// Dispatches an action of the conversation in this version's words.
    async fn dispatch(&mut self, verb: &str, fields: Value) {
        let mut action = fields;
        action["type"] = format!("{}/{verb}", self.family()).into();
        if age(self.version) < age("0.3")
            && let Some(message) = action.as_object_mut().unwrap().remove("message")
        {
            action["userMessage"] = json!({"text": message["text"]});
        }
        if self.is_draft() {
            action["session"] = SESSION.into();
        }
        let place = self.place();
        let sent = self.client.dispatch(&place, action);
        in_time("an action to leave", sent).await.unwrap();
    }

    async fn start_turn(&mut self, turn: &str, text: &str) {
        let message = json!({"text": text, "origin": {"kind": "user"}});
        let fields = json!({"turnId": turn, "message": message,
                            "startedAt": "2026-01-01T00:00:00.000Z"});
        let mut fields = fields;
        if age(self.version) < age("0.6") {
            fields.as_object_mut().unwrap().remove("startedAt");
        }
        self.dispatch("turnStarted", fields).await;
    }

    /// Waits for an action of the conversation.
    async fn expect(&mut self, verb: &str, matches: impl Fn(&Value) -> bool) -> Value {
        let kind = format!("{}/{verb}", self.family());
        let from = self.place();
        let mut at = 0;
        loop {
            while at < self.heard.len() {
                let (channel, envelope) = &self.heard[at];
                let action = &envelope["action"];
                if *channel == from && action["type"] == kind.as_str() && matches(action) {
                    return envelope.clone();
                }
                at += 1;
            }
            assert!(!self.closed, "{} waits for {kind}", self.version);
            self.hear().await;
        }
    }

    async fn turn_is_complete(&mut self, turn: &str) {
        self.expect("turnComplete", |action| action["turnId"] == turn)
            .await;
    }

    /// What it holds is what a newcomer of its version is given.
    async fn holds_what_newcomers_are_given(&mut self, inn: &Inn) {
        let mut newcomer = Self::arrive(inn, self.version, &format!("new-{}", self.id)).await;
        newcomer.initialize().await;
        newcomer.subscribe().await;
        let mut channels = vec![SESSION.to_owned()];
        if !self.is_flat() {
            channels.push(self.place());
        }
        for channel in channels {
            let plain = |state: Option<Value>| {
                let mut state = comparable(self.version, state.unwrap_or_default());
                // The catalogue of chats is told with a delay.
                state.as_object_mut().unwrap().remove("chats");
                state
            };
            let (mine, fresh) = (self.mirror.state(&channel), newcomer.mirror.state(&channel));
            assert_eq!(plain(mine), plain(fresh), "{} on {channel}", self.version);
        }
    }

    /// What it holds of a channel, as soon as that is like this.
    async fn until(&mut self, channel: &str, like: impl Fn(&Value) -> bool) -> Value {
        loop {
            let state = self.mirror.state(channel).unwrap_or_default();
            if like(&state) {
                return state;
            }
            assert!(
                !self.closed,
                "{} waits for {channel}: {state}",
                self.version
            );
            self.hear().await;
        }
    }

    fn lost(self) -> (u64, Box<dyn Mirror>) {
        (self.seen, self.mirror)
    }
}

/// One client of each version: create, a turn, a confirmed tool, a question, a
/// queued message, and coming back.
#[tokio::test]
async fn clients_of_every_version_live_through_the_same_story() {
    for version in VERSIONS {
        story(version).await;
    }
}

async fn story(version: &'static str) {
    let inn = Inn::open().await;
    let mut client = Old::arrive(&inn, version, "c").await;
    client.initialize().await;
    client.create().await;
    client.subscribe().await;

    client
        .start_turn("t1", &script(json!([{"say": "Hello"}, {"say": " there"}])))
        .await;
    client.turn_is_complete("t1").await;

    let tool = json!({"name": "t", "input": "i", "confirm": "ask"});
    client
        .start_turn("t2", &script(json!([{"tool": tool}, {"say": "done"}])))
        .await;
    let ready = client
        .expect("toolCallReady", |action| action["turnId"] == "t2")
        .await;
    let call = &ready["action"]["toolCallId"];
    let confirmed = json!({"turnId": "t2", "toolCallId": call, "approved": true,
                           "confirmed": "user-action"});
    client.dispatch("toolCallConfirmed", confirmed).await;
    client.turn_is_complete("t2").await;

    let question = json!({"id": "q", "kind": "text", "message": "Name?"});
    let steps = json!([{"ask": {"id": "r", "questions": [question]}}, {"sayAnswer": "q"}]);
    client.start_turn("t3", &script(steps)).await;
    let asked = client.expect("inputRequested", |_| true).await;
    let queued = json!({"kind": "queued", "id": "m1",
                        "message": {"text": "next", "origin": {"kind": "user"}}});
    client.dispatch("pendingMessageSet", queued).await;
    client.expect("pendingMessageSet", |_| true).await;
    let answer = json!({"state": "submitted", "value": {"kind": "text", "value": "Ada"}});
    let request = &asked["action"]["request"]["id"];
    let completed = json!({"requestId": request, "response": "accept", "answers": {"q": answer}});
    client.dispatch("inputCompleted", completed).await;
    client.turn_is_complete("t3").await;
    // The queued message becomes a turn of its own.
    let next = client
        .expect("turnStarted", |action| action["queuedMessageId"] == "m1")
        .await;
    let next = next["action"]["turnId"].as_str().unwrap().to_owned();
    client.turn_is_complete(&next).await;
    client.holds_what_newcomers_are_given(&inn).await;

    // It loses the connection, and misses a turn that somebody else starts.
    let place = client.place();
    let (seen, kept) = client.lost();
    let mut other = Old::arrive(&inn, "1.0", "other").await;
    other.initialize().await;
    other.subscribe().await;
    other
        .start_turn("t9", &script(json!([{"say": "missed"}])))
        .await;
    other.turn_is_complete("t9").await;

    let mut client = Old::arrive(&inn, version, "c").await;
    client.mirror = kept;
    let mut channels = vec![SESSION.to_owned()];
    if place != SESSION {
        channels.push(place);
    }
    let back = client.client.reconnect("c", seen as i64, channels);
    let back = in_time("what was missed", back).await.unwrap();
    assert_eq!(back["type"], "replay", "{version}");
    for envelope in back["actions"].as_array().unwrap() {
        client.take(envelope);
    }
    client
        .start_turn("t10", &script(json!([{"say": "again"}])))
        .await;
    client.turn_is_complete("t10").await;
    client.holds_what_newcomers_are_given(&inn).await;
    inn.close().await;
}

/// Clients of five versions on one session: each sees what the others do.
#[tokio::test]
async fn clients_of_different_versions_share_one_session() {
    let inn = Inn::open().await;
    let mut clients: VecDeque<Old> = VecDeque::new();
    for version in ["draft 1", "0.1", "0.2", "0.5", "0.9", "1.0"] {
        let mut client = Old::arrive(&inn, version, &format!("c{version}")).await;
        client.initialize().await;
        if clients.is_empty() {
            client.create().await;
        }
        client.subscribe().await;
        clients.push_back(client);
    }
    for turn in ["a", "b", "c", "d", "e"] {
        let mut one = clients.pop_front().unwrap();
        let tool = json!({"name": "t", "input": "i", "confirm": "ask"});
        one.start_turn(
            turn,
            &script(json!([{"say": "x"}, {"tool": tool}, {"say": "y"}])),
        )
        .await;
        let ready = one
            .expect("toolCallReady", |action| action["turnId"] == turn)
            .await;
        let call = ready["action"]["toolCallId"].clone();
        clients.push_back(one);
        // Somebody else confirms.
        let other = clients.front_mut().unwrap();
        other
            .expect("toolCallReady", |action| action["turnId"] == turn)
            .await;
        let confirmed = json!({"turnId": turn, "toolCallId": call, "approved": true,
                               "confirmed": "user-action"});
        other.dispatch("toolCallConfirmed", confirmed).await;
        for client in &mut clients {
            let started = client
                .expect("turnStarted", |action| action["turnId"] == turn)
                .await;
            assert!(started["origin"]["clientId"].is_string());
            client.turn_is_complete(turn).await;
        }
    }
    for client in &mut clients {
        client.holds_what_newcomers_are_given(&inn).await;
    }
    inn.close().await;
}

/// Where the session has the model, a change waits for the end of the turn.
#[tokio::test]
async fn a_model_selected_during_a_turn_counts_from_the_next_one() {
    let inn = Inn::open().await;
    let mut client = Old::arrive(&inn, "0.2", "c").await;
    client.initialize().await;
    client.create().await;
    client.subscribe().await;
    let ask = json!([{"ask": {"id": "r", "message": "wait"}}, {"echo": "model"}]);
    client.start_turn("t1", &script(ask)).await;
    client.expect("inputRequested", |_| true).await;
    let model = json!({"model": {"id": "script-large"}});
    client.dispatch("modelChanged", model).await;
    let done = json!({"requestId": "r", "response": "cancel"});
    client.dispatch("inputCompleted", done).await;
    client.turn_is_complete("t1").await;
    client.expect("modelChanged", |_| true).await;
    let order: Vec<&Value> = client.heard.iter().map(|(_, it)| &it["action"]).collect();
    let place = |kind: &str| order.iter().position(|action| action["type"] == kind);
    assert!(place("session/turnComplete") < place("session/modelChanged"));
    client
        .start_turn("t2", &script(json!([{"echo": "model"}])))
        .await;
    client.turn_is_complete("t2").await;
    let state = client.mirror.state(SESSION).unwrap();
    let said = |turn: usize| state["turns"][turn]["responseParts"].to_string();
    assert!(!said(0).contains("script-large"), "{}", said(0));
    assert!(said(1).contains("script-large"), "{}", said(1));
    inn.close().await;
}

const TERMINAL: &str = "ahp-terminal:/t";

/// A shell to type into, and a directory whose changes are told.
#[tokio::test]
async fn clients_of_every_version_use_terminals_and_watches() {
    for version in VERSIONS {
        let directory = tempfile::tempdir().unwrap();
        let options = InnOptions {
            workspace: WorkspaceOptions {
                shell: Some("/bin/bash".into()),
                shell_arguments: vec!["--noprofile".to_owned(), "--norc".to_owned()],
                environment: vec![("HISTFILE".to_owned(), String::new())],
                ..WorkspaceOptions::default()
            },
            ..InnOptions::default()
        };
        let inn = Inn::open_with(options).await;
        let mut client = Old::arrive(&inn, version, "c").await;
        client.initialize().await;
        client.create_in(Some(directory.path())).await;
        client.subscribe().await;
        if !client.is_draft() {
            client.is_told_of_changes(directory.path()).await;
        }
        client.talks_to_a_shell().await;
        inn.close().await;
    }
}

impl Old {
    /// Waits until something was heard on a channel.
    async fn hears_on(&mut self, channel: &str, matches: impl Fn(&Value) -> bool) {
        let mut at = 0;
        loop {
            while at < self.heard.len() {
                let (from, envelope) = &self.heard[at];
                if from == channel && matches(&envelope["action"]) {
                    return;
                }
                at += 1;
            }
            assert!(!self.closed, "{} waits on {channel}", self.version);
            self.hear().await;
        }
    }

    async fn is_told_of_changes(&mut self, directory: &Path) {
        let uri = format!("file://{}", directory.display());
        let params = json!({"channel": "ahp-root://", "uri": uri, "recursive": true});
        let created = self.request("createResourceWatch", params).await;
        let channel = created["channel"].as_str().unwrap().to_owned();
        let snapshot = self.snapshot(&channel).await;
        match age(self.version) < age("0.4") {
            true => assert_eq!(snapshot, Value::Null, "{} has none", self.version),
            false => assert_eq!(snapshot["state"]["root"], uri, "{}", self.version),
        }
        std::fs::write(directory.join("new"), "1").unwrap();
        let told = |action: &Value| {
            let items = action["changes"]["items"].as_array().into_iter().flatten();
            let mut uris = items.filter_map(|item| item["uri"].as_str());
            uris.any(|uri| uri.ends_with("/new"))
        };
        self.hears_on(&channel, told).await;
    }

    async fn type_into_terminal(&mut self, text: &str) {
        let mut action = json!({"type": "terminal/input", "data": text});
        if self.is_draft() {
            action["terminal"] = TERMINAL.into();
        }
        let sent = self.client.dispatch(TERMINAL, action);
        in_time("input to leave", sent).await.unwrap();
    }

    async fn talks_to_a_shell(&mut self) {
        let mut params = json!({"claim": {"kind": "client", "clientId": self.id}});
        let subject = if self.is_draft() {
            "terminal"
        } else {
            "channel"
        };
        params[subject] = TERMINAL.into();
        self.request("createTerminal", params).await;
        let snapshot = self.snapshot(TERMINAL).await;
        self.load(&snapshot);
        self.type_into_terminal("echo the-answer-is-$((40+2))\n")
            .await;
        let answered = |it: &Value| it["content"].to_string().contains("the-answer-is-42");
        self.until(TERMINAL, answered).await;
        self.type_into_terminal("exit 3\n").await;
        let version = self.version;
        let exit_code = |it: &Value| match age(version) < age("0.9") {
            true => it["exitCode"].clone(),
            false => it["lifecycle"]["exitCode"].clone(),
        };
        let held = self.until(TERMINAL, |it| exit_code(it) == 3).await;
        let snapshot = self.snapshot(TERMINAL).await;
        self.load(&snapshot);
        assert_eq!(held, self.mirror.state(TERMINAL).unwrap(), "{version}");
    }
}

/// Each version that has changesets finds one, is told of an edit, and has it
/// taken back.
#[tokio::test]
async fn clients_of_every_version_see_changes_and_discard_them() {
    for version in VERSIONS
        .into_iter()
        .filter(|version| age(version) > age("0.1"))
    {
        change(version).await;
    }
}

async fn change(version: &'static str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.txt");
    git(directory.path(), &["init", "--quiet"]);
    std::fs::write(&file, "one\n").unwrap();
    git(directory.path(), &["add", "--all"]);
    git(
        directory.path(),
        &["commit", "--quiet", "--message", "First"],
    );
    let inn = Inn::open().await;
    let mut client = Old::arrive(&inn, version, "c").await;
    client.initialize().await;
    client.create_in(Some(directory.path())).await;
    client.subscribe().await;
    let catalogue = |state: &Value| match version {
        "0.2" => state["summary"]["changesets"].clone(),
        _ => state["changesets"].clone(),
    };
    let offered = |state: &Value| catalogue(state).is_array();
    let session = client.until(SESSION, offered).await;
    let channel = catalogue(&session)[0]["uriTemplate"].clone();
    let channel = channel.as_str().unwrap();
    let snapshot = client.snapshot(channel).await;
    client.load(&snapshot);
    client
        .until(channel, |state| state["status"] == "ready")
        .await;

    std::fs::write(&file, "one\ntwo\n").unwrap();
    let one_file = |state: &Value| state["files"].as_array().is_some_and(|it| it.len() == 1);
    let state = client.until(channel, one_file).await;
    let changed = &state["files"][0];
    assert_eq!(changed["edit"]["diff"], json!({"added": 1, "removed": 0}));
    assert_eq!(state["operations"][0]["id"], "discard", "{version}");

    let target = json!({"kind": "resource", "resource": changed["id"]});
    let params = json!({"channel": channel, "operationId": "discard", "target": target});
    let result = client.request("invokeChangesetOperation", params).await;
    assert_eq!(result["message"], "1 file is as before.", "{version}");
    client
        .until(channel, |state| state["files"] == json!([]))
        .await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n");
    let undo = |state: &Value| {
        let mut offered = state["operations"].as_array().into_iter().flatten();
        offered.any(|operation| operation["id"] == "undo")
    };
    let held = client.until(channel, undo).await;

    let mut newcomer = Old::arrive(&inn, version, "newcomer").await;
    newcomer.initialize().await;
    let fresh = newcomer.snapshot(channel).await;
    newcomer.load(&fresh);
    assert_eq!(newcomer.mirror.state(channel), Some(held), "{version}");
    inn.close().await;
}

#[tokio::test]
async fn clients_of_every_version_are_asked_for_what_they_have() {
    for version in Version::ALL {
        is_asked(version).await;
    }
}

/// A client of that version has something, and another one wants to do all
/// that can be done with it.
async fn is_asked(version: Version) {
    let inn = Inn::open().await;
    let is_draft = version <= Version::V0_1;
    let number = version.to_string();
    let mut owner = over_a_socket(&inn.url, &name_of(version)).await;
    let offer = match version == Version::Draft1 {
        true => json!({"clientId": "owner", "protocolVersion": 1}),
        false => json!({"channel": ROOT, "clientId": "owner", "protocolVersions": [number]}),
    };
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": offer});
    owner.outgoing.send(hello.to_string()).unwrap();
    let welcome = in_time("a welcome", owner.incoming.recv()).await.unwrap();
    assert!(welcome.contains("result"), "{version}: {welcome}");

    let guest = inn.guest("a").await;
    let (here, there) = ("virtual://owner/a", "virtual://owner/b");
    let content = json!({"data": "mine", "encoding": "utf-8"});
    let entries = json!({"entries": [{"name": "a", "type": "file"}]});
    let resolved = json!({"uri": here, "type": "file", "size": 4, "etag": "1"});
    let write = json!({"uri": here, "data": "new", "encoding": "utf-8", "createOnly": true});
    let append = json!({"uri": here, "data": "", "encoding": "utf-8", "mode": "append"});
    let guarded = json!({"uri": here, "data": "", "encoding": "utf-8", "ifMatch": "1"});
    let transfer = json!({"source": here, "destination": there, "failIfExists": true});
    // The last says whether the drafts know it.
    let calls = [
        ("resourceRead", json!({"uri": here}), content, true),
        ("resourceList", json!({"uri": here}), entries, true),
        ("resourceResolve", json!({"uri": here}), resolved, false),
        ("resourceWrite", write, json!({}), true),
        ("resourceWrite", append, json!({}), false),
        ("resourceWrite", guarded, json!({}), false),
        ("resourceMkdir", json!({"uri": there}), json!({}), false),
        ("resourceCopy", transfer.clone(), json!({}), true),
        ("resourceMove", transfer, json!({}), true),
        ("resourceDelete", json!({"uri": there}), json!({}), true),
        (
            "resourceRequest",
            json!({"uri": here}),
            json!({}),
            version == Version::V0_1,
        ),
    ];
    for (method, params, answer, in_draft) in calls {
        if is_draft && !in_draft {
            let (_, why) = guest.request(method, params).await.unwrap_err();
            assert!(why.contains("cannot be asked this"), "{method}: {why}");
            continue;
        }
        let answers = async {
            let question = in_time("a question", owner.incoming.recv()).await.unwrap();
            let question: Value = serde_json::from_str(&question).unwrap();
            let mut asked = params.clone();
            if !is_draft {
                asked["channel"] = ROOT.into();
            }
            assert_eq!(question["method"], method, "{version}");
            assert_eq!(question["params"], asked, "{version}");
            let said = json!({"jsonrpc": "2.0", "id": question["id"], "result": answer});
            owner.outgoing.send(said.to_string()).unwrap();
        };
        let (heard, ()) = tokio::join!(guest.request(method, params.clone()), answers);
        assert_eq!(heard.unwrap(), answer, "{version}: {method}");
    }
    inn.close().await;
}

#[tokio::test]
async fn patch_releases_are_taken_for_what_they_are() {
    let inn = Inn::open().await;
    let mut client = Old::arrive(&inn, "0.5", "c").await;
    let params = json!({"channel": "ahp-root://", "clientId": "c",
                        "protocolVersions": ["0.5.2", "0.4.0", "9.0.0"]});
    let welcome = client.request("initialize", params).await;
    assert_eq!(welcome["protocolVersion"], "0.5.2");
    inn.close().await;
}
