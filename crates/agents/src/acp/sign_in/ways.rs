//! The ways of signing in that an agent names (`authMethods`), as it sends them:
//! the published schema knows some kinds only.

use std::collections::BTreeMap;
use std::path::Path;

use innkeeper_protocol::agent::{SignInValue, SignInWay};
use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use serde_json::Value;

use crate::child::Access;
use crate::keys;
use crate::process::Program;

/// How many ways and variables are looked at, and how much of what an agent
/// writes about one.
const MOST: usize = 16;
const LONGEST: usize = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::acp) struct Way {
    pub(in crate::acp) shown: SignInWay,
    pub(in crate::acp) kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::acp) enum Kind {
    /// The agent does it by itself when it is asked to (`authenticate`).
    Agent,
    /// A program does it, in a terminal.
    Terminal {
        program: TerminalProgram,
        /// What it gets in addition to the agent's own environment.
        env: BTreeMap<String, String>,
    },
    /// The agent finds what it needs in its environment.
    Variables {
        values: Vec<SignInValue>,
        link: Option<String>,
        /// And looks there only when it is asked to (`authenticate`).
        when_asked: bool,
    },
}

impl Way {
    /// What a person can do who has no session with the agent.
    pub(in crate::acp) fn as_advice(&self) -> String {
        let name = &self.shown.name;
        match &self.kind {
            Kind::Agent => format!("{name} (`auth_method = {:?}` in its table)", self.shown.id),
            Kind::Terminal { program, .. } => format!("{name}: run `{}`", program.line()),
            Kind::Variables { values, .. } => {
                let names: Vec<&str> = values.iter().map(|value| &*value.name).collect();
                format!("{name}: set {}", names.join(", "))
            }
        }
    }
}

/// The ways that can be gone here.
pub(in crate::acp) fn of(methods: &Value, agent: &Access) -> Vec<Way> {
    let methods = methods.as_array().into_iter().flatten();
    methods
        .filter_map(|method| way(method, agent))
        .take(MOST)
        .collect()
}

fn way(method: &Value, access: &Access) -> Option<Way> {
    let agent = &access.program;
    let id = method["id"]
        .as_str()
        .filter(|id| id.len() <= MAX_ID_BYTES)?;
    let shown = SignInWay {
        id: id.to_owned(),
        name: text(&method["name"]).unwrap_or_else(|| id.to_owned()),
        description: text(&method["description"]),
    };
    let elsewhere = &method["_meta"]["terminal-auth"];
    let mut kind = match method["type"].as_str() {
        Some("terminal") => {
            let mut args = agent.args.clone();
            let more = texts(&method["args"]);
            // They are for the agent's own program, which some name once more.
            let is_program = |arg: &String| Path::new(arg).is_absolute() && is_own(agent, arg);
            let repeated = usize::from(more.first().is_some_and(is_program));
            args.extend(more.into_iter().skip(repeated));
            terminal(own_program(agent), args, &method["env"])
        }
        Some("env_var") => variables(method)?,
        _ => {
            let own = own_command(method, agent);
            match elsewhere["command"].as_str() {
                Some(command) if own.is_none() || is_certain(agent, command) => {
                    let args = texts(&elsewhere["args"]);
                    terminal(command.to_owned(), args, &elsewhere["env"])
                }
                _ => match own {
                    Some(args) => terminal(own_program(agent), args, &elsewhere["env"]),
                    None => key(method).unwrap_or(Kind::Agent),
                },
            }
        }
    };
    if let Kind::Terminal {
        program: TerminalProgram::Direct { args, .. },
        ..
    } = &mut kind
    {
        args.extend(access.sign_in.args.clone());
    }
    Some(Way { shown, kind })
}

/// Whether this names the program of an agent.
fn is_own(agent: &Program, command: &str) -> bool {
    Path::new(command).file_name() == agent.command.file_name()
}

/// Whether a command leads to the agent's own program, or to a certain one. (One
/// agent that was made of another names the other one.)
fn is_certain(agent: &Program, command: &str) -> bool {
    Path::new(command).is_absolute() || is_own(agent, command)
}

fn own_program(agent: &Program) -> String {
    agent.command.display().to_string()
}

