//! What the host has told its clients, and whether it is still so.
//!
//! A client that dispatches something tells the ledger, and so does one that
//! hears an echo, a rejection or an end. What was echoed must be there in every
//! later life. What was dispatched and neither echoed nor rejected when the
//! host died may be there or not; what is found then counts from there on.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::table::{Promise, Report};

/// The bit of a session's status that says that it is archived.
const ARCHIVED: u64 = 64;

/// Who dispatched what: a client's name and its number for the action.
pub(crate) type Said = (String, u64);

/// Something that has one value at a time.
#[derive(Debug, Default)]
struct Register {
    /// The value of the echo with the highest number.
    told: Option<(u64, String)>,
    open: BTreeMap<Said, String>,
}

impl Register {
    fn is_told(&mut self, seq: u64, value: String) {
        if self.told.as_ref().is_none_or(|(last, _)| *last < seq) {
            self.told = Some((seq, value));
        }
    }

    /// Whether a value may be there; it is told from now on.
    fn allows(&mut self, seq: u64, kept: Option<&str>) -> bool {
        let told = self.told.as_ref().map(|(_, value)| value.as_str());
        let open = kept.is_some_and(|kept| self.open.values().any(|value| value == kept));
        let allowed = told.is_none() || told == kept || open;
        self.open.clear();
        if let Some(kept) = kept {
            self.told = Some((seq, kept.to_owned()));
        }
        allowed
    }
}

/// How far the answer to a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Open,
    Answered,
}

#[derive(Debug)]
struct Session {
    created: Asked,
    disposed: Option<Asked>,
    title: Register,
    archived: Register,
    draft: Register,
    /// Those that were told to have begun, with the end that was told.
    turns: BTreeMap<String, Option<&'static str>>,
    /// Queued messages by their id, with the text that shows whether one has
    /// run, and whether it was echoed.
    queued: BTreeMap<String, (String, bool)>,
    queued_open: BTreeMap<Said, String>,
    /// What was said in it while nobody had given it a title. The host takes
    /// one from the first message, and may die before anybody hears of that.
    said: Vec<String>,
    renamed: bool,
    /// Turns that have ended, as the host first showed them in a later life.
    ended: BTreeMap<String, Value>,
}

/// What became of a session that is not in the host's list, or is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    /// It is there; its states are to be judged.
    There,
    Gone,
}

#[derive(Debug, Default)]
pub(crate) struct Ledger {
    sessions: BTreeMap<String, Session>,
    /// The highest number that anybody saw.
    highest: u64,
}

impl Ledger {
    pub(crate) fn names(&self) -> Vec<String> {
        self.sessions.keys().cloned().collect()
    }

    /// What is in front of every client that begins to listen.
    pub(crate) fn begins_at(&mut self, seq: u64, report: &mut Report) {
        let highest = self.highest;
        report.hold(Promise::Sequence, seq >= highest, || {
            format!("a snapshot is from {seq}, but {highest} was seen before")
        });
        self.highest = highest.max(seq);
    }

    pub(crate) fn asks_to_create(&mut self, session: &str) {
        let new = Session {
            created: Asked::Open,
            disposed: None,
            title: Register::default(),
            archived: Register::default(),
            draft: Register::default(),
            turns: BTreeMap::new(),
            queued: BTreeMap::new(),
            queued_open: BTreeMap::new(),
            said: Vec::new(),
            renamed: false,
            ended: BTreeMap::new(),
        };
        self.sessions.insert(session.to_owned(), new);
    }

    pub(crate) fn created(&mut self, session: &str, accepted: bool) {
        match self.sessions.get_mut(session) {
            Some(it) if accepted => it.created = Asked::Answered,
            _ => drop(self.sessions.remove(session)),
        }
    }

    pub(crate) fn asks_to_dispose(&mut self, session: &str) {
        if let Some(it) = self.sessions.get_mut(session) {
            it.disposed = Some(Asked::Open);
        }
    }

    pub(crate) fn disposed(&mut self, session: &str, accepted: bool) {
        if let Some(it) = self.sessions.get_mut(session) {
            it.disposed = accepted.then_some(Asked::Answered);
        }
    }

