//! Repositories that try to make the host run a program or leave their
//! directory. Each is opened, looked at, kept, compared, discarded in and made
//! a working tree of; nothing of theirs may run, and nothing of anybody else's
//! may be listed, copied or changed.
//!
//! Where a plain git falls for a trap, the table has the command that shows
//! it, so that a trap that has rusted is noticed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use innkeeper_protocol::workspace::changes::{
    ChangesEvent, ChangesTask, Compared, Moment, Operation,
};

use super::stage::Stage;
use crate::changes::git::{Repository, StandIns, run};
use crate::uri_of_path;

/// One kind of trap, in shell. `$MARK` is the file that must not appear and
/// `$EVIL` a program that makes it; `$OTHER` is a repository of somebody else.
/// Scripts run in a repository with one commit and a changed file.
struct Trap {
    name: &'static str,
    set: &'static str,
    /// What makes a plain git fall for it, if that is practical.
    control: &'static str,
    /// Where the session is.
    within: &'static str,
}

const fn trap(name: &'static str, set: &'static str, control: &'static str) -> Trap {
    Trap {
        name,
        set,
        control,
        within: "",
    }
}

const PROMISED: &str = "
    git config core.repositoryFormatVersion 1
    git config extensions.partialClone origin
    git config remote.origin.promisor true
    blob=$(git rev-parse HEAD:a)
    rm -f .git/objects/$(echo $blob | cut -c1-2)/$(echo $blob | cut -c3-)
";

