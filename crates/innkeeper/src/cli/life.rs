//! `innkeeper up`, `status`, `stop`, `restart`, `reload` and `open`: the host as
//! something that runs in the background.

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::process::Stdio;

use anyhow::{Context as _, Result, anyhow};
use clap::Args;
use innkeeper_store::LOCK_FILE;
use serde_json::{Value, json};
use tokio::process::Command;

use super::announcement::holder;
use super::background::{running_or, start};
use super::control::{RunningHost, dismiss};
use super::done::DoneArgs;
use super::place::PlaceArgs;
use super::serve::{Kind, Link, ServeArgs, Status};
use super::{Failure, Outcome, print, service, text};

#[derive(Debug, Args)]
#[command(mut_arg("stdio", |arg| arg.hide(true)), mut_arg("service", |arg| arg.hide(true)))]
pub(crate) struct UpArgs {
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    serve: ServeArgs,
}

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LifeArgs {
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Only print the address
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

fn nothing_runs(place: &PlaceArgs) -> Result<anyhow::Error> {
    let data_dir = place.data_dir()?;
    // Whoever may not look knows nothing.
    data_dir.join(LOCK_FILE).try_exists().with_context(|| {
        let name = data_dir.display();
        format!("the data directory {name} cannot be used; check its owner and permissions")
    })?;
    Ok(match holder(&data_dir) {
        Some(pid) => anyhow!(
            "process {pid} uses {}, but accepts no commands",
            data_dir.display()
        ),
        None => anyhow!(
            "no host is running on {}; start one with `innkeeper up`",
            data_dir.display()
        ),
    })
}

/// The host of a data directory, if it is more than a helper of `run`.
async fn lasting(place: &PlaceArgs) -> Result<Option<(RunningHost, Status)>> {
    let Some(host) = RunningHost::find_in(&place.data_dir()?) else {
        return Ok(None);
    };
    let status: Status = host.get("/control/status").await?;
    Ok(Some((host, status)))
}

pub(crate) async fn up(args: UpArgs) -> Outcome {
    let place = args.serve.place().clone();
    let data_dir = place.data_dir()?;
    // What is wrong is better said here than by somebody in the background.
    args.serve.check()?;
    if let Some((host, status)) = lasting(&place).await?
        && status.kind != Kind::Temporary
    {
        let link: Link = host.get("/control/link").await?;
        let said = format!(
            "A host is already running (process {}).\n{}",
            status.pid,
            addresses(&link)
        );
        return args.done.say(&said, &started(&link, &status, false));
    }
    dismiss(&data_dir).await;
    if let Some((_, status)) = lasting(&place).await? {
        let pid = status.pid;
        return Err(anyhow!(
            "`innkeeper run` is still using a temporary host (process {pid}); try again when it \
             is done"
        )
        .into());
    }
    let given = std::env::args_os().skip(2);
    let given: Vec<OsString> = given.filter(|argument| argument != "--json").collect();
    let directory =
        std::env::current_dir().context("the current directory cannot be determined")?;
    let host = running_or(&place, || start(&given, &directory)).await?;
    say_started(&host, args.done).await
}

async fn say_started(host: &RunningHost, done: DoneArgs) -> Outcome {
    let link: Link = host.get("/control/link").await?;
    let status: Status = host.get("/control/status").await?;
    let said = format!(
        "The host is running in the background (process {}).\n{}\nLog:         {}",
        status.pid,
        addresses(&link),
        status.log.display()
    );
    done.say(&said, &started(&link, &status, true))
}

fn addresses(link: &Link) -> String {
    format!("Web client:  {}\nWebSocket:   {}", link.web, link.url)
}

/// Where a host is, and whether this command started it.
fn started(link: &Link, status: &Status, is_new: bool) -> Value {
    json!({
        "pid": status.pid, "web": link.web, "url": link.url, "log": status.log, "started": is_new,
    })
}

pub(crate) async fn status(args: StatusArgs) -> Outcome {
    let found = lasting(&args.place).await?;
    if args.json {
        let value = match &found {
            Some((_, status)) => {
                let mut value = serde_json::to_value(status)?;
                value["running"] = true.into();
                value["arguments"] = without_token(&status.arguments).into();
                value
            }
            None => json!({"running": false, "dataDir": args.place.data_dir()?}),
        };
        print(&(serde_json::to_string_pretty(&value)? + "\n"))?;
        return match found {
            Some(_) => Ok(()),
            None => Err(Failure::Exit(1)),
        };
    }
    match found {
        Some((_, status)) => print(&told(&status)),
        None => Err(nothing_runs(&args.place)?.into()),
    }
}

fn told(status: &Status) -> String {
    let kind = match status.kind {
        Kind::Foreground => "in a terminal",
        Kind::Background => "in the background",
        Kind::Service => "as a service",
        Kind::Temporary => "temporarily for `innkeeper run`",
    };
    let mut lines = format!(
        "The host is running {kind}: process {}, version {}, for {}.\n",
        status.pid,
        status.version,
        text::duration(status.uptime_seconds)
    );
    let mut line = |name: &str, value: String| lines.push_str(&format!("{name:13}{value}\n"));
    match (&status.obstacle, &status.owner) {
        (_, Some(owner)) => line(
            "Standby:",
            format!(
                "another host on the same store works at {}",
                text::one_line(owner)
            ),
        ),
        (Some(obstacle), None) if status.standby => line("Standby:", text::one_line(obstacle)),
        (Some(obstacle), None) => line("Problem:", text::one_line(obstacle)),
        (None, None) => {}
    }
    if let (Some(web), Some(url)) = (&status.web, &status.url) {
        line(
            "Web client:",
            format!("{web} (`innkeeper open` has the link)"),
        );
        line("WebSocket:", url.clone());
    }
    // One that stands by does not know.
    if !status.standby {
        line("Clients:", status.connections.to_string());
        for client in &status.clients {
            line("", text::one_line(client));
        }
        line("Sessions:", status.sessions.to_string());
    }
    line("Data:", status.data_dir.display().to_string());
    line("Log:", status.log.display().to_string());
    lines
}

pub(crate) async fn stop(args: LifeArgs) -> Outcome {
    let Some(host) = RunningHost::find_in(&args.place.data_dir()?) else {
        return Err(nothing_runs(&args.place)?.into());
    };
    end(&host).await?;
    let sentence = format!("Stopped the host (process {}).", host.pid);
    let object = json!({"pid": host.pid, "status": "stopped"});
    args.done.say(&sentence, &object)
}

async fn end(host: &RunningHost) -> Result<()> {
    let answer = host.post("/control/stop", String::new()).await?;
    if !answer.status.is_success() {
        return Err(anyhow!(answer.text.trim_end().to_owned()));
    }
    host.is_gone().await
}

pub(crate) async fn restart(args: LifeArgs) -> Outcome {
    let Some((host, status)) = lasting(&args.place).await? else {
        return Err(nothing_runs(&args.place)?.into());
    };
    match status.kind {
        Kind::Foreground => Err(anyhow!(
            "the host (process {}) is running in a terminal; stop it there with Ctrl-C, and \
             start it again",
            status.pid
        )
        .into()),
        Kind::Temporary => Err(anyhow!(
            "the host (process {}) is temporary: `innkeeper run` started it, and it stops by \
             itself; start a permanent one with `innkeeper up`",
            status.pid
        )
        .into()),
        Kind::Service => {
            service::restart().await?;
            let object = json!({"status": "restarted"});
            args.done.say("The service was restarted.", &object)
        }
        Kind::Background => {
            end(&host).await?;
            let given = flags_of(&status.arguments);
            let host = running_or(&args.place, || start(&given, &status.directory)).await?;
            say_started(&host, args.done).await
        }
    }
}

pub(crate) async fn reload(args: LifeArgs) -> Outcome {
    let Some(host) = RunningHost::find_in(&args.place.data_dir()?) else {
        return Err(nothing_runs(&args.place)?.into());
    };
    // What is wrong with it, the host says in its log only.
    args.place.config()?;
    host.post("/control/reload", String::new()).await?;
    let sentence = "The host is reloading its configuration and certificate.";
    let object = json!({"pid": host.pid, "status": "reloading"});
    args.done.say(sentence, &object)
}

pub(crate) async fn open(args: OpenArgs) -> Outcome {
    let Some(host) = RunningHost::find_in(&args.place.data_dir()?) else {
        return Err(nothing_runs(&args.place)?.into());
    };
    let link: Link = host.get("/control/link").await?;
    args.done.say(&link.web, &json!({"web": link.web}))?;
    if !args.print
        && let Some(opener) = opener()
    {
        let opened = Command::new(&opener)
            .arg(&link.web)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if opened.is_err() {
            let _ = writeln!(
                std::io::stderr(),
                "innkeeper: {} cannot be started; open the address yourself",
                opener.to_string_lossy()
            );
        }
    }
    Ok(())
}

/// What opens an address here, if there is somebody to see it.
fn opener() -> Option<OsString> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    // A list of browsers, of which the first will do.
    let chosen = set("BROWSER").and_then(|browsers| {
        let browsers = browsers.into_string().ok()?;
        let first = browsers.split(':').next()?.to_owned();
        Some(OsString::from(first))
    });
    let desktop = || {
        let is_there = set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some();
        match cfg!(target_os = "macos") {
            true => Some("open".into()),
            false => is_there.then(|| "xdg-open".into()),
        }
    };
    if !std::io::stdout().is_terminal() {
        return None;
    }
    chosen.or_else(desktop)
}

