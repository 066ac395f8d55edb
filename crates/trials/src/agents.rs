//! The agents that are tried: where they come from, and what each needs so
//! that it talks to the scripted model and to nobody else.
//!
//! *Invariant*: all that is special about an agent stands here. Neither the
//! trials nor the host know which agent it is.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::model;
use crate::trials::Trial;

/// An MCP server with tools of all kinds, which the host runs.
const SERVER_PACKAGE: &str = "@modelcontextprotocol/server-everything@2026.8.31";
const SERVER: &str = "mcp-server-everything";

/// Node for the agents that are written for it, whatever this machine has.
const NODE: &str = "node@24";

const PI: &str = "@earendil-works/pi-coding-agent@0.87.1";

pub(crate) struct Agent {
    /// The name by which the host finds it.
    pub(crate) provider: &'static str,
    packages: &'static [&'static str],
    /// The program that the host looks for, or is told to start.
    program: &'static str,
    /// The host knows it by itself and finds it.
    is_known: bool,
    /// Variables; `MODEL` in a value stands for the model's address.
    env: &'static [(&'static str, &'static str)],
    /// Files in its home directory, likewise.
    files: fn() -> Vec<(&'static str, String)>,
    /// The kind of sub-agent that may run commands.
    pub(crate) sub_agent: &'static str,
    /// Settings of its sessions.
    pub(crate) config: &'static [(&'static str, &'static str)],
    /// What it cannot do, whoever asks.
    limits: &'static [(Trial, &'static str)],
}

const PI_LIMITS: &[(Trial, &str)] = &[
    (Trial::Approval, "pi runs its tools without asking anybody"),
    (Trial::Denial, "pi runs its tools without asking anybody"),
    (
        Trial::OlderClient,
        "pi runs its tools without asking anybody",
    ),
    (Trial::ClientTool, "pi knows no MCP servers"),
    (Trial::Comment, "pi knows no MCP servers"),
    (Trial::McpServer, "pi knows no MCP servers"),
    (Trial::Directories, "pi works in one directory"),
    (Trial::SubAgent, "pi has no sub-agents"),
    (Trial::Background, "pi has no sub-agents"),
];

/// What works for a call is shown as that call.
const SAYS_NOTHING: &str = "it does not tell what its sub-agents do";

/// The scripted model finds no tool of its for that.
const NOT_TRIED: &str = "its sub-agents were not tried";

/// The first request to its model can be without the tools of a server that has
/// just come in.
const QWEN_WAITS_FOR_NO_SERVER: &str = "Qwen Code does not wait for an MCP server that is starting";

const QWEN_LIMITS: &[(Trial, &str)] = &[
    (Trial::ClientTool, QWEN_WAITS_FOR_NO_SERVER),
    (Trial::Comment, QWEN_WAITS_FOR_NO_SERVER),
    (Trial::McpServer, QWEN_WAITS_FOR_NO_SERVER),
    (Trial::Directories, "Qwen Code works in one directory"),
    (
        Trial::Background,
        "Qwen Code ends the turn before its sub-agent works",
    ),
];

