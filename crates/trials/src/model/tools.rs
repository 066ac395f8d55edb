//! How a wish becomes a call of one of the tools that an agent offers. Agents
//! have different names for the same few tools and for their arguments: the
//! names are looked up in lists, the arguments in the tool's own schema.

use serde_json::{Map, Value, json};

/// A tool that the model may call.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) name: String,
    /// The drawer that it lies in, where tools lie in drawers.
    namespace: Option<String>,
    schema: Value,
    /// Its input is a text rather than an object.
    freeform: bool,
}

impl Offered {
    pub(super) fn function(name: impl Into<String>, schema: &Value) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            schema: schema.clone(),
            freeform: false,
        }
    }

    pub(super) fn freeform(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            schema: Value::Null,
            freeform: true,
        }
    }

    pub(super) fn within(self, namespace: &str) -> Self {
        Self {
            namespace: Some(namespace.to_owned()),
            ..self
        }
    }

    /// Agents put the name of a tool's origin before its own.
    fn is_called(&self, name: &str) -> bool {
        let own = self.name.to_ascii_lowercase();
        let origin = own.strip_suffix(name);
        origin.is_some_and(|origin| origin.is_empty() || origin.ends_with(['_', '-']))
    }
}

#[derive(Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) input: Value,
}

pub(super) enum Wish<'a> {
    Run {
        command: &'a str,
    },
    Read {
        path: &'a str,
    },
    Edit {
        directory: &'a str,
        path: &'a str,
        old: &'a str,
        new: &'a str,
    },
    Use {
        tool: &'a str,
        input: &'a Value,
    },
    /// Another agent is to do what a prompt says.
    Delegate {
        prompt: &'a str,
        kind: &'a str,
        in_background: bool,
    },
}

const SHELLS: &[&str] = &[
    "bash",
    "shell",
    "exec_command",
    "shell_command",
    "run_shell_command",
    "run_command",
    "execute",
    "terminal",
];
const READERS: &[&str] = &["read", "read_file", "view", "read_text_file"];
const EDITORS: &[&str] = &[
    "edit",
    "edit_file",
    "replace",
    "str_replace",
    "search_replace",
];
/// Names that say so only together with what the tool takes.
const PERHAPS_EDITORS: &[&str] = &["patch"];

const DELEGATES: &[&str] = &[
    "agent",
    "task",
    "subagent",
    "spawn_agent",
    "delegate",
    "invoke_agent",
    "delegate_task",
];
/// What another agent is told.
const PROMPTS: &[&str] = &["prompt", "instructions", "message", "goal"];
/// What lets it go on by itself.
const BACKGROUND: &[&str] = &["run_in_background", "async", "background"];

pub(super) fn call(wish: &Wish<'_>, tools: &[Offered]) -> Option<Call> {
    match *wish {
        Wish::Run { command } => run(command, tools),
        Wish::Read { path } => match first(tools, READERS) {
            Some(tool) => Some(function(tool, &[(PATHS, json!(path))])),
            None => run(&format!("cat '{path}'"), tools),
        },
        Wish::Edit {
            directory,
            path,
            old,
            new,
        } => match editor(tools) {
            Some(tool) => {
                let full = format!("{directory}/{path}");
                let sides = [(OLD, json!(old)), (NEW, json!(new))];
                let mut arguments = vec![(PATHS, json!(full))];
                // Some take a list of changes.
                match tool.schema["properties"]["edits"]["items"].as_object() {
                    Some(item) => {
                        let item = Offered::function("", &Value::Object(item.clone()));
                        let change = function(&item, &sides).input;
                        arguments.push((&["edits"], json!([change])));
                    }
                    None => arguments.extend(sides),
                }
                Some(function(tool, &arguments))
            }
            None => patch(&format!("{directory}/{path}"), old, new, tools),
        },
        Wish::Delegate {
            prompt,
            kind,
            in_background,
        } => delegate(prompt, kind, in_background, tools),
        Wish::Use { tool, input } => {
            let tool = named(tools, tool)?;
            Some(Call {
                name: tool.name.clone(),
                namespace: tool.namespace.clone(),
                input: input.clone(),
            })
        }
    }
}

