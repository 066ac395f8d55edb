//! A tree of 100,000 files, compared with `find` on the same tree: finding files in it
//! by a few letters, the first time, which walks it, and with the next letter;
//! and watching all of it, until the watch is there and until a change is told.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use innkeeper_protocol::workspace::resource::{GrantedRoot, Scope};
use innkeeper_protocol::workspace::watch::{
    OpenWatch, WatchCommand, WatchEvent, WatchId, WatchReport,
};
use innkeeper_workspace::{FileFinder, Hub, WatchService, uri_of_path};

const DIRECTORIES: usize = 1_000;
const FILES_IN_EACH: usize = 100;
const ROUNDS: usize = 20;

pub(crate) fn run() -> Result<()> {
    let tree = tempfile::tempdir()?;
    plant(tree.path())?;
    let floor = median(|| {
        let mut find = Command::new("find");
        find.arg(tree.path()).stdout(Stdio::null());
        ensure!(find.status()?.success(), "`find` failed");
        Ok(())
    })?;
    let roots = [uri_of_path(tree.path()).context("a path")?];
    let look = |finder: &FileFinder| {
        let found = finder.find(&roots, "d77/f7", 50);
        ensure!(!found.is_empty(), "nothing was found");
        Ok(())
    };
    let first = median(|| look(&FileFinder::default()))?;
    let finder = FileFinder::default();
    look(&finder)?;
    let next = median(|| look(&finder))?;
    let (opened, told) = watch(tree.path())?;
    println!(
        "\nA tree of {} files (median of {ROUNDS})\n",
        DIRECTORIES * FILES_IN_EACH
    );
    println!("| what | ms | compared with `find` |\n| --- | ---: | ---: |");
    for (what, time) in [
        ("`find`", floor),
        ("the first completion of a path", first),
        ("with the next letter", next),
        ("until a watch of all of it is there", opened),
        ("from a change to its report", told),
    ] {
        let (time, floor) = (time.as_secs_f64(), floor.as_secs_f64());
        println!("| {what} | {:.1} | {:.2} |", time * 1e3, time / floor);
    }
    Ok(())
}

/// How long it takes until the tree is watched, and until a change is told.
fn watch(tree: &Path) -> Result<(Duration, Duration)> {
    let (sender, reports) = channel();
    let sender = Mutex::new(sender);
    let sink = move |report: WatchReport| {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.send(report.event).is_ok()
    };
    let watches = WatchService::new(Hub::default(), Arc::new(sink));
    let uri = uri_of_path(tree).context("a path")?;
    let open = OpenWatch {
        uri: uri.clone(),
        recursive: true,
        includes: Vec::new(),
        excludes: Vec::new(),
        scope: Scope::new(
            vec![GrantedRoot {
                uri,
                writable: false,
            }],
            0,
        ),
    };
    let watch = WatchId(1);
    let opened = median(|| {
        watches.command(WatchCommand::Close { watch });
        let open = Box::new(open.clone());
        watches.command(WatchCommand::Open { watch, open });
        match reports.recv()? {
            WatchEvent::Opened => Ok(()),
            other => bail!("instead of a watch: {other:?}"),
        }
    })?;
    let told = median(|| {
        fs::write(tree.join("d500/f50.rs"), "changed")?;
        match reports.recv()? {
            WatchEvent::Changed(_) => Ok(()),
            other => bail!("instead of a change: {other:?}"),
        }
    })?;
    Ok((opened, told))
}

pub(crate) fn plant(root: &Path) -> Result<()> {
    for directory in 0..DIRECTORIES {
        let directory = root.join(format!("d{directory}"));
        fs::create_dir(&directory)?;
        for file in 0..FILES_IN_EACH {
            fs::write(directory.join(format!("f{file}.rs")), "")?;
        }
    }
    Ok(())
}

fn median(mut once: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let began = Instant::now();
        once()?;
        times.push(began.elapsed());
    }
    times.sort();
    Ok(times[ROUNDS / 2])
}
