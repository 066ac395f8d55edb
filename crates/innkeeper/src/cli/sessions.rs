//! `innkeeper sessions`: the catalogue, from a running host or straight from
//! the data directory.
//!
//! Transcripts are always read from the data directory, which a running host
//! keeps up to date. *Invariant*: what a running host has in its hands is
//! changed through the host only.

pub(crate) mod ids;

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;

use ahp::ahp_types::commands::DisposeSessionParams;
use anyhow::{Context as _, Result, anyhow};
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use innkeeper_protocol::newest::state::{SessionStatus, SessionSummary};
use innkeeper_protocol::record::store::DisposedRow;
use innkeeper_protocol::record::{CatalogueRow, StoreBatch, StoreOp};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};

use super::announcement::holder;
use super::client::{connect_to, explained};
use super::control::{RunningHost, dismiss};
use super::done::DoneArgs;
use super::export::{Format, export};
use super::place::PlaceArgs;
use super::transcript::{Transcript, shown};
use super::{Outcome, completing, conversation, print, text};
use innkeeper::{leftovers, now};

/// How many columns of a title are shown.
const TITLE: usize = 48;

/// More than anybody types for yes or no.
const MOST_ANSWERED: u64 = 1024;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SessionsArgs {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: ListArgs,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List sessions, most recently changed first (the default)
    List(ListArgs),
    /// Print the conversation of a session
    Show {
        #[command(flatten)]
        session: OneSession,
        /// Print JSON, like `export --format json`
        #[arg(long)]
        json: bool,
    },
    /// Print a session as Markdown or JSON
    Export {
        #[command(flatten)]
        session: OneSession,
        /// Output format
        #[arg(long, value_name = "FORMAT", default_value = "markdown")]
        format: Format,
    },
    /// Delete a session; you can restore it for some days
    Delete {
        #[command(flatten)]
        session: OneSession,
        /// Delete without asking
        #[arg(long, short)]
        yes: bool,
        #[command(flatten)]
        done: DoneArgs,
    },
    /// Restore a deleted session
    Restore {
        #[command(flatten)]
        session: OneSession,
        #[command(flatten)]
        done: DoneArgs,
    },
}

#[derive(Debug, Args)]
struct ListArgs {
    /// List deleted sessions that can still be restored
    #[arg(long)]
    disposed: bool,
    /// Print JSON: session summaries in the protocol's format
    #[arg(long)]
    json: bool,
    /// Only sessions of this agent
    #[arg(short, long, value_name = "PROVIDER", add = ArgValueCompleter::new(completing::agents))]
    agent: Option<String>,
    /// Only sessions with this status
    #[arg(short, long, value_name = "STATUS")]
    status: Option<StatusFilter>,
    /// Only sessions that work in this directory
    #[arg(short = 'C', long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<PathBuf>,
    /// Print at most this many sessions
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StatusFilter {
    Idle,
    Running,
    Waiting,
    Failed,
    Archived,
}

impl StatusFilter {
    fn fits(self, bits: u32) -> bool {
        match self {
            Self::Idle => status(bits) == "idle",
            Self::Running => status(bits) == "running",
            Self::Waiting => status(bits) == "waiting",
            Self::Failed => status(bits) == "failed",
            // Whatever else it is.
            Self::Archived => SessionStatus::from_bits(bits).contains(SessionStatus::IsArchived),
        }
    }
}

impl ListArgs {
    /// Leaves those that were asked for.
    fn filter(&self, listed: &mut Vec<Listed>) -> Result<()> {
        let directory = match &self.directory {
            Some(directory) => Some(conversation::working_directory(Some(directory))?),
            None => None,
        };
        listed.retain(|it| {
            let summary = &it.typed;
            let wanted = |filter: StatusFilter| filter.fits(summary.status);
            self.agent
                .as_ref()
                .is_none_or(|agent| summary.provider == *agent)
                && self.status.is_none_or(wanted)
                && directory
                    .as_ref()
                    .is_none_or(|directory| conversation::is_in(summary, directory))
        });
        listed.truncate(self.limit.unwrap_or(usize::MAX));
        Ok(())
    }
}

#[derive(Debug, Args)]
struct OneSession {
    /// The session's id or URI; at least the first four characters of the id
    #[arg(add = ArgValueCompleter::new(completing::sessions))]
    id: String,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn sessions(args: SessionsArgs) -> Outcome {
    match args.action.unwrap_or(Action::List(args.list)) {
        Action::List(args) => list(&args).await,
        Action::Show { session, json } => {
            let transcript = session.transcript()?;
            match json {
                true => print(&export(&transcript, Format::Json)?),
                false => print(&shown(&transcript)),
            }
        }
        Action::Export { session, format } => {
            let transcript = session.transcript()?;
            print(&export(&transcript, format)?)
        }
        Action::Delete { session, yes, done } => delete(&session, yes, done).await,
        Action::Restore { session, done } => restore(&session, done).await,
    }
}

/// A session in a list.
struct Listed {
    summary: Value,
    typed: SessionSummary,
    disposed_at: Option<Timestamp>,
}

impl Listed {
    fn stored(row: &CatalogueRow, disposed_at: Option<Timestamp>) -> Result<Self> {
        let read = |error| anyhow!("the summary of {} cannot be read: {error}", row.session);
        let json = row.summary.text();
        let json = json.map_err(|error| anyhow!("the summary of {}: {error}", row.session))?;
        let mut summary: Value = serde_json::from_str(&json).map_err(read)?;
        let typed = serde_json::from_str(&json).map_err(read)?;
        if let (Some(at), Some(object)) = (disposed_at, summary.as_object_mut()) {
            object.insert("disposedAt".to_owned(), at.to_string().into());
        }
        Ok(Self {
            summary,
            typed,
            disposed_at,
        })
    }

