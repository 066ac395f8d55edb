//! Real directories, laid out as people have them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

fn written(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(directory.path(), path, text);
    }
    directory
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn project(directory: &Path) -> CustomizationPlace {
    CustomizationPlace::Directory(uri_of_path(directory).unwrap())
}

/// What is found, as clients see it, with the directory's own URI as `~`.
fn found(directory: &Path) -> Value {
    let found = read(&project(directory), &CustomizationOptions::default());
    let all: Vec<_> = found.iter().map(|it| &it.customization).collect();
    let text = serde_json::to_string(&all).unwrap();
    let text = text.replace(&uri_of_path(directory).unwrap(), "~");
    serde_json::from_str(&text).unwrap()
}

fn container<'a>(all: &'a Value, id: &str) -> &'a Value {
    let mut containers = all.as_array().unwrap().iter();
    let container = containers.find(|it| it["id"] == id);
    container.unwrap_or_else(|| panic!("no {id} in {all:#}"))
}

#[test]
fn each_kind_of_file_becomes_a_child_with_what_its_front_matter_says() {
    let cases: &[(&str, &str, &str, Value)] = &[
        (
            ".claude/agents/reviewer.md",
            "---\nname: strict-reviewer\ndescription: Reads: carefully\ntools: Read, Grep\nmodel: sonnet\n---\nYou review.",
            "~/.claude/agents",
            json!({"type": "agent", "name": "strict-reviewer", "description": "Reads: carefully",
                "tools": ["Read", "Grep"], "model": "sonnet"}),
        ),
        (
            ".github/agents/plan.agent.md",
            "---\ndescription: Plans\ntools: ['search', 'edit']\nmodel: [a, b]\ninfer: false\nuser-invocable: false\n---\n",
            "~/.github/agents",
            json!({"type": "agent", "name": "plan", "description": "Plans",
                "tools": ["search", "edit"], "model": "a", "disableModelInvocation": true,
                "disableUserInvocation": true}),
        ),
        (
            ".agents/skills/pdf/SKILL.md",
            "---\nname: pdf-tools\ndescription: Works with PDFs\ndisable-model-invocation: true\n---\n# PDF",
            "~/.agents/skills",
            json!({"type": "skill", "name": "pdf-tools", "description": "Works with PDFs",
                "disableModelInvocation": true}),
        ),
        (
            ".claude/commands/git/commit.md",
            "Commit what is staged: $ARGUMENTS",
            "~/.claude/commands",
            json!({"type": "skill", "name": "git:commit"}),
        ),
        (
            ".github/prompts/explain.prompt.md",
            "---\ndescription: 'Explains'\nmode: agent\n---\n",
            "~/.github/prompts",
            json!({"type": "prompt", "name": "explain", "description": "Explains"}),
        ),
        (
            ".github/instructions/ts.instructions.md",
            "---\napplyTo: '**/*.ts,**/*.tsx'\n---\n",
            "~/.github/instructions",
            json!({"type": "rule", "name": "ts", "globs": ["**/*.ts", "**/*.tsx"]}),
        ),
        (
            ".cursor/rules/style.mdc",
            "---\ndescription: Style\nglobs: *.rs\nalwaysApply: false\n---\n",
            "~/.cursor/rules",
            json!({"type": "rule", "name": "style", "description": "Style", "globs": ["*.rs"],
                "alwaysApply": false}),
        ),
        (
            "AGENTS.md",
            "# How we work",
            "~",
            json!({"type": "rule", "name": "AGENTS.md", "alwaysApply": true}),
        ),
        (
            ".claude/settings.json",
            r#"{"hooks": {"PreToolUse": []}, "model": "x"}"#,
            "~/.claude/settings.json",
            json!({"type": "hook", "name": "settings.json", "_meta": {"events": ["PreToolUse"]}}),
        ),
    ];
    for (path, text, id, expected) in cases {
        let directory = written(&[(path, text)]);
        let all = found(directory.path());
        assert_eq!(all.as_array().unwrap().len(), 1, "{path}: {all:#}");
        let container = container(&all, id);
        assert_eq!(container["type"], "directory");
        assert_eq!(container["contents"], expected["type"]);
        assert_eq!(container["load"], json!({"kind": "loaded"}), "{path}");
        let mut expected = expected.clone();
        expected["id"] = json!(format!("~/{path}"));
        expected["uri"] = expected["id"].clone();
        assert_eq!(container["children"], json!([expected]), "{path}");
    }
}

