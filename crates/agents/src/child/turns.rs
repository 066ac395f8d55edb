//! Turns: how they begin, what is heard of them, and how they end.
//!
//! *Invariant*: the agent has at most one prompt at a time, and every prompt
//! ends with exactly one last event of its turn, or with the end of the
//! backend. The transcript is complete before the engine hears that event.

use std::sync::Arc;

use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{AgentActivity, AgentNotice, Prompt, TurnEvent};
use innkeeper_protocol::newest::state::{Message, PendingMessage, ResponsePart};
use innkeeper_protocol::snapshot::StoredTurn;
use tokio::time::Instant;

use super::conversation::{Conversation, NotOpened};
use super::{Given, Readiness, Speech};
use crate::transcript::{self, Transcript};

/// The turn that runs.
#[derive(Debug)]
pub(crate) struct Turn<T> {
    pub(crate) id: TurnId,
    /// What the user said.
    pub(crate) asked: String,
    /// What belongs to the agent's language.
    pub(crate) own: T,
    /// What the agent said, for the transcript.
    answered: String,
    /// When the user has cancelled it.
    cancelled_at: Option<Instant>,
    /// What the agent was asked, as long as it has said nothing and was asked
    /// only once.
    unanswered: Option<Arc<Asked>>,
    /// What it was asked.
    prompt: Arc<Asked>,
    /// The chat was cut while it ran, and does not have it any more.
    cut: bool,
}

/// What an agent is asked in a turn.
#[derive(Debug)]
pub(super) struct Asked {
    message: Message,
    /// What the turn had come to when it was interrupted, if it was.
    resumed: Option<Vec<ResponsePart>>,
}

impl<T> Turn<T> {
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled_at.is_some()
    }

    /// What is to be asked of another process now that this one is gone; it is
    /// asked twice and not more often.
    pub(super) fn take_unanswered(&mut self) -> Option<Arc<Asked>> {
        let asked = self.unanswered.take();
        asked.filter(|_| self.cancelled_at.is_none())
    }
}

/// How a turn ends for which there is no conversation; nothing is said of it
/// when the engine has closed that.
fn last_of(why: NotOpened) -> Option<TurnEvent> {
    match why {
        NotOpened::Closed => None,
        NotOpened::Cancelled => Some(TurnEvent::Cancelled),
        NotOpened::Failed(failure) | NotOpened::Declined(failure) => Some(TurnEvent::Failed {
            failure,
            resumable: true,
        }),
    }
}

impl Asked {
    fn answered_before(&self) -> String {
        let parts = self.resumed.as_deref();
        parts.map(transcript::answer).unwrap_or_default()
    }
}

impl<S: Speech> Conversation<S> {
    // Beginning

    pub(super) async fn prompt(&mut self, prompt: Prompt) {
        if self.turn.is_some() {
            tracing::warn!(turn = &*prompt.turn, "prompted while a turn runs; ignored");
            return;
        }
        let Prompt {
            turn,
            message,
            resumed,
            chats,
            ..
        } = prompt;
        let message = transcript::with_chats(message, &chats);
        let asked = Asked { message, resumed };
        if let Err(why) = self.make_ready().await {
            return self.not_begun(&turn, asked, why).await;
        }
        self.transcript.remove(&turn);
        let parts = asked.resumed.iter();
        for event in parts.flat_map(|parts| transcript::closing(parts)) {
            self.events.turn(&turn, event).await;
        }
        if S::signed_out(&self.access, &self.session).is_some()
            && let Err(why) = S::sign_in(self, &turn).await
        {
            return self.not_begun(&turn, asked, why).await;
        }
        let asked = Arc::new(asked);
        let own = self.ask(&turn, &asked).await;
        self.turn = Some(Turn {
            id: turn,
            asked: asked.message.text.clone(),
            own,
            answered: asked.answered_before(),
            cancelled_at: None,
            unanswered: Some(Arc::clone(&asked)),
            prompt: asked,
            cut: false,
        });
    }

    /// Sees to a process that the prompt can be given to. Whatever made another
    /// one necessary holds until that really stands.
    async fn make_ready(&mut self) -> Result<(), NotOpened> {
        if self.begins_anew {
            self.replace().await?;
        }
        match S::readiness(self).await {
            Readiness::Ready => Ok(()),
            Readiness::InNewProcess => self.replace().await,
            Readiness::InNewConversation => self.replace_with_new().await,
        }
    }

