//! `innkeeper search`: what was said in all sessions, from a running host or
//! straight from the data directory.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::command::{Command, ExtensionCommand};
use innkeeper_workspace::uri_of_path;
use serde_json::{Value, json};

use super::client::{connect_to, explained};
use super::control::RunningHost;
use super::place::PlaceArgs;
use super::sessions::{catalogue_in, ids};
use super::{Failure, Outcome, completing, print, text};
use innkeeper::now;

const METHOD: &str = "innkeeper/searchSessions";

/// How many columns of a title are shown.
const TITLE: usize = 60;

/// How long to wait for what was said last, which a host can find about a second
/// later; and how often to look.
const INDEXING: Duration = Duration::from_secs(3);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words that occur in one turn or title; "phrases" in quotation marks
    #[arg(required = true)]
    words: Vec<String>,
    /// Only search this session: its id or URI, or the beginning of its id
    #[arg(long, short, value_name = "ID", add = ArgValueCompleter::new(completing::sessions))]
    session: Option<String>,
    /// Only search sessions of this agent
    #[arg(long, short, value_name = "AGENT", add = ArgValueCompleter::new(completing::agents))]
    agent: Option<String>,
    /// Only search sessions that work in this directory or below it
    #[arg(long, short = 'C', value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<PathBuf>,
    /// Only search archived sessions
    #[arg(long)]
    archived: bool,
    /// Only find turns that began on this day or later (a date, or a time such as
    /// 2026-03-10T18:42:03Z)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only find turns that began before this day or time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Fields to search, separated by commas [default: all but reasoning]
    #[arg(long = "in", value_name = "FIELDS", value_delimiter = ',')]
    fields: Option<Vec<Field>>,
    /// Number of results, from 1 to 50
    #[arg(long, short = 'n', value_name = "N", default_value = "20", value_parser = clap::value_parser!(u8).range(1..=50))]
    limit: u8,
    /// Continue an earlier search: its `nextCursor`, from --json
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Field {
    Title,
    Message,
    Answer,
    Tool,
    Reasoning,
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Message => "message",
            Self::Answer => "answer",
            Self::Tool => "tool",
            Self::Reasoning => "reasoning",
        }
    }
}

pub(crate) async fn search(args: SearchArgs) -> Outcome {
    let params = args.params()?;
    let page = found(&args.place, &params).await?;
    if args.json {
        return print(&(serde_json::to_string_pretty(&page)? + "\n"));
    }
    print(&shown(&page, now()))
}

impl SearchArgs {
    fn params(&self) -> Result<Value, Failure> {
        let mut params = json!({"query": self.words.join(" "), "limit": self.limit});
        let mut set = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                params[name] = value;
            }
        };
        set("session", self.session()?.map(Value::from));
        set("provider", self.agent.clone().map(Value::from));
        set("directory", self.directory()?.map(Value::from));
        set("archived", self.archived.then_some(Value::from(true)));
        set("after", time("since", self.since.as_deref())?);
        set("before", time("before", self.before.as_deref())?);
        set("cursor", self.cursor.clone().map(Value::from));
        let names = |fields: &Vec<Field>| fields.iter().map(|it| it.name()).collect();
        set("in", self.fields.as_ref().map(names));
        Ok(params)
    }

    fn session(&self) -> Result<Option<String>> {
        let Some(id) = &self.session else {
            return Ok(None);
        };
        let rows = catalogue_in(&self.place)?;
        let uris: Vec<&str> = rows.iter().map(|row| row.session.as_str()).collect();
        Ok(Some(ids::resolve(id, &uris)?.to_owned()))
    }

    fn directory(&self) -> Result<Option<String>> {
        let Some(directory) = &self.directory else {
            return Ok(None);
        };
        let uri = uri_of_path(&std::path::absolute(directory)?);
        let uri = uri.ok_or_else(|| anyhow!("{} is not a directory", directory.display()))?;
        Ok(Some(uri))
    }
}

