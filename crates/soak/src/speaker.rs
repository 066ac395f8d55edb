//! A client of one protocol version: it says things in that version's words,
//! keeps its states with that version's own types and reducers, and tells the
//! ledger what it says and hears.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::{SinkExt as _, StreamExt as _};
use innkeeper_judges::{Mirror, comparable, difference, mirror};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::host::PATIENCE;
use crate::ledger::Ledger;
use crate::table::{Promise, Report};
use crate::words::Words;

/// What all clients of a world share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) ledger: RefCell<Ledger>,
    pub(crate) report: RefCell<Report>,
    /// How many actions were heard in this life.
    pub(crate) heard: Cell<u64>,
    /// The last number that was given out for a name.
    last_number: Cell<u64>,
}

impl Shared {
    /// A number that nothing else in this world has.
    pub(crate) fn number(&self) -> u64 {
        self.last_number.set(self.last_number.get() + 1);
        self.last_number.get()
    }

    pub(crate) fn count(&self, what: &str) {
        self.report.borrow_mut().count(what);
    }

    pub(crate) fn hold(&self, promise: Promise, kept: bool, what: impl FnOnce() -> String) {
        self.report.borrow_mut().hold(promise, kept, what);
    }
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The connection is gone.
    Gone,
    Refused(Value),
}

impl Unanswered {
    pub(crate) fn why(&self) -> String {
        match self {
            Self::Gone => "the connection is gone".to_owned(),
            Self::Refused(error) => format!("refused: {error}"),
        }
    }
}

/// The connection is gone.
#[derive(Debug)]
pub(crate) struct Gone;

impl From<Gone> for Unanswered {
    fn from(Gone: Gone) -> Self {
        Self::Gone
    }
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// A tool call that waits for somebody to confirm it.
#[derive(Debug)]
pub(crate) struct WaitingCall {
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) call: String,
}

#[derive(Debug)]
pub(crate) struct Speaker {
    pub(crate) words: Words,
    pub(crate) id: String,
    shared: Rc<Shared>,
    socket: Option<Socket>,
    last_request: u64,
    last_action: u64,
    states: Box<dyn Mirror>,
    /// A second copy of one channel, for as long as the two are compared.
    fresh: Option<(Box<dyn Mirror>, String, u64)>,
    /// The highest number that it saw.
    seen: u64,
    /// What it listens to, with the session that each channel is about.
    channels: BTreeMap<String, String>,
    /// The turn that runs in a session.
    pub(crate) running: BTreeMap<String, String>,
    pub(crate) waiting: Vec<WaitingCall>,
}

impl Speaker {
    pub(crate) fn new(version: &'static str, id: &str, shared: &Rc<Shared>) -> Option<Self> {
        Some(Self {
            words: Words(version),
            id: id.to_owned(),
            shared: Rc::clone(shared),
            socket: None,
            last_request: 0,
            last_action: 0,
            states: mirror(version)?,
            fresh: None,
            seen: 0,
            channels: BTreeMap::new(),
            running: BTreeMap::new(),
            waiting: Vec::new(),
        })
    }

    pub(crate) async fn connect(&mut self, url: &str) -> Result<(), Gone> {
        let connecting = tokio_tungstenite::connect_async(url);
        let (socket, _) = connecting.await.map_err(|_| Gone)?;
        self.socket = Some(socket);
        Ok(())
    }

    pub(crate) fn disconnect(&mut self) {
        self.socket = None;
    }

    pub(crate) async fn send(&mut self, text: String) -> Result<(), Gone> {
        let socket = self.socket.as_mut().ok_or(Gone)?;
        socket.send(Message::text(text)).await.map_err(|_| Gone)
    }