    fn live(typed: SessionSummary) -> Result<Self> {
        Ok(Self {
            summary: serde_json::to_value(&typed)?,
            typed,
            disposed_at: None,
        })
    }

    fn changed_at(&self) -> Timestamp {
        let modified = || Timestamp::parse(&self.typed.modified_at).unwrap_or_default();
        self.disposed_at.unwrap_or_else(modified)
    }
}

async fn list(args: &ListArgs) -> Outcome {
    let mut listed = if args.disposed {
        let rows = disposed_in(&args.place)?;
        let listed = rows
            .iter()
            .map(|row| Listed::stored(&row.row, Some(row.disposed_at)));
        listed.collect::<Result<Vec<_>>>()?
    } else {
        listed_now(&args.place).await?
    };
    args.filter(&mut listed)?;
    if args.json {
        let summaries: Vec<&Value> = listed.iter().map(|listed| &listed.summary).collect();
        return print(&(serde_json::to_string_pretty(&summaries)? + "\n"));
    }
    if listed.is_empty() {
        let what = if args.disposed {
            "deleted sessions"
        } else {
            "sessions"
        };
        return print(&format!("There are no {what}.\n"));
    }
    let when = if args.disposed { "DELETED" } else { "MODIFIED" };
    print(&table(&listed, when))
}

async fn listed_now(place: &PlaceArgs) -> Result<Vec<Listed>> {
    if let Some(running) = RunningHost::find_in(&place.data_dir()?)
        && let Ok(client) = connect_to(&running).await
    {
        let sessions = conversation::list(&client).await?;
        return sessions.into_iter().map(Listed::live).collect();
    }
    let rows = catalogue_in(place)?;
    rows.iter().map(|row| Listed::stored(row, None)).collect()
}

pub(crate) fn catalogue_in(place: &PlaceArgs) -> Result<Vec<CatalogueRow>> {
    Ok(match place.archive()? {
        Some(archive) => archive.catalogue()?,
        None => Vec::new(),
    })
}

fn disposed_in(place: &PlaceArgs) -> Result<Vec<DisposedRow>> {
    Ok(match place.archive()? {
        Some(archive) => archive.disposed()?,
        None => Vec::new(),
    })
}

fn table(listed: &[Listed], when: &str) -> String {
    let uris = listed.iter().map(|listed| listed.typed.resource.as_str());
    let ids = ids::short(&uris.collect::<Vec<_>>());
    let now = now();
    let mut rows = vec![["ID", "STATUS", "TITLE", when, "AGENT", "DIRECTORY"].map(str::to_owned)];
    rows.extend(listed.iter().zip(ids).map(|(listed, id)| {
        let summary = &listed.typed;
        let title = text::shortened(&text::one_line(&summary.title), TITLE);
        let status = status(summary.status).to_owned();
        let when = text::ago(listed.changed_at(), now);
        let agent = text::one_line(&summary.provider);
        [id, status, title, when, agent, directory_of(summary)]
    }));
    text::table(&rows)
}

/// The first directory that a session works in, as people write it.
fn directory_of(summary: &SessionSummary) -> String {
    let first = summary.working_directories.iter().flatten().next();
    let Some(uri) = first else {
        return String::new();
    };
    let path = text::place(uri);
    let home =
        directories::BaseDirs::new().and_then(|dirs| Some(dirs.home_dir().to_str()?.to_owned()));
    let short = home.and_then(|home| {
        let rest = path.strip_prefix(&home)?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("~{rest}"))
    });
    short.unwrap_or(path)
}

fn status(bits: u32) -> &'static str {
    let status = SessionStatus::from_bits(bits);
    let words = [
        (SessionStatus::InputNeeded, "waiting"),
        (SessionStatus::InProgress, "running"),
        (SessionStatus::Error, "failed"),
        (SessionStatus::IsArchived, "archived"),
    ];
    let word = words.iter().find(|(flag, _)| status.contains(*flag));
    word.map_or("idle", |(_, word)| word)
}

