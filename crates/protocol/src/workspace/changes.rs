//! Changes in a session's working directory: what the engine wants to know of
//! them, and what is reported. A *view* compares two states of the directory;
//! a *checkpoint* is a state that was kept.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::ChannelUri;
use crate::channel::path_segment;
use crate::newest::state::{ChangesSummary, ChangesetFile};

/// The scheme of content as it was at some time: `innkeeper-blob:/SESSION/ID`.
pub const BLOB_SCHEME: &str = "innkeeper-blob:";

/// One view. The engine gives these out, each only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ViewId(pub u64);

/// One operation on files, likewise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OperationId(pub u64);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangesCommand {
    pub session: ChannelUri,
    pub task: ChangesTask,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangesTask {
    /// The session works in these directories, `file:` URIs. Answered with
    /// [`ChangesEvent::Found`] or [`ChangesEvent::Unavailable`].
    Open {
        directories: Vec<String>,
    },
    /// Make the session a working tree of its own, of the repository that this
    /// directory is in. Answered with [`ChangesEvent::Isolated`].
    Isolate {
        directory: String,
        /// Where it begins; the present commit, if nothing is said.
        branch: Option<String>,
    },
    /// The session leaves memory; what was kept stays.
    Close,
    /// The session is gone, and its checkpoints with it; these working trees
    /// too, in which nobody works any more, unless something would be lost.
    Forget {
        directories: Vec<String>,
        trees: Vec<String>,
    },
    /// The session is a copy of another one, or took over a chat of it: these
    /// turns and their checkpoints are its own too. Answered with [`ChangesEvent::Inherited`].
    Inherit {
        from: ChannelUri,
        /// Where that one works.
        directories: Vec<String>,
        turns: Vec<String>,
    },
    /// Somebody follows the session, or nobody any more.
    Observe(bool),
    /// Keep the present state. Answered with [`ChangesEvent::Checkpointed`].
    Checkpoint(Moment),
    /// The state before this turn may hold some of what the turn itself did.
    MarkLate {
        turn: String,
    },
    OpenView {
        view: ViewId,
        compared: Compared,
    },
    CloseView {
        view: ViewId,
    },
    Operate {
        operation: OperationId,
        what: Operation,
    },
    /// Nobody waits for an operation any more. One that speaks to a remote is
    /// ended; others take a moment.
    Cancel {
        operation: OperationId,
    },
}

/// When a state was kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Moment {
    BeforeTurn(String),
    AfterTurn(String),
}

/// What a view compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Compared {
    /// The last commit with the files as they are.
    Uncommitted,
    /// The commit at which the branch began with the files as they are.
    Branch,
    /// The beginning of the session with the files as they are.
    Session,
    /// The beginning of a turn with its end, or while it runs with the files
    /// as they are.
    Turn(String),
    /// The end of one turn with the end of another.
    Turns { original: String, modified: String },
}

/// What can be done about changes. Each is preceded by a checkpoint, to which
/// `Undo` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// Returns files (`file:` URIs, all if there are none) to what the view
    /// compares them with.
    Discard {
        of: Compared,
        files: Vec<String>,
    },
    /// Returns the changes that touch some lines to what the view compares them
    /// with.
    DiscardLines {
        of: Compared,
        lines: Lines,
    },
    /// Returns files to what they were at that moment.
    Restore {
        to: Moment,
        files: Vec<String>,
    },
    /// Returns all files to what they were before a turn. What they are now is
    /// kept under this name, unless something is: then this goes on with what
    /// was broken off.
    TakeBack {
        turn: String,
        kept_as: String,
    },
    /// Returns all files to what was kept under this name.
    UndoTakeBack {
        kept_as: String,
    },
    Commit {
        message: String,
    },
    /// Takes back the last of these.
    Undo,
    /// Brings what the session has changed in its own working tree into another
    /// directory of the same repository, a `file:` URI: all of it, or nothing.
    BringInto {
        directory: String,
    },
    /// Pushes the branch that is checked out.
    Push,
    /// Pushes it and asks for it to be merged. The first line of the message is
    /// the title.
    CreatePullRequest {
        message: String,
    },
}

