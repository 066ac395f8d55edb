//! Processes that end when nobody asked them to, and that do not start when
//! they should: what becomes of turns, and of what an agent remembers.

use std::io::Write as _;

use super::programs::{kill, times};
use super::testing::stored_turn;
use super::*;

/// Files by which a test and its agent know of each other.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// An agent that can take up its conversations, and be steered.
    fn agent(&self, patience: Patience) -> AcpAgent {
        let behaviour = json!({
            "initialize": {
                "agentCapabilities": {"loadSession": true},
                "_meta": {"steering": {"supported": true}},
            },
            "doom": self.path("doom"),
            "journal": self.path("journal"),
            "pidFile": self.path("pid"),
        });
        patient(&behaviour, patience)
    }

    async fn conversation(&self) -> Conversation {
        opened(self.agent(Patience::default()), asked_to_open()).await
    }

    /// From now on, processes end at once, or with a method.
    fn doom(&self, method: &str) {
        std::fs::write(self.path("doom"), method).unwrap();
    }

    fn pardon(&self) {
        std::fs::remove_file(self.path("doom")).unwrap();
    }

    fn kill(&self) {
        kill(&self.path("pid"));
    }

    fn times(&self, method: &str) -> usize {
        times(&self.path("journal"), method)
    }
}

/// The chat is cut, and this is left of it.
fn cut(conversation: &Conversation, left: &[&str]) {
    let backend = BACKEND;
    let left = left.iter().enumerate();
    let left = left.map(|(at, text)| stored_turn(&format!("turn-{}", at + 1), text));
    let transcript = left.collect();
    conversation.command(AgentCommand::Truncate {
        backend,
        transcript,
    });
}

#[tokio::test]
async fn after_a_cut_nobody_asks_the_agent_that_knows_more_though_no_other_starts() {
    for method in ["", "initialize", "session/new"] {
        let place = Place::new();
        let mut conversation = place.conversation().await;
        conversation.say("keep this").await;
        conversation.say("forget this").await;
        // Not all turns of a chat are its agent's.
        cut(&conversation, &["keep this", "keep a command of the host"]);
        place.doom(method);
        for question in ["the second", "the third"] {
            let heard = conversation.say(question).await;
            assert_eq!(heard.len(), 1, "{heard:?}");
            let failed = "failed (resumable): agentExited: ";
            assert!(heard[0].starts_with(failed), "{heard:?}");
        }
        place.pardon();
        let heard = conversation.say("the fourth").await;
        assert_eq!(heard[0], "opened");
        for left in ["keep this", "keep a command", "the second", "the third"] {
            assert!(heard[1].contains(left), "{heard:?}");
        }
        assert!(!heard[1].contains("forget this"), "{heard:?}");
        assert_eq!(place.times("session/prompt"), 3);
    }
}

#[tokio::test]
async fn a_turn_that_reached_nobody_is_told_once_when_it_is_taken_up() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    conversation.say("keep this").await;
    cut(&conversation, &["keep this"]);
    place.doom("");
    let turn = conversation.prompt("the question");
    assert!(conversation.rest().await[0].starts_with("failed"));
    place.pardon();
    conversation.resume(&turn, "the question", json!([]));
    let heard = conversation.rest().await;
    assert!(heard[1].contains("keep this"), "{heard:?}");
    assert_eq!(heard[1].matches("the question").count(), 1, "{heard:?}");
}

#[tokio::test]
async fn a_successor_has_the_model_and_says_what_it_has_forgotten() {
    let place = Place::new();
    let behaviour = json!({
        "new": {"models": {"currentModelId": "old", "availableModels": [
            {"modelId": "old", "name": "Old"}, {"modelId": "new", "name": "New"}]}},
        "journal": place.path("journal"), "pidFile": place.path("pid"),
    });
    let mut conversation = opened(AcpAgent::new(options(&behaviour)), asked_to_open()).await;
    let message = json!({"text": "one", "model": {"id": "new"}, "origin": {"kind": "user"}});
    conversation.prompt_with(message.clone());
    conversation.rest().await;
    place.kill();
    conversation.prompt_with(message);
    let heard = conversation.rest().await;
    let place_of = |wanted: &str| heard.iter().position(|line| line.starts_with(wanted));
    let (opened, notice) = (place_of("opened"), place_of("notice: test did not resume"));
    assert!(opened.is_some() && opened < notice, "{heard:?}");
    assert_eq!(place.times("session/set_model"), 2);
}