const TRAPS: &[Trap] = &[
    trap(
        "a filter that cleans",
        "git config filter.x.clean \"$EVIL; cat\"; echo '* filter=x' > .gitattributes",
        "git status",
    ),
    trap(
        "a filter that smudges",
        "git config filter.x.smudge \"$EVIL; cat\"; echo '* filter=x' > .gitattributes",
        "git checkout -- a",
    ),
    trap(
        "a filter that stays",
        "git config filter.x.process \"$EVIL; cat\"; echo '* filter=x' > .gitattributes",
        "git add a",
    ),
    trap(
        "a filter with an odd name that is required",
        "printf '[filter \"a=b.c\"]\\n\\tclean = %s; cat\\n\\trequired\\n' \"$EVIL\" >> .git/config
         echo 'a filter=a=b.c' > .git/info/attributes",
        "git status",
    ),
    trap(
        "a filter in a file that is included",
        "git config include.path ../settings; echo 'a filter=x' > .gitattributes
         git config --file settings filter.x.clean \"$EVIL; cat\"; git add -f settings .gitattributes",
        "touch a; git status",
    ),
    trap(
        "a filter in a file that is included on a condition",
        "git config 'includeIf.gitdir:**/.path' ../settings; echo 'a filter=x' > .gitattributes
         git config --file settings filter.x.clean \"$EVIL; cat\"",
        "git status",
    ),
    trap(
        "a filter of one working tree",
        "git config extensions.worktreeConfig true; echo 'a filter=x' > .gitattributes
         git config --worktree filter.x.clean \"$EVIL; cat\"",
        "git status",
    ),
    trap(
        "a filter by the repository's own attributes",
        "git config filter.x.clean \"$EVIL; cat\"; mkdir -p .git/info
         echo '* filter=x' > .git/info/attributes",
        "git add a",
    ),
    trap(
        "a promised object, fetched by a command",
        "PROMISED; git config remote.origin.url \"$OTHER\"
         git config remote.origin.uploadpack \"$EVIL; false\"",
        "git cat-file -p HEAD:a",
    ),
    trap(
        "a promised object, fetched by any program",
        "PROMISED; git config protocol.ext.allow always
         git config remote.origin.url \"ext::$EVIL\"",
        "git cat-file -p HEAD:a",
    ),
    trap(
        "a promised object behind another address",
        "PROMISED; git config protocol.ext.allow always
         git config remote.origin.url https://example.invalid/x
         git config \"url.ext::$EVIL x.insteadOf\" https://example.invalid/x",
        "git cat-file -p HEAD:a",
    ),
    trap(
        "a promised object, fetched over ssh",
        "PROMISED; git config remote.origin.url ssh://example.invalid/x
         git config core.sshCommand \"$EVIL; false\"",
        "git cat-file -p HEAD:a",
    ),
    trap(
        "a promised object, fetched through a proxy",
        "PROMISED; git config remote.origin.url git://example.invalid/x
         git config core.gitProxy \"$EVIL\"",
        "git cat-file -p HEAD:a",
    ),
    trap(
        "a promised object, fetched by a helper",
        "PROMISED; git config remote.origin.url x
         mkdir bin; cp $EVIL bin/git-remote-evil; git config remote.origin.vcs evil",
        "PATH=$PWD/bin:$PATH git cat-file -p HEAD:a",
    ),
    Trap {
        name: "a directory laid out as a bare repository",
        set: "mkdir sub; cp -r .git/HEAD .git/objects .git/refs sub; echo 3 > sub/a
              git config --file sub/config core.repositoryFormatVersion 0
              git config --file sub/config core.worktree .
              git config --file sub/config core.bare false
              git config --file sub/config filter.x.clean \"$EVIL; cat\"
              echo '* filter=x' > sub/.gitattributes",
        control: "cd sub; git add a",
        within: "sub",
    },
    trap(
        "a working tree that is elsewhere",
        "git config core.worktree \"$OTHER\"",
        "git status --porcelain --no-renames | grep -q key && touch $MARK",
    ),
    trap(
        "a working tree that is elsewhere, by one of its own settings",
        "git config extensions.worktreeConfig true
         git config --worktree core.worktree \"$OTHER\"",
        "",
    ),
    trap(
        "a pointer to somebody else's repository",
        "rm -rf .git; echo \"gitdir: $OTHER/.git\" > .git",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "a link to somebody else's repository",
        "rm -rf .git; ln -s \"$OTHER/.git\" .git",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "a pointer to a repository of its own",
        "git config filter.x.clean \"$EVIL; cat\"; echo '* filter=x' > .gitattributes
         mkdir deep; mv .git deep/git; echo 'gitdir: deep/git' > .git",
        "git status",
    ),
    trap(
        "a repository of its own that says it belongs here",
        "git config filter.x.clean \"$EVIL; cat\"; echo '* filter=x' > .gitattributes
         git config core.worktree ../..; mkdir deep; mv .git deep/git
         echo 'gitdir: deep/git' > .git",
        "git status",
    ),
    trap(
        "a linked working tree of somebody else's repository",
        "mkdir -p own/worktrees/x; cp .git/HEAD own/worktrees/x; rm -rf .git
         echo \"$OTHER/.git\" > own/worktrees/x/commondir; echo \"$PWD/.git\" > own/worktrees/x/gitdir
         echo 'gitdir: own/worktrees/x' > .git",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "a monitor of files",
        "git config core.fsmonitor \"$EVIL\"",
        "git status",
    ),
    trap(
        "hooks",
        "mkdir -p .git/hooks
         for hook in post-index-change reference-transaction post-checkout pre-commit; do
             cp $EVIL .git/hooks/$hook
         done",
        "git add a",
    ),
    trap(
        "hooks that are elsewhere",
        "mkdir hooks; git config core.hooksPath hooks
         for hook in post-index-change reference-transaction post-checkout; do
             cp $EVIL hooks/$hook
         done",
        "git add a",
    ),
    trap(
        "a program that compares",
        "git config diff.external \"$EVIL\"",
        "git diff",
    ),
    trap(
        "a program that compares some files",
        "git config diff.x.command \"$EVIL\"; echo '* diff=x' > .gitattributes",
        "git diff",
    ),
    trap(
        "a program that makes text",
        "git config diff.x.textconv \"$EVIL; cat\"; echo '* diff=x' > .gitattributes",
        "git diff",
    ),
    trap(
        "a program that merges",
        "git config merge.x.driver \"$EVIL\"; echo 'a merge=x' > .gitattributes
         git add .gitattributes; git commit -qm attributes; git stash -q
         git branch other; echo x > a; git commit -qam x
         git checkout -q other; echo y > a; git commit -qam y; echo z > a",
        "git checkout -- a; git merge main",
    ),
    trap(
        "a program that signs",
        "git config commit.gpgSign true; git config gpg.program \"$EVIL\"
         git config tag.gpgSign true; git config log.showSignature true",
        "git commit -qam x",
    ),
    trap(
        "editors, pagers and prompts",
        "git config core.editor \"$EVIL\"; git config core.pager \"$EVIL\"
         git config sequence.editor \"$EVIL\"; git config core.askPass \"$EVIL\"
         git config pager.status true; git config pager.diff-tree true",
        "git commit -qa",
    ),
    trap(
        "credentials from a program",
        "git config credential.helper \"!$EVIL\"",
        "printf 'protocol=https\\nhost=x\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill",
    ),
    trap(
        "other names for commands",
        "git config alias.state \"!$EVIL\"; git config alias.status \"!$EVIL\"
         git config alias.add \"!$EVIL\"; git config alias.cat-file \"!$EVIL\"",
        "git state",
    ),
    trap(
        "a submodule with a filter and a monitor of its own",
        "git clone -q . sub; git -c advice.addEmbeddedRepo=false add sub; git commit -qm sub
         git -C sub config filter.x.clean \"$EVIL; cat\"; echo '* filter=x' > sub/.gitattributes
         git -C sub config core.fsmonitor \"$EVIL\"; echo 3 > sub/a",
        "git add --all",
    ),
    trap(
        "a submodule that is updated by a program",
        "git clone -q . sub; git -c advice.addEmbeddedRepo=false add sub
         git config --file .gitmodules submodule.sub.path sub
         git config --file .gitmodules submodule.sub.url ./sub
         git config submodule.sub.url ./sub; git config submodule.sub.active true
         git config submodule.recurse true; git add .gitmodules; git commit -qm sub
         git config submodule.sub.update \"!$EVIL\"
         git -C sub commit -q --allow-empty -m more",
        "git -c protocol.file.allow=always submodule update sub",
    ),
    trap(
        "a repository within, with a monitor of its own",
        "git clone -q . inner; git -C inner config core.fsmonitor \"$EVIL\"; echo 3 > inner/a",
        "git -c advice.addEmbeddedRepo=false add --all; git add --all",
    ),
    trap(
        "a directory in no repository, with one in it",
        "git clone -q . inner; rm -rf .git
         git -C inner config core.fsmonitor \"$EVIL\"; echo 3 > inner/a",
        "git init -q; git -c advice.addEmbeddedRepo=false add --all; git add --all",
    ),
    trap(
        "objects that are borrowed",
        "echo \"$OTHER/.git/objects\" > .git/objects/info/alternates
         git -C \"$OTHER\" rev-parse HEAD > .git/refs/heads/main",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "links to somebody else's objects and refs",
        "rm -rf .git/objects .git/refs; ln -s \"$OTHER/.git/objects\" .git/objects
         ln -s \"$OTHER/.git/refs\" .git/refs",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "links to each of somebody else's objects",
        "rm -rf .git/objects/??; for it in \"$OTHER\"/.git/objects/??; do
             ln -s $it .git/objects/; done
         ln -sf \"$OTHER/.git/refs/heads/main\" .git/refs/heads/main",
        "git status --porcelain --no-renames | grep -q 'D .*secret' && touch $MARK",
    ),
    trap(
        "somebody else's index",
        "ln -sf \"$OTHER/.git/index\" .git/index",
        "git status --porcelain --no-renames | grep -q secret && touch $MARK",
    ),
    trap(
        "pipes as lists of what is ignored",
        "mkfifo pipe; git config core.excludesFile ../pipe; git config core.attributesFile ../pipe",
        "",
    ),
    trap(
        "a link to a directory of somebody else's",
        "ln -s \"$OTHER\" link; git add -A; git commit -qm link; rm link; mkdir link
         echo x > link/key",
        "",
    ),
    trap(
        "a working tree that is remembered elsewhere",
        "mkdir -p .git/worktrees/x; cp .git/HEAD .git/worktrees/x; echo ../.. > .git/worktrees/x/commondir
         echo \"$OTHER/.git\" > .git/worktrees/x/gitdir",
        "",
    ),
];

