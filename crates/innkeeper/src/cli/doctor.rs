//! `innkeeper doctor`: is everything there that a host needs, and if not, what
//! to do about it. It changes nothing.

mod data;
mod database;

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use Finding::{Fine, Problem, Warning};
use anyhow::anyhow;
use clap::Args;
use innkeeper_agents::install::Installed;
use innkeeper_agents::registry::Registry;
use innkeeper_agents::{Environment, discovery};
use innkeeper_workspace::judge_git;

use super::agents::Finder;
use super::announcement::HostFile;
use super::environment::environment;
use super::place::PlaceArgs;
use super::serve::settled::address_without_flags;
use super::{Outcome, print, text, token};
use crate::config::{Config, EnvironmentSetting};
use innkeeper::server::access::ConnectionToken;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

/// What a check found.
#[derive(Debug)]
enum Finding {
    Fine(String),
    Warning(String),
    Problem(String),
}

pub(crate) async fn doctor(args: DoctorArgs) -> Outcome {
    let data_dir = args.place.data_dir()?;
    let (finding, config) = check_config(&args.place.config_file()?, args.place.config());
    let mut findings = vec![finding];
    match args.place.database(&config) {
        Ok(None) => findings.extend(data::check(&config, &data_dir, true)),
        Ok(Some(address)) => {
            findings.extend(data::check(&config, &data_dir, false));
            findings.extend(database::check(&address));
        }
        Err(error) => findings.push(Problem(format!("store: {}", text::told(&error)))),
    }
    findings.push(check_token(&data_dir.join("token")));
    findings.push(check_devices(&data_dir));
    findings.push(check_port(&config, &data_dir));
    findings.push(check_git());
    findings.push(check_shell(&config));
    let environment = environment(&config);
    findings.push(check_environment(&config, &environment).await);
    let registry = args.place.registry()?;
    let troubles = registry.troubles().iter();
    findings.extend(troubles.map(|trouble| Problem(format!("agents: {trouble}"))));
    findings.extend(check_agents(&config, registry, &data_dir, environment).await);
    let judged = findings.iter().map(|finding| match finding {
        Fine(what) => ("ok", what),
        Warning(what) => ("warning", what),
        Problem(what) => ("problem", what),
    });
    match args.json {
        true => {
            let all = judged.map(|(kind, what)| serde_json::json!({"kind": kind, "message": what}));
            let all: Vec<_> = all.collect();
            print(&(serde_json::to_string_pretty(&all)? + "\n"))?;
        }
        false => {
            let lines = judged.map(|(kind, what)| format!("{kind:10}{what}\n"));
            print(&lines.collect::<String>())?;
        }
    }
    let problems = findings.iter().filter(|f| matches!(f, Problem(_))).count();
    match problems {
        0 => Ok(()),
        _ => {
            let found = text::count(problems, "problem");
            Err(anyhow!("{found} found; the lines above say how to fix them").into())
        }
    }
}

fn check_config(file: &Path, loaded: anyhow::Result<Config>) -> (Finding, Config) {
    let name = file.display();
    match loaded {
        Ok(config) if file.exists() => (Fine(format!("configuration: {name}")), config),
        Ok(config) => {
            let none = format!("configuration: {name} does not exist; the defaults are used");
            (Fine(none), config)
        }
        Err(error) => (
            Problem(format!("configuration: {}", text::told(&error))),
            Config::default(),
        ),
    }
}

fn is_open_to_others(metadata: &fs::Metadata) -> bool {
    metadata.permissions().mode() & 0o077 != 0
}

fn check_token(path: &Path) -> Finding {
    let name = path.display();
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Fine("token: none yet; the first start creates it".to_owned());
        }
        Err(error) => return Problem(format!("token: {name} cannot be read: {error}")),
    };
    if is_open_to_others(&metadata) {
        return Problem(format!(
            "token: other users can read {name}; run: chmod 600 {name}, or delete it and restart \
             the host for a new one"
        ));
    }
    let token = fs::read_to_string(path).ok();
    match token.and_then(|token| ConnectionToken::new(token.trim())) {
        Some(_) => Fine(format!("token: only you can read {name}")),
        None => Problem(format!(
            "token: {name} contains no token; delete it, and the next start generates one"
        )),
    }
}

