//! `innkeeper send`, `tail`, `approve`, `deny`, `answer`, `cancel`, `resume`,
//! `rename` and `archive`: a session from the command line.

use std::collections::HashMap;
use std::io::{self, Write as _};

use ahp::ahp_types::actions::{
    ChatInputCompletedAction, ChatPendingMessageSetAction, ChatToolCallConfirmedAction,
    ChatToolCallResultConfirmedAction, ChatTurnCancelledAction, ChatTurnResumeAction,
    ChatTurnStartedAction, SessionIsArchivedChangedAction, SessionTitleChangedAction, StateAction,
};
use ahp::ahp_types::state::{
    ChatInputQuestion, ChatInputRequest, ChatInputResponseKind, ChatState, ConfirmationOptionKind,
    PendingMessageKind, SessionInputRequest, SessionSummary, ToolCallCancellationReason,
    ToolCallConfirmationReason, ToolCallConfirmationState,
};
use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use serde_json::json;
use uuid::Uuid;

use super::background::client_of_host;
use super::control::RunningHost;
use super::conversation::{Conversation, chat_of, message};
use super::decisions::answers;
use super::done::DoneArgs;
use super::place::PlaceArgs;
use super::report::{Ending, OutputFormat, Report};
use super::serve::{Kind, Status};
use super::signals::Signals;
use super::transcript::shown_turns;
use super::{Failure, Outcome, completing, print};

/// A session, and where it is.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// The session's id or URI; at least the first four characters of the id
    #[arg(add = ArgValueCompleter::new(completing::sessions))]
    id: String,
    #[command(flatten)]
    done: DoneArgs,
    #[command(flatten)]
    place: PlaceArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Text of the message
    #[arg(required = true)]
    text: Vec<String>,
    /// Deliver the message to the running turn instead of queueing it
    #[arg(long)]
    steer: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Keep printing what happens
    #[arg(short, long)]
    follow: bool,
    /// Number of turns to print
    #[arg(short = 'n', long, value_name = "N", default_value_t = 1)]
    turns: usize,
    /// Output format; --json is short for json
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "json"
    )]
    output_format: OutputFormat,
}

#[derive(Debug, Args)]
pub(crate) struct ApproveArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Choose this request, if several are pending
    #[arg(long, value_name = "REQUEST")]
    request: Option<String>,
    /// One of the agent's own options, by its id or label
    #[arg(long, value_name = "OPTION")]
    option: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// The answer to the only question, or QUESTION=ANSWER for each
    answers: Vec<String>,
    /// Choose this request, if several are pending
    #[arg(long, value_name = "REQUEST")]
    request: Option<String>,
    /// Decline to answer
    #[arg(long, conflicts_with = "answers")]
    decline: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RenameArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// The new title
    #[arg(required = true)]
    title: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ArchiveArgs {
    #[command(flatten)]
    session: SessionArgs,
    /// Unarchive the session
    #[arg(long)]
    undo: bool,
}

/// A session that is in the hands of a command.
struct Held {
    conversation: Conversation,
    host: RunningHost,
    summary: SessionSummary,
    chat: String,
}

impl SessionArgs {
    async fn hold(&self) -> Result<Held> {
        let (client, host) = client_of_host(&self.place).await?;
        let conversation = Conversation::new(client);
        let summary = conversation.find(&self.id).await?;
        let chat = chat_of(&summary);
        Ok(Held {
            conversation,
            host,
            summary,
            chat,
        })
    }
}

impl Held {
    async fn chat(&self) -> Result<ChatState> {
        // A session that is subscribed to stays in memory.
        self.conversation.session(&self.summary.resource).await?;
        self.conversation.chat(&self.chat).await
    }

    /// Says what was done, and to which session.
    fn done(&self, done: DoneArgs, sentence: &str, mut object: serde_json::Value) -> Outcome {
        object["session"] = self.summary.resource.as_str().into();
        done.say(sentence, &object)
    }

    async fn say(&mut self, action: StateAction) -> Result<()> {
        let chat = self.chat.clone();
        self.conversation.say(&chat, action).await
    }

    async fn say_of_session(&mut self, action: StateAction) -> Result<()> {
        let session = self.summary.resource.clone();
        self.conversation.session(&session).await?;
        self.conversation.say(&session, action).await
    }