#[tokio::test]
async fn what_was_cut_while_it_ran_is_forgotten() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    conversation.say("keep this").await;
    let turn = conversation.prompt(&scenario(
        json!([said("forget this"), {"awaitCancel": true}]),
    ));
    until_line(&mut conversation, "text: ").await;
    conversation.cancel(&turn);
    cut(&conversation, &["keep this"]);
    assert_eq!(conversation.rest().await, ["cancelled"]);
    let heard = conversation.say("now").await;
    assert_eq!(heard[0], "opened");
    assert!(heard[1].contains("keep this"), "{heard:?}");
    assert!(!heard[1].contains("forget this"), "{heard:?}");
}

#[tokio::test]
async fn an_agent_that_is_stopped_by_force_does_not_bring_back_what_was_cut() {
    let place = Place::new();
    let patience = Patience {
        cancelling: Duration::from_millis(50),
        ..Patience::default()
    };
    let mut conversation = opened(place.agent(patience), asked_to_open()).await;
    conversation.say("forget this").await;
    let turn = conversation.prompt(&scenario(json!([said("on"), {"hang": true}])));
    until_line(&mut conversation, "text: on").await;
    conversation.cancel(&turn);
    cut(&conversation, &[]);
    assert_eq!(conversation.rest().await, ["opened", "cancelled"]);
    let heard = conversation.say("now").await;
    assert_eq!(heard, ["text: now", "because: end_turn", "completed"]);
    assert_eq!(place.times("session/load"), 0);
}

#[tokio::test]
async fn a_turn_that_begins_while_the_agent_dies_is_given_to_its_successor() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    conversation.say("one").await;
    place.kill();
    let heard = conversation.say("two").await;
    assert_eq!(
        heard,
        ["opened", "text: two", "because: end_turn", "completed"]
    );
    assert_eq!(place.times("session/load"), 1);
    // And so is the next, if that dies too.
    place.kill();
    let heard = conversation.say("three").await;
    assert_eq!(heard[..2], ["opened", "text: three"]);
}

#[tokio::test]
async fn an_agent_that_dies_of_a_prompt_is_started_anew_once() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    let heard = conversation.play(json!([{"exit": 3}])).await;
    assert_eq!(heard, ["opened", "exited: it ended with status 3"]);
    assert_eq!(place.times("initialize"), 2);
    assert_eq!(place.times("session/prompt"), 2);
}

#[tokio::test]
async fn an_agent_that_has_begun_to_answer_is_not_asked_again() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    let heard = conversation.play(json!([said("so"), {"exit": 3}])).await;
    assert_eq!(heard, ["text: so", "exited: it ended with status 3"]);
    assert_eq!(place.times("initialize"), 1);
}

#[tokio::test]
async fn the_end_of_an_agent_that_had_nothing_to_do_is_told_as_such() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    place.kill();
    let idle = until(&mut conversation, |event| match event {
        AgentEvent::Exited { idle, .. } => Some(*idle),
        _ => None,
    });
    assert!(idle.await);
}

#[tokio::test]
async fn where_no_successor_starts_the_turn_says_why() {
    for method in ["", "session/load"] {
        let place = Place::new();
        let mut conversation = place.conversation().await;
        place.doom(method);
        place.kill();
        let heard = conversation.say("two").await;
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert!(heard[0].starts_with("open failed: "), "{heard:?}");
        assert!(heard[0].contains("told"), "{heard:?}");
    }
}

#[tokio::test]
async fn a_turn_that_was_cancelled_is_not_asked_again() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    place.kill();
    let turn = conversation.prompt("x");
    conversation.cancel(&turn);
    assert_eq!(
        conversation.rest().await,
        ["exited: it was ended by signal 9"]
    );
    assert_eq!(place.times("initialize"), 1);
}

