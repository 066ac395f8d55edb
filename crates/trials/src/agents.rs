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

/// Who puts an agent where the host finds it.
enum Source {
    /// npm, with these packages, all agents into one directory.
    Npm(&'static [&'static str]),
    /// The host: `innkeeper agents install`, in the version that it knows.
    Host,
}

/// What an agent cannot do, whoever asks.
struct Limit {
    trial: Trial,
    /// What the trial fails with then. Any other failure is one of the host.
    sign: &'static str,
    why: &'static str,
}

const fn limit(trial: Trial, sign: &'static str, why: &'static str) -> Limit {
    Limit { trial, sign, why }
}

pub(crate) struct Agent {
    /// The name by which the host finds it.
    pub(crate) provider: &'static str,
    source: Source,
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
    limits: &'static [Limit],
}

const ONE_PIECE: &str = "the answer came in one piece";
const UNASKED: &str = "nobody was asked";
const UNUSED: &str = "the tool was not used";
const NO_CALL: &str = "no call of it";
const UNRESOLVED: &str = "\"resolved\":false";
const ONE_DIRECTORY: &str = "works in one directory";
const UNSEEN: &str = "bytes of input are shown";
const NO_CHAT: &str = "no call has a chat of its own";
const STALLED: &str = "nothing happened";

const PI_ASKS_NOBODY: &str = "pi runs its tools without asking anybody";
const PI_KNOWS_NO_SERVERS: &str = "pi knows no MCP servers";
const PI_IS_ALONE: &str = "pi has no sub-agents";

const PI_LIMITS: &[Limit] = &[
    limit(Trial::Approval, UNASKED, PI_ASKS_NOBODY),
    limit(Trial::Denial, UNASKED, PI_ASKS_NOBODY),
    limit(Trial::OlderClient, UNASKED, PI_ASKS_NOBODY),
    limit(Trial::ClientTool, UNUSED, PI_KNOWS_NO_SERVERS),
    limit(Trial::Comment, UNRESOLVED, PI_KNOWS_NO_SERVERS),
    limit(Trial::McpServer, NO_CALL, PI_KNOWS_NO_SERVERS),
    limit(
        Trial::Directories,
        ONE_DIRECTORY,
        "pi works in one directory",
    ),
    limit(Trial::SubAgent, NO_CHAT, PI_IS_ALONE),
    limit(Trial::Background, NO_CHAT, PI_IS_ALONE),
];

/// What works for a call is shown as that call.
const SAYS_NOTHING: &str = "it does not tell what its sub-agents do";

/// The scripted model finds no tool for that, or none with such an option.
const NOT_OFFERED: &str = "it offers its model no such sub-agents";

/// The first request to its model can be without the tools of a server that has
/// just come in.
const QWEN_WAITS_FOR_NO_SERVER: &str = "Qwen Code does not wait for an MCP server that is starting";

const QWEN_LIMITS: &[Limit] = &[
    limit(Trial::ClientTool, UNUSED, QWEN_WAITS_FOR_NO_SERVER),
    limit(Trial::Comment, UNRESOLVED, QWEN_WAITS_FOR_NO_SERVER),
    limit(Trial::McpServer, NO_CALL, QWEN_WAITS_FOR_NO_SERVER),
    limit(
        Trial::Directories,
        ONE_DIRECTORY,
        "Qwen Code works in one directory",
    ),
    limit(
        Trial::Background,
        NO_CHAT,
        "Qwen Code ends the turn before its sub-agent works",
    ),
];

/// The scripted model does not know how.
const VIBE_SEARCHES: &str = "Vibe lets its model search for tools and use them in programs";

/// Its log says so: "Tool confirmation request for unknown tool".
const GEMINI_REFUSES: &str = "Gemini CLI denies its own sub-agents when it speaks ACP";

const NANOCODER_IGNORES_SERVERS: &str = "Nanocoder ignores MCP servers that it is given";

const HERMES_ASKS_SELDOM: &str = "Hermes asks only about commands that it finds dangerous";

