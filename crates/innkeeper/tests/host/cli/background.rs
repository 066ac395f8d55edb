//! The host that `run` starts if there is none: for any number of commands,
//! over a socket that only the user can open, and only while it is needed.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::harness::{Inn, Running, eventually, mode};

const WAITS: &str = r#"{"steps":[{"say":"first\n","chunks":1},{"sleep":600000}]}"#;

fn start_run(inn: &Inn, data: &Path, prompt: &str) -> Child {
    let args = ["run", "-a", "script", prompt, "--data-dir"];
    let mut command = inn.command(&args);
    command.arg(data).spawn().unwrap()
}

fn host_file(data: &Path) -> Option<Value> {
    let text = fs::read_to_string(data.join("host.json")).ok()?;
    serde_json::from_str(&text).ok()
}

fn pid(data: &Path) -> i64 {
    host_file(data).unwrap()["pid"].as_i64().unwrap()
}

fn kill(pid: i64) {
    let killed = std::process::Command::new("kill")
        .args(["-s", "KILL", &pid.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

/// A private directory with a path that no socket can have.
fn deep(inn: &Inn) -> PathBuf {
    let deep = inn.path("data").join("d".repeat(150));
    fs::create_dir_all(&deep).unwrap();
    for directory in [inn.path("data"), deep.clone()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o700)).unwrap();
    }
    deep
}

#[test]
fn any_number_of_runs_work_at_once() {
    let inn = Inn::new();
    let data = inn.path("data");
    let children: Vec<Child> = (0..6)
        .map(|number| start_run(&inn, &data, &format!("guest {number}")))
        .collect();
    for (number, child) in children.into_iter().enumerate() {
        let output = child.wait_with_output().unwrap();
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert_eq!(output.status.code(), Some(0), "{out}{err}");
        assert!(out.contains(&format!("> guest {number}\n")), "{out}");
    }
    let listed = inn.call(&["sessions", "--json"]).with(0).out;
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 6);
}

#[test]
fn killing_one_of_them_harms_no_other() {
    let inn = Inn::new();
    let data = inn.path("data");
    let mut first = start_run(&inn, &data, WAITS);
    let mut out = BufReader::new(first.stdout.take().unwrap());
    let mut first = Running(first);
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "first\n");
    let host = pid(&data);
    first.signal("KILL");
    first.wait();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    assert_eq!(pid(&data), host, "the host is the same");
}

#[test]
fn each_data_directory_has_a_host_of_its_own() {
    let inn = Inn::new();
    let other = inn.path("other");
    let runs = [
        start_run(&inn, &inn.path("data"), "here"),
        start_run(&inn, &other, "there"),
    ];
    for run in runs {
        assert_eq!(run.wait_with_output().unwrap().status.code(), Some(0));
    }
    assert_ne!(pid(&inn.path("data")), pid(&other));
    inn.bare_call(&["stop", "--data-dir", other.to_str().unwrap()])
        .with(0);
}

#[test]
fn a_host_that_nobody_uses_ends() {
    let inn = Inn::new();
    let config = inn.write("c.toml", "[server]\nlinger_seconds = 0\n");
    let args = ["run", "-a", "script", "hello", "--config"];
    inn.call(&[&args[..], &[config.to_str().unwrap()]].concat())
        .with(0);
    eventually("the host ends", || {
        let left = ["host.json", "host.sock"].map(|name| inn.data(name).exists());
        (left == [false; 2]).then_some(())
    });
    assert!(!inn.data("token").exists(), "it listens on no port");
}

#[test]
fn whoever_needs_the_directory_does_not_wait_for_a_host_without_work() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    inn.call(&["gc"]).with(0);
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    inn.serve(&[]).stop();
}

#[test]
fn a_host_at_work_is_not_sent_away() {
    let inn = Inn::new();
    let data = inn.path("data");
    let mut run = start_run(&inn, &data, WAITS);
    let mut out = BufReader::new(run.stdout.take().unwrap());
    let mut run = Running(run);
    out.read_line(&mut String::new()).unwrap();
    inn.call(&["serve", "--port", "0", "--log", "off"])
        .failed("in use");
    inn.call(&["up", "--port", "0"]).failed("try again");
    run.signal("INT");
    assert_eq!(run.wait().code(), Some(130));
}

#[test]
fn what_a_killed_host_left_is_no_obstacle() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    kill(pid(&inn.path("data")));
    assert!(inn.data("host.sock").exists());
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    assert_eq!(mode(&inn.data("host.sock")), 0o600);
}

#[test]
fn a_file_about_the_host_that_was_spoilt_is_no_obstacle() {
    let inn = Inn::new();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let host = pid(&inn.path("data"));
    fs::write(inn.data("host.json"), "nonsense").unwrap();
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let shown = inn.call(&["status", "--json"]).with(0).out;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["pid"], host);
}