pub(crate) const AGENTS: [Agent; 11] = [
    Agent {
        provider: "goose",
        packages: &["@aaif/goose"],
        program: "goose",
        is_known: true,
        env: &[
            ("GOOSE_PROVIDER", "openai"),
            ("GOOSE_MODEL", model::NAME),
            ("GOOSE_MODE", "approve"),
            ("GOOSE_DISABLE_KEYRING", "1"),
            ("GOOSE_TELEMETRY_ENABLED", "false"),
            ("OPENAI_HOST", "MODEL"),
            ("OPENAI_API_KEY", "none"),
        ],
        files: Vec::new,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[
            (Trial::Directories, "goose works in one directory"),
            (Trial::SubAgent, NOT_TRIED),
            (Trial::Background, NOT_TRIED),
        ],
    },
    Agent {
        provider: "claude",
        packages: &["@agentclientprotocol/claude-agent-acp@0.99.1"],
        program: "claude-agent-acp",
        is_known: true,
        env: &[
            ("ANTHROPIC_BASE_URL", "MODEL"),
            ("ANTHROPIC_API_KEY", "none"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("DISABLE_AUTOUPDATER", "1"),
            // The model is offered every tool, not a search for them.
            ("ENABLE_TOOL_SEARCH", "false"),
        ],
        files: Vec::new,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[],
    },
    Agent {
        provider: "codex",
        packages: &["@agentclientprotocol/codex-acp@2.6.0"],
        program: "codex-acp",
        is_known: true,
        env: &[],
        files: codex_files,
        sub_agent: "general-purpose",
        config: &[("mode", "read-only")],
        limits: &[
            (
                Trial::OlderClient,
                "Codex cannot run a command of 100 KB (`Argument list too long`)",
            ),
            (Trial::SubAgent, NOT_TRIED),
            (Trial::Background, NOT_TRIED),
        ],
    },
    Agent {
        provider: "pi",
        packages: &[PI],
        program: "pi",
        is_known: true,
        env: &[("PI_OFFLINE", "1")],
        files: pi_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: PI_LIMITS,
    },
    Agent {
        provider: "pi-acp",
        packages: &["pi-acp@0.0.34", PI],
        program: "pi-acp",
        is_known: false,
        env: &[("PI_OFFLINE", "1")],
        files: pi_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: PI_LIMITS,
    },
    Agent {
        provider: "opencode",
        packages: &["opencode-ai@1.18.33"],
        program: "opencode",
        is_known: true,
        env: &[
            ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ],
        files: opencode_files,
        sub_agent: "general",
        config: &[],
        limits: &[
            (Trial::Directories, "opencode works in one directory"),
            (Trial::SubAgent, SAYS_NOTHING),
            (Trial::Background, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "kilo",
        packages: &["@kilocode/cli@7.7.7"],
        program: "kilo",
        is_known: true,
        env: &[("KILO_DISABLE_AUTOUPDATE", "1")],
        files: kilo_files,
        sub_agent: "general",
        config: &[],
        limits: &[
            (Trial::Directories, "Kilo Code works in one directory"),
            (Trial::SubAgent, SAYS_NOTHING),
            (Trial::Background, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "kimi",
        packages: &["@moonshot-ai/kimi-code@2.1.0"],
        program: "kimi",
        is_known: true,
        env: &[("KIMI_CODE_NO_AUTO_UPDATE", "1")],
        files: kimi_files,
        sub_agent: "coder",
        config: &[],
        limits: &[
            (
                Trial::OlderClient,
                "Kimi Code says what it runs in words, and gives the input when that is approved",
            ),
            (Trial::SubAgent, SAYS_NOTHING),
            (Trial::Background, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "copilot",
        packages: &["@github/copilot@1.0.102"],
        program: "copilot",
        is_known: true,
        env: &[
            ("COPILOT_OFFLINE", "true"),
            ("COPILOT_PROVIDER_BASE_URL", "MODEL/v1"),
            ("COPILOT_PROVIDER_API_KEY", "none"),
            ("COPILOT_MODEL", model::NAME),
            ("COPILOT_AUTO_UPDATE", "false"),
        ],
        files: Vec::new,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[(Trial::Directories, "Copilot works in one directory")],
    },
    Agent {
        provider: "qwen",
        packages: &["@qwen-code/qwen-code@0.24.4"],
        program: "qwen",
        is_known: true,
        env: &[
            ("OPENAI_BASE_URL", "MODEL/v1"),
            ("OPENAI_API_KEY", "none"),
            ("OPENAI_MODEL", model::NAME),
        ],
        files: qwen_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: QWEN_LIMITS,
    },
    Agent {
        provider: "gemini",
        packages: &["@google/gemini-cli@0.61.0"],
        program: "gemini",
        is_known: true,
        env: &[
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", "MODEL"),
            ("GEMINI_MODEL", model::NAME),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        files: gemini_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[
            (
                Trial::OlderClient,
                "Gemini CLI says what it runs in the title of the call, and gives no input",
            ),
            (Trial::Directories, "Gemini CLI works in one directory"),
            (Trial::SubAgent, NOT_TRIED),
            (Trial::Background, NOT_TRIED),
        ],
    },
];

fn codex_files() -> Vec<(&'static str, String)> {
    let name = model::NAME;
    let config = format!(
        "model = '{name}'\nmodel_provider = 'scripted'\napproval_policy = 'on-request'\n\
         sandbox_mode = 'read-only'\n\n\
         [model_providers.scripted]\nname = 'scripted'\nbase_url = 'MODEL/v1'\n\
         wire_api = 'responses'\n"
    );
    vec![(".codex/config.toml", config)]
}

fn pi_files() -> Vec<(&'static str, String)> {
    let models = json!({"providers": {"scripted": {
        "baseUrl": "MODEL/v1", "api": "openai-completions", "apiKey": "none",
        "models": [{"id": model::NAME, "name": "Scripted", "contextWindow": 100_000}],
    }}});
    let settings = json!({"defaultProvider": "scripted", "defaultModel": model::NAME});
    vec![
        (".pi/agent/models.json", models.to_string()),
        (".pi/agent/settings.json", settings.to_string()),
    ]
}

fn opencode_files() -> Vec<(&'static str, String)> {
    vec![(".config/opencode/opencode.json", opencode_config())]
}

/// Kilo is made of opencode.
fn kilo_files() -> Vec<(&'static str, String)> {
    vec![(".config/kilo/kilo.json", opencode_config())]
}

fn opencode_config() -> String {
    let name = model::NAME;
    let config = json!({
        "model": format!("scripted/{name}"),
        "small_model": format!("scripted/{name}"),
        "permission": {"bash": "ask", "edit": "ask"},
        "autoupdate": false,
        "share": "disabled",
        "provider": {"scripted": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Scripted",
            "options": {"baseURL": "MODEL/v1", "apiKey": "none"},
            "models": {name: {"name": "Scripted", "tool_call": true,
                              "limit": {"context": 100_000, "output": 10_000}}},
        }},
    });
    config.to_string()
}

fn kimi_files() -> Vec<(&'static str, String)> {
    let name = model::NAME;
    let config = format!(
        "default_model = 'scripted'\ntelemetry = false\n\n\
         [providers.scripted]\ntype = 'openai'\nbase_url = 'MODEL/v1'\napi_key = 'none'\n\n\
         [models.scripted]\nprovider = 'scripted'\nmodel = '{name}'\nmax_context_size = 100000\n"
    );
    vec![(".kimi-code/config.toml", config)]
}

fn qwen_files() -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
        // The model is offered every tool, not a search for them.
        "tools": {"toolSearch": {"enabled": false}},
    });
    vec![(".qwen/settings.json", settings.to_string())]
}

fn gemini_files() -> Vec<(&'static str, String)> {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false},
    });
    vec![(".gemini/settings.json", settings.to_string())]
}

impl Agent {
    /// Prepares a home for it, and gives the host's configuration of it.
    pub(crate) fn settle(&self, home: &Path, model: &str) -> Result<String> {
        let filled = |text: &str| text.replace("MODEL", model);
        for (file, text) in (self.files)() {
            let file = home.join(file);
            let directory = file.parent().context("a directory")?;
            fs::create_dir_all(directory)?;
            fs::write(&file, filled(&text))?;
        }
        fs::create_dir_all(home)?;
        let mut env = format!("HOME = {}", quoted(&home.display().to_string()));
        for (name, value) in self.env {
            env.push_str(&format!(", {name} = {}", quoted(&filled(value))));
        }
        let command = match self.is_known {
            true => String::new(),
            false => format!("command = {}\n", quoted(self.program)),
        };
        let provider = self.provider;
        let server = format!("[mcp.everything]\ncommand = {}\n", quoted(SERVER));
        // What is set on the machine that tries them is not part of a trial.
        let strict = "agent_environment = 'strict'\n";
        Ok(format!(
            "{strict}[agents.{provider}]\n{command}env = {{ {env} }}\n\n{server}"
        ))
    }

    pub(crate) fn is_in(&self, programs: &Path) -> bool {
        programs.join(self.program).exists()
    }

    pub(crate) fn limit(&self, trial: Trial) -> Option<&'static str> {
        let limit = self.limits.iter().find(|(limited, _)| *limited == trial);
        limit.map(|(_, why)| *why)
    }

    /// The settings of its sessions, as the protocol has them.
    pub(crate) fn session_config(&self) -> Value {
        self.config.iter().copied().collect()
    }
}

fn quoted(text: &str) -> String {
    // JSON's strings are strings of TOML as well.
    json!(text).to_string()
}

/// Whether there is what all agents need.
pub(crate) fn is_equipped(programs: &Path) -> bool {
    ["node", SERVER].iter().all(|it| programs.join(it).exists())
}

/// Installs the agents, and what they need.
pub(crate) fn install(into: &Path, agents: &[&Agent]) -> Result<()> {
    let packages = agents.iter().flat_map(|agent| agent.packages).copied();
    let packages: Vec<&str> = packages.chain([NODE, SERVER_PACKAGE]).collect();
    println!("Installing {}", packages.join(", "));
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .args(["--force", "--prefix"])
        .arg(into)
        .args(&packages)
        .status()
        .context("npm cannot be started; it comes with Node")?;
    if !status.success() {
        bail!("the agents cannot be installed ({status})");
    }
    Ok(())
}
