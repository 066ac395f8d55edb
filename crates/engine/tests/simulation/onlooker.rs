//! Clients of every protocol version beside the others: each says everything
//! in its own version's words, and keeps what it is told with its own
//! version's types and reducers. Whenever one subscribes again to what it
//! follows, it must be given what it holds: that is the law of the gates, for
//! what the engine really does.

use std::collections::{BTreeMap, BTreeSet};

use innkeeper_judges::{Conformity, Coverage, Mirror, comparable, difference, mirror, name_of};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::annotations;
use crate::changes;
/// The scheme of watches.
const WATCH: &str = "ahp-resource-watch:";

/// What an answer is to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Asked {
    Initialize,
    Reconnect,
    Subscribe(String),
    Unsubscribe(String),
    /// A second subscription to what is followed already.
    Check(String),
    List,
    Watch,
    Other,
}

#[derive(Debug)]
pub(crate) struct Onlooker {
    pub(crate) version: Version,
    /// The version as the judges call it.
    pub(crate) number: String,
    pub(crate) id: String,
    pub(crate) wire: Option<u64>,
    pub(crate) ready: bool,
    mirror: Box<dyn Mirror>,
    /// Whether what it is sent fits the schemas of 0.2.0.
    conformity: Option<Conformity>,
    /// The channels that it follows, with the numbers of their snapshots.
    pub(crate) followed: BTreeMap<String, i64>,
    /// Channels that are gone or were left; something may still come.
    left: BTreeSet<String>,
    pub(crate) asked: BTreeMap<i64, Asked>,
    /// Title and status of each session, up to 0.4: later versions list them
    /// in pages.
    catalogue: Option<BTreeMap<String, (Value, Value)>>,
    /// Watches that it created and does not follow yet.
    pub(crate) watches: Vec<String>,
    pub(crate) seen: i64,
    /// The highest number heard over this connection.
    heard: i64,
    pub(crate) told: Coverage,
    requests: i64,
    dispatches: i64,
}

impl Onlooker {
    pub(crate) fn new(version: Version) -> Self {
        let number = name_of(version);
        Self {
            version,
            id: format!("onlooker-{number}"),
            wire: None,
            ready: false,
            mirror: mirror(&number).unwrap(),
            conformity: Conformity::of(&number),
            number,
            followed: BTreeMap::new(),
            left: BTreeSet::new(),
            asked: BTreeMap::new(),
            catalogue: None,
            watches: Vec::new(),
            seen: 0,
            heard: 0,
            told: Coverage::default(),
            requests: 0,
            dispatches: 0,
        }
    }

    pub(crate) fn is_draft(&self) -> bool {
        self.version <= Version::V0_1
    }

    /// Whether a session and its chat are one channel.
    pub(crate) fn is_flat(&self) -> bool {
        self.version <= Version::V0_3
    }

