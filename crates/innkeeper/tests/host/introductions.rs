//! Over a real socket: a connection speaks the version of the client that the
//! host has let in over it, in both directions, whatever was tried before and
//! however fast it was said.

use crate::common::raw::Raw;
use crate::common::{Inn, InnOptions, default_chat};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::store::Store as _;
use innkeeper_protocol::record::{ClientRecord, StoreBatch, StoreOp};
use innkeeper_protocol::version::Version;
use innkeeper_store::{SqliteStore, StoreOptions};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

/// How many clients the host remembers.
const KNOWN_CLIENTS: i64 = 10_000;

/// The code of what is refused to whom has not introduced itself.
const NOT_LET_IN: i32 = -32600;

/// What a client of some version says about one session.
struct Words {
    version: Version,
    session: String,
}

impl Words {
    fn new(version: Version, session: &str) -> Self {
        let session = session.to_owned();
        Self { version, session }
    }

    fn initialize(&self, id: i64, client: &str) -> Value {
        let mut params = json!({"clientId": client});
        match self.version {
            Version::Draft1 => params["protocolVersion"] = 1.into(),
            named => params["protocolVersions"] = json!([named.to_string()]),
        }
        json!({"id": id, "method": "initialize", "params": params})
    }

    fn reconnect(&self, id: i64, client: &str) -> Value {
        let root = match self.version {
            Version::Draft1 | Version::V0_1 => "agenthost:/root",
            _ => "ahp-root://",
        };
        let params = json!({
            "clientId": client, "lastSeenServerSeq": 0, "subscriptions": [root],
        });
        json!({"id": id, "method": "reconnect", "params": params})
    }

    /// Versions up to 0.4 are answered with turns; later ones have to subscribe
    /// to the chat before.
    fn fetch_turns(&self, id: i64) -> Value {
        let params = match self.version {
            Version::Draft1 | Version::V0_1 => json!({"session": self.session}),
            flat if !flat.has_chats() => json!({"channel": self.session}),
            _ => json!({"channel": default_chat(&self.session)}),
        };
        json!({"id": id, "method": "fetchTurns", "params": params})
    }

    /// Versions up to 0.4 are shown a summary within the state.
    fn subscribe(&self, id: i64) -> Value {
        let params = match self.version {
            Version::Draft1 | Version::V0_1 => json!({"resource": self.session}),
            _ => json!({"channel": self.session}),
        };
        json!({"id": id, "method": "subscribe", "params": params})
    }

    /// The answer to `fetch_turns` shows what it was read as.
    fn check_turns(&self, answer: &Value) {
        let is_understood = match self.version.tells_earlier_turns() {
            true => answer["error"]["message"]
                .as_str()
                .is_some_and(|why| why.contains("before fetching its turns")),
            false => answer["result"]["turns"].is_array(),
        };
        assert!(is_understood, "{}: {answer}", self.version);
    }

    /// The answer to `subscribe` shows what it was written in.
    fn check_snapshot(&self, answer: &Value) {
        let state = &answer["result"]["snapshot"]["state"];
        assert!(state.is_object(), "{}: {answer}", self.version);
        let is_alone = state.get("summary").is_none();
        let stands_alone = self.version.shows_each_state_alone();
        assert_eq!(is_alone, stands_alone, "{}: {answer}", self.version);
    }

    async fn are_spoken_over(&self, raw: &mut Raw) {
        self.check_turns(&raw.ask(self.fetch_turns(101)).await);
        self.check_snapshot(&raw.ask(self.subscribe(102)).await);
    }
}

/// In all versions alike.
fn list_sessions(id: i64) -> Value {
    json!({"id": id, "method": "listSessions", "params": {}})
}

/// Sends all of it before anything is read, and returns the answers in the
/// order of the questions: one that has to wait for the store comes later.
async fn at_once(raw: &mut Raw, frames: &[Value]) -> Vec<Value> {
    raw.send_at_once(frames).await;
    let mut answers = vec![Value::Null; frames.len()];
    while answers.iter().any(Value::is_null) {
        let heard = raw.next().await;
        let asked = frames.iter().position(|frame| frame["id"] == heard["id"]);
        if let Some(asked) = asked {
            answers[asked] = heard;
        }
    }
    answers
}

async fn inn_with_session() -> (Inn, String) {
    let inn = Inn::open().await;
    let owner = inn.guest("owner").await;
    let session = owner.new_session().await;
    (inn, session)
}

