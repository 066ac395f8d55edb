//! Finding files by a few letters in a tree of 100,000: the first time, which
//! walks it, and with the next letter; beside `find` on the same tree.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use innkeeper_workspace::{FileFinder, uri_of_path};

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
    let ratio = |time: Duration| time.as_secs_f64() / floor.as_secs_f64();
    println!(
        "files: {} files, `find` takes {floor:.1?}",
        DIRECTORIES * FILES_IN_EACH
    );
    println!(
        "  first completion  {first:.1?}, {:.2} of `find`",
        ratio(first)
    );
    println!(
        "  the next letter   {next:.1?}, {:.2} of `find`",
        ratio(next)
    );
    Ok(())
}

fn plant(root: &Path) -> Result<()> {
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