    pub(crate) fn root(&self) -> &'static str {
        match self.is_draft() {
            true => "agenthost:/root",
            false => "ahp-root://",
        }
    }

    pub(crate) fn disconnected(&mut self) {
        self.wire = None;
        self.ready = false;
        for asked in std::mem::take(&mut self.asked).into_values() {
            if let Asked::Unsubscribe(channel) = asked {
                self.followed.remove(&channel);
            }
        }
        self.left.clear();
        self.heard = 0;
        self.catalogue = None;
        self.watches.clear();
    }

    /// The text of a request. `channel` is named as this version does.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        channel: Option<&str>,
        mut params: Value,
        asked: Asked,
    ) -> String {
        self.requests += 1;
        self.asked.insert(self.requests, asked);
        if let Some(channel) = channel {
            let name = match (self.is_draft(), method) {
                (false, _) => "channel",
                (true, "subscribe" | "unsubscribe") => "resource",
                (true, _) => "session",
            };
            params[name] = channel.into();
        }
        let text =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params})
                .to_string();
        if let Some(conformity) = &mut self.conformity {
            conformity.said(&text);
        }
        text
    }

    pub(crate) fn dispatch(&mut self, channel: &str, action: Value) -> String {
        self.dispatches += 1;
        let mut params = json!({"clientSeq": self.dispatches, "action": action});
        if !self.is_draft() {
            params["channel"] = channel.into();
        }
        json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params}).to_string()
    }

    pub(crate) fn state(&self, channel: &str) -> Value {
        self.mirror.state(channel).unwrap_or_default()
    }

    /// Where the turns begin that it has not been given.
    pub(crate) fn cursor(&self, channel: &str) -> Option<String> {
        let cursor = self.state(channel)["turnsNextCursor"].take();
        cursor.as_str().map(str::to_owned)
    }

    pub(crate) fn hear(&mut self, text: &str) -> Result<(), String> {
        if let Some(conformity) = &mut self.conformity {
            conformity.heard(text)?;
        }
        let mut frame: Value = serde_json::from_str(text).map_err(|it| it.to_string())?;
        let params = frame["params"].take();
        match frame["method"].as_str() {
            Some("action") => self.hear_action(&params),
            Some("notification") if self.is_draft() => {
                let news = &params["notification"];
                let kind = news["type"].as_str().unwrap_or_default();
                self.hear_news(kind.trim_start_matches("notify/"), news)
            }
            Some(method) if !self.is_draft() => {
                self.hear_news(method.trim_start_matches("root/"), &params)
            }
            Some(other) => Err(format!("{other} is not a word of draft 1")),
            None => self.hear_answer(&mut frame),
        }
    }

    fn hear_news(&mut self, kind: &str, news: &Value) -> Result<(), String> {
        let row = |it: &Value| (it["title"].clone(), it["status"].clone());
        let session = news["session"].as_str().unwrap_or_default();
        match kind {
            "sessionAdded" => {
                let summary = &news["summary"];
                let session = summary["resource"].as_str().ok_or("no resource")?;
                if let Some(catalogue) = &mut self.catalogue {
                    catalogue.insert(session.to_owned(), row(summary));
                }
            }
            "sessionRemoved" => {
                if let Some(catalogue) = &mut self.catalogue {
                    catalogue.remove(session);
                }
                self.forget_session(session);
            }
            "sessionSummaryChanged" => {
                let known = self.catalogue.as_mut().and_then(|all| all.get_mut(session));
                if let Some((title, status)) = known {
                    let (new_title, new_status) = row(&news["changes"]);
                    let set = |field: &mut Value, new: Value| {
                        if !new.is_null() {
                            *field = new;
                        }
                    };
                    set(title, new_title);
                    set(status, new_status);
                }
            }
            other => return Err(format!("nobody said {other}: {news}")),
        }
        Ok(())
    }

    fn forget_session(&mut self, session: &str) {
        let chats = self.state(session)["chats"].take();
        let listed = chats.as_array().into_iter().flatten();
        let mut gone: Vec<String> = listed
            .filter_map(|chat| chat["resource"].as_str().map(str::to_owned))
            .collect();
        gone.push(session.to_owned());
        gone.push(ChannelUri::default_chat_of(session).to_string());
        gone.push(annotations::channel_of(session));
        let changesets = changes::prefix(session);
        let of_session = self.followed.keys();
        let of_session = of_session.filter(|uri| uri.starts_with(&changesets));
        gone.extend(of_session.cloned());
        for channel in gone {
            self.leave(&channel);
        }
    }

    pub(crate) fn leave(&mut self, channel: &str) {
        if self.followed.remove(channel).is_some() {
            self.left.insert(channel.to_owned());
        }
    }

    fn hear_action(&mut self, envelope: &Value) -> Result<(), String> {
        let seq = envelope["serverSeq"].as_i64().ok_or("no number")?;
        if let Some(reason) = envelope.get("rejectionReason") {
            let mine = envelope["origin"]["clientId"] == self.id.as_str();
            let says_why = reason.as_str().is_some_and(|text| !text.is_empty());
            if !mine || !says_why || (seq != 0 && seq < self.heard) {
                return Err(format!("a rejection that is wrong: {envelope}"));
            }
            return Ok(());
        }
        if seq <= self.heard {
            return Err(format!("{seq} came after {}", self.heard));
        }
        self.fold(envelope, seq)
    }

    fn fold(&mut self, envelope: &Value, seq: i64) -> Result<(), String> {
        self.heard = seq;
        self.seen = self.seen.max(seq);
        let action = &envelope["action"];
        let channel = match self.is_draft() {
            true => action
                .get("session")
                .or(action.get("terminal"))
                .unwrap_or(&Value::Null),
            false => &envelope["channel"],
        };
        let channel = channel.as_str().unwrap_or(self.root()).to_owned();
        let kind = action["type"].as_str().unwrap_or_default();
        self.told.note(&self.number, kind);
        // 0.4 tells of the model on a channel of which only a part may be
        // followed.
        let selects = matches!(kind, "session/modelChanged" | "session/agentChanged");
        match self.followed.get(&channel) {
            Some(from) if seq <= *from => {
                return Err(format!("{seq} was in the snapshot of {from}: {envelope}"));
            }
            Some(_) => self.mirror.apply(&channel, action.clone())?,
            None if self.left.contains(&channel) => {}
            None if selects && self.version == Version::V0_4 => {}
            // Whoever says something is answered, wherever it was said.
            None if envelope["origin"]["clientId"] == self.id => {}
            None => return Err(format!("{channel} was not subscribed to: {envelope}")),
        }
        match kind {
            "session/chatRemoved" => self.leave(action["chat"].as_str().unwrap_or_default()),
            "root/terminalsChanged" => self.leave_disposed_terminals(),
            _ => {}
        }
        Ok(())
    }

    fn hear_answer(&mut self, frame: &mut Value) -> Result<(), String> {
        let Some(id) = frame["id"].as_i64() else {
            return Err(format!("an answer to nothing: {frame}"));
        };
        let asked = self.asked.remove(&id).ok_or("a second answer")?;
        if let Some(code) = frame["error"]["code"].as_i64() {
            return match asked {
                Asked::Initialize | Asked::Reconnect if code != -32603 => {
                    Err(format!("the handshake failed: {frame}"))
                }
                // The host cannot look now; what is followed goes on.
                Asked::Check(_) if code == -32603 => Ok(()),
                // It may have gone while the question was under way.
                Asked::Check(channel) if !self.followed.contains_key(&channel) => Ok(()),
                // It may have been gone since the client came back.
                Asked::Check(channel) if self.knows_no_state_of(&channel) => {
                    self.leave(&channel);
                    Ok(())
                }
                // One that is off the list goes without a word.
                Asked::Check(channel) if is_of_tool_call(&channel) => {
                    match self.listed_terminals().contains(&channel) {
                        true => Err(format!("{channel} is gone: {frame}")),
                        false => {
                            self.leave(&channel);
                            Ok(())
                        }
                    }
                }
                Asked::Check(channel) => Err(format!("{channel} is gone: {frame}")),
                _ => Ok(()),
            };
        }
        let mut result = frame["result"].take();
        match asked {
            Asked::Initialize => {
                self.ready = true;
                self.followed.clear();
                self.seen = result["serverSeq"].as_i64().ok_or("no number")?;
                self.load_all(&result["snapshots"])
            }
            Asked::Reconnect => {
                self.ready = true;
                if result["type"] == "snapshot" {
                    let is_flat = self.is_flat();
                    // What has no snapshot is gone, unless it never has one.
                    self.followed
                        .retain(|channel, _| is_flat && channel.starts_with(WATCH));
                    return self.load_all(&result["snapshots"]);
                }
                let missing = result["missing"].take();
                for channel in missing.as_array().into_iter().flatten() {
                    self.leave(channel.as_str().unwrap_or_default());
                }
                let before = self.seen;
                let actions = result["actions"].take();
                for envelope in actions.as_array().into_iter().flatten() {
                    let seq = envelope["serverSeq"].as_i64().ok_or("no number")?;
                    if seq <= self.heard || seq <= before {
                        return Err(format!("a replay of {seq}, and {before} was seen"));
                    }
                    self.fold(envelope, seq)?;
                }
                Ok(())
            }
            Asked::Subscribe(channel) => match result.get("snapshot") {
                None if self.knows_no_state_of(&channel) => {
                    self.left.remove(&channel);
                    self.followed.insert(channel, self.heard);
                    Ok(())
                }
                _ => self.load(&result["snapshot"]),
            },
            Asked::Check(channel) => {
                let snapshot = result["snapshot"].take();
                if self.knows_no_state_of(&channel) {
                    return match snapshot.is_null() {
                        true => Ok(()),
                        false => Err(format!("a state that it does not know: {snapshot}")),
                    };
                }
                if self.followed.contains_key(&channel) {
                    // It may have subscribed with a window meanwhile.
                    if self.cursor(&channel).is_none() {
                        self.compare(&channel, &snapshot["state"])?;
                    }
                    self.load(&snapshot)?;
                }
                Ok(())
            }
            Asked::Unsubscribe(channel) => {
                self.leave(&channel);
                Ok(())
            }
            Asked::List => self.hear_list(&result["items"]),
            Asked::Watch => {
                let watch = result["channel"].as_str().ok_or("no channel")?;
                self.watches.push(watch.to_owned());
                Ok(())
            }
            Asked::Other => Ok(()),
        }
    }

    fn hear_list(&mut self, items: &Value) -> Result<(), String> {
        let mut rows = BTreeMap::new();
        for row in items.as_array().into_iter().flatten() {
            let session = row["resource"].as_str().ok_or("no resource")?.to_owned();
            let row = (row["title"].clone(), row["status"].clone());
            if rows.insert(session.clone(), row).is_some() {
                return Err(format!("{session} is listed twice"));
            }
        }
        match &self.catalogue {
            Some(held) if *held != rows => Err(format!("listed {rows:?}, and it had {held:?}")),
            _ => {
                self.catalogue = Some(rows);
                Ok(())
            }
        }
    }

    /// Up to 0.3 there is no state of a watch.
    fn knows_no_state_of(&self, channel: &str) -> bool {
        self.is_flat() && channel.starts_with(WATCH)
    }

    /// The terminals that there are, as far as it knows.
    pub(crate) fn listed_terminals(&self) -> Vec<String> {
        let listed = self.state(self.root())["terminals"].take();
        let listed = listed.as_array().into_iter().flatten();
        let named = listed.filter_map(|it| it["resource"].as_str().map(str::to_owned));
        named.collect()
    }

    /// Those of tool calls leave the list when their command has ended, and
    /// can be seen nevertheless.
    fn leave_disposed_terminals(&mut self) {
        let listed = self.listed_terminals();
        let followed = self.followed.keys();
        let disposed = followed.filter(|uri| {
            uri.starts_with("ahp-terminal:") && !is_of_tool_call(uri) && !listed.contains(uri)
        });
        let disposed: Vec<String> = disposed.cloned().collect();
        for uri in disposed {
            self.leave(&uri);
        }
    }

    fn load_all(&mut self, snapshots: &Value) -> Result<(), String> {
        let all = snapshots.as_array().into_iter().flatten();
        all.into_iter().try_for_each(|it| self.load(it))
    }

    fn load(&mut self, snapshot: &Value) -> Result<(), String> {
        let from = snapshot["fromSeq"].as_i64().ok_or("no snapshot")?;
        if from < self.heard {
            return Err(format!("a snapshot of {from} after {}", self.heard));
        }
        self.heard = from;
        self.seen = self.seen.max(from);
        let channel = snapshot["resource"].as_str().ok_or("no resource")?;
        self.mirror.load(channel, snapshot["state"].clone())?;
        self.followed.insert(channel.to_owned(), from);
        self.left.remove(channel);
        Ok(())
    }

    /// What it holds is what it is given.
    fn compare(&self, channel: &str, fresh: &Value) -> Result<(), String> {
        // The model of a session is told with its chat, in 0.4.
        let chat = ChannelUri::default_chat_of(channel).to_string();
        let knows_no_model = self.version == Version::V0_4 && !self.followed.contains_key(&chat);
        let plain = |state: Value| {
            let mut state = comparable(&self.number, state);
            // No action changes the schema of the host's settings.
            if let Some(config) = state["config"].as_object_mut()
                && channel == self.root()
            {
                config.remove("schema");
            }
            if let Some(summary) = state.get_mut("summary").and_then(Value::as_object_mut)
                && knows_no_model
            {
                summary.remove("model");
                summary.remove("agent");
            }
            state
        };
        let expected = plain(self.mirror.read(fresh.clone())?);
        let mut got = plain(self.state(channel));
        if channel.starts_with("ahp-terminal:") {
            cut_like(&mut got["content"], &expected["content"]);
        }
        match expected == got {
            true => Ok(()),
            false => Err(difference(channel, &expected, &got)),
        }
    }
}

/// The host names the terminals of tool calls, clients name the others.
fn is_of_tool_call(terminal: &str) -> bool {
    terminal.starts_with("ahp-terminal:/life")
}

/// The host keeps the end of what a terminal showed: cuts what a client has of
/// it at the same place.
fn cut_like(held: &mut Value, kept: &Value) {
    let (Some(held), Some(kept)) = (held.as_array_mut(), kept.as_array()) else {
        return;
    };
    held.drain(..held.len().saturating_sub(kept.len()));
    let (Some(first), Some(kept)) = (held.first_mut(), kept.first()) else {
        return;
    };
    for key in ["value", "output"] {
        if let (Some(text), Some(end)) = (first[key].as_str(), kept[key].as_str())
            && text.ends_with(end)
        {
            first[key] = end.into();
        }
    }
}
