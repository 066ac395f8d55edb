//! A conversation from its opening to its end: the loop in which commands of
//! the engine, words of the agent and the passing of time take turns.
//!
//! *Invariant*: whatever the engine is told about the end of the conversation
//! is the last that it hears, and it is told exactly once, unless it has closed
//! the conversation itself.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{
    AgentCommand, AgentEnd, AgentEvent, AgentFailure, AgentNotice, NotTakenUp, OpenBackend,
    PastTurn,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::PendingMessage;
use tokio::time::Instant;

use super::inbox::Inbox;
use super::turns::Turn;
use super::{Access, Opened, Speech, Start, Told};
use crate::process::ChildProcess;
use crate::transcript::Transcript;
use crate::{CommandStream, EventSink};

/// How long the last words of an agent may be on their way when it is gone.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub(crate) struct Conversation<S: Speech> {
    pub(crate) access: Access,
    pub(crate) speech: S,
    pub(crate) session: S::Session,
    pub(crate) events: EventSink,
    pub(crate) transcript: Transcript,
    /// The values that the session should have.
    pub(crate) config: JsonObject,
    pub(crate) turn: Option<Turn<S::Turn>>,
    /// What the user is told when the next turn begins.
    pub(crate) notices: Vec<AgentNotice>,
    /// The agent remembers what was said before.
    pub(crate) remembers: bool,
    /// Nobody will want this conversation again.
    pub(crate) forget: bool,
    pub(crate) process: ChildProcess,
    pub(crate) inbox: Inbox,
    /// The agent knows more than it should: the next turn is told to a new one.
    pub(super) begins_anew: bool,
    /// A message for the turn that runs, about which the agent makes up its
    /// mind.
    pub(super) steering: Option<PendingMessage>,
    /// When the agent last said something.
    pub(super) heard: Instant,
    pub(super) told_of_silence: bool,
}

/// Why there is no new process.
#[derive(Debug)]
pub(crate) enum NotOpened {
    Failed(AgentFailure),
    /// Likewise, because a person did not want to sign in.
    Declined(AgentFailure),
    /// The turn that it was for was cancelled meanwhile.
    Cancelled,
    /// The engine has closed the conversation meanwhile.
    Closed,
}

/// What is to follow on the end of a process.
enum Next {
    GoOn,
    /// Nothing; the engine is told this.
    End(Option<AgentEvent>),
}

