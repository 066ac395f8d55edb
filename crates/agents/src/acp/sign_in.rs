//! Signing in to an agent as part of a turn: a person is asked how, and the way
//! is gone together with them. Afterwards the conversation is open.
//!
//! - [`ways`]: the ways that agents name;
//! - `by_agent`: those that the agent goes by itself.
//!
//! *Invariant*: whatever a person gives as a secret goes to [`Keys`] and from
//! there into the environment of the agent's processes, and nowhere else.
//!
//! [`Keys`]: crate::keys::Keys

mod by_agent;
pub(super) mod ways;

use std::collections::{BTreeMap, HashMap};

use innkeeper_protocol::agent::{
    AgentFailure, AgentNotice, Approval, CommandRun, Decision, KEEP_IN_FILE, SIGN_IN_KEEP,
    SIGN_IN_WAY, SignInQuestion, SignInValue, SignInWants, TERMINAL_TOOL, TOOL_KIND, ToolReady,
    ToolStart, TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChatInputAnswer, ChatInputAnswerValue, ChatInputResponseKind, ToolCallResult,
};
use innkeeper_protocol::workspace::terminal::TerminalProgram;
use innkeeper_protocol::{CallId, TurnId};
use serde_json::json;

use self::ways::{Kind, Way};
use super::session::Wanted;
use super::speech::{AcpSpeech, Talk};
use crate::child::{NotOpened, Speech as _};
use crate::keys;

/// How often a person is asked in a turn.
const ATTEMPTS: usize = 5;

/// How much of a line of the agent is shown: a long address fits.
const LINE_CHARS: usize = 4_000;

/// How much of the reason why a way did not work.
const REASON_CHARS: usize = 500;

/// Nobody is signed in.
#[derive(Debug, Clone)]
pub(super) struct SignedOut {
    /// The conversation that was to be opened.
    pub(super) wanted: Wanted,
    /// What the agent says about it.
    pub(super) said: String,
    /// It said so to the prompt of the turn that runs.
    pub(super) refused_prompt: bool,
}

/// What came of a way: it was gone to its end, or the reason why not.
type Gone = Result<(), String>;

impl Talk {
    /// Lets a person sign in, unless that has happened elsewhere meanwhile.
    pub(super) async fn sign_in_first(&mut self, turn: &TurnId) -> Result<(), NotOpened> {
        let out = self.session.signed_out.as_mut();
        let is_news = out.is_some_and(|out| std::mem::take(&mut out.refused_prompt));
        let mut refused = None;
        if is_news {
            self.speech.sign_ins += 1;
            if self.speech.sign_ins > ATTEMPTS {
                self.speech.sign_ins = 0;
                return Err(self.not_signed_in(self.session.said_of_sign_in()));
            }
            if self.speech.sign_ins > 1 {
                refused = self.session.said_of_sign_in();
            }
        } else {
            self.speech.sign_ins = 0;
            self.replace().await?;
            if self.session.signed_out.is_none() {
                return Ok(());
            }
        }
        for _ in 0..ATTEMPTS {
            let Some(way) = self.choose_way(turn, refused.take()).await? else {
                let failure = AcpSpeech::signed_out(&self.access, &self.session);
                return Err(failure.map_or(NotOpened::Closed, NotOpened::Failed));
            };
            match self.go(turn, &way, is_news).await {
                // Whether it is content shows with the prompt.
                Ok(Ok(())) if self.session.signed_out.is_none() && is_news => return Ok(()),
                Ok(Ok(())) if self.session.signed_out.is_none() => {
                    let agent = self.access.name.clone();
                    let notice = TurnEvent::Notice(AgentNotice::SignedIn { agent });
                    self.events.turn(turn, notice).await;
                    return Ok(());
                }
                Ok(Ok(())) => refused = self.session.said_of_sign_in(),
                Ok(Err(said)) => refused = Some(said),
                // A wrong value may be the reason that it does not start.
                Err(NotOpened::Failed(failure)) => refused = Some(failure.to_string()),
                Err(other) => return Err(other),
            }
        }
        Err(self.not_signed_in(refused))
    }