/// The tool that replaces a text by another; without one, any that edits.
fn editor(tools: &[Offered]) -> Option<&Offered> {
    let replaces = |tool: &&Offered| {
        let mut sides = OLD.iter().chain(&["edits"]);
        sides.any(|name| !tool.schema["properties"][*name].is_null())
    };
    let mut named = EDITORS.iter().chain(PERHAPS_EDITORS).flat_map(|name| {
        let of_name = tools.iter().filter(move |tool| tool.is_called(name));
        of_name.filter(replaces)
    });
    named.next().or_else(|| first(tools, EDITORS))
}

/// A call of the tool that lets another agent work, if it says in words what to
/// do, and can go on by itself where that is wanted.
fn delegate(prompt: &str, kind: &str, in_background: bool, tools: &[Offered]) -> Option<Call> {
    let has = |tool: &Offered, names: &[&str]| {
        let mut names = names.iter();
        names.any(|name| !tool.schema["properties"][*name].is_null())
    };
    let is_it = |tool: &&Offered| {
        let mut names = DELEGATES.iter();
        names.any(|name| tool.name.eq_ignore_ascii_case(name)) && has(tool, PROMPTS)
    };
    let tool = tools.iter().find(is_it)?;
    let property = |name: &str| &tool.schema["properties"][name];
    let modes = property("mode")["enum"].as_array();
    let mode = if in_background { "background" } else { "sync" };
    let has_mode = modes.is_some_and(|modes| modes.iter().any(|it| it == mode));
    if in_background && !has_mode && !has(tool, BACKGROUND) {
        return None;
    }
    let mut arguments: Vec<Argument<'_>> = vec![
        (PROMPTS, json!(prompt)),
        (&["description", "title"], json!("Look around")),
        (&["subagent_type", "agent_type", "agent_name"], json!(kind)),
        (BACKGROUND, json!(in_background)),
    ];
    if has_mode {
        arguments.push((&["mode"], json!(mode)));
    }
    Some(function(tool, &arguments))
}

type Argument<'a> = (&'a [&'a str], Value);

const PATHS: &[&str] = &["path", "file_path", "filePath", "absolute_path"];
const OLD: &[&str] = &[
    "old_string",
    "oldString",
    "oldText",
    "old_str",
    "before",
    "old_text",
];
const NEW: &[&str] = &[
    "new_string",
    "newString",
    "newText",
    "new_str",
    "after",
    "new_text",
];

fn run(command: &str, tools: &[Offered]) -> Option<Call> {
    let tool = first(tools, SHELLS)?;
    let property = |name: &str| &tool.schema["properties"][name];
    let command = match property("command")["type"] == "array" {
        true => json!(["bash", "-lc", command]),
        false => json!(command),
    };
    // Where the model has to say that a command needs somebody's consent.
    let consent = ["require_escalated", "require-escalated"];
    let consent = consent.into_iter().find(|word| {
        let values = property("sandbox_permissions")["enum"].as_array();
        values.is_none_or(|values| values.iter().any(|value| value == word))
    });
    Some(function(
        tool,
        &[
            (&["command", "cmd"], command),
            (&["sandbox_permissions"], json!(consent)),
            (&["justification"], json!("May this run?")),
            (&["description"], json!("run a command")),
        ],
    ))
}

/// Where files are changed by patches: with a tool for them, or by the shell,
/// which then knows the command.
fn patch(path: &str, old: &str, new: &str, tools: &[Offered]) -> Option<Call> {
    let patch =
        format!("*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n");
    match first(tools, &["apply_patch"]) {
        Some(tool) => Some(Call {
            name: tool.name.clone(),
            namespace: tool.namespace.clone(),
            input: match tool.freeform {
                true => json!(patch),
                false => json!({"input": patch}),
            },
        }),
        None => {
            let tool = first(tools, SHELLS)?;
            let command = json!(format!("apply_patch <<'END'\n{patch}END\n"));
            Some(function(tool, &[(&["command", "cmd"], command)]))
        }
    }
}

fn first<'a>(tools: &'a [Offered], names: &[&str]) -> Option<&'a Offered> {
    names.iter().find_map(|name| named(tools, name))
}

