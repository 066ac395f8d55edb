//! The agents that this program has, and `innkeeper agents`.

mod install;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use clap::Args;
use futures_util::StreamExt as _;
use innkeeper::Host;
use innkeeper_agents::discovery::{self, FoundAgent};
use innkeeper_agents::install::{Installed, Installer};
use innkeeper_agents::registry::{Language, Registry, SignIn};
use innkeeper_agents::{
    AcpAgent, AcpOptions, Agent, Environment, HttpTools, PiAgent, PiOptions, Program, ScriptAgent,
};

use super::environment::environment;
use super::place::PlaceArgs;
use super::{Failure, Outcome, print, text};
use crate::config::{AgentTable, Config};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct AgentsArgs {
    #[command(subcommand)]
    command: Option<install::Command>,
    #[command(flatten)]
    place: PlaceArgs,
    /// Also list known agents that are not installed
    #[arg(long)]
    all: bool,
    /// Do not start the agents to see whether they work
    #[arg(long)]
    no_start: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// How often a host looks whether an agent was installed. It costs one look at
/// one file.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// An agent, and where it comes from.
pub(crate) struct Found {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) origin: String,
    /// The command line that starts it.
    line: String,
    /// Its program is there.
    installed: bool,
}

impl Found {
    fn provider(&self) -> String {
        self.agent.profile().info.provider
    }

    /// Whether it may be what a session gets that names none: it is installed,
    /// and nothing is known to keep it from starting.
    fn works(&self) -> bool {
        self.installed && self.agent.trouble().is_none()
    }
}

/// Finds the agents of a host. The user's `PATH` may be another than that of the
/// host, and takes a moment to be known.
pub(crate) struct Finder {
    config: Config,
    registry: Registry,
    data_dir: PathBuf,
    /// When an agent was last installed before it looked for the first time.
    installed_at: Option<SystemTime>,
    environment: Arc<Environment>,
    /// One for all agents.
    http_tools: Arc<HttpTools>,
    /// Only those of these providers.
    only: Option<Vec<String>>,
    /// Those that were found before, by their providers.
    known: Mutex<HashMap<String, KnownAgent>>,
}

struct KnownAgent {
    /// The command line that starts it.
    line: String,
    agent: Arc<dyn Agent>,
}

impl Finder {
    pub(crate) fn new(
        config: Config,
        registry: Registry,
        data_dir: PathBuf,
        environment: Arc<Environment>,
        only: Option<Vec<String>>,
    ) -> Self {
        Self {
            config,
            registry,
            installed_at: Installed::in_data(&data_dir).changed(),
            data_dir,
            environment,
            http_tools: Arc::default(),
            only,
            known: Mutex::default(),
        }
    }

    /// Those that the host's own `PATH` leads to.
    pub(crate) fn at_once(&self) -> Result<Vec<Arc<dyn Agent>>, Failure> {
        self.chosen(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// All of them.
    pub(crate) async fn all(&self) -> Result<Vec<Arc<dyn Agent>>, Failure> {
        self.chosen(&self.environment.path().await)
    }

    /// What a host can begin with: those that are found at once, unless one is
    /// missing that is wanted by its name.
    pub(crate) async fn soon(&self) -> Result<Vec<Arc<dyn Agent>>, Failure> {
        match self.at_once() {
            Err(_) => self.all().await,
            found => found,
        }
    }

    /// Gives a host the agents that were not found at once.
    pub(crate) async fn complete(&self, host: &Host) {
        let providers = |agents: &[Arc<dyn Agent>]| {
            let names = agents.iter().map(|agent| agent.profile().info.provider);
            names.collect::<Vec<_>>()
        };
        // Those that are wanted by name are there.
        if self.only.is_some() {
            return;
        }
        let before = self.at_once().map(|agents| providers(&agents));
        if let (Ok(before), Ok(agents)) = (before, self.all().await)
            && providers(&agents) != before
        {
            host.set_agents(agents);
        }
    }

    /// What installs agents for the clients of a host, unless its agents are
    /// wanted by name.
    pub(crate) fn installer(&self) -> Option<Arc<Installer>> {
        let Self {
            registry,
            data_dir,
            environment,
            ..
        } = self;
        let installer = || Installer::new(registry.clone(), data_dir, Arc::clone(environment));
        self.only.is_none().then(installer).map(Arc::new)
    }

    /// Gives a host the agents that are installed or removed while it runs.
    pub(crate) async fn follow(&self, host: &Host) {
        // Those that are wanted by name are there.
        if self.only.is_some() {
            return;
        }
        let installed = Installed::in_data(&self.data_dir);
        let mut before = self.installed_at;
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            let now = installed.changed();
            if now != before {
                before = now;
                if let Ok(agents) = self.all().await {
                    host.set_agents(agents);
                    host.get_to_know_agents().await;
                }
            }
        }
    }

    /// The agents in the directories of a `PATH`. What was found before in the
    /// same place is the same agent.
    pub(crate) fn found_on(&self, path: &OsStr) -> Vec<Found> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Self {
            config,
            registry,
            data_dir,
            environment,
            http_tools,
            ..
        } = self;
        let mut all = found_on(path, config, registry, data_dir, environment, http_tools);
        for found in &mut all {
            let provider = found.agent.profile().info.provider;
            let line = found.line.clone();
            let before = known.get(&provider).filter(|known| known.line == line);
            if let Some(KnownAgent { agent, .. }) = before {
                found.agent = Arc::clone(agent);
            } else {
                let agent = Arc::clone(&found.agent);
                known.insert(provider, KnownAgent { line, agent });
            }
        }
        all
    }

