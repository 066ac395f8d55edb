//! The end of a world: the host comes to rest, is ended in order, and leaves
//! nothing behind that it should not.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::host::{Host, Usage, comes_true, processes_in};
use crate::relay::Relay;
use crate::speaker::Speaker;
use crate::table::Promise;
use crate::world::World;

/// How much more than an idle host a host may use that has been busy.
const MORE_MIB: u64 = 64;
const MORE_THREADS: u64 = 8;
const MORE_FILES: u64 = 8;

/// What the data directory may hold after an orderly end.
const DATA: [&str; 13] = [
    "innkeeper.db",
    "innkeeper.last",
    "innkeeper.db-wal",
    "innkeeper.db-shm",
    "innkeeper.lock",
    "token",
    "agents",
    "changes",
    "worktrees",
    "backups",
    "set-aside",
    "shell",
    "logs",
];

pub(crate) async fn check(world: &World, speakers: &mut [Speaker]) -> Result<()> {
    let shared = &world.shared;
    let Some(mut host) = world.start().await else {
        return Ok(());
    };
    let judged = world.judge(&host).await;
    shared.hold(Promise::Alive, judged.is_ok(), || format!("{judged:?}"));
    // Some of what it uses it takes when somebody comes first.
    let idle = Usage::of(host.id()).context("what the host uses")?;
    world.busy(&host, speakers).await?;
    comes_to_rest(world, &host, idle).await;
    host.tell_to_end()?;
    let ended = host.has_ended().await;
    shared.hold(Promise::Alive, ended.is_ok(), || format!("{ended:?}"));
    if let Some(relay) = &world.relay {
        let mut relay = relay.replace(Relay::idle());
        let together = relay.finish().await?;
        shared.hold(Promise::Alone, together.is_empty(), || {
            format!(
                "{} times: {}",
                together.len(),
                together.first().map_or("", String::as_str)
            )
        });
    }
    world.nothing_stays().await;
    leaves_nothing(world)
}

/// One of the things that a process uses.
type Measure = fn(&Usage) -> u64;

async fn comes_to_rest(world: &World, host: &Host, idle: Usage) {
    let measures: [(Promise, u64, Measure); 3] = [
        (Promise::Memory, idle.resident_mib + MORE_MIB, |it| {
            it.resident_mib
        }),
        (Promise::Threads, idle.threads + MORE_THREADS, |it| {
            it.threads
        }),
        (Promise::OpenFiles, idle.open_files + MORE_FILES, |it| {
            it.open_files
        }),
    ];
    for (promise, bound, of) in measures {
        let mut last = 0;
        comes_true(|| match Usage::of(host.id()) {
            Some(usage) => {
                last = of(&usage);
                last <= bound
            }
            None => true,
        })
        .await;
        world
            .shared
            .report
            .borrow_mut()
            .measure(promise, last, bound);
    }
}

fn leaves_nothing(world: &World) -> Result<()> {
    let setup = &world.setup;
    let names = |place: &Path| -> Vec<String> {
        let entries = fs::read_dir(place).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    let temporary = names(&setup.temporary());
    world
        .shared
        .hold(Promise::TemporaryFiles, temporary.is_empty(), || {
            format!("left: {}", temporary.join(", "))
        });
    let mut data = names(&setup.data());
    data.retain(|name| !DATA.contains(&name.as_str()));
    world
        .shared
        .hold(Promise::TemporaryFiles, data.is_empty(), || {
            format!("left in the data directory: {}", data.join(", "))
        });
    let processes = processes_in(&setup.place);
    world
        .shared
        .hold(Promise::Processes, processes.is_empty(), || {
            processes.join("; ")
        });
    let log = fs::read_to_string(setup.log()).unwrap_or_default();
    let panicked = log.lines().find(|line| line.contains("panicked"));
    world.shared.hold(Promise::Alive, panicked.is_none(), || {
        format!("{panicked:?}")
    });
    let damage = repository_damage(world);
    world.shared.hold(Promise::Repository, damage.is_ok(), || {
        format!("{damage:?}")
    });
    Ok(())
}

/// The user's part of the repository is as it was made.
fn repository_damage(world: &World) -> Result<()> {
    let at = world.setup.repository();
    git(&at, &["fsck", "--strict", "--no-dangling"])?;
    let refs = git(&at, &["for-each-ref", "--format=%(refname)"])?;
    let stages = world.stages();
    for name in refs.lines().filter(|name| *name != "refs/heads/main") {
        let known = stages
            .iter()
            .filter_map(|stage| stage.session.rsplit('/').next())
            .any(|session| name.contains(session));
        if !name.starts_with("refs/innkeeper/") || !known {
            bail!("a ref that nobody asked for: {name}");
        }
    }
    if git(&at, &["log", "--format=%s"])?.trim() != "First" {
        bail!("the history of the repository changed");
    }
    match at.join(".git/index.lock").exists() {
        true => bail!("the index is still locked"),
        false => Ok(()),
    }
}

pub(crate) fn make_repository(at: &Path) -> Result<()> {
    git(at, &["init", "--quiet", "--initial-branch=main"])?;
    for file in 0..7 {
        fs::write(at.join(format!("file-{file}")), "committed\n")?;
    }
    git(at, &["add", "--all"])?;
    git(at, &["commit", "--quiet", "--message", "First"])?;
    Ok(())
}

fn git(at: &Path, arguments: &[&str]) -> Result<String> {
    let settings = [
        "user.name=Somebody",
        "user.email=somebody@example.org",
        "commit.gpgSign=false",
    ];
    let mut command = Command::new("git");
    command
        .current_dir(at)
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    for setting in settings {
        command.args(["-c", setting]);
    }
    let output = command
        .args(arguments)
        .output()
        .context("git cannot be started")?;
    if !output.status.success() {
        bail!(
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