    /// A turn that no client watches needs a host that stays.
    async fn stays(&self) -> Result<()> {
        let status: Status = self.host.get("/control/status").await?;
        match status.kind {
            Kind::Temporary => bail!(
                "no host is running that could continue the turn; start one with `innkeeper \
                 up`, or use `innkeeper run --session`"
            ),
            Kind::Foreground | Kind::Background | Kind::Service => Ok(()),
        }
    }

    /// What waits for a person, or the one of these that was asked for.
    async fn waiting(
        &self,
        wanted: Option<&str>,
        fits: impl Fn(&SessionInputRequest) -> Option<&str>,
    ) -> Result<SessionInputRequest> {
        let state = self.conversation.session(&self.summary.resource).await?;
        let all = state.input_needed.unwrap_or_default();
        let mut fitting: Vec<&SessionInputRequest> = all
            .iter()
            .filter(|request| {
                fits(request).is_some_and(|id| wanted.is_none_or(|wanted| id == wanted))
            })
            .collect();
        match (fitting.pop(), fitting.is_empty()) {
            (Some(only), true) => Ok(only.clone()),
            (None, _) => bail!("no such request is pending in {}", self.summary.resource),
            (Some(last), false) => {
                let others = fitting.into_iter().chain([last]);
                let ids: Vec<&str> = others.filter_map(&fits).collect();
                bail!(
                    "several requests are pending; choose one with --request: {}",
                    ids.join(", ")
                )
            }
        }
    }
}

pub(crate) async fn send(args: SendArgs) -> Outcome {
    let mut held = args.session.hold().await?;
    held.stays().await?;
    let text = args.text.join(" ");
    let is_running = held.chat().await?.active_turn.is_some();
    let (action, done, status) = match (is_running, args.steer) {
        (false, true) => return Err(anyhow!("no turn is running; leave out --steer").into()),
        (false, false) => (
            StateAction::ChatTurnStarted(ChatTurnStartedAction {
                turn_id: format!("turn-{}", Uuid::new_v4()),
                started_at: String::new(),
                message: message(text, None),
                queued_message_id: None,
                meta: None,
            }),
            "Sent.",
            "sent",
        ),
        (true, steer) => {
            let (kind, done, status) = match steer {
                true => (
                    PendingMessageKind::Steering,
                    "Delivered to the running turn.",
                    "delivered",
                ),
                false => (
                    PendingMessageKind::Queued,
                    "Queued behind the running turn.",
                    "queued",
                ),
            };
            let set = ChatPendingMessageSetAction {
                kind,
                id: format!("message-{}", Uuid::new_v4()),
                message: message(text, None),
            };
            (StateAction::ChatPendingMessageSet(set), done, status)
        }
    };
    held.say(action).await?;
    held.done(args.session.done, done, json!({"status": status}))
}

pub(crate) async fn tail(args: TailArgs) -> Outcome {
    let mut signals = Signals::new()?;
    let mut held = args.session.hold().await?;
    let chat = held.chat().await?;
    let format = match args.session.done.is_json() {
        true => OutputFormat::Json,
        false => args.output_format,
    };
    let is_text = format == OutputFormat::Text;
    if is_text {
        print(&shown_turns(&chat, args.turns))?;
    }
    if !args.follow {
        return match is_text {
            true => Ok(()),
            false => {
                let turns = chat.turns.len().saturating_sub(args.turns);
                let turns = chat.turns.get(turns..).unwrap_or_default();
                for turn in turns {
                    print(&format!("{}\n", serde_json::to_string(turn)?))?;
                }
                Ok(())
            }
        };
    }
    let mut turn = chat.active_turn.map(|turn| turn.id).unwrap_or_default();
    let mut report = Report::new(format, false);
    loop {
        let envelope = tokio::select! {
            envelope = held.conversation.next() => envelope,
            () = signals.stop() => return Err(Failure::Interrupted),
        };
        let Some(envelope) = envelope else {
            return Err(anyhow!("the host has ended").into());
        };
        if envelope.channel != held.chat || envelope.rejection_reason.is_some() {
            continue;
        }
        if let StateAction::ChatTurnStarted(started) = &envelope.action {
            turn.clone_from(&started.turn_id);
            report = Report::new(format, false);
            report.begins(&held.summary.resource, &turn);
            if is_text {
                let said = super::text::printable(&started.message.text);
                let quoted = said.lines().map(|line| format!("> {line}\n"));
                print(&format!("\n{}\n", quoted.collect::<String>()))?;
            }
        }
        if let Some(ending) = report.hears(&envelope.action) {
            report.ends(&held.summary.resource, &turn, &ending);
            if let (true, Ending::Error(message) | Ending::Refused(message)) = (is_text, &ending) {
                let line = format!("[{}]\n", super::text::one_line(message));
                let _ = io::stderr().write_all(line.as_bytes());
            }
        }
    }
}

