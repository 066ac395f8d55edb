//! `innkeeper service`: the host as a service of the user, which systemd or
//! launchd starts at login and keeps running.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, Subcommand, ValueEnum};
use directories::BaseDirs;
use innkeeper_process::system::nameless_socket;
use tokio::process::Command;

use super::place::PlaceArgs;
use super::{Outcome, print};

const UNIT: &str = "innkeeper.service";
const LABEL: &str = "dev.innkeeper.host";

/// How long a service manager may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
pub(crate) struct ServiceArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Install the service and start it
    Install {
        /// Only print the unit or property list
        #[arg(long)]
        print: bool,
        /// Do not ask systemd to keep your services running after you log out
        #[arg(long)]
        no_linger: bool,
        /// Print it for this program, and for any user (for packages)
        #[arg(long, value_name = "PATH", requires = "print", hide = true)]
        program: Option<PathBuf>,
        /// Print it for this service manager (for packages)
        #[arg(long, requires = "program", hide = true)]
        manager: Option<Manager>,
        #[command(flatten)]
        place: PlaceArgs,
    },
    /// Stop and remove the service, and keep sessions
    Uninstall,
    /// Show what the service manager reports
    Status,
}

/// Who keeps services running here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn here() -> Self {
        match cfg!(target_os = "macos") {
            true => Self::Launchd,
            false => Self::Systemd,
        }
    }

    /// Where the user's services are described.
    fn file(self) -> Result<PathBuf> {
        let dirs = BaseDirs::new().context(
            "the home directory cannot be determined, so no service can be installed; \
                                            run `innkeeper serve --service` from the system's \
                                            service manager",
        )?;
        Ok(match self {
            Self::Systemd => dirs.config_dir().join("systemd/user").join(UNIT),
            Self::Launchd => dirs
                .home_dir()
                .join("Library/LaunchAgents")
                .join(format!("{LABEL}.plist")),
        })
    }
}

/// What a service is made of.
struct Service<'a> {
    program: &'a Path,
    data_dir: Option<&'a Path>,
    config: Option<&'a Path>,
}

impl Service<'_> {
    fn command(&self) -> Result<Vec<String>> {
        let text = |path: &Path| {
            let text = path
                .to_str()
                .filter(|text| !text.contains(['\n', '\r', '\0']));
            text.map(str::to_owned)
                .with_context(|| format!("{} cannot be used in a service", path.display()))
        };
        let mut command = vec![
            text(self.program)?,
            "serve".to_owned(),
            "--service".to_owned(),
        ];
        if let Some(data_dir) = self.data_dir {
            command.extend(["--data-dir".to_owned(), text(data_dir)?]);
        }
        if let Some(config) = self.config {
            command.extend(["--config".to_owned(), text(config)?]);
        }
        Ok(command)
    }

    fn text(&self, manager: Manager) -> Result<String> {
        let command = self.command()?;
        Ok(match manager {
            Manager::Systemd => unit(&command),
            Manager::Launchd => plist(&command),
        })
    }
}

fn unit(command: &[String]) -> String {
    let command: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    format!(
        "[Unit]\n\
         Description=Innkeeper, a host for coding agents\n\
         After=network.target\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStopSec=30\n\
         KillMode=mixed\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        command.join(" ")
    )
}

/// A word of a command line, as systemd reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.=+,:@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Specifiers and variables.
            '%' => quoted.push_str("%%"),
            '$' => quoted.push_str("$$"),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

fn plist(command: &[String]) -> String {
    let words: String = command
        .iter()
        .map(|word| format!("    <string>{}</string>\n", escaped(word)))
        .collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \
         \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>{LABEL}</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n\
         {words}\
         \x20 </array>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>KeepAlive</key>\n\
         \x20 <dict>\n\
         \x20   <key>SuccessfulExit</key>\n\
         \x20   <false/>\n\
         \x20 </dict>\n\
         \x20 <key>ProcessType</key>\n\
         \x20 <string>Background</string>\n\
         </dict>\n\
         </plist>\n"
    )
}

