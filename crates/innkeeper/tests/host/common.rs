//! An inn for tests: a host with the script agent in a directory of its own,
//! a server on a free port, and guests that use the protocol's own client and
//! fold what they are sent with the protocol's own reducers.

use std::future::Future;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ahp::reducers::{
    apply_action_to_annotations, apply_action_to_automation, apply_action_to_automation_run,
    apply_action_to_changeset, apply_action_to_chat, apply_action_to_root, apply_action_to_session,
    apply_action_to_terminal,
};
use ahp::{Client, ClientConfig, SubscriptionEvent};
use ahp_ws::WebSocketTransport;
use innkeeper::server::access::{AccessPolicy, ConnectionToken};
use innkeeper::server::{NewcomerLimits, Server, ServerOptions, TlsFiles};
use innkeeper::{DeliveryOptions, Host, HostOptions, TelemetryOptions, WorkspaceOptions};
use innkeeper_agents::ScriptAgent;
use innkeeper_engine::Limits;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{
    ActionEnvelope, ChatTurnCancelledAction, ChatTurnStartedAction, StateAction,
};
use innkeeper_protocol::newest::commands::{InitializeResult, SubscribeView};
use innkeeper_protocol::newest::state::{
    AnnotationsState, AutomationRunState, AutomationState, ChangesetState, ChatState, Message,
    MessageKind, MessageOrigin, ResourceWatchState, ResponsePart, RootState, SessionLifecycle,
    SessionState, Snapshot, SnapshotState, TerminalState, TurnState,
};
use innkeeper_store::{SqliteStore, StoreOptions};
use serde_json::{Value, json};
use tempfile::TempDir;

pub mod binary;
pub mod git;
pub mod raw;

pub const ROOT: &str = "ahp-root://";
pub const TOKEN: &str = "test-token";

/// Nothing in these tests takes this long; what does is stuck.
const STUCK: Duration = Duration::from_secs(60);

pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(STUCK, future).await {
        Ok(value) => value,
        Err(_) => panic!("stuck: {what}"),
    }
}

pub struct Inn {
    pub host: Host,
    pub url: String,
    server: Option<Server>,
    directory: Arc<TempDir>,
}

#[derive(Clone, Default)]
pub struct InnOptions {
    pub limits: Limits,
    pub delivery: DeliveryOptions,
    pub message_bytes: Option<usize>,
    /// What the script agent needs a token for.
    pub protected: Option<String>,
    pub workspace: WorkspaceOptions,
    pub telemetry: TelemetryOptions,
    pub connections: Option<usize>,
    pub tls: Option<TlsFiles>,
    /// The store takes no values of more bytes than this.
    pub value_bytes: Option<i32>,
    pub newcomers: NewcomerLimits,
}

impl Inn {
    pub async fn open() -> Self {
        Self::open_with(InnOptions::default()).await
    }

    pub async fn open_with(options: InnOptions) -> Self {
        Self::open_in(Arc::new(tempfile::tempdir().unwrap()), options).await
    }