    fn not_signed_in(&self, said: Option<String>) -> NotOpened {
        let agent = self.access.name.clone();
        NotOpened::Failed(AgentFailure::SignInFailed { agent, said })
    }

    /// Goes a way; `is_news` if it was a prompt that the agent refused, so that an
    /// open conversation says nothing.
    async fn go(&mut self, turn: &TurnId, way: &Way, is_news: bool) -> Result<Gone, NotOpened> {
        let gone = match &way.kind {
            Kind::Agent => self.authenticate(turn, &way.shown.id).await?,
            Kind::Terminal { program, env } => {
                self.run_in_terminal(turn, way, program, env).await?
            }
            Kind::Variables { values, link, .. } => {
                self.ask_for_values(turn, way, values, link.clone()).await?
            }
        };
        if gone.is_err() {
            return Ok(gone);
        }
        match way.kind {
            // What it knows now, this process knows.
            Kind::Agent => self.begin_here().await?,
            Kind::Terminal { .. } | Kind::Variables { .. } => self.replace().await?,
        }
        let asks = matches!(
            way.kind,
            Kind::Variables {
                when_asked: true,
                ..
            }
        );
        if asks && (is_news || self.session.signed_out.is_some()) {
            let taken = self.authenticate(turn, &way.shown.id).await?;
            if taken.is_ok() {
                self.begin_here().await?;
            }
            return Ok(taken);
        }
        Ok(gone)
    }

    /// Asks how to sign in; nothing if nobody wants to, or there is no way.
    async fn choose_way(
        &mut self,
        turn: &TurnId,
        refused: Option<String>,
    ) -> Result<Option<Way>, NotOpened> {
        let ways = self.session.ways.clone();
        if ways.is_empty() {
            return Ok(None);
        }
        let shown = ways.iter().map(|way| way.shown.clone()).collect();
        let wants = SignInWants::Way(shown);
        let Some(answers) = self.ask_person(turn, refused, wants).await? else {
            return Ok(None);
        };
        let chosen = answers.get(SIGN_IN_WAY).and_then(text_of);
        let way = ways.into_iter().find(|way| Some(&*way.shown.id) == chosen);
        Ok(way)
    }

    /// The answers of a person, or nothing if they do not want to.
    async fn ask_person(
        &mut self,
        turn: &TurnId,
        refused: Option<String>,
        wants: SignInWants,
    ) -> Result<Option<HashMap<String, ChatInputAnswer>>, NotOpened> {
        let asked = self.speech.sign_in_name();
        let question = SignInQuestion {
            request: asked.clone(),
            agent: self.access.name.clone(),
            refused: refused.map(|refused| shortened(&refused, REASON_CHARS)),
            wants,
        };
        let question = TurnEvent::AskToSignIn(Box::new(question));
        self.events.turn(turn, question).await;
        loop {
            match self.inbox.decision(turn).await? {
                Decision::Answer {
                    request,
                    response,
                    answers,
                } if request == asked => {
                    let accepted = response == ChatInputResponseKind::Accept;
                    return Ok(accepted.then_some(answers));
                }
                _ => {}
            }
        }
    }

