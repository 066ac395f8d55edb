//! MCP servers, as `.mcp.json` and its relatives declare them.
//!
//! Clients see their names. How they are started may hold secrets and is kept
//! apart from that. `${NAME}` in it is filled in from what the host's
//! configuration passes on and from nothing else: a file that came with a
//! repository must not be able to send the host's environment away.

use std::collections::BTreeMap;

use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::mcp::{McpServer, McpTransport};
use innkeeper_protocol::newest::state::{
    ChildCustomization, McpServerCustomization, McpServerState, McpServerStoppedState,
};
use innkeeper_protocol::workspace::customization::McpServerSpec;
use serde_json::{Map, Value};

use super::contents::Contents;
use super::spans::{self, Spans};
use super::tree::Tree;

/// What `${NAME}` stands for.
pub(super) type Variables = BTreeMap<String, String>;

impl Contents {
    /// Adds the servers that a file declares.
    pub(super) fn add_servers_of(&mut self, tree: &dyn Tree, path: &str, variables: &Variables) {
        let text = match tree.read(path) {
            Ok(text) => text,
            Err(error) => return self.warn(path, error),
        };
        let text = without_comments(&text);
        match serde_json::from_str::<Value>(&text) {
            Ok(value) => {
                let spans = spans::of_servers(&text);
                self.add_servers((&tree.uri(path), path), &value, &spans, variables);
            }
            Err(error) => self.warn(path, format!("it is not JSON: {error}")),
        }
    }

    /// Adds servers by name: `{"mcpServers": {…}}`, `{"servers": {…}}`, or
    /// just the inner object. `spans` says where in the file they are.
    pub(super) fn add_servers(
        &mut self,
        (uri, path): (&str, &str),
        declared: &Value,
        spans: &Spans,
        variables: &Variables,
    ) {
        let wrapped = ["mcpServers", "servers"]
            .iter()
            .find_map(|key| declared.get(key));
        let Value::Object(servers) = wrapped.unwrap_or(declared) else {
            return self.warn(path, "it has no `mcpServers` by name");
        };
        for (name, server) in servers {
            let id = format!("{uri}#{name}");
            match transport(server, variables) {
                Ok(transport) => self.servers.push(McpServerSpec {
                    id: id.clone(),
                    server: McpServer {
                        name: name.clone(),
                        transport,
                    },
                }),
                Err(why) => self.warn(path, format!("the server `{name}` {why}")),
            }
            self.push(ChildCustomization::McpServer(Box::new(
                McpServerCustomization {
                    id,
                    uri: uri.to_owned(),
                    name: name.clone(),
                    icons: None,
                    range: spans.get(name).cloned(),
                    meta: None,
                    enablement: None,
                    // It is the agent that starts it, if anybody does.
                    state: McpServerState::Stopped(McpServerStoppedState {}),
                    channel: None,
                    mcp_app: None,
                },
            )));
        }
    }
}

fn transport(server: &Value, variables: &Variables) -> Result<McpTransport, String> {
    let Value::Object(server) = server else {
        return Err("is not an object".to_owned());
    };
    let filled = |text: &str| fill_in(text, variables);
    let text = |key: &str| server.get(key).and_then(Value::as_str);
    let kind = text("type").or_else(|| text("transport"));
    match (text("command"), text("url").or_else(|| text("serverUrl"))) {
        (Some(command), _) => Ok(McpTransport::Stdio {
            command: filled(command)?,
            args: match server.get("args") {
                None | Some(Value::Null) => Vec::new(),
                Some(Value::Array(items)) => items
                    .iter()
                    .map(|item| filled(item.as_str().ok_or("has an argument that is not text")?))
                    .collect::<Result<_, String>>()?,
                Some(_) => return Err("has `args` that are not a list".to_owned()),
            },
            env: texts(server, "env", variables)?,
            directory: text("cwd").map(filled).transpose()?,
        }),
        (None, Some(url)) => {
            let (url, headers) = (filled(url)?, texts(server, "headers", variables)?);
            Ok(match kind {
                Some("sse") => McpTransport::Sse { url, headers },
                _ => McpTransport::Http {
                    url,
                    headers,
                    oauth_client: oauth_client(server),
                },
            })
        }
        (None, None) => Err("has neither a `command` nor a `url`".to_owned()),
    }
}

/// The OAuth client that people sign in with.
fn oauth_client(server: &Map<String, Value>) -> Option<String> {
    let client = server.get("oauth")?.get("clientId")?.as_str()?;
    let fits = !client.is_empty() && client.len() <= MAX_ID_BYTES;
    fits.then(|| client.to_owned())
}