/// The arguments of the agent's own program, where it tells people to run that
/// ("Run `goose configure` to …"). Asked to do it by itself, such agents say yes
/// and do nothing.
fn own_command(method: &Value, agent: &Program) -> Option<Vec<String>> {
    let (before, rest) = method["description"].as_str()?.split_once('`')?;
    let (line, _) = rest.split_once('`')?;
    let verb = before.trim_end().rsplit(' ').next()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@ ".contains(c);
    let mut words = line.split_whitespace();
    let is_own = words.next().is_some_and(|word| is_own(agent, word));
    let args: Vec<String> = words.map(str::to_owned).collect();
    let is_meant = verb.eq_ignore_ascii_case("run") && is_own && !args.is_empty();
    (is_meant && line.len() <= LONGEST && line.chars().all(is_plain)).then_some(args)
}

fn terminal(program: String, args: Vec<String>, env: &Value) -> Kind {
    let env = env.as_object().into_iter().flatten();
    let env = env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    Kind::Terminal {
        program: TerminalProgram::Direct { program, args },
        env: env
            .filter(|(name, value)| keys::is_name(name) && keys::check(value).is_ok())
            .collect(),
    }
}

fn variables(method: &Value) -> Option<Kind> {
    let one = [method.clone()];
    let vars = match method["vars"].as_array() {
        Some(vars) => &vars[..],
        // As agents wrote it when there could be one only.
        None => &one,
    };
    let value = |var: &Value| {
        let name = var["name"].as_str().filter(|_| method["vars"].is_array());
        let name = name.or_else(|| var["varName"].as_str())?;
        Some(SignInValue {
            name: Some(name).filter(|name| keys::is_name(name))?.to_owned(),
            label: text(&var["label"]),
            secret: var["secret"] != false,
            optional: var["optional"] == true,
        })
    };
    let values: Vec<SignInValue> = vars.iter().filter_map(value).take(MOST).collect();
    (!values.is_empty()).then(|| Kind::Variables {
        values,
        link: text(&method["link"]),
        when_asked: false,
    })
}

/// The variable of a key that the agent wants before it can sign in by itself:
/// named by whose key it is, or in what it says for people.
fn key(method: &Value) -> Option<Kind> {
    let vendor = method["_meta"]["api-key"]["provider"].as_str();
    let of_vendor = vendor.map(|vendor| match vendor {
        "google" => "GEMINI_API_KEY".to_owned(),
        other => format!("{}_API_KEY", other.to_uppercase()),
    });
    let named = || {
        let description = method["description"].as_str()?;
        let (before, _) = description.split_once(" environment variable")?;
        let name = before.rsplit(' ').next()?.trim_matches('`');
        let is_capital = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let is_meant = name.contains('_') && name.chars().all(is_capital);
        is_meant.then(|| name.to_owned())
    };
    let name = of_vendor.or_else(named);
    let name = name.filter(|name| keys::is_name(name) && name.len() <= MAX_ID_BYTES)?;
    let value = SignInValue {
        name,
        label: None,
        secret: true,
        optional: false,
    };
    Some(Kind::Variables {
        values: vec![value],
        link: None,
        when_asked: true,
    })
}

fn text(value: &Value) -> Option<String> {
    let text = value
        .as_str()
        .map(str::trim)
        .filter(|text| !text.is_empty())?;
    Some(text.chars().take(LONGEST).collect())
}

