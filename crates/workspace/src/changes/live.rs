//! A kept state compared with the files as they are, brought up to date path
//! by path.
//!
//! Which files may differ is known from `git status` and, where the kept state
//! is not the last commit, from comparing that with the last commit. Whether
//! and how they differ is found out here, once for each change of a file.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::fs::Dir;
use cap_std::time::SystemTime;
use innkeeper_protocol::newest::state::ChangesetFile;
use innkeeper_protocol::workspace::lines::{Comparison, MOST_COUNTED, Steps, is_binary};

use super::blobs::Blobs;
use super::entries::{Change, Content, Names, Side};
use super::git::{GitError, GitResult, Repository, run};
use super::status::{Blob, Status, is_within};
use super::trees::{Look, compare};
use renames::Likeness;

mod renames;

/// More changed files than this are not shown.
const MOST_FILES: usize = 10_000;

/// Counting the lines of all files that are looked at together is at most this
/// much work.
const MOST_WORK: u64 = 16 * Steps::MANY.0;

/// What a live view compares with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Base {
    LastCommit,
    Kept(String),
}

/// What there is to look at.
pub(super) struct Sight<'a> {
    pub(super) repository: &'a Repository,
    pub(super) tree: &'a Dir,
    pub(super) status: &'a Status,
    pub(super) blobs: &'a mut Blobs,
    pub(super) names: &'a Names,
}

#[derive(Debug)]
pub(super) struct LiveView {
    base: Base,
    /// The last commit when `differing` was found out, which may be none.
    head: Option<Option<String>>,
    /// What the base has of the files that the last commit has otherwise.
    differing: BTreeMap<PathBuf, Option<Blob>>,
    changes: BTreeMap<PathBuf, Change>,
    /// By the kept content, and the file with what tells its content.
    likeness: HashMap<(String, String), Likeness>,
    shown: BTreeMap<String, ChangesetFile>,
}

/// What has become of a view.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Difference {
    pub(super) set: Vec<ChangesetFile>,
    pub(super) removed: Vec<String>,
}

impl Difference {
    pub(super) fn add(&mut self, other: Self) {
        self.set.extend(other.set);
        self.removed.extend(other.removed);
    }
}

impl LiveView {
    pub(super) fn new(base: Base) -> Self {
        Self {
            base,
            head: None,
            differing: BTreeMap::new(),
            changes: BTreeMap::new(),
            likeness: HashMap::new(),
            shown: BTreeMap::new(),
        }
    }

    /// Compares with something else from the next look on.
    pub(super) fn compare_with(&mut self, base: Base) {
        if self.base != base {
            self.base = base;
            self.head = None;
            self.differing.clear();
        }
    }

    pub(super) fn files(&self) -> Vec<ChangesetFile> {
        self.shown.values().cloned().collect()
    }

    /// Looks again: at these paths, or at everything.
    pub(super) fn look(
        &mut self,
        sight: &mut Sight<'_>,
        paths: Option<&BTreeSet<PathBuf>>,
    ) -> GitResult<Difference> {
        let moved = self.head.as_ref() != Some(&sight.status.head);
        if let (Base::Kept(base), true) = (&self.base, moved) {
            self.differing = differing(sight.repository, base, sight.status.head.as_deref())?;
        }
        self.head = Some(sight.status.head.clone());
        let paths = paths.filter(|_| !moved);
        let concerned = |path: &PathBuf| paths.is_none_or(|paths| is_within(path, paths));
        let candidates = sight.status.entries.keys().chain(self.differing.keys());
        let candidates: BTreeSet<PathBuf> =
            candidates.filter(|path| concerned(path)).cloned().collect();
        if candidates.len() + self.changes.len() > 2 * MOST_FILES {
            return Err(too_many());
        }
        self.changes
            .retain(|path, _| !concerned(path) || candidates.contains(path));
        let doubtful = self.doubtful(sight, &candidates);
        let same = unchanged(sight.repository, &doubtful)?;
        let steps = shared(MOST_WORK, candidates.len());
        for path in candidates {
            match self
                .change_at(sight, &path, steps)?
                .filter(|_| !same.contains(&path))
            {
                Some(change) => self.changes.insert(path, change),
                None => self.changes.remove(&path),
            };
        }
        let now = self.with_renames(sight)?;
        if now.len() > MOST_FILES {
            return Err(too_many());
        }
        Ok(self.show(now.iter().map(|change| change.told(sight.names))))
    }

    fn before(&self, status: &Status, path: &Path) -> Option<Blob> {
        match self.differing.get(path) {
            Some(blob) => blob.clone(),
            None => status.entries.get(path)?.head.clone(),
        }
    }

    /// The files of which git has not said that they differ from the base.
    fn doubtful(
        &self,
        sight: &Sight<'_>,
        candidates: &BTreeSet<PathBuf>,
    ) -> Vec<(PathBuf, String)> {
        let doubtful = candidates.iter().filter_map(|path| {
            let entry = sight.status.entries.get(path);
            let sure = entry.is_some_and(|entry| entry.differs);
            let before = self.before(sight.status, path)?;
            let there = sight.tree.symlink_metadata(path).ok()?.is_file();
            let sure = sure && !self.differing.contains_key(path);
            (there && !sure).then(|| (path.clone(), before.id))
        });
        doubtful.collect()
    }