/// Lines of a file that has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    /// What the file is called now, and what it was called: `file:` URIs.
    pub file: String,
    pub file_before: String,
    /// They are counted in what the file was, not in what it is.
    pub counted_before: bool,
    /// From 0, without the end.
    pub range: std::ops::Range<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChangesReport {
    pub session: ChannelUri,
    pub event: ChangesEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ChangesEvent {
    /// Changes can be told. If any of the directories is in a git repository,
    /// there are commits to compare with; elsewhere, checkpoints only.
    Found {
        git: bool,
        /// See [`GitState::has_own_work`].
        has_own_work: bool,
        undo: bool,
    },
    /// No changes can be told here, and why.
    Unavailable {
        reason: String,
    },
    /// Where the session works from now on, a `file:` URI; or why it cannot.
    Isolated(Result<String, String>),
    /// What git says about the directory now.
    Git(GitState),
    Checkpointed {
        at: Moment,
        failure: Option<String>,
    },
    /// What was asked for with [`ChangesTask::Inherit`] is done.
    Inherited {
        from: ChannelUri,
    },
    /// How much has changed since the session began.
    Counted(ChangesSummary),
    View {
        view: ViewId,
        news: ViewNews,
    },
    Operated {
        operation: OperationId,
        /// What it did, in each directory that it concerned.
        outcome: Result<Vec<OperationDone>, ChangesError>,
        /// Whether there is something to undo now.
        undo: bool,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum ViewNews {
    /// All files of the view.
    Files(Vec<ChangesetFile>),
    Changed {
        set: Vec<ChangesetFile>,
        /// By id.
        removed: Vec<String>,
    },
    Failed(ChangesError),
}

/// What an operation did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OperationDone {
    /// So many files are as before.
    FilesAsBefore(usize),
    /// So many places of one file are as before.
    PlacesAsBefore(usize),
    /// So many files are as they were at the moment that was asked for.
    FilesAsThen(usize),
    /// What git calls the new commits.
    Committed(Vec<String>),
    CommitTakenBack,
    /// So many files of another directory have the changes now.
    Brought(usize),
    Sent(Sent),
}

/// What speaking to a remote did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sent {
    Pushed(Pushed),
    /// There is one now, or there was one already.
    PullRequest {
        url: String,
        is_new: bool,
    },
    /// The branch is pushed, and this page is where the rest is done, if one is
    /// known.
    PullRequestPage {
        url: Option<String>,
        why: NoPullRequest,
    },
}

/// What was pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pushed {
    pub branch: String,
    pub remote: String,
    /// The remote had all of it before.
    pub is_up_to_date: bool,
    /// The repository has a `pre-push` hook, which was not run.
    pub hook_left_out: bool,
    /// Where the remote shows it.
    pub page: Option<String>,
}

/// Why the host did not ask for a branch to be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoPullRequest {
    /// It knows how to ask GitHub only.
    NotGitHub,
    GhMissing,
    GhNotSignedIn,
    /// What `gh` said.
    GhFailed(String),
}

/// Why changes cannot be told, or nothing can be done about them. The engine
/// says so in the user's language, but for what others say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChangesError {
    #[error("this directory is in no git repository")]
    NoRepository,
    #[error("the files were not kept at that time")]
    NotKept,
    #[error("`{0}` is outside of the session")]
    Outside(String),
    #[error("nothing has changed in these lines")]
    NothingThere,
    #[error(
        "this file can only be discarded as a whole: it is binary, too large or too different \
         from what it was"
    )]
    WholeFileOnly,
    #[error("there are newer commits; the commit cannot be taken back")]
    NewerCommits,
    #[error(
        "lines that this session has changed have changed there, too (see {}); commit both, and \
         merge them with git", .0.join(", ")
    )]
    Conflicts(Vec<String>),
    #[error("the working tree was not made from the repository of that directory")]
    OtherRepository,
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("there is nothing to commit")]
    NothingToCommit,
    #[error(transparent)]
    Push(#[from] PushError),
    #[error("{0}")]
    Other(String),
}