pub(crate) async fn approve(args: ApproveArgs) -> Outcome {
    decide(args, true).await
}

pub(crate) async fn deny(args: ApproveArgs) -> Outcome {
    decide(args, false).await
}

async fn decide(args: ApproveArgs, approved: bool) -> Outcome {
    let mut held = args.session.hold().await?;
    let request = held
        .waiting(args.request.as_deref(), |request| match request {
            SessionInputRequest::ToolConfirmation(request) => Some(&request.id),
            _ => None,
        })
        .await?;
    let SessionInputRequest::ToolConfirmation(request) = request else {
        return Ok(());
    };
    let id = request.id;
    let (what, action) = match request.tool_call {
        ToolCallConfirmationState::PendingConfirmation(call) => {
            let option = option_of(&args, call.options.as_deref().unwrap_or_default(), approved)?;
            let confirmed = ChatToolCallConfirmedAction {
                turn_id: request.turn_id,
                tool_call_id: call.tool_call_id,
                meta: None,
                approved,
                confirmed: approved.then_some(ToolCallConfirmationReason::UserAction),
                reason: (!approved).then_some(ToolCallCancellationReason::Denied),
                edited_tool_input: None,
                user_suggestion: None,
                reason_message: None,
                selected_option_id: option,
            };
            let action = StateAction::ChatToolCallConfirmed(confirmed);
            (call.display_name, action)
        }
        ToolCallConfirmationState::PendingResultConfirmation(call) => {
            let confirmed = ChatToolCallResultConfirmedAction {
                turn_id: request.turn_id,
                tool_call_id: call.tool_call_id,
                meta: None,
                approved,
            };
            let action = StateAction::ChatToolCallResultConfirmed(confirmed);
            (call.display_name, action)
        }
        ToolCallConfirmationState::Unknown(_) => {
            return Err(anyhow!("this version does not support this kind of request").into());
        }
    };
    held.chat = request.chat;
    held.chat().await?;
    held.say(action).await?;
    let done = if approved { "Approved" } else { "Denied" };
    let sentence = format!("{done}: {}.", super::text::one_line(&what));
    let object = json!({"status": done.to_lowercase(), "request": id, "toolCall": what});
    held.done(args.session.done, &sentence, object)
}

/// The agent's own option that was named.
fn option_of(
    args: &ApproveArgs,
    options: &[ahp::ahp_types::state::ConfirmationOption],
    approved: bool,
) -> Result<Option<String>> {
    let Some(wanted) = &args.option else {
        return Ok(None);
    };
    let kind = match approved {
        true => ConfirmationOptionKind::Approve,
        false => ConfirmationOptionKind::Deny,
    };
    let offered = || options.iter().filter(|option| option.kind == kind);
    let named = |label: &str| label.eq_ignore_ascii_case(wanted);
    let found = offered().find(|option| option.id == *wanted || named(&option.label));
    let labels: Vec<&str> = offered().map(|option| option.label.as_str()).collect();
    let offers = match labels.is_empty() {
        true => "leave out --option: the agent offers no options".to_owned(),
        false => format!("the agent offers: {}", labels.join(", ")),
    };
    let found = found.with_context(|| format!("unknown option `{wanted}`; {offers}"))?;
    Ok(Some(found.id.clone()))
}

