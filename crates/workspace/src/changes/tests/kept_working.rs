//! What honest repositories are like, and goes on working.

use std::path::Path;
use std::process::Command;

use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesTask, Compared, Operation};

use super::stage::{Stage, git};
use crate::uri_of_path;

/// A session elsewhere than where the stage was set.
fn moved(stage: &mut Stage, directory: &Path) -> Option<bool> {
    stage.directory = std::fs::canonicalize(directory).unwrap();
    stage.open()
}

#[test]
fn a_linked_working_tree_of_the_users_is_followed() {
    let mut stage = Stage::in_git(&[("x/a", "1\n")]);
    let tree = stage.directory.with_file_name("tree");
    stage.git(&[
        "worktree",
        "add",
        "--quiet",
        "-b",
        "topic",
        tree.to_str().unwrap(),
    ]);
    assert_eq!(moved(&mut stage, &tree.join("x")), Some(true));
    stage.write("a", "2\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["M a +1 -1"]);
    stage.begin("t1");
    stage.write("a", "3\n");
    stage.end("t1");
    stage
        .operate(Operation::Discard {
            of: Compared::Uncommitted,
            files: Vec::new(),
        })
        .unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("1\n"));
}

#[test]
fn a_submodule_is_followed_as_a_repository_of_its_own() {
    let mut stage = Stage::in_git(&[("a", "1\n")]);
    let source = stage.directory.clone();
    let around = source.with_file_name("around");
    std::fs::create_dir(&around).unwrap();
    git(&around, &["init", "--quiet"]);
    let path = source.to_str().unwrap();
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
    ];
    git(&around, &[&add[..], &[path, "sub"]].concat());
    assert_eq!(moved(&mut stage, &around.join("sub")), Some(true));
    stage.write("a", "2\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["M a +1 -1"]);
}

