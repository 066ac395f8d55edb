//! Plugins of clients that runs of automations have: how the host comes by its
//! copies, who is told, and when they go.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::customization::{
    CopyFrom, CopyId, CustomizationCommand, CustomizationPlace, CustomizationReport,
};
use serde_json::{Value, json};

use crate::automation_runs::{run, session_of};
use crate::automations::{A, CATALOGUE, create, create_as, definition, entries, entry, remove};
use crate::host::{Host, ROOT, config};

/// Connection 1 follows all automations, on a host that keeps copies.
fn host() -> Host {
    let mut host = Host::configured(with_copies());
    host.enter(1, "a", &[ROOT, CATALOGUE]);
    host.customizations.clear();
    host
}

fn with_copies() -> innkeeper_engine::EngineConfig {
    let mut config = config(Limits::default());
    config.workspace.customizations.enabled = true;
    config.workspace.customizations.copies = true;
    config
}

fn plugin(id: &str, uri: &str, nonce: &str) -> Value {
    json!({"type": "plugin", "id": id, "uri": uri, "name": id, "nonce": nonce})
}

fn with_plugins(plugins: Value) -> Value {
    let mut definition = definition();
    definition["session"] = json!({"customizations": plugins});
    definition
}

/// The copies that are to be made.
fn asked(host: &Host) -> Vec<(CopyId, CopyFrom)> {
    let commands = host.customizations.iter();
    let copies = commands.filter_map(|command| match command {
        CustomizationCommand::Copy { copy, from, .. } => Some((*copy, from.clone())),
        _ => None,
    });
    copies.collect()
}

fn removed(host: &Host) -> Vec<&str> {
    let commands = host.customizations.iter();
    let removed = commands.filter_map(|command| match command {
        CustomizationCommand::RemoveCopy { copy } => Some(copy.as_str()),
        _ => None,
    });
    removed.collect()
}

/// The copies that sessions read.
fn followed(host: &Host) -> Vec<&str> {
    let commands = host.customizations.iter();
    let followed = commands.filter_map(|command| match command {
        CustomizationCommand::Follow {
            place: CustomizationPlace::Plugin(plugin),
            ..
        } => Some(plugin.uri.as_str()),
        _ => None,
    });
    followed.collect()
}

fn copied(host: &mut Host, copy: CopyId, id: &str, uri: &str) {
    let made =
        json!({"id": id, "uri": uri, "name": id, "load": {"kind": "loaded"}, "children": []});
    let outcome = Ok(Box::new(serde_json::from_value(made).unwrap()));
    let report = CustomizationReport::Copied { copy, outcome };
    host.feed(Input::Customization(report));
}

/// With one automation that has a plugin, of which there is a copy.
fn with_copy() -> Host {
    let mut host = host();
    let plugins = json!([plugin("p", "file:///plugins/p", "1")]);
    assert_eq!(create(&mut host, with_plugins(plugins)), "");
    let (copy, _) = asked(&host).remove(0);
    copied(&mut host, copy, "p", "file:///copies/1");
    host.customizations.clear();
    host
}

fn update(host: &mut Host, connection: u64, changes: Value) {
    let action = json!({
        "type": "automation/updateRequested", "resource": A, "changes": changes,
    });
    host.dispatch(connection, CATALOGUE, action);
}

fn shown_copies(host: &mut Host) -> Vec<String> {
    let entry = entry(host);
    let copies = entry["customizations"].as_array().into_iter().flatten();
    let uris = copies.map(|it| it["uri"].as_str().unwrap().to_owned());
    uris.collect()
}

#[test]
fn a_host_that_can_keep_copies_says_so() {
    let hello = Host::configured(with_copies()).enter(1, "a", &[]);
    assert_eq!(hello["automations"]["customizations"], json!({}));
    let mut host = crate::automations::host();
    let why = create(
        &mut host,
        with_plugins(json!([plugin("p", "file:///p", "1")])),
    );
    assert!(why.contains("keeps no copies"), "{why}");
}