    /// The agents of the wanted providers, or all.
    fn chosen(&self, path: &OsStr) -> Result<Vec<Arc<dyn Agent>>, Failure> {
        let found = self.found_on(path).into_iter();
        let all: Vec<Arc<dyn Agent>> = found.map(|found| found.agent).collect();
        let Some(providers) = &self.only else {
            return Ok(all);
        };
        let known: Vec<String> = all
            .iter()
            .map(|agent| agent.profile().info.provider)
            .collect();
        if let Some(unknown) = providers.iter().find(|name| !known.contains(name)) {
            return Err(Failure::Usage(format!(
                "unknown agent `{unknown}`; the agents that were found are: {}",
                known.join(", ")
            )));
        }
        let wanted = |(_, provider): &(_, String)| providers.contains(provider);
        let agents = all.into_iter().zip(known).filter(wanted);
        Ok(agents.map(|(agent, _)| agent).collect())
    }
}

/// All agents that there are: the default one, those of the configuration and
/// those that are installed, in that order, and the one that is always there.
/// Behind that come those of which it is known that they do not work.
fn found_on(
    path: &OsStr,
    config: &Config,
    registry: &Registry,
    data_dir: &Path,
    environment: &Arc<Environment>,
    http_tools: &Arc<HttpTools>,
) -> Vec<Found> {
    let around = Around {
        path,
        environment,
        http_tools,
        directory: &data_dir.join("agents"),
    };
    let mut installed = discovery::find(registry, path, &Installed::in_data(data_dir));
    let mut all = Vec::new();
    for (provider, table) in &config.agents {
        let known = installed
            .iter()
            .position(|agent| agent.provider == provider.as_str());
        let known = known.map(|index| installed.remove(index));
        if table.enabled {
            all.push(configured(provider, table, known, &around));
        }
    }
    for agent in installed {
        let origin = agent.program.command.display().to_string();
        let http_tools = around.http_tools_of(&agent);
        let options = Options {
            provider: agent.provider,
            name: agent.display_name,
            program: agent.program,
            auth_method: None,
            reads: agent.reads,
            sign_in: agent.sign_in,
            http_tools,
        };
        all.push(options.agent(agent.protocol, &around, origin));
    }
    // The first one is what a session gets that names none.
    let is_default = |found: &Found| {
        let provider = found.agent.profile().info.provider;
        config
            .agents
            .get(&provider)
            .is_some_and(|table| table.default)
    };
    all.sort_by_key(|found| !is_default(found));
    let (mut all, broken): (Vec<Found>, Vec<Found>) = all.into_iter().partition(Found::works);
    let script = match config.script.token_for.as_str() {
        "" => ScriptAgent::default(),
        resource => ScriptAgent::that_needs_a_token_for(resource.to_owned()),
    };
    all.push(Found {
        agent: Arc::new(script),
        origin: "built in".to_owned(),
        line: String::new(),
        installed: true,
    });
    all.extend(broken);
    all
}

