//! The trials: what every agent has to do through the host, seen by a client.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::agents::Agent;
use crate::guest::{self, Chat, Guest, calls_of, text_of};
use crate::host::{Host, Setup};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    Text,
    Approval,
    Denial,
    OlderClient,
    Edit,
    Cancel,
    TwoChats,
    Restart,
    Fork,
    ClientTool,
    Comment,
    McpServer,
    Directories,
    SubAgent,
    Background,
}

impl Trial {
    pub(crate) const ALL: [Self; 15] = [
        Self::Text,
        Self::Approval,
        Self::Denial,
        Self::OlderClient,
        Self::Edit,
        Self::Cancel,
        Self::TwoChats,
        Self::Restart,
        Self::Fork,
        Self::ClientTool,
        Self::Comment,
        Self::McpServer,
        Self::Directories,
        Self::SubAgent,
        Self::Background,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Approval => "approval",
            Self::Denial => "denial",
            Self::OlderClient => "older-client",
            Self::Edit => "edit",
            Self::Cancel => "cancel",
            Self::TwoChats => "two-chats",
            Self::Restart => "restart",
            Self::Fork => "fork",
            Self::ClientTool => "client-tool",
            Self::Comment => "comment",
            Self::McpServer => "mcp-server",
            Self::Directories => "directories",
            Self::SubAgent => "sub-agent",
            Self::Background => "background",
        }
    }
}

/// How long a command may live after its turn was cancelled.
const LAST_BREATH: Duration = Duration::from_secs(5);

/// One agent behind a host, and a client.
pub(crate) struct Stage<'a> {
    agent: &'a Agent,
    setup: Setup,
    host: Host,
    guest: Guest,
    /// Where sessions work.
    workspace: PathBuf,
}

impl<'a> Stage<'a> {
    pub(crate) async fn open(agent: &'a Agent, setup: Setup) -> Result<Self> {
        let workspace = setup.directory.join("workspace");
        fs::create_dir_all(&workspace)?;
        let host = Host::start(&setup).await?;
        let guest = Guest::arrive(&host.url).await?;
        guest
            .settings_known(agent.provider, &agent.session_config())
            .await?;
        Ok(Self {
            agent,
            setup,
            host,
            guest,
            workspace,
        })
    }

    pub(crate) async fn close(self) -> Result<()> {
        self.host.stop().await
    }

    /// Restarts the host on the same data.
    async fn reopen(self) -> Result<Self> {
        let Self {
            agent,
            setup,
            host,
            workspace,
            ..
        } = self;
        host.stop().await?;
        let host = Host::start(&setup).await?;
        let guest = Guest::arrive(&host.url).await?;
        Ok(Self {
            agent,
            setup,
            host,
            guest,
            workspace,
        })
    }

    /// Runs a trial in a session of its own; says what is worth knowing.
    pub(crate) async fn run(self, trial: Trial) -> (Option<Self>, Result<String>) {
        let mut stage = self;
        let result = match trial {
            Trial::Text => stage.text().await,
            Trial::Approval => stage.approval().await,
            Trial::Denial => stage.denial().await,
            Trial::OlderClient => stage.older_client().await,
            Trial::Edit => stage.edit().await,
            Trial::Cancel => stage.cancel().await,
            Trial::TwoChats => stage.two_chats().await,
            Trial::Fork => stage.fork().await,
            Trial::ClientTool => stage.client_tool().await,
            Trial::Comment => stage.comment().await,
            Trial::McpServer => stage.mcp_server().await,
            Trial::Directories => stage.directories().await,
            Trial::SubAgent => stage.sub_agent("sub-agent", false).await,
            Trial::Background => stage.sub_agent("background", true).await,
            Trial::Restart => match stage.before_restart().await {
                Err(error) => Err(error),
                Ok(chat) => match stage.reopen().await {
                    Ok(reopened) => {
                        stage = reopened;
                        stage.after_restart(&chat).await
                    }
                    Err(error) => return (None, Err(error)),
                },
            },
        };
        (Some(stage), result)
    }

