//! Customizations over a real socket: files of real directories, plugins of
//! clients, switches, and what becomes of them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use innkeeper::{CustomizationSettings, HostConnection, WorkspaceOptions};
use innkeeper_protocol::newest::state::SessionState;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{Guest, Inn, InnOptions, ROOT, Watch, default_chat, in_time, script};
use crate::stage::{act, until};

const SESSION: &str = "ahp-session:/custom";

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn project() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    write(
        root,
        ".claude/skills/ship/SKILL.md",
        "---\nname: ship\ndescription: Ships it\n---\nSECRET BODY",
    );
    write(
        root,
        ".claude/agents/critic.md",
        "---\nname: critic\n---\nSECRET BODY",
    );
    write(root, ".github/prompts/sum.prompt.md", "Sum up.");
    write(
        root,
        ".mcp.json",
        r#"{"mcpServers": {"db": {"command": "db", "env": {"KEY": "hush"}}}}"#,
    );
    directory
}

async fn create(guest: &Guest, session: &str, directory: &Path) -> Watch<SessionState> {
    let params = json!({
        "channel": session, "provider": "script", "workingDirectories": [uri(directory)],
    });
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(session).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    watch
}

/// A container or a child whose id ends like this.
fn find<'a>(state: &'a Value, ending: &str) -> Option<&'a Value> {
    let ends = |it: &Value| it["id"].as_str().is_some_and(|id| id.ends_with(ending));
    let containers = state["customizations"].as_array()?;
    containers.iter().find(|it| ends(it)).or_else(|| {
        let children = containers.iter().filter_map(|it| it["children"].as_array());
        children.flatten().find(|it| ends(it))
    })
}

async fn completions(guest: &Guest, text: &str) -> Vec<Value> {
    let params = json!({"channel": SESSION, "kind": "userMessage", "text": text,
        "offset": text.len()});
    let result = guest.request("completions", params).await.unwrap();
    result["items"].as_array().unwrap().clone()
}

/// What the agent of a session says that it was given.
async fn given(guest: &Guest, turn: &str) -> Value {
    let chat = default_chat(SESSION);
    let mut watch = guest.watch_chat(&chat).await;
    let steps = json!([{"echo": "customizations"}]);
    guest.say(&chat, turn, &script(steps)).await;
    watch.turn_end(turn).await;
    serde_json::from_str(&watch.text_of(turn)).unwrap()
}

async fn switch(guest: &Guest, session: &str, id: &str, enablement: Value) -> i64 {
    let action = json!({"type": "session/customizationToggled", "id": id,
        "enablement": enablement});
    act(guest, session, action).await
}

#[tokio::test]
async fn what_is_in_a_working_directory_is_shown_and_followed() {
    let directory = project();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let state = json!(watch.state);
    assert_eq!(
        find(&state, "/ship/SKILL.md").unwrap()["description"],
        "Ships it"
    );
    let skills = find(&state, ".claude/skills").unwrap();
    assert_eq!(
        (&skills["load"]["kind"], &skills["writable"]),
        (&json!("loaded"), &json!(true))
    );
    let own = find(&state, "script-agents").unwrap();
    assert_eq!(own["type"], "plugin");
    let delivery = |it: &Value| it["_meta"]["innkeeper"]["delivery"].clone();
    assert_eq!(delivery(&own["children"][0]), "agent");
    for (ending, comes_by) in [
        ("/ship/SKILL.md", "host"),
        ("/critic.md", "host"),
        ("/sum.prompt.md", "use"),
        (".mcp.json#db", "host"),
    ] {
        assert_eq!(
            delivery(find(&state, ending).unwrap()),
            comes_by,
            "{ending}"
        );
    }
    assert!(!state.to_string().contains("SECRET"), "no bodies");
    assert!(!state.to_string().contains("hush"), "no keys");

    write(
        directory.path(),
        ".claude/skills/dock/SKILL.md",
        "---\nname: dock\n---\n",
    );
    until(&mut watch, "a new one", |s| {
        find(s, "/dock/SKILL.md").is_some()
    })
    .await;
    write(
        directory.path(),
        ".claude/agents/broken.md",
        "---\nname: [\n---\n",
    );
    let state = until(&mut watch, "a broken one", |s| {
        find(s, ".claude/agents").unwrap()["load"]["kind"] == "degraded"
    })
    .await;
    assert!(find(&state, "critic.md").is_some());
    assert_eq!(
        find(&state, ".claude/skills").unwrap()["load"]["kind"],
        "loaded"
    );
    fs::remove_dir_all(directory.path().join(".claude/agents")).unwrap();
    until(&mut watch, "one less", |s| {
        find(s, ".claude/agents").is_none()
    })
    .await;

    let newcomer: SessionState = inn.guest("b").await.snapshot(SESSION).await;
    assert_eq!(
        newcomer, watch.state,
        "whoever folds holds what the host holds"
    );
    inn.close().await;
}

