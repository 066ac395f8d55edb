//! `innkeeper up`, `status`, `stop`, `restart`, `open`, `logs`, and what a
//! service does.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::harness::{Inn, Running, eventually};

fn status(inn: &Inn) -> Value {
    let out = inn.call(&["status", "--json"]).out;
    serde_json::from_str(&out).unwrap()
}

#[test]
fn a_host_in_the_background_is_started_seen_and_stopped() {
    let inn = Inn::new();
    inn.call(&["status"]).failed("innkeeper up");
    inn.call(&["stop"]).failed("no host is running");
    assert_eq!(status(&inn)["running"], false);
    let up = inn.call(&["up", "--port", "0"]).with(0).out;
    let web = up.lines().find(|line| line.starts_with("Web client:"));
    let link = web.unwrap().split_whitespace().last().unwrap().to_owned();
    assert!(link.contains("?tkn="), "{up}");
    let shown = status(&inn);
    assert_eq!(shown["running"], true);
    assert_eq!(shown["kind"], "background");
    assert!(!shown.to_string().contains("tkn"), "{shown}");
    let told = inn.call(&["status"]).with(0).out;
    assert!(told.contains("in the background"), "{told}");
    assert_eq!(inn.call(&["open"]).with(0).out.trim_end(), link);
    let again = inn.call(&["up"]).with(0).out;
    assert!(
        again.contains("already") && again.contains(&link),
        "{again}"
    );
    inn.call(&["stop"]).with(0);
    assert!(!inn.data("host.json").exists());
    assert_eq!(inn.call(&["status", "--json"]).code, Some(1));
}

#[test]
fn a_restarted_host_has_the_flags_of_the_first() {
    let inn = Inn::new();
    inn.call(&["up", "--port", "0", "--no-web", "--agents", "script"])
        .with(0);
    let before = status(&inn);
    inn.call(&["restart"]).with(0);
    let after = status(&inn);
    assert_ne!(before["pid"], after["pid"]);
    assert_eq!(before["arguments"], after["arguments"]);
}

#[test]
fn why_a_host_does_not_start_is_said_where_it_was_started() {
    let inn = Inn::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    inn.call(&["up", "--port", &port]).failed("--port");
    let config = inn.write("wrong.toml", "[server]\nprot = 1\n");
    inn.call(&["up", "--config", config.to_str().unwrap()])
        .failed("did you mean `port`");
}

#[test]
fn a_host_in_a_terminal_is_stopped_but_not_restarted() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    inn.call(&["restart"]).failed("is running in a terminal");
    inn.call(&["stop"]).with(0);
    host.stopped();
}

#[test]
fn the_log_is_kept_and_followed() {
    let inn = Inn::new();
    inn.call(&["logs"]).failed("no log");
    inn.call(&["up", "--port", "0"]).with(0);
    let log = inn.call(&["logs"]).with(0).out;
    assert!(log.contains("the host is ready"), "{log}");
    let data = inn.path("data");
    let args = ["logs", "-f", "--data-dir", data.to_str().unwrap()];
    let mut child = inn.command(&args).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    let _running = Running(child);
    let mut lines = out.lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("the host is ready")));
    inn.call(&["stop"]).with(0);
    assert!(lines.any(|line| line.contains("shutting down")));
}

/// Whether the host answers to a name.
fn answers_to(authority: &str, name: &str) -> bool {
    let mut stream = TcpStream::connect(authority).unwrap();
    let request = format!("GET /healthz HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.starts_with("HTTP/1.1 200")
}

#[test]
fn a_service_reads_its_configuration_again_on_a_hangup() {
    let inn = Inn::new();
    let config = inn.write("inn.toml", "");
    let host = inn.serve(&["--service", "--config", config.to_str().unwrap()]);
    let printed = host.lines.join("\n");
    assert!(
        !printed.contains("tkn="),
        "no token for the journal: {printed}"
    );
    let authority = host.authority();
    assert!(!answers_to(&authority, "inn.example"));
    fs::write(&config, "[server]\nallowed_hosts = ['inn.example']\n").unwrap();
    host.running.signal("HUP");
    eventually("the host knows its new name", || {
        answers_to(&authority, "inn.example").then_some(())
    });
    fs::write(&config, "[server]\nnonsense = 1\n").unwrap();
    host.running.signal("HUP");
    eventually("the mistake is logged", || {
        let log = inn.call(&["logs"]).out;
        log.contains("unknown key `nonsense`").then_some(())
    });
    assert!(
        answers_to(&authority, "inn.example"),
        "what was right stays"
    );
    host.stop();
}

#[test]
fn the_log_says_what_a_client_without_an_address_came_through() {
    let inn = Inn::new();
    let socket = inn.path("own.sock");
    let socket = socket.to_str().unwrap();
    inn.call(&["up", "--port", "0", "--socket", socket]).with(0);
    inn.call(&["run", "-a", "script", "hello"]).with(0);
    let mut client = UnixStream::connect(socket).unwrap();
    write!(
        client,
        "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    for peer in ["control socket", "unix socket"] {
        eventually(peer, || {
            let log = inn.call(&["logs"]).out;
            log.contains(&format!("peer=\"{peer}\"")).then_some(())
        });
    }
    drop(client);
    inn.call(&["stop"]).with(0);
}

#[test]
fn a_service_that_cannot_be_started_is_not_installed() {
    let inn = Inn::new();
    let programs = inn.path("programs");
    fs::create_dir(&programs).unwrap();
    for name in ["programs/systemctl", "programs/launchctl"] {
        let program = inn.write(name, "#!/bin/sh\necho no bus >&2\nexit 1\n");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let mut install = inn.command(&["service", "install", "--data-dir"]);
    let ended = install
        .arg(inn.path("data"))
        .env("PATH", &programs)
        .output();
    let ended = ended.unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(
        said.contains("no bus") && said.contains("use `innkeeper up`"),
        "{said}"
    );
    assert!(!inn.path("config/systemd/user/innkeeper.service").exists());
}

#[test]
fn a_unit_of_systemd_is_sound() {
    let inn = Inn::new();
    let unit = inn.call(&["service", "install", "--print"]).with(0).out;
    let file = inn.write("innkeeper.service", &unit);
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--user", "--man=no", "--recursive-errors=no"])
        .arg(&file)
        // Without one it looks at nothing.
        .env("XDG_RUNTIME_DIR", inn.path(""))
        .stdin(Stdio::null())
        .output();
    // Only where there is one.
    if let Ok(output) = verified {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{said}");
    }
}