/// A place with a hostile repository and somebody else's next to it.
struct Ground {
    home: tempfile::TempDir,
    root: PathBuf,
}

impl Ground {
    fn new(trap: &Trap) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(home.path()).unwrap();
        let ground = Self { home, root };
        for (name, file) in [("here", "a"), ("other", "secret")] {
            std::fs::create_dir(ground.root.join(name)).unwrap();
            ground.run(
                &ground.root.join(name),
                &format!("git init -q -b main; echo 1 > {file}; git add .; git commit -qm First"),
            );
        }
        let evil = format!("#!/bin/sh\ntouch '{}'\n", ground.marker().display());
        std::fs::write(ground.root.join("evil"), evil).unwrap();
        ground.run(&ground.root, "chmod 755 evil; echo precious > other/key");
        ground.run(&ground.here(), "echo 2 > a");
        ground.set(trap);
        ground
    }

    fn set(&self, trap: &Trap) {
        self.run(&self.here(), &trap.set.replace("PROMISED;", PROMISED));
        // Setting it may have set it off.
        let _ = std::fs::remove_file(self.marker());
    }

    fn here(&self) -> PathBuf {
        self.root.join("here")
    }

    fn marker(&self) -> PathBuf {
        self.root.join("mark")
    }

    fn is_marked(&self) -> bool {
        self.marker().exists()
    }

    /// Runs a script with a plain git.
    fn run(&self, directory: &Path, script: &str) -> String {
        let mut shell = Command::new("/bin/sh");
        for (name, value) in [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_AUTHOR_NAME", "Somebody"),
            ("GIT_AUTHOR_EMAIL", "somebody@example.org"),
            ("GIT_COMMITTER_NAME", "Somebody"),
            ("GIT_COMMITTER_EMAIL", "somebody@example.org"),
        ] {
            shell.env(name, value);
        }
        shell
            .env("MARK", self.marker())
            .env("EVIL", self.root.join("evil"));
        shell.env("OTHER", self.root.join("other"));
        shell.args(["-ec", script]).current_dir(directory);
        let done = shell.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{script}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Everything that somebody else has.
    fn others(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let walk = ignore::WalkBuilder::new(self.root.join("other"))
            .standard_filters(false)
            .build();
        let files = walk.map(|entry| entry.unwrap().into_path());
        let files = files.filter(|path| path.is_file());
        files
            .map(|path| {
                let data = std::fs::read(&path).unwrap();
                (path, data)
            })
            .collect()
    }
}