/// Arguments as they may be shown: a token stays with whoever gave it.
fn without_token(arguments: &[String]) -> Vec<String> {
    const FLAG: &str = "--connection-token";
    let mut is_token = false;
    let shown = arguments.iter().map(|word| {
        let hidden = std::mem::replace(&mut is_token, word == FLAG);
        match word.strip_prefix(FLAG) {
            Some(rest) if rest.starts_with('=') => format!("{FLAG}=…"),
            _ if hidden => "…".to_owned(),
            _ => word.clone(),
        }
    });
    shown.collect()
}

/// What a host in the background was given by whoever started it.
fn flags_of(arguments: &[String]) -> Vec<OsString> {
    let given = arguments.iter().skip_while(|word| *word == "serve");
    let given = given.filter(|word| *word != "--detached");
    given.map(Into::into).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_restarted_with_what_it_was_started_with() {
        let words = ["serve", "--port", "0", "--detached"].map(str::to_owned);
        assert_eq!(flags_of(&words), ["--port", "0"]);
    }

    #[test]
    fn a_token_on_the_command_line_is_not_shown() {
        let shown = |words: &str| {
            let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
            without_token(&words).join(" ")
        };
        for (words, expected) in [
            (
                "up --connection-token abc --port 0",
                "up --connection-token … --port 0",
            ),
            (
                "up --connection-token=abc --no-web",
                "up --connection-token=… --no-web",
            ),
            (
                "up --connection-token-file abc",
                "up --connection-token-file abc",
            ),
        ] {
            assert_eq!(shown(words), expected);
        }
    }
}