#[test]
fn an_automation_is_there_when_the_plugin_is_copied() {
    let mut host = host();
    host.news(1);
    let plugins = json!([plugin("p", "file:///plugins/p", "1")]);
    assert_eq!(create(&mut host, with_plugins(plugins)), "");
    assert_eq!(entries(&mut host), Vec::<Value>::new());
    assert!(host.news(1).is_empty());
    let (copy, from) = asked(&host).remove(0);
    assert!(matches!(from, CopyFrom::Directory(_)));
    copied(&mut host, copy, "p", "file:///copies/1");
    let told = host.news(1);
    assert_eq!(told, ["automation/createRequested", "automation/set"]);
    let shown = entry(&mut host)["customizations"].clone();
    assert_eq!(shown[0]["uri"], "file:///copies/1");
    assert_eq!(shown[0]["clientId"], Value::Null);
    assert_eq!(shown[0]["type"], "plugin");
}

#[test]
fn what_only_a_client_has_is_asked_for_file_by_file() {
    let mut host = host();
    let plugins = json!([plugin("p", "virtual://a/p", "1")]);
    host.heard.clear();
    create(&mut host, with_plugins(plugins));
    let answer = |host: &mut Host, id: u64, result: Value| {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": result});
        host.say(1, &answer.to_string());
    };
    assert_eq!(host.news(1), ["resourceList"]);
    let list = json!({"entries": [
        {"name": "AGENTS.md", "type": "file"}, {"name": "x.bin", "type": "file"},
    ]});
    answer(&mut host, 1, list);
    assert_eq!(host.news(1), ["resourceRead"]);
    answer(
        &mut host,
        2,
        json!({"data": "Be kind.", "encoding": "utf-8"}),
    );
    let (_, from) = asked(&host).remove(0);
    let CopyFrom::Files(files) = from else {
        panic!("{from:?}");
    };
    let files: Vec<_> = files.into_iter().collect();
    assert_eq!(files, [("AGENTS.md".to_owned(), "Be kind.".to_owned())]);
}

#[test]
fn a_plugin_that_cannot_be_copied_whole_changes_nothing() {
    let mut host = host();
    let here = plugin("here", "file:///plugins/p", "1");
    let gone = plugin("gone", "virtual://nobody/p", "1");
    create(&mut host, with_plugins(json!([here, gone])));
    assert_eq!(host.rejection(1), "");
    let (copy, _) = asked(&host).remove(0);
    copied(&mut host, copy, "here", "file:///copies/1");
    let why = host.rejection(1);
    assert_eq!(
        why,
        "the plugin `gone` cannot be copied: the client that has it is not connected"
    );
    assert_eq!(removed(&host), ["file:///copies/1"]);
    assert_eq!(entries(&mut host), Vec::<Value>::new());
}

#[test]
fn a_client_that_leaves_while_it_is_asked_defines_nothing() {
    let mut host = host();
    host.enter(2, "b", &[CATALOGUE]);
    let action = json!({
        "type": "automation/createRequested", "resource": A,
        "definition": with_plugins(json!([plugin("p", "virtual://b/p", "1")])),
    });
    host.dispatch(2, CATALOGUE, action);
    host.leave(2);
    assert_eq!(entries(&mut host), Vec::<Value>::new());
    assert!(asked(&host).is_empty());
    // It is free for whoever comes next.
    assert_eq!(create(&mut host, definition()), "");
    assert_eq!(entries(&mut host).len(), 1);
}

#[test]
fn what_is_said_while_copies_are_made_happens_in_its_order() {
    let mut host = host();
    create(
        &mut host,
        with_plugins(json!([plugin("p", "file:///p", "1")])),
    );
    update(&mut host, 1, json!({"title": "Later"}));
    assert_eq!(host.rejection(1), "");
    let (copy, _) = asked(&host).remove(0);
    copied(&mut host, copy, "p", "file:///copies/1");
    assert_eq!(host.rejection(1), "");
    assert_eq!(entry(&mut host)["definition"]["title"], "Later");
    assert_eq!(shown_copies(&mut host), ["file:///copies/1"]);
}

#[test]
fn a_copy_is_kept_until_the_plugin_is_another() {
    let mut host = with_copy();
    host.enter(2, "b", &[CATALOGUE]);
    // Somebody who does not have the plugin sends it back as it is.
    let same = json!({"session": {"customizations": [plugin("p", "file:///plugins/p", "1")]}});
    update(&mut host, 2, same);
    assert_eq!(host.rejection(2), "");
    assert!(asked(&host).is_empty());
    assert_eq!(shown_copies(&mut host), ["file:///copies/1"]);
    let other = json!({"session": {"customizations": [plugin("p", "file:///plugins/p", "2")]}});
    update(&mut host, 1, other);
    let (copy, _) = asked(&host).remove(0);
    assert!(removed(&host).is_empty());
    copied(&mut host, copy, "p", "file:///copies/2");
    assert_eq!(shown_copies(&mut host), ["file:///copies/2"]);
    assert_eq!(removed(&host), ["file:///copies/1"]);
    host.customizations.clear();
    update(&mut host, 1, json!({"session": {}}));
    assert!(shown_copies(&mut host).is_empty());
    assert_eq!(removed(&host), ["file:///copies/2"]);
}