    /// A turn that reached nobody. It is one of the chat's all the same.
    async fn not_begun(&mut self, turn: &TurnId, asked: Asked, why: NotOpened) {
        let Some(last) = last_of(why) else {
            return;
        };
        let mut answered = asked.answered_before();
        if let TurnEvent::Failed { failure, .. } = &last {
            answered = format!("{answered}\n[error: {failure}]\n");
        }
        self.transcript.add(turn, asked.message.text, answered);
        self.events.turn(turn, last).await;
    }

    /// The agent has refused the prompt, or what stands for it does not know
    /// anybody: the turn goes on when a person has signed in.
    pub(super) async fn sign_in_if_refused(&mut self) {
        let prompt = self.turn.as_ref().map(|turn| Arc::clone(&turn.prompt));
        let is_out = S::signed_out(&self.access, &self.session).is_some();
        if let Some(prompt) = prompt.filter(|_| is_out) {
            self.ask_signed_in(&prompt).await;
        }
    }

    /// Gives the turn that runs to a new process, once somebody is signed in.
    pub(super) async fn ask_signed_in(&mut self, asked: &Asked) {
        let Some(turn) = self.turn.as_ref().map(|turn| turn.id.clone()) else {
            return;
        };
        if S::signed_out(&self.access, &self.session).is_some()
            && let Err(why) = S::sign_in(self, &turn).await
        {
            if let Some(last) = last_of(why) {
                self.end_turn(last).await;
            }
            return;
        }
        self.ask_again(asked).await;
    }

    /// Gives the process that stands what it has to know for a turn, when it
    /// has the settings that it should have.
    async fn ask(&mut self, turn: &TurnId, asked: &Asked) -> S::Turn {
        let model = asked.message.model.as_ref();
        S::settle_settings(self, model.map(|model| model.id.as_str())).await;
        for notice in std::mem::take(&mut self.notices) {
            self.events.turn(turn, TurnEvent::Notice(notice)).await;
        }
        let parts = asked.resumed.as_deref();
        let context = self.transcript.as_context();
        let given = Given {
            context: context.filter(|_| !self.remembers),
            message: (parts.is_none() || !self.remembers).then_some(&asked.message),
            interrupted: parts.map(transcript::taken_up),
        };
        let own = S::prompt(self, given);
        self.remembers = true;
        self.heard = Instant::now();
        self.told_of_silence = false;
        own
    }

    /// The turn that runs is given to a new process, with all that was meant
    /// for it.
    async fn ask_again(&mut self, asked: &Asked) {
        let Some(id) = self.turn.as_ref().map(|turn| turn.id.clone()) else {
            return;
        };
        let own = self.ask(&id, asked).await;
        if let Some(turn) = &mut self.turn {
            turn.own = own;
        }
        if let Some(message) = self.steering.take() {
            self.give(message);
        }
    }

    pub(crate) fn runs(&self, turn: &str) -> bool {
        let running = self.turn.as_ref();
        running.is_some_and(|running| *running.id == *turn)
    }

    // Meanwhile

    /// The agent says something.
    pub(crate) async fn hear(&mut self, said: S::Said) {
        self.heard = Instant::now();
        if let Some(turn) = &mut self.turn {
            turn.unanswered = None;
        }
        if std::mem::take(&mut self.told_of_silence) {
            self.tell([TurnEvent::Activity(None)]).await;
        }
        S::said(self, said).await;
    }

    /// Reports what happens in the turn that runs; without one, nothing does.
    pub(crate) async fn tell(&mut self, events: impl IntoIterator<Item = TurnEvent>) {
        let Some(turn) = &mut self.turn else {
            return;
        };
        for event in events {
            if let TurnEvent::Text(text) = &event {
                turn.answered.push_str(text);
            }
            self.events.turn(&turn.id, event).await;
        }
    }

