//! Real agents behind the real host: installs them into a scratch directory,
//! gives them a model that plays scripts, lets each do what every agent must
//! be able to do, and prints a table.
//!
//! `cargo xtask agents [--directory DIR] [AGENT | TRIAL …]`. The directory is
//! kept, so that the next run need not install anything; without one, a
//! temporary one is used. It needs npm, and `uv` or a recent Python for the
//! agents that come from PyPI; nothing but what installs them leaves this
//! machine.

mod agents;
mod guest;
mod host;
mod model;
mod trials;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use agents::{AGENTS, Agent};
use anyhow::{Context as _, Result, bail};
use host::Setup;
use trials::{Stage, Trial};

struct Plan {
    directory: Option<PathBuf>,
    agents: Vec<&'static Agent>,
    trials: Vec<Trial>,
}

/// What came of one trial with one agent.
enum Cell {
    Passed(String),
    /// The agent cannot, for this reason.
    Limited(&'static str),
    Failed(String),
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<()> {
    let plan = Plan::from_arguments(std::env::args().skip(1))?;
    let scratch;
    let directory = match &plan.directory {
        Some(directory) => {
            std::fs::create_dir_all(directory)?;
            directory.canonicalize()?
        }
        None => {
            scratch = tempfile::tempdir()?;
            scratch.path().canonicalize()?
        }
    };
    let programs = directory.join("programs");
    let bin = programs.join("node_modules").join(".bin");
    let missing = |agent: &&Agent| !agent.is_in(&bin);
    let of_npm = plan.agents.iter().filter(|agent| agent.comes_with_npm());
    if !agents::is_equipped(&bin) || of_npm.copied().any(|agent| missing(&agent)) {
        agents::install(&programs, &plan.agents)?;
    }
    let model = format!("http://{}", model::serve().await?);
    let mut failures = 0;
    let mut rows = Vec::new();
    for agent in &plan.agents {
        if missing(agent) {
            println!("Installing {} with the host", agent.provider);
            agent
                .install_by_host(&host::binary()?, &directory.join("installed"), &bin)
                .with_context(|| format!("{} cannot be installed", agent.provider))?;
        }
        let cells = try_agent(agent, &plan.trials, &directory, &bin, &model).await;
        failures += cells
            .iter()
            .filter(|cell| matches!(cell, Cell::Failed(_)))
            .count();
        rows.push((agent.provider, cells));
    }
    print_table(&plan.trials, &rows);
    match failures {
        0 => Ok(()),
        number => bail!("{number} trials failed"),
    }
}

async fn try_agent(
    agent: &'static Agent,
    trials: &[Trial],
    directory: &Path,
    bin: &Path,
    model: &str,
) -> Vec<Cell> {
    let place = directory.join(agent.provider);
    let opened = async {
        // What earlier runs left must not help or hinder.
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        let config = agent.settle(&place.join("home"), model)?;
        let setup = Setup {
            directory: place.clone(),
            provider: agent.provider,
            config,
            programs: bin.to_owned(),
        };
        Stage::open(agent, setup).await
    };
    let mut stage = match opened.await {
        Ok(stage) => Some(stage),
        Err(error) => {
            println!("{}: does not start: {error:#}", agent.provider);
            None
        }
    };
    let mut cells = Vec::new();
    for &trial in trials {
        let Some(open) = stage.take() else {
            cells.push(Cell::Failed("there is no host to try it with".to_owned()));
            continue;
        };
        let began = Instant::now();
        let (left, result) = open.run(trial).await;
        stage = left;
        let cell = match result {
            Ok(detail) => Cell::Passed(detail),
            Err(error) => {
                let error = format!("{error:#}");
                match agent.limit(trial, &error) {
                    Some(why) => Cell::Limited(why),
                    None => Cell::Failed(error),
                }
            }
        };
        let (mark, detail) = cell.shown();
        let (name, took) = (trial.name(), began.elapsed().as_secs_f32());
        println!("{} {name}: {mark}: {detail} ({took:.1} s)", agent.provider);
        cells.push(cell);
    }
    if let Some(stage) = stage
        && let Err(error) = stage.close().await
    {
        println!("{}: {error:#}", agent.provider);
    }
    cells
}

impl Cell {
    fn shown(&self) -> (&'static str, &str) {
        match self {
            Self::Passed(detail) => ("ok", detail),
            Self::Limited(why) => ("limit", why),
            Self::Failed(error) => ("FAILED", error),
        }
    }
}

fn print_table(trials: &[Trial], rows: &[(&str, Vec<Cell>)]) {
    let names: Vec<&str> = trials.iter().map(|trial| trial.name()).collect();
    println!("\n| agent | {} |", names.join(" | "));
    println!("| --- |{}", " --- |".repeat(names.len()));
    let mut limits = Vec::new();
    for (agent, cells) in rows {
        let mut row = format!("| {agent} |");
        for (cell, trial) in cells.iter().zip(&names) {
            let (mark, detail) = cell.shown();
            row.push_str(&format!(" {mark} |"));
            if matches!(cell, Cell::Limited(_)) {
                limits.push(format!("{agent}, {trial}: {detail}"));
            }
        }
        println!("{row}");
    }
    if !limits.is_empty() {
        println!(
            "\nLimits of the agents themselves:\n\n- {}",
            limits.join("\n- ")
        );
    }
}

impl Plan {
    fn from_arguments(arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut plan = Self {
            directory: None,
            agents: Vec::new(),
            trials: Vec::new(),
        };
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let agent = AGENTS.iter().find(|agent| agent.provider == argument);
            let trial = Trial::ALL
                .into_iter()
                .find(|trial| trial.name() == argument);
            match (argument.as_str(), agent, trial) {
                ("--directory", ..) => {
                    let directory = arguments.next().context("--directory needs a path")?;
                    plan.directory = Some(PathBuf::from(directory));
                }
                (_, Some(agent), _) => plan.agents.push(agent),
                (_, None, Some(trial)) => plan.trials.push(trial),
                (other, None, None) => bail!(
                    "`{other}` is neither an agent ({}) nor a trial ({})",
                    AGENTS
                        .iter()
                        .map(|agent| agent.provider)
                        .collect::<Vec<_>>()
                        .join(", "),
                    Trial::ALL.map(Trial::name).join(", ")
                ),
            }
        }
        if plan.agents.is_empty() {
            plan.agents.extend(&AGENTS);
        }
        if plan.trials.is_empty() {
            plan.trials.extend(Trial::ALL);
        }
        Ok(plan)
    }
}
