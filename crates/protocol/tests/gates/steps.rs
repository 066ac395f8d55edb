//! What can happen next in the small host: one random step at a time.

use ahp_types::state::{ResponsePart, SessionLifecycle, ToolCallState, TurnState};
use serde_json::{Value, json};

use crate::model_host::{
    ANNOTATIONS, AUTOMATIONS, CANVAS, CHANGESET, ModelHost, ROOT, RUN, SESSION, SIDE, TERMINAL,
    WATCH, default_chat,
};
use crate::words::chat_summary;

impl ModelHost {
    pub(crate) fn step(&mut self) {
        match self.dice.below(20) {
            0..=11 => {
                let chat = match self.dice.below(4) {
                    0 => SIDE.to_owned(),
                    _ => default_chat(),
                };
                self.chat_step(&chat);
            }
            12..=15 => self.session_step(),
            16 => self.root_step(),
            17 => self.terminal_step(),
            18 => self.changeset_step(),
            _ => self.rare_step(),
        }
    }

    /// Ends all waiting for sign-ins: no published type reads a snapshot of a
    /// call that waits for one, since its `status` is there twice.
    pub(crate) fn sign_in(&mut self) {
        for chat in [default_chat(), SIDE.to_owned()] {
            let Some(turn) = &self.chats[&chat].state.active_turn else {
                continue;
            };
            let waiting = turn.response_parts.iter().filter_map(|part| match part {
                ResponsePart::ToolCall(part) => match &part.tool_call {
                    ToolCallState::AuthRequired(call) => Some(call.tool_call_id.clone()),
                    _ => None,
                },
                _ => None,
            });
            let (turn, waiting) = (turn.id.clone(), waiting.collect::<Vec<String>>());
            for call in waiting {
                let kind = "chat/toolCallAuthResolved";
                self.emit(
                    &chat,
                    json!({"type": kind, "turnId": turn, "toolCallId": call}),
                );
            }
        }
    }

    fn chat_step(&mut self, chat: &str) {
        let turn = self.chats[chat]
            .state
            .active_turn
            .as_ref()
            .map(|turn| turn.id.clone());
        match (turn, self.dice.below(10)) {
            (Some(turn), 0..=7) => self.turn_step(chat, &turn),
            (None, 0..=4) => self.start_turn(chat),
            _ => self.aside(chat),
        }
    }

    fn start_turn(&mut self, chat: &str) {
        if self.dice.below(3) == 0
            && let Some(last) = self.chats[chat].state.turns.last()
            && last.state == TurnState::Error
        {
            let turn = last.id.clone();
            self.emit(chat, json!({"type": "chat/turnResume", "turnId": turn}));
            return;
        }
        let (turn, message) = (self.fresh("t"), self.dice.message());
        let mut action = json!({
            "type": "chat/turnStarted", "turnId": turn, "message": message, "_meta": {"z": 1},
            "startedAt": format!("2026-02-01T00:00:{:02}.000Z", self.count % 60),
        });
        if let Some(queued) = self.chats[chat]
            .state
            .queued_messages
            .iter()
            .flatten()
            .next()
        {
            action["queuedMessageId"] = queued.id.clone().into();
        }
        self.emit(chat, action);
    }

    fn turn_step(&mut self, chat: &str, turn: &str) {
        match self.dice.below(12) {
            0 => {
                let id = self.fresh("p");
                let part = self.dice.part(&id);
                self.emit(
                    chat,
                    json!({"type": "chat/responsePart", "turnId": turn, "part": part}),
                );
            }
            1 | 2 => self.append(chat, turn),
            3 => {
                let id = self.fresh("call");
                let start = json!({
                    "type": "chat/toolCallStart", "turnId": turn, "toolCallId": id,
                    "toolName": "bash", "displayName": "Run", "intention": "to see",
                    "contributor": self.dice.contributor(), "_meta": {"kind": "terminal"},
                });
                let start = self
                    .dice
                    .thin(start, &["intention", "contributor", "_meta"]);
                self.emit(chat, start);
            }
            4..=8 => self.tool_step(chat, turn),
            9 => self.question_step(chat),
            10 => {
                let usage = json!({"inputTokens": 5, "outputTokens": 2, "_meta": {"cost": 1}});
                let usage = self.dice.thin(usage, &["outputTokens", "_meta"]);
                self.emit(
                    chat,
                    json!({"type": "chat/usage", "turnId": turn, "usage": usage}),
                );
            }
            _ => self.end_turn(chat, turn),
        }
    }