    /// Takes in the next frame; an answer is given back.
    pub(crate) async fn hear(&mut self) -> Result<Option<Value>, Gone> {
        let socket = self.socket.as_mut().ok_or(Gone)?;
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    let mut frame: Value = serde_json::from_str(&text).unwrap_or_default();
                    if frame["method"] == "action" {
                        self.take(&frame["params"].take());
                        return Ok(None);
                    }
                    let is_answer = frame.get("method").is_none() && frame.get("id").is_some();
                    return Ok(is_answer.then_some(frame));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(Gone),
            }
        }
    }

    pub(crate) async fn request(
        &mut self,
        method: &str,
        params: Value,
    ) -> Result<Value, Unanswered> {
        self.last_request += 1;
        let id = self.last_request;
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(frame.to_string()).await?;
        let answer = async {
            loop {
                if let Some(mut frame) = self.hear().await?
                    && frame["id"] == id
                {
                    return match frame.get("error") {
                        Some(error) => Err(Unanswered::Refused(error.clone())),
                        None => Ok(frame["result"].take()),
                    };
                }
            }
        };
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                let version = self.words.0;
                self.shared.hold(Promise::Alive, false, || {
                    format!("{method} of a client of {version} was not answered")
                });
                Err(Unanswered::Gone)
            }
        }
    }

    pub(crate) async fn dispatch(
        &mut self,
        session: &str,
        (channel, action): (String, Value),
    ) -> Result<u64, Gone> {
        self.last_action += 1;
        let said = (self.id.clone(), self.last_action);
        self.shared.ledger.borrow_mut().said(session, said, &action);
        self.shared.count("actions dispatched");
        let mut params = json!({"clientSeq": self.last_action, "action": action});
        if !self.words.is_draft() {
            params["channel"] = channel.into();
        }
        let frame = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.send(frame.to_string()).await?;
        Ok(self.last_action)
    }

    fn take(&mut self, envelope: &Value) {
        self.shared.heard.set(self.shared.heard.get() + 1);
        let action = &envelope["action"];
        let channel = match self.words.is_draft() {
            true => action["session"].as_str(),
            false => envelope["channel"].as_str(),
        };
        let channel = channel.unwrap_or_default().to_owned();
        let session = self.channels.get(&channel).cloned();
        let is_rejected = envelope.get("rejectionReason").is_some();
        let own = envelope["origin"]["clientId"] == self.id.as_str();
        match (is_rejected, own) {
            (true, _) => self.shared.count("actions rejected"),
            (false, true) => self.shared.count("actions echoed"),
            (false, false) => {}
        }
        if let Some(session) = &session {
            let report = &mut self.shared.report.borrow_mut();
            let ledger = &mut self.shared.ledger.borrow_mut();
            ledger.heard(session, envelope, report);
        }
        if is_rejected {
            return;
        }
        let (seq, seen) = (envelope["serverSeq"].as_u64().unwrap_or(0), self.seen);
        let (id, version) = (&self.id, self.words.0);
        self.shared.hold(Promise::Sequence, seq >= seen, || {
            format!("{id} ({version}) was told {seq} after {seen}")
        });
        self.seen = seen.max(seq);
        let read = self.states.apply(&channel, action.clone());
        self.shared.hold(Promise::Readable, read.is_ok(), || {
            format!("{version}: {read:?}")
        });
        if let Some((fresh, of, from)) = &mut self.fresh
            && *of == channel
            && seq > *from
        {
            let _ = fresh.apply(&channel, action.clone());
        }
        if let Some(session) = session {
            self.follow(&session, action);
        }
    }

    /// Notes what could be done next.
    fn follow(&mut self, session: &str, action: &Value) {
        let kind = action["type"].as_str().unwrap_or_default();
        let turn = action["turnId"].as_str().unwrap_or_default().to_owned();
        match kind.rsplit('/').next().unwrap_or_default() {
            "turnStarted" => drop(self.running.insert(session.to_owned(), turn)),
            "turnComplete" | "turnCancelled" | "error" => drop(self.running.remove(session)),
            "toolCallReady" if action.get("confirmed").is_none() => {
                if let Some(call) = action["toolCallId"].as_str() {
                    self.waiting.push(WaitingCall {
                        session: session.to_owned(),
                        turn,
                        call: call.to_owned(),
                    });
                }
            }
            _ => {}
        }
    }

    fn load(&mut self, snapshot: &Value) {
        let channel = snapshot["resource"].as_str().unwrap_or_default();
        let state = snapshot["state"].clone();
        self.note_running(channel, &state);
        let (version, read) = (self.words.0, self.states.load(channel, state));
        self.shared.hold(Promise::Readable, read.is_ok(), || {
            format!("{version}, {channel}: {read:?}")
        });
        self.begins_at(snapshot);
    }

    fn note_running(&mut self, channel: &str, state: &Value) {
        if let Some(session) = self.channels.get(channel)
            && let Some(turn) = state["activeTurn"]["id"].as_str()
        {
            self.running.insert(session.clone(), turn.to_owned());
        }
    }

    fn begins_at(&mut self, snapshot: &Value) {
        let from = snapshot["fromSeq"].as_u64().unwrap_or(0);
        self.seen = self.seen.max(from);
    }

    /// Arrives for the first time.
    pub(crate) async fn initialize(&mut self) -> Result<(), Unanswered> {
        let params = self.words.initialize(&self.id);
        self.request("initialize", params).await?;
        self.shared.count(&format!("arrivals in {}", self.words.0));
        Ok(())
    }

    /// A channel as a newcomer gets it.
    pub(crate) async fn snapshot(&mut self, channel: &str) -> Result<Value, Unanswered> {
        let params = self.words.subscribe(channel);
        let mut answer = self.request("subscribe", params).await?;
        Ok(answer["snapshot"].take())
    }

    /// Listens to a session and its turns.
    pub(crate) async fn follow_session(&mut self, session: &str) -> Result<(), Unanswered> {
        for channel in [session.to_owned(), self.words.place(session)] {
            if self
                .channels
                .insert(channel.clone(), session.to_owned())
                .is_none()
            {
                let snapshot = self.snapshot(&channel).await?;
                self.load(&snapshot);
            }
        }
        Ok(())
    }

    /// Comes back to a host, maybe in its next life, and takes in what it
    /// missed.
    pub(crate) async fn come_back(&mut self) -> Result<(), Unanswered> {
        let channels: Vec<String> = self.channels.keys().cloned().collect();
        let params = self.words.reconnect(&self.id, self.seen, &channels);
        let back = self.request("reconnect", params).await?;
        self.running.clear();
        self.waiting.clear();
        self.shared.count(&format!("comebacks in {}", self.words.0));
        match back["type"].as_str() {
            Some("replay") => {
                self.shared.count("replays");
                for envelope in back["actions"].as_array().into_iter().flatten() {
                    self.take(envelope);
                }
            }
            _ => {
                self.shared.count("comebacks with snapshots");
                for snapshot in back["snapshots"].as_array().into_iter().flatten() {
                    self.load(snapshot);
                }
            }
        }
        Ok(())
    }

    /// Holds every state against what a newcomer is given.
    pub(crate) async fn compare(&mut self) -> Result<(), Unanswered> {
        let channels: Vec<String> = self.channels.keys().cloned().collect();
        for channel in channels {
            let snapshot = self.snapshot(&channel).await?;
            let Some(mut fresh) = mirror(self.words.0) else {
                continue;
            };
            let _ = fresh.load(&channel, snapshot["state"].clone());
            let from = snapshot["fromSeq"].as_u64().unwrap_or(0);
            self.fresh = Some((fresh, channel.clone(), from));
            self.begins_at(&snapshot);
            // What was on its way has arrived when this is answered.
            let (method, params) = self.words.list();
            self.request(method, params).await?;
            let Some((newcomer, ..)) = self.fresh.take() else {
                continue;
            };
            self.note_running(&channel, &snapshot["state"]);
            let plain = |state: Option<Value>| {
                let mut state = comparable(self.words.0, state.unwrap_or_default());
                // The catalogue of chats is told with a delay.
                if let Some(state) = state.as_object_mut() {
                    state.remove("chats");
                }
                state
            };
            let fresh = plain(newcomer.state(&channel));
            let held = plain(self.states.state(&channel));
            let (id, version) = (&self.id, self.words.0);
            self.shared.hold(Promise::Replays, fresh == held, || {
                format!("{id} ({version}), {}", difference(&channel, &fresh, &held))
            });
            if fresh != held {
                // One difference is told once.
                let _ = self
                    .states
                    .load(&channel, newcomer.state(&channel).unwrap_or_default());
            }
        }
        Ok(())
    }
}