#[test]
fn a_directory_with_a_line_break_in_its_name_is_followed() {
    let mut stage = Stage::outside_git();
    let odd = stage.directory.join("one\ntwo");
    std::fs::create_dir_all(odd.join("three\nfour")).unwrap();
    git(&odd, &["init", "--quiet"]);
    assert_eq!(moved(&mut stage, &odd.join("three\nfour")), Some(true));
    stage.write("a", "1\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), ["A a +1 -0"]);
}

#[test]
fn repositories_of_other_formats_are_followed() {
    for format in ["--object-format=sha256", "--ref-format=reftable"] {
        let mut stage = Stage::outside_git();
        let made = Command::new("git")
            .args(["init", "--quiet", format])
            .arg(&stage.directory)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        if !made.unwrap().success() {
            // A git that does not know it yet.
            continue;
        }
        stage.write("a", "1\n");
        assert_eq!(stage.open(), Some(true), "{format}");
        stage.begin("t1");
        stage.write("a", "2\n");
        stage.end("t1");
        let view = stage.view(Compared::Turn("t1".to_owned()));
        assert_eq!(stage.shown(view), ["M a +1 -1"], "{format}");
    }
}

/// Harmless settings of the repository's own hold: here, how lines end and
/// which branch is followed.
#[test]
fn what_a_repository_says_about_its_files_holds() {
    let mut stage = Stage::in_git(&[("a", "1\n2\n")]);
    stage.git(&["config", "core.autocrlf", "true"]);
    stage.git(&["branch", "upstream"]);
    stage.git(&["config", "branch.main.remote", "."]);
    stage.git(&["config", "branch.main.merge", "refs/heads/upstream"]);
    stage.begin("t1");
    stage.write("a", "1\r\n2\r\n");
    stage.end("t1");
    let view = stage.view(Compared::Turn("t1".to_owned()));
    assert_eq!(stage.shown(view), Vec::<String>::new());
    stage.tell(ChangesTask::Observe(true));
    stage.git_is(|git| git.upstream.as_deref() == Some("upstream"));
}

#[test]
fn a_pipe_that_says_what_to_ignore_is_not_waited_for() {
    let mut stage = Stage::outside_git();
    std::fs::create_dir(stage.directory.join("below")).unwrap();
    let pipe = |path: &str| {
        let made = Command::new("mkfifo")
            .arg(stage.directory.join(path))
            .status();
        assert!(made.unwrap().success());
    };
    pipe(".gitignore");
    pipe("below/.ignore");
    assert_eq!(stage.open(), None);
    stage.remove(".gitignore");
    // Changes are told again when the session has another worker.
    let mut stage = stage.restarted();
    assert_eq!(stage.open(), Some(false));
}

/// A process of its own, whose user has a filter in their own configuration.
#[test]
fn a_filter_of_the_users_own_configuration_is_run() {
    const CHILD: &str = "INNKEEPER_TEST_USERS_FILTER";
    let name = "changes::tests::kept_working::a_filter_of_the_users_own_configuration_is_run";
    if std::env::var_os(CHILD).is_some() {
        return the_users_filter_is_run();
    }
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join("config");
    let filter = "[filter \"up\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n\trequired\n\
        [core]\n\texcludesFile = /dev/null\n";
    std::fs::write(&config, filter).unwrap();
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .env("GIT_CONFIG_GLOBAL", &config)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
}

fn the_users_filter_is_run() {
    let mut stage = Stage::in_git(&[(".gitattributes", "a filter=up\n"), ("a", "one\n")]);
    // The repository says otherwise, and is not heard.
    stage.git(&["config", "filter.up.clean", "false"]);
    stage.write("a", "ONE\n");
    let view = stage.view(Compared::Uncommitted);
    assert_eq!(stage.shown(view), Vec::<String>::new());
    stage.begin("t1");
    stage.write("a", "TWO\n");
    stage.end("t1");
    let turn = stage.view(Compared::Turn("t1".to_owned()));
    let (before, after) = stage.contents(turn, "a");
    assert_eq!(
        (before.as_deref(), after.as_deref()),
        (Some("one\n"), Some("two\n"))
    );
    stage
        .operate(Operation::Discard {
            of: Compared::Uncommitted,
            files: Vec::new(),
        })
        .unwrap();
    assert_eq!(stage.read("a").as_deref(), Some("ONE\n"));
    stage.tell(ChangesTask::Isolate {
        directory: uri_of_path(&stage.directory).unwrap(),
        branch: None,
    });
    let made = stage.wait(|event| match event {
        ChangesEvent::Isolated(made) => Some(made.clone()),
        _ => None,
    });
    let tree = crate::resources::place::path_of_uri(&made.unwrap()).unwrap();
    assert_eq!(std::fs::read_to_string(tree.join("a")).unwrap(), "ONE\n");
}

/// What only the repository's own filter can make is not written without it.
#[test]
fn files_behind_a_filter_of_the_repositorys_own_are_not_written() {
    let mut stage = Stage::in_git(&[
        (".gitattributes", "a filter=own\n"),
        ("a", "1\n"),
        ("b", "1\n"),
    ]);
    stage.git(&["config", "filter.own.clean", "cat"]);
    stage.git(&["config", "filter.own.smudge", "cat"]);
    stage.write("a", "2\n");
    stage.write("b", "2\n");
    let discard = |stage: &Stage, name: &str| Operation::Discard {
        of: Compared::Uncommitted,
        files: vec![uri_of_path(&stage.directory.join(name)).unwrap()],
    };
    let refused = stage.operate(discard(&stage, "a")).unwrap_err().to_string();
    assert!(
        refused.contains("goes through the filter `own`"),
        "{refused}"
    );
    assert_eq!(stage.read("a").as_deref(), Some("2\n"));
    stage.operate(discard(&stage, "b")).unwrap();
    assert_eq!(stage.read("b").as_deref(), Some("1\n"));
    // But what the user commits goes through it.
    stage.git(&["config", "filter.own.clean", "tr 2 3"]);
    let message = "Filtered".to_owned();
    stage.operate(Operation::Commit { message }).unwrap();
    assert_eq!(stage.git(&["show", "HEAD:a"]), "3");
}