fn texts(
    server: &Map<String, Value>,
    key: &str,
    variables: &Variables,
) -> Result<BTreeMap<String, String>, String> {
    let values = match server.get(key) {
        None | Some(Value::Null) => return Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values,
        Some(_) => return Err(format!("has `{key}` that is not an object")),
    };
    let one = |(name, value): (&String, &Value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            _ => return Err(format!("has a value in `{key}` that is not text")),
        };
        Ok((name.clone(), fill_in(&text, variables)?))
    };
    values.iter().map(one).collect()
}

/// Replaces `${NAME}`, `${env:NAME}` and `${NAME:-otherwise}`.
fn fill_in(text: &str, variables: &Variables) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else {
            break;
        };
        filled.push_str(before);
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        let name = name.strip_prefix("env:").unwrap_or(name);
        match variables.get(name).map(String::as_str).or(otherwise) {
            Some(value) => filled.push_str(value),
            None => {
                return Err(format!(
                    "needs `${{{name}}}`; set the variable and add it to customizations.pass_env"
                ));
            }
        }
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// Some of these files may hold lines of comments, as editors allow. All other
/// lines stay where they are.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let is_comment = line.trim_start().starts_with("//");
        if is_comment { "" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(declared: Value) -> Contents {
        let mut contents = Contents::default();
        let variables = [("ROOT".to_owned(), "/p".to_owned())].into();
        contents.add_servers(
            ("x:file", ".mcp.json"),
            &declared,
            &Spans::new(),
            &variables,
        );
        contents
    }

    #[test]
    fn each_way_to_declare_a_server_is_understood() {
        let stdio = |args: &[&str]| McpTransport::Stdio {
            command: "npx".to_owned(),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: BTreeMap::new(),
            directory: None,
        };
        let url = "https://x.example/mcp".to_owned();
        let headers = BTreeMap::from([("A".to_owned(), "b /p c".to_owned())]);
        let cases = [
            (json!({"command": "npx"}), stdio(&[])),
            (
                json!({"type": "stdio", "command": "npx", "args": ["-y", "${ROOT}/s", "${X:-d}"]}),
                stdio(&["-y", "/p/s", "d"]),
            ),
            (
                json!({"type": "http", "url": url, "headers": {"A": "b ${env:ROOT} c"}}),
                McpTransport::Http {
                    url: url.clone(),
                    headers: headers.clone(),
                    oauth_client: None,
                },
            ),
            (
                json!({"url": url, "oauth": {"clientId": "innkeeper", "callbackPort": 8080}}),
                McpTransport::Http {
                    url: url.clone(),
                    headers: BTreeMap::new(),
                    oauth_client: Some("innkeeper".to_owned()),
                },
            ),
            (
                json!({"type": "sse", "url": url}),
                McpTransport::Sse {
                    url: url.clone(),
                    headers: BTreeMap::new(),
                },
            ),
        ];
        for (server, expected) in cases {
            for declared in [
                json!({"mcpServers": {"s": server}}),
                json!({"servers": {"s": server}, "inputs": []}),
                json!({"s": server}),
            ] {
                let contents = read(declared);
                assert_eq!(contents.warnings, Vec::<String>::new());
                let McpServerSpec { id, server } = &contents.servers[0];
                assert_eq!((&**id, &*server.name), ("x:file#s", "s"));
                assert!(server.transport == expected);
            }
        }
    }

    #[test]
    fn one_that_is_broken_is_shown_and_leaves_the_others_alone() {
        let cases = [
            (json!(1), "is not an object"),
            (json!({}), "neither a `command` nor a `url`"),
            (json!({"command": "c", "args": "x"}), "list"),
            (json!({"command": "c", "env": []}), "not an object"),
            (json!({"command": "c", "env": {"A": []}}), "not text"),
            (
                json!({"url": "https://x/${SECRET}"}),
                "customizations.pass_env",
            ),
        ];
        for (broken, expected) in cases {
            let contents = read(json!({"mcpServers": {"bad": broken, "good": {"command": "c"}}}));
            assert_eq!(contents.children.len(), 2);
            assert_eq!(contents.servers.len(), 1);
            assert_eq!(contents.warnings.len(), 1);
            assert!(
                contents.warnings[0].contains(expected),
                "{:?}",
                contents.warnings
            );
            assert!(contents.warnings[0].contains("`bad`"));
        }
    }

    #[test]
    fn how_a_server_is_started_is_not_shown_to_the_log() {
        let contents = read(json!({"s": {"command": "c", "env": {"KEY": "hush"}}}));
        assert!(!format!("{:?}", contents.servers).contains("hush"));
    }
}
