//! The chores of this repository, as `cargo xtask COMMAND`.
//!
//! One file a command; `tools` starts programs, `web` knows about the web
//! client. *Invariant*: what is skipped is said, with the reason.

mod agents;
mod bench;
mod ci;
mod fuzz;
mod package;
mod run;
mod soak;
mod test;
mod tidy;
mod tools;
mod web;

use std::process::ExitCode;

use anyhow::{Result, bail};

/// What `cargo xtask` can do: name, arguments, meaning.
const COMMANDS: [(&str, &str, &str); 13] = [
    (
        "run",
        "[--release] [-- FLAGS]",
        "build all and run `innkeeper serve FLAGS`",
    ),
    ("test", "", "run every test that can run here"),
    ("ci", "", "formatting, lints, tidy and the tests"),
    (
        "web",
        "[--build]",
        "type check and lint the web client, or build it",
    ),
    ("screenshots", "", "take the pictures in docs/images"),
    ("bench", "[ARGS]", "run the benchmarks in a release build"),
    (
        "agents",
        "[--directory DIR] [NAMES]",
        "try real agents (installs them with npm)",
    ),
    (
        "fuzz",
        "[TARGETS] [--minutes N]",
        "feed all that reads what others say with nonsense",
    ),
    (
        "soak",
        "[--release] [--minutes N] [--seed S]",
        "kill the host again and again, and hold it to what it told",
    ),
    (
        "takeover",
        "[--release] [--times N] [--seed S]",
        "kill or stop hosts on one PostgreSQL, of which another takes over",
    ),
    (
        "package",
        "[--no-verify]",
        "pack what would be published, and build it from that",
    ),
    ("tidy", "", "check what no other tool checks"),
    ("help", "", "show this"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        bail!("which command? `cargo xtask help` lists them");
    };
    match command.as_str() {
        "run" => run::run(rest),
        "test" => no_arguments(rest).and_then(|()| test::run()),
        "ci" => no_arguments(rest).and_then(|()| ci::run()),
        "web" => web::run(rest),
        "screenshots" => no_arguments(rest).and_then(|()| test::screenshots()),
        "bench" => bench::run(rest),
        "agents" => agents::run(rest),
        "fuzz" => fuzz::run(rest),
        "soak" => soak::run(rest),
        "takeover" => soak::takeover(rest),
        "package" => package::run(rest),
        "tidy" => no_arguments(rest).and_then(|()| tidy::run()),
        "help" | "--help" | "-h" => {
            print!("{}", help());
            Ok(())
        }
        other => bail!("unknown command `{other}`; `cargo xtask help` lists them"),
    }
}

fn no_arguments(rest: &[String]) -> Result<()> {
    match rest {
        [] => Ok(()),
        [first, ..] => bail!("this command takes no arguments, but got `{first}`"),
    }
}

fn help() -> String {
    let mut help = String::from("Chores of this repository:\n\n");
    for (name, arguments, meaning) in COMMANDS {
        let call = format!("cargo xtask {name} {arguments}");
        help.push_str(&format!("  {call:<46} {meaning}\n"));
    }
    help
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_command() {
        for (name, _, _) in COMMANDS {
            assert!(help().contains(&format!("cargo xtask {name}")));
        }
    }

    #[test]
    fn a_wrong_call_says_what_to_do() {
        let error = dispatch(&["dance".to_owned()]).unwrap_err().to_string();
        assert!(error.contains("cargo xtask help"), "{error}");
        let error = dispatch(&["tidy".to_owned(), "up".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("`up`"), "{error}");
    }
}