/// A version that is refused, and another that is let in after it.
const PAIRS: [(Version, Version); 5] = [
    (Version::Draft1, Version::V0_1),
    (Version::V0_2, Version::NEWEST),
    (Version::NEWEST, Version::V0_2),
    (Version::V0_1, Version::V0_9),
    (Version::V0_9, Version::V0_1),
];

#[tokio::test]
async fn a_refused_initialize_leaves_no_version_behind() {
    let (inn, session) = inn_with_session().await;
    for (refused, good) in PAIRS {
        let mut raw = Raw::connect(&inn.url).await;
        let (refused, good) = (Words::new(refused, &session), Words::new(good, &session));
        let answer = raw.ask(refused.initialize(1, "")).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let answer = raw.ask(list_sessions(2)).await;
        assert_eq!(answer["error"]["code"], NOT_LET_IN, "{answer}");
        let answer = raw.ask(good.initialize(3, "a")).await;
        assert!(answer["result"].is_object(), "{answer}");
        good.are_spoken_over(&mut raw).await;
    }
    inn.close().await;
}

#[tokio::test]
async fn nor_does_one_that_is_refused_while_the_next_is_on_its_way() {
    let (inn, session) = inn_with_session().await;
    for (refused, good) in PAIRS {
        let mut raw = Raw::connect(&inn.url).await;
        let (refused, good) = (Words::new(refused, &session), Words::new(good, &session));
        let frames = [
            refused.initialize(1, ""),
            list_sessions(2),
            good.initialize(3, "a"),
            good.fetch_turns(4),
            good.subscribe(5),
        ];
        let answers = at_once(&mut raw, &frames).await;
        assert_eq!(answers[0]["error"]["code"], -32602, "{answers:?}");
        assert_eq!(answers[1]["error"]["code"], NOT_LET_IN, "{answers:?}");
        assert!(answers[2]["result"].is_object(), "{answers:?}");
        good.check_turns(&answers[3]);
        good.check_snapshot(&answers[4]);
        good.are_spoken_over(&mut raw).await;
    }
    inn.close().await;
}

#[tokio::test]
async fn nor_does_a_refused_reconnect() {
    let (inn, session) = inn_with_session().await;
    for (refused, good) in PAIRS {
        let (refused, good) = (Words::new(refused, &session), Words::new(good, &session));
        // The host knows which version this client speaks; the request lacks
        // something.
        let mut raw = Raw::connect(&inn.url).await;
        raw.ask(refused.initialize(1, "known")).await;
        drop(raw);
        let mut raw = Raw::connect(&inn.url).await;
        let broken = json!({"id": 1, "method": "reconnect", "params": {"clientId": "known"}});
        let frames = [
            broken,
            refused.reconnect(2, ""),
            good.initialize(3, "a"),
            good.fetch_turns(4),
        ];
        let answers = at_once(&mut raw, &frames).await;
        assert_eq!(answers[0]["error"]["code"], -32602, "{answers:?}");
        assert_eq!(answers[1]["error"]["code"], -32602, "{answers:?}");
        good.check_turns(&answers[3]);
        good.are_spoken_over(&mut raw).await;
    }
    inn.close().await;
}

#[tokio::test]
async fn what_follows_an_introduction_need_not_wait_for_its_answer() {
    let (inn, session) = inn_with_session().await;
    for version in Version::ALL {
        let words = Words::new(version, &session);
        let mut raw = Raw::connect(&inn.url).await;
        let frames = [
            words.initialize(1, "hasty"),
            words.fetch_turns(2),
            words.subscribe(3),
        ];
        let answers = at_once(&mut raw, &frames).await;
        words.check_turns(&answers[1]);
        words.check_snapshot(&answers[2]);

        // Back again while the host still believes it to be here.
        let mut again = Raw::connect(&inn.url).await;
        let frames = [
            words.reconnect(1, "hasty"),
            words.fetch_turns(2),
            words.subscribe(3),
        ];
        let answers = at_once(&mut again, &frames).await;
        assert!(answers[0]["result"].is_object(), "{answers:?}");
        assert_eq!(
            answers[0]["result"]["missing"]
                .as_array()
                .map_or(0, Vec::len),
            0
        );
        words.check_turns(&answers[1]);
        words.check_snapshot(&answers[2]);
        assert_eq!(raw.close_code().await, Some(CloseCode::Library(4001)));
    }
    inn.close().await;
}