#[test]
fn mcp_servers_are_children_of_the_file_that_declares_them() {
    let directory = written(&[
        (
            ".mcp.json",
            r#"{"mcpServers": {"db": {"command": "${workspaceFolder}/db", "env": {"KEY": "hush"}}}}"#,
        ),
        (
            ".vscode/mcp.json",
            "{\n  // mine\n  \"servers\": {\"web\": {\"type\": \"http\", \"url\": \"https://x.example\"}}\n}",
        ),
    ]);
    let all = found(directory.path());
    let server = &container(&all, "~/.mcp.json")["children"][0];
    assert_eq!(
        server,
        &json!({"type": "mcpServer", "id": "~/.mcp.json#db", "uri": "~/.mcp.json",
            "name": "db", "state": {"kind": "stopped"},
            "range": {"start": {"line": 0, "character": 16}, "end": {"line": 0, "character": 82}}})
    );
    assert_eq!(
        container(&all, "~/.vscode/mcp.json")["children"][0]["name"],
        "web"
    );
    assert!(
        !all.to_string().contains("hush"),
        "keys are not for clients"
    );
}

#[test]
fn a_broken_file_degrades_its_container_and_nothing_else() {
    let directory = written(&[
        (".claude/agents/good.md", "---\nname: good\n---\n"),
        (".claude/agents/open.md", "---\nname: open\n"),
        (".claude/skills/fine/SKILL.md", "---\nname: fine\n---\n"),
        (".mcp.json", "{"),
        ("AGENTS.md", "fine"),
    ]);
    fs::write(directory.path().join(".claude/agents/odd.md"), [0xff, 0xfe]).unwrap();
    let all = found(directory.path());
    let agents = container(&all, "~/.claude/agents");
    assert_eq!(agents["load"]["kind"], "degraded");
    let message = agents["load"]["message"].as_str().unwrap();
    assert!(
        message.contains("open.md: its front matter has no end"),
        "{message}"
    );
    assert!(message.contains("odd.md: it is not UTF-8"), "{message}");
    let names: Vec<&Value> = agents["children"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["good", "open"], "what can be shown is shown");
    let mcp = container(&all, "~/.mcp.json");
    assert_eq!(
        (&mcp["load"]["kind"], &mcp["children"]),
        (&json!("degraded"), &json!([]))
    );
    for fine in ["~/.claude/skills", "~"] {
        assert_eq!(container(&all, fine)["load"]["kind"], "loaded");
    }
}