/// Where agents are found and started.
struct Around<'a> {
    path: &'a OsStr,
    environment: &'a Arc<Environment>,
    http_tools: &'a Arc<HttpTools>,
    /// Where what is learned of them is kept.
    directory: &'a Path,
}

impl Around<'_> {
    /// What an agent needs in addition that starts no MCP servers.
    fn http_tools_of(&self, known: &FoundAgent) -> Option<Arc<HttpTools>> {
        (!known.starts_servers).then(|| Arc::clone(self.http_tools))
    }
}

/// What an agent is made of, whatever it speaks.
struct Options {
    provider: String,
    name: String,
    program: Program,
    auth_method: Option<String>,
    reads: Vec<String>,
    sign_in: SignIn,
    http_tools: Option<Arc<HttpTools>>,
}

impl Options {
    fn agent(self, protocol: Language, around: &Around<'_>, origin: String) -> Found {
        let installed = discovery::which(around.path, &self.program.command).is_some();
        let directory = Some(around.directory.to_owned());
        let program = Program {
            environment: Arc::clone(around.environment),
            ..self.program
        };
        let line = program.line();
        let agent: Arc<dyn Agent> = match protocol {
            Language::Acp => Arc::new(AcpAgent::new(AcpOptions {
                display_name: self.name,
                auth_method: self.auth_method,
                reads: self.reads,
                sign_in: self.sign_in,
                tool_bridge: bridge(),
                http_tools: self.http_tools,
                directory,
                ..AcpOptions::new(self.provider, program)
            })),
            Language::Pi => Arc::new(PiAgent::new(PiOptions {
                display_name: self.name,
                reads: self.reads,
                directory,
                ..PiOptions::new(self.provider, program)
            })),
        };
        Found {
            agent,
            origin,
            line,
            installed,
        }
    }
}

/// What a table of the configuration says, on top of what was found. A command
/// of the user's own speaks the Agent Client Protocol.
fn configured(
    provider: &str,
    table: &AgentTable,
    known: Option<FoundAgent>,
    around: &Around<'_>,
) -> Found {
    let http_tools = known.as_ref().and_then(|known| around.http_tools_of(known));
    let known_reads = known.as_ref().map_or(&[][..], |known| &known.reads).iter();
    let reads = known_reads.chain(&table.reads).cloned().collect();
    let sign_in = known.as_ref().map(|known| known.sign_in.clone());
    let (mut program, mut name, mut protocol, origin) = match known {
        Some(known) => {
            let origin = format!("{}, configuration", known.program.command.display());
            (known.program, known.display_name, known.protocol, origin)
        }
        None => {
            let origin = "configuration".to_owned();
            let name = provider.to_owned();
            (Program::new(provider), name, Language::Acp, origin)
        }
    };
    if !table.command.is_empty() {
        let command = PathBuf::from(&table.command);
        // Not found: starting it will say so.
        program.command = discovery::which(around.path, &command).unwrap_or(command);
        program.args.clear();
        protocol = Language::Acp;
    }
    if !table.args.is_empty() {
        program.args.clone_from(&table.args);
    }
    program.env.extend(table.env.clone());
    program.pass_env.extend(table.pass_env.clone());
    if !table.cwd.is_empty() {
        program.directory = Some(PathBuf::from(&table.cwd));
    }
    if !table.name.is_empty() {
        name.clone_from(&table.name);
    }
    let options = Options {
        provider: provider.to_owned(),
        name,
        program,
        auth_method: Some(table.auth_method.clone()).filter(|method| !method.is_empty()),
        reads,
        sign_in: sign_in.unwrap_or_default(),
        http_tools,
    };
    options.agent(protocol, around, origin)
}

/// This program, as the way from an agent to the tools of clients.
fn bridge() -> Option<Program> {
    let mut bridge = Program::new(std::env::current_exe().ok()?);
    bridge.args.push("bridge".to_owned());
    Some(bridge)
}

pub(crate) async fn agents(args: AgentsArgs) -> Outcome {
    match args.command {
        Some(command) => install::run(command).await,
        None => list(args).await,
    }
}