    fn append(&mut self, chat: &str, turn: &str) {
        let parts = self.chats[chat].state.active_turn.as_ref();
        let ids: Vec<(&str, String)> = parts
            .iter()
            .flat_map(|turn| &turn.response_parts)
            .filter_map(|part| match part {
                ResponsePart::Markdown(part) => Some(("chat/delta", part.id.clone())),
                ResponsePart::Reasoning(part) => Some(("chat/reasoning", part.id.clone())),
                _ => None,
            })
            .collect();
        if let Some((kind, id)) = (!ids.is_empty()).then(|| self.dice.pick(&ids)) {
            let content = self.dice.pick(&["word ", "löng ", ""]);
            self.emit(
                chat,
                json!({"type": kind, "turnId": turn, "partId": id, "content": content}),
            );
        }
    }

    fn tool_step(&mut self, chat: &str, turn: &str) {
        let state = serde_json::to_value(&self.chats[chat].state.active_turn).unwrap();
        let parts = state["responseParts"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let calls: Vec<Value> = parts
            .iter()
            .map(|part| part["toolCall"].clone())
            .filter(Value::is_object)
            .collect();
        if calls.is_empty() {
            return;
        }
        let call = self.dice.pick(&calls);
        let id = &call["toolCallId"];
        let action = |kind: &str| json!({"type": kind, "turnId": turn, "toolCallId": id});
        // Mostly what comes next in a call's life, sometimes anything.
        let next = match (call["status"].as_str(), self.dice.below(6)) {
            (_, 0) => self.dice.below(9),
            (Some("streaming"), 1 | 2) => 0,
            (Some("streaming"), _) => 1,
            (Some("pending-confirmation"), _) => 2,
            (Some("running"), 1) => 1,
            (Some("running"), 2) => 5,
            (Some("running"), 3) => 6,
            (Some("running"), _) => 3,
            (Some("auth-required"), 1 | 2) => 3,
            (Some("auth-required"), _) => 7,
            (Some("pending-result-confirmation"), _) => 4,
            _ => return,
        };
        let mut action = match next {
            0 => {
                let mut delta = action("chat/toolCallDelta");
                delta["content"] = "{\"a\":".into();
                delta["invocationMessage"] = "Preparing".into();
                self.dice.thin(delta, &["content", "invocationMessage"])
            }
            1 => {
                let mut ready = action("chat/toolCallReady");
                ready["invocationMessage"] = self
                    .dice
                    .pick(&[json!("Running"), json!({"markdown": "Running `ls`"})]);
                ready["toolInput"] = self.dice.pick(&[json!("ls"), json!({"uri": "x:input"})]);
                ready["confirmationTitle"] = "Run?".into();
                ready["editable"] = true.into();
                ready["edits"] = json!({"items": [{"after": {
                    "uri": "file:///w/a", "content": {"uri": "x:after", "nonce": "6"},
                }}]});
                ready["options"] = json!([
                    {"id": "yes", "label": "Yes", "kind": "approve"},
                    {"id": "no", "label": "No", "kind": "deny", "group": 2},
                ]);
                ready["riskAssessment"] = json!({"status": "loading", "kind": "judge"});
                ready["confirmed"] = "not-needed".into();
                let optional = [
                    "toolInput",
                    "confirmationTitle",
                    "editable",
                    "edits",
                    "options",
                    "riskAssessment",
                    "confirmed",
                ];
                self.dice.thin(ready, &optional)
            }
            2 => {
                let mut confirmed = action("chat/toolCallConfirmed");
                let approved = self.dice.below(3) > 0;
                confirmed["approved"] = approved.into();
                confirmed["selectedOptionId"] = if approved { "yes" } else { "no" }.into();
                if approved {
                    confirmed["confirmed"] = "user-action".into();
                    confirmed["editedToolInput"] = "ls -l".into();
                } else {
                    confirmed["reason"] = "denied".into();
                    confirmed["reasonMessage"] = "No".into();
                    confirmed["userSuggestion"] = self.dice.message();
                }
                let optional = [
                    "selectedOptionId",
                    "confirmed",
                    "editedToolInput",
                    "reason",
                    "reasonMessage",
                    "userSuggestion",
                ];
                self.dice.thin(confirmed, &optional)
            }
            3 => {
                let mut complete = action("chat/toolCallComplete");
                complete["result"] = self.dice.result();
                complete["requiresResultConfirmation"] = true.into();
                self.dice.thin(complete, &["requiresResultConfirmation"])
            }
            4 => {
                let mut confirmed = action("chat/toolCallResultConfirmed");
                confirmed["approved"] = self.dice.maybe().into();
                confirmed
            }
            5 => {
                let mut changed = action("chat/toolCallContentChanged");
                changed["content"] = self.dice.contents();
                changed
            }
            6 => {
                let mut required = action("chat/toolCallAuthRequired");
                required["auth"] = self.dice.auth();
                required
            }
            _ => action("chat/toolCallAuthResolved"),
        };
        if self.dice.below(4) == 0 {
            action["_meta"] = json!({"later": true});
        }
        self.emit(chat, action);
    }

    fn question_step(&mut self, chat: &str) {
        let turn = self.chats[chat].state.active_turn.as_ref();
        let open: Vec<String> = turn
            .iter()
            .flat_map(|turn| &turn.response_parts)
            .filter_map(|part| match part {
                ResponsePart::InputRequest(part) if part.response.is_none() => {
                    Some(part.request.id.clone())
                }
                _ => None,
            })
            .collect();
        let id = match open.is_empty() {
            true => self.fresh("ask"),
            false => self.dice.pick(&open),
        };
        let action = match self.dice.below(if open.is_empty() { 1 } else { 5 }) {
            0 => json!({"type": "chat/inputRequested", "request": self.dice.question(&id)}),
            1 | 2 => {
                let changed = json!({
                    "type": "chat/inputAnswerChanged", "requestId": id,
                    "questionId": self.dice.pick(&["q1", "q2"]), "answer": self.dice.answer(),
                });
                self.dice.thin(changed, &["answer"])
            }
            _ => {
                let completed = json!({
                    "type": "chat/inputCompleted", "requestId": id,
                    "response": self.dice.pick(&["accept", "decline", "cancel"]),
                    "answers": {"q2": self.dice.answer()},
                });
                self.dice.thin(completed, &["answers"])
            }
        };
        self.emit(chat, action);
    }

    fn end_turn(&mut self, chat: &str, turn: &str) {
        let mut action = json!({"turnId": turn, "duration": 1500});
        action["type"] = match self.dice.below(3) {
            0 => "chat/turnComplete",
            1 => "chat/turnCancelled",
            _ => {
                // A host closes its questions before a turn can be resumed.
                let resumable = !matches!(
                    &self.chats[chat].state.active_turn,
                    Some(turn) if turn.response_parts.iter().any(|part| matches!(
                        part,
                        ResponsePart::InputRequest(part) if part.response.is_none()
                    ))
                );
                action["part"] = json!({"error": self.dice.error(), "resumable": resumable});
                "chat/error"
            }
        }
        .into();
        self.emit(chat, action);
    }

    /// What happens in a chat beside its turns.
    fn aside(&mut self, chat: &str) {
        let queue: Vec<String> = self.chats[chat]
            .state
            .queued_messages
            .iter()
            .flatten()
            .map(|it| it.id.clone())
            .collect();
        let turns: Vec<String> = self.chats[chat]
            .state
            .turns
            .iter()
            .map(|it| it.id.clone())
            .collect();
        let action = match self.dice.below(16) {
            0 | 1 => {
                let id = self.fresh("m");
                json!({"type": "chat/pendingMessageSet", "kind": self.dice.pick(&["queued",
                    "queued", "steering"]), "id": id, "message": self.dice.message()})
            }
            2 => {
                let steering = self.chats[chat].state.steering_message.as_ref();
                match (steering.map(|it| it.id.clone()), queue.is_empty()) {
                    (Some(id), _) if self.dice.maybe() => {
                        json!({"type": "chat/pendingMessageRemoved", "kind": "steering", "id": id})
                    }
                    (_, false) => json!({"type": "chat/pendingMessageRemoved", "kind": "queued",
                        "id": self.dice.pick(&queue)}),
                    _ => return,
                }
            }
            3 => {
                let mut order = queue;
                order.reverse();
                json!({"type": "chat/queuedMessagesReordered", "order": order})
            }
            4 | 5 => match self.dice.below(4) {
                0 => json!({"type": "chat/draftChanged"}),
                _ => json!({"type": "chat/draftChanged", "draft": self.dice.message()}),
            },
            6 if !turns.is_empty() => match self.dice.below(4) {
                0 => json!({"type": "chat/truncated"}),
                _ => json!({"type": "chat/truncated", "turnId": self.dice.pick(&turns)}),
            },
            7 => json!({"type": "chat/activityChanged", "activity": "Thinking"}),
            8 => json!({"type": "chat/backgroundWorkSet", "work": {"kind": "shell", "id": "w",
                "label": "Server", "startedAt": "2026-01-01T00:00:00Z", "command": "serve"}}),
            9 => json!({"type": "chat/backgroundWorkRemoved", "id": "w"}),
            10 => json!({"type": "chat/movableChanged", "movable": true}),
            11 => json!({"type": "chat/changesetsChanged", "changesets": self.dice.changeset()}),
            12 => json!({"type": "chat/canvasesChanged", "canvases": [{"resource": CANVAS}]}),
            13 => {
                let kind = self.dice.pick(&["Set", "Removed"]);
                json!({"type": format!("chat/workingDirectory{kind}"), "directory": "file:///v"})
            }
            14 => json!({"type": "chat/isReadChanged", "isRead": self.dice.maybe()}),
            _ => json!({"type": "chat/isArchivedChanged", "isArchived": self.dice.maybe()}),
        };
        self.emit(chat, action);
    }

    fn session_step(&mut self) {
        let ids = ["plugin", "dir", "mcp", "agent", "child", "rule", "nothing"];
        let action = match self.dice.below(28) {
            // Once, before anything has come to an end.
            0 if self.session.lifecycle == SessionLifecycle::Creating
                && self.chats[&default_chat()].state.turns.is_empty() =>
            {
                json!({"type": "session/ready"})
            }
            0 | 1 => json!({"type": "session/creationFailed", "error": self.dice.error()}),
            2 => json!({"type": "session/titleChanged", "title": self.dice.pick(&["A", "B"])}),
            3 => json!({"type": "session/isReadChanged", "isRead": self.dice.below(3) > 0}),
            4 => json!({"type": "session/isArchivedChanged", "isArchived": self.dice.maybe()}),
            5 => {
                let changed = json!({"type": "session/activityChanged", "activity": "Busy"});
                self.dice.thin(changed, &["activity"])
            }
            6 => json!({"type": "session/changesetsChanged",
                        "changesets": self.dice.changeset()}),
            7 => {
                let changed = json!({"type": "session/configChanged", "config": {"mode": "b"},
                    "replace": self.dice.maybe()});
                self.dice.thin(changed, &["replace"])
            }
            8 => json!({"type": "session/metaChanged", "_meta": {"git": {"branch": "x"}}}),
            9 => json!({"type": "session/serverToolsChanged", "tools": [{"name": "t",
                        "description": "d", "inputSchema": {"type": "object"}}]}),
            10..=12 => {
                let mut client = self.dice.client();
                // Often the one that is active already, with other tools.
                if let Some(first) = self.session.active_clients.first()
                    && self.dice.maybe()
                {
                    let tools = client["tools"].take();
                    client = serde_json::to_value(first).unwrap();
                    client["tools"] = tools;
                }
                json!({"type": "session/activeClientSet", "activeClient": client})
            }
            13 => json!({"type": "session/activeClientRemoved",
                         "clientId": self.dice.pick(&["c1", "c2"])}),
            14 => self.directory_action(),
            15 | 16 => self.attention_action(),
            17 => json!({"type": "session/customizationsChanged",
                "customizations": [self.dice.customization()]}),
            18 | 19 => json!({"type": "session/customizationToggled",
                "id": self.dice.pick(&ids), "enablement": self.dice.enablement()}),
            20 | 21 => json!({"type": "session/customizationUpdated",
                "customization": self.dice.customization()}),
            22 => json!({"type": "session/customizationRemoved", "id": self.dice.pick(&ids)}),
            23 => {
                let changed = json!({"type": "session/mcpServerStateChanged",
                    "id": self.dice.pick(&["mcp", "child"]), "state": self.dice.mcp_state(),
                    "channel": "mcp:/2"});
                self.dice.thin(changed, &["channel"])
            }
            24 => {
                let kind = self.dice.pick(&["Start", "Stop", "Background"]);
                json!({"type": format!("session/mcpServer{kind}Requested"),
                       "id": self.dice.pick(&["mcp", "child"])})
            }
            _ => self.catalogue_action(),
        };
        self.emit(SESSION, action);
    }

    /// The first directory stays: versions up to 0.6 know only that one.
    fn directory_action(&mut self) -> Value {
        let listed = self.session.working_directories.iter().flatten().skip(1);
        let mut choice: Vec<String> = listed.cloned().collect();
        choice.push("file:///a".to_owned());
        let one = self.dice.pick(&choice);
        match self.dice.below(4) {
            0 | 1 => json!({"type": "session/workingDirectorySet",
                            "directory": self.dice.pick(&["file:///b", "file:///c"])}),
            2 => json!({"type": "session/workingDirectoryRemoved", "directory": one}),
            _ => json!({"type": "session/workingDirectoryReplaced", "directory": one,
                        "replacement": self.dice.pick(&["file:///a", "file:///d"])}),
        }
    }

    fn attention_action(&mut self) -> Value {
        let call = json!({"toolCallId": "x", "toolName": "bash", "displayName": "Run",
                          "invocationMessage": "Running"});
        let with = |fields: Value| {
            let mut call = call.clone();
            for (key, value) in fields.as_object().into_iter().flatten() {
                call[key] = value.clone();
            }
            call
        };
        let chat = default_chat();
        let auth = self.dice.auth();
        let question = self.dice.question("ask");
        let all = [
            json!({"kind": "chatInput", "id": "n1", "chat": chat, "request": question}),
            json!({"kind": "toolConfirmation", "id": "n2", "chat": chat, "turnId": "t",
                   "toolCall": with(json!({"status": "pending-confirmation"}))}),
            json!({"kind": "toolClientExecution", "id": "n3", "chat": chat, "turnId": "t",
                   "clientId": "c1", "toolCall": with(json!({"status": "running",
                   "confirmed": "not-needed"}))}),
            json!({"kind": "toolAuthentication", "id": "n4", "chat": chat, "turnId": "t",
                   "toolCall": with(json!({"status": "auth-required", "confirmed": "not-needed",
                   "auth": auth}))}),
        ];
        match self.dice.maybe() {
            true => json!({"type": "session/inputNeededSet", "request": self.dice.pick(&all)}),
            false => json!({"type": "session/inputNeededRemoved",
                            "id": self.dice.pick(&["n1", "n2", "n3", "n4"])}),
        }
    }

    fn catalogue_action(&mut self) -> Value {
        let other = self.dice.pick(&["ahp-chat:/2", "ahp-chat:/3"]);
        let known: Vec<String> = self
            .session
            .chats
            .iter()
            .map(|it| it.resource.clone())
            .collect();
        match self.dice.below(6) {
            0 | 1 => json!({"type": "session/chatAdded", "summary": chat_summary(other, "Other")}),
            2 => json!({"type": "session/chatRemoved", "chat": other}),
            3 => {
                let changes = json!({"title": "New", "status": 8, "activity": "Busy",
                    "modifiedAt": "2026-01-03T00:00:00.000Z", "changes": {"files": 3},
                    "workingDirectories": ["file:///w", "file:///b"]});
                let optional = [
                    "title",
                    "status",
                    "activity",
                    "changes",
                    "workingDirectories",
                ];
                json!({"type": "session/chatUpdated", "chat": self.dice.pick(&known),
                       "changes": self.dice.thin(changes, &optional)})
            }
            4 => json!({"type": "session/defaultChatChanged", "defaultChat": default_chat()}),
            _ => {
                let chats: Vec<String> = known.into_iter().rev().collect();
                json!({"type": "session/chatsReordered", "chats": chats})
            }
        }
    }

    fn root_step(&mut self) {
        let action = match self.dice.below(4) {
            0 => json!({"type": "root/agentsChanged", "agents": [{
                "provider": "script", "displayName": "Script", "description": "d",
                "capabilities": {"multipleChats": {"fork": true, "sideChat": true},
                    "multipleWorkingDirectories": {"primaryReplacement": true}},
                "models": [{"id": "m1", "provider": "script", "name": "M", "maxOutputTokens": 5,
                            "_meta": {"price": 1}, "configSchema": {"type": "object",
                            "properties": {"n": {"type": "number", "title": "N",
                                                 "enum": [1, 2], "maxItems": 2}}}}],
                "customizations": [self.dice.customization()],
            }]}),
            1 => json!({"type": "root/activeSessionsChanged", "activeSessions": 2}),
            2 => json!({"type": "root/configChanged", "config": {"mode": "b"}}),
            _ => json!({"type": "root/terminalsChanged", "terminals": [{
                "resource": TERMINAL, "title": "bash", "claim": self.claim(),
                "lifecycle": self.dice.pick(&[json!({"status": "running"}),
                    json!({"status": "exited", "exitCode": 1}), json!({"status": "exited"})]),
            }]}),
        };
        self.emit(ROOT, action);
    }

    fn claim(&mut self) -> Value {
        self.dice.pick(&[
            json!({"kind": "client", "clientId": "c1"}),
            json!({"kind": "session", "session": SESSION, "chat": default_chat(),
                   "turnId": "t", "toolCallId": "x"}),
        ])
    }

    fn terminal_step(&mut self) {
        let id = self.fresh("cmd");
        let action = match self.dice.below(12) {
            0 | 1 => json!({"type": "terminal/data", "data": "text\r\n"}),
            2 => json!({"type": "terminal/input", "data": "ls\n"}),
            3 => json!({"type": "terminal/resized", "cols": 80, "rows": 24}),
            4 => json!({"type": "terminal/claimed", "claim": self.claim()}),
            5 => json!({"type": "terminal/titleChanged", "title": "zsh"}),
            6 => json!({"type": "terminal/cwdChanged", "cwd": "file:///v"}),
            7 => json!({"type": "terminal/exited", "exitCode": 0}),
            8 => json!({"type": "terminal/cleared"}),
            9 => json!({"type": "terminal/commandDetectionAvailable"}),
            10 => json!({"type": "terminal/commandExecuted", "commandId": id,
                         "commandLine": "ls", "timestamp": 5}),
            _ => {
                let content = serde_json::to_value(&self.terminal.content).unwrap();
                let last = content.as_array().and_then(|it| it.last()).cloned();
                let id = last.map(|it| it["commandId"].clone()).unwrap_or_default();
                json!({"type": "terminal/commandFinished",
                       "commandId": id.as_str().unwrap_or("none"), "exitCode": 0})
            }
        };
        self.emit(TERMINAL, action);
    }

    fn changeset_step(&mut self) {
        let id = self.dice.pick(&["f1", "f2"]);
        let action = match self.dice.below(8) {
            0 => {
                let status = self
                    .dice
                    .pick(&["ready", "computing", "recomputing", "error"]);
                let mut action = json!({"type": "changeset/statusChanged", "status": status});
                if status == "error" {
                    action["error"] = self.dice.error();
                }
                action
            }
            1 => json!({"type": "changeset/fileSet", "file": self.dice.file(id)}),
            2 => json!({"type": "changeset/fileRemoved", "fileId": id}),
            3 => json!({"type": "changeset/filesReviewChanged", "files": [id],
                        "reviewed": self.dice.maybe()}),
            4 => {
                let changed = json!({"type": "changeset/contentChanged",
                    "files": [self.dice.file("f1"), self.dice.file("f3")],
                    "operations": [self.dice.operation()]});
                self.dice.thin(changed, &["operations"])
            }
            5 => json!({"type": "changeset/operationsChanged",
                        "operations": [self.dice.operation()]}),
            6 => json!({"type": "changeset/operationStatusChanged", "operationId": "op",
                        "status": self.dice.pick(&["idle", "running", "disabled"])}),
            _ => json!({"type": "changeset/cleared"}),
        };
        self.emit(CHANGESET, action);
    }

    fn rare_step(&mut self) {
        let annotation = json!({"id": "a", "resource": "file:///w/a", "resolved": false,
            "origin": {"session": SESSION, "turnId": "t"}, "entries": []});
        let definition = json!({"title": "Nightly", "message": self.dice.message(),
            "session": {"provider": "script", "customizations": []}, "enabled": true,
            "triggers": [], "disableConditions": [{"kind": "afterRuns", "max": 3}]});
        let (channel, action) = match self.dice.below(16) {
            0 => (
                ANNOTATIONS,
                json!({"type": "annotations/set", "annotation": annotation}),
            ),
            1 => (
                ANNOTATIONS,
                json!({"type": "annotations/updated", "annotationId": "a",
                "resolved": true, "origin": {"session": SESSION, "turnId": "t2"}}),
            ),
            2 => (
                ANNOTATIONS,
                json!({"type": "annotations/removed", "annotationId": "a"}),
            ),
            3 => (
                ANNOTATIONS,
                json!({"type": "annotations/entrySet", "annotationId": "a",
                "entry": {"id": "e", "text": "Look"}}),
            ),
            4 => (
                ANNOTATIONS,
                json!({"type": "annotations/entryRemoved", "annotationId": "a",
                "entryId": "e"}),
            ),
            5 => (
                WATCH,
                json!({"type": "resourceWatch/changed",
                "changes": {"items": [{"uri": "file:///w/a", "type": "added"}]}}),
            ),
            6 => (
                CANVAS,
                json!({"type": "canvas/stateChanged", "canvas": {"instanceId": "i",
                "extensionId": "e", "canvasId": "c", "title": "Board"}}),
            ),
            7 => (
                AUTOMATIONS,
                json!({"type": "automation/createRequested", "resource": "a:/1",
                "definition": definition}),
            ),
            8 => (
                AUTOMATIONS,
                json!({"type": "automation/updateRequested", "resource": "a:/1",
                "changes": {"enabled": false}}),
            ),
            9 => (
                AUTOMATIONS,
                json!({"type": "automation/set", "automation": {
                "resource": "a:/1", "definition": definition, "runs": [], "operations": ["run"],
                "runCount": 2, "createdAt": "2026-01-01T00:00:00Z",
                "modifiedAt": "2026-01-01T00:00:00Z"}}),
            ),
            10 => (
                AUTOMATIONS,
                json!({"type": "automation/removed", "resource": "a:/1"}),
            ),
            11 => (
                RUN,
                json!({"type": "automationRun/lifecycleChanged", "lifecycle": {
                "status": "running", "createdAt": "2026-01-01T00:00:00Z",
                "startedAt": "2026-01-01T00:00:01Z"}}),
            ),
            12 => (
                RUN,
                json!({"type": "automationRun/sessionSet", "session": SESSION}),
            ),
            13 => (
                RUN,
                json!({"type": "automationRun/sessionRemoved", "session": SESSION}),
            ),
            14 => (
                RUN,
                json!({"type": "automationRun/primarySessionChanged",
                "primarySession": SESSION}),
            ),
            _ => (RUN, json!({"type": "automationRun/cancelRequested"})),
        };
        self.emit(channel, action);
    }
}
