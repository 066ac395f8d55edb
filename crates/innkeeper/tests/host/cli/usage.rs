//! Calls in general: wrong ones, the configuration file, and `doctor`.

use std::fs;

use super::harness::Inn;

#[test]
fn wrong_usage_has_its_own_exit_code() {
    let inn = Inn::new();
    for args in [
        &["--nonsense"][..],
        &["dance"],
        &["run"],
        &["serve", "--port", "70000"],
        &["serve", "--host", "inn.example"],
        &["serve", "--tls-cert", "x"],
        &["serve", "--log", "loud"],
        &["serve", "--connection-token", "a b"],
        &["serve", "--stdio", "--port", "1"],
        &["--connection-token", "a", "--without-connection-token"],
        &["sessions", "show"],
        &["sessions", "export", "x", "--format", "pdf"],
    ] {
        let ended = inn.bare_call(args).with(2);
        assert!(!ended.err.is_empty() && ended.out.is_empty(), "{args:?}");
    }
    assert!(!inn.path("share").exists(), "nothing was started");
}

#[test]
fn version_help_agents_and_completions_are_printed() {
    let inn = Inn::new();
    let version = concat!("innkeeper ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(inn.bare_call(&["--version"]).with(0).out, version);
    let help = inn.bare_call(&["--help"]).with(0).out;
    assert!(help.contains("sessions") && help.contains("Examples:"));
    assert!(!help.contains("--port"), "the flags of serve: {help}");
    assert!(help.contains("--version"), "{help}");
    let help = inn.bare_call(&["serve", "--help"]).with(0).out;
    assert!(help.contains("--port"), "{help}");
    let agents = inn.bare_call(&["agents"]).with(0).out;
    assert!(agents.contains("script-small") && agents.contains("built in"));
    // The script asks the program what there is to complete.
    let script = inn.bare_call(&["completions", "bash"]).with(0).out;
    assert!(script.contains("COMPLETE="));
}

#[test]
fn every_command_has_a_manual_page() {
    let inn = Inn::new();
    let pages = inn.path("man1");
    inn.bare_call(&["man", pages.to_str().unwrap()]).with(0);
    for page in [
        "innkeeper.1",
        "innkeeper-run.1",
        "innkeeper-sessions-list.1",
    ] {
        let text = fs::read_to_string(pages.join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    assert!(!pages.join("innkeeper-bridge.1").exists());
    let file = inn.write("file", "");
    inn.bare_call(&["man", file.to_str().unwrap()])
        .failed("name another directory");
}

#[test]
fn what_packages_install_as_a_service_names_no_user() {
    let inn = Inn::new();
    let call = [
        "service",
        "install",
        "--print",
        "--program",
        "/usr/bin/innkeeper",
    ];
    let unit = inn.bare_call(&[&call[..], &["--manager", "systemd"]].concat());
    let unit = unit.with(0).out;
    assert!(
        unit.contains("\nExecStart=/usr/bin/innkeeper serve --service\n"),
        "{unit}"
    );
    let list = inn.bare_call(&[&call[..], &["--manager", "launchd"]].concat());
    assert!(
        list.with(0)
            .out
            .contains("<string>--service</string>\n  </array>")
    );
}

#[test]
fn no_subcommand_means_serve() {
    let inn = Inn::new();
    let config = inn.path("missing.toml");
    let missing = config.to_str().unwrap();
    inn.bare_call(&["--port", "0", "--config", missing])
        .failed("missing.toml cannot be read");
}

#[test]
fn what_is_wrong_with_the_configuration_is_said() {
    let inn = Inn::new();
    let check = |text: &str, says: &str| {
        let file = inn.write("inn.toml", text);
        inn.call(&["serve", "--config", file.to_str().unwrap()])
            .failed(says);
    };
    check(
        "[server]\nprot = 0\n",
        "unknown key `prot` in [server]; did you mean `port`?",
    );
    check("[server]\n\nport = true\n", "inn.toml, line 3:");
    check("[limits]\nchats = 0\n", "out of range");
    assert!(!inn.path("data").exists(), "nothing was started");
}

#[test]
fn the_file_wins_over_the_defaults_and_flags_win_over_the_file() {
    let inn = Inn::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    fs::create_dir_all(inn.path("config/innkeeper")).unwrap();
    let text = format!("[server]\nport = {port}\nweb = false\n");
    inn.write("config/innkeeper/innkeeper.toml", &text);
    inn.call(&["serve", "--log", "off"])
        .failed(&port.to_string());
    let host = inn.serve(&[]);
    assert_eq!(host.lines.len(), 1, "no web client: {:?}", host.lines);
    host.stop();
}

#[test]
fn the_doctor_finds_what_is_wrong_and_nothing_else() {
    let inn = Inn::new();
    let config = inn.write("inn.toml", "[server]\nport = 0\n");
    let flags = ["doctor", "--config", config.to_str().unwrap()];
    inn.call(&flags).with(0);
    assert!(!inn.path("data").exists(), "it changes nothing");
    let host = inn.serve(&[]);
    let healthy = inn.call(&flags).with(0).out;
    assert!(healthy.contains("held by the running host"), "{healthy}");
    assert!(healthy.lines().all(|line| !line.starts_with("problem")));
    host.stop();
    let token = inn.data("token");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(&token, open).unwrap();
    fs::write(inn.data("innkeeper.db"), "this is not a database").unwrap();
    let ended = inn.call(&flags).with(1);
    assert!(ended.out.contains("problem   token:") && ended.out.contains("chmod 600"));
    assert!(ended.out.contains("problem   store:"), "{}", ended.out);
    assert!(ended.err.contains("2 problems found"), "{}", ended.err);
}

#[test]
fn the_doctor_looks_at_the_port_that_a_host_would_use() {
    let inn = Inn::new();
    let config = inn.write("inn.toml", "[server]\nport = 0\n");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (variable, says) in [
        (port.as_str(), "is used by another program"),
        ("many", "the variable INNKEEPER_PORT is wrong"),
    ] {
        let ended = inn
            .command(&["doctor", "--config", config.to_str().unwrap()])
            .env("INNKEEPER_PORT", variable)
            .output()
            .unwrap();
        let out = String::from_utf8(ended.stdout).unwrap();
        assert!(out.contains(says), "{out}");
    }
}

#[test]
fn what_a_host_in_the_background_does_not_take_is_not_in_its_help() {
    let inn = Inn::new();
    let shown = |command| inn.bare_call(&[command, "--help"]).with(0).out;
    let (up, serve) = (shown("up"), shown("serve"));
    for flag in ["--stdio", "--service"] {
        assert!(serve.contains(flag) && !up.contains(flag), "{flag}: {up}");
    }
}
