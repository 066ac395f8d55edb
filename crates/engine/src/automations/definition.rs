//! What an automation may be: everything that is checked before one is stored,
//! and when one ends by itself.

use std::collections::BTreeSet;
use std::time::Duration;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::bounds::MAX_TITLE_BYTES;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    AutomationDefinition, AutomationDefinitionPatch, AutomationDisableCondition, AutomationEntry,
    AutomationMisfirePolicy, AutomationTrigger, MessageKind,
};
use innkeeper_protocol::outgoing::RejectionCode;

use super::cron::Schedule;
use super::{plugins, triggers};
use crate::core::channels::length_of_json;
use crate::core::{Core, Refusal};
use crate::turns::check_attachments;

/// The largest definition, as JSON.
pub(super) const MOST_BYTES: usize = 64 * 1024;

/// How many triggers one automation has, and how many directories.
const MOST_TRIGGERS: usize = 20;
const MOST_DIRECTORIES: usize = 20;

/// How long a run waits for a person, if its automation does not say.
const PATIENCE: Duration = Duration::from_secs(3_600);
const MOST_PATIENCE: u64 = 7 * 24 * 3_600;

/// A definition with some of its fields replaced.
pub(super) fn patched(
    mut definition: AutomationDefinition,
    patch: AutomationDefinitionPatch,
) -> AutomationDefinition {
    let AutomationDefinitionPatch {
        title,
        message,
        session,
        enabled,
        triggers,
        disable_conditions,
        meta,
    } = patch;
    definition.title = title.unwrap_or(definition.title);
    definition.message = message.unwrap_or(definition.message);
    definition.session = session.unwrap_or(definition.session);
    definition.enabled = enabled.unwrap_or(definition.enabled);
    definition.triggers = triggers.unwrap_or(definition.triggers);
    definition.disable_conditions = disable_conditions.or(definition.disable_conditions);
    definition.meta = meta.or(definition.meta);
    definition
}

/// Checks a definition and puts what the host says itself into it: what its
/// triggers are called.
pub(super) fn checked(
    core: &Core,
    mut definition: AutomationDefinition,
) -> Result<AutomationDefinition, Refusal> {
    check_size(&definition)?;
    let directories = definition.session.working_directories.clone();
    let directories = directories.unwrap_or_default();
    for trigger in &mut definition.triggers {
        if let AutomationTrigger::Event(trigger) = trigger {
            triggers::normalize(trigger, &directories)?;
        }
    }
    check_title(&definition.title)?;
    check_message(&definition)?;
    if directories.len() > MOST_DIRECTORIES {
        let reason = format!("a session works in at most {MOST_DIRECTORIES} directories");
        return Err(Refusal::new(RejectionCode::LimitReached, reason));
    }
    let customizations = definition.session.customizations.as_deref();
    plugins::check(core, customizations.unwrap_or_default())?;
    check_triggers(&definition.triggers)?;
    check_conditions(definition.disable_conditions.as_deref().unwrap_or_default())?;
    patience_of(definition.meta.as_ref())?;
    Ok(definition)
}

fn check_size(definition: &AutomationDefinition) -> Result<(), Refusal> {
    let bytes = length_of_json(definition);
    if bytes > MOST_BYTES {
        let reason = format!(
            "the automation has {bytes} bytes, and one has at most {MOST_BYTES}; put long \
             instructions into a file of the working directory and refer to it"
        );
        return Err(Refusal::new(RejectionCode::LimitReached, reason));
    }
    let triggers = definition.triggers.len();
    if triggers > MOST_TRIGGERS {
        let reason = format!(
            "the automation has {triggers} triggers, and one has at most {MOST_TRIGGERS}; make \
             several automations of it"
        );
        return Err(Refusal::new(RejectionCode::LimitReached, reason));
    }
    Ok(())
}

fn check_title(title: &str) -> Result<(), Refusal> {
    match title.len() {
        _ if title.trim().is_empty() => Err("the automation needs a title".into()),
        bytes if bytes > MAX_TITLE_BYTES => {
            let reason = format!(
                "the title has {bytes} bytes, and a title has at most {MAX_TITLE_BYTES}; choose \
                 a shorter one"
            );
            Err(Refusal::new(RejectionCode::LimitReached, reason))
        }
        _ => Ok(()),
    }
}