    /// Notes what a client dispatches.
    pub(crate) fn said(&mut self, session: &str, said: Said, action: &Value) {
        let Some(it) = self.sessions.get_mut(session) else {
            return;
        };
        if ["turnStarted", "pendingMessageSet"].contains(&verb(action)) {
            it.said.push(message(action));
        }
        match verb(action) {
            "titleChanged" => drop(it.title.open.insert(said, text(&action["title"]))),
            "isArchivedChanged" => {
                it.archived
                    .open
                    .insert(said, action["isArchived"].to_string());
            }
            "draftChanged" => drop(it.draft.open.insert(said, text(&action["draft"]["text"]))),
            "pendingMessageSet" => {
                let id = text(&action["id"]);
                it.queued.insert(id.clone(), (message(action), false));
                it.queued_open.insert(said, id);
            }
            _ => {}
        }
    }

    /// Notes what a client is told about a session.
    pub(crate) fn heard(&mut self, session: &str, envelope: &Value, report: &mut Report) {
        let (action, origin) = (&envelope["action"], &envelope["origin"]);
        let said = origin["clientSeq"]
            .as_u64()
            .map(|seq| (text(&origin["clientId"]), seq));
        let rejected = envelope.get("rejectionReason").is_some();
        let seq = envelope["serverSeq"].as_u64().unwrap_or(0);
        if !rejected {
            self.highest = self.highest.max(seq);
        }
        let Some(it) = self.sessions.get_mut(session) else {
            return;
        };
        if let Some(said) = &said {
            it.title.open.remove(said);
            it.archived.open.remove(said);
            it.draft.open.remove(said);
            if let Some(id) = it.queued_open.remove(said)
                && rejected
            {
                it.queued.remove(&id);
            }
        }
        if rejected {
            return;
        }
        let turn = || text(&action["turnId"]);
        match verb(action) {
            // A title of the host's or the agent's own is stored a little later.
            "titleChanged" if said.is_none() => {
                let host = (String::new(), seq);
                it.title.open.insert(host, text(&action["title"]));
            }
            "titleChanged" => {
                it.renamed = true;
                it.title.is_told(seq, text(&action["title"]));
            }
            "isArchivedChanged" => it.archived.is_told(seq, action["isArchived"].to_string()),
            "draftChanged" => it.draft.is_told(seq, text(&action["draft"]["text"])),
            "pendingMessageSet" => {
                if let Some((_, echoed)) = it.queued.get_mut(&text(&action["id"])) {
                    *echoed = true;
                }
            }
            "turnStarted" => drop(it.turns.entry(turn()).or_default()),
            "turnComplete" => it.ends(&turn(), "complete", report),
            "turnCancelled" => it.ends(&turn(), "cancelled", report),
            "error" => it.ends(&turn(), "error", report),
            _ => {}
        }
    }

    /// Judges whether a session should be in the host's list.
    pub(crate) fn listed(&mut self, session: &str, is_listed: bool, report: &mut Report) -> Listed {
        let Some(it) = self.sessions.get_mut(session) else {
            return Listed::Gone;
        };
        let expected = match (it.created, it.disposed) {
            (_, Some(Asked::Answered)) => Some(false),
            (Asked::Open, _) | (_, Some(Asked::Open)) => None,
            (Asked::Answered, None) => Some(true),
        };
        let kept = expected.is_none_or(|expected| expected == is_listed);
        report.hold(Promise::Sessions, kept, || match is_listed {
            true => format!("{session} was disposed of, and is listed"),
            false => format!("{session} was created, and is not listed"),
        });
        if is_listed && expected != Some(false) {
            it.created = Asked::Answered;
            it.disposed = None;
            return Listed::There;
        }
        // What is gone, and should not be, is told once.
        if !is_listed && expected != Some(false) {
            self.sessions.remove(session);
        }
        Listed::Gone
    }