/// A time, or the beginning of a day.
fn time(flag: &str, said: Option<&str>) -> Result<Option<Value>, Failure> {
    let Some(said) = said else {
        return Ok(None);
    };
    let at = Timestamp::parse(said).or_else(|| Timestamp::parse(&format!("{said}T00:00:00Z")));
    match at {
        Some(at) => Ok(Some(at.to_string().into())),
        None => Err(Failure::Usage(format!(
            "--{flag} needs a date such as 2026-03-10, or a time such as 2026-03-10T18:42:03Z"
        ))),
    }
}

/// The result as a host gives it.
async fn found(place: &PlaceArgs, params: &Value) -> Result<Value, Failure> {
    let raw = serde_json::value::to_raw_value(params)?;
    let query = match Command::decode(METHOD, Some(&raw)) {
        Ok(Command::Extension(ExtensionCommand::Search(query))) => query,
        Ok(_) => return Err(anyhow!("{METHOD} is not a search; this is a bug").into()),
        Err(error) => return Err(Failure::Usage(error.message)),
    };
    if let Some(running) = RunningHost::find_in(&place.data_dir()?)
        && let Ok(client) = connect_to(&running).await
    {
        let end = Instant::now() + INDEXING;
        loop {
            let page = client.request::<_, Value>(METHOD, params.clone()).await;
            let page = page.map_err(explained)?;
            if page["indexing"] != true || Instant::now() > end {
                return Ok(page);
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    let page = match place.archive()? {
        Some(archive) => archive.search(&query)?,
        None => return Ok(json!({"items": []})),
    };
    Ok(serde_json::to_value(page)?)
}

fn shown(page: &Value, now: Timestamp) -> String {
    let items = page["items"].as_array().map_or(&[][..], Vec::as_slice);
    let mut shown = String::new();
    let field = |item: &Value, name: &str| text::one_line(item[name].as_str().unwrap_or_default());
    for item in items {
        let session = field(item, "session");
        let id = ids::short(&[session.as_str()]).swap_remove(0);
        let at = Timestamp::parse(&field(item, "at")).unwrap_or_default();
        let title = text::shortened(&field(item, "sessionTitle"), TITLE);
        let ago = text::ago(at, now);
        let snippet = text::one_line(item["snippet"]["text"].as_str().unwrap_or_default());
        shown.push_str(&format!("{id}  {ago}  {title}\n    {snippet}\n"));
    }
    if items.is_empty() {
        shown.push_str("Nothing was found.\n");
    }
    let is = |name: &str| page[name] == true;
    if is("truncated") || page["nextCursor"].is_string() {
        shown.push_str("There may be more: use more words, a filter, or --limit.\n");
    }
    if is("indexing") {
        shown.push_str("Some sessions cannot be found yet: start a host, or wait a moment.\n");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_shown_without_anything_that_a_terminal_obeys() {
        let page = json!({
            "items": [{
                "session": "ahp-session:/0123456789", "sessionTitle": "A \u{1b}[31mroof",
                "at": "1970-01-01T00:00:00.000Z", "field": "answer",
                "snippet": {"text": "the oak\u{7} door", "marks": [[4, 7]]},
            }],
            "truncated": true,
        });
        let now = Timestamp::from_millis(120_000);
        assert_eq!(
            shown(&page, now),
            "01234567  2 min ago  A [31mroof\n    the oak door\n\
             There may be more: use more words, a filter, or --limit.\n"
        );
        assert_eq!(shown(&json!({"items": []}), now), "Nothing was found.\n");
    }

    #[test]
    fn a_day_begins_at_midnight() {
        let at = |said| time("since", Some(said)).ok().flatten();
        assert_eq!(at("2026-03-10"), Some("2026-03-10T00:00:00.000Z".into()));
        assert_eq!(at("2026-03-10T01:00:00+01:00"), at("2026-03-10"));
        assert!(time("since", Some("soon")).is_err());
        assert!(time("since", None).is_ok());
    }
}
