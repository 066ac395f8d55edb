//! Requests for permission: the agent's options as the host shows them, and
//! the one that a decision stands for.

use agent_client_protocol_schema::v1::{RequestPermissionRequest, ToolCallUpdate};
use innkeeper_protocol::agent::{ApprovalLabel, ApprovalOption, ToolVerdict};
use innkeeper_protocol::newest::state::ConfirmationOptionKind;
use serde_json::{Value, json};

/// Where options that hold for this time stand, and those that hold for good.
const ONCE: i64 = 0;
const ALWAYS: i64 = 1;

#[derive(Debug)]
pub(super) struct PermissionRequest {
    /// The agent's name for its request.
    pub(super) request: Value,
    pub(super) options: Vec<ApprovalOption>,
}

/// What an agent asks permission for, with its options. Those may be of kinds
/// that nobody knows, so they are read by themselves.
pub(super) fn asked(
    id: &Value,
    params: &Value,
) -> serde_json::Result<(ToolCallUpdate, PermissionRequest)> {
    let mut known = params.clone();
    // Parameters that are not an object have no options either.
    if let Some(known) = known.as_object_mut() {
        known.insert("options".to_owned(), json!([]));
    }
    let call: RequestPermissionRequest = serde_json::from_value(known)?;
    let request = PermissionRequest {
        request: id.clone(),
        options: options(&params["options"]),
    };
    Ok((call.tool_call, request))
}

/// The options as the agent wrote them, kinds that nobody knows included.
pub(super) fn options(given: &Value) -> Vec<ApprovalOption> {
    let options = given.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = |option: &Value| {
        let id = option["optionId"].as_str()?;
        let kind = option["kind"].as_str().unwrap_or_default();
        let name = option["name"].as_str().unwrap_or(id);
        // Some agents have a kind for every answer, and some only a name.
        let words = [id, name].map(str::to_lowercase);
        let always = kind.ends_with("always") || words.iter().any(|it| it.contains("always"));
        Some(ApprovalOption {
            id: id.to_owned(),
            label: label(kind, name),
            kind: match kind {
                _ if kind.starts_with("allow") => ConfirmationOptionKind::Approve,
                _ if kind.starts_with("reject") => ConfirmationOptionKind::Deny,
                other => ConfirmationOptionKind::Unknown(other.to_owned()),
            },
            group: Some(if always { ALWAYS } else { ONCE }),
        })
    };
    options.iter().filter_map(read).collect()
}

/// What an option is called: as the agent says, unless that is a word for
/// machines.
fn label(kind: &str, name: &str) -> ApprovalLabel {
    let for_machines = name.contains('_') && !name.contains(char::is_whitespace);
    match kind {
        _ if !for_machines && !name.trim().is_empty() => ApprovalLabel::Own(name.to_owned()),
        "allow_once" => ApprovalLabel::AllowOnce,
        "allow_always" => ApprovalLabel::AllowAlways,
        "reject_once" => ApprovalLabel::DenyOnce,
        "reject_always" => ApprovalLabel::DenyAlways,
        _ => ApprovalLabel::Own(name.to_owned()),
    }
}

/// The option that a verdict means: the one that was selected, else the most
/// modest one of its kind.
pub(super) fn choose(options: &[ApprovalOption], verdict: &ToolVerdict) -> Option<ApprovalOption> {
    let (selected, kind) = match verdict {
        ToolVerdict::Approved { option, .. } => (option, ConfirmationOptionKind::Approve),
        ToolVerdict::Denied { option, .. } => (option, ConfirmationOptionKind::Deny),
    };
    let selected = selected.as_ref().and_then(|selected| {
        let mut options = options.iter();
        options.find(|option| option.id == selected.id && option.kind == selected.kind)
    });
    let modest = || {
        options
            .iter()
            .filter(|option| option.kind == kind)
            .min_by_key(|o| o.group)
    };
    selected.or_else(modest).cloned()
}

/// The answer to a request; no option means that it came to nothing.
pub(super) fn answer(chosen: Option<&ApprovalOption>) -> Value {
    match chosen {
        Some(option) => json!({"outcome": {"outcome": "selected", "optionId": option.id}}),
        None => json!({"outcome": {"outcome": "cancelled"}}),
    }
}

#[cfg(test)]
mod tests {
    use innkeeper_protocol::newest::state::ConfirmationOption;

    use super::*;

    fn given() -> Vec<ApprovalOption> {
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
    fn names_for_machines_are_put_into_words() {
        let named = |kind: &str, name: &str| {
            let given = json!([{"optionId": "x", "name": name, "kind": kind}]);
            options(&given).remove(0).label.to_string()
        };
        assert_eq!(named("allow_once", "allow_once"), "Allow once");
        assert_eq!(named("allow_always", "allow_always"), "Always allow");
        assert_eq!(named("reject_once", ""), "Deny");
        assert_eq!(
            named("reject_once", "No, keep planning"),
            "No, keep planning"
        );
        assert_eq!(named("postpone", "not_now"), "not_now");
    }

    #[test]
    fn an_option_that_says_always_is_none_for_this_time() {
        let given = json!([{"optionId": "x", "name": "Always, for `rm`", "kind": "allow_once"}]);
        assert_eq!(options(&given)[0].group, Some(ALWAYS));
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
        let selected = Some(ConfirmationOption {
            id: options[0].id.clone(),
            label: "In another language".to_owned(),
            kind: options[0].kind.clone(),
            group: options[0].group,
        });
        assert_eq!(chosen(&approved(selected)).as_deref(), Some("a!"));
        assert_eq!(choose(&[], &approved(None)), None);
    }
}