    /// Judges the states of a session and of its chat, in the newest version.
    pub(crate) fn judge(
        &mut self,
        name: &str,
        seq: u64,
        states: (&Value, &Value),
        report: &mut Report,
    ) {
        let (session, chat) = states;
        let Some(it) = self.sessions.get_mut(name) else {
            return;
        };
        let archived = session["status"].as_u64().unwrap_or(0) & ARCHIVED != 0;
        let archived = archived.to_string();
        let title = session["title"].as_str();
        if let Some(title) = title.filter(|title| it.is_said(title)) {
            let host = (String::new(), seq);
            it.title.open.insert(host, title.to_owned());
        }
        let registers = [
            (Promise::Titles, &mut it.title, title),
            (Promise::Archived, &mut it.archived, Some(archived.as_str())),
            (
                Promise::Drafts,
                &mut it.draft,
                chat["draft"]["text"].as_str(),
            ),
        ];
        for (promise, register, kept) in registers {
            let told = register.told.clone();
            let allowed = register.allows(seq, kept);
            report.hold(promise, allowed, || {
                format!("{name}: {told:?} was told, and {kept:?} is there")
            });
        }
        it.judge_turns(name, chat, report);
        it.judge_queue(name, chat, report);
    }
}

impl Session {
    /// Whether the host may have taken a title from something that was said.
    fn is_said(&self, title: &str) -> bool {
        let beginning = title.trim_end_matches('…');
        !self.renamed && self.said.iter().any(|text| text.starts_with(beginning))
    }

    fn ends(&mut self, turn: &str, end: &'static str, report: &mut Report) {
        let told = self.turns.entry(turn.to_owned()).or_default();
        let before = told.replace(end);
        let same = before.is_none_or(|before| before == end);
        report.hold(Promise::Ends, same, || {
            format!("the end of {turn} was told as {before:?}, and then as {end}")
        });
    }

    fn judge_turns(&mut self, name: &str, chat: &Value, report: &mut Report) {
        let turns = list(&chat["turns"]);
        let finished: BTreeMap<&str, &Value> = turns
            .iter()
            .filter_map(|it| Some((it["id"].as_str()?, it)))
            .collect();
        let active = chat["activeTurn"]["id"].as_str();
        // What is lost is told once.
        self.turns.retain(|turn, end| {
            let kept = finished.get(turn.as_str());
            let there = kept.is_some() || active == Some(turn);
            report.hold(Promise::Turns, there, || format!("{name}: {turn} is lost"));
            if let Some(told) = end.filter(|_| there) {
                let state = kept.map(|turn| &turn["state"]);
                let same = state.is_some_and(|it| it == told);
                report.hold(Promise::Ends, same, || {
                    format!("{name}: {turn} was told to end as {told}, and is {state:?}")
                });
                *end = end.filter(|_| same);
            }
            there
        });
        for (turn, shown) in finished {
            self.turns.entry(turn.to_owned()).or_default();
            if let Some(before) = self.ended.insert(turn.to_owned(), shown.clone()) {
                report.hold(Promise::Ends, before == *shown, || {
                    let at = innkeeper_judges::difference(turn, &before, shown);
                    format!("{name}: a finished turn changed: {at}")
                });
            }
        }
    }

    fn judge_queue(&mut self, name: &str, chat: &Value, report: &mut Report) {
        let waiting = list(&chat["queuedMessages"]);
        let mut turns: Vec<&Value> = list(&chat["turns"]).iter().collect();
        turns.push(&chat["activeTurn"]);
        self.queued_open.clear();
        self.queued.retain(|id, (text, echoed)| {
            let waits = waiting.iter().any(|it| it["id"] == id.as_str());
            let ran = turns
                .iter()
                .filter(|turn| turn["message"]["text"] == text.as_str())
                .count();
            report.hold(Promise::RunOnce, ran + usize::from(waits) <= 1, || {
                format!("{name}: {id} has {ran} turns, and waits: {waits}")
            });
            let there = waits || ran > 0;
            report.hold(Promise::Queued, there || !*echoed, || {
                format!("{name}: {id} neither waits nor has run")
            });
            *echoed = true;
            there
        });
    }
}

fn verb(action: &Value) -> &str {
    let kind = action["type"].as_str().unwrap_or_default();
    kind.rsplit('/').next().unwrap_or_default()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn message(action: &Value) -> String {
    let message = action.get("message").or(action.get("userMessage"));
    message.map(|it| text(&it["text"])).unwrap_or_default()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests;