fn escaped(word: &str) -> String {
    word.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

pub(crate) async fn service(args: ServiceArgs) -> Outcome {
    match args.action {
        Action::Install {
            print: _,
            no_linger: _,
            program: Some(program),
            manager,
            place: _,
        } => {
            let service = Service {
                program: &program,
                data_dir: None,
                config: None,
            };
            print(&service.text(manager.unwrap_or_else(Manager::here))?)
        }
        Action::Install {
            print,
            no_linger,
            program: None,
            manager: _,
            place,
        } => install(print, !no_linger, &place).await,
        Action::Uninstall => uninstall().await,
        Action::Status => {
            let said = match Manager::here() {
                Manager::Systemd => {
                    called("systemctl", &["--user", "--no-pager", "status", UNIT]).await?
                }
                Manager::Launchd => called("launchctl", &["list", LABEL]).await?,
            };
            print(&said.out)?;
            match said.success {
                true => Ok(()),
                false if said.out.is_empty() => Err(anyhow!(
                    "the service is not installed; install it with `innkeeper service install`"
                )
                .into()),
                false => Err(super::Failure::Exit(1)),
            }
        }
    }
}

async fn install(only_print: bool, linger: bool, place: &PlaceArgs) -> Outcome {
    if place.given_store().is_some() {
        return Err(super::Failure::Usage(
            "a service reads the address of its database from the configuration; set store.url \
             there, and leave out --store"
                .to_owned(),
        ));
    }
    let manager = Manager::here();
    let program = std::env::current_exe().context("this program cannot be found again")?;
    let config = place.given_config().map(std::path::absolute).transpose()?;
    let service = Service {
        program: &program,
        data_dir: Some(&place.data_dir()?),
        config: config.as_deref(),
    };
    // A service that fails at once helps nobody.
    place.config()?;
    let text = service.text(manager)?;
    if only_print {
        return print(&text);
    }
    let file = manager.file()?;
    let unwritten = || format!("{} cannot be written", file.display());
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory).with_context(unwritten)?;
    }
    let is_new = !file.exists();
    fs::write(&file, text).with_context(unwritten)?;
    let started = start(manager, &file, linger).await;
    if started.is_err() && is_new {
        // A service that nobody can start is not installed.
        let _ = fs::remove_file(&file);
    }
    let started = started.map_err(|error| {
        let reason = super::text::told(&error);
        anyhow!("{reason}; without a service manager, use `innkeeper up`")
    });
    print(&started?)
}

/// Starts what the file describes, and returns what to tell the user.
async fn start(manager: Manager, file: &Path, linger: bool) -> Result<String> {
    let name = file.display();
    match manager {
        Manager::Systemd => {
            needs("systemctl", &["--user", "daemon-reload"]).await?;
            needs("systemctl", &["--user", "enable", UNIT]).await?;
            needs("systemctl", &["--user", "restart", UNIT]).await?;
            // Without it, the service ends when the user logs out.
            let lingers = match linger {
                true => called("loginctl", &["enable-linger"]).await,
                false => Ok(Said::default()),
            };
            let logout = match lingers {
                Ok(said) if linger && said.success => " It keeps running after you log out.",
                _ => " It stops when you log out; `loginctl enable-linger` keeps it running.",
            };
            Ok(format!(
                "Installed {name} and started the service.{logout}\n"
            ))
        }
        Manager::Launchd => {
            let file = file.to_string_lossy().into_owned();
            let _ = called("launchctl", &["unload", &file]).await;
            needs("launchctl", &["load", "-w", &file]).await?;
            Ok(format!("Installed {name} and started the service.\n"))
        }
    }
}

async fn uninstall() -> Outcome {
    let manager = Manager::here();
    let file = manager.file()?;
    if !file.exists() {
        return Err(anyhow!(
            "the service is not installed: {} does not exist",
            file.display()
        )
        .into());
    }
    match manager {
        Manager::Systemd => {
            needs("systemctl", &["--user", "disable", "--now", UNIT]).await?;
        }
        Manager::Launchd => {
            needs("launchctl", &["unload", "-w", &file.to_string_lossy()]).await?;
        }
    }
    fs::remove_file(&file).with_context(|| format!("{} cannot be removed", file.display()))?;
    if manager == Manager::Systemd {
        let _ = called("systemctl", &["--user", "daemon-reload"]).await;
    }
    print(&format!(
        "Stopped the service and removed {}. Your sessions are kept.\n",
        file.display()
    ))
}

