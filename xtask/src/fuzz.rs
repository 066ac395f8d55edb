//! `cargo xtask fuzz`: everything that takes in what others say, fed with what
//! nobody would say.
//!
//! The targets are built as `cargo fuzz` builds them, by cargo itself: counters
//! in the code, and libFuzzer, which the crate `libfuzzer-sys` brings along as
//! C++. Neither `cargo fuzz` nor a nightly toolchain is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::tools;

const TARGETS: [&str; 11] = [
    "engine",
    "acp",
    "pi",
    "mcp",
    "terminal",
    "git",
    "customizations",
    "stored",
    "up",
    "down",
    "there_and_back",
];

/// The target that needs the published types of every version.
const JUDGED: &str = "there_and_back";

/// Counters for libFuzzer, and arithmetic that does not overflow unnoticed.
const FLAGS: [&str; 10] = [
    "--cfg",
    "fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
    "-Cdebug-assertions",
    "-Coverflow-checks",
];

/// Inputs are short: what is found in a short one is understood sooner.
const BYTES: u32 = 4096;

struct Plan {
    targets: Vec<&'static str>,
    minutes: u64,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let plan = Plan::read(arguments)?;
    if let Some(reason) = without_compiler() {
        bail!("{reason}");
    }
    let place = tools::target_directory().join("fuzz");
    let triple = triple()?;
    let mut verdicts = Vec::new();
    for target in &plan.targets {
        build(target, &place, &triple)?;
        let outcome = fuzz(target, &place, &triple, plan.minutes);
        verdicts.push((target, outcome));
    }
    println!("\n| target | minutes | verdict |\n| --- | --- | --- |");
    for (target, outcome) in &verdicts {
        let verdict = match outcome {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("FAILED: {error:#}"),
        };
        println!("| {target} | {} | {verdict} |", plan.minutes);
    }
    match verdicts
        .iter()
        .filter(|(_, outcome)| outcome.is_err())
        .count()
    {
        0 => Ok(()),
        failed => bail!("{failed} targets failed; the inputs are named above"),
    }
}

/// Whether the targets compile. They are a build of their own, which no other
/// command looks at.
pub(crate) fn check() -> Result<Option<String>> {
    if let Some(reason) = without_compiler() {
        return Ok(Some(reason));
    }
    let mut check = tools::cargo();
    check.args(["check", "--bins", "--manifest-path", "fuzz/Cargo.toml"]);
    check.args(["--features", "judges"]);
    check.arg("--target-dir").arg(tools::target_directory());
    tools::run(&mut check)?;
    Ok(None)
}

fn without_compiler() -> Option<String> {
    let works = tools::works(Command::new("c++").arg("--version"));
    let reason = "fuzzing needs a C++ compiler for libFuzzer; install g++ or clang";
    (!works).then(|| reason.to_owned())
}

fn build(target: &str, place: &Path, triple: &str) -> Result<()> {
    let mut build = tools::cargo();
    build.args(["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    // With a target named, macros and build scripts get no counters.
    build.args(["--target", triple, "--bin", target]);
    if target == JUDGED {
        build.args(["--features", "judges"]);
    }
    build.arg("--target-dir").arg(place);
    build.env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\x1f"));
    tools::run(&mut build)
}

fn fuzz(target: &str, place: &Path, triple: &str, minutes: u64) -> Result<()> {
    // What a run learns is of use to the next.
    let corpus = place.join("corpus").join(target);
    let failures = place.join("failures").join(target);
    for directory in [&corpus, &failures] {
        fs::create_dir_all(directory)?;
    }
    let program = place.join(triple).join("release").join(target);
    let mut run = tools::program_at_root(&program);
    run.arg(&corpus);
    let examples = tools::root().join("fuzz/examples").join(target);
    if examples.exists() {
        run.arg(&examples);
    }
    run.arg(format!("-max_total_time={}", minutes * 60));
    run.arg(format!("-max_len={BYTES}"));
    run.arg(format!("-artifact_prefix={}/", failures.display()));
    run.args([
        "-dict=fuzz/words.dict",
        "-timeout=25",
        "-print_final_stats=1",
    ]);
    run.arg("-verbosity=0");
    tools::run(&mut run).with_context(|| match latest(&failures) {
        Some(input) => format!("repeat with `{} {}`", program.display(), input.display()),
        None => "no input was kept".to_owned(),
    })
}

fn latest(directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let latest = entries.max_by_key(|entry| entry.metadata().and_then(|it| it.modified()).ok());
    latest.map(|entry| entry.path())
}

fn triple() -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = tools::output_or_reason(Command::new(rustc).arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host
        .context("rustc does not say what it builds for")?
        .to_owned())
}

impl Plan {
    fn read(arguments: &[String]) -> Result<Self> {
        let mut plan = Self {
            targets: Vec::new(),
            minutes: 3,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match TARGETS.into_iter().find(|target| target == argument) {
                Some(target) => plan.targets.push(target),
                None if argument == "--minutes" => {
                    let minutes = arguments.next().context("--minutes needs a number")?;
                    plan.minutes = minutes
                        .parse()
                        .with_context(|| format!("--minutes: `{minutes}` is not a number"))?;
                }
                None => bail!(
                    "`{argument}` is not a target; there are {}",
                    TARGETS.join(", ")
                ),
            }
        }
        // To libFuzzer, no time means for ever.
        if plan.minutes == 0 {
            bail!("--minutes must be at least 1");
        }
        if plan.targets.is_empty() {
            plan.targets.extend(TARGETS);
        }
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_that_is_built_can_be_run() {
        let manifest = fs::read_to_string(tools::root().join("fuzz/Cargo.toml")).unwrap();
        let binaries = manifest.split("[[bin]]").skip(1);
        let names = binaries.filter_map(|it| it.split('"').nth(1));
        let mut names: Vec<&str> = names.collect();
        let mut targets = TARGETS.to_vec();
        names.sort_unstable();
        targets.sort_unstable();
        assert_eq!(names, targets);
    }

    #[test]
    fn an_unknown_target_is_answered_with_those_there_are() {
        let error = Plan::read(&["dance".to_owned()]).err().unwrap().to_string();
        assert!(error.contains("engine"), "{error}");
    }
}
