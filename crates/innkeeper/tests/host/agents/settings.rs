//! The settings of an agent that the host meets for the first time.

use innkeeper_protocol::newest::state::SessionLifecycle;
use serde_json::json;

use super::start;
use crate::common::Guest;

const SESSION: &str = "ahp-session:/settings";

const MODES: &str = r#","modes":{"currentModeId":"ask","availableModes":[{"id":"ask","name":"Ask"},{"id":"plan","name":"Plan"}]}"#;

/// Says which mode it was set to.
const CASES: &str = r#"
    *'"method":"session/set_mode"'*)
        answer "$id" '{}'
        update '{"sessionUpdate":"session_info_update","title":"set"}' ;;
"#;

#[tokio::test]
async fn a_session_that_is_open_when_its_agent_becomes_known_has_its_settings() {
    let data = tempfile::tempdir().unwrap();
    let wait = data.path().join("agent.sh.wait");
    std::fs::write(&wait, "").unwrap();
    std::fs::write(data.path().join("agent.sh.new"), MODES).unwrap();
    let host = start(data.path(), CASES);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let params = json!({"channel": SESSION, "provider": "test"});
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(SESSION).await;
    let config = watch.state.config.as_ref().unwrap();
    assert!(!config.schema.properties.contains_key("mode"));

    std::fs::remove_file(&wait).unwrap();
    watch
        .until("the settings", |state| {
            let meta = json!(state.meta);
            let mode = &meta["innkeeper"]["settings"]["properties"]["mode"];
            let values = state.config.as_ref().map(|config| &config.values);
            mode["enum"] == json!(["interactive", "plan"])
                && values.is_some_and(|values| json!(values)["mode"] == "interactive")
        })
        .await;
    watch
        .until("ready", |state| state.lifecycle == SessionLifecycle::Ready)
        .await;
    let change = json!({"type": "session/configChanged", "config": {"mode": "plan"}});
    let change = serde_json::from_value(change).unwrap();
    guest.dispatch(SESSION, change).await;
    watch
        .until("the agent's word", |state| {
            let config = state.config.as_ref().unwrap();
            json!(config.values)["mode"] == "plan" && state.title == "set"
        })
        .await;
}