impl OneSession {
    fn transcript(&self) -> Result<Transcript> {
        let archive = self.place.archive()?;
        let rows = match &archive {
            Some(archive) => archive.catalogue()?,
            None => Vec::new(),
        };
        let session = self.find(&rows)?;
        let archive = archive.context("there are no sessions")?;
        Transcript::load(&*archive, &session)
    }

    fn find(&self, rows: &[CatalogueRow]) -> Result<ChannelUri> {
        let uris: Vec<&str> = rows.iter().map(|row| row.session.as_str()).collect();
        ids::resolve(&self.id, &uris).map(ChannelUri::from)
    }
}

async fn delete(args: &OneSession, yes: bool, done: DoneArgs) -> Outcome {
    let data_dir = args.place.data_dir()?;
    let config = args.place.config()?;
    let rows = catalogue_in(&args.place)?;
    let session = args.find(&rows)?;
    let row = rows.iter().find(|row| row.session == session);
    // Scripts know what they do.
    if let (Some(row), false, true) = (row, yes, io::stdin().is_terminal()) {
        let title = Listed::stored(row, None)?.typed.title;
        let title = text::shortened(&text::one_line(&title), TITLE);
        let question = format!("Delete \"{title}\" ({session})? [y/N] ");
        if !is_yes(&asked(&question)?) {
            return Err(anyhow!("nothing was deleted").into());
        }
    }
    if let Some(running) = RunningHost::find_in(&data_dir) {
        let client = connect_to(&running).await?;
        let params = DisposeSessionParams {
            channel: session.to_string(),
            meta: None,
        };
        let disposed = client.request::<_, Value>("disposeSession", params);
        disposed.await.map_err(explained)?;
    } else {
        let mut store = args.place.store(&config)?;
        let ops = vec![StoreOp::DisposeSession {
            session: session.clone(),
            at: now(),
        }];
        store.apply(&[StoreBatch { ops }])?;
        // While the store is open, no host begins.
        if config.workspace.options().changes {
            let sessions = store.archive()?.catalogue()?;
            leftovers::remove(&data_dir, &leftovers::find(&data_dir, sessions));
        }
        store.close()?;
    }
    let days = config.store.keep_disposed_days;
    let sentence = format!(
        "Deleted {session}. You can restore it for {} with `innkeeper sessions restore`.",
        text::days(days)
    );
    let object = json!({
        "status": "deleted", "session": session.as_str(), "restorableDays": days,
    });
    done.say(&sentence, &object)
}

/// Asks whoever is at the terminal.
fn asked(question: &str) -> io::Result<String> {
    let mut out = io::stderr().lock();
    write!(out, "{}", text::printable(question))?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin()
        .lock()
        .take(MOST_ANSWERED)
        .read_line(&mut answer)?;
    Ok(answer)
}

fn is_yes(answer: &str) -> bool {
    let answer = answer.trim();
    ["y", "yes"]
        .iter()
        .any(|yes| answer.eq_ignore_ascii_case(yes))
}

async fn restore(args: &OneSession, done: DoneArgs) -> Outcome {
    let data_dir = args.place.data_dir()?;
    dismiss(&data_dir).await;
    let config = args.place.config()?;
    let disposed = disposed_in(&args.place)?;
    let rows: Vec<CatalogueRow> = disposed.into_iter().map(|disposed| disposed.row).collect();
    let session = args.find(&rows)?;
    if let Some(pid) = holder(&data_dir) {
        return Err(anyhow!(
            "a host is running on the data directory (process {pid}); stop it with `innkeeper \
             stop` before you restore a session"
        )
        .into());
    }
    let mut store = args.place.store(&config)?;
    let restored = store.restore(&session)?;
    store.close()?;
    let session = restored
        .then_some(session)
        .context("the session was deleted too long ago; it can no longer be restored")?;
    let object = json!({"status": "restored", "session": session.as_str()});
    done.say(&format!("Restored {session}."), &object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_means_yes() {
        for (answer, meant) in [
            ("y\n", true),
            (" YES \n", true),
            ("\n", false),
            ("", false),
            ("n\n", false),
            ("yep\n", false),
        ] {
            assert_eq!(is_yes(answer), meant, "{answer:?}");
        }
    }

    #[test]
    fn the_most_pressing_status_is_named() {
        assert_eq!(status(1 | 32), "idle");
        assert_eq!(status(8), "running");
        assert_eq!(status(24 | 32), "waiting");
        assert_eq!(status(2), "failed");
        assert_eq!(status(1 | 64), "archived");
    }
}
