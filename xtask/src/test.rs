//! `cargo xtask test`: every test that can run here, and a summary that says
//! what ran, what failed and what could not run.
//!
//! All suites run even if one fails: the summary is about the whole tree.

use std::fmt;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{fuzz, tools, web};

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

pub(crate) fn run() -> Result<()> {
    // The host that the tests build has the web client in it.
    if let Some(reason) = web::build_if_stale()? {
        println!("web client not built: {reason}");
    }
    let without_database = without_database();
    let suites = [
        ("Rust doc tests", of(tools::run(&mut doc_tests()))),
        ("Rust tests", of(tools::run(&mut rust_tests()))),
        ("web unit tests", of_possible(unit_tests())),
        ("web browser tests", of_possible(browser_tests())),
        ("fuzz targets compile", of_possible(fuzz::check())),
    ];
    println!("\nSummary:");
    for (name, outcome) in &suites {
        println!("  {name}: {outcome}");
    }
    if let Some(reason) = without_database {
        println!("  of the Rust tests, those with PostgreSQL: skipped: {reason}");
    }
    let failed = |(_, outcome): &&(&str, Outcome)| matches!(outcome, Outcome::Failed(_));
    match suites.iter().filter(failed).count() {
        0 => Ok(()),
        1 => bail!("one suite failed"),
        count => bail!("{count} suites failed"),
    }
}

/// Why tests that need PostgreSQL are skipped, if it is not there and cannot be
/// installed either. They look for it where Debian has it.
fn without_database() -> Option<String> {
    let is_there = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter();
        let mut versions = versions.flatten().flatten();
        versions.any(|version| version.path().join("bin/initdb").exists())
    };
    if is_there() || tools::install("postgresql") && is_there() {
        return None;
    }
    Some("PostgreSQL was not found in /usr/lib/postgresql; install its server".to_owned())
}

/// They compare their reducers with the protocol's own, in an example program.
fn unit_tests() -> Result<Option<String>> {
    tools::run(&mut what_tests_build())?;
    web::npm_run("test")
}

/// The host and everything else that the Rust tests have built already. Asked
/// for by itself, a package would be compiled once more: with it alone, many
/// of its dependencies have other features.
fn what_tests_build() -> Command {
    let mut cargo = tools::cargo();
    cargo.args(["test", "--workspace", "--no-run"]);
    cargo
}

/// Runs a script that needs the host and a browser.
fn in_browser(script: &str, mut build: Command) -> Result<Option<String>> {
    if let Some(reason) = web::build_if_stale()?.or_else(web::without_browser) {
        return Ok(Some(reason));
    }
    tools::run(&mut build)?;
    web::npm_run(script)
}

fn browser_tests() -> Result<Option<String>> {
    in_browser("test:browser", what_tests_build())
}

pub(crate) fn screenshots() -> Result<()> {
    let mut build = tools::cargo();
    build.args(["build", "--package", "innkeeper"]);
    match in_browser("screenshots", build)? {
        Some(reason) => bail!("no screenshots: {reason}"),
        None => Ok(()),
    }
}

fn rust_tests() -> Command {
    let mut cargo = tools::cargo();
    if tools::works(tools::cargo().args(["nextest", "--version"])) {
        // A package may well have no tests yet.
        cargo.args(["nextest", "run", "--workspace", "--no-tests", "pass"]);
        // One run shows all that is wrong.
        cargo.arg("--no-fail-fast");
    } else {
        println!("cargo-nextest is not installed; using cargo test");
        cargo.args(["test", "--workspace", "--all-targets"]);
    }
    cargo
}

fn doc_tests() -> Command {
    let mut cargo = tools::cargo();
    cargo.args(["test", "--workspace", "--doc"]);
    cargo
}

fn of(result: Result<()>) -> Outcome {
    match result {
        Ok(()) => Outcome::Passed,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

fn of_possible(result: Result<Option<String>>) -> Outcome {
    match result {
        Ok(None) => Outcome::Passed,
        Ok(Some(reason)) => Outcome::Skipped(reason),
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Failed(error) => write!(f, "FAILED: {error}"),
            Self::Skipped(reason) => write!(f, "skipped: {reason}"),
        }
    }
}
