//! What the host makes is its user's alone, whatever the umask.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::harness::{Inn, eventually, mode};

/// Everything below a directory with its mode, but not what links lead to. The
/// host is at work: what has gone meanwhile is left out.
fn all_below(directory: &Path) -> Vec<(PathBuf, u32)> {
    let mut all = Vec::new();
    let mut left = vec![directory.to_owned()];
    while let Some(path) = left.pop() {
        let Ok(found) = path.symlink_metadata() else {
            continue;
        };
        if found.is_dir() {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            left.extend(entries.map(|entry| entry.path()));
        }
        if !found.is_symlink() {
            all.push((path, found.permissions().mode() & 0o777));
        }
    }
    all
}

#[track_caller]
fn is_private(paths: &[(PathBuf, u32)], umask: &str) {
    let open = paths.iter().filter(|(_, mode)| mode & 0o077 != 0);
    let open: Vec<_> = open
        .map(|(path, mode)| format!("{} {mode:o}", path.display()))
        .collect();
    assert!(open.is_empty(), "umask {umask}: {open:#?}");
}

#[test]
fn what_a_host_makes_is_private_whatever_the_umask() {
    for umask in ["000", "002", "022"] {
        let inn = Inn::new();
        let socket = inn.path("inn.sock");
        let preparation = format!("umask {umask}");
        let host = inn.serve_after(&preparation, &["--socket", socket.to_str().unwrap()]);
        fs::create_dir(inn.path("work")).unwrap();
        inn.write("work/a", "1\n");
        let work = inn.path("work");
        let turn = ["run", "-a", "script", "-C", work.to_str().unwrap(), "hello"];
        inn.call(&turn).with(0);
        // The turn does not wait until the state before it is kept.
        let mut made = eventually("a state is kept", || {
            let made = all_below(&inn.path("data"));
            let kept = made.iter().any(|(path, _)| path.ends_with("git/HEAD"));
            kept.then_some(made)
        });
        made.extend([socket, inn.path("ready.json")].map(|path| {
            let mode = mode(&path);
            (path, mode)
        }));
        is_private(&made, umask);
        host.stop();
    }
}

#[test]
fn a_data_directory_that_is_open_is_closed() {
    let inn = Inn::new();
    fs::create_dir(inn.path("data")).unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(inn.path("data"), open).unwrap();
    inn.serve(&[]).stop();
    assert_eq!(mode(&inn.path("data")), 0o700);
}

/// Only where the tests are run by somebody who may give files away.
#[test]
fn a_data_directory_of_another_user_is_refused() {
    let inn = Inn::new();
    fs::create_dir(inn.path("data")).unwrap();
    if std::os::unix::fs::chown(inn.path("data"), Some(12_345), None).is_err() {
        return;
    }
    inn.call(&["serve", "--log", "off", "--port", "0"])
        .failed("it belongs to another user; choose one of your own");
    assert_eq!(fs::read_dir(inn.path("data")).unwrap().count(), 0);
}

#[test]
fn a_socket_replaces_no_file() {
    let inn = Inn::new();
    let file = inn.write("precious", "work");
    let flags = ["serve", "--log", "off", "--port", "0", "--socket"];
    inn.call(&[&flags[..], &[file.to_str().unwrap()]].concat())
        .failed("a file that is not a socket is there");
    assert_eq!(fs::read_to_string(file).unwrap(), "work");
}