    async fn session(&self, name: &str) -> Result<Chat> {
        let directory = self.workspace.to_string_lossy();
        let config = self.agent.session_config();
        let session = session_uri(name);
        self.guest
            .new_session(&session, self.agent.provider, &directory, &config)
            .await
    }

    fn file(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    /// Plays a turn to its end; whoever asks for approval is answered.
    async fn play(&self, chat: &mut Chat, steps: Value, approve: bool) -> Result<Played> {
        let turn = format!("turn-{}", chat.state.turns.len() + 1);
        self.guest.play(&chat.uri, &turn, steps).await?;
        self.follow(chat, &turn, approve).await
    }

    async fn follow(&self, chat: &mut Chat, turn: &str, approve: bool) -> Result<Played> {
        let (mut asked, mut ran) = (HashSet::new(), HashSet::new());
        loop {
            if let Some(ended) = chat.ended(turn) {
                return Ok(Played {
                    asked: asked.len(),
                    ran: ran.len(),
                    turn: ended,
                });
            }
            for call in chat.calls() {
                let id = call["toolCallId"].as_str().unwrap_or_default().to_owned();
                if call["status"] == "pending-confirmation" && asked.insert(id.clone()) {
                    self.guest.confirm(&chat.uri, &call, approve).await?;
                }
                let ours = call["contributor"]["clientId"] == guest::NAME;
                if ours && call["status"] == "running" && ran.insert(id) {
                    self.guest.run_tool(&chat.uri, &call).await?;
                }
            }
            chat.next().await?;
        }
    }

    async fn text(&mut self) -> Result<String> {
        let mut chat = self.session("text").await?;
        let said = "The quick brown fox jumps over the lazy dog, again and again.";
        let played = self
            .play(&mut chat, json!([{"say": said}]), true)
            .await?
            .complete()?;
        let heard = text_of(&played.turn);
        ensure!(heard.contains(said), "the answer was {heard:?}");
        ensure!(chat.deltas > 1, "the answer came in one piece");
        let usage = &played.turn["usage"];
        // Some agents count only what is in the context.
        let counts = [&usage["inputTokens"], &usage["_meta"]["contextUsed"]];
        ensure!(
            counts.iter().any(|count| count.is_number()),
            "usage says {usage}"
        );
        let told = [
            "model",
            "contextUsed",
            "contextWindow",
            "cost",
            "sessionCost",
        ];
        let told = told.iter().filter(|key| {
            let known = [&usage[**key], &usage["_meta"][**key]];
            known.iter().any(|value| !value.is_null())
        });
        let told: Vec<&str> = told.copied().collect();
        let told = told.join(", ");
        Ok(format!("{} pieces; usage with {told}", chat.deltas))
    }

    async fn approval(&mut self) -> Result<String> {
        let mut chat = self.session("approval").await?;
        let file = self.file("approved");
        let steps = json!([{"run": format!("echo yes > '{}'", file.display())}, {"say": "ok"}]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        ensure!(file.exists(), "the command did not run: {}", played.turn);
        played.call("completed")?;
        ensure!(played.asked > 0, "nobody was asked");
        Ok("asked once".to_owned())
    }

    async fn denial(&mut self) -> Result<String> {
        let mut chat = self.session("denial").await?;
        let file = self.file("denied");
        let steps = json!([{"run": format!("echo no > '{}'", file.display())}, {"say": "ok"}]);
        let played = self.play(&mut chat, steps, false).await?;
        ensure!(played.asked > 0, "nobody was asked");
        ensure!(!file.exists(), "the command ran although it was denied");
        let call = played.call("cancelled")?;
        ensure!(call["reason"] == "denied", "the call ended as {call}");
        // The session goes on.
        let steps = json!([{"say": "still here"}]);
        self.play(&mut chat, steps, true).await?.complete()?;
        Ok(format!("the turn then is {}", played.state()))
    }

    /// A client of an older version, which cannot refer to large input, sees
    /// what it is asked to approve.
    async fn older_client(&mut self) -> Result<String> {
        let mut chat = self.session("older").await?;
        let file = self.file("older");
        let end = format!("echo yes > '{}'", file.display());
        let command = format!(": {}; {end}", "a".repeat(100_000));
        let turn = "large";
        let steps = json!([{"run": command}, {"say": "ok"}]);
        self.guest.play(&chat.uri, turn, steps).await?;
        let call = loop {
            ensure!(chat.ended(turn).is_none(), "nobody was asked");
            let calls = chat.calls();
            let asks = |call: &&Value| call["status"] == "pending-confirmation";
            if let Some(call) = calls.iter().find(asks) {
                break call.clone();
            }
            chat.next().await?;
        };
        let older = Guest::arrive_as(&self.host.url, "trials-older", "0.2.0").await?;
        let params = json!({"channel": session_uri("older")});
        let mut answer = older.request("subscribe", params).await?;
        let shown = calls_of(&answer["snapshot"]["state"]["activeTurn"].take());
        let input = shown.first().and_then(|call| call["toolInput"].as_str());
        let input = input.unwrap_or_default();
        ensure!(
            input.len() > 100_000 && input.contains(&end),
            "{} bytes of input are shown for {call}",
            input.len()
        );
        let played = self.follow(&mut chat, turn, true).await?.complete()?;
        ensure!(file.exists(), "the command did not run: {}", played.turn);
        Ok(format!("sees all {} KB of the input", input.len() / 1000))
    }

    /// The file on disk, and what the tool call and the turn show of the change.
    async fn edit(&mut self) -> Result<String> {
        let mut chat = self.session("edit").await?;
        let file = self.file("notes.txt");
        fs::write(&file, "first line\nsecond line\n")?;
        let edit = json!({
            "directory": self.workspace, "path": "notes.txt",
            "old": "second line", "new": "another line",
        });
        let steps = json!([{"read": file}, {"edit": edit}, {"say": "ok"}]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        let text = fs::read_to_string(&file)?;
        let calls = json!(calls_of(&played.turn));
        ensure!(
            text == "first line\nanother line\n",
            "the file has {text:?}; {calls}"
        );
        let content = calls.as_array().into_iter().flatten();
        let content = content
            .filter_map(|call| call["content"].as_array())
            .flatten();
        let shown = content.filter(|block| block["type"] == "fileEdit");
        let shown = shown.collect::<Vec<_>>();
        ensure!(!shown.is_empty(), "no call shows the edit: {calls}");
        let uri = format!("file://{}", file.display());
        let ours = shown
            .iter()
            .any(|edit| edit["after"]["uri"] == uri.as_str());
        ensure!(ours, "the edit is of another file: {}", json!(shown));
        let turn = played.turn["id"].as_str().unwrap_or_default();
        let changed = self.guest.changed(&chat, turn, &uri).await?;
        let lines = json!(changed.edit.diff);
        ensure!(
            lines == json!({"added": 1, "removed": 1}),
            "the changeset of the turn counts {lines}"
        );
        Ok("on disk, in the call and in the turn's changeset".to_owned())
    }

    async fn cancel(&mut self) -> Result<String> {
        let mut chat = self.session("cancel").await?;
        let file = self.file("process");
        let script = self.file("long.sh");
        let lines = format!("echo $$ > \"{}\"\nexec sleep 600\n", file.display());
        fs::write(&script, lines)?;
        // A child of the shell: ending the shell alone would leave it.
        let command = format!("sh \"{}\"; true", script.display());
        let turn = "long";
        let steps = json!([{"run": command}, {"say": "ok"}]);
        self.guest.play(&chat.uri, turn, steps).await?;
        let mut asked = HashSet::new();
        let process = loop {
            if let Some(ended) = chat.ended(turn) {
                bail!("the turn ended before it was cancelled: {ended}");
            }
            for call in chat.calls() {
                let id = call["toolCallId"].as_str().unwrap_or_default().to_owned();
                if call["status"] == "pending-confirmation" && asked.insert(id) {
                    self.guest.confirm(&chat.uri, &call, true).await?;
                }
            }
            if let Some(process) = process_in(&file) {
                break process;
            }
            // The file is not announced: look now and then.
            let _ = tokio::time::timeout(Duration::from_millis(100), chat.next()).await;
        };
        self.guest.cancel(&chat.uri, turn).await?;
        let cancelled = Instant::now();
        let played = self.follow(&mut chat, turn, true).await?;
        let ended = cancelled.elapsed();
        ensure!(
            played.state() == "cancelled",
            "the turn is {}",
            played.state()
        );
        while is_running(process) {
            ensure!(
                cancelled.elapsed() < LAST_BREATH,
                "the command still runs {} s after the cancel",
                LAST_BREATH.as_secs()
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let gone = cancelled.elapsed();
        // The session goes on.
        let steps = json!([{"say": "still here"}]);
        self.play(&mut chat, steps, true).await?.complete()?;
        Ok(format!(
            "turn ended after {} ms, command gone after {} ms",
            ended.as_millis(),
            gone.as_millis()
        ))
    }

    /// Two chats of one session, each of which waits for the other.
    async fn two_chats(&mut self) -> Result<String> {
        let mut first = self.session("two").await?;
        let session = session_uri("two");
        let mut second = self
            .guest
            .new_chat(&session, "ahp-chat:/trials-second", None)
            .await?;
        let meet = |mine: &str, theirs: &str| {
            let (mine, theirs) = (self.file(mine), self.file(theirs));
            let (mine, theirs) = (mine.display(), theirs.display());
            let wait = format!("until test -e '{theirs}'; do sleep 0.1; done");
            json!([{"run": format!("touch '{mine}'; {wait}; echo met")}, {"say": "met"}])
        };
        let (one, other) = tokio::try_join!(
            self.play(&mut first, meet("one", "other"), true),
            self.play(&mut second, meet("other", "one"), true),
        )?;
        for played in [one.complete()?, other.complete()?] {
            played.call("completed")?;
        }
        Ok("they met".to_owned())
    }

    /// A chat that begins as a copy of another one.
    async fn fork(&mut self) -> Result<String> {
        let mut chat = self.session("fork").await?;
        let steps = json!([{"remember": "quince"}, {"say": "noted"}]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        let source = json!({"kind": "fork", "chat": chat.uri, "turnId": played.turn["id"]});
        let mut copy = self
            .guest
            .new_chat(&session_uri("fork"), "ahp-chat:/trials-copy", Some(source))
            .await?;
        let steps = json!([{"recall": true}]);
        let played = self.play(&mut copy, steps, true).await?.complete()?;
        let heard = text_of(&played.turn);
        ensure!(heard.contains("quince"), "it says {heard:?}");
        Ok("remembers".to_owned())
    }

    /// A tool that the client itself offers and runs.
    async fn client_tool(&mut self) -> Result<String> {
        let mut chat = self.session("tool").await?;
        self.guest.offer_tool(&session_uri("tool")).await?;
        let steps = json!([
            {"use": {"tool": guest::TOOL, "input": {"city": "Ulm"}}}, {"say": "ok"},
        ]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        ensure!(played.ran == 1, "the tool was not used: {}", played.turn);
        Ok(format!("asked {} times", played.asked))
    }

    /// A comment on a file tells the model what to do: answer and resolve it.
    async fn comment(&mut self) -> Result<String> {
        let mut chat = self.session("comment").await?;
        let session = session_uri("comment");
        fs::write(self.file("menu.txt"), "soup\ncake\n")?;
        let script = json!({"steps": [
            {"use": {"tool": "resolve_annotation", "input": {"id": "n", "answer": "Cheesecake."}}},
            {"say": "ok"},
        ]});
        let file = format!("file://{}", self.file("menu.txt").display());
        let channel = self
            .guest
            .comment(&session, &file, &script.to_string())
            .await?;
        self.guest
            .send_comments(&chat.uri, "turn-1", &channel)
            .await?;
        let played = self.follow(&mut chat, "turn-1", true).await?.complete()?;
        let params = json!({"channel": channel});
        let subscribed = self.guest.request("subscribe", params).await?;
        let comment = &subscribed["snapshot"]["state"]["annotations"][0];
        ensure!(comment["resolved"] == true, "{comment}, {}", played.turn);
        let answer = &comment["entries"][1]["text"]["markdown"];
        ensure!(answer == "Cheesecake.", "{comment}");
        Ok(format!("asked {} times", played.asked))
    }

    /// A tool of a server that the host runs.
    async fn mcp_server(&mut self) -> Result<String> {
        let mut chat = self.session("server").await?;
        let steps = json!([
            {"use": {"tool": "echo", "input": {"message": "quince"}}}, {"say": "ok"},
        ]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        let calls = calls_of(&played.turn);
        let of_server = calls
            .iter()
            .find(|call| call["contributor"]["kind"] == "mcp");
        let of_server = of_server.with_context(|| format!("no call of it: {}", json!(calls)))?;
        let said = of_server["content"].to_string();
        ensure!(said.contains("quince"), "{of_server}");
        Ok(format!("asked {} times", played.asked))
    }

    /// A directory that comes in when the conversation has begun.
    async fn directories(&mut self) -> Result<String> {
        let mut chat = self.session("directories").await?;
        let steps = json!([{"remember": "medlar"}, {"run": "true"}, {"say": "noted"}]);
        self.play(&mut chat, steps, true).await?.complete()?;
        let other = self.setup.directory.join("other");
        fs::create_dir_all(&other)?;
        let file = other.join("notes.txt");
        fs::write(&file, "first line\nsecond line\n")?;
        let session = session_uri("directories");
        self.guest
            .add_directory(&session, &format!("file://{}", other.display()))
            .await?;
        let edit = json!({
            "directory": other, "path": "notes.txt",
            "old": "second line", "new": "another line",
        });
        let steps = json!([{"read": file}, {"edit": edit}, {"recall": true}]);
        let played = self.play(&mut chat, steps, true).await?.complete()?;
        let text = fs::read_to_string(&file)?;
        let calls = json!(calls_of(&played.turn));
        ensure!(
            text == "first line\nanother line\n",
            "the file has {text:?}; {calls}"
        );
        let heard = text_of(&played.turn);
        ensure!(heard.contains("medlar"), "it says {heard:?}");
        let turn = played.turn["id"].as_str().unwrap_or_default();
        let uri = format!("file://{}", file.display());
        self.guest.changed(&chat, turn, &uri).await?;
        Ok(format!("asked {} times", played.asked))
    }

    /// An agent that works for a call: in a chat of its own, where it asks for
    /// approval, at the address that editors open.
    async fn sub_agent(&mut self, name: &str, in_background: bool) -> Result<String> {
        let mut chat = self.session(name).await?;
        let file = self.file(name);
        let command = format!("echo yes > '{}'", file.display());
        let script = json!({"steps": [{"run": command}, {"say": "found it"}]});
        let delegate = json!({
            "delegate": script.to_string(), "kind": self.agent.sub_agent,
            "inBackground": in_background,
        });
        let steps = json!([delegate, {"say": "ok"}]);
        let turn = "turn-1";
        self.guest.play(&chat.uri, turn, steps).await?;
        let mut asked = HashSet::new();
        let (call, address) = loop {
            if let Some(ended) = chat.ended(turn) {
                bail!("no call has a chat of its own: {ended}");
            }
            let calls = chat.calls();
            let work = json!(chat.state)["backgroundWork"].clone();
            if let Some(found) = calls.iter().find_map(|call| sub_agent_of(call, &work)) {
                break found;
            }
            for call in calls {
                let id = call["toolCallId"].as_str().unwrap_or_default().to_owned();
                if call["status"] == "pending-confirmation" && asked.insert(id) {
                    self.guest.confirm(&chat.uri, &call, true).await?;
                }
            }
            chat.next().await?;
        };
        ensure!(
            address.starts_with("ahp-chat://subagent/") && address.ends_with(&call),
            "editors do not open {address} for {call}"
        );
        let mut below = self.guest.chat(&address).await?;
        let active = below.state.active_turn.as_ref().map(|turn| turn.id.clone());
        let ended = below.state.turns.last().map(|turn| turn.id.clone());
        let its_turn = active.or(ended).context("the sub-agent has no turn")?;
        let (own, nested) = tokio::try_join!(
            self.follow(&mut chat, turn, true),
            self.follow(&mut below, &its_turn, true),
        )?;
        let (own, nested) = (own.complete()?, nested.complete()?);
        ensure!(file.exists(), "the command did not run: {}", nested.turn);
        nested.call("completed")?;
        ensure!(nested.asked > 0, "nobody was asked in the sub-agent's chat");
        let (calls, its_calls) = (calls_of(&own.turn), calls_of(&nested.turn));
        let is_its = |call: &Value| {
            let mut its_calls = its_calls.iter();
            its_calls.any(|it| it["toolCallId"] == call["toolCallId"])
        };
        ensure!(
            !calls.iter().any(is_its),
            "its calls are shown twice: {}",
            own.turn
        );
        // Some tell its last words as their own, or as the result of a call.
        let results = calls.iter().map(|call| call["content"].to_string());
        let heard = [text_of(&nested.turn), text_of(&own.turn)];
        let heard: String = heard.into_iter().chain(results).collect();
        ensure!(
            heard.contains("found it"),
            "nobody says what it found: {heard}"
        );
        Ok(format!("asked {} times in its own chat", nested.asked))
    }

    async fn before_restart(&self) -> Result<String> {
        let mut chat = self.session("restart").await?;
        let steps = json!([{"remember": "damson"}, {"run": "true"}, {"say": "noted"}]);
        self.play(&mut chat, steps, true).await?.complete()?;
        Ok(chat.uri)
    }

    async fn after_restart(&self, chat: &str) -> Result<String> {
        let mut chat = self.guest.chat(chat).await?;
        ensure!(chat.state.turns.len() == 1, "the first turn is gone");
        let played = self
            .play(&mut chat, json!([{"recall": true}]), true)
            .await?
            .complete()?;
        let heard = text_of(&played.turn);
        ensure!(heard.contains("damson"), "it says {heard:?}");
        let told = played.turn["responseParts"].to_string();
        Ok(
            match told.contains("did not resume its earlier conversation") {
                true => "remembers by the transcript",
                false => "remembers by itself",
            }
            .to_owned(),
        )
    }
}

/// A call that another agent works for, with the address of its chat: the call
/// has a link to it, or the chat lists what goes on after the call.
fn sub_agent_of(call: &Value, background_work: &Value) -> Option<(String, String)> {
    let content = call["content"].as_array().into_iter().flatten();
    let links = content.filter(|block| block["type"] == "subagent");
    let links = links.map(|block| &block["resource"]);
    let work = background_work.as_array().into_iter().flatten();
    let announced = &call["_meta"]["subagentChatUri"];
    let work = work.map(|it| &it["chat"]).filter(|chat| *chat == announced);
    let address = links.chain(work).next()?.as_str()?.to_owned();
    Some((call["toolCallId"].as_str()?.to_owned(), address))
}

fn session_uri(name: &str) -> String {
    format!("ahp-session:/trials-{name}")
}

/// A turn that has ended.
struct Played {
    turn: Value,
    /// How often somebody was asked for approval.
    asked: usize,
    /// How many of the client's own tools were used.
    ran: usize,
}

impl Played {
    fn state(&self) -> &str {
        self.turn["state"].as_str().unwrap_or("?")
    }

    fn complete(self) -> Result<Self> {
        ensure!(
            self.state() == "complete",
            "the turn is {}: {}",
            self.state(),
            self.turn
        );
        Ok(self)
    }

    /// The first call that ended in this way.
    fn call(&self, status: &str) -> Result<Value> {
        let calls = calls_of(&self.turn);
        let found = calls.iter().find(|call| call["status"] == status).cloned();
        found.with_context(|| format!("no call is {status}: {}", json!(calls)))
    }
}

fn process_in(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn is_running(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
