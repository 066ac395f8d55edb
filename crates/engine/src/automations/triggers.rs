//! What begins runs by itself: schedules, and the events that this host can
//! raise.

use std::collections::HashMap;
use std::time::Duration;

use innkeeper_protocol::agent::string_property;
use innkeeper_protocol::newest::commands::{
    ListAutomationTriggerDefinitionsParams, ListAutomationTriggerDefinitionsResult,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    AutomationEntry, AutomationEventTrigger, AutomationMisfirePolicy, AutomationScheduleTrigger,
    AutomationTrigger, AutomationTriggerDefinition, AutomationTriggerEventDefinition,
    AutomationTriggeredRunOrigin, ChatOrigin, ConfigPropertySchema, ConfigSchema, SessionOrigin,
};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};

use super::AutomationsMut;
use super::cron::Schedule;
use super::definition::disable_if_over;
use super::files::{FILES, check_files};
use crate::core::{Deadline, TurnEnd, TurnOutcome};

/// A run that begins so much later than it should has been missed.
const LATE: i64 = 60_000;

/// How long a host that cannot store anything puts off what is due.
const PUT_OFF: Duration = Duration::from_secs(10);

/// Turns of sessions that no automation began.
const SESSIONS: &str = "session";
const COMPLETED: &str = "turnCompleted";
const FAILED: &str = "turnFailed";

/// A kind of trigger, with its events and settings: ids, titles, explanations.
struct Kind {
    id: &'static str,
    title: &'static str,
    description: &'static str,
    events: &'static [[&'static str; 3]],
    settings: &'static [[&'static str; 3]],
    required: &'static [&'static str],
}

const KINDS: [Kind; 2] = [
    Kind {
        id: SESSIONS,
        title: "Session",
        description: "A turn of a session ended. Sessions of automations do not count.",
        events: &[
            [
                COMPLETED,
                "Turn completed",
                "The agent has done what it was asked.",
            ],
            [FAILED, "Turn failed", "The turn ended in an error."],
        ],
        settings: &[[
            "directory",
            "Directory",
            "Only sessions that work in this directory, or below: a `file:` URI",
        ]],
        required: &[],
    },
    Kind {
        id: FILES,
        title: "Files",
        description: "Files changed. What changes where a run is at work does not count.",
        events: &[
            ["added", "File added", "There is a new file."],
            [
                "updated",
                "File changed",
                "The content of a file has changed.",
            ],
            ["deleted", "File deleted", "A file is gone."],
        ],
        settings: &[
            [
                "glob",
                "Pattern",
                "Which files, such as `src/**/*.rs`, relative to the directory",
            ],
            [
                "directory",
                "Directory",
                "Where: one of the working directories, or a directory below; the first, if \
                 nothing is said. A `file:` URI",
            ],
        ],
        required: &["glob"],
    },
];

/// Says which events begin runs. They are the same whatever the session is.
pub(crate) fn list_triggers(_: &ListAutomationTriggerDefinitionsParams) -> Result<Reply, RpcError> {
    let items = KINDS.iter().map(Kind::definition).collect();
    let result = ListAutomationTriggerDefinitionsResult { items };
    Ok(Reply::AutomationTriggers(result))
}

impl Kind {
    fn definition(&self) -> AutomationTriggerDefinition {
        let properties = self.settings.iter().map(|[key, title, description]| {
            let property: ConfigPropertySchema = string_property(title, description);
            ((*key).to_owned(), property)
        });
        let required: Vec<String> = self.required.iter().map(|key| (*key).to_owned()).collect();
        AutomationTriggerDefinition {
            r#type: self.id.to_owned(),
            title: self.title.to_owned(),
            description: Some(self.description.to_owned()),
            events: self.events.iter().map(event).collect(),
            config_schema: Some(ConfigSchema {
                r#type: "object".to_owned(),
                properties: properties.collect::<HashMap<_, _>>(),
                required: (!required.is_empty()).then_some(required),
            }),
        }
    }
}

fn event([id, title, description]: &[&str; 3]) -> AutomationTriggerEventDefinition {
    AutomationTriggerEventDefinition {
        id: (*id).to_owned(),
        title: (*title).to_owned(),
        description: Some((*description).to_owned()),
    }
}

/// Checks a trigger for events, and calls everything in it what the host calls
/// it.
pub(super) fn normalize(
    trigger: &mut AutomationEventTrigger,
    directories: &[String],
) -> Result<(), String> {
    let Some(kind) = KINDS.iter().find(|kind| kind.id == trigger.r#type) else {
        let known: Vec<&str> = KINDS.iter().map(|kind| kind.id).collect();
        return Err(format!(
            "this host has no events of the type `{}`; it has: {}",
            trigger.r#type,
            known.join(", ")
        ));
    };
    let mut events: Vec<AutomationTriggerEventDefinition> = Vec::new();
    for asked in &trigger.events {
        let known = kind.events.iter().find(|[id, ..]| *id == asked.id);
        let Some(known) = known else {
            let all: Vec<&str> = kind.events.iter().map(|[id, ..]| *id).collect();
            return Err(format!(
                "`{}` has no event `{}`; it has: {}",
                kind.id,
                asked.id,
                all.join(", ")
            ));
        };
        if events.iter().all(|event| event.id != asked.id) {
            events.push(event(known));
        }
    }
    if events.is_empty() {
        return Err(format!("the trigger `{}` names no events", trigger.id));
    }
    trigger.events = events;
    trigger.title = kind.title.to_owned();
    trigger.description = Some(kind.description.to_owned());
    let config = trigger.config.as_ref();
    for [key, ..] in kind.settings {
        let value = config.and_then(|config| config.get(*key));
        if value.is_some_and(|value| !value.is_string()) {
            return Err(format!(
                "`{key}` of the trigger `{}` must be a text",
                trigger.id
            ));
        }
    }
    match kind.id {
        FILES => check_files(trigger, directories),
        _ => Ok(()),
    }
}