    /// A program signs in, in a terminal that any client can type into.
    async fn run_in_terminal(
        &mut self,
        turn: &TurnId,
        way: &Way,
        program: &TerminalProgram,
        env: &BTreeMap<String, String>,
    ) -> Result<Gone, NotOpened> {
        let name = self.speech.sign_in_name();
        let call = CallId::from(&name);
        let line = program.line();
        let kind = [(TOOL_KIND.to_owned(), TERMINAL_TOOL.into())];
        let start = ToolStart {
            call: call.clone(),
            name: "sign_in".to_owned(),
            display_name: way.shown.name.clone(),
            intention: way.shown.description.clone(),
            contributor: None,
            meta: Some(kind.clone().into_iter().collect()),
        };
        let ready = ToolReady {
            call: call.clone(),
            input: Some(line.clone()),
            message: StringOrMarkdown::Plain(way.shown.name.clone()),
            approval: Approval::NotNeeded,
            meta: Some(kind.into_iter().collect()),
        };
        let mut environment = self.agent_environment();
        environment.extend(env.clone());
        let run = CommandRun {
            run: name.clone(),
            call: Some(call.clone()),
            program: program.clone(),
            title: Some(way.shown.name.clone()),
            directory: None,
            environment: Some(environment.into_iter().collect()),
            output_bytes: None,
        };
        self.events
            .turn(turn, TurnEvent::ToolStarted(Box::new(start)))
            .await;
        self.events
            .turn(turn, TurnEvent::ToolReady(Box::new(ready)))
            .await;
        self.events
            .turn(turn, TurnEvent::RunCommand(Box::new(run)))
            .await;
        let outcome = loop {
            match self.inbox.decision(turn).await? {
                Decision::Command { run, outcome } if run == name => break outcome,
                _ => {}
            }
        };
        let success = outcome.detached || outcome.exit_code == Some(0);
        let result = ToolCallResult {
            success,
            past_tense_message: StringOrMarkdown::Plain(way.shown.name.clone()),
            content: None,
            structured_content: None,
            error: outcome.error.as_ref().map(|why| json!({"message": why})),
        };
        let finished = TurnEvent::ToolFinished {
            call,
            result: Box::new(result),
            confirm: false,
        };
        self.events.turn(turn, finished).await;
        let why = || match (outcome.error, outcome.exit_code) {
            (Some(error), _) => format!("`{line}`: {error}"),
            (None, Some(code)) => format!("`{line}`: status {code}"),
            (None, None) => format!("`{line}`"),
        };
        Ok(if success { Ok(()) } else { Err(why()) })
    }

    /// A person gives values, which the agent's processes get from now on.
    async fn ask_for_values(
        &mut self,
        turn: &TurnId,
        way: &Way,
        values: &[SignInValue],
        link: Option<String>,
    ) -> Result<Gone, NotOpened> {
        let wants = SignInWants::Values {
            way: way.shown.name.clone(),
            link,
            values: values.to_vec(),
        };
        let Some(answers) = self.ask_person(turn, None, wants).await? else {
            let failure = AcpSpeech::signed_out(&self.access, &self.session);
            // Whoever does not want to is not asked again.
            return match failure {
                Some(failure) => Err(NotOpened::Declined(failure)),
                None => Ok(Ok(())),
            };
        };
        let mut given = BTreeMap::new();
        for SignInValue { name, optional, .. } in values {
            let value = answers.get(name).and_then(text_of).map(str::trim);
            match value.filter(|value| !value.is_empty()) {
                Some(value) => {
                    if let Err(why) = keys::check(value) {
                        return Ok(Err(format!("{name}: {why}")));
                    }
                    given.insert(name.clone(), value.to_owned());
                }
                None if *optional => {}
                None => return Ok(Err(format!("{name}?"))),
            }
        }
        let in_file = answers.get(SIGN_IN_KEEP).and_then(text_of) == Some(KEEP_IN_FILE);
        let kept = self.access.keys.keep(given, in_file);
        Ok(kept.map_err(|error| error.to_string()))
    }
}

fn text_of(answer: &ChatInputAnswer) -> Option<&str> {
    match answer {
        ChatInputAnswer::Draft(answer) | ChatInputAnswer::Submitted(answer) => {
            match &answer.value {
                ChatInputAnswerValue::Text(text) => Some(&text.value),
                ChatInputAnswerValue::Selected(selected) => Some(&selected.value),
                _ => None,
            }
        }
        ChatInputAnswer::Skipped(_) => None,
    }
}

/// A line of an agent for people, without colours and not without end.
fn shortened(line: &str, most: usize) -> String {
    let plain = anstream::adapter::strip_str(line).to_string();
    plain.chars().take(most).collect()
}