fn check_devices(data_dir: &Path) -> Finding {
    match token::load(data_dir) {
        Ok(devices) => Fine(format!(
            "devices: {} besides the connection token",
            text::count(devices.len(), "token")
        )),
        Err(error) => Problem(format!("devices: {}", text::told(&error))),
    }
}

fn check_port(config: &Config, data_dir: &Path) -> Finding {
    let address = match address_without_flags(config, |name| std::env::var_os(name)) {
        Ok(address) => address,
        Err(why) => return Problem(format!("port: {why}")),
    };
    let error = match TcpListener::bind(address) {
        Ok(_) => return Fine(format!("port: {address} is available")),
        Err(error) => error,
    };
    let running = HostFile::find_in(data_dir);
    let port = format!(":{}/", address.port());
    match running {
        Some(host) if host.url.as_ref().is_some_and(|url| url.contains(&port)) => Fine(format!(
            "port: {address} is used by the running host, process {}",
            host.pid
        )),
        _ if error.kind() == io::ErrorKind::AddrInUse => Problem(format!(
            "port: {address} is used by another program; choose another port with --port or in \
             the configuration"
        )),
        _ => Problem(format!(
            "port: {address} cannot be listened on: {error}; choose another address with --host \
             or in the configuration"
        )),
    }
}

fn check_git() -> Finding {
    let version = Command::new("git").arg("--version").output().ok();
    match version.filter(|output| output.status.success()) {
        Some(output) => match judge_git(&String::from_utf8_lossy(&output.stdout)) {
            Ok(version) => Fine(format!("git: {}", text::one_line(&version))),
            Err(why) => Warning(format!("git: {}", text::one_line(&why))),
        },
        None => {
            Warning("git: not found; install it to see and undo the changes of agents".to_owned())
        }
    }
}

fn check_shell(config: &Config) -> Finding {
    let shell = config.workspace.shell();
    let executable = |path: &Path| {
        let metadata = fs::metadata(path);
        metadata.is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
    };
    let name = shell.display();
    match executable(&shell) {
        true => Fine(format!("shell: {name}")),
        false => Warning(format!(
            "shell: {name} cannot be run; set workspace.shell or SHELL to a shell that is installed"
        )),
    }
}

/// Where agents get their variables from.
async fn check_environment(config: &Config, environment: &Environment) -> Finding {
    let shell = config.workspace.shell();
    match (config.agent_environment, environment.trouble().await) {
        (EnvironmentSetting::Strict, _) => Fine("environment: the strict list".to_owned()),
        (_, None) => Fine(format!("environment: what {} sets", shell.display())),
        (_, Some(trouble)) => Warning(format!(
            "environment: {} was asked what it sets, but {trouble}; agents get the environment \
             of the host. Look at its start-up files, or set agent_environment = \"strict\"",
            shell.display()
        )),
    }
}

/// Which agents there are. Whether they start is for `innkeeper agents`; what
/// went wrong the last time is known without starting anything.
async fn check_agents(
    config: &Config,
    registry: Registry,
    data_dir: &Path,
    environment: Arc<Environment>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let path = environment.path().await;
    let missing = discovery::missing_adapters(&registry, &path, &Installed::in_data(data_dir));
    let data_dir = data_dir.to_owned();
    let finder = Finder::new(config.clone(), registry, data_dir, environment, None);
    for found in finder.found_on(&path) {
        let provider = found.agent.profile().info.provider;
        findings.push(match found.agent.trouble() {
            None => Fine(format!("agent: {provider} ({})", found.origin)),
            Some(trouble) => Warning(format!(
                "agent: {provider} ({}) did not start the last time: {trouble}",
                found.origin
            )),
        });
    }
    for missing in missing {
        findings.push(Warning(format!(
            "agent: {} (`{}`) is installed, but its adapter for hosts is missing: {}",
            missing.display_name, missing.command, missing.hint
        )));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_others_can_read_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        assert!(matches!(check_token(&path), Fine(_)));
        ConnectionToken::of_directory(dir.path()).unwrap();
        assert!(matches!(check_token(&path), Fine(_)));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(check_token(&path), Problem(_)));
    }
}