#[tokio::test]
async fn skills_and_prompts_are_offered_and_agents_can_be_selected() {
    let directory = project();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let items = completions(&guest, "/s").await;
    let offered: Vec<&Value> = items.iter().map(|it| &it["insertText"]).collect();
    assert_eq!(offered, ["/scenarios ", "/ship ", "/sum "]);
    let attachment = &items[1]["attachment"];
    assert_eq!(
        (&attachment["type"], &attachment["displayKind"]),
        (&json!("resource"), &json!("skill"))
    );

    let chat = default_chat(SESSION);
    let state = json!(watch.state);
    let critic = find(&state, "critic.md").unwrap()["uri"].clone();
    let start = |turn: &str| {
        json!({"type": "chat/turnStarted", "turnId": turn,
            "startedAt": "2026-01-01T00:00:00.000Z", "message": {
                "text": script(json!([{"echo": "agent"}])), "origin": {"kind": "user"},
                "agent": {"uri": critic}}})
    };
    let mut turns = guest.watch_chat(&chat).await;
    act(&guest, &chat, start("1")).await;
    turns.turn_end("1").await;
    assert!(turns.text_of("1").contains("critic.md"));

    let agents = find(&state, ".claude/agents").unwrap()["id"].clone();
    let off = json!([{"kind": "session", "enabled": false}]);
    switch(&guest, SESSION, agents.as_str().unwrap(), off.clone()).await;
    until(&mut watch, "off", |s| {
        find(s, ".claude/agents").unwrap()["enabled"] == false
    })
    .await;
    let seq = act(&guest, &chat, start("2")).await;
    assert!(turns.rejection(seq).await.contains("no custom agent"));
    let ship = find(&state, "/ship/SKILL.md").unwrap()["id"].clone();
    switch(&guest, SESSION, ship.as_str().unwrap(), off).await;
    until(&mut watch, "off", |s| {
        find(s, "/ship/SKILL.md").unwrap()["enabled"] == false
    })
    .await;
    assert_eq!(completions(&guest, "/sh").await, Vec::<Value>::new());
    inn.close().await;
}

#[tokio::test]
async fn mcp_servers_of_a_directory_are_off_until_somebody_wants_them() {
    let directory = project();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let before = given(&guest, "1").await;
    assert_eq!(before["mcpServers"], json!([]));
    let files = before["files"].as_array().unwrap();
    assert!(
        files
            .iter()
            .any(|it| it["type"] == "skill" && it["name"] == "ship")
    );

    let state = json!(watch.state);
    let server = find(&state, "#db").unwrap();
    assert_eq!(
        server["enablement"],
        json!([{"kind": "global", "enabled": false}])
    );
    let id = server["id"].as_str().unwrap();
    let here = uri(directory.path());
    let on = json!([{"kind": "workspace", "uri": here, "enabled": true}]);
    switch(&guest, SESSION, id, on).await;
    until(&mut watch, "on", |s| {
        find(s, "#db").unwrap()["enablement"][0]["enabled"] == true
    })
    .await;
    assert_eq!(
        given(&guest, "2").await,
        before,
        "it holds when the agent starts next"
    );

    // In another session there, and after a restart.
    let inn = inn.reopen(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    let other = create(&guest, "ahp-session:/other", directory.path()).await;
    let state = json!(other.state);
    assert_eq!(
        find(&state, "#db").unwrap()["enablement"],
        json!([{"kind": "workspace", "uri": here, "enabled": true},
               {"kind": "global", "enabled": false}])
    );
    assert_eq!(given(&guest, "3").await["mcpServers"], json!(["db"]));
    inn.close().await;
}

#[tokio::test]
async fn a_switch_that_makes_no_sense_is_refused_with_a_reason() {
    let directory = project();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let id = "script-agents";
    let (session, global) = (
        json!({"kind": "session", "enabled": true}),
        json!({"kind": "global", "enabled": true}),
    );
    let cases = [
        ("nothing", json!([]), "no customization `nothing`"),
        (
            id,
            json!([global, session]),
            "order session, workspace, global",
        ),
        (
            id,
            json!([session, session]),
            "order session, workspace, global",
        ),
        (
            id,
            json!([{"kind": "workspace", "uri": "file:///else", "enabled": true}]),
            "not the session's first directory",
        ),
        (
            id,
            json!([{"kind": "weather"}]),
            "session, workspace and global only",
        ),
    ];
    for (id, enablement, expected) in cases {
        let seq = switch(&guest, SESSION, id, enablement).await;
        let reason = watch.rejection(seq).await;
        assert!(reason.contains(expected), "{reason}");
    }
    let start = json!({"type": "session/mcpServerStartRequested", "id": id});
    let seq = act(&guest, SESSION, start).await;
    assert!(watch.rejection(seq).await.contains("no MCP server"));
    inn.close().await;
}

#[tokio::test]
async fn the_users_own_holds_in_every_session() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ".claude/commands/hi.md", "Say hi");
    let mut customizations = CustomizationSettings::default();
    customizations.places.home = Some(home.path().to_owned());
    let workspace = WorkspaceOptions {
        customizations,
        ..WorkspaceOptions::default()
    };
    let inn = Inn::open_with(InnOptions {
        workspace,
        ..InnOptions::default()
    })
    .await;
    let guest = inn.guest("a").await;
    let session = guest.new_session().await;
    let state = json!(guest.snapshot::<SessionState>(&session).await);
    assert_eq!(find(&state, "/hi.md").unwrap()["name"], "hi");
    let commands = find(&state, ".claude/commands").unwrap();
    assert_eq!(commands["writable"], false);
    inn.close().await;
}