pub(crate) const AGENTS: [Agent; 15] = [
    Agent {
        provider: "goose",
        source: Source::Npm(&["@aaif/goose"]),
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
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "goose works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "claude",
        source: Source::Npm(&["@agentclientprotocol/claude-agent-acp@0.99.1"]),
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
        source: Source::Npm(&["@agentclientprotocol/codex-acp@2.6.0"]),
        program: "codex-acp",
        is_known: true,
        env: &[],
        files: codex_files,
        sub_agent: "default",
        config: &[("mode", "read-only")],
        limits: &[
            limit(
                Trial::OlderClient,
                "Argument list too long",
                "Codex cannot run a command of 100 KB (`Argument list too long`)",
            ),
            limit(Trial::SubAgent, NO_CHAT, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, NOT_OFFERED),
        ],
    },
    Agent {
        provider: "pi",
        source: Source::Npm(&[PI]),
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
        source: Source::Npm(&["pi-acp@0.0.34", PI]),
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
        source: Source::Npm(&["opencode-ai@1.18.33"]),
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
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "opencode works in one directory",
            ),
            limit(Trial::SubAgent, STALLED, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "kilo",
        source: Source::Npm(&["@kilocode/cli@7.7.7"]),
        program: "kilo",
        is_known: true,
        env: &[("KILO_DISABLE_AUTOUPDATE", "1")],
        files: kilo_files,
        sub_agent: "general",
        config: &[],
        limits: &[
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "Kilo Code works in one directory",
            ),
            limit(Trial::SubAgent, STALLED, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "kimi",
        source: Source::Npm(&["@moonshot-ai/kimi-code@2.1.0"]),
        program: "kimi",
        is_known: true,
        env: &[("KIMI_CODE_NO_AUTO_UPDATE", "1")],
        files: kimi_files,
        sub_agent: "coder",
        config: &[],
        limits: &[
            limit(
                Trial::OlderClient,
                UNSEEN,
                "Kimi Code says what it runs in words, and gives the input when that is approved",
            ),
            limit(Trial::SubAgent, NO_CHAT, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "copilot",
        source: Source::Npm(&["@github/copilot@1.0.102"]),
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
        limits: &[limit(
            Trial::Directories,
            ONE_DIRECTORY,
            "Copilot works in one directory",
        )],
    },
    Agent {
        provider: "qwen",
        source: Source::Npm(&["@qwen-code/qwen-code@0.24.4"]),
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
        source: Source::Npm(&["@google/gemini-cli@0.61.0"]),
        program: "gemini",
        is_known: true,
        env: &[
            ("GEMINI_API_KEY", "none"),
            ("GOOGLE_GEMINI_BASE_URL", "MODEL"),
            ("GEMINI_MODEL", model::NAME),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
        ],
        files: gemini_files,
        sub_agent: "generalist",
        config: &[],
        limits: &[
            limit(
                Trial::OlderClient,
                UNSEEN,
                "Gemini CLI says what it runs in the title of the call, and gives no input",
            ),
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "Gemini CLI works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, GEMINI_REFUSES),
            limit(Trial::Background, NO_CHAT, NOT_OFFERED),
        ],
    },
    Agent {
        provider: "vibe",
        source: Source::Host,
        program: "vibe-acp",
        is_known: true,
        env: &[("SCRIPTED_KEY", "none")],
        files: vibe_files,
        sub_agent: "explore",
        config: &[],
        limits: &[
            limit(Trial::ClientTool, UNUSED, VIBE_SEARCHES),
            limit(Trial::Comment, UNRESOLVED, VIBE_SEARCHES),
            limit(Trial::McpServer, NO_CALL, VIBE_SEARCHES),
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "Vibe works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, NOT_OFFERED),
            limit(Trial::Background, NO_CHAT, NOT_OFFERED),
        ],
    },
    Agent {
        provider: "fast-agent",
        source: Source::Host,
        program: "fast-agent-acp",
        is_known: true,
        env: &[
            ("GENERIC_BASE_URL", "MODEL/v1"),
            ("GENERIC_API_KEY", "none"),
            ("FAST_AGENT_MODEL", "generic.scripted"),
        ],
        files: Vec::new,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[
            limit(
                Trial::Edit,
                "apply_patch: not found",
                "fast-agent offers its model no tool that edits",
            ),
            limit(
                Trial::Text,
                "usage says null",
                "fast-agent tells its usage in words",
            ),
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "fast-agent works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, NOT_OFFERED),
            limit(Trial::Background, NO_CHAT, NOT_OFFERED),
        ],
    },
    Agent {
        provider: "hermes",
        source: Source::Host,
        program: "hermes-acp",
        is_known: true,
        env: &[],
        files: hermes_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[
            limit(Trial::Approval, UNASKED, HERMES_ASKS_SELDOM),
            limit(Trial::Denial, UNASKED, HERMES_ASKS_SELDOM),
            limit(Trial::OlderClient, UNASKED, HERMES_ASKS_SELDOM),
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "Hermes works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
        ],
    },
    Agent {
        provider: "nanocoder",
        source: Source::Host,
        program: "nanocoder",
        is_known: true,
        env: &[],
        files: nanocoder_files,
        sub_agent: "general-purpose",
        config: &[],
        limits: &[
            limit(
                Trial::Text,
                ONE_PIECE,
                "Nanocoder tells its answer when it is complete",
            ),
            limit(Trial::ClientTool, UNUSED, NANOCODER_IGNORES_SERVERS),
            limit(Trial::Comment, UNRESOLVED, NANOCODER_IGNORES_SERVERS),
            limit(Trial::McpServer, NO_CALL, NANOCODER_IGNORES_SERVERS),
            limit(
                Trial::Directories,
                ONE_DIRECTORY,
                "Nanocoder works in one directory",
            ),
            limit(Trial::SubAgent, NO_CHAT, SAYS_NOTHING),
            limit(Trial::Background, NO_CHAT, SAYS_NOTHING),
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

fn vibe_files() -> Vec<(&'static str, String)> {
    let name = model::NAME;
    let config = format!(
        "active_model = 'scripted'\nenable_telemetry = false\nenable_update_checks = false\n\n\
         [[providers]]\nname = 'scripted'\napi_base = 'MODEL/v1'\n\
         api_key_env_var = 'SCRIPTED_KEY'\nbackend = 'generic'\n\n\
         [[models]]\nname = '{name}'\nprovider = 'scripted'\nalias = 'scripted'\n"
    );
    vec![(".vibe/config.toml", config)]
}

fn hermes_files() -> Vec<(&'static str, String)> {
    let name = model::NAME;
    let config = format!(
        "model:\n  default: {name}\n  provider: custom\n  base_url: MODEL/v1\n  api_key: none\n"
    );
    vec![(".hermes/config.yaml", config)]
}

fn nanocoder_files() -> Vec<(&'static str, String)> {
    let provider = json!({
        "name": "scripted", "baseUrl": "MODEL/v1", "apiKey": "none", "models": [model::NAME],
    });
    let config = json!({"nanocoder": {"providers": [provider]}});
    let file = ".config/nanocoder/agents.config.json";
    vec![(file, config.to_string())]
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

    /// Why the agent cannot do what a trial asks for, if that is how it failed.
    pub(crate) fn limit(&self, trial: Trial, error: &str) -> Option<&'static str> {
        let mut limits = self.limits.iter().filter(|limit| limit.trial == trial);
        let limit = limits.find(|limit| error.contains(limit.sign));
        limit.map(|limit| limit.why)
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

/// Installs what all agents need, and those that come with npm.
pub(crate) fn install(into: &Path, agents: &[&Agent]) -> Result<()> {
    let packages = agents.iter().flat_map(|agent| match agent.source {
        Source::Npm(packages) => packages,
        Source::Host => &[],
    });
    let packages: Vec<&str> = packages.copied().chain([NODE, SERVER_PACKAGE]).collect();
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

impl Agent {
    pub(crate) fn comes_with_npm(&self) -> bool {
        matches!(self.source, Source::Npm(_))
    }

    /// Lets the host install the agent below a directory, and links its program
    /// to where those of the others are.
    pub(crate) fn install_by_host(&self, host: &Path, below: &Path, programs: &Path) -> Result<()> {
        let output = Command::new(host)
            .args(["agents", "install", self.provider, "--data-dir"])
            .arg(below)
            .output()
            .context("the host cannot be started")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("{}", said.lines().last().unwrap_or("it is not installed"));
        }
        let installed = below.join("agents").join("installed");
        for entry in fs::read_dir(&installed)? {
            let place = entry?.path();
            let Ok(current) = fs::read_to_string(place.join("current.json")) else {
                continue;
            };
            let current: Value = serde_json::from_str(&current)?;
            let part = |key: &str| current[key].as_str().context("a part of the place");
            let program = place.join(part("version")?).join(part("program")?);
            if program.file_name().is_some_and(|name| name == self.program) {
                fs::create_dir_all(programs)?;
                std::os::unix::fs::symlink(program, programs.join(self.program))?;
                return Ok(());
            }
        }
        bail!("{} is not among what was installed", self.program)
    }
}
