//! `innkeeper run`: one turn without a client, its answer on standard output.

use std::io::{self, IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Duration;

use ahp::Client;
use ahp::ahp_types::actions::{ChatTurnCancelledAction, ChatTurnStartedAction, StateAction};
use ahp::ahp_types::commands::{CreateSessionParams, DisposeSessionParams};
use ahp::ahp_types::state::{ErrorInfo, SessionLifecycle, SessionState};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Args, ValueHint};
use clap_complete::engine::ArgValueCompleter;
use innkeeper_agents::script;
use innkeeper_engine::COMMAND_PREFIX;
use innkeeper_protocol::ChannelUri;
use serde_json::Value;
use uuid::Uuid;

use super::background::{client_of_host, client_of_host_with_agents};
use super::client::{ConnectionLost, explained};
use super::conversation::{Conversation, Refused, chat_of, message, working_directory};
use super::decisions::{Approve, Decided, Decisions};
use super::place::PlaceArgs;
use super::report::{Ending, OutputFormat, Report};
use super::sign_in_terminal::{SignInTerminal, Typed};
use super::signals::Signals;
use super::{Failure, Outcome, completing};

/// How long a cancelled turn may take to end.
const CANCELLING: Duration = Duration::from_secs(5);

/// The largest prompt that is read from standard input.
const MOST_READ: u64 = 16 * 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  innkeeper run \"Explain what this project does\"
  innkeeper run --agent claude --approve reads Find the slowest test
  git log -5 --patch | innkeeper run --output-format json -
  innkeeper run --continue \"Now fix it\"

Exit codes: 0 complete, 1 failed, 3 a request was denied, 4 the prompt was
refused, 130 stopped with Ctrl-C; for a `!` command, that of the command.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct RunArgs {
    /// Prompt for the agent; `-` or nothing reads it from standard input
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Agent to use [default: the host's default agent]
    #[arg(short, long, value_name = "PROVIDER", env = "INNKEEPER_AGENT", hide_env_values = true, add = ArgValueCompleter::new(completing::agents))]
    agent: Option<String>,
    /// Model to use [default: the agent's choice]
    #[arg(short, long, env = "INNKEEPER_MODEL", hide_env_values = true, add = ArgValueCompleter::new(completing::models))]
    model: Option<String>,
    /// Directory that the agent works in [default: the current directory]
    #[arg(short = 'C', long = "directory", value_name = "DIR", value_hint = ValueHint::DirPath)]
    directory: Option<PathBuf>,
    /// Continue this session
    #[arg(short, long, value_name = "ID", conflicts_with_all = ["resume_latest", "agent"], add = ArgValueCompleter::new(completing::sessions))]
    session: Option<String>,
    /// Continue the most recent session in the directory
    #[arg(short = 'c', long = "continue", conflicts_with = "agent")]
    resume_latest: bool,
    /// Which tool calls to approve without asking
    #[arg(
        long,
        value_name = "WHICH",
        env = "INNKEEPER_APPROVE",
        hide_env_values = true
    )]
    approve: Option<Approve>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output_format: OutputFormat,
    #[command(flatten)]
    place: PlaceArgs,
}

pub(crate) async fn run(args: RunArgs) -> Outcome {
    let directory = working_directory(args.directory.as_deref())?;
    let prompt = prompt(&args.prompt)?;
    let mut signals = Signals::new()?;
    let client = tokio::select! {
        client = connected(&args) => client?,
        () = signals.stop() => return Err(Failure::Interrupted),
    };
    let mut turn = Turn {
        conversation: Conversation::new(client),
        decisions: Decisions::new(args.approve),
        report: Report::new(
            args.output_format,
            prompt.trim_start().starts_with(COMMAND_PREFIX),
        ),
        sign_in: SignInTerminal::default(),
        session: String::new(),
        chat: String::new(),
        id: String::new(),
        is_new: false,
    };
    let opened = tokio::select! {
        opened = turn.open(&args, &directory) => opened,
        () = signals.stop() => Err(Failure::Interrupted),
    };
    if let Err(failure) = opened {
        turn.dispose().await;
        return Err(failure);
    }
    turn.run(prompt, &args, &mut signals).await
}

/// What to ask: the words of the command line, or standard input.
fn prompt(words: &[String]) -> Result<String, Failure> {
    let said = words.join(" ");
    if !said.is_empty() && said != "-" {
        return Ok(said);
    }
    if said.is_empty() && io::stdin().is_terminal() {
        return Err(Failure::Usage(
            "say what to ask the agent, as in: innkeeper run \"Explain this project\"".to_owned(),
        ));
    }
    let mut read = String::new();
    let limited = io::stdin()
        .lock()
        .take(MOST_READ + 1)
        .read_to_string(&mut read);
    limited.context("the prompt on standard input cannot be read as text")?;
    if read.len() as u64 > MOST_READ {
        return Err(anyhow!("the prompt on standard input is larger than 16 MiB").into());
    }
    match read.trim_end() {
        "" => Err(Failure::Usage(
            "the prompt on standard input is empty; say what to ask the agent".to_owned(),
        )),
        prompt => Ok(prompt.to_owned()),
    }
}

