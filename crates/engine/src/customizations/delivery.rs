//! How a customization comes to the agent of its session, as clients are told
//! in its `_meta`. Whether it is on is another matter: what an agent reads by
//! itself, it reads although it is off, and the host passes on only what is on.

use innkeeper_protocol::agent::AgentProfile;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    ChildCustomization, Customization, McpServerCustomization,
};
use serde_json::json;

use super::items::{children_of_mut, id_of};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    /// The agent reads it by itself.
    Agent,
    /// The host passes it on.
    Host,
    /// It comes with a message that uses it.
    Use,
    /// It does not come to this agent.
    Nothing,
}

impl Delivery {
    fn name(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Host => "host",
            Self::Use => "use",
            Self::Nothing => "none",
        }
    }

    fn write(self, meta: &mut Option<JsonObject>) {
        let meta = meta.get_or_insert_default();
        let own = meta.entry("innkeeper").or_insert_with(|| json!({}));
        if let Some(own) = own.as_object_mut() {
            own.insert("delivery".to_owned(), self.name().into());
        }
    }
}

/// Writes into a customization and what is in it how they come to an agent.
pub(super) fn show(it: &mut Customization, agent: &AgentProfile) {
    // What the agent itself brings needs no way to it.
    let own = agent.info.customizations.iter().flatten();
    let is_own = own.map(id_of).any(|id| id.is_some() && id == id_of(it));
    if let Customization::McpServer(server) = it {
        return of_server(server, agent, is_own).write(&mut server.meta);
    }
    for child in children_of_mut(it) {
        of_child(child, agent, is_own);
    }
}

fn of_child(child: &mut ChildCustomization, agent: &AgentProfile, is_own: bool) {
    let told = match agent.reach.is_told {
        true => Delivery::Host,
        false => Delivery::Nothing,
    };
    let (uri, otherwise, meta) = match child {
        ChildCustomization::Agent(it) => (&it.uri, told, &mut it.meta),
        ChildCustomization::Rule(it) => (&it.uri, told, &mut it.meta),
        ChildCustomization::Skill(it) => {
            let otherwise = match (told, it.disable_user_invocation) {
                (Delivery::Nothing, None | Some(false)) => Delivery::Use,
                (told, _) => told,
            };
            (&it.uri, otherwise, &mut it.meta)
        }
        ChildCustomization::Prompt(it) => (&it.uri, Delivery::Use, &mut it.meta),
        ChildCustomization::Hook(it) => (&it.uri, Delivery::Nothing, &mut it.meta),
        ChildCustomization::McpServer(server) => {
            return of_server(server, agent, is_own).write(&mut server.meta);
        }
        ChildCustomization::Unknown(_) => return,
    };
    let delivery = match is_own || agent.reach.reads(uri) {
        true => Delivery::Agent,
        false => otherwise,
    };
    delivery.write(meta);
}

fn of_server(server: &McpServerCustomization, agent: &AgentProfile, is_own: bool) -> Delivery {
    if is_own || agent.reach.reads(&server.uri) {
        return Delivery::Agent;
    }
    match agent.reach.takes_servers {
        true => Delivery::Host,
        false => Delivery::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use innkeeper_protocol::workspace::customization::Reach;
    use serde_json::Value;

    use super::*;

    fn agent(reach: Reach) -> AgentProfile {
        let info = json!({
            "provider": "a", "displayName": "A", "description": "", "models": [],
            "customizations": [{"type": "plugin", "id": "own", "uri": "x:own", "name": "own"}],
        });
        AgentProfile {
            info: serde_json::from_value(info).unwrap(),
            config: None,
            synonyms: Vec::new(),
            works: true,
            resumes: true,
            reach,
        }
    }

    /// How a child comes to an agent, if the container has this id.
    fn delivery(agent: &AgentProfile, container: &str, child: &Value) -> String {
        let mut child = child.clone();
        (child["id"], child["name"]) = (json!("c"), json!("c"));
        let plugin = json!({"type": "plugin", "id": container, "uri": "x:p", "name": "p",
            "children": [child]});
        let mut plugin: Customization = serde_json::from_value(plugin).unwrap();
        show(&mut plugin, agent);
        let shown = json!(plugin);
        shown["children"][0]["_meta"]["innkeeper"]["delivery"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn it_depends_on_the_agent_and_on_the_kind() {
        let reads = vec![".claude/".to_owned(), ".mcp.json".to_owned()];
        let told = agent(Reach {
            reads: reads.clone(),
            is_told: true,
            takes_servers: true,
            ..Reach::default()
        });
        let alone = agent(Reach {
            reads,
            ..Reach::default()
        });
        let server =
            |uri: &str| json!({"type": "mcpServer", "uri": uri, "state": {"kind": "stopped"}});
        let file = |kind: &str, uri: &str| json!({"type": kind, "uri": uri});
        let hidden =
            json!({"type": "skill", "uri": "file:///w/s.md", "disableUserInvocation": true});
        for (child, by_told, by_alone) in [
            (
                file("rule", "file:///w/.claude/rules/r.md"),
                "agent",
                "agent",
            ),
            (file("rule", "file:///w/AGENTS.md"), "host", "none"),
            (
                file("agent", "file:///w/.agents/agents/a.md"),
                "host",
                "none",
            ),
            (
                file("skill", "file:///w/.agents/skills/s/SKILL.md"),
                "host",
                "use",
            ),
            (hidden, "host", "none"),
            (
                file("prompt", "file:///w/.github/prompts/p.md"),
                "use",
                "use",
            ),
            (
                file("hook", "file:///w/.claude/settings.json"),
                "agent",
                "agent",
            ),
            (file("hook", "file:///w/.cursor/hooks.json"), "none", "none"),
            (server("file:///w/.mcp.json"), "agent", "agent"),
            (server("file:///w/.vscode/mcp.json"), "host", "none"),
        ] {
            assert_eq!(delivery(&told, "p", &child), by_told, "{child}");
            assert_eq!(delivery(&alone, "p", &child), by_alone, "{child}");
            assert_eq!(delivery(&alone, "own", &child), "agent", "{child}");
        }
    }

    #[test]
    fn what_else_is_said_about_it_stays() {
        let rule = json!({"type": "rule", "uri": "file:///w/AGENTS.md", "id": "r", "name": "r",
            "_meta": {"theirs": 1, "innkeeper": {"ours": 2}}});
        let mut rule: ChildCustomization = serde_json::from_value(rule).unwrap();
        of_child(&mut rule, &agent(Reach::default()), false);
        let meta = json!({"theirs": 1, "innkeeper": {"ours": 2, "delivery": "none"}});
        assert_eq!(json!(rule)["_meta"], meta);
    }
}
