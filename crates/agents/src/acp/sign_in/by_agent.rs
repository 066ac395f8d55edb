//! Signing in by the agent itself (`authenticate`): what it shows meanwhile is
//! shown in the turn, and the conversation begins in the same process.

use agent_client_protocol_schema::v1::{AGENT_METHOD_NAMES, CLIENT_METHOD_NAMES, Error};
use innkeeper_protocol::TurnId;
use innkeeper_protocol::agent::{AgentFailure, AgentNotice, Decision, TurnEvent};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Gone, LINE_CHARS, SignedOut, shortened};
use crate::acp::opening::Opening;
use crate::acp::rpc::{Incoming, sentence};
use crate::acp::speech::Talk;
use crate::child::NotOpened;

/// How many lines of what an agent says while it signs in are shown.
const LINES: usize = 40;

impl Talk {
    /// The agent signs in by itself. What it says meanwhile is shown: it may be
    /// an address or a code for the person.
    pub(super) async fn authenticate(
        &mut self,
        turn: &TurnId,
        method: &str,
    ) -> Result<Gone, NotOpened> {
        let (overheard, mut lines) = mpsc::channel(LINES);
        self.process.overhear(overheard);
        let params = json!({"methodId": method});
        let asked = AGENT_METHOD_NAMES.authenticate;
        let request = self.session.peer.request(asked, &params);
        let patience = self.access.patience.signing_in;
        let deadline = Instant::now() + patience;
        let mut shown = 0;
        loop {
            let incoming = tokio::select! {
                biased;
                decision = self.inbox.decision(turn) => {
                    if let Decision::Answer { request, response, answers } = decision? {
                        let answer = self.session.questions.answer(&request, &response, &answers);
                        if let Some((id, answer)) = answer {
                            self.session.peer.answers().give(&id, Ok(answer));
                        }
                    }
                    continue;
                }
                Some(line) = lines.recv(), if shown < LINES => {
                    shown += 1;
                    let notice = AgentNotice::own(shortened(&line, LINE_CHARS));
                    self.events.turn(turn, TurnEvent::Notice(notice)).await;
                    continue;
                }
                incoming = self.session.peer.next() => incoming,
                () = tokio::time::sleep_until(deadline) => {
                    let seconds = patience.as_secs();
                    return Ok(Err(format!("`{asked}`: {seconds} s")));
                }
            };
            match incoming {
                Some(Incoming::Response { to, result }) if to == request => {
                    while let Ok(line) = lines.try_recv() {
                        let notice = AgentNotice::own(shortened(&line, LINE_CHARS));
                        self.events.turn(turn, TurnEvent::Notice(notice)).await;
                    }
                    return Ok(result.map(|_| ()).map_err(|error| sentence(&error)));
                }
                Some(incoming) => self.heard_meanwhile(turn, incoming).await,
                None => {
                    let end = self.process.epitaph().await;
                    self.replace().await?;
                    return Ok(Err(end.to_string()));
                }
            }
        }
    }

    /// What an agent says while it signs in.
    async fn heard_meanwhile(&mut self, turn: &TurnId, incoming: Incoming) {
        let event = match incoming {
            Incoming::Request { id, method, params } => {
                let asked = (method == CLIENT_METHOD_NAMES.elicitation_create)
                    .then(|| serde_json::from_value(params).ok())
                    .flatten();
                let question = asked.and_then(|it| self.session.questions.ask(id.clone(), it));
                if question.is_none() {
                    let error = Err::<Value, _>(Error::method_not_found());
                    self.session.peer.answers().give(&id, error);
                }
                question.map(|question| TurnEvent::Ask(Box::new(question)))
            }
            Incoming::Notification { method, params } if method == "elicitation/complete" => {
                let id = params["elicitationId"].as_str().unwrap_or_default();
                let done = self.session.questions.done_elsewhere(id);
                done.map(|(request, asked)| {
                    let answer = json!({"action": "accept"});
                    self.session.peer.answers().give(&asked, Ok(answer));
                    TurnEvent::AskWithdrawn { request }
                })
            }
            Incoming::Notification { .. } | Incoming::Response { .. } => None,
        };
        if let Some(event) = event {
            self.events.turn(turn, event).await;
        }
    }

    /// Opens the conversation in the process that somebody signed in with.
    pub(super) async fn begin_here(&mut self) -> Result<(), NotOpened> {
        let Some(out) = self.session.signed_out.clone() else {
            return Ok(());
        };
        if self.session.has_conversation() {
            self.session.signed_out = None;
            return Ok(());
        }
        let about = self.session.about.clone();
        let mut opening = Opening::with(
            &self.access,
            &mut self.speech.services,
            &mut self.process,
            &mut self.session.peer,
        );
        opening.ways.clone_from(&self.session.ways);
        let begun = opening.converse(&out.wanted, &about).await;
        let said = opening.said;
        match begun {
            Ok(begun) => {
                let (remembers, forgotten) = self.session.has_at_last(&out.wanted, begun, said);
                self.speech.has_opened(&self.session);
                self.taken_up(remembers, forgotten).await;
                Ok(())
            }
            Err(AgentFailure::SignInRequired { said, .. }) => {
                self.session.signed_out = Some(SignedOut { said, ..out });
                Ok(())
            }
            Err(failure) => Err(NotOpened::Failed(failure)),
        }
    }
}