#[tokio::test]
async fn a_second_introduction_changes_nothing() {
    let (inn, session) = inn_with_session().await;
    for (first, second) in PAIRS {
        let (first, second) = (Words::new(first, &session), Words::new(second, &session));
        let mut raw = Raw::connect(&inn.url).await;
        let frames = [
            first.initialize(1, "a"),
            second.initialize(2, "b"),
            first.fetch_turns(3),
            second.reconnect(4, "a"),
            first.fetch_turns(5),
        ];
        let answers = at_once(&mut raw, &frames).await;
        for refused in [&answers[1], &answers[3]] {
            assert!(refused["error"].is_object(), "{answers:?}");
        }
        first.check_turns(&answers[2]);
        first.check_turns(&answers[4]);
        first.are_spoken_over(&mut raw).await;
    }
    inn.close().await;
}

#[tokio::test]
async fn a_client_keeps_its_version_when_the_host_begins_anew() {
    let (mut inn, session) = inn_with_session().await;
    for version in [
        Version::Draft1,
        Version::V0_1,
        Version::V0_4,
        Version::NEWEST,
    ] {
        let words = Words::new(version, &session);
        let mut raw = Raw::connect(&inn.url).await;
        let answer = raw.ask(words.initialize(1, "a")).await;
        assert!(answer["result"].is_object(), "{answer}");
        inn = inn.reopen(InnOptions::default()).await;
        let mut raw = Raw::connect(&inn.url).await;
        let answers = at_once(&mut raw, &[words.reconnect(1, "a"), words.fetch_turns(2)]).await;
        assert!(answers[0]["result"].is_object(), "{answers:?}");
        words.check_turns(&answers[1]);
        words.are_spoken_over(&mut raw).await;
    }
    inn.close().await;
}

/// Clients that were here later than everybody else, up to the limit.
fn crowd() -> StoreBatch {
    let later = 4_000_000_000_000;
    let ops = (0..KNOWN_CLIENTS).map(|number| {
        StoreOp::PutClient(ClientRecord {
            client_id: format!("passer-by {number}").into(),
            version: Version::NEWEST.to_string(),
            seen_at: Timestamp::from_millis(later + number),
        })
    });
    StoreBatch { ops: ops.collect() }
}

#[tokio::test]
async fn a_client_that_was_forgotten_is_one_of_the_newest_version_to_all_of_the_host() {
    let (inn, session) = inn_with_session().await;
    let old = Words::new(Version::V0_2, &session);
    let mut raw = Raw::connect(&inn.url).await;
    raw.ask(old.initialize(1, "old")).await;
    drop(raw);
    let inn = inn
        .reopen_after(InnOptions::default(), |directory| {
            let mut store = SqliteStore::open(directory, StoreOptions::default()).unwrap();
            store.apply(&[crowd()]).unwrap();
        })
        .await;
    // One more, and those who have been away for longest are forgotten.
    let _guest = inn.guest("one more").await;
    let mut raw = Raw::connect(&inn.url).await;
    let newest = Words::new(Version::NEWEST, &session);
    let frames = [
        newest.reconnect(1, "old"),
        newest.fetch_turns(2),
        newest.subscribe(3),
    ];
    let answers = at_once(&mut raw, &frames).await;
    newest.check_turns(&answers[1]);
    newest.check_snapshot(&answers[2]);
    newest.are_spoken_over(&mut raw).await;

    // It says again what it speaks, and is remembered.
    drop(raw);
    let mut raw = Raw::connect(&inn.url).await;
    raw.ask(old.initialize(1, "old")).await;
    old.are_spoken_over(&mut raw).await;
    drop(raw);
    let mut raw = Raw::connect(&inn.url).await;
    raw.ask(old.reconnect(1, "old")).await;
    old.are_spoken_over(&mut raw).await;
    inn.close().await;
}

#[tokio::test]
async fn whoever_is_connected_is_listed_by_name_and_version() {
    let inn = Inn::open().await;
    let mut editor = Raw::connect(&inn.url).await;
    let info = json!({"name": "ed\u{1b}[2J", "version": "1", "title": "The Editor"});
    let params = json!({"clientId": "e", "protocolVersions": ["0.9.0"], "clientInfo": info});
    let welcome = editor
        .ask(json!({"id": 0, "method": "initialize", "params": params}))
        .await;
    assert!(welcome["result"].is_object(), "{welcome}");
    let _other = Raw::initialized(&inn.url, "nameless").await;
    assert_eq!(
        inn.host.clients(9),
        [
            "The Editor (ed [2J 1), AHP 0.9.0",
            "a client without a name, AHP 1.0.0"
        ]
    );
    assert_eq!(inn.host.clients(1).len(), 1);
    inn.close().await;
}
