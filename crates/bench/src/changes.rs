//! How long it takes to tell what has changed in a large repository: the first
//! time, and after one edit. The floor is `git status --porcelain` in the same
//! repository, run between.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesEvent, ChangesReport, ChangesTask, Compared, Moment, ViewId, ViewNews,
};
use innkeeper_workspace::{ChangesService, Hub, uri_of_path};

const DIRECTORIES: usize = 500;
const FILES_IN_EACH: usize = 100;
const CHANGED: usize = 20;
const ROUNDS: usize = 9;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let repository = directory.path();
    make_repository(repository)?;
    println!(
        "\nChanges in a repository of {} files, {CHANGED} of them changed (median of {ROUNDS})\n",
        DIRECTORIES * FILES_IN_EACH
    );
    let (mut floor, mut first, mut update, mut checkpoint) = (vec![], vec![], vec![], vec![]);
    let data = tempfile::tempdir()?;
    // Once for the disk's cache.
    status(repository)?;
    for round in 0..ROUNDS {
        floor.push(status(repository)?);
        let mut tracked = TrackedSession::open(repository, data.path(), round)?;
        first.push(tracked.first_view()?);
        update.push(tracked.one_edit(repository)?);
        checkpoint.push(tracked.checkpoint(round)?);
    }
    let floor = median(floor);
    println!("| what | ms | compared with git |");
    println!("| --- | ---: | ---: |");
    let row = |name: &str, time: Duration| {
        let ratio = time.as_secs_f64() / floor.as_secs_f64();
        println!("| {name} | {:.1} | {ratio:.2} |", time.as_secs_f64() * 1e3);
    };
    row("`git status --porcelain`", floor);
    row("the first uncommitted changeset", median(first));
    row("the update after one edit", median(update));
    row("a checkpoint", median(checkpoint));
    Ok(())
}

fn make_repository(at: &Path) -> Result<()> {
    for directory in 0..DIRECTORIES {
        let path = at.join(format!("part{}/of{directory}", directory % 25));
        std::fs::create_dir_all(&path)?;
        for file in 0..FILES_IN_EACH {
            let line = format!("line of {directory} and {file}\n");
            std::fs::write(path.join(format!("file{file}.txt")), line.repeat(20))?;
        }
    }
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "All"],
    ] {
        ensure!(git(at).args(arguments).status()?.success(), "git failed");
    }
    for index in 0..CHANGED {
        let path = at.join(format!("part{}/of{index}/file3.txt", index % 25));
        std::fs::write(path, "changed\n")?;
    }
    Ok(())
}

pub(crate) fn git(at: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("-C").arg(at);
    git.args(["-c", "user.name=Bench", "-c", "user.email=bench@localhost"]);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    git
}

fn status(at: &Path) -> Result<Duration> {
    let began = Instant::now();
    let mut git = git(at);
    git.args(["status", "--porcelain"]).stdout(Stdio::null());
    ensure!(git.status()?.success(), "git status failed");
    Ok(began.elapsed())
}

/// A session that nobody has looked at before.
struct TrackedSession {
    changes: ChangesService,
    session: ChannelUri,
    reports: Receiver<ChangesReport>,
    edits: usize,
}

impl TrackedSession {
    fn open(repository: &Path, data: &Path, round: usize) -> Result<Self> {
        let (sender, reports) = channel();
        let sender = Mutex::new(sender);
        let sink = move |report| sender.lock().is_ok_and(|it| it.send(report).is_ok());
        let mut tracked = Self {
            changes: ChangesService::new(
                data.to_owned(),
                data.with_file_name("worktrees"),
                Hub::default(),
                Arc::new(sink),
            ),
            session: ChannelUri::from(format!("ahp-session:/{round}")),
            reports,
            edits: 0,
        };
        let directory = uri_of_path(repository).context("a path")?;
        let directories = vec![directory];
        tracked.tell(ChangesTask::Open { directories });
        tracked.wait(|event| matches!(event, ChangesEvent::Found { .. }))?;
        Ok(tracked)
    }

    fn first_view(&mut self) -> Result<Duration> {
        let began = Instant::now();
        let compared = Compared::Uncommitted;
        let view = ViewId(1);
        self.tell(ChangesTask::OpenView { view, compared });
        let told = self.wait(|event| matches!(event, ChangesEvent::View { .. }))?;
        let took = began.elapsed();
        let ChangesEvent::View {
            news: ViewNews::Files(files),
            ..
        } = told
        else {
            bail!("no files were told: {told:?}");
        };
        ensure!(files.len() >= CHANGED, "{} files were told", files.len());
        Ok(took)
    }

    fn one_edit(&mut self, repository: &Path) -> Result<Duration> {
        // The watch begins after the first view is told: this waits for it.
        self.edit(repository)?;
        self.edit(repository)
    }

    fn edit(&mut self, repository: &Path) -> Result<Duration> {
        self.edits += 1;
        let text = format!("{:?} {}\n", self.session, self.edits);
        std::fs::write(repository.join("part7/of7/file7.txt"), text)?;
        let began = Instant::now();
        self.wait(|event| matches!(event, ChangesEvent::View { .. }))?;
        Ok(began.elapsed())
    }

    fn checkpoint(&mut self, round: usize) -> Result<Duration> {
        // The first one copies the index; those of a session's turns do not.
        for moment in [Moment::BeforeTurn, Moment::AfterTurn] {
            let began = Instant::now();
            self.tell(ChangesTask::Checkpoint(moment(format!("t{round}"))));
            self.wait(|event| matches!(event, ChangesEvent::Checkpointed { .. }))?;
            if matches!(moment(String::new()), Moment::AfterTurn(_)) {
                return Ok(began.elapsed());
            }
        }
        bail!("there is no other moment")
    }

    fn tell(&self, task: ChangesTask) {
        let session = self.session.clone();
        self.changes.command(ChangesCommand { session, task });
    }

    fn wait(&mut self, wanted: impl Fn(&ChangesEvent) -> bool) -> Result<ChangesEvent> {
        loop {
            let report = self.reports.recv_timeout(PATIENCE)?;
            if wanted(&report.event) {
                return Ok(report.event);
            }
        }
    }
}

impl Drop for TrackedSession {
    fn drop(&mut self) {
        self.tell(ChangesTask::Close);
    }
}

pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
