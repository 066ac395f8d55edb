//! Deleted sessions leave nothing behind: not in the data directory, and not in
//! the user's repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::harness::{Inn, eventually};
use super::sessions::ids;
use crate::common::git::git;

/// An inn with a repository in it, and three sessions in that.
fn with_sessions() -> (Inn, PathBuf) {
    let inn = Inn::new();
    let work = inn.path("work");
    fs::create_dir(&work).unwrap();
    git(&work, &["init", "--quiet", "--initial-branch=main"]);
    inn.write("work/a", "1\n");
    git(&work, &["add", "--all"]);
    git(&work, &["commit", "--quiet", "--message", "First"]);
    for prompt in ["one", "two", "three"] {
        let turn = ["run", "-a", "script", "-C", work.to_str().unwrap(), prompt];
        inn.call(&turn).with(0);
    }
    // All states are kept when it has ended.
    inn.call(&["stop"]).with(0);
    assert_eq!(left(&inn, &work), (9, 3));
    (inn, work)
}

/// The refs of sessions: their names, and what they are.
fn refs(work: &Path) -> Vec<String> {
    let format = "--format=%(refname) %(objectname)";
    let all = git(work, &["for-each-ref", format, "refs/innkeeper"]);
    all.lines().map(str::to_owned).collect()
}

/// Where states are kept for sessions.
fn kept(inn: &Inn) -> Vec<PathBuf> {
    let entries = fs::read_dir(inn.data("changes")).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    let of_session = |path: &PathBuf| path.to_string_lossy().contains("_3a");
    paths.filter(of_session).collect()
}

/// How many refs there are, and how many directories.
fn left(inn: &Inn, work: &Path) -> (usize, usize) {
    (refs(work).len(), kept(inn).len())
}

/// Deletes all sessions, and puts back what was kept for them: as a release did
/// that cleaned up nothing.
fn deleted_with_leftovers(inn: &Inn, work: &Path) {
    let (refs, kept) = (refs(work), kept(inn));
    let names: Vec<_> = kept.iter().map(|path| path.file_name().unwrap()).collect();
    for id in ids(inn) {
        inn.call(&["sessions", "delete", &id]).with(0);
    }
    for line in refs {
        let (name, commit) = line.split_once(' ').unwrap();
        git(work, &["update-ref", name, commit]);
    }
    for name in names {
        let place = work.to_str().unwrap().bytes().map(|byte| match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => char::from(byte).to_string(),
            _ => format!("_{byte:02x}"),
        });
        let place = inn
            .data("changes")
            .join(name)
            .join(place.collect::<String>());
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join("index-1"), "left").unwrap();
    }
    assert_eq!(left(inn, work), (9, 3));
}

fn config(inn: &Inn) -> String {
    let file = inn.write("inn.toml", "[store]\nkeep_disposed_days = 0\n");
    file.to_str().unwrap().to_owned()
}

#[test]
fn sessions_deleted_without_a_host_leave_nothing_behind() {
    let (inn, work) = with_sessions();
    let ids = ids(&inn);
    inn.call(&["sessions", "delete", &ids[0]]).with(0);
    assert_eq!(left(&inn, &work), (6, 2), "the others have theirs");
    for id in &ids[1..] {
        inn.call(&["sessions", "delete", id]).with(0);
    }
    assert_eq!(left(&inn, &work), (0, 0));
}

#[test]
fn what_earlier_hosts_left_goes_at_the_next_start() {
    for keeps in [true, false] {
        let (inn, work) = with_sessions();
        deleted_with_leftovers(&inn, &work);
        let config = config(&inn);
        let flags = ["--config", &config];
        let host = inn.serve(if keeps { &[] } else { &flags });
        eventually("nothing is left", || {
            (left(&inn, &work) == (0, 0)).then_some(())
        });
        host.stop();
    }
}

#[test]
fn gc_says_what_it_would_free_and_frees_it() {
    let (inn, work) = with_sessions();
    deleted_with_leftovers(&inn, &work);
    let unfinished = inn.data(".innkeeper-copy-1");
    let recent = inn.data(".innkeeper-copy-2");
    fs::write(&unfinished, "half").unwrap();
    fs::write(&recent, "half").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(2 * 60 * 60);
    let file = fs::File::options().write(true).open(&unfinished).unwrap();
    file.set_modified(long_ago).unwrap();
    let config = config(&inn);
    let gc = |more: &[&str]| inn.call(&[&["gc", "--config", &config], more].concat());

    let said = gc(&["--dry-run"]).with(0).out;
    for what in [
        "file checkpoints of 3 deleted sessions",
        "3 sessions deleted more than 0 days ago",
        "1 file of interrupted processes",
        "At least ",
        "would be freed",
    ] {
        assert!(said.contains(what), "{what:?} in {said}");
    }
    assert_eq!(left(&inn, &work), (9, 3), "nothing has changed");

    assert!(gc(&[]).with(0).out.contains("Freed "));
    assert_eq!(left(&inn, &work), (0, 0));
    assert!(!unfinished.exists() && recent.exists());
    let deleted = inn.call(&["sessions", "list", "--disposed"]).with(0).out;
    assert_eq!(deleted, "There are no deleted sessions.\n");
    assert_eq!(gc(&[]).with(0).out, "There is nothing to free.\n");
}

#[test]
fn gc_removes_working_trees_unless_something_would_be_lost() {
    let (inn, work) = with_sessions();
    let trees = ["done", "begun"].map(|name| {
        let tree = inn
            .data("worktrees")
            .join(format!("ahp-session_3a_2f{name}"));
        let branch = format!("innkeeper/{name}");
        let path = tree.to_str().unwrap();
        git(&work, &["worktree", "add", "--quiet", "-b", &branch, path]);
        tree
    });
    fs::write(trees[1].join("new"), "work\n").unwrap();
    let said = inn.call(&["gc"]).with(0).out;
    assert!(
        said.contains("2 working trees of deleted sessions"),
        "{said}"
    );
    assert!(said.contains("1 working tree stays"), "{said}");
    assert!(!trees[0].exists());
    let new = fs::read_to_string(trees[1].join("new")).unwrap();
    assert_eq!(new, "work\n");
}

#[test]
fn gc_leaves_what_sessions_still_have() {
    let (inn, work) = with_sessions();
    inn.call(&["gc"]).with(0);
    assert_eq!(left(&inn, &work), (9, 3));
    assert_eq!(ids(&inn).len(), 3);
}

#[test]
fn gc_says_what_to_do_about_a_running_host() {
    let inn = Inn::new();
    assert_eq!(inn.call(&["gc"]).with(0).out, "There is nothing to free.\n");
    assert!(!inn.path("data").exists(), "nothing was made");
    let host = inn.serve(&[]);
    inn.call(&["gc"]).failed("stop it with `innkeeper stop`");
    inn.call(&["gc", "--dry-run"]).with(0);
    host.stop();
}