#[test]
fn a_file_about_the_host_that_was_removed_or_names_another_process_is_no_obstacle() {
    let inn = Inn::new();
    inn.call(&["up", "--port", "0"]).with(0);
    let host = pid(&inn.path("data"));
    for left in [None, Some(r#"{"pid":1,"socket":"/nowhere/host.sock"}"#)] {
        match left {
            Some(text) => fs::write(inn.data("host.json"), text).unwrap(),
            None => fs::remove_file(inn.data("host.json")).unwrap(),
        }
        inn.call(&["run", "-a", "script", "hello"]).with(0);
        let shown = inn.call(&["status", "--json"]).with(0).out;
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["pid"], host);
    }
}

#[test]
fn a_process_that_has_the_directory_for_long_and_accepts_no_commands_is_named_at_once() {
    let inn = Inn::new();
    inn.serve(&[]).stop();
    let mut lock = File::create(inn.data("innkeeper.lock")).unwrap();
    lock.lock().unwrap();
    write!(lock, "{}", std::process::id()).unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    lock.set_modified(long_ago).unwrap();
    let named = format!("process {} uses the data directory", std::process::id());
    inn.call(&["run", "-a", "script", "hello"]).failed(&named);
}

#[test]
fn a_host_on_standard_input_is_named_at_once() {
    let inn = Inn::new();
    let data = inn.path("data");
    let flags = ["serve", "--stdio", "--log", "off", "--data-dir"];
    let mut host = inn.command(&flags);
    let mut host = host.arg(&data).stdin(Stdio::piped()).spawn().unwrap();
    eventually("the host to start", || {
        inn.data("host.json").exists().then_some(())
    });
    inn.call(&["run", "-a", "script", "hello"])
        .failed("serves only the client that started it");
    drop(host.stdin.take());
    assert!(host.wait().unwrap().success());
    inn.call(&["run", "-a", "script", "hello"]).with(0);
}

#[test]
fn what_else_is_at_the_path_of_the_socket_stays_and_is_named() {
    let inn = Inn::new();
    inn.serve(&[]).stop();
    fs::write(inn.data("host.sock"), "precious").unwrap();
    inn.call(&["run", "-a", "script", "hello"])
        .failed("a file that is not a socket is there");
    assert_eq!(
        fs::read_to_string(inn.data("host.sock")).unwrap(),
        "precious"
    );
}

#[test]
fn a_path_that_is_too_long_for_a_socket_does_not_matter() {
    for runtime in [true, false] {
        let inn = Inn::new();
        let data = deep(&inn);
        let directory = inn.path("run");
        fs::create_dir(&directory).unwrap();
        let mut run = inn.command(&["run", "-a", "script", "hello", "--data-dir"]);
        run.arg(&data).env_remove("XDG_RUNTIME_DIR");
        if runtime {
            run.env("XDG_RUNTIME_DIR", &directory);
        }
        let output = run.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let socket = host_file(&data).unwrap()["socket"].clone();
        let socket = PathBuf::from(socket.as_str().unwrap());
        assert_eq!(socket.starts_with(&directory), runtime, "{socket:?}");
        assert_eq!(mode(&socket), 0o600);
        assert_eq!(mode(socket.parent().unwrap()), 0o700);
        let stop = ["stop", "--data-dir", data.to_str().unwrap()];
        inn.bare_call(&stop).with(0);
        assert!(!socket.parent().unwrap().exists());
    }
}

#[test]
fn the_socket_is_private_whatever_the_umask() {
    let inn = Inn::new();
    let data = inn.path("data");
    let args = ["run", "-a", "script", "hello", "--data-dir"];
    let mut shell = inn.command_after(
        "umask 000",
        &[&args[..], &[data.to_str().unwrap()]].concat(),
    );
    assert!(shell.stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(mode(&inn.data("host.sock")), 0o600);
    assert_eq!(mode(&inn.data("host.json")), 0o600);
    assert_eq!(mode(&data), 0o700);
}

#[test]
fn commands_reach_a_host_whose_certificate_they_cannot_check() {
    let inn = Inn::new();
    let certified = rcgen::generate_simple_self_signed(["inn.example".to_owned()]).unwrap();
    let cert = inn.write("cert.pem", &certified.cert.pem());
    let key = inn.write("key.pem", &certified.signing_key.serialize_pem());
    let flags = [
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let host = inn.serve(&flags);
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let listed = inn.call(&["sessions"]).with(0).out;
    let id = listed.lines().nth(1).unwrap().split(' ').next().unwrap();
    inn.call(&["sessions", "delete", id]).with(0);
    let announced = fs::read_to_string(inn.data("host.json")).unwrap();
    assert!(!announced.contains(&host.token()), "{announced}");
    host.stop();
}
