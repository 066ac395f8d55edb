//! A running pi and the conversation in it.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use innkeeper_protocol::agent::{AgentCommandInfo, AgentFailure, NotTakenUp};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{SessionConfigSchema, SessionModelInfo};
use serde_json::{Value, json};

use crate::child::{Access, Opened};
use crate::process::{ChildProcess, JsonLines, Line, LineWriter};
use crate::session_config::{self, Choice, enumeration};

/// The setting for how hard the model thinks.
pub(super) const THINKING: &str = "thinking";

#[derive(Debug)]
pub(super) struct Session {
    pub(super) lines: JsonLines,
    pub(super) writer: LineWriter,
    /// Where pi keeps the conversation.
    pub(super) file: Option<String>,
    pub(super) models: Vec<Value>,
    pub(super) levels: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) level: Option<String>,
    pub(super) commands: Vec<AgentCommandInfo>,
    /// What was asked of pi and is not answered yet.
    pub(super) requests: HashMap<String, Request>,
    /// Dialogs that wait for an answer.
    pub(super) dialogs: HashSet<String>,
    last_request: u64,
}

/// What an answer of pi is about.
#[derive(Debug)]
pub(super) enum Request {
    Prompt,
    /// Whether a command of pi's own has led to any work.
    StateAfterCommand,
    Abort,
    /// A message, by its id.
    Steer(String),
    Setting,
}

/// A session while it is being opened.
struct Opening<'a> {
    access: &'a Access,
    process: ChildProcess,
    session: Session,
}

/// Why a command came to nothing.
enum CallError {
    /// pi is not there.
    Gone(AgentFailure),
    /// It did not want to, and said this or nothing.
    Refused(Option<String>),
}

impl Session {
    pub(super) async fn open(
        access: &Access,
        directory: Option<&Path>,
        resume: Option<&str>,
    ) -> Result<Opened<Self>, AgentFailure> {
        let (process, lines) =
            ChildProcess::start(&access.program_now().0, directory, &access.stderr).await?;
        let session = Self {
            writer: lines.writer(),
            lines,
            file: None,
            models: Vec::new(),
            levels: Vec::new(),
            model: None,
            level: None,
            commands: Vec::new(),
            requests: HashMap::new(),
            dialogs: HashSet::new(),
            last_request: 0,
        };
        let mut opening = Opening {
            access,
            process,
            session,
        };
        let (mut remembers, mut forgotten) = (false, None);
        if let Some(file) = resume {
            let switch = json!({"type": "switch_session", "sessionPath": file});
            // pi would make a new conversation of a file that is not there.
            let there = PathBuf::from(file).is_file();
            match opening.try_call(switch).await {
                Ok(answer) if there && answer["cancelled"] != true => remembers = true,
                Ok(_) => forgotten = Some(NotTakenUp::FileGone),
                Err(CallError::Refused(said)) => {
                    forgotten = Some(said.map_or(NotTakenUp::NotAble, NotTakenUp::Said));
                }
                Err(CallError::Gone(failure)) => return Err(failure),
            }
        }
        let state = opening.call("get_state").await?;
        let models = opening.call("get_available_models").await?;
        // Older ones do not know these.
        let levels = opening
            .call_if_known("get_available_thinking_levels")
            .await?;
        let commands = opening.call_if_known("get_commands").await?;
        let Opening {
            process,
            mut session,
            ..
        } = opening;
        session.file = state["sessionFile"].as_str().map(str::to_owned);
        session.model = model_id(&state["model"]);
        session.level = state["thinkingLevel"].as_str().map(str::to_owned);
        session.models = models["models"].as_array().cloned().unwrap_or_default();
        session.levels = texts(&levels["levels"]);
        session.commands = commands_of(&commands["commands"]);
        Ok(Opened {
            process,
            session,
            remembers,
            forgotten,
            past: Vec::new(),
        })
    }

    /// Sends a command, whose answer is awaited while other things go on.
    pub(super) fn ask(&mut self, command: Value, request: Request) {
        let id = self.send(command);
        self.requests.insert(id, request);
    }

    /// Sends a command; its answer carries the name that is given back.
    fn send(&mut self, mut command: Value) -> String {
        self.last_request += 1;
        let id = format!("innkeeper-{}", self.last_request);
        command["id"] = json!(id);
        self.writer.write(&command);
        id
    }

    pub(super) fn model_infos(&self, provider: &str) -> Vec<SessionModelInfo> {
        let info = |model: &Value| {
            let vision = texts(&model["input"]).iter().any(|kind| kind == "image");
            Some(SessionModelInfo {
                id: model_id(model)?,
                provider: provider.to_owned(),
                name: model["name"].as_str().or(model["id"].as_str())?.to_owned(),
                max_context_window: model["contextWindow"].as_i64(),
                max_output_tokens: model["maxTokens"].as_i64(),
                max_prompt_tokens: None,
                supports_vision: Some(vision),
                policy_state: None,
                config_schema: None,
                meta: pricing(&model["cost"]),
            })
        };
        self.models.iter().filter_map(info).collect()
    }

