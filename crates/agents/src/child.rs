//! The frame for agents that are child processes: what a conversation with one
//! is, whatever language the agent speaks.
//!
//! - [`Conversation`]: commands of the engine in, what the agent says out, and
//!   all that does not depend on the language: opening and ending, turns and
//!   their order, the transcript, silence, restarts, steering, truncation;
//! - [`Speech`]: what differs from language to language, and nothing else;
//! - [`Access`]: how an agent is reached and what is known of it.
//!
//! *Boundary*: `acp` and `pi` implement [`Speech`], and know the conversation
//! through its fields and the methods that are `pub(crate)`.

mod conversation;
mod inbox;
mod token;
mod turns;

use std::path::Path;
use std::sync::Arc;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{
    AgentFailure, ClientTool, Decision, NotTakenUp, OpenBackend, TurnEvent,
};
use innkeeper_protocol::newest::state::{Message, PendingMessage};
use serde_json::Value;

use crate::keys::Keys;
use crate::knowledge::Knowledge;
use crate::process::{ChildProcess, Patience, Program, StderrLog};
use crate::registry::SignIn;
use crate::{CommandStream, EventSink};

pub(crate) use conversation::{Conversation, NotOpened};
pub use token::TokenFor;
pub(crate) use turns::Turn;

/// How to reach an agent, and what is known of it.
#[derive(Debug, Clone)]
pub(crate) struct Access {
    pub(crate) name: String,
    pub(crate) program: Program,
    pub(crate) patience: Patience,
    pub(crate) stderr: Arc<StderrLog>,
    pub(crate) knowledge: Arc<Knowledge>,
    /// What its processes get because somebody signed in.
    pub(crate) keys: Arc<Keys>,
    /// The token of a client that it can use.
    pub(crate) token_for: Option<TokenFor>,
    /// What is special about signing in to it.
    pub(crate) sign_in: Arc<SignIn>,
}

impl Access {
    pub(crate) fn new(
        provider: String,
        name: String,
        program: Program,
        patience: Patience,
        directory: Option<&Path>,
    ) -> Self {
        let stderr = StderrLog::of(&provider, directory);
        let keys = Keys::of(&provider, directory);
        let knowledge = Knowledge::new(provider, name.clone(), program.line(), directory);
        Self {
            name,
            program,
            patience,
            stderr: Arc::new(stderr),
            knowledge: Arc::new(knowledge),
            keys: Arc::new(keys),
            token_for: None,
            sign_in: Arc::default(),
        }
    }

    /// The program as it is to be started now, with the version of what it gets
    /// because somebody signed in.
    pub(crate) fn program_now(&self) -> (Program, u64) {
        let (keys, version) = self.keys.all();
        let mut program = self.program.clone();
        program.env.extend(keys);
        (program, version)
    }
}

/// The language of an agent: how a conversation in it is opened, how things
/// are said in it, and what is to be done about what the agent says.
///
/// The value itself outlives the agent's processes. What belongs to one
/// process is in its `Session`, what belongs to one turn in its `Turn`, so that
/// neither is left behind when there is another.
pub(crate) trait Speech: Sized + Send + 'static {
    type Session: Send;
    type Turn: Send;
    /// One thing that the agent says, or asks for in another way.
    type Said: Send;

    /// Starts a process, and a conversation with it. May be given up at any
    /// point of waiting.
    fn open(
        &mut self,
        access: &Access,
        start: Start<'_, Self::Session>,
    ) -> impl Future<Output = Result<Opened<Self::Session>, AgentFailure>> + Send;

    /// A process is not needed any more, and somebody else may use it. Gives it
    /// back if that cannot be.
    fn hand_over(
        &mut self,
        _access: &Access,
        opened: Opened<Self::Session>,
    ) -> Option<Opened<Self::Session>> {
        Some(opened)
    }

    /// Nobody is signed in to the agent, and there is no conversation: why.
    fn signed_out(_access: &Access, _session: &Self::Session) -> Option<AgentFailure> {
        None
    }

    /// Lets a person sign in, as part of a turn. Afterwards the conversation is
    /// open.
    fn sign_in(
        _talk: &mut Conversation<Self>,
        _turn: &TurnId,
    ) -> impl Future<Output = Result<(), NotOpened>> + Send {
        std::future::ready(Ok(()))
    }

    /// Takes down what an open conversation shows of the agent.
    fn learn(session: &Self::Session, knowledge: &Knowledge);

    /// What the engine is to keep for finding the conversation again.
    fn found_by(session: &Self::Session) -> Option<Value>;

    /// The engine knows that the conversation is open: what it is to hear next.
    fn opened(talk: &mut Conversation<Self>) -> impl Future<Output = ()> + Send;

    /// What the agent says next; `None` when it has nothing more to say.
    /// Waiting may be given up at any time without losing a word.
    fn next(
        &mut self,
        session: &mut Self::Session,
    ) -> impl Future<Output = Option<Self::Said>> + Send;

    fn said(talk: &mut Conversation<Self>, said: Self::Said) -> impl Future<Output = ()> + Send;

    /// Asks for the settings that the conversation should have.
    fn configure(talk: &mut Conversation<Self>);

    /// Whether a prompt can go to the process that runs.
    fn readiness(_talk: &mut Conversation<Self>) -> impl Future<Output = Readiness> + Send {
        std::future::ready(Readiness::Ready)
    }

    /// A prompt is about to be sent: it is meant for an agent with this model,
    /// and with the settings that were asked for.
    fn settle_settings(
        talk: &mut Conversation<Self>,
        model: Option<&str>,
    ) -> impl Future<Output = ()> + Send;

    /// Sends a prompt.
    fn prompt(talk: &mut Conversation<Self>, given: Given<'_>) -> Self::Turn;

    /// Tells the agent to stop working on the turn.
    fn cancel(talk: &mut Conversation<Self>);

    /// Gives a message to the turn that runs. Says whether the agent can take
    /// one; what became of it is told by `Conversation::steering_answered`.
    fn steer(talk: &mut Conversation<Self>, message: &PendingMessage) -> bool;

    /// Whether an agent works on this turn for one of the calls of the turn that
    /// runs.
    fn is_delegated(_talk: &Conversation<Self>, _turn: &str) -> bool {
        false
    }

    /// Stops the work on a turn that is delegated. Says whether that could be
    /// done without stopping the turn that runs.
    fn stop_delegate(_talk: &mut Conversation<Self>, _turn: &str) -> bool {
        false
    }

    /// A turn is about to end, well or not: what is to be heard of those that
    /// are delegated.
    fn turn_is_over(
        _session: &mut Self::Session,
        _id: &TurnId,
        _turn: &mut Self::Turn,
        _well: bool,
    ) -> Vec<(TurnId, TurnEvent)> {
        Vec::new()
    }

    /// There is another process, and this session is left: likewise.
    fn process_is_gone(_session: &mut Self::Session) -> Vec<(TurnId, TurnEvent)> {
        Vec::new()
    }

    /// Somebody decided, or did, what this turn waits for: the one that runs, or
    /// one that is delegated.
    fn decide(
        talk: &mut Conversation<Self>,
        turn: &TurnId,
        decision: Decision,
    ) -> impl Future<Output = ()> + Send;

    /// Whether the agent is silent because somebody else has the word.
    fn waits_for_somebody(talk: &Conversation<Self>) -> bool;

    /// The tools that clients offer from now on.
    fn offer_tools(_talk: &mut Conversation<Self>, _tools: Arc<[ClientTool]>) {}

    /// The conversation is over, and the agent still there. Nobody will want it
    /// again if it is to be forgotten.
    fn farewell(_session: &mut Self::Session, _forget: bool) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }
}