impl<S: Speech> Conversation<S> {
    /// Opens a conversation and says so, or why that is not possible.
    pub(super) async fn open(
        access: Access,
        mut speech: S,
        open: OpenBackend,
        mut commands: CommandStream,
        events: EventSink,
    ) -> Option<Self> {
        for credential in &open.credentials {
            access.take_token(credential);
        }
        let mut early = VecDeque::new();
        let alone = access.knowledge.alone_at_first(access.patience.opening);
        let opening = async {
            let _alone = alone.await;
            speech.open(&access, Start::AsAsked).await
        };
        let opened = tokio::select! {
            opened = opening => opened,
            () = commands.until_closed(&mut early) => return None,
        };
        let opened = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                access.knowledge.failed(failure.to_string());
                events.emit(AgentEvent::OpenFailed(failure)).await;
                return None;
            }
        };
        let mut conversation = Self {
            access,
            speech,
            session: opened.session,
            events,
            transcript: Transcript::new(&open.transcript),
            config: open.config,
            turn: None,
            notices: Vec::new(),
            remembers: opened.remembers,
            forget: false,
            process: opened.process,
            begins_anew: false,
            steering: None,
            heard: Instant::now(),
            told_of_silence: false,
            inbox: Inbox::new(commands, early),
        };
        conversation.note_forgotten(opened.forgotten);
        conversation.recount(opened.past).await;
        conversation.opened().await;
        S::configure(&mut conversation);
        Some(conversation)
    }

    /// Serves the engine until it, or the agent, has had enough.
    pub(super) async fn live(mut self) {
        while !self.inbox.closed {
            let alarm = self.alarm();
            let sleep = tokio::time::sleep_until(alarm.unwrap_or_else(Instant::now));
            let next = tokio::select! {
                biased;
                command = self.inbox.next() => {
                    self.command(command).await;
                    Next::GoOn
                }
                said = self.speech.next(&mut self.session) => match said {
                    Some(said) => {
                        self.hear(said).await;
                        self.sign_in_if_refused().await;
                        Next::GoOn
                    }
                    None => self.process_ended().await,
                },
                () = self.process.exited() => {
                    while let Ok(Some(last)) =
                        tokio::time::timeout(LAST_WORDS, self.speech.next(&mut self.session)).await
                    {
                        self.hear(last).await;
                    }
                    self.process_ended().await
                }
                () = sleep, if alarm.is_some() => {
                    self.alarmed().await;
                    Next::GoOn
                }
            };
            if let Next::End(last_word) = next {
                self.process.end(self.access.patience.ending).await;
                if let Some(last_word) = last_word {
                    self.events.emit(last_word).await;
                }
                return;
            }
        }
        S::farewell(&mut self.session, self.forget).await;
        self.process.end(self.access.patience.ending).await;
    }

    /// The process is gone, unasked. Where it was given a prompt and has said
    /// nothing, it was on its way out before, as far as anybody can tell: a new
    /// one is given the prompt.
    async fn process_ended(&mut self) -> Next {
        let end = self.process.epitaph().await;
        self.access.knowledge.ended(&end.to_string());
        let unanswered = self.turn.as_mut().and_then(Turn::take_unanswered);
        let Some(asked) = unanswered else {
            let (end, idle) = (AgentEnd::Process(end), self.turn.is_none());
            return Next::End(Some(AgentEvent::Exited { end, idle }));
        };
        // What it may have left behind would be in the way.
        self.process.kill();
        match self.replace().await {
            Ok(()) => {
                self.ask_signed_in(&asked).await;
                Next::GoOn
            }
            Err(NotOpened::Failed(failure) | NotOpened::Declined(failure)) => {
                Next::End(Some(AgentEvent::OpenFailed(failure)))
            }
            Err(NotOpened::Cancelled | NotOpened::Closed) => Next::End(None),
        }
    }

    /// A conversation is open: the engine learns how to find it again.
    pub(crate) async fn opened(&mut self) {
        match S::signed_out(&self.access, &self.session) {
            Some(failure) => self.access.knowledge.failed(failure.to_string()),
            None => self.learn(),
        }
        let resume = S::found_by(&self.session);
        self.events.emit(AgentEvent::Opened { resume }).await;
        S::opened(self).await;
        self.measure();
    }

    /// The engine learns how much memory the agent holds, which takes a moment.
    pub(super) fn measure(&self) {
        let (memory, events) = (self.process.memory(), self.events.clone());
        tokio::spawn(async move {
            if let Some(bytes) = memory.await {
                events.emit(AgentEvent::Memory { bytes }).await;
            }
        });
    }

    /// What is true of any new conversation is true of the agent; one that has
    /// been used has its own values.
    pub(crate) fn learn(&self) {
        let is_new = self.transcript.is_empty() && self.turn.is_none();
        if is_new || !self.access.knowledge.is_complete() {
            S::learn(&self.session, &self.access.knowledge);
        }
    }

    fn note_forgotten(&mut self, forgotten: Option<NotTakenUp>) {
        if let Some(why) = forgotten.filter(|_| !self.transcript.is_empty()) {
            let agent = self.access.name.clone();
            self.notices.push(AgentNotice::NotTakenUp { agent, why });
        }
    }

    /// The engine learns what was said before it had the conversation.
    async fn recount(&mut self, past: Vec<Told>) {
        if past.is_empty() || !self.transcript.is_empty() {
            return;
        }
        let turns = past.into_iter().enumerate().map(|(at, told)| {
            let id = TurnId::from(format!("past-{at}"));
            self.transcript.add(&id, told.asked.clone(), told.answered);
            PastTurn {
                asked: told.asked,
                events: told.events,
            }
        });
        let turns = turns.collect();
        self.events.emit(AgentEvent::Past(turns)).await;
    }

    /// A new process for this conversation, or for a new one if the agent
    /// knows more than it should. If it does not start, all stays as it was.
    pub(crate) async fn replace(&mut self) -> Result<(), NotOpened> {
        let start = match self.begins_anew {
            true => Start::Anew,
            false => Start::TakeUp(&self.session),
        };
        let opened = tokio::select! {
            opened = self.speech.open(&self.access, start) => opened.map_err(NotOpened::Failed),
            closed = self.inbox.until_closed() => Err(closed),
        };
        let Opened {
            process,
            session,
            remembers,
            forgotten,
            past: _,
        } = opened?;
        let old = std::mem::replace(&mut self.process, process);
        old.end(self.access.patience.ending).await;
        for (turn, event) in S::process_is_gone(&mut self.session) {
            self.events.turn(&turn, event).await;
        }
        self.session = session;
        self.taken_up(remembers, forgotten).await;
        Ok(())
    }

    /// The conversation is open, in another process or at last.
    pub(crate) async fn taken_up(&mut self, remembers: bool, forgotten: Option<NotTakenUp>) {
        self.remembers = remembers;
        self.begins_anew = false;
        self.note_forgotten(forgotten);
        self.opened().await;
        S::configure(self);
    }

    /// The environment of the agent's process, for a program that acts for it.
    pub(crate) fn agent_environment(&self) -> BTreeMap<String, String> {
        let (program, _) = self.access.program_now();
        let surroundings = self.process.surroundings().with(&program.pass_env);
        let texts = surroundings.into_iter().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        texts.chain(program.env).collect()
    }

    /// Likewise, and the agent is to know nothing of what was said.
    pub(super) async fn replace_with_new(&mut self) -> Result<(), NotOpened> {
        self.begins_anew = true;
        self.replace().await
    }

    async fn command(&mut self, command: Option<AgentCommand>) {
        match command {
            None | Some(AgentCommand::Close { .. }) => self.inbox.closed = true,
            Some(AgentCommand::Prompt(prompt)) => self.prompt(*prompt).await,
            Some(AgentCommand::Cancel { turn, .. }) => self.cancel(&turn),
            Some(AgentCommand::Configure { values, .. }) => {
                self.config = values;
                S::configure(self);
            }
            Some(AgentCommand::Truncate { transcript, .. }) => self.truncate(&transcript),
            Some(AgentCommand::Steer { turn, message, .. }) => self.steer(&turn, message),
            Some(AgentCommand::Decide { turn, decision, .. }) => {
                if self.runs(&turn) || S::is_delegated(self, &turn) {
                    self.heard = Instant::now();
                    S::decide(self, &turn, *decision).await;
                }
            }
            Some(AgentCommand::OfferTools { tools, .. }) => S::offer_tools(self, tools),
            Some(AgentCommand::Forget { .. }) => self.forget = true,
            Some(AgentCommand::Authenticate { credential, .. }) => {
                self.access.take_token(&credential);
            }
            Some(AgentCommand::Open(_)) => {}
        }
    }
}