    pub(super) fn schema(&self) -> SessionConfigSchema {
        let mut properties = HashMap::new();
        if self.levels.len() > 1 {
            let choices = self.levels.iter().map(|level| Choice {
                value: level.clone(),
                label: level.clone(),
                description: None,
            });
            let mut thinking = enumeration("Thinking", choices.collect());
            thinking.default = self.level.as_ref().map(|level| json!(level));
            properties.insert(THINKING.to_owned(), thinking);
        }
        session_config::schema(properties)
    }

    /// The commands that bring pi to these settings.
    pub(super) fn changes(&self, model: Option<&str>, config: &JsonObject) -> Vec<Value> {
        let mut changes = Vec::new();
        let known = |wanted: &str| {
            let mut models = self.models.iter();
            models.find(|model| model_id(model).as_deref() == Some(wanted))
        };
        if let Some(wanted) = model.filter(|wanted| self.model.as_deref() != Some(wanted))
            && let Some(model) = known(wanted)
        {
            changes.push(json!({
                "type": "set_model", "provider": model["provider"], "modelId": model["id"],
            }));
        }
        if let Some(level) = config.get(THINKING).and_then(Value::as_str)
            && self.level.as_deref() != Some(level)
            && self.levels.iter().any(|known| known == level)
        {
            changes.push(json!({"type": "set_thinking_level", "level": level}));
        }
        changes
    }
}

impl Opening<'_> {
    /// Sends a command and waits for its answer, while nothing else is going on.
    async fn try_call(&mut self, command: Value) -> Result<Value, CallError> {
        let id = self.session.send(command);
        let patience = self.access.patience.opening;
        let deadline = tokio::time::Instant::now() + patience;
        let command = self.access.program.line();
        loop {
            match tokio::time::timeout_at(deadline, self.session.lines.next()).await {
                Err(_) => {
                    let seconds = patience.as_secs();
                    let last_words = self.process.last_words();
                    return Err(CallError::Gone(AgentFailure::NoAnswer {
                        command,
                        seconds,
                        last_words,
                    }));
                }
                Ok(None) => {
                    let end = self.process.epitaph().await;
                    return Err(CallError::Gone(AgentFailure::EndedEarly { command, end }));
                }
                Ok(Some(Line::Json(mut answer))) if answer["id"] == id.as_str() => {
                    return match answer["success"] == true {
                        true => Ok(answer["data"].take()),
                        false => Err(CallError::Refused(error_of(&answer))),
                    };
                }
                Ok(Some(_)) => {}
            }
        }
    }

    async fn call(&mut self, command: &str) -> Result<Value, AgentFailure> {
        let answer = self.try_call(json!({"type": command})).await;
        answer.map_err(|error| match error {
            CallError::Gone(failure) => failure,
            CallError::Refused(said) => AgentFailure::Refused {
                agent: self.access.name.clone(),
                said,
            },
        })
    }

    /// Likewise, where a refusal is an answer too.
    async fn call_if_known(&mut self, command: &str) -> Result<Value, AgentFailure> {
        match self.try_call(json!({"type": command})).await {
            Ok(answer) => Ok(answer),
            Err(CallError::Refused(_)) => Ok(Value::Null),
            Err(CallError::Gone(failure)) => Err(failure),
        }
    }
}

/// What a model costs, in dollars for a million tokens of each kind.
fn pricing(cost: &Value) -> Option<JsonObject> {
    let mut prices = JsonObject::new();
    for kind in ["input", "output", "cacheRead", "cacheWrite"] {
        if let Some(price) = cost[kind].as_f64().filter(|price| *price >= 0.0) {
            prices.insert(kind.to_owned(), json!(price));
        }
    }
    // Whoever has entered a model without its prices has entered zeros.
    prices.values().any(|price| *price != 0.0).then(|| {
        prices.insert("currency".to_owned(), json!("USD"));
        prices.insert("per".to_owned(), json!(1_000_000));
        JsonObject::from_iter([("pricing".to_owned(), prices.into())])
    })
}

fn model_id(model: &Value) -> Option<String> {
    let (provider, id) = (model["provider"].as_str()?, model["id"].as_str()?);
    Some(format!("{provider}/{id}"))
}

fn texts(list: &Value) -> Vec<String> {
    let texts = list.as_array().into_iter().flatten();
    texts
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect()
}

fn commands_of(list: &Value) -> Vec<AgentCommandInfo> {
    let command = |command: &Value| {
        Some(AgentCommandInfo {
            name: command["name"].as_str()?.to_owned(),
            description: command["description"].as_str().map(str::to_owned),
            hint: None,
        })
    };
    let list = list.as_array().into_iter().flatten();
    list.filter_map(command).collect()
}

/// Why pi did not do something, if it says so.
pub(super) fn error_of(answer: &Value) -> Option<String> {
    answer["error"].as_str().map(str::to_owned)
}
