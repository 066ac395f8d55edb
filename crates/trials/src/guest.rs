//! A client of the host: the protocol's own client, and its own reducers.

use std::time::Duration;

use ahp::reducers::{apply_action_to_changeset, apply_action_to_chat};
use ahp::{Client, ClientConfig, SessionSubscription, SubscriptionEvent};
use ahp_types::actions::StateAction;
use ahp_types::state::{ChangesetFile, ChangesetStatus, ChatState, SnapshotState};
use ahp_ws::WebSocketTransport;
use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::{Value, json};

/// Real agents take their time, but not this much.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What the client calls itself, and the tool that it offers.
pub(crate) const NAME: &str = "trials";
pub(crate) const TOOL: &str = "weather";

const ROOT: &str = "ahp-root://";

pub(crate) struct Guest {
    client: Client,
}

/// A chat that is followed.
pub(crate) struct Chat {
    pub(crate) uri: String,
    pub(crate) state: ChatState,
    /// How many pieces of text have come.
    pub(crate) deltas: usize,
    subscription: SessionSubscription,
}

impl Guest {
    pub(crate) async fn arrive(url: &str) -> Result<Self> {
        Self::arrive_as(url, NAME, "1.0.0").await
    }

    /// Arrives as a client of this version: what it is answered is in it.
    pub(crate) async fn arrive_as(url: &str, name: &str, version: &str) -> Result<Self> {
        let transport = WebSocketTransport::connect(url).await?;
        let config = ClientConfig {
            subscription_buffer: 1 << 16,
            default_request_timeout: Some(PATIENCE),
        };
        let client = Client::connect(transport, config).await?;
        let versions = vec![version.to_owned()];
        client
            .initialize(name.to_owned(), versions, Vec::new())
            .await?;
        Ok(Self { client })
    }

    pub(crate) async fn request(&self, method: &str, params: Value) -> Result<Value> {
        let answer = self.client.request::<_, Value>(method, params);
        answer.await.with_context(|| method.to_owned())
    }

    /// Waits until the host knows that sessions of this agent have these
    /// settings: it learns that from the agent.
    pub(crate) async fn settings_known(&self, provider: &str, wanted: &Value) -> Result<()> {
        let (_, mut root) = self.client.subscribe(ROOT.to_owned()).await?;
        let names: Vec<&String> = wanted
            .as_object()
            .into_iter()
            .flatten()
            .map(|w| w.0)
            .collect();
        let known = async {
            loop {
                let params = json!({"channel": ROOT, "provider": provider});
                let answer = self.request("resolveSessionConfig", params).await?;
                let properties = &answer["schema"]["properties"];
                if names
                    .iter()
                    .all(|name| properties[name.as_str()].is_object())
                {
                    return Ok(());
                }
                if root.recv().await.is_none() {
                    bail!("the connection ended");
                }
            }
        };
        tokio::time::timeout(PATIENCE, known)
            .await
            .map_err(|_| anyhow!("{provider} has none of the settings {wanted}"))?
    }

    /// A new session in a directory; returns its default chat.
    pub(crate) async fn new_session(
        &self,
        session: &str,
        provider: &str,
        directory: &str,
        config: &Value,
    ) -> Result<Chat> {
        let params = json!({
            "channel": session, "provider": provider, "config": config,
            "workingDirectories": [format!("file://{directory}")],
        });
        self.request("createSession", params).await?;
        let (answer, mut subscription) = self.client.subscribe(session.to_owned()).await?;
        let answer = json!(answer);
        let mut lifecycle = answer["snapshot"]["state"]["lifecycle"].clone();
        let mut failure = Value::Null;
        while lifecycle == "creating" {
            let event = tokio::time::timeout(PATIENCE, subscription.recv()).await;
            let event = event.context("the session was not created in time")?;
            let event = event.context("the connection ended")?;
            if let SubscriptionEvent::Action(envelope) = event {
                let action = json!(envelope.action);
                match action["type"].as_str() {
                    Some("session/ready") => lifecycle = json!("ready"),
                    Some("session/creationFailed") => {
                        lifecycle = json!("failed");
                        failure = action["error"]["message"].clone();
                    }
                    _ => {}
                }
            }
        }
        if lifecycle != "ready" {
            bail!("the session could not be created: {failure}");
        }
        let chat = answer["snapshot"]["state"]["defaultChat"].as_str();
        self.chat(chat.context("a default chat")?).await
    }