async fn list(args: AgentsArgs) -> Outcome {
    let config = args.place.config()?;
    let data_dir = args.place.data_dir()?;
    let registry = args.place.registry()?;
    let installed = Installed::in_data(&data_dir);
    let environment = environment(&config);
    let path = environment.path().await;
    let finder = Finder::new(
        config,
        registry.clone(),
        data_dir.clone(),
        environment,
        None,
    );
    let all = finder.found_on(&path);
    let there: Vec<String> = all.iter().map(Found::provider).collect();
    let mut rows = vec![["PROVIDER", "NAME", "STARTS", "MODELS", "FOUND"].map(str::to_owned)];
    let (mut told, mut troubles) = (Vec::new(), String::new());
    let starts = match args.no_start {
        true => all.iter().map(|_| None).collect(),
        false => start_each(&all).await,
    };
    for (Found { agent, origin, .. }, starts) in all.into_iter().zip(starts) {
        let info = agent.profile().info;
        let state = match &starts {
            None => "",
            Some(Ok(())) => "yes",
            Some(Err(reason)) => {
                let log = data_dir
                    .join("agents")
                    .join(format!("{}.log", info.provider));
                troubles.push_str(&format!("\n{}: {reason}\n", info.provider));
                if log.exists() {
                    troubles.push_str(&format!("    What it said: {}\n", log.display()));
                }
                "no"
            }
        };
        let models: Vec<&str> = info.models.iter().map(|model| model.id.as_str()).collect();
        let models = models.join(", ");
        told.push(serde_json::json!({
            "provider": info.provider, "displayName": info.display_name, "found": origin,
            "starts": starts.as_ref().map(Result::is_ok),
            "reason": starts.as_ref().and_then(|it| it.as_ref().err()),
            "models": info.models.iter().map(|model| &model.id).collect::<Vec<_>>(),
        }));
        let models = text::shortened(&models, MODELS);
        rows.push([
            info.provider,
            info.display_name,
            state.to_owned(),
            models,
            origin,
        ]);
    }
    if args.json {
        return print(&(serde_json::to_string_pretty(&told)? + "\n"));
    }
    for missing in discovery::missing_adapters(&registry, &path, &installed) {
        let (name, command) = (missing.display_name, missing.command);
        let hint = missing.hint;
        troubles.push_str(&format!(
            "\n{name} (`{command}`) is installed, but its adapter for hosts is missing: {hint}\n"
        ));
    }
    for trouble in registry.troubles() {
        troubles.push_str(&format!("\n{trouble}\n"));
    }
    let more = match args.all {
        true => install::table(&registry, &there),
        false => String::new(),
    };
    print(&(text::table(&rows) + &troubles + &more))
}

/// How many columns of the list of models are shown.
const MODELS: usize = 48;

/// How many agents are started at a time. Some take their time, so one after
/// the other would be slow; all at once would be in each other's way, and look
/// as if they did not start.
const STARTS_AT_ONCE: usize = 2;