/// A client that brings plugins of its own and answers for them.
struct Owner {
    connection: Arc<HostConnection>,
}

impl Owner {
    async fn arrive(inn: &Inn, versions: &[&str]) -> Self {
        let owner = Self {
            connection: Arc::new(inn.host.connect()),
        };
        owner
            .say(json!({"id": 1, "method": "initialize", "params": {
                "channel": ROOT, "clientId": "owner", "protocolVersions": versions,
            }}))
            .await;
        owner
    }

    async fn say(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.connection.receive(&message.to_string()).await;
    }

    /// Answers for its files until the connection ends.
    fn serve(&self, files: &'static [(&'static str, &'static str)]) {
        let connection = Arc::clone(&self.connection);
        tokio::spawn(async move {
            while let Some(texts) = connection.next().await {
                for text in texts {
                    let heard: Value = serde_json::from_str(&text).unwrap();
                    if let Some(mut answer) = answer(&heard, files) {
                        answer["jsonrpc"] = json!("2.0");
                        answer["id"] = heard["id"].clone();
                        connection.receive(&answer.to_string()).await;
                    }
                }
            }
        });
    }

    async fn publish(&self, seq: i64, nonce: &str, uri: &str) {
        let client = json!({"clientId": "owner", "tools": [], "customizations": [{
            "type": "plugin", "id": "mine", "uri": uri, "name": "Mine", "nonce": nonce,
            "enablement": [{"kind": "global", "enabled": true}],
            "childEnablement": {"web": [{"kind": "global", "enabled": false}]},
        }]});
        self.say(json!({"method": "dispatchAction", "params": {
            "channel": SESSION, "clientSeq": seq,
            "action": {"type": "session/activeClientSet", "activeClient": client},
        }}))
        .await;
    }
}