/// Does all that a host does with a directory, whatever comes of it.
fn visit(stage: &mut Stage) -> Vec<String> {
    stage.open();
    stage.tell(ChangesTask::Observe(true));
    let mut seen = Vec::new();
    let mut look = |stage: &mut Stage, compared: Compared| {
        let view = stage.view(compared);
        seen.extend(stage.files(view));
    };
    look(stage, Compared::Uncommitted);
    look(stage, Compared::Session);
    stage.try_checkpoint(Moment::BeforeTurn("t1".to_owned()));
    stage.write("a", "by the turn\n");
    stage.write("new", "by the turn\n");
    stage.try_checkpoint(Moment::AfterTurn("t1".to_owned()));
    look(stage, Compared::Turn("t1".to_owned()));
    look(stage, Compared::Uncommitted);
    stage.read_all();
    for what in [
        Operation::Discard {
            of: Compared::Session,
            files: Vec::new(),
        },
        Operation::Undo,
        Operation::Discard {
            of: Compared::Uncommitted,
            files: Vec::new(),
        },
    ] {
        let _ = stage.operate(what);
    }
    let directory = uri_of_path(&stage.directory).unwrap();
    stage.branches(&directory);
    let branch = None;
    stage.tell(ChangesTask::Isolate { directory, branch });
    let made = stage.wait(|event| match event {
        ChangesEvent::Isolated(made) => Some(made.clone()),
        _ => None,
    });
    if let Ok(tree) = made {
        stage.tell(ChangesTask::Forget {
            directories: vec![tree.clone()],
            trees: vec![tree],
        });
        stage.open();
    }
    seen
}

#[test]
fn a_plain_git_falls_for_the_traps() {
    let controls = TRAPS.iter().filter(|trap| !trap.control.is_empty());
    assert!(controls.clone().count() >= 25);
    let withstood = controls.filter(|trap| {
        let ground = Ground::new(trap);
        ground.run(&ground.here(), &format!("({}) || true", trap.control));
        !ground.is_marked()
    });
    let withstood: Vec<_> = withstood.map(|trap| trap.name).collect();
    assert_eq!(withstood, Vec::<&str>::new());
}

/// When a trap is set.
#[derive(Clone, Copy, PartialEq)]
enum When {
    Before,
    /// By somebody who works there, while a session is open.
    Meanwhile,
}