/// Why something was not pushed, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PushError {
    #[error("no branch is checked out; make one with `git switch -c NAME`")]
    NoBranch,
    #[error("this repository has no remote; add one with `git remote add origin ADDRESS`")]
    NoRemote,
    #[error("a push of this session is running already; wait for its end")]
    Busy,
    #[error(
        "the remote has commits of `{0}` that are not here; get them with `git pull` and push again"
    )]
    NotFastForward(String),
    #[error("the remote refused it: {0}")]
    Refused(String),
    #[error(
        "the remote wants a sign-in ({0}); set up a credential helper or an SSH key in your own \
         configuration, so that `git push` works without a question"
    )]
    SignInNeeded(String),
    #[error("the remote cannot be reached ({0}); check its address with `git remote -v`")]
    NotReached(String),
    #[error(
        "the remote `{0}` is within the directory of the session, so its hooks would run; push to \
         it from a terminal"
    )]
    Inside(String),
    #[error("this repository pushes through git LFS, which is not run here; use a terminal")]
    Lfs,
    #[error("`{0}` is the branch to merge into; make another one with `git switch -c NAME`")]
    OnBase(String),
    #[error("no client waits for it any more, so it was stopped")]
    Cancelled,
}

/// The state of a repository, as far as a session's clients see it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitState {
    /// `None` if no branch is checked out.
    pub branch: Option<String>,
    pub upstream: Option<String>,
    /// Commits that the upstream branch does not have.
    pub ahead: Option<u64>,
    /// Commits that only the upstream branch has.
    pub behind: Option<u64>,
    /// Files with uncommitted changes.
    pub uncommitted: u64,
    /// The branch that work goes back to, `main` for instance.
    pub base: Option<String>,
    /// Another branch than the base is checked out, or commits that the base
    /// does not have.
    pub has_own_work: bool,
}

/// Where content of an earlier state of a session's directory is read. The
/// file's name is for clients, who call it that and colour it accordingly.
pub fn blob_uri(session: &ChannelUri, id: &str, name: &str) -> String {
    let session = URL_SAFE_NO_PAD.encode(session.as_str());
    let name = path_segment(name);
    match name.as_str() {
        "" => format!("{BLOB_SCHEME}/{session}/{id}"),
        name => format!("{BLOB_SCHEME}/{session}/{id}/{name}"),
    }
}

/// The session and the id of such a URI.
pub fn parse_blob_uri(uri: &str) -> Option<(ChannelUri, &str)> {
    let rest = uri.strip_prefix(BLOB_SCHEME)?.strip_prefix('/')?;
    let (session, id) = rest.split_once('/')?;
    // The first release gave no name.
    let id = id.split_once('/').map_or(id, |(id, _)| id);
    let session = URL_SAFE_NO_PAD.decode(session).ok()?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let session = String::from_utf8(session).ok()?;
    is_id.then(|| (ChannelUri::from(session), id))
}

/// Any text, a session's name for instance, as one component of a ref or a
/// path. Long ones are cut, and told apart by a sum of the rest.
pub fn component(text: &str) -> String {
    const MOST: usize = 120;
    let mut name = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            // Not every file system tells upper case from lower.
            _ => name.push_str(&format!("_{byte:02x}")),
        }
    }
    if name.is_empty() || name.starts_with('-') {
        name.insert(0, '_');
    }
    if name.len() > MOST {
        // FNV-1a: the name must be the same in every version of this program.
        let sum = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        name.truncate(MOST);
        name.push_str(&format!("_{sum:016x}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_name() {
        assert_eq!(component("ahp-session:/1"), "ahp-session_3a_2f1");
        assert_eq!(component("A.lock"), "_41_2elock");
        assert_eq!(component("-x"), "_-x");
        let (a, b) = (format!("{:0300}", 1), format!("{:0300}", 2));
        assert_ne!(component(&a), component(&b));
        assert!(component(&a).len() < 150);
    }

    #[test]
    fn a_blob_uri_names_its_session_and_nothing_but_an_id() {
        let session = ChannelUri::from("ahp-session:/1");
        let uri = blob_uri(&session, "0a9f", "a file?.rs");
        assert!(uri.ends_with("/0a9f/a%20file%3F.rs"), "{uri}");
        assert_eq!(parse_blob_uri(&uri), Some((session.clone(), "0a9f")));
        let unnamed = uri.rsplit_once('/').map(|(unnamed, _)| unnamed);
        assert_eq!(unnamed.and_then(parse_blob_uri), Some((session, "0a9f")));
        for other in [
            "innkeeper-blob:/x",
            "innkeeper-blob:/YQ/--help",
            "file:///x",
        ] {
            assert_eq!(parse_blob_uri(other), None, "{other}");
        }
    }
}