    fn change_at(
        &self,
        sight: &mut Sight<'_>,
        path: &Path,
        steps: Steps,
    ) -> GitResult<Option<Change>> {
        let before = self.before(sight.status, path);
        let after = Present::read(sight.tree, path);
        let (old, size) = match &before {
            None => (None, None),
            Some(blob) => {
                let size = sight.blobs.size(&blob.id)?;
                let counted = size.is_some_and(|size| size <= MOST_COUNTED);
                let data = match counted {
                    true => sight.blobs.read(&blob.id)?,
                    false => None,
                };
                (data, size)
            }
        };
        let new = after.as_ref().and_then(|after| after.data.as_deref());
        if before.is_none() && after.is_none() {
            return Ok(None);
        }
        // A link that is as it was: git was not asked about those.
        let is_link = after.as_ref().is_some_and(|after| after.is_link);
        if is_link && old.is_some() && old.as_deref() == new {
            return Ok(None);
        }
        let has_nul = |data: Option<&[u8]>| data.is_some_and(is_binary);
        let binary = has_nul(old.as_deref()) || has_nul(new);
        let complete = before.is_none() == old.is_none() && after.is_none() == new.is_none();
        let lines = (complete && !binary).then(|| {
            let [old, new] = [old.as_deref(), new].map(Option::unwrap_or_default);
            let compared = Comparison::new(old, new, steps);
            (compared.added(), compared.removed())
        });
        Ok(Some(Change {
            before: before.map(|blob| Side {
                path: path.to_owned(),
                content: Content::Kept(blob),
                size,
            }),
            after: after.map(|after| Side {
                path: path.to_owned(),
                content: Content::Present(after.stamp),
                size: Some(after.size),
            }),
            lines,
            binary,
        }))
    }

    fn show(&mut self, now: impl Iterator<Item = ChangesetFile>) -> Difference {
        let now: BTreeMap<String, ChangesetFile> =
            now.map(|file| (file.id.clone(), file)).collect();
        let news = now
            .values()
            .filter(|file| self.shown.get(&file.id) != Some(file));
        let removed = self.shown.keys().filter(|id| !now.contains_key(*id));
        let difference = Difference {
            set: news.cloned().collect(),
            removed: removed.cloned().collect(),
        };
        self.shown = now;
        difference
    }
}

/// What each of some comparisons may be, so that all of them are not too much.
fn shared(work: u64, comparisons: usize) -> Steps {
    let each = work / (comparisons as u64).max(1);
    Steps(each.min(Steps::MANY.0))
}

fn too_many() -> GitError {
    GitError::Other(format!(
        "more than {MOST_FILES} files have changed, which is more than can be shown"
    ))
}

/// A file as it is.
struct Present {
    size: u64,
    stamp: String,
    is_link: bool,
    /// Unless it is large.
    data: Option<Vec<u8>>,
}

impl Present {
    fn read(tree: &Dir, path: &Path) -> Option<Self> {
        let metadata = tree.symlink_metadata(path).ok()?;
        let is_link = metadata.is_symlink();
        if !metadata.is_file() && !is_link {
            return None;
        }
        let modified = metadata.modified().ok().map(SystemTime::into_std);
        let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let stamp = format!(
            "{:x}-{:x}",
            metadata.len(),
            since.unwrap_or_default().as_nanos()
        );
        let data = match (is_link, metadata.len() <= MOST_COUNTED) {
            (true, _) => {
                let target = tree.read_link_contents(path).ok()?;
                Some(target.as_os_str().as_bytes().to_vec())
            }
            (false, true) => {
                let mut data = Vec::new();
                let file = tree.open(path).ok()?;
                file.take(MOST_COUNTED + 1).read_to_end(&mut data).ok()?;
                Some(data)
            }
            (false, false) => None,
        };
        Some(Self {
            size: metadata.len(),
            stamp,
            is_link,
            data,
        })
    }
}

fn differing(
    repository: &Repository,
    base: &str,
    head: Option<&str>,
) -> GitResult<BTreeMap<PathBuf, Option<Blob>>> {
    let empty;
    let head = match head {
        Some(head) => head,
        None => {
            empty = repository.empty_tree()?;
            &empty
        }
    };
    let changes = compare(repository, base, head, Look::Paths)?;
    let differing = changes.into_iter().filter_map(|change| {
        let path = change.path()?.clone();
        Some((path, change.before.map(|(_, blob)| blob)))
    });
    Ok(differing.collect())
}

/// Those of the files whose content git would keep under this id.
fn unchanged(repository: &Repository, files: &[(PathBuf, String)]) -> GitResult<BTreeSet<PathBuf>> {
    // One path a line: what has a line break in its name is taken as changed.
    let plain = |path: &Path| !path.as_os_str().as_bytes().contains(&b'\n');
    let files = files.iter().filter(|(path, _)| plain(path));
    let files: Vec<&(PathBuf, String)> = files.collect();
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut input = Vec::new();
    for (path, _) in &files {
        input.extend_from_slice(path.as_os_str().as_bytes());
        input.push(b'\n');
    }
    let mut git = repository.reading();
    git.args(["hash-object", "--stdin-paths"]);
    // One that has just gone or cannot be read ends it: the watcher will say
    // so, and until then all of them are taken as changed.
    let Ok(said) = run(git, Some(&input)) else {
        return Ok(BTreeSet::new());
    };
    let ids = said.split(|byte| *byte == b'\n');
    let same = files
        .into_iter()
        .zip(ids)
        .filter(|((_, before), now)| before.as_bytes() == *now);
    Ok(same.map(|((path, _), _)| path.clone()).collect())
}
