//! Settings of sessions that mean the same whichever agent a session has: the
//! one place with their names, their values, and other names for these.
//!
//! Clients have controls of their own for `autoApprove` and `mode`, and show
//! them only where the values are the ones that they know. So the host names
//! the values as they do, and goes on taking the names that it gave them
//! before and those that an agent gives them.

use serde_json::{Value, json};

use crate::agent::setting;
use crate::newest::common::JsonObject;
use crate::newest::state::SessionConfigPropertySchema;

/// Whether tool calls wait for an approval.
pub const AUTO_APPROVE: &str = "autoApprove";
/// They do, when the agent asks.
const APPROVE_WHEN_ASKED: &str = "default";
const APPROVE_ALL: &str = "autoApprove";

/// How an agent works: on its own, with questions, or planning only.
pub const MODE: &str = "mode";
/// What clients call the mode that an agent begins in.
pub const INTERACTIVE: &str = "interactive";

/// Where a session works: in the directory itself, or in a git worktree of its
/// own.
pub const ISOLATION: &str = "isolation";
pub const FOLDER: &str = "folder";
pub const WORKTREE: &str = "worktree";
/// The branch that such a worktree begins at.
pub const BRANCH: &str = "branch";

/// Which of the conversations that an agent had alone a session goes on with.
pub const CONTINUE: &str = "continue";

/// Two names for the same value of a setting. A schema has one of them; either
/// is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Synonym {
    setting: String,
    names: [String; 2],
}

impl Synonym {
    pub fn new(setting: &str, one: &str, other: &str) -> Self {
        Self {
            setting: setting.to_owned(),
            names: [one.to_owned(), other.to_owned()],
        }
    }

    /// The other name of a value, if this is about it.
    pub fn other_name(&self, setting: &str, value: &Value) -> Option<Value> {
        let [one, other] = &self.names;
        let name = value.as_str().filter(|_| self.setting == setting)?;
        let meant = match name {
            _ if name == one => other,
            _ if name == other => one,
            _ => return None,
        };
        Some(json!(meant))
    }
}

/// The setting `autoApprove`, as every agent's sessions have it.
pub fn auto_approve() -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        description: Some("Whether tool calls wait for an approval.".to_owned()),
        default: Some(json!(APPROVE_WHEN_ASKED)),
        r#enum: Some(vec![json!(APPROVE_WHEN_ASKED), json!(APPROVE_ALL)]),
        enum_labels: Some(vec![
            "When the agent asks".to_owned(),
            "Approve all".to_owned(),
        ]),
        session_mutable: Some(true),
        ..setting("string", "Approvals")
    }
}

/// The setting `continue`, of sessions with agents that can tell of what was
/// said without the host.
pub fn conversation_to_continue() -> SessionConfigPropertySchema {
    SessionConfigPropertySchema {
        description: Some("An earlier conversation of the agent to continue.".to_owned()),
        enum_dynamic: Some(true),
        ..setting("string", "Continue")
    }
}

/// What the values of `autoApprove` were called in the first release.
pub fn former_names() -> [Synonym; 2] {
    [
        Synonym::new(AUTO_APPROVE, APPROVE_WHEN_ASKED, "ask"),
        Synonym::new(AUTO_APPROVE, APPROVE_ALL, "all"),
    ]
}

/// Whether a session with these settings approves whatever its agent asks.
pub fn approves_all(values: &JsonObject) -> bool {
    let all = json!(APPROVE_ALL);
    values.get(AUTO_APPROVE).is_some_and(|value| {
        let mut names = former_names().into_iter();
        *value == all || names.any(|name| name.other_name(AUTO_APPROVE, value) == Some(all.clone()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_approved_under_either_name() {
        for (value, approves) in [
            ("autoApprove", true),
            ("all", true),
            ("default", false),
            ("ask", false),
            ("autopilot", false),
        ] {
            let values = json!({AUTO_APPROVE: value});
            let values = values.as_object().cloned().unwrap_or_default();
            assert_eq!(approves_all(&values), approves, "{value}");
        }
        assert!(!approves_all(&JsonObject::new()));
    }

    #[test]
    fn a_synonym_is_about_its_setting_and_works_both_ways() {
        let synonym = Synonym::new(MODE, INTERACTIVE, "code");
        let other = |setting, value: &str| synonym.other_name(setting, &json!(value));
        assert_eq!(other(MODE, "code"), Some(json!(INTERACTIVE)));
        assert_eq!(other(MODE, INTERACTIVE), Some(json!("code")));
        assert_eq!(other(MODE, "plan"), None);
        assert_eq!(other(AUTO_APPROVE, "code"), None);
        assert_eq!(synonym.other_name(MODE, &json!(7)), None);
    }
}
