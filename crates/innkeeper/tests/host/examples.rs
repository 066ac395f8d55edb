//! The clients of docs/writing-a-client.md run a turn against the real host.
//! Where their languages are not installed, the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::binary::Binary;

const SCENARIO: &str = r#"{"steps": [{"say": "Forty-two."}]}"#;

fn example(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"));
    crates.join("../../docs/examples").join(name)
}

/// What the language says about its version, if it is there.
fn version_of(language: &str) -> Option<String> {
    let output = Command::new(language).arg("--version").output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| said.trim().to_owned())
}

fn says_the_answer(client: &mut Command) {
    let output = client.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "Forty-two.");
}

fn fails_with(client: &mut Command, reason: &str) {
    let output = client.output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && complaint.contains(reason),
        "{complaint}"
    );
}

#[test]
fn the_page_shows_the_clients_as_they_are() {
    let page = std::fs::read_to_string(example("../writing-a-client.md")).unwrap();
    for (name, language) in [("client.py", "python"), ("client.ts", "typescript")] {
        let text = std::fs::read_to_string(example(name)).unwrap();
        assert!(
            page.contains(&format!("```{language}\n{text}```\n")),
            "{name}"
        );
    }
}

#[test]
fn the_client_in_python_runs_a_turn() {
    if version_of("python3").is_none() {
        eprintln!("skipped: there is no python3");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_innkeeper"));
    let here = std::env::var_os("PATH").unwrap_or_default();
    let path = program.parent().unwrap().to_owned();
    let path = std::env::join_paths(std::iter::once(path).chain(std::env::split_paths(&here)));
    let path = path.unwrap();
    let client = |provider: &str| {
        let mut client = Command::new("python3");
        client.arg(example("client.py")).args([provider, SCENARIO]);
        client
            .env("PATH", &path)
            .env("INNKEEPER_DATA_DIR", home.path());
        client
    };
    says_the_answer(&mut client("script"));
    fails_with(&mut client("nobody"), "nobody");
}

/// What an older Node needs: the program without its types, which the tools of
/// the web client take out.
const WITHOUT_TYPES: &str = "
    import { readFileSync, writeFileSync } from 'node:fs';
    import { transformWithOxc } from 'vite';
    const [from, to] = process.argv.slice(1);
    const { code } = await transformWithOxc(readFileSync(from, 'utf8'), from);
    writeFileSync(to, code);
";

/// The client in TypeScript, as the Node that is here runs it.
fn client_in_typescript(directory: &Path) -> Result<Command, String> {
    let version = version_of("node").unwrap_or_default();
    let mut numbers = version.trim_start_matches('v').split('.');
    let mut number = || numbers.next().and_then(|number| number.parse::<u32>().ok());
    let number = (number(), number());
    let mut client = Command::new("node");
    if number >= (Some(22), Some(18)) {
        client.arg(example("client.ts"));
        return Ok(client);
    }
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if number < (Some(20), Some(10)) || !web.join("node_modules/vite").exists() {
        return Err(format!(
            "Node 22.18 is needed, or the tools of the web client; there is {version:?}"
        ));
    }
    let plain = directory.join("client.mjs");
    let mut tool = Command::new("node");
    tool.args(["--input-type=module", "--eval", WITHOUT_TYPES]);
    tool.arg(example("client.ts")).arg(&plain).current_dir(web);
    let output = tool.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    client.arg("--experimental-websocket").arg(plain);
    Ok(client)
}

#[test]
fn the_client_in_typescript_runs_a_turn() {
    let home = tempfile::tempdir().unwrap();
    let host = Binary::start(&home.path().join("data"), &[]);
    let run = |provider: &str, check: &dyn Fn(&mut Command)| match client_in_typescript(home.path())
    {
        Ok(mut client) => check(client.args([&host.url, provider, SCENARIO])),
        Err(reason) => eprintln!("skipped: {reason}"),
    };
    run("script", &says_the_answer);
    run("nobody", &|client| fails_with(client, "nobody"));
}
