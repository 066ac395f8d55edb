//! A directory, a session in it, and what is reported of its changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::ChangesetFile;
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesError, ChangesEvent, ChangesReport, ChangesTask, Compared, GitState,
    Moment, Operation, OperationDone, OperationId, ViewId, ViewNews, parse_blob_uri,
};
use innkeeper_protocol::workspace::resource::ResourceDone;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::changes::ChangesSink;
use crate::{ChangesService, Hub, uri_of_path};

/// How long something may take on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn changes(data: &Path, sink: ChangesSink) -> ChangesService {
    let (own, trees) = (data.join("changes"), data.join("worktrees"));
    ChangesService::new(own, trees, Hub::default(), sink)
}

pub(super) struct Stage {
    home: TempDir,
    pub(super) data: TempDir,
    pub(super) directory: PathBuf,
    /// Further directories that the session works in.
    pub(super) others: Vec<PathBuf>,
    changes: ChangesService,
    reports: Receiver<ChangesReport>,
    views: BTreeMap<ViewId, Result<BTreeMap<String, ChangesetFile>, String>>,
    /// How often each view was told as a whole.
    pub(super) told_whole: usize,
    pub(super) git_state: Option<GitState>,
    /// Files, lines added and lines removed, as they were told last.
    pub(super) counts: Option<(i64, i64, i64)>,
    last: u64,
}

impl Stage {
    /// In a directory that is in no repository.
    pub(super) fn outside_git() -> Self {
        let home = tempfile::tempdir().unwrap();
        let directory = std::fs::canonicalize(home.path()).unwrap().join("work");
        std::fs::create_dir(&directory).unwrap();
        Self::at(home, directory)
    }

    /// In a repository with one commit.
    pub(super) fn in_git(files: &[(&str, &str)]) -> Self {
        let mut stage = Self::outside_git();
        stage.git(&["init", "--quiet", "--initial-branch=main"]);
        for (name, value) in [
            ("user.name", "Somebody"),
            ("user.email", "somebody@example.org"),
            ("commit.gpgSign", "false"),
            ("core.excludesFile", "/dev/null"),
            ("core.autocrlf", "false"),
        ] {
            stage.git(&["config", name, value]);
        }
        for (path, text) in files {
            stage.write(path, text);
        }
        stage.git(&["add", "--all"]);
        stage.git(&["commit", "--quiet", "--allow-empty", "--message", "First"]);
        stage.open();
        stage
    }

    /// In a directory below a home, whatever is there.
    pub(super) fn at(home: TempDir, directory: PathBuf) -> Self {
        let data = tempfile::tempdir().unwrap();
        let (sender, reports) = channel();
        let sender = std::sync::Mutex::new(sender);
        let sink = Arc::new(move |report| sender.lock().unwrap().send(report).is_ok());
        Self {
            home,
            changes: changes(data.path(), sink),
            data,
            directory,
            others: Vec::new(),
            reports,
            views: BTreeMap::new(),
            told_whole: 0,
            git_state: None,
            counts: None,
            last: 0,
        }
    }

    /// The changes of another host, with the same data.
    pub(super) fn next_host(&self) -> ChangesService {
        changes(self.data.path(), Arc::new(|_| true))
    }

    /// Those of this one.
    pub(super) fn this_host(&self) -> &ChangesService {
        &self.changes
    }

    /// Waits until everything is done that was asked for.
    pub(super) fn finish(&self) {
        self.changes.finish(PATIENCE);
    }

    /// A new life of the host, with the same data.
    pub(super) fn restarted(self) -> Self {
        let Self {
            home,
            data,
            directory,
            ..
        } = self;
        let mut stage = Self {
            data,
            ..Self::at(home, directory)
        };
        let (sender, reports) = channel();
        let sender = std::sync::Mutex::new(sender);
        let sink = Arc::new(move |report| sender.lock().unwrap().send(report).is_ok());
        stage.changes = changes(stage.data.path(), sink);
        stage.reports = reports;
        stage.open();
        stage
    }

    pub(super) fn session() -> ChannelUri {
        ChannelUri::from("ahp-session:/1")
    }

    /// Returns whether it is a repository, if changes can be told at all.
    pub(super) fn open(&mut self) -> Option<bool> {
        let directories = self.directories();
        self.tell(ChangesTask::Open { directories });
        self.wait(|event| match event {
            ChangesEvent::Found { git, .. } => Some(Some(*git)),
            ChangesEvent::Unavailable { .. } => Some(None),
            _ => None,
        })
    }