    async fn open_in(directory: Arc<TempDir>, options: InnOptions) -> Self {
        let host_options = HostOptions {
            data_dir: Some(directory.path().to_owned()),
            limits: options.limits,
            delivery: options.delivery,
            default_directory: Some("file:///tmp".to_owned()),
            workspace: options.workspace,
            telemetry: options.telemetry,
            ..HostOptions::default()
        };
        let agent = match options.protected {
            None => ScriptAgent::default(),
            Some(resource) => ScriptAgent::that_needs_a_token_for(resource),
        };
        let store = SqliteStore::open(directory.path(), StoreOptions::default()).unwrap();
        if let Some(bytes) = options.value_bytes {
            store.refuse_values_beyond(bytes).unwrap();
        }
        let host = Host::start(host_options, vec![Arc::new(agent)], store)
            .await
            .unwrap();
        let access = AccessPolicy {
            token: ConnectionToken::new(TOKEN),
            devices: Vec::new(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
        };
        let server_options = ServerOptions {
            listen: Some("127.0.0.1:0".parse().unwrap()),
            control: None,
            socket: None,
            tls: options.tls,
            connections: options.connections.unwrap_or(1_000),
            web: true,
            message_bytes: options.message_bytes.unwrap_or(1 << 20),
            compression: true,
            ping_after: Duration::from_secs(30),
            newcomers: options.newcomers,
        };
        let server = Server::start(host.clone(), access, server_options)
            .await
            .unwrap();
        let url = format!("{}?tkn={TOKEN}", server.urls().unwrap().0);
        Self {
            host,
            url,
            server: Some(server),
            directory,
        }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Shuts the host down and opens it again on the same directory.
    pub async fn reopen(self, options: InnOptions) -> Self {
        self.reopen_after(options, |_| {}).await
    }

    /// Likewise, with a look at the directory while nobody uses it.
    pub async fn reopen_after(self, options: InnOptions, look: impl FnOnce(&Path)) -> Self {
        let directory = Arc::clone(&self.directory);
        self.close().await;
        look(directory.path());
        Self::open_in(directory, options).await
    }

    pub async fn close(mut self) {
        self.host.shutdown().await.unwrap();
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    /// A guest that has introduced itself.
    pub async fn guest(&self, name: &str) -> Guest {
        let guest = Guest::arrive(&self.url, name).await;
        guest.initialize(&[]).await;
        guest
    }
}

/// A client of the protocol's own making.
pub struct Guest {
    pub client: Client,
    pub name: String,
}

impl Guest {
    pub async fn arrive(url: &str, name: &str) -> Self {
        // A test that falls behind must not lose what it was sent.
        Self::arrive_with_room(url, name, 1 << 18).await
    }

    /// With room for so many messages in each subscription: the client takes
    /// the memory for all of it at once.
    pub async fn arrive_with_room(url: &str, name: &str, room: usize) -> Self {
        let transport = WebSocketTransport::connect(url).await.unwrap();
        let config = ClientConfig {
            subscription_buffer: room,
            ..ClientConfig::default()
        };
        let client = Client::connect(transport, config).await.unwrap();
        let name = name.to_owned();
        Self { client, name }
    }

    pub async fn initialize(&self, subscriptions: &[&str]) -> InitializeResult {
        let versions = vec!["1.0.0".to_owned()];
        let subscriptions = subscriptions.iter().map(|&uri| uri.to_owned()).collect();
        self.client
            .initialize(self.name.clone(), versions, subscriptions)
            .await
            .unwrap()
    }

    pub async fn request(&self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        match self.client.request::<_, Value>(method, params).await {
            Ok(value) => Ok(value),
            Err(ahp::ClientError::Rpc(error)) => Err((error.code, error.message)),
            Err(error) => panic!("{method}: {error}"),
        }
    }

    /// Creates a session with the script agent and waits until it is ready.
    pub async fn new_session(&self) -> String {
        static COUNTER: AtomicU64 = AtomicU64::new(1);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let session = format!("ahp-session:/{}-{number}", self.name);
        let params = json!({"channel": session, "provider": "script"});
        self.request("createSession", params).await.unwrap();
        let mut watch = self.watch_session(&session).await;
        watch
            .until("ready", |state| state.lifecycle == SessionLifecycle::Ready)
            .await;
        session
    }

    pub async fn watch_root(&self) -> Watch<RootState> {
        self.watch(ROOT, None).await
    }

    pub async fn watch_session(&self, session: &str) -> Watch<SessionState> {
        self.watch(session, None).await
    }

    pub async fn watch_chat(&self, chat: &str) -> Watch<ChatState> {
        self.watch(chat, None).await
    }

    pub async fn watch<S: Folded>(&self, channel: &str, turns: Option<i64>) -> Watch<S> {
        let view = turns.map(|turns| SubscribeView { turns: Some(turns) });
        let (result, subscription) = self
            .client
            .subscribe_with_options(channel.to_owned(), None, view)
            .await
            .unwrap();
        let snapshot = result.snapshot.expect("a state-bearing channel");
        Watch::new(snapshot, subscription)
    }

    /// The state of a channel as a newcomer gets it.
    pub async fn snapshot<S: Folded>(&self, channel: &str) -> S {
        let params = json!({"channel": channel});
        let result = self.request("subscribe", params).await.unwrap();
        let snapshot: Snapshot = serde_json::from_value(result["snapshot"].clone()).unwrap();
        S::from_snapshot(snapshot.state)
    }

    pub async fn dispatch(&self, channel: &str, action: StateAction) -> i64 {
        self.client
            .dispatch(channel.to_owned(), action)
            .await
            .unwrap()
            .client_seq
    }

    pub async fn say(&self, chat: &str, turn: &str, text: &str) {
        self.dispatch(chat, turn_started(turn, text)).await;
    }

    pub async fn cancel(&self, chat: &str, turn: &str) {
        let action = ChatTurnCancelledAction {
            turn_id: turn.to_owned(),
            duration: 0,
            meta: None,
        };
        self.dispatch(chat, StateAction::ChatTurnCancelled(action))
            .await;
    }
}

pub fn turn_started(turn: &str, text: &str) -> StateAction {
    StateAction::ChatTurnStarted(ChatTurnStartedAction {
        turn_id: turn.to_owned(),
        started_at: "2026-01-01T00:00:00.000Z".to_owned(),
        message: message(text),
        queued_message_id: None,
        meta: None,
    })
}

pub fn message(text: &str) -> Message {
    Message {
        text: text.to_owned(),
        origin: MessageOrigin {
            kind: MessageKind::User,
        },
        attachments: None,
        model: None,
        agent: None,
        meta: None,
    }
}

pub fn script(steps: Value) -> String {
    json!({"steps": steps}).to_string()
}

pub fn default_chat(session: &str) -> String {
    ChannelUri::default_chat_of(session).to_string()
}

/// A state that can be followed.
pub trait Folded: Clone + PartialEq + std::fmt::Debug {
    fn from_snapshot(state: SnapshotState) -> Self;
    fn apply(&mut self, action: &StateAction);
}

impl Folded for ChatState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Chat(chat) => *chat,
            other => panic!("not a chat: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_chat(self, action);
    }
}

impl Folded for SessionState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Session(session) => *session,
            other => panic!("not a session: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_session(self, action);
    }
}

impl Folded for RootState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Root(root) => *root,
            other => panic!("not the root: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_root(self, action);
    }
}

