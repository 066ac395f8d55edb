//! How a host ends when its terminal goes, and what goes with it.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use super::harness::{Inn, Running, eventually};

#[test]
fn a_terminal_that_goes_ends_the_host_in_order() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    host.running.signal("HUP");
    host.stopped();
    assert!(!inn.data("host.json").exists());
}

#[test]
fn a_host_that_was_told_to_ignore_that_goes_on() {
    let inn = Inn::new();
    let host = inn.serve_after("trap '' HUP", &[]);
    host.running.signal("HUP");
    assert_eq!(host.get("/healthz", "").0, 200);
    host.stop();
}

#[test]
fn signals_that_mean_nothing_do_not_end_a_host() {
    let inn = Inn::new();
    let host = inn.serve(&[]);
    for signal in ["USR1", "USR2"] {
        host.running.signal(signal);
        assert_eq!(host.get("/healthz", "").0, 200, "{signal}");
    }
    host.stop();
}

#[test]
fn a_host_on_standard_input_ends_in_order_too() {
    let inn = Inn::new();
    let data = inn.path("data");
    let flags = ["serve", "--stdio", "--data-dir", data.to_str().unwrap()];
    let mut child = inn.command(&flags).stdin(Stdio::piped()).spawn().unwrap();
    let _input = child.stdin.take();
    let mut log = child.stderr.take().unwrap();
    let mut running = Running(child);
    eventually("the host has begun", || {
        inn.data("innkeeper.db-wal").exists().then_some(())
    });
    running.signal("HUP");
    assert_eq!(running.wait().code(), Some(0));
    let mut said = String::new();
    log.read_to_string(&mut said).unwrap();
    assert!(!inn.data("host.json").exists(), "{said}");
}

/// A git that never ends is there when the host goes, and then no longer.
#[test]
fn no_git_outlives_the_host() {
    for signal in ["TERM", "KILL"] {
        let inn = Inn::new();
        fs::create_dir(inn.path("bin")).unwrap();
        fs::create_dir(inn.path("work")).unwrap();
        let number = inn.path("number");
        let script = format!(
            "#!/bin/sh\ncase \" $* \" in *' add '*) echo $$ > {number}.new; \
             mv {number}.new {number}; trap '' HUP; exec sleep 600;; esac\n\
             PATH=${{PATH#*:}}; exec git \"$@\"\n",
            number = number.display()
        );
        let git = inn.write("bin/git", &script);
        fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("PATH={}:$PATH; export PATH", inn.path("bin").display());
        let mut host = inn.serve_after(&path, &["--agents", "script"]);
        let _client = says(&inn, "hello");
        let number: u32 = eventually("git runs", || {
            fs::read_to_string(&number).ok()?.trim().parse().ok()
        });
        host.running.signal(signal);
        host.running.wait();
        eventually("git is gone", || (!lives(number)).then_some(()));
    }
}

/// Nor what was started with `nohup`, in a job of its own.
#[test]
fn nothing_in_a_terminal_outlives_the_host() {
    for signal in ["TERM", "KILL"] {
        let inn = Inn::new();
        fs::create_dir(inn.path("work")).unwrap();
        let mut host = inn.serve(&["--agents", "script"]);
        let job = "sh -c 'trap \"\" HUP TERM; echo $$ > new; mv new number; exec sleep 600'";
        let _client = says(&inn, &format!("!set -m; {job} & wait"));
        let number: u32 = eventually("the job runs", || {
            let number = fs::read_to_string(inn.path("work/number"));
            number.ok()?.trim().parse().ok()
        });
        host.running.signal(signal);
        host.running.wait();
        eventually("the job is gone", || (!lives(number)).then_some(()));
    }
}

/// A client of the host that runs, in the directory `work`.
fn says(inn: &Inn, words: &str) -> Running {
    let (work, data) = (inn.path("work"), inn.path("data"));
    let mut run = inn.command(&["run", "-a", "script", words]);
    run.arg("-C").arg(work).arg("--data-dir").arg(data);
    run.stdout(Stdio::null()).stderr(Stdio::null());
    Running(run.spawn().unwrap())
}

fn lives(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
