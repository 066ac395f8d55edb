//! An agent for tests, behind the Agent Client Protocol: it does what the
//! prompt says, and misbehaves on request.
//!
//! The last text block of a prompt is a JSON object with `steps`; without one,
//! all blocks are said back. How it starts is in the variable `TEST_AGENT`:
//!
//! | key | meaning |
//! | --- | --- |
//! | `initialize`, `new`, `load` | fields of the answers to those requests |
//! | `answers` | fields of the answers to all other requests, by their method |
//! | `errors` | errors, by the method that is answered with them |
//! | `silentOn`, `exitOn` | a method that is not answered, or ends the process |
//! | `updates` | `session/update`s by the method before whose answer they come |
//! | `waitOn` | methods that are answered when a byte came through the named pipe that stands for each |
//! | `noise` | lines that it says on its output before anything else |
//! | `stays` | does not end when its input does |
//! | `journal` | a file to which it adds the name of each method that it is asked |
//! | `doom` | a file; if it is there when the program starts, it ends at once, or with the method that the file names |
//! | `signIn` | a sign-in that it wants: `on` is the method that it refuses until the `file` is there, or until the `variable` has the `value`; `authenticate` says `lines`, asks `ask`, and makes the file unless it `hangs`, or `needs` another variable with the value |
//! | `pidFile` | a file to which it writes the number of its process |
//!
//! Steps: `update`, `request` (its answer is said if `say` is set, not awaited
//! if `wait` is false), `notify`, `raw`, `stderr`, `exit`, `spawn` (a shell
//! command that stays; its process id is said), `spawnHolding` (likewise, with
//! the agent's own output), `say`, `echo` (`prompt`,
//! `requests` or `answers`), `awaitCancel` (what came is said if it
//! is `say`), `awaitSteering`, `hang`, `afterwards` (an
//! update, or a message with a `method`, that follows the answer to the prompt), `exitAfterwards`, and as an end `stop` or `error`.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

fn main() {
    let (lines, inbox) = channel();
    let behaviour = std::env::var("TEST_AGENT").unwrap_or_default();
    let behaviour: Value = serde_json::from_str(&behaviour).unwrap_or_default();
    let stays = behaviour["stays"] == true;
    let path = |key: &str| behaviour[key].as_str().map(Path::new);
    let doom = path("doom").and_then(|path| std::fs::read_to_string(path).ok());
    if doom.as_deref() == Some("") {
        eprintln!("told not to start");
        std::process::exit(4);
    }
    for line in list(&behaviour["noise"]) {
        write_line(line.as_str().unwrap_or_default());
    }
    if let Some(path) = path("pidFile") {
        let _ = std::fs::write(path, std::process::id().to_string());
    }
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if let Ok(message) = serde_json::from_str(&line) {
                let _ = lines.send(message);
            }
        }
        if stays {
            loop {
                std::thread::park();
            }
        }
    });
    let mut agent = TestAgent {
        behaviour,
        doom,
        inbox,
        put_off: VecDeque::new(),
        requests: Vec::new(),
        answers: Vec::new(),
        session: "session-1".to_owned(),
        sessions: 1,
        asked: 0,
        afterwards: Vec::new(),
    };
    while let Some(message) = agent.next() {
        agent.handle(&message);
    }
}

struct TestAgent {
    behaviour: Value,
    /// The method that it ends with.
    doom: Option<String>,
    inbox: Receiver<Value>,
    /// What came while something else was awaited.
    put_off: VecDeque<Value>,
    /// All requests so far.
    requests: Vec<Value>,
    /// Answers that nothing waited for.
    answers: Vec<Value>,
    session: String,
    sessions: usize,
    asked: usize,
    /// Updates that follow the answer to the prompt.
    afterwards: Vec<Value>,
}

/// How a prompt ends.
enum Ending {
    Result(Value),
    Error(Value),
}

impl TestAgent {
    fn next(&mut self) -> Option<Value> {
        self.put_off.pop_front().or_else(|| self.inbox.recv().ok())
    }

