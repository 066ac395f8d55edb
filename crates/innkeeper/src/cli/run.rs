//! `innkeeper run`: one turn without a client, its answer on standard output.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahp::ahp_types::actions::{
    ActionEnvelope, ChatTurnCancelledAction, ChatTurnStartedAction, StateAction,
};
use ahp::ahp_types::commands::{CreateSessionParams, SubscribeParams, SubscribeResult};
use ahp::ahp_types::state::{
    ErrorInfo, Message, MessageKind, MessageOrigin, ModelSelection, ResponsePart, SessionLifecycle,
    SnapshotState, ToolResultContent,
};
use ahp::{Client, SubscriptionEvent};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use innkeeper_agents::script;
use innkeeper_engine::COMMAND_PREFIX;
use innkeeper_protocol::ChannelUri;
use innkeeper_workspace::uri_of_path;
use serde_json::Value;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::agents::Finder;
use super::announcement::Announcement;
use super::client::{connect_to, connect_within, explained};
use super::decisions::{Approve, Decisions};
use super::environment::environment;
use super::place::{PlaceArgs, host_options, opened_store};
use super::serve::Signals;
use super::{Failure, Outcome, text};
use innkeeper::Host;

/// How long a cancelled turn may take to end.
const CANCELLING: Duration = Duration::from_secs(5);

/// The turn's name; a new session has no other.
const TURN: &str = "turn-1";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// What to ask the agent
    prompt: String,
    /// The agent [default: the host's default agent]
    #[arg(short, long, value_name = "PROVIDER")]
    agent: Option<String>,
    /// The model [default: the agent's choice]
    #[arg(short, long)]
    model: Option<String>,
    /// Where the agent works [default: the current directory]
    #[arg(short = 'C', long = "directory", value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Which tool calls to approve without asking
    #[arg(long, value_name = "WHICH")]
    approve: Option<Approve>,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn run(args: RunArgs) -> Outcome {
    let directory = working_directory(args.directory.as_deref())?;
    let config = args.place.config()?;
    let data_dir = args.place.local_data_dir()?;
    let mut signals = Signals::new()?;
    if let Some(running) = Announcement::find_in(&data_dir) {
        let client = connect_to(&running).await?;
        return one_turn(&client, &args, &directory, &mut signals).await;
    }
    let environment = environment(&config);
    let options = host_options(&config, &data_dir, &environment, None)?;
    let registry = args.place.registry()?;
    let finder = Finder::new(
        config.clone(),
        registry,
        data_dir.clone(),
        environment,
        None,
    );
    let agents = match args.agent.as_deref() {
        // It is there without a look around.
        Some(script::PROVIDER) => finder.at_once(),
        _ => finder.all().await,
    };
    let store = opened_store(&config, &data_dir)?;
    let host = Host::start(options, agents?, store).await?;
    let client = connect_within(host.connect()).await?;
    let outcome = one_turn(&client, &args, &directory, &mut signals).await;
    let closed = host.shutdown().await;
    outcome?;
    Ok(closed?)
}

fn working_directory(given: Option<&Path>) -> Result<String> {
    let path = given.unwrap_or(Path::new("."));
    let found = path.canonicalize().ok().filter(|path| path.is_dir());
    let uri = found.as_deref().and_then(uri_of_path);
    uri.with_context(|| format!("there is no directory {}", path.display()))
}

