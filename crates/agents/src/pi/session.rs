//! A running pi and the conversation in it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use innkeeper_protocol::agent::AgentCommandInfo;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{SessionConfigSchema, SessionModelInfo};
use serde_json::{Value, json};

use super::Access;
use crate::process::{ChildProcess, JsonLines, Line, LineWriter, StartError};
use crate::session_config::{self, Choice, enumeration};

/// The setting for how hard the model thinks.
pub(super) const THINKING: &str = "thinking";

#[derive(Debug, thiserror::Error)]
pub(super) enum OpenError {
    #[error(
        "{0}; check that it is installed, and the command in the configuration if it stands there"
    )]
    Start(#[from] StartError),
    #[error("`{command}` ended before it was ready: {how}")]
    Gone { command: String, how: String },
    #[error("`{command}` did not answer in time; start it by hand to see what it waits for")]
    Silent { command: String },
    #[error("pi refused: {0}")]
    Refused(String),
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) process: ChildProcess,
    pub(super) lines: JsonLines,
    pub(super) writer: LineWriter,
    /// Where pi keeps the conversation.
    pub(super) file: Option<String>,
    pub(super) models: Vec<Value>,
    pub(super) levels: Vec<String>,
    pub(super) model: Option<String>,
    pub(super) level: Option<String>,
    pub(super) commands: Vec<AgentCommandInfo>,
    pub(super) remembers: bool,
    pub(super) forgotten: Option<String>,
    last_request: u64,
}

impl Session {
    pub(super) async fn open(
        access: &Access,
        directory: Option<&Path>,
        resume: Option<&str>,
    ) -> Result<Self, OpenError> {
        let (process, lines) = ChildProcess::start(&access.program, directory, &access.stderr)?;
        let mut session = Self {
            process,
            writer: lines.writer(),
            lines,
            file: None,
            models: Vec::new(),
            levels: Vec::new(),
            model: None,
            level: None,
            commands: Vec::new(),
            remembers: false,
            forgotten: None,
            last_request: 0,
        };
        if let Some(file) = resume {
            let switch = json!({"type": "switch_session", "sessionPath": file});
            // pi would make a new conversation of a file that is not there.
            let there = PathBuf::from(file).is_file();
            match session.call(access, switch).await {
                Ok(answer) if there && answer["cancelled"] != true => session.remembers = true,
                Ok(_) => session.forgotten = Some("its file is gone".to_owned()),
                Err(OpenError::Refused(why)) => session.forgotten = Some(why),
                Err(error) => return Err(error),
            }
        }
        let state = session.call(access, json!({"type": "get_state"})).await?;
        session.file = state["sessionFile"].as_str().map(str::to_owned);
        session.model = model_id(&state["model"]);
        session.level = state["thinkingLevel"].as_str().map(str::to_owned);
        let models = session
            .call(access, json!({"type": "get_available_models"}))
            .await?;
        session.models = models["models"].as_array().cloned().unwrap_or_default();
        // Older ones do not know these.
        let levels = session
            .call(access, json!({"type": "get_available_thinking_levels"}))
            .await;
        session.levels = texts(&levels.unwrap_or_default()["levels"]);
        let commands = session.call(access, json!({"type": "get_commands"})).await;
        session.commands = commands_of(&commands.unwrap_or_default()["commands"]);
        Ok(session)
    }

    /// Sends a command; its answer carries the name that is given back.
    pub(super) fn send(&mut self, mut command: Value) -> String {
        self.last_request += 1;
        let id = format!("innkeeper-{}", self.last_request);
        command["id"] = json!(id);
        self.writer.write(&command);
        id
    }

    /// Sends a command and waits for its answer, while nothing else is going on.
    async fn call(&mut self, access: &Access, command: Value) -> Result<Value, OpenError> {
        let id = self.send(command);
        let deadline = tokio::time::Instant::now() + access.patience.opening;
        let line = || access.program.line();
        loop {
            match tokio::time::timeout_at(deadline, self.lines.next()).await {
                Err(_) => return Err(OpenError::Silent { command: line() }),
                Ok(None) => {
                    let how = self.process.epitaph().await;
                    return Err(OpenError::Gone {
                        command: line(),
                        how,
                    });
                }
                Ok(Some(Line::Json(mut answer))) if answer["id"] == id.as_str() => {
                    return match answer["success"] == true {
                        true => Ok(answer["data"].take()),
                        false => Err(OpenError::Refused(error_of(&answer))),
                    };
                }
                Ok(Some(_)) => {}
            }
        }
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
                meta: None,
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
        })
    };
    let list = list.as_array().into_iter().flatten();
    list.filter_map(command).collect()
}

pub(super) fn error_of(answer: &Value) -> String {
    let error = answer["error"].as_str();
    error.unwrap_or("it did not say why").to_owned()
}