fn answer(heard: &Value, files: &[(&str, &str)]) -> Option<Value> {
    let uri = heard["params"]["uri"].as_str()?;
    let inner = uri.strip_prefix("virtual://owner/plugin")?;
    let inner = inner.trim_start_matches('/');
    let missing = json!({"error": {"code": -32008, "message": "not here"}});
    match heard["method"].as_str()? {
        "resourceRead" => {
            let file = files.iter().find(|(path, _)| *path == inner);
            Some(file.map_or(
                missing,
                |(_, text)| json!({"result": {"data": text, "encoding": "utf-8"}}),
            ))
        }
        "resourceList" => {
            let below = match inner.is_empty() {
                true => String::new(),
                false => format!("{inner}/"),
            };
            let inside = files
                .iter()
                .filter_map(|(path, _)| path.strip_prefix(&below));
            let mut entries: Vec<Value> = inside
                .map(|rest| match rest.split_once('/') {
                    Some((name, _)) => json!({"name": name, "type": "directory"}),
                    None => json!({"name": rest, "type": "file"}),
                })
                .collect();
            entries.dedup();
            Some(json!({"result": {"entries": entries}}))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_plugin_that_only_its_client_has_is_fetched_from_it() {
    let directory = tempfile::tempdir().unwrap();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let owner = Owner::arrive(&inn, &["1.0.0"]).await;
    owner.serve(&[
        (
            ".mcp.json",
            r#"{"mcpServers": {"web": {"url": "https://x.example"}}}"#,
        ),
        (
            ".plugin/plugin.json",
            r#"{"name": "named", "version": "2.0.0"}"#,
        ),
        ("skills/one/SKILL.md", "---\nname: one\n---\n"),
    ]);
    owner.publish(1, "n1", "virtual://owner/plugin").await;
    let plugin = |s: &Value| find(s, "mine").cloned().unwrap_or_default();
    until(&mut watch, "on its way", |s| {
        plugin(s)["load"]["kind"] == "loading"
    })
    .await;
    let state = until(&mut watch, "there", |s| {
        plugin(s)["load"]["kind"] == "loaded"
    })
    .await;
    let mine = plugin(&state);
    assert_eq!(
        (&mine["name"], &mine["version"], &mine["clientId"]),
        (&json!("named"), &json!("2.0.0"), &json!("owner"))
    );
    assert_eq!(
        mine["enablement"],
        json!([{"kind": "global", "enabled": true}])
    );
    let web = find(&state, "#web").unwrap();
    assert_eq!(
        web["enablement"],
        json!([{"kind": "global", "enabled": false}])
    );
    assert_eq!(
        find(&state, "one/SKILL.md").unwrap()["uri"],
        "virtual://owner/plugin/skills/one/SKILL.md"
    );
    let items = completions(&guest, "/named").await;
    assert_eq!(items[0]["insertText"], "/named:one ");

    // A new nonce: read again. Somewhere else: not to be had.
    owner.publish(2, "n2", "virtual://owner/plugin").await;
    until(&mut watch, "again", |s| {
        plugin(s)["load"]["kind"] == "loading"
    })
    .await;
    until(&mut watch, "there", |s| {
        plugin(s)["load"]["kind"] == "loaded"
    })
    .await;
    owner.publish(3, "n3", "https://plugins.example/mine").await;
    let state = until(&mut watch, "refused", |s| {
        plugin(s)["load"]["kind"] == "error"
    })
    .await;
    let message = plugin(&state)["load"]["message"].clone();
    assert!(
        message.as_str().unwrap().contains("`virtual:`"),
        "{message}"
    );

    owner
        .say(json!({"method": "dispatchAction", "params": {
            "channel": SESSION, "clientSeq": 4,
            "action": {"type": "session/activeClientRemoved", "clientId": "owner"},
        }}))
        .await;
    until(&mut watch, "gone", |s| find(s, "mine").is_none()).await;
    inn.close().await;
}

#[tokio::test]
async fn a_plugin_of_a_client_on_this_machine_is_read_where_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let plugin = tempfile::tempdir().unwrap();
    write(plugin.path(), "agents/helper.md", "Helps.");
    for (grants, expected) in [
        (innkeeper_engine::GrantPolicy::Read, "loaded"),
        (innkeeper_engine::GrantPolicy::None, "error"),
    ] {
        let workspace = WorkspaceOptions {
            grants,
            ..WorkspaceOptions::default()
        };
        let inn = Inn::open_with(InnOptions {
            workspace,
            ..InnOptions::default()
        })
        .await;
        let guest = inn.guest("a").await;
        let mut watch = create(&guest, SESSION, directory.path()).await;
        let owner = Owner::arrive(&inn, &["1.0.0"]).await;
        owner.serve(&[]);
        owner.publish(1, "n", &uri(plugin.path())).await;
        let state = until(&mut watch, expected, |s| {
            find(s, "mine").is_some_and(|it| it["load"]["kind"] == expected)
        })
        .await;
        assert_eq!(find(&state, "helper.md").is_some(), expected == "loaded");
        inn.close().await;
    }
}

#[tokio::test]
async fn a_client_of_draft_1_switches_by_uri() {
    let directory = project();
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let mut watch = create(&guest, SESSION, directory.path()).await;
    let id = "script-agents";
    let everywhere = json!([{"kind": "global", "enabled": true}]);
    switch(&guest, SESSION, id, everywhere).await;
    until(&mut watch, "on", |s| {
        !find(s, id).unwrap()["enablement"].is_null()
    })
    .await;
    let old = inn.host.connect();
    let say = async |message: Value| {
        old.receive(&message.to_string()).await;
    };
    say(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "clientId": "old", "protocolVersion": 1, "initialSubscriptions": [SESSION]}}),
    )
    .await;
    let welcome = in_time("a welcome", old.next()).await.unwrap();
    assert!(welcome[0].contains("script:/agents"), "{welcome:?}");
    say(
        json!({"jsonrpc": "2.0", "method": "dispatchAction", "params": {
        "clientSeq": 1, "action": {"type": "session/customizationToggled",
            "session": SESSION, "uri": "script:/agents", "enabled": false}}}),
    )
    .await;
    let state = until(&mut watch, "off", |s| {
        find(s, id).unwrap()["enablement"][0]["enabled"] == false
    })
    .await;
    assert_eq!(
        find(&state, id).unwrap()["enablement"],
        json!([{"kind": "session", "enabled": false}, {"kind": "global", "enabled": true}]),
        "what others decided for more than the session stays"
    );
    let echo = in_time("the echo", old.next()).await.unwrap();
    let echo: Value = serde_json::from_str(&echo[0]).unwrap();
    let action = &echo["params"]["action"];
    assert_eq!(
        (&action["uri"], &action["enabled"]),
        (&json!("script:/agents"), &json!(false))
    );
    inn.close().await;
}
