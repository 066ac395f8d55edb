//! `innkeeper backup` and `innkeeper restore`: copies of the database, and how
//! they are put back.

use std::path::PathBuf;

use anyhow::{Context as _, anyhow};
use clap::Args;
use serde_json::json;

use super::announcement::holder;
use super::control::dismiss;
use super::done::DoneArgs;
use super::place::PlaceArgs;
use super::{Outcome, text};
use innkeeper::now;

#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// File to write; it must not exist yet
    file: PathBuf,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// File that `innkeeper backup` has written
    file: PathBuf,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) fn backup(args: &BackupArgs) -> Outcome {
    let copied = innkeeper_store::backup(&args.place.local_data_dir()?, &args.file)?;
    let sentence = format!(
        "Wrote {} ({}) to {}.",
        text::count(usize::try_from(copied.sessions)?, "session"),
        text::size(copied.bytes),
        args.file.display()
    );
    let object = json!({
        "file": args.file, "sessions": copied.sessions, "bytes": copied.bytes,
    });
    args.done.say(&sentence, &object)
}

pub(crate) async fn restore(args: RestoreArgs) -> Outcome {
    let data_dir = args.place.local_data_dir()?;
    dismiss(&data_dir).await;
    if let Some(pid) = holder(&data_dir) {
        return Err(anyhow!(
            "a host is running on the data directory (process {pid}); stop it with `innkeeper \
             stop` before you restore a backup"
        )
        .into());
    }
    let file =
        std::path::absolute(&args.file).context("the current directory cannot be determined")?;
    let restored = innkeeper_store::restore(&data_dir, &file, now())?;
    let mut said = format!(
        "Restored {} ({}) from {}.",
        text::count(usize::try_from(restored.contents.sessions)?, "session"),
        text::size(restored.contents.bytes),
        args.file.display()
    );
    if let Some(replaced) = &restored.replaced {
        said += &format!("\nThe previous sessions are in {}.", replaced.display());
    }
    let object = json!({
        "file": args.file, "sessions": restored.contents.sessions,
        "bytes": restored.contents.bytes, "replaced": restored.replaced,
    });
    args.done.say(&said, &object)
}
