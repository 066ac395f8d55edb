//! Agents that are programs, behind the real host: the binary with all its
//! processes, and the protocol's own client.
//!
//! - `crowd`: many processes, half of which are killed;
//! - `editor`: the host as an editor uses it;
//! - `environment`: where agents are found, and what they are started in;
//! - `services`: what the host does for an agent;
//! - `settings`: what can be set about its sessions;
//! - `sign_in`: agents that want somebody to sign in.
//!
//! The agent is a few lines of shell that speak the Agent Client Protocol; each
//! test says what it does with a prompt.

mod crowd;
mod editor;
mod environment;
mod services;
mod settings;
mod sign_in;

use std::path::Path;

use crate::common::Guest;
use crate::common::binary::Binary;
use innkeeper_protocol::newest::state::SessionLifecycle;
use serde_json::json;

/// An agent, but for what it does with prompts: more cases stand at `CASES`. It
/// does not begin as long as there is a file `agent.sh.wait`, and `agent.sh.new`
/// has more fields of a new session.
const AGENT: &str = r#"
while [ -e "$0.wait" ]; do sleep 0.05; done
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
ask() { printf '{"jsonrpc":"2.0","id":"%s","method":"%s","params":%s}\n' "$1" "$2" "$3"; }
update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"update":%s}}\n' "$1"; }
say() {
    update "{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}}"
}
while read -r line; do
    id=${line#*\"id\":}
    id=${id%%[,\}]*}
    case $line in
    *'"method":"initialize"'*)
        answer "$id" '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
    *'"method":"session/new"'*)
        servers=$line
        answer "$id" "{\"sessionId\":\"s-$$\"$(cat "$0.new" 2>/dev/null)}" ;;
    *'"method":"session/load"'*)
        servers=$line
        answer "$id" '{}' ;;
CASES
    esac
done
"#;

/// A host with an agent `test`, which handles prompts in these cases.
fn start(data: &Path, cases: &str) -> Binary {
    start_script(data, &AGENT.replace("CASES", cases))
}

/// Likewise with an agent that is this script.
fn start_script(data: &Path, script: &str) -> Binary {
    let (config, agent) = (data.join("innkeeper.toml"), data.join("agent.sh"));
    std::fs::write(&agent, script).unwrap();
    let table = format!(
        "agent_environment = 'strict'\n[limits]\nbackends = 64\n[agents.test]\ncommand = '/bin/sh'\nargs = ['{}']\n",
        agent.display()
    );
    std::fs::write(&config, table).unwrap();
    let config = config.to_str().unwrap();
    Binary::start(data, &["--config", config, "--agents", "test"])
}

async fn new_session(guest: &Guest, session: &str) {
    new_session_with(guest, session, "test").await;
}

async fn new_session_with(guest: &Guest, session: &str, provider: &str) {
    let params = json!({"channel": session, "provider": provider});
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(session).await;
    watch
        .until("ready", |state| state.lifecycle == SessionLifecycle::Ready)
        .await;
}