#[test]
fn a_client_that_is_not_shown_plugins_does_not_remove_them() {
    let mut host = with_copy();
    host.enter_as(Version::V0_9, 2, "old", &[CATALOGUE]);
    update(&mut host, 2, json!({"session": {"config": {}}}));
    assert_eq!(host.rejection(2), "");
    assert_eq!(shown_copies(&mut host), ["file:///copies/1"]);
    assert!(removed(&host).is_empty());
}

#[test]
fn every_run_has_the_copies_also_after_a_restart() {
    let mut host = with_copy();
    run(&mut host, "r");
    assert_eq!(followed(&host), ["file:///copies/1"]);
    let session = session_of(&mut host);
    let shown = host.state(&session)["customizations"].clone();
    assert_eq!(shown[0]["id"], "p");
    assert_eq!(shown[0]["clientId"], Value::Null);
    host.customizations.clear();
    host.restart_as(with_copies());
    let kept = CustomizationCommand::KeepCopies {
        copies: vec!["file:///copies/1".to_owned()],
    };
    assert!(host.customizations.contains(&kept));
    host.enter(1, "a", &[ROOT, CATALOGUE, &session]);
    assert_eq!(followed(&host), ["file:///copies/1"]);
}

#[test]
fn what_a_template_switches_off_is_off_in_its_runs() {
    let mut host = host();
    let mut off = plugin("p", "file:///plugins/p", "1");
    off["enablement"] = json!([{"kind": "global", "enabled": false}]);
    create(&mut host, with_plugins(json!([off])));
    let (copy, _) = asked(&host).remove(0);
    copied(&mut host, copy, "p", "file:///copies/1");
    run(&mut host, "r");
    let session = session_of(&mut host);
    let shown = host.state(&session)["customizations"].clone();
    assert_eq!(
        shown[0]["enablement"],
        json!([{"kind": "global", "enabled": false}])
    );
}

#[test]
fn copies_go_with_their_automation_and_sessions_forget_them_first() {
    let mut host = with_copy();
    run(&mut host, "r");
    let session = session_of(&mut host);
    host.customizations.clear();
    assert_eq!(remove(&mut host), "");
    let last = host.customizations.pop().unwrap();
    let gone = CustomizationCommand::RemoveCopy {
        copy: "file:///copies/1".to_owned(),
    };
    assert_eq!(last, gone);
    let forgets = |it: &CustomizationCommand| matches!(it, CustomizationCommand::Forget { .. });
    assert!(host.customizations.iter().any(forgets));
    let shown = host.state(&session)["customizations"].clone();
    assert!(shown.as_array().is_none_or(Vec::is_empty), "{shown}");
}

#[test]
fn there_are_a_few_plugins_with_ids_of_their_own() {
    let mut host = host();
    let many: Vec<Value> = (0..9)
        .map(|it| plugin(&format!("p{it}"), "file:///p", "1"))
        .collect();
    let twice = [plugin("p", "file:///p", "1"), plugin("p", "file:///q", "1")];
    let cases = [
        (json!(many), "at most 8 plugins"),
        (json!(twice), "two plugins have the id `p`"),
        (json!([plugin("", "file:///p", "1")]), "needs an id"),
    ];
    for (plugins, why) in cases {
        let refused = create(&mut host, with_plugins(plugins));
        assert!(refused.contains(why), "{refused}");
    }
    assert!(asked(&host).is_empty());
    for index in 0..5 {
        let resource = format!("ahp-automation:/{index}");
        let plugins = json!([plugin("p", "file:///p", "1")]);
        let refused = create_as(&mut host, &resource, with_plugins(plugins));
        assert_eq!(refused.contains("being copied"), index == 4, "{refused}");
    }
}

#[test]
fn a_web_address_is_not_read() {
    let mut host = host();
    create(
        &mut host,
        with_plugins(json!([plugin("p", "https://x.test/p", "1")])),
    );
    let why = host.rejection(1);
    assert!(why.contains("`file:` and `virtual:` URIs only"), "{why}");
}
