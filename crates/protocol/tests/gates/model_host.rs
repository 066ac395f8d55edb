//! A host in small: random but valid runs of actions on every kind of channel,
//! reduced by the newest version's own reducers, with the facts that a host
//! attaches to them.

use std::collections::BTreeMap;

use ahp::reducers;
use ahp_types::actions::StateAction;
use ahp_types::state::{
    AnnotationsState, AutomationRunState, AutomationState, CanvasState, Changeset, ChangesetState,
    ChatState, ResourceWatchState, RootState, SessionState, TerminalState,
};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::gates::SnapshotForGates;
use innkeeper_protocol::gates::following::follow;
use innkeeper_protocol::record::{ExtraFacts, GateFacts};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::words::Dice;

pub(crate) const SESSION: &str = "ahp-session:/1";
pub(crate) const ROOT: &str = "ahp-root://";
pub(crate) const TERMINAL: &str = "ahp-terminal:/1";
pub(crate) const CHANGESET: &str = "ahp-changeset:/1";
pub(crate) const ANNOTATIONS: &str = "ahp-session:/1/annotations";
pub(crate) const WATCH: &str = "ahp-resource-watch:/1";
pub(crate) const CANVAS: &str = "ahp-canvas:/1";
pub(crate) const AUTOMATIONS: &str = "ahp-automations://";
pub(crate) const RUN: &str = "ahp-automation-run:/1";
/// A chat beside the default one.
pub(crate) const SIDE: &str = "ahp-chat:/side";

pub(crate) fn default_chat() -> String {
    ChannelUri::default_chat_of(SESSION).as_str().to_owned()
}

/// What the host published.
#[derive(Debug, Clone)]
pub(crate) struct Event {
    pub(crate) channel: String,
    pub(crate) action: Value,
    pub(crate) facts: GateFacts,
}

pub(crate) struct Chat {
    pub(crate) state: ChatState,
    /// Which model and agent are selected, also when the draft is gone.
    pub(crate) selection: serde_json::Map<String, Value>,
}

pub(crate) struct ModelHost {
    pub(crate) dice: Dice,
    pub(crate) root: RootState,
    pub(crate) session: SessionState,
    pub(crate) chats: BTreeMap<String, Chat>,
    pub(crate) terminal: TerminalState,
    pub(crate) changeset: ChangesetState,
    pub(crate) annotations: AnnotationsState,
    pub(crate) watch: ResourceWatchState,
    pub(crate) canvas: CanvasState,
    pub(crate) automations: AutomationState,
    pub(crate) run: AutomationRunState,
    pub(crate) events: Vec<Event>,
    /// For ids that never repeat.
    pub(crate) count: u64,
}

fn typed<T: DeserializeOwned>(value: Value) -> T {
    let told = value.to_string();
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{error}: {told}"))
}

fn chat(resource: &str) -> Chat {
    Chat {
        state: typed(json!({
            "resource": resource, "title": "Chat", "status": 1, "turns": [],
            "modifiedAt": "2026-01-01T00:00:00.000Z",
            "workingDirectories": ["file:///w"], "interactivity": "full",
        })),
        selection: serde_json::Map::new(),
    }
}

impl ModelHost {
    pub(crate) fn new(seed: u64) -> Self {
        let claim = json!({"kind": "client", "clientId": "c1"});
        let schema = json!({"type": "object", "properties": {"mode": {
            "type": "string", "title": "Mode", "enum": ["a", "b"],
            "minItems": 1, "additionalProperties": {"type": "string", "title": "x"},
        }}});
        Self {
            dice: Dice::new(seed),
            root: typed(json!({
                "agents": [], "config": {"schema": schema, "values": {"mode": "a"}},
                "_meta": {"a": 1},
            })),
            session: typed(json!({
                "provider": "script", "title": "A session", "status": 1, "lifecycle": "creating",
                "activeClients": [], "workingDirectories": ["file:///w"],
                "chats": [crate::words::chat_summary(&default_chat(), "Chat")],
                "defaultChat": default_chat(),
                "config": {"schema": schema, "values": {"mode": "b"}},
            })),
            chats: [default_chat(), SIDE.to_owned()]
                .into_iter()
                .map(|uri| (uri.clone(), chat(&uri)))
                .collect(),
            terminal: typed(json!({
                "title": "bash", "content": [], "claim": claim, "isPty": true,
                "lifecycle": {"status": "running"},
            })),
            changeset: typed(json!({"status": "computing", "files": []})),
            annotations: typed(json!({"annotations": []})),
            watch: typed(json!({"root": "file:///w", "recursive": true})),
            canvas: typed(json!({"instanceId": "i", "extensionId": "e", "canvasId": "c"})),
            automations: typed(json!({"entries": []})),
            run: typed(json!({
                "resource": RUN, "automation": "a:/1", "origin": {"kind": "manual"},
                "lifecycle": {"status": "pending", "createdAt": "2026-01-01T00:00:00.000Z"},
                "sessions": [],
            })),
            events: Vec::new(),
            count: 0,
        }
    }