async fn one_turn(
    client: &Client,
    args: &RunArgs,
    directory: &str,
    signals: &mut Signals,
) -> Outcome {
    let mut events = events_of(client);
    let mut decisions = Decisions::new(args.approve);
    let session = tokio::select! {
        created = new_session(client, args, directory, &mut events, &mut decisions) => created?,
        () = signals.next() => return Err(Failure::Interrupted),
    };
    let chat = ChannelUri::default_chat_of(&session).to_string();
    let start = StateAction::ChatTurnStarted(ChatTurnStartedAction {
        turn_id: TURN.to_owned(),
        started_at: String::new(),
        message: message(args),
        queued_message_id: None,
        meta: None,
    });
    client
        .dispatch(chat.clone(), start)
        .await
        .map_err(explained)?;
    let mut answer = Answer {
        client,
        session,
        decisions,
        is_command: args.prompt.trim_start().starts_with(COMMAND_PREFIX),
        last: None,
    };
    tokio::select! {
        ended = answer.follow(&chat, &mut events) => {
            answer.finish();
            Ok(ended?)
        }
        () = signals.next() => {
            answer.finish();
            let cancel = StateAction::ChatTurnCancelled(ChatTurnCancelledAction {
                turn_id: TURN.to_owned(),
                duration: 0,
                meta: None,
            });
            client.dispatch(chat.clone(), cancel).await.map_err(explained)?;
            // So that the host has recorded it; how it ends is of no interest.
            let ended = answer.follow(&chat, &mut events);
            let _ = tokio::time::timeout(CANCELLING, ended).await;
            Err(Failure::Interrupted)
        }
    }
}

fn message(args: &RunArgs) -> Message {
    Message {
        text: args.prompt.clone(),
        origin: MessageOrigin {
            kind: MessageKind::User,
        },
        attachments: None,
        model: args
            .model
            .clone()
            .map(|id| ModelSelection { id, config: None }),
        agent: None,
        meta: None,
    }
}

type Events = mpsc::UnboundedReceiver<ActionEnvelope>;

/// Actions in their order. They wait here rather than at the client, which
/// drops what a slow reader does not take: standard output may be slow.
fn events_of(client: &Client) -> Events {
    let mut stream = client.events();
    let (sender, receiver) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(event) = stream.recv().await {
            if let SubscriptionEvent::Action(action) = event.event
                && sender.send(action).is_err()
            {
                return;
            }
        }
    });
    receiver
}

/// Creates a session, waits for its agent, and returns its URI.
async fn new_session(
    client: &Client,
    args: &RunArgs,
    directory: &str,
    events: &mut Events,
    decisions: &mut Decisions,
) -> Result<String> {
    let session = format!("ahp-session:/{}", Uuid::new_v4());
    let params = CreateSessionParams {
        channel: session.clone(),
        meta: None,
        provider: args.agent.clone(),
        working_directories: Some(vec![directory.to_owned()]),
        config: None,
        active_client: None,
        progress_token: None,
    };
    let created = client.request::<_, Value>("createSession", params);
    created.await.map_err(explained)?;
    let state = subscribe(client, &session).await?;
    subscribe(client, ChannelUri::default_chat_of(&session).as_str()).await?;
    if let Some(SnapshotState::Session(state)) = state {
        decisions.learn_tools(state.server_tools.as_deref().unwrap_or_default());
        match (state.lifecycle, state.creation_error) {
            (SessionLifecycle::Ready, _) => return Ok(session),
            (SessionLifecycle::Failed, error) => return Err(not_started(error.as_ref())),
            (SessionLifecycle::Creating | SessionLifecycle::Unknown(_), _) => {}
        }
    }
    while let Some(envelope) = events.recv().await {
        match envelope.action {
            StateAction::SessionReady(_) if envelope.channel == session => return Ok(session),
            StateAction::SessionServerToolsChanged(changed) => {
                decisions.learn_tools(&changed.tools);
            }
            StateAction::SessionCreationFailed(failed) if envelope.channel == session => {
                return Err(not_started(Some(&failed.error)));
            }
            _ => {}
        }
    }
    bail!("the connection to the host ended before the agent was ready; try again")
}

fn not_started(error: Option<&ErrorInfo>) -> anyhow::Error {
    match error {
        Some(error) => anyhow!("the agent did not start: {}", error.message),
        None => anyhow!("the agent did not start; see `innkeeper doctor`"),
    }
}

