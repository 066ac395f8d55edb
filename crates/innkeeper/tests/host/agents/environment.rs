//! Where agents are found, and what they are started in.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use innkeeper_protocol::newest::state::{RootState, TurnState};

use super::{AGENT, new_session_with};
use crate::common::binary::Binary;
use crate::common::{Guest, default_chat};

const SESSION: &str = "ahp-session:/environment";

/// Says what it was given, and what its commands are given.
const TELLS: &str = r#"
    *'"method":"session/prompt"'*)
        prompt=$id
        say "$JAVA_HOME,$VENDOR_KEY,$INNKEEPER_SECRET,$LINK,"
        ask create terminal/create '{"sessionId":"s","command":"echo $JAVA_HOME,$INNKEEPER_SECRET"}' ;;
    *'"id":"create"'*)
        ask wait terminal/wait_for_exit '{"sessionId":"s","terminalId":"terminal-1"}' ;;
    *'"id":"wait"'*)
        ask output terminal/output '{"sessionId":"s","terminalId":"terminal-1"}' ;;
    *'"id":"output"'*)
        output=${line#*\"output\":\"}
        say "${output%%\\n*}"
        answer "$prompt" '{"stopReason":"end_turn"}' ;;
"#;

/// A home whose login shell knows an agent that the host does not.
fn at_home(home: &Path) -> impl FnOnce(&mut Command) {
    let goose = home.join("tools/goose");
    std::fs::create_dir(home.join("tools")).unwrap();
    let script = format!("#!/bin/sh\n{}", AGENT.replace("CASES", TELLS));
    std::fs::write(&goose, script).unwrap();
    std::fs::set_permissions(&goose, std::fs::Permissions::from_mode(0o755)).unwrap();
    let profile = "echo Welcome home\nexport PATH=\"$HOME/tools:$PATH\" JAVA_HOME=/opt/java\n\
                   export INNKEEPER_SECRET=seen LINK=\"http://127.0.0.1/?tkn=$OTHERWISE\"\n";
    std::fs::write(home.join(".profile"), profile).unwrap();
    let home = home.to_owned();
    move |command| {
        command
            .env_clear()
            .env("HOME", home)
            .env("SHELL", "/bin/sh")
            .env("PATH", "/usr/bin:/bin")
            .env("VENDOR_KEY", "k")
            .env("OTHERWISE", TOKEN);
    }
}

const TOKEN: &str = "a-token-that-nobody-guesses";

async fn what_the_agent_says(host: &Binary) -> String {
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    new_session_with(&guest, SESSION, "goose").await;
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    guest.say(&chat, "t", "what do you see").await;
    assert_eq!(watch.turn_end("t").await, TurnState::Complete);
    watch.text_of("t")
}

#[tokio::test]
async fn an_agent_that_only_the_login_shell_knows_is_found_and_given_what_it_sets() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let more = ["--agents", "goose", "--connection-token", TOKEN];
    let host = Binary::start_with(data.path(), &more, at_home(home.path()));
    let said = what_the_agent_says(&host).await;
    assert_eq!(said, "/opt/java,k,,,/opt/java,");
}

#[tokio::test]
async fn clients_are_told_of_agents_that_are_found_later() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let host = Binary::start_with_all_agents(data.path(), &[], at_home(home.path()));
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let mut watch = guest.watch_root().await;
    let has_goose = |state: &RootState| state.agents.iter().any(|it| it.provider == "goose");
    watch.until("the agent is found", has_goose).await;
    assert!(what_the_agent_says(&host).await.starts_with("/opt/java,"));
}

#[tokio::test]
async fn with_the_strict_list_an_agent_gets_what_every_program_needs() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let change = at_home(home.path());
    let goose = home.path().join("tools/goose");
    let config = home.path().join("innkeeper.toml");
    let table = format!(
        "agent_environment = 'strict'\n[agents.goose]\ncommand = '{}'\npass_env = ['VENDOR_*']\n",
        goose.display()
    );
    std::fs::write(&config, table).unwrap();
    let more = ["--agents", "goose", "--config", config.to_str().unwrap()];
    let host = Binary::start_with(data.path(), &more, change);
    assert_eq!(what_the_agent_says(&host).await, ",k,,,,");
}
