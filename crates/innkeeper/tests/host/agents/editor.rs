//! A host as VS Code uses it: the frames that its client sends, in its order,
//! at its pace. It does not look at a schema before it sends settings, nor at
//! a session's lifecycle before it sends a message; it computes addresses
//! instead of reading them; and whatever it dispatches it expects to hear of.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::binary::Binary;
use crate::common::git::git;
use crate::common::raw::Raw;
use crate::common::{ROOT, default_chat};

const SESSION: &str = "test:/4f0c";

/// An agent with modes that begins when it may, asks before it runs a command
/// (with "always" as the first option), asks questions, and writes down each
/// of its starts.
const AGENT: &str = r#"
echo start >> "$DIR/starts"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
ask() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":%s}\n' "$1" "$2" "$3"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"update":%s}}\n' "$1"; }
say() {
    update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"
}
modes='{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"plan","name":"Plan"}]}'
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":1,"agentInfo":{"name":"editor-test","version":"1"}}' ;;
    *'"method":"session/new"'*)
        if [ -p "$DIR/gate" ]; then read -r _ < "$DIR/gate"; rm "$DIR/gate"; fi
        answer "$id" "{\"sessionId\":\"s-$$\",\"modes\":$modes}" ;;
    *'"method":"session/set_mode"'*) answer "$id" '{}' ;;
    *'"method":"session/prompt"'*)
        prompt=$id
        update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"Preparing","kind":"execute"}'
        ask permission session/request_permission '{"sessionId":"s","toolCall":{"toolCallId":"c","title":"Clean up","rawInput":{"command":"rm -rf build"}},"options":[{"optionId":"allow_always","name":"allow_always","kind":"allow_always"},{"optionId":"allow_once","name":"allow_once","kind":"allow_once"},{"optionId":"reject_once","name":"reject_once","kind":"reject_once"}]}' ;;
    *'"id":"permission"'*)
        case $line in *'"optionId":"allow_once"'*) say once ;; *) say other ;; esac
        echo changed > file.txt
        update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
        ask form elicitation/create '{"sessionId":"s","mode":"form","message":"How?","requestedSchema":{"type":"object","required":["guests","size"],"properties":{"guests":{"type":"integer"},"size":{"type":"string","enum":["small","large"]},"note":{"type":"string","minLength":2}}}}' ;;
    *'"id":"form"'*)
        case $line in *'"guests":3'*) say three ;; esac
        case $line in *'"size":"large"'*) say large ;; esac
        case $line in *'"note"'*) say note ;; esac
        answer "$prompt" '{"stopReason":"end_turn"}' ;;
    esac
done
"#;

/// VS Code's end of the connection.
struct Editor {
    raw: Raw,
    requests: i64,
    dispatched: i64,
    /// Dispatched, and not heard of since.
    open: BTreeSet<i64>,
    /// Every action, in order.
    actions: Vec<Value>,
}

impl Editor {
    async fn arrive(url: &str) -> Self {
        let mut editor = Self {
            raw: Raw::connect(url).await,
            requests: 0,
            dispatched: 0,
            open: BTreeSet::new(),
            actions: Vec::new(),
        };
        let params = json!({
            "channel": ROOT, "clientId": "vscode-1", "protocolVersions": ["1.0.0"],
            "initialSubscriptions": [ROOT], "locale": "en",
        });
        editor.request("initialize", params).await;
        editor
    }

    async fn hear(&mut self) -> Value {
        let frame = self.raw.next().await;
        if frame["method"] == "action" {
            let params = frame["params"].clone();
            assert!(params.get("rejectionReason").is_none(), "{params}");
            if params["origin"]["clientId"] == "vscode-1" {
                let seq = params["origin"]["clientSeq"].as_i64().unwrap();
                self.open.remove(&seq);
            }
            self.actions.push(params["action"].clone());
        }
        frame
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw.send(&request.to_string()).await;
        loop {
            let mut frame = self.hear().await;
            if frame["id"] == id {
                assert!(frame.get("error").is_none(), "{method}: {frame}");
                return frame["result"].take();
            }
        }
    }

    async fn dispatch(&mut self, channel: &str, action: Value) {
        self.dispatched += 1;
        self.open.insert(self.dispatched);
        let params = json!({"channel": channel, "clientSeq": self.dispatched, "action": action});
        let frame = json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": params});
        self.raw.send(&frame.to_string()).await;
    }

    /// The first file of a changeset, whether it comes with the whole or alone.
    async fn until_changed_file(&mut self) -> Value {
        loop {
            let mut files = self.actions.iter().rev().filter_map(|action| {
                let file = match action["type"].as_str()? {
                    "changeset/contentChanged" => &action["files"][0],
                    "changeset/fileSet" => &action["file"],
                    _ => return None,
                };
                Some(file.clone())
            });
            if let Some(file) = files.next() {
                return file;
            }
            self.hear().await;
        }
    }

    /// The latest action of a type, as soon as there is one.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut heard = self.actions.iter().rev();
            if let Some(action) = heard.find(|action| action["type"] == kind) {
                return action.clone();
            }
            self.hear().await;
        }
    }
}

fn start(data: &Path) -> Binary {
    let (config, agent) = (data.join("innkeeper.toml"), data.join("agent.sh"));
    std::fs::write(&agent, AGENT).unwrap();
    let table = format!(
        "[agents.test]\ncommand = '/bin/sh'\nargs = ['{}']\nenv = {{ DIR = '{}' }}\n",
        agent.display(),
        data.display()
    );
    std::fs::write(&config, table).unwrap();
    let config = config.to_str().unwrap();
    Binary::start(data, &["--config", config, "--agents", "test"])
}