fn texts(value: &Value) -> Vec<String> {
    let texts = value.as_array().into_iter().flatten();
    let texts = texts.filter_map(|text| text.as_str().map(str::to_owned));
    texts.collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::process::Patience;
    use crate::registry::SignIn;

    fn access(program: &str) -> Access {
        let (name, program) = (program.to_owned(), Program::new(program));
        Access::new(name.clone(), name, program, Patience::default(), None)
    }

    #[test]
    fn every_kind_of_way_becomes_something_to_do() {
        let mut agent = access("claude");
        agent.program.args = vec!["--acp".to_owned()];
        let methods = json!([
            {"id": "device", "name": "Device code", "description": "On any device"},
            {"id": "tui", "name": "Log in", "type": "terminal", "args": ["/login"],
             "env": {"X": "1", "bad name": "2"}},
            {"id": "gh", "name": "Log in", "_meta": {"terminal-auth":
                {"command": "copilot", "args": ["login"], "label": "Copilot"}}},
            {"id": "key", "name": "Key", "type": "env_var", "link": "https://keys.example",
             "vars": [{"name": "API_KEY"}, {"name": "no name"},
                      {"name": "BASE", "label": "Address", "secret": false, "optional": true}]},
            {"id": "old", "name": "Old key", "type": "env_var", "varName": "OLD_KEY"},
            {"id": "none", "name": "Nothing", "type": "env_var", "vars": []},
            {"id": "api-key", "name": "API Key", "_meta": {"api-key": {"provider": "openai"}}},
            {"id": "other", "name": "Google", "_meta": {"api-key": {"provider": "google"}}},
            {"id": "odd", "name": "Odd", "_meta": {"api-key": {"provider": "a b"}}},
            {"id": "said", "name": "Said", "_meta": {"type": "terminal", "args": ["--auth"]},
             "description": "Requires setting the `SAID_KEY` environment variable"},
            {"id": "set", "name": "Set",
             "description": "A key that is set in the SET_KEY environment variable."},
            {"id": "any", "name": "Any", "description": "With some environment variable"},
            {"id": "own", "name": "Own", "description": "Run `claude auth login` in the terminal"},
            {"id": "fork", "name": "Fork", "description": "Run `claude auth login` in the terminal",
             "_meta": {"terminal-auth": {"command": "origin", "args": ["auth", "login"]}}},
            {"id": "shell", "name": "Shell", "description": "Run `claude auth; rm -rf x`"},
            {"id": "others", "name": "Others", "description": "Please run `other login`."},
            {"id": "told", "name": "Told", "description": "Like `claude login`"},
            {"name": "without an id"}, 7, null,
        ]);
        let advice: Vec<String> = of(&methods, &agent).iter().map(Way::as_advice).collect();
        let expected = [
            "Device code (`auth_method = \"device\"` in its table)",
            "Log in: run `claude --acp /login`",
            "Log in: run `copilot login`",
            "Key: set API_KEY, BASE",
            "Old key: set OLD_KEY",
            "API Key: set OPENAI_API_KEY",
            "Google: set GEMINI_API_KEY",
            "Odd (`auth_method = \"odd\"` in its table)",
            "Said: set SAID_KEY",
            "Set: set SET_KEY",
            "Any (`auth_method = \"any\"` in its table)",
            "Own: run `claude auth login`",
            "Fork: run `claude auth login`",
            "Shell (`auth_method = \"shell\"` in its table)",
            "Others (`auth_method = \"others\"` in its table)",
            "Told (`auth_method = \"told\"` in its table)",
        ];
        assert_eq!(advice, expected);
        let ways = of(&methods, &agent);
        let Kind::Variables { values, link, .. } = &ways[3].kind else {
            panic!("{ways:?}");
        };
        assert!(values[0].secret && !values[0].optional);
        assert!(!values[1].secret && values[1].optional && link.is_some());
    }

    #[test]
    fn what_an_agent_names_is_bounded() {
        let long = "x".repeat(100_000);
        let method = json!({"id": "a", "name": long, "description": long});
        let many = Value::Array(vec![method; 1_000]);
        let ways = of(&many, &access("a"));
        assert_eq!(ways.len(), MOST);
        assert_eq!(ways[0].shown.name.len(), LONGEST);
        assert!(of(&json!([{"id": long, "name": "a"}]), &access("a")).is_empty());
    }

    /// Recorded with Mistral Vibe 3.0.2 and GitHub Copilot 1.0.102.
    #[test]
    fn a_login_is_run_as_it_works_and_where_nobody_has_a_browser() {
        let methods = json!([
            {"id": "setup", "name": "Key", "type": "terminal", "args": ["/opt/bin/vibe", "--setup"]},
        ]);
        let vibe = access("/usr/bin/vibe");
        assert_eq!(
            of(&methods, &vibe)[0].as_advice(),
            "Key: run `/usr/bin/vibe --setup`"
        );
        let methods = json!([
            {"id": "login", "name": "Log in", "description": "Run `copilot login` in the terminal",
             "_meta": {"terminal-auth": {"command": "/opt/copilot", "args": ["login"]}}},
            {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "KEY"}]},
        ]);
        let mut copilot = access("copilot");
        let args = vec!["--device-code".to_owned()];
        copilot.sign_in = Arc::new(SignIn {
            args,
            ..SignIn::default()
        });
        let advice: Vec<String> = of(&methods, &copilot).iter().map(Way::as_advice).collect();
        assert_eq!(
            advice,
            [
                "Log in: run `/opt/copilot login --device-code`",
                "Key: set KEY"
            ]
        );
    }
}