    pub(crate) fn fresh(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}{}", self.count)
    }

    /// The row of the session in the catalogue.
    pub(crate) fn summary(&self) -> Value {
        json!({
            "resource": SESSION, "provider": self.session.provider, "title": self.session.title,
            "status": self.session.status, "createdAt": "2026-01-01T00:00:00.000Z",
            "modifiedAt": "2026-01-02T00:00:00.000Z", "workingDirectories": ["file:///w"],
            "defaultChat": default_chat(), "changes": {"files": 1}, "_meta": {"x": 1},
        })
    }

    /// What the host knows of a channel when somebody subscribes to it.
    pub(crate) fn snapshot(&self, channel: &str) -> SnapshotForGates {
        let value = |it: Result<Value, serde_json::Error>| it.unwrap();
        let object = |it: Value| it.as_object().cloned().map(Into::into);
        let state = match channel {
            ROOT => value(serde_json::to_value(&self.root)),
            SESSION => value(serde_json::to_value(&self.session)),
            TERMINAL => value(serde_json::to_value(&self.terminal)),
            CHANGESET => value(serde_json::to_value(&self.changeset)),
            ANNOTATIONS => value(serde_json::to_value(&self.annotations)),
            WATCH => value(serde_json::to_value(&self.watch)),
            CANVAS => value(serde_json::to_value(&self.canvas)),
            AUTOMATIONS => value(serde_json::to_value(&self.automations)),
            RUN => value(serde_json::to_value(&self.run)),
            chat => value(serde_json::to_value(&self.chats[chat].state)),
        };
        let mut snapshot = SnapshotForGates::new(channel, state);
        snapshot.summary = object(self.summary());
        if channel == SESSION {
            let chat = &self.chats[&default_chat()];
            snapshot.chat = object(value(serde_json::to_value(&chat.state)));
            snapshot.selection = chat.selection.clone().into();
            snapshot
                .selection
                .insert("diffs".into(), Value::from(self.diffs()).into());
        } else if let Some(chat) = self.chats.get(channel) {
            snapshot.session = object(value(serde_json::to_value(&self.session)));
            snapshot.selection = chat.selection.clone().into();
        }
        snapshot
    }

    /// What every action on a channel is published with.
    pub(crate) fn facts_of(&self, channel: &str) -> GateFacts {
        match self.chats.contains_key(channel) {
            true => GateFacts {
                session: Some(SESSION.into()),
                is_default_chat: channel == default_chat(),
                extra: None,
            },
            false => GateFacts::default(),
        }
    }

    /// Publishes an action, if it is one that every version can follow.
    pub(crate) fn emit(&mut self, channel: &str, action: Value) {
        let told = action.to_string();
        let mut action: StateAction = typed(action);
        assert!(
            !matches!(action, StateAction::Unknown(_)),
            "no action of the newest version: {told}"
        );
        let mut extra = ExtraFacts::default();
        let facts = if self.chats.contains_key(channel) {
            if !self.in_chat(channel, &mut action, &mut extra) {
                return;
            }
            self.facts_of(channel)
        } else {
            if !self.elsewhere(channel, &action, &mut extra) {
                return;
            }
            GateFacts::default()
        };
        let is_news = matches!(
            action,
            StateAction::ChatTurnStarted(_)
                | StateAction::ChatInputRequested(_)
                | StateAction::ChatTurnResume(_)
        );
        self.events.push(Event {
            channel: channel.to_owned(),
            action: serde_json::to_value(&action).unwrap(),
            facts: GateFacts {
                extra: (extra != ExtraFacts::default()).then(|| Box::new(extra)),
                ..facts
            },
        });
        // The host marks a session as unread when something begins in it.
        if is_news && channel == default_chat() && self.session.status & 32 != 0 {
            self.emit(
                SESSION,
                json!({"type": "session/isReadChanged", "isRead": false}),
            );
        }
    }

    fn in_chat(&mut self, uri: &str, action: &mut StateAction, extra: &mut ExtraFacts) -> bool {
        let chat = self.chats.get_mut(uri).unwrap();
        if !follow(action, chat.state.active_turn.as_ref()) {
            return false;
        }
        let turns = chat.state.turns.len();
        let outcome = reducers::apply_action_to_chat(&mut chat.state, action);
        // What the reducer has no use for leaves no trace.
        if outcome != reducers::ReduceOutcome::Applied {
            return false;
        }
        let message = match &*action {
            StateAction::ChatDraftChanged(a) => a.draft.as_ref(),
            StateAction::ChatTurnStarted(a) => Some(&a.message),
            StateAction::ChatTurnResume(_) => {
                let turn = chat.state.active_turn.as_ref();
                extra.resumed = turn.map(|turn| serde_json::to_value(turn).unwrap());
                extra.turn_before = turns
                    .checked_sub(2)
                    .and_then(|at| chat.state.turns.get(at))
                    .map(|turn| turn.id.clone());
                None
            }
            _ => None,
        };
        if let Some(message) = message {
            let now = |key: &str| chat.selection.get(key).cloned();
            let model = message
                .model
                .as_ref()
                .map(|it| serde_json::to_value(it).unwrap());
            if model.is_some() && model != now("model") {
                extra.model.clone_from(&model);
                chat.selection
                    .extend(model.map(|it| ("model".to_owned(), it)));
            }
            let agent = serde_json::to_value(&message.agent).unwrap();
            let now = chat.selection.get("agent").cloned().unwrap_or_default();
            if agent != now {
                extra.agent = Some(agent.clone());
                chat.selection.insert("agent".into(), agent);
            }
        }
        true
    }

    /// What has changed in the session, where there are no changesets: a file
    /// for each.
    fn diffs(&self) -> Vec<Value> {
        let changesets = self.session.changesets.iter().flatten();
        let edit = |(index, changeset): (usize, &Changeset)| {
            let content = json!({"uri": "x:content", "contentType": "text/plain", "nonce": "n"});
            let after = json!({"uri": format!("file:///{}", changeset.label), "content": content});
            json!({"after": after, "diff": {"added": index, "removed": 0}})
        };
        changesets.enumerate().map(edit).collect()
    }

    /// What the session and its default chat do.
    fn status(&self) -> u32 {
        let activity = self.chats[&default_chat()].state.status & 31;
        self.session.status & !31 | activity
    }

    fn elsewhere(&mut self, channel: &str, action: &StateAction, extra: &mut ExtraFacts) -> bool {
        let first = |session: &SessionState| {
            let first = session.active_clients.first();
            first.map(|it| serde_json::to_value(it).unwrap())
        };
        match channel {
            ROOT => {
                reducers::apply_action_to_root(&mut self.root, action);
            }
            SESSION => {
                let before = (
                    first(&self.session),
                    self.session.working_directories.clone(),
                );
                let outcome = reducers::apply_action_to_session(&mut self.session, action);
                self.note_session(action, before, extra);
                return outcome == reducers::ReduceOutcome::Applied;
            }
            TERMINAL => {
                reducers::apply_action_to_terminal(&mut self.terminal, action);
            }
            CHANGESET => {
                reducers::apply_action_to_changeset(&mut self.changeset, action);
                if matches!(action, StateAction::ChangesetContentChanged(_)) {
                    let error = self.changeset.error.as_ref();
                    extra.error = error.map(|it| serde_json::to_value(it).unwrap());
                }
            }
            ANNOTATIONS => {
                reducers::apply_action_to_annotations(&mut self.annotations, action);
            }
            WATCH => {
                reducers::apply_action_to_resource_watch(&mut self.watch, action);
            }
            CANVAS => {
                reducers::apply_action_to_canvas(&mut self.canvas, action);
            }
            AUTOMATIONS => {
                reducers::apply_action_to_automation(&mut self.automations, action);
            }
            _ => {
                reducers::apply_action_to_automation_run(&mut self.run, action);
            }
        }
        true
    }

    fn note_session(
        &self,
        action: &StateAction,
        before: (Option<Value>, Option<Vec<String>>),
        extra: &mut ExtraFacts,
    ) {
        let session = &self.session;
        match action {
            StateAction::SessionActiveClientSet(_) | StateAction::SessionActiveClientRemoved(_) => {
                extra.client_before = before.0;
                let first = session.active_clients.first();
                extra.client_after = first.map(|it| serde_json::to_value(it).unwrap());
            }
            StateAction::SessionCustomizationToggled(_)
            | StateAction::SessionCustomizationUpdated(_)
            | StateAction::SessionCustomizationRemoved(_) => {
                let all = session.customizations.iter().flatten();
                extra.customizations =
                    Some(all.map(|it| serde_json::to_value(it).unwrap()).collect());
            }
            StateAction::SessionChangesetsChanged(_) => extra.diffs = Some(self.diffs()),
            StateAction::SessionReady(_) => extra.status = Some(self.status()),
            StateAction::SessionChatsReordered(_) => {
                let all = session.chats.iter();
                extra.chats = Some(all.map(|it| serde_json::to_value(it).unwrap()).collect());
                extra.default_chat.clone_from(&session.default_chat);
            }
            StateAction::SessionWorkingDirectoryReplaced(_) => {
                extra.directories_before = before.1;
                extra
                    .directories_after
                    .clone_from(&session.working_directories);
            }
            _ => {}
        }
    }
}