async fn connected(args: &RunArgs) -> Result<Client> {
    match args.agent.as_deref() {
        // It is there without a look around.
        Some(script::PROVIDER) => Ok(client_of_host(&args.place).await?.0),
        _ => client_of_host_with_agents(&args.place).await,
    }
}

/// One turn, from its prompt to its end.
struct Turn {
    conversation: Conversation,
    decisions: Decisions,
    report: Report,
    sign_in: SignInTerminal,
    session: String,
    chat: String,
    id: String,
    /// The session was created for this turn.
    is_new: bool,
}

impl Turn {
    /// Finds or creates the session.
    async fn open(&mut self, args: &RunArgs, directory: &str) -> Outcome {
        let found = match &args.session {
            Some(id) => Some(self.conversation.find(id).await?),
            None if args.resume_latest => Some(self.conversation.latest_in(directory).await?),
            None => None,
        };
        self.is_new = found.is_none();
        (self.session, self.chat) = match &found {
            Some(summary) => (summary.resource.clone(), chat_of(summary)),
            None => {
                let session = format!("ahp-session:/{}", Uuid::new_v4());
                let chat = ChannelUri::default_chat_of(&session).to_string();
                (session, chat)
            }
        };
        // Turns of a session have names of their own.
        self.id = match &found {
            Some(_) => format!("turn-{}", Uuid::new_v4()),
            None => "turn-1".to_owned(),
        };
        if self.is_new {
            self.create(args, directory).await?;
        }
        let state = self.conversation.session(&self.session).await?;
        self.conversation.chat(&self.chat).await?;
        self.is_ready(state).await?;
        Ok(())
    }

    async fn create(&self, args: &RunArgs, directory: &str) -> Result<()> {
        let params = CreateSessionParams {
            channel: self.session.clone(),
            meta: None,
            provider: args.agent.clone(),
            working_directories: Some(vec![directory.to_owned()]),
            config: None,
            active_client: None,
            progress_token: None,
        };
        let client = &self.conversation.client;
        let created = client.request::<_, Value>("createSession", params);
        created.await.map_err(explained)?;
        Ok(())
    }

    /// Waits for the agent.
    async fn is_ready(&mut self, state: SessionState) -> Result<()> {
        let tools = state.server_tools.as_deref();
        self.decisions.learn_tools(tools.unwrap_or_default());
        match (state.lifecycle, state.creation_error) {
            (SessionLifecycle::Ready, _) => return Ok(()),
            (SessionLifecycle::Failed, error) => return Err(not_started(error.as_ref())),
            (SessionLifecycle::Creating | SessionLifecycle::Unknown(_), _) => {}
        }
        while let Some(envelope) = self.conversation.next().await {
            let is_ours = envelope.channel == self.session;
            match envelope.action {
                StateAction::SessionReady(_) if is_ours => return Ok(()),
                StateAction::SessionServerToolsChanged(changed) if is_ours => {
                    self.decisions.learn_tools(&changed.tools);
                }
                StateAction::SessionCreationFailed(failed) if is_ours => {
                    return Err(not_started(Some(&failed.error)));
                }
                _ => {}
            }
        }
        bail!("the connection to the host ended before the agent was ready; try again")
    }

    /// A session in which nothing was said is of no use to anyone.
    async fn dispose(&self) {
        if self.is_new && !self.session.is_empty() {
            let params = DisposeSessionParams {
                channel: self.session.clone(),
                meta: None,
            };
            let client = &self.conversation.client;
            let _ = client.request::<_, Value>("disposeSession", params).await;
        }
    }

    async fn run(mut self, prompt: String, args: &RunArgs, signals: &mut Signals) -> Outcome {
        let start = StateAction::ChatTurnStarted(ChatTurnStartedAction {
            turn_id: self.id.clone(),
            started_at: String::new(),
            message: message(prompt, args.model.clone()),
            queued_message_id: None,
            meta: None,
        });
        let chat = self.chat.clone();
        let started = tokio::select! {
            started = self.conversation.say(&chat, start) => started,
            () = signals.stop() => return self.interrupted().await,
        };
        if let Err(error) = started {
            self.dispose().await;
            let error = match error.downcast::<Refused>() {
                Ok(Refused(reason)) => {
                    let told = format!("the host refused the prompt: {reason}");
                    let ending = Ending::Refused(told);
                    return self.ended(&ending);
                }
                Err(error) => error,
            };
            return Err(error.into());
        }
        self.report.begins(&self.session, &self.id);
        let ending = tokio::select! {
            ending = self.follow() => ending?,
            () = signals.stop() => None,
        };
        match ending {
            Some(ending) => self.ended(&ending),
            None => self.interrupted().await,
        }
    }

