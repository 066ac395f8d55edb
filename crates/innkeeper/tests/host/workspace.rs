//! What the host does on the machine that it runs on, over a real socket:
//! real files, real ptys, real watchers, in directories of the test's own.

mod annotations;
mod changes;
mod pushing;
mod resources;
mod take_backs;
mod terminals;
mod turns;
mod virtual_resources;
mod watches;

use std::path::Path;

use innkeeper::WorkspaceOptions;
use serde_json::json;
use tempfile::TempDir;

use crate::common::{Guest, Inn, InnOptions};
use crate::stage::{Stage, until};

/// Terminals whose shell is the same wherever the test runs.
fn plain_shell(home: &Path) -> InnOptions {
    let home = home.to_string_lossy().into_owned();
    InnOptions {
        workspace: WorkspaceOptions {
            shell: Some("/bin/bash".into()),
            shell_arguments: vec!["--noprofile".to_owned(), "--norc".to_owned()],
            environment: vec![
                ("HOME".to_owned(), home),
                ("HISTFILE".to_owned(), String::new()),
            ],
            ..WorkspaceOptions::default()
        },
        ..InnOptions::default()
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

async fn session_in(guest: &Guest, directory: &Path, session: &str) {
    let params = json!({
        "channel": session, "provider": "script", "workingDirectories": [uri(directory)],
    });
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(session).await;
    until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
}

/// A session that works in a directory of its own.
async fn stage() -> (Stage, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let inn = Inn::open_with(plain_shell(directory.path())).await;
    let guest = inn.guest("a").await;
    session_in(&guest, directory.path(), "ahp-session:/w").await;
    let stage = Stage::on(inn, guest, "ahp-session:/w".to_owned()).await;
    (stage, directory)
}
