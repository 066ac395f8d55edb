//! Agents that are installed while a host runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use innkeeper_protocol::newest::state::RootState;
use serde_json::{Value, json};

use crate::common::Guest;
use crate::common::binary::Binary;

const REGISTRY: &str = r#"{"agents": [{"id": "noded", "name": "Noded", "version": "1.0.0",
    "description": "d", "distribution": {"npx": {"package": "noded@1.0.0"}}}, {"id": 7}]}"#;

/// Installs a package with one program, which ends at once.
const NPM: &str = r#"#!/bin/sh
case "$1" in
view) echo '"sha512-x"' ;;
install)
  mkdir -p node_modules/.bin node_modules/noded
  printf '#!/bin/sh\n' > node_modules/.bin/noded
  chmod 755 node_modules/.bin/noded
  echo '{}' > node_modules/noded/package.json
  echo '{"packages": {"node_modules/noded": {"integrity": "sha512-x"}}}' > package-lock.json ;;
esac
"#;

/// Says that it has begun, and does not end by itself.
const ENDLESS_NPM: &str = "#!/bin/sh\ncase \"$1\" in\nview) echo '\"sha512-x\"' ;;\n\
    install) echo fetching >&2; exec sleep 600 ;;\nesac\n";

/// Where only the system's programs and this npm are found.
fn prepare(home: &Path) -> (String, impl Fn(&mut Command) + use<>) {
    prepare_with(home, NPM)
}

fn prepare_with(home: &Path, script: &str) -> (String, impl Fn(&mut Command) + use<>) {
    let config = home.join("innkeeper.toml");
    std::fs::write(&config, "agent_environment = 'strict'\n").unwrap();
    std::fs::write(home.join("registry.json"), REGISTRY).unwrap();
    let npm = home.join("npm");
    std::fs::write(&npm, script).unwrap();
    std::fs::set_permissions(&npm, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", home.display());
    let change = move |command: &mut Command| {
        command.env("PATH", &path);
    };
    (config.to_str().unwrap().to_owned(), change)
}

#[tokio::test]
async fn a_running_host_lists_an_agent_that_is_installed_and_forgets_one_that_is_removed() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (config, change) = prepare(home.path());
    // The mistake in the list of agents does not keep it from starting.
    let host = Binary::start_with_all_agents(data.path(), &["--config", &config], &change);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let mut watch = guest.watch_root().await;
    let is_there = |state: &RootState| state.agents.iter().any(|it| it.provider == "noded");
    let innkeeper = |verb: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_innkeeper"));
        command.args(["agents", verb, "noded", "--config", &config]);
        command.arg("--data-dir").arg(data.path());
        change(&mut command);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    innkeeper("install");
    watch.until("the agent is listed", is_there).await;
    innkeeper("uninstall");
    watch
        .until("the agent is gone", |state| !is_there(state))
        .await;
}

const INSTALL: &str = "innkeeper/installAgent";
const LIST: &str = "innkeeper/installableAgents";

fn listed<'a>(list: &'a Value, provider: &str) -> &'a Value {
    let items = list["items"].as_array().unwrap();
    items.iter().find(|it| it["provider"] == provider).unwrap()
}

#[tokio::test]
async fn a_client_installs_an_agent_and_can_choose_it_without_a_restart() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (config, change) = prepare(home.path());
    let host = Binary::start_with_all_agents(data.path(), &["--config", &config], &change);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let mut watch = guest.watch_root().await;
    let extensions = json!(watch.state)["_meta"]["innkeeper"]["extensions"].clone();
    assert_eq!(
        (&extensions[INSTALL], &extensions[LIST]),
        (&json!(1), &json!(1))
    );
    let before = guest.request(LIST, json!({})).await.unwrap();
    let noded = listed(&before, "noded");
    assert_eq!(
        (&noded["package"], &noded["source"]),
        (&json!("noded@1.0.0"), &json!("npm"))
    );
    assert_eq!(noded["installed"], Value::Null);

    let params = json!({"provider": "noded"});
    let result = guest.request(INSTALL, params.clone()).await.unwrap();
    let installed = json!({"provider": "noded", "version": "1.0.0", "alreadyThere": false});
    assert_eq!(result, installed);
    let is_there = |state: &RootState| state.agents.iter().any(|it| it.provider == "noded");
    watch.until("the agent is listed", is_there).await;
    let again = guest.request(INSTALL, params).await.unwrap();
    assert_eq!(again["alreadyThere"], true);
    let after = guest.request(LIST, json!({})).await.unwrap();
    assert_eq!(listed(&after, "noded")["installed"], "1.0.0");
    let unknown = guest.request(INSTALL, json!({"provider": "nobody"})).await;
    assert!(unknown.is_err());
}

#[tokio::test]
async fn an_installation_that_is_cancelled_leaves_nothing_behind() {
    let (data, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (config, change) = prepare_with(home.path(), ENDLESS_NPM);
    let host = Binary::start_with_all_agents(data.path(), &["--config", &config], &change);
    let guest = Guest::arrive(&host.url, "a").await;
    guest.initialize(&[]).await;
    let other = Guest::arrive(&host.url, "b").await;
    other.initialize(&[]).await;
    let install = guest.request(INSTALL, json!({"provider": "noded"}));
    let cancel = async {
        // It may not have begun yet.
        let params = json!({"provider": "noded"});
        while other
            .request("innkeeper/cancelInstallAgent", params.clone())
            .await
            .is_err()
        {
            tokio::task::yield_now().await;
        }
    };
    let (installed, ()) = tokio::join!(install, cancel);
    let why = format!("{:?}", installed.unwrap_err());
    assert!(why.contains("cancelled"), "{why}");
    let left = std::fs::read_dir(data.path().join("agents/installed/noded"));
    let left = left.into_iter().flatten().flatten();
    let names: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(!names.iter().any(|name| name == "1.0.0"), "{names:?}");
}