/// A setting of a trigger that is a text.
pub(super) fn setting<'a>(config: Option<&'a JsonObject>, key: &str) -> Option<&'a str> {
    let value = config?.get(key)?.as_str()?;
    Some(value).filter(|value| !value.is_empty())
}

pub(super) fn event_triggers<'a>(
    entry: &'a AutomationEntry,
    kind: &'static str,
) -> impl Iterator<Item = &'a AutomationEventTrigger> {
    let triggers = entry.definition.triggers.iter();
    triggers.filter_map(move |trigger| match trigger {
        AutomationTrigger::Event(trigger) if trigger.r#type == kind => Some(trigger),
        _ => None,
    })
}

/// Whether something is a directory or below it.
pub(super) fn is_within(uri: &str, directory: &str) -> bool {
    let rest = uri.strip_prefix(directory.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

impl AutomationsMut<'_> {
    /// An automation has something to do by its schedules, or is over.
    pub(crate) fn is_due(&mut self, uri: &ChannelUri) {
        let core = self.core();
        let now = core.now;
        if core.store_failure.is_some() {
            let deadline = Deadline::AutomationIsDue(uri.clone());
            core.deadlines.set(deadline, now.after(PUT_OFF));
            return;
        }
        let Some(mut entry) = self.entry(uri).cloned() else {
            return;
        };
        let Some(known) = self.own.known.get_mut(uri) else {
            return;
        };
        let followed = std::mem::replace(&mut known.notes.followed, now);
        if disable_if_over(&mut entry, now) {
            self.leave_files(uri);
            return self.show(uri, entry);
        }
        let triggers = entry.definition.triggers.iter();
        let due: Vec<AutomationTriggeredRunOrigin> = triggers
            .filter_map(|trigger| match trigger {
                AutomationTrigger::Schedule(trigger) => due(trigger, followed, now),
                AutomationTrigger::Event(_) => None,
            })
            .collect();
        // What is shown from here on is followed up to now.
        self.show(uri, entry);
        for run in due {
            self.admit_triggered(uri, run);
        }
    }

    /// A turn ended that no run began: some automations wait for that.
    pub(super) fn session_news(&mut self, session: &ChannelUri, end: &TurnEnd) {
        let event = match &end.outcome {
            TurnOutcome::Complete => COMPLETED,
            TurnOutcome::Failed(_) => FAILED,
            TurnOutcome::Cancelled => return,
        };
        let channels = &self.core().channels;
        let is_delegated = channels
            .chat(&end.chat)
            .is_some_and(|chat| matches!(chat.head.origin, Some(ChatOrigin::Tool { .. })));
        let known = channels.session(session);
        let origin = known.and_then(|known| known.state.origin.as_ref());
        if is_delegated || matches!(origin, Some(SessionOrigin::Automation(_))) {
            return;
        }
        let directories = self.directories_of(session);
        let mut begun = Vec::new();
        for uri in self.own.known.keys() {
            let Some(entry) = self.entry(uri).filter(|it| it.definition.enabled) else {
                continue;
            };
            let wanted = event_triggers(entry, SESSIONS)
                .filter(|trigger| trigger.events.iter().any(|it| it.id == event))
                .find(|trigger| {
                    let wanted = setting(trigger.config.as_ref(), "directory");
                    let mut all = directories.iter();
                    wanted.is_none_or(|wanted| all.any(|it| is_within(it, wanted)))
                });
            if let Some(trigger) = wanted {
                begun.push((uri.clone(), trigger.id.clone()));
            }
        }
        for (uri, trigger_id) in begun {
            let about = json!({
                "event": event, "session": session, "chat": end.chat, "turn": end.turn,
            });
            self.admit_triggered(&uri, by_event(trigger_id, about));
        }
    }
}

/// What a run is that an event began.
pub(super) fn by_event(trigger_id: String, about: Value) -> AutomationTriggeredRunOrigin {
    let event = match about {
        Value::Object(about) => Some(about),
        _ => None,
    };
    AutomationTriggeredRunOrigin {
        trigger_id,
        scheduled_for: None,
        catch_up: None,
        event,
    }
}

/// The run that a schedule wants, given up to when it was followed. However
/// many occurrences there were, it is one; what has been missed is made up for
/// if that is what its policy says, and if nothing is due right now.
fn due(
    trigger: &AutomationScheduleTrigger,
    followed: Timestamp,
    now: Timestamp,
) -> Option<AutomationTriggeredRunOrigin> {
    let schedule = Schedule::parse(&trigger.schedule).ok()?;
    let on_time = Timestamp::from_millis(now.as_millis().saturating_sub(LATE));
    let occurs = |after: Timestamp| schedule.next_after(after).filter(|at| *at <= now);
    let timely = occurs(followed.max(on_time));
    let missed = || {
        let policy = trigger.misfire_policy.as_ref();
        let catches_up = policy != Some(&AutomationMisfirePolicy::Skip);
        occurs(followed).filter(|_| catches_up)
    };
    let catch_up = timely.is_none().then_some(true);
    let scheduled_for = timely.or_else(missed)?;
    Some(AutomationTriggeredRunOrigin {
        trigger_id: trigger.id.clone(),
        scheduled_for: Some(scheduled_for.to_string()),
        catch_up,
        event: None,
    })
}