    /// Waits for a message; everything else is put off, but for requests that
    /// any agent answers at once.
    fn await_message(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        if let Some(index) = self.put_off.iter().position(&wanted) {
            return self.put_off.remove(index);
        }
        loop {
            let message = self.inbox.recv().ok()?;
            if wanted(&message) {
                return Some(message);
            }
            match message["method"].as_str() {
                Some(method) if method.starts_with("session/set_") => self.handle(&message),
                _ => self.put_off.push_back(message),
            }
        }
    }

    fn handle(&mut self, message: &Value) {
        let Some(method) = message["method"].as_str() else {
            self.answers.push(message.clone());
            return;
        };
        let params = &message["params"];
        self.requests
            .push(json!({"method": method, "params": params}));
        self.note_down(method);
        if self.behaviour["exitOn"] == method || self.doom.as_deref() == Some(method) {
            eprintln!("told to end");
            std::process::exit(3);
        }
        if message["id"].is_null() || self.behaviour["silentOn"] == method {
            return;
        }
        if let Some(file) = self.behaviour["waitOn"][method].as_str() {
            let _ = File::open(file).and_then(|mut pipe| pipe.read_exact(&mut [0]));
        }
        for update in list(&self.behaviour["updates"][method]) {
            self.update(&update);
        }
        let wants = self.behaviour["signIn"].clone();
        if method == "authenticate" && wants.is_object() {
            for line in list(&wants["lines"]) {
                eprintln!("{}", line.as_str().unwrap_or_default());
            }
            if wants["ask"].is_object() {
                self.request(&json!({"method": "elicitation/create", "params": wants["ask"]}));
            }
            if wants["hangs"] == true {
                return;
            }
            if let Some(needed) = wants["needs"].as_str()
                && std::env::var(needed).ok().as_deref() != wants["value"].as_str()
            {
                let error = json!({"code": -32603, "message": format!("{needed} is not set")});
                return write(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
            }
            let _ = File::create(wants["file"].as_str().unwrap_or_default());
        } else if wants["on"] == method && !is_signed_in(&wants) {
            let usual = json!({"code": -32000, "message": "Authentication required"});
            let error = wants.get("error").unwrap_or(&usual);
            return write(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
        if let Some(error) = self.behaviour["errors"].get(method) {
            return write(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
        }
        let result = match method {
            "initialize" => merged(
                json!({"protocolVersion": 1, "agentInfo": {"name": "test-agent", "version": "1"}}),
                &self.behaviour["initialize"],
            ),
            "session/new" | "session/fork" => {
                self.session = format!("session-{}", self.sessions);
                self.sessions += 1;
                merged(json!({"sessionId": self.session}), &self.behaviour["new"])
            }
            "session/load" | "session/resume" => {
                self.session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                merged(json!({}), &self.behaviour["load"])
            }
            "session/list" => merged(json!({"sessions": []}), &self.behaviour["list"]),
            "session/prompt" => match self.play(params) {
                Ending::Result(result) => result,
                Ending::Error(error) => {
                    return write(&json!({"jsonrpc": "2.0", "id": message["id"], "error": error}));
                }
            },
            _ => merged(json!({}), &self.behaviour["answers"][method]),
        };
        write(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
        for update in std::mem::take(&mut self.afterwards) {
            match update["exit"].as_i64() {
                Some(code) => std::process::exit(i32::try_from(code).unwrap_or(1)),
                None if update["method"].is_string() => {
                    write(&merged(json!({"jsonrpc": "2.0"}), &update));
                }
                None => self.update(&update),
            }
        }
    }

    fn note_down(&self, method: &str) {
        let journal = self.behaviour["journal"].as_str();
        let journal = journal.map(|path| File::options().append(true).create(true).open(path));
        if let Some(Ok(mut journal)) = journal {
            let _ = writeln!(journal, "{method}");
        }
    }

    fn play(&mut self, params: &Value) -> Ending {
        let blocks = list(&params["prompt"]);
        let text = blocks
            .last()
            .and_then(|block| block["text"].as_str())
            .unwrap_or_default();
        let scenario: Value = serde_json::from_str(text).unwrap_or_default();
        if !scenario["steps"].is_array() {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(|block| block["text"].as_str())
                .collect();
            self.say(&texts.join("\n"));
        }
        for step in list(&scenario["steps"]) {
            if let Some(ending) = self.step(&step, params) {
                return ending;
            }
        }
        Ending::Result(json!({"stopReason": "end_turn"}))
    }

    fn step(&mut self, step: &Value, params: &Value) -> Option<Ending> {
        let (verb, with) = step.as_object()?.iter().next()?;
        match verb.as_str() {
            "say" => self.say(with.as_str()?),
            "update" => self.update(with),
            "afterwards" => self.afterwards.push(with.clone()),
            "exitAfterwards" => self.afterwards.push(json!({"exit": with})),
            "notify" => write(&merged(json!({"jsonrpc": "2.0"}), with)),
            "raw" => write_line(with.as_str()?),
            "stderr" => eprintln!("{}", with.as_str()?),
            "exit" => std::process::exit(i32::try_from(with.as_i64()?).ok()?),
            "stop" => return Some(Ending::Result(with.clone())),
            "error" => return Some(Ending::Error(with.clone())),
            "hang" => loop {
                std::thread::park();
            },
            "echo" if with == "prompt" => self.say(&params["prompt"].to_string()),
            "echo" if with == "answers" => self.say(&json!(self.answers).to_string()),
            "echo" => self.say(&json!(self.requests).to_string()),
            "awaitCancel" => {
                let cancel = self.await_message(|it| it["method"] == "session/cancel")?;
                if with == "say" {
                    self.say(&cancel["params"].to_string());
                }
            }
            "awaitSteering" => {
                let steering =
                    self.await_message(|message| message["method"] == "_session/steering")?;
                let text = steering["params"]["prompt"][0]["text"].as_str()?.to_owned();
                let result = json!({"outcome": "injected"});
                write(&json!({"jsonrpc": "2.0", "id": steering["id"], "result": result}));
                self.say(&text);
            }
            "spawn" => {
                let child = Command::new("/bin/sh")
                    .args(["-c", with.as_str()?])
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .spawn();
                self.say(&child.ok()?.id().to_string());
            }
            "spawnHolding" => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", with.as_str()?]).stdin(Stdio::null());
                shell.spawn().ok()?;
            }
            "request" => self.request(with),
            other => self.say(&format!("unknown step: {other}")),
        }
        None
    }

    fn request(&mut self, request: &Value) {
        self.asked += 1;
        let id = format!("agent-{}", self.asked);
        let mut params = request["params"].clone();
        if params.get("sessionId").is_none() && params.is_object() {
            params["sessionId"] = json!(self.session);
        }
        let method = &request["method"];
        write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        if request["wait"] == false {
            return;
        }
        let answer = self.await_message(|message| message["id"] == id.as_str());
        if request["say"] == true {
            let mut answer = answer.unwrap_or_default();
            let shown = match answer.get("error") {
                Some(error) => json!({"error": error["code"]}),
                None => answer["result"].take(),
            };
            self.say(&shown.to_string());
        }
    }

    fn say(&self, text: &str) {
        let content = json!({"type": "text", "text": text});
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": content}));
    }

    fn update(&self, update: &Value) {
        let params = json!({"sessionId": self.session, "update": update});
        write(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
    }
}

fn is_signed_in(wants: &Value) -> bool {
    let text = |key: &str| wants[key].as_str().unwrap_or_default();
    let value = std::env::var(text("variable")).ok();
    Path::new(text("file")).exists() || value.is_some_and(|value| value == text("value"))
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn merged(mut into: Value, more: &Value) -> Value {
    if let (Some(into), Some(more)) = (into.as_object_mut(), more.as_object()) {
        into.extend(more.clone());
    }
    into
}

fn write(message: &Value) {
    write_line(&message.to_string());
}

/// A reader that is gone means that the test is over.
fn write_line(line: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}