impl Folded for TerminalState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Terminal(terminal) => *terminal,
            other => panic!("not a terminal: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_terminal(self, action);
    }
}

impl Folded for ChangesetState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Changeset(changeset) => *changeset,
            other => panic!("not a changeset: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_changeset(self, action);
    }
}

impl Folded for AnnotationsState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Annotations(annotations) => *annotations,
            other => panic!("not annotations: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_annotations(self, action);
    }
}

impl Folded for AutomationState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::Automations(automations) => *automations,
            other => panic!("not automations: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_automation(self, action);
    }
}

impl Folded for AutomationRunState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::AutomationRun(run) => *run,
            other => panic!("not a run: {other:?}"),
        }
    }

    fn apply(&mut self, action: &StateAction) {
        apply_action_to_automation_run(self, action);
    }
}

impl Folded for ResourceWatchState {
    fn from_snapshot(state: SnapshotState) -> Self {
        match state {
            SnapshotState::ResourceWatch(watch) => *watch,
            other => panic!("not a watch: {other:?}"),
        }
    }

    fn apply(&mut self, _: &StateAction) {}
}

/// A channel that is followed: its state, kept up by folding.
pub struct Watch<S> {
    pub state: S,
    pub seq: u64,
    /// Where the snapshot was taken.
    from_seq: u64,
    /// What came, rejections included.
    pub envelopes: Vec<ActionEnvelope>,
    subscription: ahp::SessionSubscription,
}

impl<S: Folded> Watch<S> {
    pub fn new(snapshot: Snapshot, subscription: ahp::SessionSubscription) -> Self {
        let from_seq = u64::try_from(snapshot.from_seq).unwrap();
        Self {
            seq: from_seq,
            from_seq,
            state: S::from_snapshot(snapshot.state),
            envelopes: Vec::new(),
            subscription,
        }
    }

    /// Waits for the next action and folds it.
    pub async fn next(&mut self) -> ActionEnvelope {
        self.next_or_end().await.expect("the connection is alive")
    }

    /// Waits for the next action and folds it; `None` if the connection ended.
    pub async fn next_or_end(&mut self) -> Option<ActionEnvelope> {
        loop {
            let event = in_time("the next action", self.subscription.recv()).await?;
            if let SubscriptionEvent::Action(envelope) = event {
                self.fold(&envelope);
                return Some(envelope);
            }
        }
    }

    pub fn fold(&mut self, envelope: &ActionEnvelope) {
        if envelope.rejection_reason.is_none() {
            // Somebody who subscribes once more may still be on the way to
            // hear what the new snapshot has already.
            if envelope.server_seq <= self.from_seq {
                return;
            }
            assert!(envelope.server_seq > self.seq, "serverSeq only grows");
            self.seq = envelope.server_seq;
            self.state.apply(&envelope.action);
        }
        self.envelopes.push(envelope.clone());
    }

    /// Waits until the state is as wanted.
    pub async fn until(&mut self, what: &str, done: impl Fn(&S) -> bool) {
        let folding = async {
            while !done(&self.state) {
                self.next().await;
            }
        };
        in_time(what, folding).await;
    }

    /// Waits for the rejection of the action with this number.
    pub async fn rejection(&mut self, client_seq: i64) -> String {
        loop {
            let envelope = self.next().await;
            let origin = envelope.origin.as_ref().map(|origin| origin.client_seq);
            if origin == Some(client_seq) {
                return envelope.rejection_reason.expect("it was rejected");
            }
        }
    }
}

impl Watch<ChatState> {
    /// Waits until a turn has ended, and returns how.
    pub async fn turn_end(&mut self, turn: &str) -> TurnState {
        let ended = |state: &ChatState| state.turns.iter().any(|t| t.id == turn);
        self.until("the end of a turn", ended).await;
        let turn = self.state.turns.iter().find(|t| t.id == turn).unwrap();
        turn.state
    }

    /// All markdown of a finished turn.
    pub fn text_of(&self, turn: &str) -> String {
        let turn = self
            .state
            .turns
            .iter()
            .find(|t| t.id == turn)
            .expect("a finished turn");
        markdown(&turn.response_parts)
    }
}

pub fn markdown(parts: &[ResponsePart]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            ResponsePart::Markdown(part) => Some(part.content.as_str()),
            _ => None,
        })
        .collect()
}
