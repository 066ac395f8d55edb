//! Agents that are installed for clients: who is told what, and how many run.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{InstallFailure, InstallableAgent, InstalledAgent};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, config};

const INSTALL: &str = "innkeeper/installAgent";
const LIST: &str = "innkeeper/installableAgents";
const CANCEL: &str = "innkeeper/cancelInstallAgent";

fn installing() -> Host {
    let mut config = config(Limits::default());
    config.workspace.installs_agents = true;
    let mut host = Host::configured(config);
    host.enter(1, "a", &[ROOT]);
    host.heard.clear();
    host
}

/// Asks for an installation, which does not end by itself.
fn begin(host: &mut Host, connection: u64, provider: &str) {
    let params = json!({"provider": provider, "progressToken": provider});
    let request = json!({"jsonrpc": "2.0", "id": 900, "method": INSTALL, "params": params});
    host.say(connection, &request.to_string());
}

fn heard(host: &mut Host, connection: u64) -> Vec<Value> {
    host.heard.remove(&connection).unwrap_or_default()
}

fn installed(provider: &str) -> Result<InstalledAgent, InstallFailure> {
    Ok(InstalledAgent {
        provider: provider.to_owned(),
        version: "1.0.0".to_owned(),
        already_there: false,
    })
}

#[test]
fn whoever_asks_is_told_how_far_it_is_and_what_came_of_it() {
    let mut host = installing();
    begin(&mut host, 1, "owl");
    let (ticket, provider) = host.installs[0].clone();
    assert_eq!(provider, "owl");
    for line in ["one", "two"] {
        let line = line.to_owned();
        host.feed(Input::Installing { ticket, line });
    }
    let outcome = installed("owl");
    host.feed(Input::Installed { ticket, outcome });
    // What comes afterwards is not told.
    let line = "late".to_owned();
    host.feed(Input::Installing { ticket, line });
    let heard = heard(&mut host, 1);
    let told: Vec<&Value> = heard.iter().map(|it| &it["params"]).collect();
    assert_eq!(told[0]["progressToken"], "owl");
    assert_eq!(
        (&told[0]["progress"], &told[0]["message"]),
        (&json!(1), &json!("one"))
    );
    assert_eq!(
        (&told[1]["progress"], &told[1]["message"]),
        (&json!(2), &json!("two"))
    );
    assert_eq!(
        (&told[2]["progress"], &told[2]["total"]),
        (&json!(3), &json!(3))
    );
    let result = json!({"provider": "owl", "version": "1.0.0", "alreadyThere": false});
    assert_eq!(heard[3]["result"], result);
    assert_eq!(heard.len(), 4);
}

#[test]
fn one_installation_of_an_agent_runs_at_a_time_and_two_in_all() {
    let mut host = installing();
    host.enter(2, "b", &[]);
    begin(&mut host, 1, "owl");
    assert_eq!(host.refused(2, INSTALL, json!({"provider": "owl"})), -32600);
    begin(&mut host, 1, "elk");
    assert_eq!(host.refused(2, INSTALL, json!({"provider": "yak"})), -32600);
    let (ticket, _) = host.installs[0].clone();
    let outcome = Err(InstallFailure::Failed("no room".to_owned()));
    host.feed(Input::Installed { ticket, outcome });
    let failed = heard(&mut host, 1);
    assert_eq!(failed.last().unwrap()["error"]["message"], "no room");
    begin(&mut host, 2, "owl");
    assert_eq!(host.installs.len(), 3);
}

#[test]
fn an_installation_outlives_its_client_and_anybody_may_cancel_it() {
    let mut host = installing();
    begin(&mut host, 1, "owl");
    let (ticket, _) = host.installs[0].clone();
    host.leave(1);
    let line = "on and on".to_owned();
    host.feed(Input::Installing { ticket, line });
    assert_eq!(heard(&mut host, 1), Vec::<Value>::new());
    host.enter(2, "b", &[ROOT]);
    assert_eq!(host.refused(2, CANCEL, json!({"provider": "elk"})), -32600);
    host.ok(2, CANCEL, json!({"provider": "owl"}));
    assert_eq!(host.stopped_installs, [ticket]);
    let outcome = Err(InstallFailure::Failed("cancelled".to_owned()));
    host.feed(Input::Installed { ticket, outcome });
    assert_eq!(host.refused(2, CANCEL, json!({"provider": "owl"})), -32600);
}

#[test]
fn the_list_says_what_is_being_installed() {
    let mut host = installing();
    begin(&mut host, 1, "owl");
    let request = json!({"jsonrpc": "2.0", "id": 901, "method": LIST});
    host.say(1, &request.to_string());
    let (ticket, _) = host.installs[1].clone();
    let agent = |provider: &str| InstallableAgent {
        provider: provider.to_owned(),
        name: "N".to_owned(),
        description: "d".to_owned(),
        source: "npm",
        package: "n@1.0.0".to_owned(),
        version: "1.0.0".to_owned(),
        installed: None,
        installing: false,
    };
    let agents = vec![agent("owl"), agent("elk")];
    host.feed(Input::InstallableListed { ticket, agents });
    let items = heard(&mut host, 1).pop().unwrap()["result"]["items"].clone();
    assert_eq!(
        (&items[0]["installing"], &items[1]["installing"]),
        (&json!(true), &json!(false))
    );
}

#[test]
fn what_cannot_be_installed_is_refused_with_the_reason() {
    let mut host = installing();
    begin(&mut host, 1, "nobody");
    let (ticket, _) = host.installs[0].clone();
    let outcome = Err(InstallFailure::Unknown("unknown agent `nobody`".to_owned()));
    host.feed(Input::Installed { ticket, outcome });
    let failed = heard(&mut host, 1).pop().unwrap();
    assert_eq!(failed["error"]["message"], "unknown agent `nobody`");
    for params in [
        json!({}),
        json!({"provider": "x".repeat(2_000)}),
        json!({"provider": "owl", "progressToken": "x".repeat(2_000)}),
    ] {
        assert_eq!(host.refused(1, INSTALL, params), -32602);
    }
    assert_eq!(host.installs.len(), 1);
}

#[test]
fn a_host_that_installs_nothing_says_so_and_does_not_announce_it() {
    let mut host = Host::new();
    let said = host.enter(1, "a", &[ROOT]).to_string();
    assert!(said.contains("innkeeper/usage"), "{said}");
    assert!(!said.contains("installAgent"), "{said}");
    for method in [LIST, INSTALL, CANCEL] {
        assert_eq!(host.refused(1, method, json!({"provider": "owl"})), -32600);
    }
    let mut host = installing();
    let said = host.enter(2, "b", &[ROOT]).to_string();
    assert!(said.contains("installAgent"), "{said}");
}
