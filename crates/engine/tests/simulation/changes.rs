//! Directories here: files that change as they like. What is asked about
//! them is answered late, in any order, and now and then twice or with nonsense.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_engine::Input;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::{ChangesSummary, ChangesetFile};
use innkeeper_protocol::workspace::changes::{
    ChangesCommand, ChangesError, ChangesEvent, ChangesReport, ChangesTask, GitState,
    OperationDone, PushError, ViewId, ViewNews,
};
use serde_json::json;

use crate::rng::Rng;

/// Where sessions work, if they work anywhere.
pub(crate) const DIRECTORIES: [&str; 3] = ["file:///w", "file:///v", "file:///u"];

const FILES: [&str; 4] = ["a.rs", "b.rs", "c/d.rs", "e.png"];

/// A changeset of a session: one that there is, or one that there is not.
pub(crate) fn any_changeset(rng: &mut Rng, session: &str, turns: &[String]) -> String {
    let turn = |rng: &mut Rng| rng.pick(turns).cloned().unwrap_or_else(|| "t".to_owned());
    let view = match rng.below(10) {
        0..=2 => "uncommitted".to_owned(),
        3 => "branch".to_owned(),
        4..=6 => "session".to_owned(),
        7 | 8 => format!("turn/{}", turn(rng)),
        _ => format!("compare/{}/{}", turn(rng), turn(rng)),
    };
    format!("{}{view}", prefix(session))
}

/// What the changesets of a session begin with.
pub(crate) fn prefix(session: &str) -> String {
    format!("ahp-changeset:/{}/", URL_SAFE_NO_PAD.encode(session))
}

pub(crate) fn is_changeset(channel: &str) -> bool {
    channel.starts_with("ahp-changeset:")
}

/// What is reported of changes when something is asked for.
pub(crate) fn reports(rng: &mut Rng, command: ChangesCommand) -> Vec<Input> {
    let ChangesCommand { session, task } = command;
    let events = match task {
        ChangesTask::Open { .. } => opened(rng),
        ChangesTask::Isolate { .. } => vec![ChangesEvent::Isolated(match rng.chance(80) {
            true => Ok("file:///own".to_owned()),
            false => Err("no repository".to_owned()),
        })],
        ChangesTask::Observe(true) => (0..rng.below(3)).map(|_| git(rng)).collect(),
        ChangesTask::Checkpoint(at) => {
            let failure = rng.chance(10).then(|| "the disk is full".to_owned());
            vec![ChangesEvent::Checkpointed { at, failure }, counted(rng)]
        }
        ChangesTask::OpenView { view, .. } => {
            let count = 1 + rng.below(5);
            (0..count).map(|_| view_news(rng, view)).collect()
        }
        ChangesTask::Operate { operation, .. } => {
            let outcome = match rng.chance(75) {
                true => Ok(vec![OperationDone::FilesAsBefore(2)]),
                false => Err(ChangesError::Other("a hook said no".to_owned())),
            };
            let undo = rng.chance(60);
            vec![ChangesEvent::Operated {
                operation,
                outcome,
                undo,
            }]
        }
        ChangesTask::Cancel { operation } => {
            let outcome = Err(PushError::Cancelled.into());
            let undo = rng.chance(60);
            vec![ChangesEvent::Operated {
                operation,
                outcome,
                undo,
            }]
        }
        ChangesTask::Inherit { from, .. } => vec![ChangesEvent::Inherited { from }],
        ChangesTask::Observe(false)
        | ChangesTask::Close
        | ChangesTask::MarkLate { .. }
        | ChangesTask::Forget { .. }
        | ChangesTask::CloseView { .. } => Vec::new(),
    };
    let report = |event| {
        let session = session.clone();
        Input::Changes(ChangesReport { session, event })
    };
    events.into_iter().map(report).collect()
}

fn opened(rng: &mut Rng) -> Vec<ChangesEvent> {
    if rng.chance(10) {
        let reason = "too large".to_owned();
        return vec![ChangesEvent::Unavailable { reason }];
    }
    let (git_there, undo) = (rng.chance(75), rng.chance(30));
    let found = ChangesEvent::Found {
        git: git_there,
        has_own_work: undo,
        undo,
    };
    let mut events = vec![found];
    if git_there {
        events.push(git(rng));
    }
    events
}

fn git(rng: &mut Rng) -> ChangesEvent {
    let branch = rng.chance(80).then(|| "main".to_owned());
    let upstream = rng.chance(40).then(|| "origin/main".to_owned());
    ChangesEvent::Git(GitState {
        base: upstream.as_ref().map(|_| "main".to_owned()),
        has_own_work: upstream.is_none(),
        ahead: upstream.as_ref().map(|_| rng.below(3) as u64),
        behind: upstream.as_ref().map(|_| rng.below(3) as u64),
        branch,
        upstream,
        uncommitted: rng.below(3) as u64,
    })
}

fn counted(rng: &mut Rng) -> ChangesEvent {
    ChangesEvent::Counted(ChangesSummary {
        additions: Some(rng.below(3) as i64),
        deletions: Some(rng.below(2) as i64),
        files: Some(rng.below(3) as i64),
    })
}

fn view_news(rng: &mut Rng, view: ViewId) -> ChangesEvent {
    let news = match rng.below(10) {
        0..=3 => {
            let files = FILES.iter().filter(|_| rng.chance(50)).collect::<Vec<_>>();
            ViewNews::Files(files.into_iter().map(|name| file(rng, name)).collect())
        }
        4 => ViewNews::Files(Vec::new()),
        5 => ViewNews::Failed(ChangesError::NotKept),
        _ => {
            let set = FILES.iter().filter(|_| rng.chance(40)).collect::<Vec<_>>();
            let removed = FILES.iter().filter(|name| !set.contains(name));
            let removed: Vec<String> = removed.map(|name| uri(name)).collect();
            let removed = removed.into_iter().filter(|_| rng.chance(40)).collect();
            let set = set.into_iter().map(|name| file(rng, name)).collect();
            ViewNews::Changed { set, removed }
        }
    };
    ChangesEvent::View { view, news }
}

fn uri(name: &str) -> String {
    format!("file:///w/{name}")
}

fn file(rng: &mut Rng, name: &str) -> ChangesetFile {
    let uri = uri(name);
    let kept = json!({"uri": uri, "content": {"uri": "innkeeper-blob:/x/0a", "sizeHint": 3}});
    let present = json!({"uri": uri, "content": {"uri": uri, "nonce": rng.below(3).to_string()}});
    let mut edit = json!({"diff": {"added": rng.below(3), "removed": 0}});
    let kind = rng.below(3);
    if kind != 0 {
        edit["before"] = kept;
    }
    if kind != 1 {
        edit["after"] = present;
    }
    let mut file = json!({"id": uri, "edit": edit});
    if name.ends_with(".png") {
        file["_meta"] = json!({"binary": true});
    }
    serde_json::from_value(file).unwrap()
}

/// The session that a report is about would be gone: nobody minds.
pub(crate) fn late_news(rng: &mut Rng, session: &str) -> Input {
    Input::Changes(ChangesReport {
        session: ChannelUri::from(session),
        event: match rng.below(3) {
            0 => git(rng),
            1 => counted(rng),
            _ => {
                let view = ViewId(1 + rng.below(8) as u64);
                view_news(rng, view)
            }
        },
    })
}