#[tokio::test]
async fn a_cancel_during_a_restart_reaches_the_successor() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    place.kill();
    let turn = conversation.prompt(&scenario(json!([{"awaitCancel": true}])));
    while place.times("initialize") < 2 {
        tokio::task::yield_now().await;
    }
    conversation.cancel(&turn);
    assert_eq!(conversation.rest().await, ["opened", "cancelled"]);
}

#[tokio::test]
async fn a_message_for_a_turn_that_is_given_to_a_successor_goes_along() {
    let place = Place::new();
    let mut conversation = place.conversation().await;
    place.kill();
    let turn = conversation.prompt(&scenario(json!([{"awaitSteering": true}])));
    let message = json!({"id": "m", "message": {"text": "salt", "origin": {"kind": "user"}}});
    conversation.command(AgentCommand::Steer {
        backend: BACKEND,
        turn,
        message: Some(Box::new(serde_json::from_value(message).unwrap())),
    });
    assert_eq!(
        conversation.rest().await,
        [
            "opened",
            "steered: m",
            "text: salt",
            "because: end_turn",
            "completed"
        ]
    );
}

#[tokio::test]
async fn silence_is_told_of_a_successor_too() {
    let place = Place::new();
    let patience = Patience {
        silence: Duration::from_millis(1),
        cancelling: Duration::from_millis(50),
        ..Patience::default()
    };
    let mut conversation = opened(place.agent(patience), asked_to_open()).await;
    for steps in [json!([{"hang": true}]), json!([{"awaitCancel": true}])] {
        let turn = conversation.prompt(&scenario(steps));
        until_line(&mut conversation, "activity: No word").await;
        conversation.cancel(&turn);
        until_line(&mut conversation, "cancelled").await;
    }
    assert_eq!(place.times("initialize"), 2);
}

/// The methods that an agent was asked, in all its processes.
fn asked(journal: &Path, method: &str) -> usize {
    let asked = std::fs::read_to_string(journal).unwrap_or_default();
    asked.lines().filter(|it| *it == method).count()
}

#[tokio::test]
async fn a_session_takes_over_the_process_that_was_started_to_learn_of_the_agent() {
    let directory = tempfile::tempdir().unwrap();
    let (journal, go) = (
        directory.path().join("journal"),
        directory.path().join("go"),
    );
    let pid = directory.path().join("pid");
    let agent = AcpAgent::new(options(&json!({
        "journal": journal, "waitOn": {"session/new": go}, "pidFile": pid,
    })));
    let made = std::process::Command::new("mkfifo").arg(&go).status();
    assert!(made.unwrap().success());
    let learning = tokio::spawn(agent.get_to_know());
    // It opens when the agent waits at the other end.
    let gate = move || std::fs::File::options().write(true).open(go);
    let mut gate = tokio::task::spawn_blocking(gate).await.unwrap().unwrap();
    let mut conversation = Conversation::with(agent, 1024);
    conversation.command(AgentCommand::Open(Box::new(asked_to_open())));
    // Everything here is on one thread: now it waits.
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    // Once for what was asked, once for what will be.
    gate.write_all(b"..").unwrap();
    assert_eq!(line(&conversation.next().await), "opened");
    learning.await.unwrap().unwrap();
    let heard = conversation.play(json!([said("Here.")])).await;
    assert_eq!(heard[0], "text: Here.");
    assert_eq!(asked(&journal, "initialize"), 1);
    assert_eq!(asked(&journal, "session/new"), 2);
    let pid: i32 = std::fs::read_to_string(&pid).unwrap().parse().unwrap();
    conversation.close();
    conversation.agents.shutdown().await;
    assert!(!Path::new(&format!("/proc/{pid}/stat")).exists() || is_zombie(pid));
}

fn is_zombie(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") Z ")
}

#[tokio::test]
async fn an_agent_that_does_not_answer_in_time_is_quoted() {
    let agent = patient(
        &json!({"silentOn": "initialize", "noise": ["Please run `agent login` first", "bye"]}),
        Patience {
            opening: Duration::from_secs(1),
            ..Patience::default()
        },
    );
    let failure = agent.get_to_know().await.unwrap_err();
    let end = "did not answer within 1 s; it last said: Please run `agent login` first / bye";
    assert!(failure.ends_with(end), "{failure}");
}