    /// Somebody is there for what the agent asks.
    pub(crate) fn is_at_work(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| !turn.is_cancelled())
    }

    pub(super) fn cancel(&mut self, turn: &str) {
        if S::stop_delegate(self, turn) {
            return;
        }
        // What else works for a call cannot be stopped alone.
        let is_meant = self.runs(turn) || S::is_delegated(self, turn);
        if let Some(running) = self.turn.as_mut().filter(|_| is_meant) {
            running.cancelled_at = Some(Instant::now());
            S::cancel(self);
        }
    }

    /// Gives a message to the turn that runs, if the agent can take it. If not,
    /// the engine makes a turn of it later.
    pub(super) fn steer(&mut self, turn: &str, message: Option<Box<PendingMessage>>) {
        // While it makes up its mind about one version, it is not given the
        // next: the engine says what is left when it has.
        let may = self.runs(turn) && self.steering.is_none();
        if let Some(message) = message.filter(|_| may) {
            self.give(*message);
        }
    }

    fn give(&mut self, message: PendingMessage) {
        if S::steer(self, &message) {
            self.steering = Some(message);
        }
    }

    /// The agent has made up its mind about a message.
    pub(crate) async fn steering_answered(&mut self, message: &str, taken_up: bool) {
        let is_meant = |waiting: &PendingMessage| waiting.id == message;
        let Some(message) = self.steering.take_if(|it| is_meant(it)) else {
            return;
        };
        if taken_up {
            let message = message.id;
            self.tell([TurnEvent::Steered { message }]).await;
        }
    }

    /// The chat has forgotten all turns but these, and the agent must not
    /// remember the others. The turn that runs is never among those that are kept.
    pub(super) fn truncate(&mut self, left: &[StoredTurn]) {
        self.transcript = Transcript::new(left);
        self.begins_anew = true;
        if let Some(turn) = &mut self.turn {
            turn.cut = true;
        }
    }

    // Time

    /// When something must be done if nothing happens until then.
    pub(super) fn alarm(&self) -> Option<Instant> {
        let turn = self.turn.as_ref()?;
        let patience = &self.access.patience;
        // An agent that talks on after a cancel has not obeyed it.
        if let Some(cancelled) = turn.cancelled_at {
            return Some(cancelled + patience.cancelling);
        }
        let is_due = !S::waits_for_somebody(self) && !self.told_of_silence;
        is_due.then(|| self.heard + patience.silence)
    }

    pub(super) async fn alarmed(&mut self) {
        if !self.is_at_work() {
            return self.stop_by_force().await;
        }
        // It is told, not ended: it may be thinking, or waiting for its model.
        self.told_of_silence = true;
        if let Some(turn) = &mut self.turn {
            // An agent that was dying when it was asked would be gone by now.
            turn.unanswered = None;
        }
        let silent = AgentActivity::Silent {
            agent: self.access.name.clone(),
            seconds: self.access.patience.silence.as_secs(),
        };
        self.tell([TurnEvent::Activity(Some(silent))]).await;
    }

    /// An agent that does not stop when it is told to is replaced by a fresh
    /// one, with all that it started.
    async fn stop_by_force(&mut self) {
        let Some(turn) = self.turn.take() else {
            return;
        };
        let agent = &self.access.name;
        tracing::warn!(agent, "a cancelled turn did not end; restarting");
        self.steering = None;
        // Two at once might be in each other's way.
        self.process.kill();
        if let Err(NotOpened::Failed(failure)) = self.replace().await {
            // The end of the old one is noticed next, and told.
            tracing::warn!(%failure, "the agent cannot be restarted");
        }
        self.finish(turn, TurnEvent::Cancelled).await;
    }

    // Ending

    /// The turn is over, with this as its last event; a turn that was cancelled
    /// ends so, whatever the agent makes of it.
    pub(crate) async fn end_turn(&mut self, last: TurnEvent) {
        // What it has not taken up by now becomes a turn of its own.
        self.steering = None;
        let Some(turn) = self.turn.take() else {
            return;
        };
        let last = match turn.is_cancelled() {
            true => TurnEvent::Cancelled,
            false => last,
        };
        self.finish(turn, last).await;
    }

    async fn finish(&mut self, mut turn: Turn<S::Turn>, last: TurnEvent) {
        let well = matches!(last, TurnEvent::Completed);
        for (of, event) in S::turn_is_over(&mut self.session, &turn.id, &mut turn.own, well) {
            self.events.turn(&of, event).await;
        }
        if !turn.cut {
            self.transcript.add(&turn.id, turn.asked, turn.answered);
        }
        self.events.turn(&turn.id, last).await;
        self.measure();
    }

    /// The agent did not accept a setting.
    pub(crate) fn setting_refused(&mut self, why: Option<String>) {
        let agent = self.access.name.clone();
        self.notices
            .push(AgentNotice::SettingRefused { agent, why });
    }
}
