//! Random words of the newest version: messages, parts, tools and so on.

use serde_json::{Value, json};

/// A small random generator that repeats itself from its seed.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let sides = u64::try_from(sides.max(1)).unwrap();
        usize::try_from((self.0 >> 11) % sides).unwrap()
    }

    pub(crate) fn maybe(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// Keeps or removes each optional field.
    pub(crate) fn thin(&mut self, mut value: Value, optional: &[&str]) -> Value {
        for key in optional {
            if self.maybe()
                && let Some(object) = value.as_object_mut()
            {
                object.remove(*key);
            }
        }
        value
    }
}

pub(crate) fn chat_summary(resource: &str, title: &str) -> Value {
    json!({
        "resource": resource, "title": title, "status": 1, "modifiedAt": "2026-01-01T00:00:00.000Z",
        "changes": {"files": 2}, "movable": true, "workingDirectories": ["file:///w"],
        "interactivity": "full", "origin": {"kind": "sideChat", "chat": "x:c", "turnId": "t"},
    })
}

impl Dice {
    pub(crate) fn model(&mut self) -> Value {
        let id = self.pick(&["m1", "m2", "m3"]);
        match self.below(3) {
            0 => json!({"id": id}),
            1 => json!({"id": id, "config": {"effort": "high"}}),
            _ => json!({"id": id, "config": {"budget": 5, "on": true}}),
        }
    }

    pub(crate) fn message(&mut self) -> Value {
        let (model, text) = (self.model(), self.pick(&["hi", "do it", "again"]));
        let kind = self.pick(&["user", "agent", "tool", "automation", "systemNotification"]);
        let attachments = [
            json!({"type": "simple", "label": "note", "modelRepresentation": "text"}),
            json!({"type": "embeddedResource", "label": "i.png", "data": "AAAA",
                   "contentType": "image/png"}),
            json!({"type": "resource", "label": "a.rs", "uri": "file:///w/a.rs", "nonce": "1",
                   "displayKind": "selection", "_meta": {"k": 1}}),
            json!({"type": "annotations", "label": "notes", "resource": "x:a"}),
            json!({"type": "chat", "label": "chat", "resource": "x:c", "endTurn": "t"}),
        ];
        let attachments = [self.pick(&attachments), self.pick(&attachments)];
        let message = json!({
            "text": text, "origin": {"kind": kind}, "model": model,
            "agent": {"uri": "file:///agent"}, "attachments": attachments, "_meta": {"m": 1},
        });
        self.thin(message, &["model", "agent", "attachments", "_meta"])
    }

    pub(crate) fn error(&mut self) -> Value {
        let error = json!({"errorType": "boom", "message": "It broke", "_meta": {"x": 1}});
        self.thin(error, &["_meta"])
    }

    pub(crate) fn part(&mut self, id: &str) -> Value {
        let parts = [
            json!({"kind": "markdown", "id": id, "content": ""}),
            json!({"kind": "markdown", "id": id, "content": "Hello "}),
            json!({"kind": "reasoning", "id": id, "content": ""}),
            json!({"kind": "systemNotification", "content": "Compacted", "_meta": {"x": 1}}),
            json!({"kind": "systemNotification", "content": {"markdown": "*Switched*"}}),
            json!({"kind": "contentRef", "uri": "x:content", "sizeHint": 9, "nonce": "2"}),
        ];
        self.pick(&parts)
    }

    pub(crate) fn contents(&mut self) -> Value {
        let all = [
            json!({"type": "text", "text": "done"}),
            json!({"type": "embeddedResource", "data": "AAAA", "contentType": "image/png"}),
            json!({"type": "resource", "uri": "file:///w/b", "nonce": "3"}),
            json!({"type": "fileEdit", "after": {"uri": "file:///w/b",
                   "content": {"uri": "x:after", "nonce": "4"}}, "diff": {"added": 1}}),
            json!({"type": "terminal", "resource": "ahp-terminal:/1", "title": "bash"}),
            json!({"type": "terminal", "resource": "ahp-terminal:/1", "title": "bash",
                   "isPty": true, "result": {"exitCode": 0, "preview": "ok"}}),
            json!({"type": "subagent", "resource": "ahp-chat:/side", "title": "Helper"}),
        ];
        json!([self.pick(&all), self.pick(&all)])
    }

    pub(crate) fn result(&mut self) -> Value {
        let result = json!({
            "success": self.maybe(), "pastTenseMessage": "Ran", "content": self.contents(),
            "structuredContent": {"a": 1}, "error": {"message": "no"},
        });
        self.thin(result, &["content", "structuredContent", "error"])
    }

    pub(crate) fn contributor(&mut self) -> Value {
        self.pick(&[
            json!({"kind": "client", "clientId": "c1"}),
            json!({"kind": "mcp", "customizationId": "mcp"}),
        ])
    }

    pub(crate) fn auth(&mut self) -> Value {
        json!({"reason": "required", "resource": {"resource": "https://x"},
               "oauthClient": {"clientId": "o"}})
    }