/// The tool of that name; without one, that of some origin.
fn named<'a>(tools: &'a [Offered], name: &str) -> Option<&'a Offered> {
    let of_agent = tools
        .iter()
        .find(|tool| tool.name.eq_ignore_ascii_case(name));
    of_agent.or_else(|| tools.iter().find(|tool| tool.is_called(name)))
}

/// A call with those arguments that the tool has, and something for whatever
/// else it insists on.
fn function(tool: &Offered, arguments: &[Argument<'_>]) -> Call {
    let properties = &tool.schema["properties"];
    let mut input = Map::new();
    for (names, value) in arguments {
        let name = names.iter().find(|name| !properties[**name].is_null());
        if let Some(name) = name {
            input.insert((*name).to_owned(), value.clone());
        }
    }
    let required = tool.schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !input.contains_key(name) {
            input.insert(name.to_owned(), anything(&properties[name]));
        }
    }
    Call {
        name: tool.name.clone(),
        namespace: tool.namespace.clone(),
        input: Value::Object(input),
    }
}

fn anything(schema: &Value) -> Value {
    if let Some(first) = schema["enum"].get(0) {
        return first.clone();
    }
    match schema["type"].as_str() {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(false),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("scripted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(name: &str, properties: Value, required: Value) -> Vec<Offered> {
        let schema = json!({"properties": properties, "required": required});
        vec![Offered::function(name, &schema)]
    }

    fn edit(tools: &[Offered]) -> Value {
        let wish = Wish::Edit {
            directory: "/w",
            path: "f",
            old: "a",
            new: "b",
        };
        call(&wish, tools).unwrap().input
    }

    #[test]
    fn an_edit_is_put_in_the_words_of_the_tool() {
        let text = json!({"type": "string"});
        let flat = json!({"file_path": text, "old_string": text, "new_string": text});
        let flat = offered("Edit", flat, json!([]));
        let expected = json!({"file_path": "/w/f", "old_string": "a", "new_string": "b"});
        assert_eq!(edit(&flat), expected);

        let change = json!({"properties": {"oldText": text, "newText": text}});
        let list = json!({"path": text, "edits": {"type": "array", "items": change}});
        let list = offered("edit", list, json!([]));
        let expected = json!({"path": "/w/f", "edits": [{"oldText": "a", "newText": "b"}]});
        assert_eq!(edit(&list), expected);

        let patch = [Offered::freeform("apply_patch")];
        assert!(edit(&patch).as_str().unwrap().contains("\n-a\n+b\n"));
    }

    #[test]
    fn a_command_asks_for_consent_where_that_is_said_with_it() {
        let text = json!({"type": "string"});
        let properties = json!({"cmd": text, "sandbox_permissions": text, "level": text});
        let tools = offered("exec_command", properties, json!(["level"]));
        let made = call(&Wish::Run { command: "ls" }, &tools).unwrap();
        let expected = json!({
            "cmd": "ls", "sandbox_permissions": "require_escalated", "level": "scripted",
        });
        assert_eq!(made.input, expected);
    }

    #[test]
    fn tools_of_others_are_found_behind_their_origin() {
        let input = json!({"city": "Ulm"});
        for name in ["mcp__host__weather", "host-weather"] {
            let tools = offered(name, json!({}), json!([]));
            let wish = Wish::Use {
                tool: "weather",
                input: &input,
            };
            assert_eq!(call(&wish, &tools).unwrap().name, name);
        }
    }
}