async fn subscribe(client: &Client, channel: &str) -> Result<Option<SnapshotState>> {
    let params = SubscribeParams {
        channel: channel.to_owned(),
        meta: None,
        delivery: None,
        view: None,
    };
    let subscribed = client.request::<_, SubscribeResult>("subscribe", params);
    let result = subscribed.await.map_err(explained)?;
    Ok(result.snapshot.map(|snapshot| snapshot.state))
}

/// An answer on its way to standard output.
struct Answer<'a> {
    client: &'a Client,
    session: String,
    decisions: Decisions,
    /// The prompt is a command for a terminal: what it shows is the answer.
    is_command: bool,
    /// The last character that was printed, if any was.
    last: Option<char>,
}

impl Answer<'_> {
    /// Prints what comes until the turn ends.
    async fn follow(&mut self, chat: &str, events: &mut Events) -> Result<()> {
        while let Some(envelope) = events.recv().await {
            if envelope.channel == self.session && envelope.rejection_reason.is_none() {
                self.session_action(envelope.action).await?;
                continue;
            }
            if envelope.channel != chat {
                continue;
            }
            if let Some(reason) = envelope.rejection_reason {
                bail!("the host did not take the prompt: {reason}");
            }
            match envelope.action {
                StateAction::ChatToolCallComplete(done) => {
                    self.notice(done.result.past_tense_message.as_text());
                    if self.is_command {
                        self.output(done.result.content.as_deref().unwrap_or_default());
                    }
                }
                StateAction::ChatDelta(delta) => self.print(&delta.content),
                StateAction::ChatResponsePart(part) => self.part(&part.part),
                StateAction::ChatTurnComplete(_) => return Ok(()),
                StateAction::ChatTurnCancelled(_) => bail!("the turn was cancelled"),
                StateAction::ChatError(error) => {
                    bail!("the turn ended in an error: {}", error.part.error.message)
                }
                _ => {}
            }
        }
        bail!("the connection to the host ended before the turn did; see `innkeeper sessions`")
    }

    /// What the agent waits for is decided, in whichever chat it waits.
    async fn session_action(&mut self, action: StateAction) -> Result<()> {
        match action {
            StateAction::SessionServerToolsChanged(changed) => {
                self.decisions.learn_tools(&changed.tools);
            }
            StateAction::SessionInputNeededRemoved(removed) => self.decisions.over(&removed.id),
            StateAction::SessionInputNeededSet(set) => {
                self.finish();
                if let Some((chat, action)) = self.decisions.decide(set.request).await {
                    let sent = self.client.dispatch(chat, action);
                    sent.await.map_err(explained)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn part(&mut self, part: &ResponsePart) {
        match part {
            ResponsePart::Markdown(part) => {
                if self.last.is_some() {
                    self.finish();
                    self.print("\n");
                }
                self.print(&part.content);
            }
            ResponsePart::SystemNotification(part) => self.notice(part.content.as_text()),
            ResponsePart::ContentRef(part) => self.notice(&format!("content at {}", part.uri)),
            _ => {}
        }
    }

    /// What a command showed.
    fn output(&mut self, content: &[ToolResultContent]) {
        for block in content {
            if let ToolResultContent::Terminal(terminal) = block
                && let Some(shown) = terminal.result.as_ref().and_then(|it| it.preview.as_ref())
            {
                self.print(&shown.replace("\r\n", "\n"));
            }
        }
    }

    fn print(&mut self, piece: &str) {
        let mut out = io::stdout().lock();
        let shown = match out.is_terminal() {
            true => text::printable(piece),
            false => piece.to_owned(),
        };
        // Whoever stopped reading does not stop the turn.
        let _ = out.write_all(shown.as_bytes()).and_then(|()| out.flush());
        self.last = shown.chars().last().or(self.last);
    }

    fn notice(&mut self, notice: &str) {
        if io::stdout().is_terminal() {
            self.finish();
        }
        let _ = writeln!(io::stderr(), "{}", text::printable(notice));
    }

    /// Ends the last line.
    fn finish(&mut self) {
        if self.last.is_some_and(|last| last != '\n') {
            self.print("\n");
        }
    }
}
