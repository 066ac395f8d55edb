//! What a delta costs in a chat with a short history and in one with a long
//! one, counted in instructions.

use anyhow::{Context as _, Result, bail};
use innkeeper_engine::{ConnectionId, Effect, Engine, EngineConfig, Input, Limits, Step};
use innkeeper_protocol::Timestamp;
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, BackendId, TurnEvent,
};
use innkeeper_protocol::command::ClientMessage;
use innkeeper_protocol::newest::commands::Implementation;
use innkeeper_protocol::record::Boot;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::callgrind::instructions;

const DELTAS: u64 = 2_000;

pub(crate) fn run() -> Result<()> {
    println!("\nInstructions for one delta in the engine (callgrind)\n");
    println!("| turns before | instructions |");
    println!("| ---: | ---: |");
    let short = per_delta(10)?;
    println!("| 10 | {short:.0} |");
    let long = per_delta(10_000)?;
    println!("| 10000 | {long:.0} |");
    println!("\nDifference: {:.2} %", (long / short - 1.0) * 100.0);
    Ok(())
}

/// What twice as many deltas cost more, for each of them.
fn per_delta(turns: u64) -> Result<f64> {
    let once = count(turns, DELTAS)?;
    let twice = count(turns, 2 * DELTAS)?;
    Ok((twice as f64 - once as f64) / DELTAS as f64)
}

fn count(turns: u64, deltas: u64) -> Result<u64> {
    instructions(&["feed-deltas", &turns.to_string(), &deltas.to_string()])
}

/// The part that is counted: an engine with a history, and deltas.
pub(crate) fn feed(turns: u64, deltas: u64) -> Result<()> {
    let mut engine = Driver::new()?;
    for turn in 0..turns {
        engine.start_turn(&format!("t{turn}"))?;
        engine.report(TurnEvent::Text("an answer".to_owned()));
        engine.report(TurnEvent::Completed);
    }
    engine.start_turn("last")?;
    for _ in 0..deltas {
        engine.report(TurnEvent::Text("the quick brown fox ".to_owned()));
    }
    Ok(())
}

struct Driver {
    engine: Engine,
    now: i64,
    backend: BackendId,
    turn: String,
    /// Used again for every report, as the host does.
    step: Step,
}

const CLIENT: ConnectionId = ConnectionId(1);
const SESSION: &str = "ahp-session:/bench";

impl Driver {
    fn new() -> Result<Self> {
        let agent = AgentProfile {
            info: serde_json::from_value(json!({
                "provider": "bench", "displayName": "Bench", "description": "", "models": [],
            }))?,
            config: None,
            synonyms: Vec::new(),
            works: true,
            resumes: true,
            reach: Default::default(),
        };
        let config = EngineConfig {
            server_info: Implementation {
                name: "bench".to_owned(),
                version: None,
                title: None,
            },
            build: Default::default(),
            default_directory: None,
            nonce: "bench".to_owned(),
            limits: Limits::default(),
            number_block: EngineConfig::NUMBER_BLOCK,
            queue_after_cancel: Default::default(),
            workspace: Default::default(),
        };
        let boot = Boot {
            next_seq: 1.into(),
            log_start: 1.into(),
            ..Boot::default()
        };
        let now = 1_700_000_000_000;
        let (engine, _) = Engine::new(Timestamp::from_millis(now), config, vec![agent], boot);
        let mut driver = Self {
            engine,
            now,
            backend: BackendId(0),
            turn: String::new(),
            step: Step::default(),
        };
        driver.handle(Input::Connected { connection: CLIENT });
        driver.send(
            "initialize",
            json!({
                "channel": "ahp-root://", "clientId": "bench", "protocolVersions": ["1.0.0"],
            }),
        );
        let created = driver.send("createSession", json!({"channel": SESSION}));
        let opened = created.effects.iter().find_map(|effect| match effect {
            Effect::Agent(AgentCommand::Open(open)) => Some(open.backend),
            _ => None,
        });
        driver.backend = opened.context("a backend")?;
        driver.event(AgentEvent::Opened { resume: None });
        driver.send("subscribe", json!({"channel": chat()}));
        Ok(driver)
    }

    fn start_turn(&mut self, turn: &str) -> Result<()> {
        self.turn = turn.to_owned();
        let step = self.send(
            "dispatchAction",
            json!({
                "channel": chat(), "clientSeq": 1, "action": {
                    "type": "chat/turnStarted", "turnId": turn,
                    "message": {"text": "a question", "origin": {"kind": "user"}},
                },
            }),
        );
        let prompted = |effect: &Effect| matches!(effect, Effect::Agent(AgentCommand::Prompt(_)));
        match step.effects.iter().any(prompted) {
            true => Ok(()),
            false => bail!("turn {turn} did not start"),
        }
    }

    fn report(&mut self, event: TurnEvent) {
        let turn = self.turn.as_str().into();
        self.event(AgentEvent::Turn { turn, event });
    }

    fn event(&mut self, event: AgentEvent) {
        let backend = self.backend;
        self.now += 1;
        let now = Timestamp::from_millis(self.now);
        let report = Input::Agent(AgentReport { backend, event });
        self.engine.handle_into(&mut self.step, now, report);
    }

    fn send(&mut self, method: &str, params: Value) -> Step {
        let text = json!({"id": 1, "method": method, "params": params}).to_string();
        self.handle(Input::Message {
            connection: CLIENT,
            version: Version::NEWEST,
            message: ClientMessage::decode(&text),
        })
    }

    fn handle(&mut self, input: Input) -> Step {
        self.now += 1;
        self.engine.handle(Timestamp::from_millis(self.now), input)
    }
}

fn chat() -> String {
    innkeeper_protocol::ChannelUri::default_chat_of(SESSION).to_string()
}