/// Which conversation a new process is to have.
#[derive(Debug)]
pub(crate) enum Start<'a, T> {
    /// The one that the engine asked for.
    AsAsked,
    /// That of this session, whose process is to be replaced.
    TakeUp(&'a T),
    /// A new one.
    Anew,
}

/// A process with which a conversation is open.
#[derive(Debug)]
pub(crate) struct Opened<T> {
    pub(crate) process: ChildProcess,
    pub(crate) session: T,
    /// The agent remembers what was said before.
    pub(crate) remembers: bool,
    /// Why it does not, if it should.
    pub(crate) forgotten: Option<NotTakenUp>,
    /// What was said before the host had the conversation.
    pub(crate) past: Vec<Told>,
}

/// A turn that an agent tells of.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) asked: String,
    pub(crate) answered: String,
    pub(crate) events: Vec<TurnEvent>,
}

/// Whether a prompt can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    Ready,
    /// Not to this process; to one that takes the conversation up.
    InNewProcess,
    /// Likewise, in a conversation of its own.
    InNewConversation,
}

/// What an agent is given with a prompt, in this order.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// What was said before, if it does not know.
    pub(crate) context: Option<String>,
    /// What the user says, unless that is known.
    pub(crate) message: Option<&'a Message>,
    /// That the turn was interrupted, and where.
    pub(crate) interrupted: Option<String>,
}

/// The whole life of a conversation.
pub(crate) async fn run<S: Speech>(
    access: Access,
    speech: S,
    open: OpenBackend,
    commands: CommandStream,
    events: EventSink,
) {
    if let Some(conversation) = Conversation::open(access, speech, open, commands, events).await {
        conversation.live().await;
    }
}

/// Starts an agent for a moment, for what is to be learned from that.
pub(crate) async fn get_to_know<S: Speech>(access: Access, mut speech: S) -> Result<(), String> {
    let knowledge = &access.knowledge;
    let was_known = knowledge.is_complete();
    let alone = knowledge.alone_at_first(access.patience.opening).await;
    if !was_known && knowledge.is_complete() {
        // A session was first, and has shown all that there is to know.
        return Ok(());
    }
    match speech.open(&access, Start::AsAsked).await {
        Ok(mut opened) => {
            let signed_out = S::signed_out(&access, &opened.session);
            match &signed_out {
                Some(failure) => knowledge.failed(failure.to_string()),
                None => S::learn(&opened.session, knowledge),
            }
            let hands_over = signed_out.is_none() && knowledge.is_awaited();
            // A session that waits can begin, unless this process is for it.
            let alone = alone.filter(|_| hands_over);
            if signed_out.is_none() {
                // Nothing was said in it.
                S::farewell(&mut opened.session, true).await;
            }
            let left = match hands_over {
                true => speech.hand_over(&access, opened),
                false => Some(opened),
            };
            drop(alone);
            if let Some(left) = left {
                left.process.end(access.patience.ending).await;
            }
            signed_out.map_or(Ok(()), |failure| Err(failure.to_string()))
        }
        Err(failure) => {
            knowledge.failed(failure.to_string());
            Err(failure.to_string())
        }
    }
}