    /// A further chat of a session: an empty one, or one from a source.
    pub(crate) async fn new_chat(
        &self,
        session: &str,
        chat: &str,
        source: Option<Value>,
    ) -> Result<Chat> {
        let mut params = json!({"channel": session, "chat": chat});
        if let Some(source) = source {
            params["source"] = source;
        }
        self.request("createChat", params).await?;
        self.chat(chat).await
    }

    pub(crate) async fn chat(&self, uri: &str) -> Result<Chat> {
        let (answer, subscription) = self.client.subscribe(uri.to_owned()).await?;
        let snapshot = answer.snapshot.context("a snapshot")?;
        let SnapshotState::Chat(state) = snapshot.state else {
            bail!("{uri} is not a chat");
        };
        Ok(Chat {
            uri: uri.to_owned(),
            state: *state,
            deltas: 0,
            subscription,
        })
    }

    /// What the changeset of a turn says about a file, as soon as it does.
    pub(crate) async fn changed(
        &self,
        chat: &Chat,
        turn: &str,
        file: &str,
    ) -> Result<ChangesetFile> {
        let offered = chat.state.changesets.iter().flatten();
        let mut offered = offered.into_iter();
        let entry = offered.find(|entry| entry.change_kind == "turn");
        let template = &entry
            .context("the chat offers no changes of turns")?
            .uri_template;
        let channel = template.replace("{turnId}", turn);
        let (answer, mut subscription) = self.client.subscribe(channel.clone()).await?;
        let snapshot = answer.snapshot.context("a snapshot")?;
        let SnapshotState::Changeset(mut state) = snapshot.state else {
            bail!("{channel} is not a changeset");
        };
        loop {
            let told = state.files.iter().find(|told| told.id == file);
            if let (Some(told), ChangesetStatus::Ready) = (told, &state.status) {
                return Ok(told.clone());
            }
            let event = tokio::time::timeout(PATIENCE, subscription.recv()).await;
            let event = event.with_context(|| format!("the turn changed {}", json!(state)))?;
            if let SubscriptionEvent::Action(envelope) = event.context("the connection ended")? {
                apply_action_to_changeset(&mut state, &envelope.action);
            }
        }
    }

    /// Lets a session work in one more directory.
    pub(crate) async fn add_directory(&self, session: &str, directory: &str) -> Result<()> {
        let (_, mut subscription) = self.client.subscribe(session.to_owned()).await?;
        let action = json!({"type": "session/workingDirectorySet", "directory": directory});
        self.act(session, action).await?;
        loop {
            let event = tokio::time::timeout(PATIENCE, subscription.recv()).await;
            let event = event.context("nobody answers")?;
            let SubscriptionEvent::Action(told) = event.context("the connection ended")? else {
                continue;
            };
            if matches!(told.action, StateAction::SessionWorkingDirectorySet(_)) {
                return match &told.rejection_reason {
                    Some(why) => bail!("{why}"),
                    None => Ok(()),
                };
            }
        }
    }

    pub(crate) async fn act(&self, channel: &str, action: Value) -> Result<()> {
        let action: StateAction = serde_json::from_value(action)?;
        self.client.dispatch(channel.to_owned(), action).await?;
        Ok(())
    }

    /// Starts a turn in which the model plays these steps.
    pub(crate) async fn play(&self, chat: &str, turn: &str, steps: Value) -> Result<()> {
        let text = format!("Please play this: {}", json!({"steps": steps}));
        self.say(
            chat,
            turn,
            json!({"text": text, "origin": {"kind": "user"}}),
        )
        .await
    }

