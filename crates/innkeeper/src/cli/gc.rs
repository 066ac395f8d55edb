//! `innkeeper gc`: frees what nobody needs any more, or says how much that is.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::anyhow;
use clap::Args;
use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{DATABASE_FILE, SqliteStore};
use serde_json::json;

use super::announcement::holder;
use super::control::dismiss;
use super::done::DoneArgs;
use super::garbage::Garbage;
use super::place::PlaceArgs;
use super::{Outcome, text};
use crate::config::Config;
use innkeeper::{leftovers, now};

#[derive(Debug, Args)]
pub(crate) struct GcArgs {
    /// Only print what would be freed; this also works while a host is running
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn gc(args: GcArgs) -> Outcome {
    let data_dir = args.place.local_data_dir()?;
    let config = args.place.config()?;
    if !args.dry_run {
        dismiss(&data_dir).await;
    }
    if let Some(pid) = holder(&data_dir).filter(|_| !args.dry_run) {
        return Err(anyhow!(
            "a host is running on the data directory (process {pid}); stop it with `innkeeper \
             stop` first, or use --dry-run to see what would be freed"
        )
        .into());
    }
    let garbage = Garbage::find(&config, &data_dir)?;
    if garbage.is_nothing() {
        let object = json!({"dryRun": args.dry_run, "bytes": 0});
        return args.done.say("There is nothing to free.", &object);
    }
    if args.dry_run {
        let said = told(&garbage, &config);
        let sentence = format!(
            "{said}At least {} would be freed.",
            text::size(garbage.bytes())
        );
        let object = json!({"dryRun": true, "bytes": garbage.bytes()});
        return args.done.say(&sentence, &object);
    }
    let said = told(&garbage, &config);
    let (freed, stay) = remove(garbage, &config, &data_dir)?;
    let object = json!({"dryRun": false, "bytes": freed, "workingTreesKept": stay});
    let stays = if stay == 1 { "stays" } else { "stay" };
    let stay = match stay {
        0 => String::new(),
        _ => format!(
            "{} {stays}, with work that exists nowhere else; see {}.\n",
            text::count(stay, "working tree"),
            data_dir.join("worktrees").display()
        ),
    };
    let sentence = format!("{said}{stay}Freed {}.", text::size(freed));
    args.done.say(&sentence, &object)
}

/// What there is, a line for each kind.
fn told(garbage: &Garbage, config: &Config) -> String {
    let Garbage {
        leftovers,
        leftover_bytes,
        expired,
        free_bytes,
        files,
        file_bytes,
    } = garbage;
    let mut lines = String::new();
    let mut line = |is_any: bool, what: String| {
        if is_any {
            lines.push_str(&format!("- {what}\n"));
        }
    };
    line(
        !leftovers.kept.is_empty(),
        format!(
            "file checkpoints of {}, in the data directory and in repositories ({})",
            text::count(leftovers.kept.len(), "deleted session"),
            text::size(*leftover_bytes)
        ),
    );
    line(
        !leftovers.trees.is_empty(),
        format!(
            "{} of deleted sessions, except those with work that exists nowhere else",
            text::count(leftovers.trees.len(), "working tree")
        ),
    );
    line(
        !expired.is_empty(),
        format!(
            "{} deleted more than {} ago",
            text::count(expired.len(), "session"),
            text::days(config.store.keep_disposed_days)
        ),
    );
    line(
        *free_bytes > 0,
        format!("unused space in the database ({})", text::size(*free_bytes)),
    );
    line(
        !files.is_empty(),
        format!(
            "{} of interrupted processes ({})",
            text::count(files.len(), "file"),
            text::size(*file_bytes)
        ),
    );
    lines
}

/// Returns how many bytes that freed, and how many working trees stay.
fn remove(garbage: Garbage, config: &Config, data_dir: &Path) -> anyhow::Result<(u64, usize)> {
    // Whoever holds it keeps hosts out.
    let mut store = SqliteStore::open(data_dir, config.store.options(now()))?;
    leftovers::remove(data_dir, &garbage.leftovers);
    for session in &garbage.expired {
        store.delete(session)?;
    }
    for file in &garbage.files {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    let shrunk = match garbage.free_bytes > 0 || !garbage.expired.is_empty() {
        true => store.shrink()?,
        false => 0,
    };
    let database = data_dir.join(DATABASE_FILE);
    Box::new(store).close().map_err(|error| {
        anyhow!(
            "the database {} was not closed: {error}",
            database.display()
        )
    })?;
    let left = Garbage::find(config, data_dir)?;
    let freed = garbage.leftover_bytes.saturating_sub(left.leftover_bytes);
    let stay = left.leftovers.trees.len();
    Ok((freed + garbage.file_bytes + shrunk, stay))
}