    pub(crate) fn question(&mut self, id: &str) -> Value {
        let request = json!({
            "id": id, "message": "Which?",
            "questions": [{"kind": "text", "id": "q1", "message": "Name?"},
                          {"kind": "single-select", "id": "q2", "message": "Pick",
                           "options": [{"id": "a", "label": "A"}]}],
            "answers": {"q1": self.answer()},
        });
        self.thin(request, &["message", "answers"])
    }

    pub(crate) fn answer(&mut self) -> Value {
        self.pick(&[
            json!({"state": "draft", "value": {"kind": "text", "value": "x"}}),
            json!({"state": "submitted", "value": {"kind": "selected", "value": "a"}}),
            json!({"state": "skipped"}),
        ])
    }

    pub(crate) fn enablement(&mut self) -> Value {
        let on = self.maybe();
        self.pick(&[
            json!([]),
            json!([{"kind": "session", "enabled": on}, {"kind": "global", "enabled": true}]),
            json!([{"kind": "workspace", "uri": "file:///w", "enabled": on}]),
        ])
    }

    pub(crate) fn mcp_state(&mut self) -> Value {
        let state = json!({"kind": "starting", "blocking": true});
        self.pick(&[
            state,
            json!({"kind": "ready"}),
            json!({"kind": "stopped"}),
            json!({"kind": "error", "error": {"errorType": "x", "message": "y"}}),
            json!({"kind": "authRequired", "reason": "required", "oauthClient": {"clientId": "o"},
                   "resource": {"resource": "https://x"}}),
        ])
    }

    fn server(&mut self, id: &str) -> Value {
        let server = json!({"type": "mcpServer", "id": id, "uri": "x:mcp", "name": "Server",
            "state": self.mcp_state(), "channel": "mcp:/1", "_meta": {"a": 1},
            "enablement": self.enablement()});
        self.thin(server, &["channel", "_meta", "enablement"])
    }

    pub(crate) fn customization(&mut self) -> Value {
        let children = json!([
            {"type": "agent", "id": "agent", "uri": "x:agent", "name": "Agent", "model": "m",
             "tools": ["t"], "enabled": true, "_meta": {"a": 1}},
            {"type": "skill", "id": "skill", "uri": "x:skill", "name": "Skill",
             "disableUserInvocation": true, "_meta": {"a": 1}},
            self.server("child"),
        ]);
        let plugin = json!({"type": "plugin", "id": "plugin", "uri": "x:plugin", "name": "Plugin",
            "enablement": self.enablement(), "children": children, "version": "1",
            "load": {"kind": "degraded", "message": "slow"}, "_meta": {"b": 1}});
        let directory = json!({"type": "directory", "id": "dir", "uri": "x:dir", "name": "Rules",
            "enabled": self.maybe(), "contents": self.pick(&["rule", "mcpServer"]), "writable": true,
            "children": [{"type": "rule", "id": "rule", "uri": "x:rule", "name": "Rule"},
                         {"type": "hook", "id": "hook", "uri": "x:hook", "name": "Hook"},
                         {"type": "prompt", "id": "prompt", "uri": "x:prompt", "name": "P"}]});
        let server = self.server("mcp");
        let kinds = [plugin, directory, server];
        let one = self.pick(&kinds);
        self.thin(one, &["children", "version", "load", "_meta"])
    }

    pub(crate) fn client(&mut self) -> Value {
        let id = self.pick(&["c1", "c2"]);
        let tools = json!([{"name": self.pick(&["look", "click"]), "description": "d",
                            "inputSchema": {"type": "object"}}]);
        let client = json!({"clientId": id, "displayName": "Editor", "tools": tools,
            "customizations": [{"type": "plugin", "id": "p", "uri": "x:p", "name": "P",
                "nonce": "n", "enablement": self.enablement(), "childEnablement": {}}]});
        self.thin(client, &["displayName", "customizations"])
    }

    pub(crate) fn changeset(&mut self) -> Value {
        let changesets = json!([{"label": "Changes", "uriTemplate": "ahp-changeset:/1",
            "changeKind": self.pick(&["session", "turn"]), "capabilities": {"review": {}}}]);
        match self.below(4) {
            0 => Value::Null,
            _ => changesets,
        }
    }

    pub(crate) fn file(&mut self, id: &str) -> Value {
        let file = json!({"id": id, "reviewed": true, "_meta": {"a": 1}, "edit": {
            "diff": {"added": 1},
            "before": {"uri": "file:///w/a", "content": {"uri": "x:before", "nonce": "5"}},
        }});
        self.thin(file, &["reviewed", "_meta"])
    }

    pub(crate) fn operation(&mut self) -> Value {
        let operation = json!({"id": "op", "label": "Revert", "scopes": ["changeset"],
            "group": "g", "status": self.pick(&["idle", "running", "disabled"])});
        self.thin(operation, &["group"])
    }
}
