//! The configuration of sessions and of the host.

use serde_json::{Value, json};

use crate::common::{ROOT, script};
use crate::stage::{Stage, act, text, until};

fn changed(config: Value) -> Value {
    json!({"type": "session/configChanged", "config": config})
}

#[tokio::test]
async fn a_config_is_resolved_with_defaults_before_there_is_a_session() {
    let stage = Stage::open().await;
    let params = json!({"channel": ROOT, "provider": "script", "config": {"branch": "main"}});
    let resolved = stage
        .guest
        .request("resolveSessionConfig", params)
        .await
        .unwrap();
    let expected = json!({"autoApprove": "default", "isolation": "folder", "branch": "main"});
    assert_eq!(resolved["values"], expected);
    assert_eq!(
        resolved["schema"]["properties"]["branch"]["enumDynamic"],
        true
    );
    // What the host does is described by the host, although the agent has it.
    assert_eq!(
        resolved["schema"]["properties"]["branch"]["description"],
        "The branch that a worktree begins at."
    );
    // Clients send what they know of any host.
    let strange = [
        json!({"isolation": "cellar"}),
        json!({"colour": "red"}),
        json!({"branch": 7}),
    ];
    for config in strange {
        let params = json!({"channel": ROOT, "provider": "script", "config": config});
        let resolved = stage.guest.request("resolveSessionConfig", params).await;
        let expected = json!({"autoApprove": "default", "isolation": "folder"});
        assert_eq!(resolved.unwrap()["values"], expected, "{config}");
    }
    stage.close().await;
}

#[tokio::test]
async fn the_names_of_the_first_release_are_taken_for_those_of_today() {
    let mut stage = Stage::open().await;
    for (said, meant) in [("ask", "default"), ("all", "autoApprove")] {
        let config = json!({"autoApprove": said});
        let params = json!({"channel": ROOT, "provider": "script", "config": config});
        let resolved = stage.guest.request("resolveSessionConfig", params).await;
        assert_eq!(resolved.unwrap()["values"]["autoApprove"], meant);
        let mut session = stage.watch_session().await;
        act(&stage.guest, &stage.session, changed(config)).await;
        until(&mut session, meant, |s| {
            s["config"]["values"]["autoApprove"] == meant
        })
        .await;
    }
    let echo = script(json!([{"echo": "config"}]));
    stage.guest.say(&stage.chat, "t", &echo).await;
    let known: Value = serde_json::from_str(&text(&stage.end("t").await)).unwrap();
    assert_eq!(known["autoApprove"], "autoApprove");
    stage.close().await;
}

#[tokio::test]
async fn values_of_a_dynamic_setting_are_completed_by_the_agent() {
    let stage = Stage::open().await;
    let ask = |property: &str, query: &str| json!({"channel": ROOT, "provider": "script", "property": property, "query": query});
    let values = |found: Value| -> Vec<String> {
        let items = found["items"].as_array().unwrap().iter();
        items
            .map(|item| item["value"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = stage
        .guest
        .request("sessionConfigCompletions", ask("branch", ""))
        .await
        .unwrap();
    assert!(values(all).contains(&"main".to_owned()));
    let some = stage
        .guest
        .request("sessionConfigCompletions", ask("branch", "feat"))
        .await;
    assert_eq!(values(some.unwrap()), ["feature/inn", "feature/keeper"]);
    let refused = stage
        .guest
        .request("sessionConfigCompletions", ask("colour", ""))
        .await;
    assert_eq!(refused.unwrap_err().0, -32602);
    stage.close().await;
}

#[tokio::test]
async fn a_mutable_setting_changes_and_the_agent_learns_of_it() {
    let mut stage = Stage::open().await;
    act(
        &stage.guest,
        &stage.session,
        changed(json!({"autoApprove": "autoApprove"})),
    )
    .await;
    stage
        .guest
        .say(&stage.chat, "t", &script(json!([{"echo": "config"}])))
        .await;
    let known: Value = serde_json::from_str(&text(&stage.end("t").await)).unwrap();
    assert_eq!(
        known,
        json!({"autoApprove": "autoApprove", "isolation": "folder"})
    );
    stage.close().await;
}

#[tokio::test]
async fn immutable_unknown_and_invalid_values_are_rejected() {
    let stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    let cases = [
        (json!({"isolation": "worktree"}), "cannot be changed after"),
        (json!({"colour": "red"}), "no setting `colour`"),
        (json!({"autoApprove": "perhaps"}), "must be one of"),
        (json!({"autoApprove": 7}), "must be of type string"),
    ];
    for (config, expected) in cases {
        let seq = act(&stage.guest, &stage.session, changed(config.clone())).await;
        let reason = session.rejection(seq).await;
        assert!(reason.contains(expected), "{config}: {reason}");
    }
    stage.close().await;
}

#[tokio::test]
async fn a_config_is_merged_unless_it_is_to_be_replaced() {
    let stage = Stage::open().await;
    let mut session = stage.watch_session().await;
    act(
        &stage.guest,
        &stage.session,
        changed(json!({"autoApprove": "autoApprove"})),
    )
    .await;
    let state = until(&mut session, "merged", |s| {
        s["config"]["values"]["autoApprove"] == "autoApprove"
    })
    .await;
    assert_eq!(state["config"]["values"]["isolation"], "folder");
    let mut replace = changed(json!({"isolation": "folder"}));
    replace["replace"] = json!(true);
    act(&stage.guest, &stage.session, replace).await;
    let only = json!({"isolation": "folder"});
    until(&mut session, "replaced", |s| s["config"]["values"] == only).await;
    stage.close().await;
}

#[tokio::test]
async fn the_host_s_own_settings_are_checked_and_shared() {
    let stage = Stage::open().await;
    let mut root = stage.guest.watch_root().await;
    let set =
        |value: &str| json!({"type": "root/configChanged", "config": {"defaultAgent": value}});
    let seq = act(&stage.guest, ROOT, set("nobody")).await;
    assert!(root.rejection(seq).await.contains("must be one of"));
    act(&stage.guest, ROOT, set("script")).await;
    until(&mut root, "set", |s| {
        s["config"]["values"]["defaultAgent"] == "script"
    })
    .await;
    stage.close().await;
}

#[tokio::test]
async fn settings_that_follow_the_user_are_kept_on_the_host() {
    let stage = Stage::open().await;
    let mut root = stage.guest.watch_root().await;
    let set = |value: &str| json!({"type": "root/configChanged", "config": {"appearance": value}});
    let seq = act(&stage.guest, ROOT, set("plaid")).await;
    assert!(root.rejection(seq).await.contains("must be one of"));
    act(&stage.guest, ROOT, set("dark")).await;
    until(&mut root, "kept", |s| {
        s["config"]["values"]["appearance"] == "dark"
            && s["config"]["values"]["defaultAgent"] == "script"
    })
    .await;
    stage.close().await;
}