    /// Comments on the second line of a file; says where the comment is.
    pub(crate) async fn comment(&self, session: &str, file: &str, text: &str) -> Result<String> {
        let channel = format!("{session}/annotations");
        let annotation = json!({
            "id": "n", "origin": {"session": session}, "resource": file, "resolved": false,
            "range": {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 4}},
            "entries": [{"id": "e", "text": text}],
        });
        let action = json!({"type": "annotations/set", "annotation": annotation});
        self.act(&channel, action).await?;
        Ok(channel)
    }

    /// Starts a turn about all comments that are open.
    pub(crate) async fn send_comments(&self, chat: &str, turn: &str, of: &str) -> Result<()> {
        let attachment = json!({"type": "annotations", "label": "1 comment", "resource": of});
        let text = "Please address these comments.";
        let message = json!({
            "text": text, "origin": {"kind": "user"}, "attachments": [attachment],
        });
        self.say(chat, turn, message).await
    }

    async fn say(&self, chat: &str, turn: &str, message: Value) -> Result<()> {
        let action = json!({
            "type": "chat/turnStarted", "turnId": turn, "message": message,
            "startedAt": "2026-01-01T00:00:00.000Z",
        });
        self.act(chat, action).await
    }

    /// Offers a tool to a session.
    pub(crate) async fn offer_tool(&self, session: &str) -> Result<()> {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
        let tool = json!({
            "name": TOOL, "description": "Says how the weather is.", "inputSchema": schema,
        });
        let client = json!({"clientId": NAME, "displayName": "Trials", "tools": [tool]});
        let action = json!({"type": "session/activeClientSet", "activeClient": client});
        self.act(session, action).await
    }

    /// Runs a tool of this client.
    pub(crate) async fn run_tool(&self, chat: &str, call: &Value) -> Result<()> {
        let result = json!({
            "success": true, "pastTenseMessage": "Looked at the sky",
            "content": [{"type": "text", "text": "fog"}],
        });
        let action = json!({
            "type": "chat/toolCallComplete", "turnId": call["turnId"],
            "toolCallId": call["toolCallId"], "result": result,
        });
        self.act(chat, action).await
    }

    pub(crate) async fn cancel(&self, chat: &str, turn: &str) -> Result<()> {
        let action = json!({"type": "chat/turnCancelled", "turnId": turn, "duration": 0});
        self.act(chat, action).await
    }

    pub(crate) async fn confirm(&self, chat: &str, call: &Value, approved: bool) -> Result<()> {
        let mut action = json!({
            "type": "chat/toolCallConfirmed", "turnId": call["turnId"],
            "toolCallId": call["toolCallId"], "approved": approved,
        });
        match approved {
            true => action["confirmed"] = json!("user-action"),
            false => action["reason"] = json!("denied"),
        }
        self.act(chat, action).await
    }
}

impl Chat {
    /// Waits for the next action and folds it.
    pub(crate) async fn next(&mut self) -> Result<()> {
        let event = tokio::time::timeout(PATIENCE, self.subscription.recv()).await;
        let event = event.with_context(|| format!("nothing happened; {}", self.shown()))?;
        let event = event.context("the connection ended")?;
        if let SubscriptionEvent::Action(envelope) = event {
            if let Some(reason) = envelope.rejection_reason {
                bail!("the host rejected an action: {reason}");
            }
            self.deltas += usize::from(matches!(envelope.action, StateAction::ChatDelta(_)));
            apply_action_to_chat(&mut self.state, &envelope.action);
        }
        Ok(())
    }

    /// A turn that has ended.
    pub(crate) fn ended(&self, turn: &str) -> Option<Value> {
        let turn = self.state.turns.iter().find(|ended| ended.id == turn)?;
        Some(json!(turn))
    }

    /// The tool calls of the turn that runs.
    pub(crate) fn calls(&self) -> Vec<Value> {
        let turn = json!(self.state.active_turn);
        calls_of(&turn)
    }

    /// What there is to see, for a message about something unexpected.
    fn shown(&self) -> String {
        match &self.state.active_turn {
            Some(turn) => format!("the turn shows {}", json!(turn.response_parts)),
            None => "no turn runs".to_owned(),
        }
    }
}

/// The tool calls of a turn, each with the turn's id.
pub(crate) fn calls_of(turn: &Value) -> Vec<Value> {
    let parts = turn["responseParts"].as_array().into_iter().flatten();
    let calls = parts.filter(|part| part["kind"] == "toolCall").map(|part| {
        let mut call = part["toolCall"].clone();
        call["turnId"] = turn["id"].clone();
        call
    });
    // A plan is shown as a call, but nobody called anything.
    calls.filter(|call| call["toolName"] != "plan").collect()
}

/// All text of a turn.
pub(crate) fn text_of(turn: &Value) -> String {
    let parts = turn["responseParts"].as_array().into_iter().flatten();
    let texts = parts.filter(|part| part["kind"] == "markdown");
    texts.filter_map(|part| part["content"].as_str()).collect()
}