fn withstands(traps: &[Trap], when: When) {
    // A session cannot be where nothing is yet.
    let traps = traps.iter();
    for trap in traps.filter(|trap| when == When::Before || trap.within.is_empty()) {
        let none = self::trap("none", "", "");
        let Ground { home, root } = Ground::new(match when {
            When::Before => trap,
            When::Meanwhile => &none,
        });
        let directory = root.join("here").join(trap.within);
        let mut stage = Stage::at(home, directory);
        let ground = Ground {
            home: tempfile::tempdir().unwrap(),
            root,
        };
        if when == When::Meanwhile {
            stage.open();
            stage.view(Compared::Uncommitted);
            stage.begin("t0");
            ground.set(trap);
        }
        let before = ground.others();
        let seen = visit(&mut stage);
        assert!(!ground.is_marked(), "a program was run: {}", trap.name);
        let theirs = |uri: &&String| uri.ends_with("/secret") || uri.ends_with("/key");
        let theirs: Vec<_> = seen.iter().filter(theirs).collect();
        let own = trap.name == "a link to a directory of somebody else's";
        assert!(theirs.is_empty() || own, "{}: {theirs:?}", trap.name);
        assert!(
            ground.others() == before,
            "something changed: {}",
            trap.name
        );
        // What is only in somebody else's files is in no repository.
        let id = ground.run(&ground.root, "git hash-object other/key");
        let kept = "for it in $(find . \"$DATA\" -type d -name objects); do
            git --git-dir=$(dirname $it) cat-file -e ID 2> /dev/null && echo $it; done; true";
        let kept = kept.replace("ID", id.trim());
        let kept = kept.replace("$DATA", stage.data.path().to_str().unwrap());
        let _ = std::fs::remove_file(ground.marker());
        let kept = ground.run(&ground.here(), &kept);
        assert_eq!(kept, "", "{}", trap.name);
    }
}

#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let outside = || {
        let mut stage = Stage::outside_git();
        stage.open();
        stage
    };
    for mut stage in [Stage::in_git(&[("a", "1\n")]), outside()] {
        stage.begin("t1");
        let here = &stage.directory;
        let (away, other) = (here.with_file_name("away"), here.with_file_name("other"));
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("key"), "precious").unwrap();
        std::fs::rename(here, away).unwrap();
        std::os::unix::fs::symlink(&other, here).unwrap();
        let why = stage.try_checkpoint(Moment::AfterTurn("t1".to_owned()));
        assert!(
            why.as_deref().is_some_and(|why| why.contains("leads out")),
            "{why:?}"
        );
        for compared in [Compared::Uncommitted, Compared::Session] {
            let view = stage.view(compared);
            assert_eq!(stage.files(view), Vec::<String>::new());
        }
    }
}

#[test]
fn what_git_says_of_a_repository_that_changed_meanwhile_is_not_believed() {
    let ground = Ground::new(&trap("none", "", ""));
    let stand_ins = StandIns::new(ground.root.join("own"));
    let index = ground.root.join("index");
    let repository = Repository::find(&ground.here(), index, &stand_ins);
    let repository = repository.unwrap().unwrap();
    let objects = ground.here().join(".git/objects");
    let (objects, other) = (objects.display(), ground.root.join("other/.git/objects"));
    let swap = format!(
        "rm -rf {objects}; ln -s {} {objects}; echo secret",
        other.display()
    );
    let mut git = repository.reading();
    git.args(["-c", &format!("alias.swap=!{swap}"), "swap"]);
    let why = run(git, None).unwrap_err().to_string();
    assert!(why.contains("leads out"), "{why}");
}

// In parts, so that they run side by side.

#[test]
fn hostile_repositories_run_nothing_part_1() {
    withstands(&TRAPS[..15], When::Before);
}

#[test]
fn hostile_repositories_run_nothing_part_2() {
    withstands(&TRAPS[15..30], When::Before);
}

#[test]
fn hostile_repositories_run_nothing_part_3() {
    withstands(&TRAPS[30..], When::Before);
}

#[test]
fn repositories_that_turn_hostile_run_nothing_part_1() {
    withstands(&TRAPS[..15], When::Meanwhile);
}

#[test]
fn repositories_that_turn_hostile_run_nothing_part_2() {
    withstands(&TRAPS[15..30], When::Meanwhile);
}

#[test]
fn repositories_that_turn_hostile_run_nothing_part_3() {
    withstands(&TRAPS[30..], When::Meanwhile);
}