/// Starts each agent for a moment. The patience with one counts from its own
/// start.
async fn start_each(all: &[Found]) -> Vec<Option<Result<(), String>>> {
    let starts = all.iter().map(|found| {
        let agent = Arc::clone(&found.agent);
        async move { Some(agent.get_to_know().await) }
    });
    futures_util::stream::iter(starts)
        .buffered(STARTS_AT_ONCE)
        .collect()
        .await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;
    use innkeeper_agents::{CommandStream, EventSink};
    use innkeeper_protocol::agent::{AgentProfile, OpenBackend};

    use super::*;

    fn provider(found: &Found) -> String {
        found.agent.profile().info.provider
    }

    #[test]
    fn agents_are_chosen_by_their_providers_names() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let chosen = |only: Option<&[&str]>| {
            let (only, data_dir) = (only.map(names), PathBuf::from("/nowhere"));
            let registry = Registry::shipped();
            Finder::new(Config::default(), registry, data_dir, Arc::default(), only).at_once()
        };
        assert_eq!(chosen(Some(&["script"])).ok().unwrap().len(), 1);
        assert!(!chosen(None).ok().unwrap().is_empty());
        let Err(Failure::Usage(message)) = chosen(Some(&["butler"])) else {
            panic!("there is no such agent");
        };
        assert!(
            message.starts_with("unknown agent `butler`; the agents that were found are: "),
            "{message}"
        );
        assert!(message.ends_with("script"), "{message}");
    }

    /// A directory with these programs, which do nothing.
    fn with_programs(names: &[&str]) -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt as _;
        let bin = tempfile::tempdir().unwrap();
        for name in names {
            let file = bin.path().join(name);
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bin
    }

    /// The agents that are found there with this configuration; `data` is where
    /// the host keeps what it knows of them.
    fn found_with((bin, data): (&Path, &Path), config: &str) -> Vec<Found> {
        let config: Config = toml::from_str(config).unwrap();
        found_on(
            bin.as_os_str(),
            &config,
            &Registry::shipped(),
            data,
            &Arc::default(),
            &Arc::default(),
        )
    }

    #[test]
    fn the_configuration_adds_changes_and_removes_agents() {
        let bin = with_programs(&["goose", "gemini", "kimi"]);
        let data = tempfile::tempdir().unwrap();
        let places = (bin.path(), data.path());
        let all = found_with(
            places,
            "[agents.mine]\ncommand = 'my-agent'\nargs = ['--acp']\nname = 'Mine'\n\
             [agents.goose]\nenv = { GOOSE_MODE = 'approve' }\n\
             [agents.gemini]\nenabled = false\n",
        );
        let names: Vec<String> = all.iter().map(provider).collect();
        // That one is not installed.
        assert_eq!(names, ["goose", "kimi", "script", "mine"]);
        let mine = all[3].agent.profile().info;
        assert_eq!(
            (mine.display_name.as_str(), all[3].origin.as_str()),
            ("Mine", "configuration")
        );
        assert_eq!(mine.description, "`my-agent --acp`");
        let goose = all[0].agent.profile().info;
        assert_eq!(
            goose.description,
            format!("`{} acp`", bin.path().join("goose").display())
        );

        let all = found_with(places, "[agents.kimi]\ndefault = true\n");
        let names: Vec<String> = all.iter().map(provider).collect();
        assert_eq!(names, ["kimi", "gemini", "goose", "script"]);
    }

    #[test]
    fn an_agent_that_does_not_work_is_never_the_default() {
        let (bin, data) = (with_programs(&["goose"]), tempfile::tempdir().unwrap());
        let names = |config: &str| {
            let all = found_with((bin.path(), data.path()), config);
            all.iter().map(provider).collect::<Vec<_>>()
        };
        // Mentioned, and not installed.
        assert_eq!(
            names("[agents.codex]\nenv = { A = 'b' }\n"),
            ["goose", "script", "codex"]
        );
        assert_eq!(
            names("[agents.codex]\ndefault = true\n"),
            ["goose", "script", "codex"]
        );
        // It did not start the last time, or nobody is signed in there.
        std::fs::create_dir(data.path().join("agents")).unwrap();
        let known = r#"{"version": null, "trouble": "sign in first"}"#;
        std::fs::write(data.path().join("agents/goose.json"), known).unwrap();
        assert_eq!(names(""), ["script", "goose"]);
        assert_eq!(
            names("[agents.goose]\ndefault = true\n"),
            ["script", "goose"]
        );
    }

    /// Agents that count how many of them start at the same time.
    #[derive(Default)]
    struct Starts {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    struct Slow(Arc<Starts>);

    impl Agent for Slow {
        fn profile(&self) -> AgentProfile {
            ScriptAgent::default().profile()
        }

        fn get_to_know(&self) -> BoxFuture<'static, Result<(), String>> {
            let starts = Arc::clone(&self.0);
            Box::pin(async move {
                let now = starts.now.fetch_add(1, Ordering::Relaxed) + 1;
                starts.most.fetch_max(now, Ordering::Relaxed);
                tokio::task::yield_now().await;
                starts.now.fetch_sub(1, Ordering::Relaxed);
                Ok(())
            })
        }

        fn run(&self, _: OpenBackend, _: CommandStream, _: EventSink) -> BoxFuture<'static, ()> {
            Box::pin(std::future::ready(()))
        }
    }

    #[tokio::test]
    async fn two_agents_start_at_a_time() {
        let starts = Arc::<Starts>::default();
        let found = |_| Found {
            agent: Arc::new(Slow(Arc::clone(&starts))),
            line: String::new(),
            origin: String::new(),
            installed: true,
        };
        let all: Vec<Found> = (0..7).map(found).collect();
        let started = start_each(&all).await;
        assert_eq!(started, vec![Some(Ok(())); 7]);
        assert_eq!(starts.most.load(Ordering::Relaxed), 2);
    }
}