#[test]
fn a_plugin_is_a_container_of_everything_in_it() {
    let directory = written(&[
        (
            ".agents/plugins/tools/.plugin/plugin.json",
            r#"{"name": "deploy-tools", "version": "1.2.0", "description": "Deploys",
                "skills": "./more/skills", "agents": ["./extra/one.md", "../outside.md"],
                "mcpServers": {"inline": {"command": "${PLUGIN_ROOT}/server"}},
                "hooks": {"PostToolUse": []}}"#,
        ),
        (".agents/plugins/tools/agents/two.md", "two"),
        (".agents/plugins/tools/extra/one.md", "one"),
        (".agents/plugins/tools/skills/a/SKILL.md", "a"),
        (".agents/plugins/tools/more/skills/b/SKILL.md", "b"),
        (".agents/plugins/tools/commands/ship.md", "ship"),
        (".agents/plugins/tools/rules/r.mdc", "r"),
        (
            ".agents/plugins/tools/.mcp.json",
            r#"{"mcpServers": {"file": {"url": "https://x"}}}"#,
        ),
        (
            ".agents/plugins/tools/hooks/hooks.json",
            r#"{"hooks": {"Stop": []}}"#,
        ),
        (".agents/plugins/bare/skills/c/SKILL.md", "c"),
        (".agents/plugins/broken/.claude-plugin/plugin.json", "{"),
        (".agents/plugins/broken/agents/still.md", "still"),
        (".agents/plugins/empty/README", "nothing"),
    ]);
    let all = found(directory.path());
    let plugin = container(&all, "~/.agents/plugins/tools");
    assert_eq!(
        (&plugin["type"], &plugin["name"], &plugin["version"]),
        (&json!("plugin"), &json!("deploy-tools"), &json!("1.2.0"))
    );
    let children = plugin["children"].as_array().unwrap();
    let listed: Vec<String> = children
        .iter()
        .map(|it| {
            format!(
                "{} {}",
                it["type"].as_str().unwrap(),
                it["name"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(
        listed,
        [
            "agent two",
            "agent one",
            "skill a",
            "skill b",
            "skill ship",
            "rule r",
            "hook plugin.json",
            "hook hooks.json",
            "mcpServer file",
            "mcpServer inline",
        ]
    );
    let ids: BTreeSet<&str> = children
        .iter()
        .map(|it| it["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), children.len(), "each has an id of its own");
    let message = plugin["load"]["message"].as_str().unwrap();
    assert!(message.contains("stay in it"), "{message}");
    let kind =
        |id: &str| container(&all, &format!("~/.agents/plugins/{id}"))["load"]["kind"].clone();
    assert_eq!(kind("bare"), "loaded");
    assert_eq!(kind("broken"), "degraded");
    assert_eq!(kind("empty"), "error");
    let broken = container(&all, "~/.agents/plugins/broken");
    assert_eq!(
        (&broken["name"], &broken["children"][0]["name"]),
        (&json!("broken"), &json!("still"))
    );
}

#[test]
fn a_server_says_where_in_its_file_it_is_declared() {
    let directory = written(&[
        (
            ".agents/plugins/tools/.plugin/plugin.json",
            "{\n  \"name\": \"t\",\n  \"mcpServers\": {\n    \"inline\": {\"command\": \"c\"}\n  }\n}",
        ),
        (
            ".agents/plugins/tools/.mcp.json",
            "// ours\n{\"mcpServers\": {\"file\": {\"url\": \"https://x\"}}}",
        ),
    ]);
    let all = found(directory.path());
    let plugin = container(&all, "~/.agents/plugins/tools");
    let servers = plugin["children"].as_array().unwrap().iter();
    let places: Vec<Value> = servers.map(|it| json!([it["name"], it["range"]])).collect();
    let range = |line: i64, start: i64, end: i64| {
        json!({"start": {"line": line, "character": start},
               "end": {"line": line, "character": end}})
    };
    assert_eq!(
        places,
        [
            json!(["file", range(1, 16, 44)]),
            json!(["inline", range(3, 4, 30)])
        ]
    );
}

#[test]
fn a_plugin_that_a_client_holds_is_read_from_what_it_gave() {
    let plugin = ClientPlugin {
        id: "p1".to_owned(),
        uri: "virtual://c/p".to_owned(),
        name: "Mine".to_owned(),
        client_id: Some("c".to_owned()),
    };
    let files = [
        ("skills/x/SKILL.md", "---\nname: x\n---\n"),
        (".plugin/plugin.json", "{}"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), Ok(text.to_owned())));
    let place = CustomizationPlace::Files {
        plugin,
        files: files.into(),
    };
    let found = read(&place, &CustomizationOptions::default());
    let seen = serde_json::to_value(&found[0].customization).unwrap();
    assert_eq!(
        seen,
        json!({"type": "plugin", "id": "p1", "uri": "virtual://c/p", "name": "Mine",
            "clientId": "c", "load": {"kind": "loaded"}, "children": [
                {"type": "skill", "id": "virtual://c/p/skills/x/SKILL.md",
                 "uri": "virtual://c/p/skills/x/SKILL.md", "name": "x"}]})
    );
}

/// A keeper whose reports can be waited for.
struct Heard {
    customizations: CustomizationService,
    reports: Receiver<CustomizationReport>,
}

impl Heard {
    fn new(options: CustomizationOptions) -> Self {
        let (sender, reports) = channel();
        let sink = Arc::new(move |report| sender.send(report).is_ok());
        Self {
            customizations: CustomizationService::new(options, sink),
            reports,
        }
    }

    fn follow(&self, number: u64, place: CustomizationPlace) {
        let source = SourceId(number);
        let command = CustomizationCommand::Follow { source, place };
        self.customizations.command(command);
    }

    /// The text of the first report that is as wanted.
    fn until(&self, wanted: impl Fn(&str) -> bool) -> String {
        loop {
            let report = self.reports.recv_timeout(Duration::from_secs(60)).unwrap();
            let CustomizationReport::Found { found, .. } = report else {
                continue;
            };
            let all = found.iter().map(|it| &it.customization);
            let text = serde_json::to_string(&all.collect::<Vec<_>>()).unwrap();
            if wanted(&text) {
                return text;
            }
        }
    }
}

#[test]
fn changes_are_reported_as_they_happen() {
    let directory = written(&[("AGENTS.md", "x")]);
    let root = directory.path();
    let heard = Heard::new(CustomizationOptions::default());
    heard.follow(1, project(root));
    heard.until(|text| text.contains("AGENTS.md"));
    // A directory that was not there, step by step.
    write(root, ".claude/agents/first.md", "---\nname: first\n---\n");
    heard.until(|text| text.contains("first"));
    write(root, ".claude/agents/first.md", "---\nname: renamed\n---\n");
    heard.until(|text| text.contains("renamed"));
    write(root, ".mcp.json", "{");
    heard.until(|text| text.contains("degraded"));
    write(
        root,
        ".mcp.json",
        r#"{"mcpServers": {"db": {"command": "db"}}}"#,
    );
    heard.until(|text| text.contains("#db") && !text.contains("degraded"));
    write(
        root,
        ".agents/plugins/p/skills/s/SKILL.md",
        "---\nname: deep\n---\n",
    );
    heard.until(|text| text.contains("deep"));
    fs::remove_dir_all(root.join(".claude")).unwrap();
    heard.until(|text| !text.contains("renamed"));
}

#[test]
fn what_the_user_and_the_configuration_bring_holds_everywhere() {
    let home = written(&[(".claude/skills/mine/SKILL.md", "---\nname: mine\n---\n")]);
    let plugin = written(&[("agents/theirs.md", "x")]);
    let heard = Heard::new(CustomizationOptions {
        home: Some(home.path().to_owned()),
        plugins: vec![plugin.path().to_owned()],
        variables: BTreeMap::new(),
        copies: None,
    });
    heard.follow(1, CustomizationPlace::Host);
    heard.until(|text| text.contains("mine") && text.contains("theirs"));
    write(plugin.path(), "agents/another.md", "x");
    heard.until(|text| text.contains("another"));
}

#[test]
fn what_does_not_concern_it_is_not_read_again() {
    let directory = written(&[(".claude/agents/a.md", "x")]);
    let place = project(directory.path());
    let points = Points::of(&place, &CustomizationOptions::default());
    let root = directory.path().canonicalize().unwrap();
    for (path, expected) in [
        ("target/debug", false),
        ("README.md", false),
        (".claude/projects", false),
        (".claude", true),
        (".claude/agents/b.md", true),
        ("AGENTS.md", true),
        (".github", true),
        (".agents/plugins/x", true),
    ] {
        assert_eq!(points.concern(&root.join(path)), expected, "{path}");
    }
}
