//! What `direnv` sets in a directory. Which files it follows, the user says
//! with `direnv allow`; of any other it says that it is blocked, and sets
//! nothing.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use innkeeper_process::Group;
use tokio::io::AsyncReadExt as _;

use super::Variables;
use crate::discovery;

/// How long it may take. A file that it follows may build things.
const PATIENCE: Duration = Duration::from_secs(10);

const MOST_BYTES: u64 = 1024 * 1024;

/// What is set in a directory, and what is taken away.
pub(super) async fn changes(
    variables: &Variables,
    directory: &Path,
) -> Vec<(OsString, Option<OsString>)> {
    let mut places = directory.ancestors();
    if !places.any(|place| place.join(".envrc").is_file()) {
        return Vec::new();
    }
    let path = variables.get(OsStr::new("PATH"));
    let direnv = path.and_then(|path| discovery::which(path, Path::new("direnv")));
    let Some(direnv) = direnv else {
        return Vec::new();
    };
    let asked = tokio::time::timeout(PATIENCE, ask(&direnv, variables, directory)).await;
    let place = directory.display();
    let said = match asked {
        Ok(Ok(said)) => said,
        Ok(Err(error)) => {
            tracing::warn!(%error, %place, "direnv cannot be asked");
            return Vec::new();
        }
        Err(_) => {
            tracing::warn!(%place, "direnv took too long, and sets nothing");
            return Vec::new();
        }
    };
    // Where it has nothing to say, or may not, it says nothing.
    let set: BTreeMap<String, Option<String>> = serde_json::from_slice(&said).unwrap_or_default();
    let change = |(name, value): (String, Option<String>)| (name.into(), value.map(Into::into));
    set.into_iter().map(change).collect()
}

async fn ask(direnv: &Path, variables: &Variables, directory: &Path) -> io::Result<Vec<u8>> {
    let mut command = tokio::process::Command::new(direnv);
    command
        .args(["export", "json"])
        .env_clear()
        .envs(variables)
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let _group = Group::of(child.id());
    let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut said = Vec::new();
    output.take(MOST_BYTES).read_to_end(&mut said).await?;
    Ok(said)
}