pub(crate) async fn answer(args: AnswerArgs) -> Outcome {
    let mut held = args.session.hold().await?;
    let request = held
        .waiting(args.request.as_deref(), |request| match request {
            SessionInputRequest::ChatInput(request) => Some(&request.id),
            _ => None,
        })
        .await?;
    let SessionInputRequest::ChatInput(request) = request else {
        return Ok(());
    };
    let (response, answers) = match args.decline {
        true => (ChatInputResponseKind::Decline, HashMap::new()),
        false => {
            let answers = answers_to(&request.request, &args.answers)?;
            (ChatInputResponseKind::Accept, answers)
        }
    };
    held.chat = request.chat;
    held.chat().await?;
    let id = request.request.id;
    held.say(StateAction::ChatInputCompleted(ChatInputCompletedAction {
        request_id: id.clone(),
        response,
        answers: (!answers.is_empty()).then_some(answers),
    }))
    .await?;
    let (sentence, status) = match args.decline {
        true => ("Declined.", "declined"),
        false => ("Answered.", "answered"),
    };
    let object = json!({"status": status, "request": id});
    held.done(args.session.done, sentence, object)
}

/// What was given, by the questions that it is for.
fn answers_to(
    request: &ChatInputRequest,
    given: &[String],
) -> Result<HashMap<String, ahp::ahp_types::state::ChatInputAnswer>> {
    let questions = request.questions.as_deref().unwrap_or_default();
    let id_of = |question: &ChatInputQuestion| answers::asked(question).map(|it| it.id.to_owned());
    let ids: Vec<String> = questions.iter().filter_map(id_of).collect();
    let mut said = HashMap::new();
    for given in given {
        match (given.split_once('='), &ids[..]) {
            (Some((id, answer)), _) if ids.iter().any(|known| known == id) => {
                said.insert(id.to_owned(), answer.to_owned());
            }
            (_, [only]) => {
                said.insert(only.clone(), given.clone());
            }
            _ => bail!(
                "write QUESTION=ANSWER; the questions are: {}",
                ids.join(", ")
            ),
        }
    }
    let mut answered = HashMap::new();
    for question in questions {
        let Some(id) = id_of(question) else {
            continue;
        };
        let typed = said.remove(&id).unwrap_or_default();
        let value = answers::parse(question, &typed).map_err(|why| anyhow!("{id}: {why}"))?;
        if let Some(value) = value {
            answered.insert(id, answers::submitted(value));
        }
    }
    Ok(answered)
}

pub(crate) async fn cancel(args: SessionArgs) -> Outcome {
    let mut held = args.hold().await?;
    let turn = held.chat().await?.active_turn;
    let turn = turn.context("no turn is running in this session")?;
    held.say(StateAction::ChatTurnCancelled(ChatTurnCancelledAction {
        turn_id: turn.id.clone(),
        duration: 0,
        meta: None,
    }))
    .await?;
    let object = json!({"status": "cancelled", "turn": turn.id});
    held.done(args.done, "Cancelled.", object)
}

pub(crate) async fn resume(args: SessionArgs) -> Outcome {
    let mut held = args.hold().await?;
    held.stays().await?;
    let chat = held.chat().await?;
    let last = chat.turns.last().context("this session has no turns yet")?;
    let turn_id = last.id.clone();
    held.say(StateAction::ChatTurnResume(ChatTurnResumeAction {
        turn_id: turn_id.clone(),
    }))
    .await?;
    let object = json!({"status": "resumed", "turn": turn_id});
    held.done(args.done, "Resumed.", object)
}

pub(crate) async fn rename(args: RenameArgs) -> Outcome {
    let mut held = args.session.hold().await?;
    let title = args.title.join(" ");
    held.say_of_session(StateAction::SessionTitleChanged(
        SessionTitleChangedAction {
            title: title.clone(),
        },
    ))
    .await?;
    let object = json!({"status": "renamed", "title": title});
    held.done(args.session.done, "Renamed.", object)
}

pub(crate) async fn archive(args: ArchiveArgs) -> Outcome {
    let mut held = args.session.hold().await?;
    held.say_of_session(StateAction::SessionIsArchivedChanged(
        SessionIsArchivedChangedAction {
            is_archived: !args.undo,
        },
    ))
    .await?;
    let (sentence, status) = match args.undo {
        true => ("Unarchived.", "unarchived"),
        false => ("Archived.", "archived"),
    };
    held.done(args.session.done, sentence, json!({"status": status}))
}
