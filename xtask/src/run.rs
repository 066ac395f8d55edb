//! `cargo xtask run`: the web client, then the host.

use anyhow::{Result, bail};

use crate::{tools, web};

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (release, flags) = split(arguments)?;
    if let Some(reason) = web::build_if_stale()? {
        println!("web client not built: {reason}");
    }
    let mut cargo = tools::cargo();
    cargo.args(["run", "--package", "innkeeper", "--bin", "innkeeper"]);
    if release {
        cargo.arg("--release");
    }
    tools::run(cargo.args(["--", "serve"]).args(flags))
}

/// Our own arguments stand before `--`, those of `serve` after it.
fn split(arguments: &[String]) -> Result<(bool, &[String])> {
    let end = arguments.iter().position(|argument| argument == "--");
    let (ours, flags) = match end {
        Some(at) => (&arguments[..at], &arguments[at + 1..]),
        None => (arguments, &[][..]),
    };
    match ours {
        [] => Ok((false, flags)),
        [flag] if flag == "--release" => Ok((true, flags)),
        [other, ..] => bail!("unknown argument `{other}`; flags of `serve` stand after `--`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn flags_of_serve_stand_after_two_dashes() {
        let call = words("--release -- --port 0 -- x");
        let (release, flags) = split(&call).unwrap();
        assert!(release);
        assert_eq!(flags, words("--port 0 -- x"));
        assert!(!split(&[]).unwrap().0);
        assert!(split(&words("--port 0")).is_err());
    }
}