#[tokio::test]
async fn a_session_works_with_the_settings_and_the_pace_of_an_editor() {
    let data = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    git(project.path(), &["init", "--quiet"]);
    let host = start(data.path());
    let mut editor = Editor::arrive(&host.url).await;
    // The agent is known before anybody asks for a session.
    let root = editor.request("subscribe", json!({"channel": ROOT})).await;
    let is_known = |agents: &Value| agents.to_string().contains("editor-test");
    if !is_known(&root["snapshot"]["state"]["agents"]) {
        let known = editor.until("root/agentsChanged").await;
        assert!(is_known(&known["agents"]), "{known}");
    }
    let starts = data.path().join("starts");
    std::fs::write(&starts, "").unwrap();
    let gate = data.path().join("gate");
    let made = std::process::Command::new("mkfifo").arg(&gate).status();
    assert!(made.unwrap().success());

    // Its own settings, to any host.
    let settings = json!({"chat.agent.maxRequests": 25, "github.copilot.enable": {"*": true}});
    let change = json!({"type": "root/configChanged", "config": settings});
    editor.dispatch(ROOT, change).await;

    // Its defaults, whatever the schema says.
    let config = json!({"isolation": "folder", "autoApprove": "default", "mode": "interactive",
                        "branchNameHint": "x", "permissions": {"allow": []}});
    let resolved = json!({"channel": ROOT, "provider": "test", "config": config});
    let resolved = editor.request("resolveSessionConfig", resolved).await;
    let property = |name: &str| resolved["schema"]["properties"][name].clone();
    assert_eq!(
        property("autoApprove")["enum"],
        json!(["default", "autoApprove"])
    );
    assert_eq!(property("mode")["enum"], json!(["interactive", "plan"]));
    let directory = format!("file://{}", project.path().display());
    let tool =
        json!({"name": "open_file", "description": "Opens", "inputSchema": {"type": "object"}});
    let client = json!({"clientId": "vscode-1", "displayName": "VS Code", "tools": [tool]});
    let new = json!({"channel": SESSION, "provider": "test", "workingDirectories": [directory],
                     "config": config});
    editor.request("createSession", new).await;
    let chat = default_chat(SESSION);
    let state = editor
        .request("subscribe", json!({"channel": SESSION}))
        .await;
    assert_eq!(state["snapshot"]["state"]["lifecycle"], "creating");
    editor.request("subscribe", json!({"channel": chat})).await;
    let active = json!({"type": "session/activeClientSet", "activeClient": client});
    editor.dispatch(SESSION, active.clone()).await;
    editor.dispatch(SESSION, active).await;

    // The first message, before the agent is there.
    let message = json!({"text": "clean up", "origin": {"kind": "user"}});
    let turn = json!({"type": "chat/turnStarted", "turnId": "request_1", "message": message});
    editor.dispatch(&chat, turn).await;
    editor.until("chat/turnStarted").await;
    tokio::task::spawn_blocking(move || std::fs::write(gate, "go\n"))
        .await
        .unwrap()
        .unwrap();

    // An approval that says what it is about, and "always" last.
    let ready = editor.until("chat/toolCallReady").await;
    assert_eq!(ready["toolInput"], "rm -rf build");
    let started = editor.until("chat/toolCallStart").await;
    assert_eq!(started["_meta"]["toolKind"], "terminal");
    assert_eq!(started["_meta"]["kind"], "execute");
    assert_eq!(ready["confirmationTitle"], "Clean up");
    assert!(
        ready["invocationMessage"]["markdown"].is_string(),
        "{ready}"
    );
    let options = ready["options"].as_array().unwrap().iter();
    let options: Vec<&Value> = options.map(|option| &option["label"]).collect();
    assert_eq!(options, ["Allow once", "Deny", "Always allow"]);
    let allow = json!({"type": "chat/toolCallConfirmed", "turnId": "request_1",
                       "toolCallId": "c", "approved": true, "confirmed": "user-action"});
    editor.dispatch(&chat, allow).await;

    // Answers from one kind of field.
    let asked = editor.until("chat/inputRequested").await;
    let request = &asked["request"];
    let questions = request["questions"].as_array().unwrap();
    let choice = questions.iter().find(|question| question["id"] == "size");
    assert_eq!(choice.unwrap()["allowFreeformInput"], false);
    let answer =
        |text: &str| json!({"state": "submitted", "value": {"kind": "text", "value": text}});
    let answers = json!({"guests": answer("3"), "size": answer("large"), "note": answer("")});
    let completed = json!({"type": "chat/inputCompleted", "requestId": request["id"],
                           "response": "accept", "answers": answers});
    editor.dispatch(&chat, completed).await;
    editor.until("chat/turnComplete").await;
    let said = editor
        .actions
        .iter()
        .filter(|it| it["type"] == "chat/delta");
    let said: String = said.filter_map(|delta| delta["content"].as_str()).collect();
    assert_eq!(
        said.split_whitespace().collect::<String>(),
        "oncethreelarge"
    );

    // Addresses that it computes.
    for view in ["turn/request_1", "branch"] {
        let channel = format!("{SESSION}/changeset/{view}");
        editor.actions.clear();
        editor
            .request("subscribe", json!({"channel": channel}))
            .await;
        let file = editor.until_changed_file().await;
        let uri = file["edit"]["after"]["uri"].as_str().unwrap();
        assert!(uri.ends_with("/file.txt"), "{view}: {file}");
    }

    editor.request("ping", json!({"channel": ROOT})).await;
    assert!(editor.open.is_empty(), "not answered: {:?}", editor.open);
    let starts = std::fs::read_to_string(starts).unwrap();
    assert_eq!(starts, "start\n", "one process is enough");
}
