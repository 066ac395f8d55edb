//! Scripts: a JSON object with `steps` anywhere in a message of the user. The
//! last one counts; what the model did of it already shows in the results of
//! tools that came after it.
//!
//! | step | meaning |
//! | --- | --- |
//! | `{"say": "text"}` | says it |
//! | `{"run": "command"}` | runs a command with the agent's shell tool |
//! | `{"read": "path"}` | reads a file with the agent's own tool, or with its shell |
//! | `{"edit": {"directory", "path", "old", "new"}}` | changes a file with the agent's own tool |
//! | `{"use": {"tool": "name", "input": {}}}` | uses a tool whose name ends like this |
//! | `{"delegate": "prompt", "kind": "coder", "inBackground": false}` | lets another agent do what the prompt says |
//! | `{"remember": "word"}` | does nothing |
//! | `{"recall": true}` | says every word that was to be remembered |

use serde_json::Value;

use super::tools::{self, Call, Offered, Wish};

/// What was said so far, in order.
pub(super) type Conversation = Vec<Said>;

#[derive(Debug)]
pub(super) enum Said {
    ByUser(String),
    ByTool,
    /// By the model itself, or by whoever instructs it.
    Otherwise,
}

/// What the model says next: a text, then a call if it needs a tool.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) call: Option<Call>,
}

const BEGINNING: &str = "{\"steps\":";

pub(super) fn reply(conversation: &Conversation, tools: &[Offered]) -> Reply {
    let scripts = conversation.iter().enumerate().rev();
    let script = scripts.filter_map(|(index, said)| match said {
        Said::ByUser(text) => Some((index, steps_in(text).pop()?)),
        Said::ByTool | Said::Otherwise => None,
    });
    // Agents also ask for titles and the like: that takes no tools.
    let Some((index, steps)) = script.into_iter().next().filter(|_| !tools.is_empty()) else {
        return Reply {
            text: "A scripted conversation".to_owned(),
            call: None,
        };
    };
    let results = conversation[index..]
        .iter()
        .filter(|said| matches!(said, Said::ByTool));
    let mut done = results.count();
    let mut reply = Reply::default();
    for step in &steps {
        let Some(wish) = wish(step) else {
            if done == 0 {
                reply.text.push_str(&words(step, conversation));
            }
            continue;
        };
        if done > 0 {
            done -= 1;
            continue;
        }
        match tools::call(&wish, tools) {
            Some(call) => reply.call = Some(call),
            None => {
                let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
                let names = names.join(", ");
                reply
                    .text
                    .push_str(&format!("No tool for {step} among {names}."));
            }
        }
        return reply;
    }
    if reply.text.is_empty() {
        reply.text.push_str("Done.");
    }
    reply
}

/// The steps of every script in a text.
fn steps_in(text: &str) -> Vec<Vec<Value>> {
    let scripts = text.match_indices(BEGINNING).filter_map(|(start, _)| {
        // Agents put their own words around the user's.
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let script = values.next()?.ok()?;
        script["steps"].as_array().cloned()
    });
    scripts.collect()
}

fn wish(step: &Value) -> Option<Wish<'_>> {
    let text = |key: &str| step[key].as_str();
    if let Some(command) = text("run") {
        return Some(Wish::Run { command });
    }
    if let Some(path) = text("read") {
        return Some(Wish::Read { path });
    }
    if let Some(prompt) = text("delegate") {
        return Some(Wish::Delegate {
            prompt,
            kind: text("kind").unwrap_or_default(),
            in_background: step["inBackground"] == true,
        });
    }
    let (edit, used) = (&step["edit"], &step["use"]);
    if edit.is_object() {
        return Some(Wish::Edit {
            directory: edit["directory"].as_str()?,
            path: edit["path"].as_str()?,
            old: edit["old"].as_str()?,
            new: edit["new"].as_str()?,
        });
    }
    let tool = used["tool"].as_str()?;
    let input = &used["input"];
    Some(Wish::Use { tool, input })
}

fn words(step: &Value, conversation: &Conversation) -> String {
    if step["recall"] != true {
        return step["say"].as_str().unwrap_or_default().to_owned();
    }
    let texts = conversation.iter().filter_map(|said| match said {
        Said::ByUser(text) => Some(text),
        Said::ByTool | Said::Otherwise => None,
    });
    let steps = texts.flat_map(|text| steps_in(text)).flatten();
    let words: Vec<String> = steps
        .filter_map(|step| step["remember"].as_str().map(str::to_owned))
        .collect();
    format!("I remember {words:?}.")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shell() -> Vec<Offered> {
        let schema = json!({"properties": {"command": {"type": "string"}}});
        vec![Offered::function("Bash", &schema)]
    }

    fn user(steps: Value) -> Said {
        Said::ByUser(format!("<note/> {} thank you", json!({"steps": steps})))
    }

    #[test]
    fn a_script_goes_on_where_the_results_of_tools_end() {
        let steps =
            json!([{"say": "one "}, {"run": "a"}, {"say": "two "}, {"run": "b"}, {"say": "three"}]);
        let mut conversation = vec![user(steps)];
        for (text, command) in [("one ", Some("a")), ("two ", Some("b")), ("three", None)] {
            let reply = reply(&conversation, &shell());
            assert_eq!(reply.text, text);
            let input = reply.call.map(|call| call.input["command"].clone());
            assert_eq!(input, command.map(Value::from));
            conversation.push(Said::Otherwise);
            conversation.push(Said::ByTool);
        }
    }

    #[test]
    fn what_was_to_be_remembered_is_recalled_from_all_that_was_said() {
        let conversation = vec![
            user(json!([{"remember": "plum"}, {"run": "x"}])),
            Said::ByTool,
            user(json!([{"recall": true}])),
        ];
        assert_eq!(
            reply(&conversation, &shell()).text,
            "I remember [\"plum\"]."
        );
    }

    #[test]
    fn without_tools_or_without_a_script_there_are_only_words() {
        let conversation = vec![user(json!([{"run": "x"}]))];
        assert_eq!(reply(&conversation, &[]).call, None);
        let conversation = vec![Said::ByUser("hello".to_owned())];
        assert_eq!(reply(&conversation, &shell()).call, None);
    }
}
