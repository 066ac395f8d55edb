//! Agents that are installed while a host runs.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use innkeeper_protocol::newest::state::RootState;

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

/// Where only the system's programs and this npm are found.
fn prepare(home: &Path) -> (String, impl Fn(&mut Command) + use<>) {
    let config = home.join("innkeeper.toml");
    std::fs::write(&config, "agent_environment = 'strict'\n").unwrap();
    std::fs::write(home.join("registry.json"), REGISTRY).unwrap();
    let npm = home.join("npm");
    std::fs::write(&npm, NPM).unwrap();
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