    /// Where the session works.
    pub(super) fn directories(&self) -> Vec<String> {
        let all = std::iter::once(&self.directory).chain(&self.others);
        all.map(|path| uri_of_path(path).unwrap()).collect()
    }

    pub(super) fn tell(&self, task: ChangesTask) {
        self.tell_other(&Self::session(), task);
    }

    /// Tells something about another session.
    pub(super) fn tell_other(&self, session: &ChannelUri, task: ChangesTask) {
        let session = session.clone();
        self.changes.command(ChangesCommand { session, task });
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git(&self.directory, args)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        let path = self.directory.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.directory.join(path)).ok()
    }

    pub(super) fn remove(&self, path: &str) {
        std::fs::remove_file(self.directory.join(path)).unwrap();
    }

    pub(super) fn begin(&mut self, turn: &str) {
        self.checkpoint(Moment::BeforeTurn(turn.to_owned()));
    }

    pub(super) fn end(&mut self, turn: &str) {
        self.checkpoint(Moment::AfterTurn(turn.to_owned()));
    }

    fn checkpoint(&mut self, moment: Moment) {
        assert_eq!(self.try_checkpoint(moment), None);
    }

    /// Returns why there is none, if there is none.
    pub(super) fn try_checkpoint(&mut self, moment: Moment) -> Option<String> {
        self.tell(ChangesTask::Checkpoint(moment.clone()));
        self.wait(|event| match event {
            ChangesEvent::Checkpointed { at, failure } if *at == moment => Some(failure.clone()),
            _ => None,
        })
    }

    pub(super) fn operate(&mut self, what: Operation) -> Result<Vec<OperationDone>, ChangesError> {
        self.last += 1;
        let operation = OperationId(self.last);
        self.tell(ChangesTask::Operate { operation, what });
        self.wait(|event| match event {
            ChangesEvent::Operated {
                operation: done,
                outcome,
                ..
            } if *done == operation => Some(outcome.clone()),
            _ => None,
        })
    }

    /// Opens a view, and waits until it is there.
    pub(super) fn view(&mut self, compared: Compared) -> ViewId {
        self.view_of(&Self::session(), compared)
    }

    pub(super) fn view_of(&mut self, session: &ChannelUri, compared: Compared) -> ViewId {
        self.last += 1;
        let view = ViewId(self.last);
        self.tell_other(session, ChangesTask::OpenView { view, compared });
        let deadline = Instant::now() + PATIENCE;
        while !self.views.contains_key(&view) {
            self.hear(deadline);
        }
        view
    }

    /// What a view shows, in short.
    pub(super) fn shown(&self, view: ViewId) -> Vec<String> {
        let files = self.views[&view].as_ref().expect("the view is there");
        files.values().map(|file| self.short(file)).collect()
    }

    /// The URIs of the files that a view has, if it has any.
    pub(super) fn files(&self, view: ViewId) -> Vec<String> {
        let files = self.views[&view].as_ref();
        files.map_or(Vec::new(), |files| files.keys().cloned().collect())
    }

    pub(super) fn failure(&self, view: ViewId) -> String {
        self.views[&view].clone().expect_err("the view failed")
    }

    /// What the host itself says about the files of a view.
    pub(super) fn metas(&self, view: ViewId) -> Vec<Value> {
        let files = self.views[&view].as_ref().expect("the view is there");
        let metas = files.values().map(|file| json!(file.meta));
        metas.map(|mut meta| meta["innkeeper"].take()).collect()
    }

    /// Waits until this is so.
    pub(super) fn until(&mut self, so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !so(self) {
            self.hear(deadline);
        }
    }

    /// Waits until a view shows this.
    pub(super) fn shows(&mut self, view: ViewId, expected: &[&str]) {
        let deadline = Instant::now() + PATIENCE;
        while self.shown(view) != expected {
            assert!(
                Instant::now() < deadline,
                "shown: {:?}, not {expected:?}",
                self.shown(view)
            );
            self.hear(deadline);
        }
    }

    /// Waits until so many files and lines are reported.
    pub(super) fn counted(&mut self, counts: (i64, i64, i64)) {
        let deadline = Instant::now() + PATIENCE;
        while self.counts != Some(counts) {
            assert!(Instant::now() < deadline, "counted: {:?}", self.counts);
            self.hear(deadline);
        }
    }

    /// Waits until git is reported to be like this.
    pub(super) fn git_is(&mut self, like: impl Fn(&GitState) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !self.git_state.as_ref().is_some_and(&like) {
            assert!(Instant::now() < deadline, "git: {:?}", self.git_state);
            self.hear(deadline);
        }
    }

    /// The content of both sides of a file in a view.
    pub(super) fn contents(&self, view: ViewId, path: &str) -> (Option<String>, Option<String>) {
        let uri = uri_of_path(&self.directory.join(path)).unwrap();
        let edit = &self.views[&view].as_ref().unwrap()[&uri].edit;
        let content = |uri: &str| {
            let Some((session, id)) = parse_blob_uri(uri) else {
                let path = uri.strip_prefix("file://").expect("a file");
                return std::fs::read_to_string(path).unwrap();
            };
            let directories = self.directories();
            let read = self.changes.read(&directories, &session, id, 1_000_000);
            let Ok(ResourceDone::Content { data, .. }) = read else {
                panic!("content: {read:?}");
            };
            String::from_utf8(data.to_vec()).unwrap()
        };
        let side = |side: &Option<innkeeper_protocol::newest::state::FileEditSide>| {
            side.as_ref().map(|side| content(&side.content.uri))
        };
        (side(&edit.before), side(&edit.after))
    }

    /// Reads all kept content that any view refers to.
    pub(super) fn read_all(&self) {
        let views = self.views.values().flatten();
        for file in views.flat_map(BTreeMap::values) {
            for side in [&file.edit.before, &file.edit.after].into_iter().flatten() {
                if let Some((session, id)) = parse_blob_uri(&side.content.uri) {
                    let _ = self
                        .changes
                        .read(&self.directories(), &session, id, 1_000_000);
                }
            }
        }
    }

    pub(super) fn branches(&self, directory: &str) -> usize {
        self.changes.branches(directory, "").len()
    }

    pub(super) fn wait<T>(&mut self, wanted: impl Fn(&ChangesEvent) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = wanted(&self.hear(deadline)) {
                return found;
            }
        }
    }

    fn hear(&mut self, deadline: Instant) -> ChangesEvent {
        let left = deadline.saturating_duration_since(Instant::now());
        let report = self.reports.recv_timeout(left).expect("a report");
        match &report.event {
            ChangesEvent::Git(state) => self.git_state = Some(state.clone()),
            ChangesEvent::Counted(counts) => {
                let number = Option::unwrap_or_default;
                self.counts = Some((
                    number(counts.files),
                    number(counts.additions),
                    number(counts.deletions),
                ));
            }
            ChangesEvent::View { view, news } => match news.clone() {
                ViewNews::Files(files) => {
                    self.told_whole += 1;
                    let files = files.into_iter().map(|file| (file.id.clone(), file));
                    self.views.insert(*view, Ok(files.collect()));
                }
                ViewNews::Changed { set, removed } => {
                    let files = self.views.get_mut(view).unwrap().as_mut().unwrap();
                    files.retain(|id, _| !removed.contains(id));
                    files.extend(set.into_iter().map(|file| (file.id.clone(), file)));
                }
                ViewNews::Failed(reason) => {
                    self.views.insert(*view, Err(reason.to_string()));
                }
            },
            _ => {}
        }
        report.event
    }

    fn short(&self, file: &ChangesetFile) -> String {
        let name = |uri: &str| {
            let mut roots = self.directories().into_iter();
            let within = roots.find_map(|root| {
                let name = uri.strip_prefix(&root)?.strip_prefix('/')?;
                Some(name.to_owned())
            });
            within.expect("within")
        };
        let (before, after) = (&file.edit.before, &file.edit.after);
        let what = match (before, after) {
            (Some(before), Some(after)) if before.uri != after.uri => {
                format!("R {} {}", name(&before.uri), name(&after.uri))
            }
            (Some(_), Some(after)) => format!("M {}", name(&after.uri)),
            (None, Some(after)) => format!("A {}", name(&after.uri)),
            (Some(before), None) => format!("D {}", name(&before.uri)),
            (None, None) => panic!("a change of nothing"),
        };
        let lines = match &file.edit.diff {
            Some(diff) => format!("+{} -{}", diff.added.unwrap(), diff.removed.unwrap()),
            None => "uncounted".to_owned(),
        };
        format!("{what} {lines}")
    }
}

pub(super) fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-C"])
        .arg(directory)
        .args(args)
        .env_remove("GIT_DIR")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