fn check_message(definition: &AutomationDefinition) -> Result<(), Refusal> {
    let message = &definition.message;
    if message.origin.kind != MessageKind::Automation {
        return Err("the `origin.kind` of an automation's message must be `automation`".into());
    }
    if message.text.trim().is_empty() && message.attachments.is_none() {
        return Err("the automation needs a message that says what is to be done".into());
    }
    Ok(check_attachments(message)?)
}

fn check_triggers(triggers: &[AutomationTrigger]) -> Result<(), Refusal> {
    let mut ids = BTreeSet::new();
    for trigger in triggers {
        let id = match trigger {
            AutomationTrigger::Schedule(trigger) => {
                Schedule::parse(&trigger.schedule)?;
                if let Some(AutomationMisfirePolicy::Unknown(policy)) = &trigger.misfire_policy {
                    return Err(format!(
                        "`{policy}` is not a policy for missed runs; use `skip` or `runOnce`"
                    )
                    .into());
                }
                &trigger.id
            }
            AutomationTrigger::Event(trigger) => &trigger.id,
        };
        if id.is_empty() {
            return Err("every trigger needs an id".into());
        }
        if !ids.insert(id) {
            return Err(format!("two triggers have the id `{id}`; each needs its own").into());
        }
    }
    Ok(())
}

fn check_conditions(conditions: &[AutomationDisableCondition]) -> Result<(), Refusal> {
    let (mut runs, mut dates) = (0, 0);
    for condition in conditions {
        match condition {
            AutomationDisableCondition::AfterRuns(condition) => {
                runs += 1;
                if condition.max < 1 {
                    return Err("`max` of `afterRuns` must be a positive number".into());
                }
            }
            AutomationDisableCondition::AfterDate(condition) => {
                dates += 1;
                if Timestamp::parse(&condition.date).is_none() {
                    return Err(format!(
                        "`{}` is not a date; write it as `2026-12-31T00:00:00Z`",
                        condition.date
                    )
                    .into());
                }
            }
        }
    }
    match runs > 1 || dates > 1 {
        true => Err("each kind of condition may be there only once".into()),
        false => Ok(()),
    }
}

/// How long a run waits for a person: `_meta.innkeeper.patienceSeconds`.
pub(super) fn patience_of(meta: Option<&JsonObject>) -> Result<Duration, Refusal> {
    let own = meta.and_then(|meta| meta.get("innkeeper"));
    let Some(patience) = own.and_then(|own| own.get("patienceSeconds")) else {
        return Ok(PATIENCE);
    };
    let seconds = patience.as_u64();
    let seconds = seconds.filter(|seconds| (1..=MOST_PATIENCE).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        format!("`patienceSeconds` must be a whole number from 1 to {MOST_PATIENCE}").into()
    })
}

/// How many runs an automation may have before it is disabled.
pub(super) fn most_runs(definition: &AutomationDefinition) -> Option<i64> {
    let conditions = definition.disable_conditions.iter().flatten();
    conditions
        .filter_map(|condition| match condition {
            AutomationDisableCondition::AfterRuns(condition) => Some(condition.max),
            AutomationDisableCondition::AfterDate(_) => None,
        })
        .next()
}

/// When an automation is disabled.
pub(super) fn ends_at(entry: &AutomationEntry) -> Option<Timestamp> {
    let conditions = entry.definition.disable_conditions.iter().flatten();
    conditions
        .filter_map(|condition| match condition {
            AutomationDisableCondition::AfterDate(condition) => Timestamp::parse(&condition.date),
            AutomationDisableCondition::AfterRuns(_) => None,
        })
        .next()
}

/// Disables an automation of which a condition is met. Returns whether one is.
pub(super) fn disable_if_over(entry: &mut AutomationEntry, now: Timestamp) -> bool {
    let used_up = most_runs(&entry.definition)
        .is_some_and(|most| entry.run_count.unwrap_or_default() >= most);
    let is_over = used_up || ends_at(entry).is_some_and(|end| end <= now);
    if is_over && entry.definition.enabled {
        entry.definition.enabled = false;
        entry.modified_at = now.to_string();
    }
    is_over
}
