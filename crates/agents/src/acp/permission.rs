//! Requests for permission: the agent's options as the house shows them, and
//! the one that a decision stands for.

use innkeeper_protocol::agent::ToolVerdict;
use innkeeper_protocol::house::state::{ConfirmationOption, ConfirmationOptionKind};
use serde_json::{Value, json};

/// Where options that hold for this time stand, and those that hold for good.
const ONCE: i64 = 0;
const ALWAYS: i64 = 1;

#[derive(Debug)]
pub(super) struct PermissionRequest {
    /// The agent's name for its request.
    pub(super) request: Value,
    pub(super) options: Vec<ConfirmationOption>,
}

/// The options as the agent wrote them, kinds that nobody knows included.
pub(super) fn options(given: &Value) -> Vec<ConfirmationOption> {
    let options = given.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = |option: &Value| {
        let id = option["optionId"].as_str()?;
        let kind = option["kind"].as_str().unwrap_or_default();
        Some(ConfirmationOption {
            id: id.to_owned(),
            label: option["name"].as_str().unwrap_or(id).to_owned(),
            kind: match kind {
                _ if kind.starts_with("allow") => ConfirmationOptionKind::Approve,
                _ if kind.starts_with("reject") => ConfirmationOptionKind::Deny,
                other => ConfirmationOptionKind::Unknown(other.to_owned()),
            },
            group: Some(if kind.ends_with("always") {
                ALWAYS
            } else {
                ONCE
            }),
        })
    };
    options.iter().filter_map(read).collect()
}

/// The option that a verdict means: the one that was selected, else the most
/// modest one of its kind.
pub(super) fn choose(
    options: &[ConfirmationOption],
    verdict: &ToolVerdict,
) -> Option<ConfirmationOption> {
    let (selected, kind) = match verdict {
        ToolVerdict::Approved { option, .. } => (option, ConfirmationOptionKind::Approve),
        ToolVerdict::Denied { option, .. } => (option, ConfirmationOptionKind::Deny),
    };
    let selected = selected
        .as_ref()
        .filter(|selected| options.contains(selected));
    let modest = || {
        options
            .iter()
            .filter(|option| option.kind == kind)
            .min_by_key(|o| o.group)
    };
    selected.or_else(modest).cloned()
}

/// The answer to a request; no option means that it came to nothing.
pub(super) fn answer(chosen: Option<&ConfirmationOption>, verdict: Option<&ToolVerdict>) -> Value {
    let Some(option) = chosen else {
        return json!({"outcome": {"outcome": "cancelled"}});
    };
    let mut answer = json!({"outcome": {"outcome": "selected", "optionId": option.id}});
    if let Some(ToolVerdict::Denied {
        message,
        suggestion,
        ..
    }) = verdict
    {
        let reason = message.as_ref().map(|message| message.as_text().to_owned());
        let reason = reason.or_else(|| suggestion.as_ref().map(|message| message.text.clone()));
        if let Some(reason) = reason {
            answer["_meta"] = json!({"reason": reason});
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given() -> Vec<ConfirmationOption> {
        options(&json!([
            {"optionId": "a!", "name": "Always", "kind": "allow_always"},
            {"optionId": "a", "name": "Once", "kind": "allow_once"},
            {"optionId": "r", "name": "No", "kind": "reject_once"},
            {"optionId": "x", "name": "Later", "kind": "postpone"},
            {"name": "no id"},
        ]))
    }

    #[test]
    fn options_keep_their_ids_and_kinds() {
        let shown: Vec<_> = given()
            .into_iter()
            .map(|option| (option.id, option.kind, option.group))
            .collect();
        use ConfirmationOptionKind::{Approve, Deny, Unknown};
        let expected = [
            ("a!", Approve, ALWAYS),
            ("a", Approve, ONCE),
            ("r", Deny, ONCE),
            ("x", Unknown("postpone".to_owned()), ONCE),
        ];
        let expected = expected.map(|(id, kind, group)| (id.to_owned(), kind, Some(group)));
        assert_eq!(shown, expected);
    }

    #[test]
    fn without_a_selection_the_modest_option_is_meant() {
        let approved = |option| ToolVerdict::Approved {
            edited_input: None,
            option,
        };
        let options = given();
        let chosen = |verdict: &ToolVerdict| choose(&options, verdict).map(|option| option.id);
        assert_eq!(chosen(&approved(None)).as_deref(), Some("a"));
        let selected = Some(options[0].clone());
        assert_eq!(chosen(&approved(selected)).as_deref(), Some("a!"));
        assert_eq!(choose(&[], &approved(None)), None);
    }
}