    /// Tells what happens until the turn ends; nothing if the user stopped it.
    async fn follow(&mut self) -> Result<Option<Ending>> {
        loop {
            let envelope = tokio::select! {
                envelope = self.conversation.next() => envelope,
                (terminal, typed) = self.sign_in.typed() => match typed {
                    Typed::Leave => return Ok(None),
                    Typed::Keys(keys) => {
                        let client = &self.conversation.client;
                        SignInTerminal::pass_on(client, terminal, keys).await?;
                        continue;
                    }
                },
            };
            let Some(envelope) = envelope else {
                break;
            };
            if envelope.rejection_reason.is_some() {
                continue;
            }
            if envelope.channel == self.chat {
                let attach = self.sign_in.hears(&envelope.action);
                let ended = self.report.hears(&envelope.action);
                if ended.is_some() {
                    return Ok(ended);
                }
                if let Some((call, terminal)) = attach {
                    self.report.finish_line();
                    let state = self.conversation.terminal(&terminal).await?;
                    let client = &self.conversation.client;
                    let terminal = (call, terminal);
                    self.sign_in.attach(client, terminal, &state).await?;
                }
            } else if self.sign_in.shows(&envelope.channel, &envelope.action) {
                continue;
            } else if envelope.channel == self.session
                && !self.session_action(envelope.action).await?
            {
                return Ok(None);
            }
        }
        Err(anyhow::Error::new(ConnectionLost)
            .context("the turn continues if the host is still running; see `innkeeper sessions`"))
    }

    /// What the agent waits for is decided, in whichever chat it waits. Says
    /// whether to go on.
    async fn session_action(&mut self, action: StateAction) -> Result<bool> {
        match action {
            StateAction::SessionServerToolsChanged(changed) => {
                self.decisions.learn_tools(&changed.tools);
            }
            StateAction::SessionInputNeededRemoved(removed) => self.decisions.over(&removed.id),
            StateAction::SessionInputNeededSet(set) => {
                self.report.finish_line();
                match self.decisions.decide(set.request).await {
                    Decided::Nothing => {}
                    Decided::Interrupted => return Ok(false),
                    Decided::Say(decision) => {
                        let (word, granted) = (decision.word, decision.granted);
                        self.report.decided(&decision.request, word, granted);
                        let client = &self.conversation.client;
                        let sent = client.dispatch(decision.chat, decision.action);
                        sent.await.map_err(explained)?;
                    }
                }
            }
            _ => {}
        }
        Ok(true)
    }

    /// Cancels the turn, and waits until the host has recorded that.
    async fn interrupted(mut self) -> Outcome {
        self.report.finish_line();
        let cancel = StateAction::ChatTurnCancelled(ChatTurnCancelledAction {
            turn_id: self.id.clone(),
            duration: 0,
            meta: None,
        });
        let client = self.conversation.client.clone();
        client
            .dispatch(self.chat.clone(), cancel)
            .await
            .map_err(explained)?;
        // How it ends is of no interest.
        let _ = tokio::time::timeout(CANCELLING, self.follow()).await;
        self.report
            .ends(&self.session, &self.id, &Ending::Cancelled);
        Err(Failure::Interrupted)
    }

    fn ended(mut self, ending: &Ending) -> Outcome {
        let code = self.report.ends(&self.session, &self.id, ending);
        let told = match ending {
            Ending::Complete => None,
            Ending::Cancelled => Some("the turn was cancelled".to_owned()),
            Ending::Error(message) => Some(format!("the turn ended in an error: {message}")),
            Ending::Refused(message) => Some(message.clone()),
        };
        match (code, told) {
            (0, _) => Ok(()),
            // By somebody else: this command did not do what it was asked.
            (130, told) => Err(Failure::Told(1, told.unwrap_or_default())),
            (code, Some(told)) => Err(Failure::Told(code, told)),
            (code, None) => Err(Failure::Exit(code)),
        }
    }
}

fn not_started(error: Option<&ErrorInfo>) -> anyhow::Error {
    match error {
        Some(error) => anyhow!("the agent did not start: {}", error.message),
        None => anyhow!("the agent did not start; see `innkeeper doctor`"),
    }
}