/// Restarts the service that the host runs as.
pub(crate) async fn restart() -> Result<()> {
    match Manager::here() {
        Manager::Systemd => needs("systemctl", &["--user", "restart", UNIT]).await,
        Manager::Launchd => {
            let user = rustix::process::geteuid().as_raw();
            let target = format!("gui/{user}/{LABEL}");
            needs("launchctl", &["kickstart", "-k", &target]).await
        }
    }
}

#[derive(Debug, Default)]
struct Said {
    success: bool,
    out: String,
    err: String,
}

async fn called(program: &str, arguments: &[&str]) -> Result<Said> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output())
        .await
        .with_context(|| format!("{program} did not end in time"))?
        .with_context(|| format!("{program} cannot be run"))?;
    let text = |bytes: &[u8]| super::text::printable(&String::from_utf8_lossy(bytes));
    Ok(Said {
        success: output.status.success(),
        out: text(&output.stdout),
        err: text(&output.stderr),
    })
}

async fn needs(program: &str, arguments: &[&str]) -> Result<()> {
    let said = called(program, arguments).await?;
    if said.success {
        return Ok(());
    }
    let words = arguments.join(" ");
    bail!("`{program} {words}` failed: {}", said.err.trim())
}

/// Tells systemd how the host is, where systemd asked for it.
pub(crate) fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    let told = tell(&path, state);
    if let Err(error) = told {
        tracing::debug!(%error, "failed to notify the service manager");
    }
}

fn tell(path: &std::ffi::OsStr, state: &str) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::net::{SocketAddr, UnixDatagram};
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    let address = match path.as_bytes().strip_prefix(b"@") {
        Some(name) => nameless_socket(name)?,
        None => SocketAddr::from_pathname(Path::new(path))?,
    };
    socket.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(data_dir: &str) -> Service<'_> {
        Service {
            program: Path::new("/opt/inn keeper/innkeeper"),
            data_dir: Some(Path::new(data_dir)),
            config: Some(Path::new("/etc/innkeeper.toml")),
        }
    }

    #[test]
    fn words_are_quoted_as_systemd_reads_them() {
        for (word, written) in [
            ("/usr/bin/innkeeper", "/usr/bin/innkeeper"),
            ("a b", "\"a b\""),
            ("100%", "\"100%%\""),
            ("$HOME", "\"$$HOME\""),
            ("a\"b\\", "\"a\\\"b\\\\\""),
            ("", "\"\""),
        ] {
            assert_eq!(quoted(word), written);
        }
    }

    #[test]
    fn a_unit_starts_the_host_as_a_service_and_reloads_it() {
        let unit = service("/data/50% of it").text(Manager::Systemd).unwrap();
        assert!(unit.contains(
            "ExecStart=\"/opt/inn keeper/innkeeper\" serve --service --data-dir \
             \"/data/50%% of it\" --config /etc/innkeeper.toml\n"
        ));
        assert!(unit.contains("ExecReload=/bin/kill -HUP $MAINPID\n"));
        assert!(unit.contains("WantedBy=default.target\n"));
    }

    #[test]
    fn a_property_list_escapes_what_it_quotes() {
        let list = service("/data/<a> & b").text(Manager::Launchd).unwrap();
        assert!(
            list.contains("<string>/data/&lt;a&gt; &amp; b</string>"),
            "{list}"
        );
        assert_eq!(
            list.matches("<string>").count(),
            list.matches("</string>").count()
        );
    }

    #[test]
    fn a_path_that_would_add_lines_is_refused() {
        assert!(
            service("/data/\nExecStartPre=evil")
                .text(Manager::Systemd)
                .is_err()
        );
    }

    #[test]
    fn the_service_manager_is_told() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("notify");
        let manager = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        tell(path.as_os_str(), "READY=1").unwrap();
        let mut said = [0; 64];
        let length = manager.recv(&mut said).unwrap();
        assert_eq!(&said[..length], b"READY=1");
    }
}
