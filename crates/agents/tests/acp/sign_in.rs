//! Agents that want somebody to sign in: every way that they name is gone as
//! part of a turn, and the prompt is answered in it.

use std::collections::HashMap;
use std::path::PathBuf;

use innkeeper_agents::registry::SignIn;
use innkeeper_protocol::agent::{Credential, SignInQuestion, SignInWants};
use innkeeper_protocol::newest::state::ChatInputResponseKind;

use super::programs::times;
use super::*;

const KEY: &str = "sk-open-sesame";

/// An agent with ways to sign in, and the place where it looks for that.
struct Door {
    place: tempfile::TempDir,
    on: &'static str,
    more: Value,
}

impl Door {
    /// It refuses this method until somebody is signed in.
    fn on(on: &'static str) -> Self {
        Self {
            place: tempfile::tempdir().unwrap(),
            on,
            more: json!({}),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn agent(&self) -> AcpAgent {
        self.agent_that_says(false)
    }

    /// The agent, of which it may be known how it says that nobody is signed in.
    fn agent_that_says(&self, words_are_known: bool) -> AcpAgent {
        let words = ["Missing provider".to_owned()];
        let script = format!("touch {}", self.path("signed-in").display());
        let mut wants = json!({
            "on": self.on, "file": self.path("signed-in"), "variable": "TEST_KEY", "value": KEY,
        });
        let more = self.more.as_object().unwrap().clone();
        wants.as_object_mut().unwrap().extend(more);
        let behaviour = json!({
            "initialize": {"authMethods": [
                {"id": "device", "name": "Device", "description": "With a code"},
                {"id": "tui", "name": "Terminal", "_meta": {"terminal-auth":
                    {"command": "/bin/sh", "args": ["-c", script], "env": {"OF_WAY": "1"}}}},
                {"id": "key", "name": "Key", "type": "env_var",
                 "vars": [{"name": "TEST_KEY", "label": "The key"}]},
                {"id": "api-key", "name": "API key", "_meta": {"api-key": {"provider": "acme"}}},
            ]},
            "signIn": wants,
            "journal": self.path("journal"),
        });
        AcpAgent::new(AcpOptions {
            directory: Some(self.path("data")),
            sign_in: SignIn {
                refusals: words.into_iter().filter(|_| words_are_known).collect(),
                args: Vec::new(),
            },
            ..options(&behaviour)
        })
    }

    async fn opened(&self) -> Conversation {
        opened(self.agent(), asked_to_open()).await
    }

    fn times(&self, method: &str) -> usize {
        times(&self.path("journal"), method)
    }
}

/// The next question about signing in.
async fn asked(conversation: &mut Conversation) -> SignInQuestion {
    until(conversation, |event| match of_turn(event) {
        Some(TurnEvent::AskToSignIn(question)) => Some((**question).clone()),
        _ => None,
    })
    .await
}

fn answer(conversation: &Conversation, turn: &TurnId, question: &SignInQuestion, with: Value) {
    let answers: HashMap<_, _> = with
        .as_object()
        .unwrap()
        .iter()
        .map(|(id, value)| {
            let kind = if id.contains('.') { "selected" } else { "text" };
            let value = json!({"state": "submitted", "value": {"kind": kind, "value": value}});
            (id.clone(), serde_json::from_value(value).unwrap())
        })
        .collect();
    let answer = Decision::Answer {
        request: question.request.clone(),
        response: ChatInputResponseKind::Accept,
        answers,
    };
    conversation.decide(turn, answer);
}

/// Is asked how to sign in, and chooses a way.
async fn choose(conversation: &mut Conversation, turn: &TurnId, way: &str) -> SignInQuestion {
    let question = asked(conversation).await;
    answer(conversation, turn, &question, json!({"sign-in.way": way}));
    question
}

async fn give_key(conversation: &mut Conversation, turn: &TurnId, key: &str, keep: &str) {
    choose(conversation, turn, "key").await;
    let question = asked(conversation).await;
    let values = json!({"TEST_KEY": key, "sign-in.keep": keep});
    answer(conversation, turn, &question, values);
}

/// The end of a turn in which the agent says back what it was told.
async fn ends_well(conversation: &mut Conversation, text: &str) {
    let rest = conversation.rest().await;
    let is_answer = |line: &String| line.starts_with("text: ") && line.ends_with(text);
    assert!(rest.iter().any(is_answer), "{rest:?}");
    assert_eq!(rest.last().map(String::as_str), Some("completed"));
}

#[tokio::test]
async fn an_agent_that_refuses_sessions_opens_and_signs_in_with_the_first_turn() {
    for way in ["device", "tui", "key"] {
        let door = Door::on("session/new");
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        match way {
            "device" => {
                choose(&mut talk, &turn, way).await;
            }
            "tui" => {
                choose(&mut talk, &turn, way).await;
                // What the host would do in a terminal.
                std::fs::write(door.path("signed-in"), "").unwrap();
                let run = run_command(&mut talk, &turn, exited(0, "welcome")).await;
                let set = run.environment.unwrap();
                assert!(set.contains(&("OF_WAY".to_owned(), "1".to_owned())));
                assert!(set.iter().any(|(name, _)| name == "TEST_AGENT"));
            }
            _ => give_key(&mut talk, &turn, KEY, "memory").await,
        }
        ends_well(&mut talk, "hello").await;
        assert_eq!(door.times("session/prompt"), 1, "{way}");
    }
}

#[tokio::test]
async fn a_prompt_that_is_refused_is_sent_again_after_signing_in() {
    for way in ["device", "key"] {
        let door = Door::on("session/prompt");
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        match way {
            "device" => {
                choose(&mut talk, &turn, way).await;
            }
            _ => give_key(&mut talk, &turn, KEY, "memory").await,
        }
        ends_well(&mut talk, "hello").await;
        assert_eq!(door.times("session/prompt"), 2, "{way}");
    }
}

/// Some agents have no code for it, and say it in words.
#[tokio::test]
async fn a_refusal_in_an_agents_own_words_is_a_request_to_sign_in() {
    for (on, said) in [
        ("session/prompt", true),
        ("session/new", true),
        ("session/prompt", false),
    ] {
        let mut door = Door::on(on);
        door.more = json!({"error": {
            "code": -32603, "message": "Internal error", "data": "Missing provider",
        }});
        let mut talk = opened(door.agent_that_says(said), asked_to_open()).await;
        let turn = talk.prompt("hello");
        if !said {
            let rest = talk.rest().await;
            let last = rest.last().unwrap();
            assert!(
                last.ends_with("agentError: Internal error: Missing provider"),
                "{last}"
            );
            continue;
        }
        choose(&mut talk, &turn, "device").await;
        ends_well(&mut talk, "hello").await;
    }
}

#[tokio::test]
async fn the_ways_are_offered_as_the_agent_names_them() {
    let door = Door::on("session/new");
    let mut talk = door.opened().await;
    talk.prompt("hello");
    let question = asked(&mut talk).await;
    let SignInWants::Way(ways) = question.wants else {
        panic!("{question:?}");
    };
    let names: Vec<&str> = ways.iter().map(|way| &*way.name).collect();
    assert_eq!(names, ["Device", "Terminal", "Key", "API key"]);
    assert_eq!(ways[0].description.as_deref(), Some("With a code"));
}

#[tokio::test]
async fn a_key_that_an_agent_takes_up_when_it_is_asked_to_is_asked_for_first() {
    for on in ["session/new", "session/prompt"] {
        let mut door = Door::on(on);
        door.more = json!({"needs": "ACME_API_KEY"});
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        for (key, refused) in [("wrong", None), (KEY, Some("ACME_API_KEY is not set"))] {
            let question = choose(&mut talk, &turn, "api-key").await;
            let said = question.refused.as_deref();
            assert!(refused.is_none_or(|why| said.is_some_and(|said| said.contains(why))));
            let question = asked(&mut talk).await;
            let values = json!({"ACME_API_KEY": key, "sign-in.keep": "memory"});
            answer(&talk, &turn, &question, values);
        }
        ends_well(&mut talk, "hello").await;
        assert_eq!(door.times("authenticate"), 2, "{on}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_asked_for_again() {
    for on in ["session/new", "session/prompt"] {
        let door = Door::on(on);
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        give_key(&mut talk, &turn, "wrong", "file").await;
        let again = choose(&mut talk, &turn, "key").await;
        assert_eq!(again.refused.as_deref(), Some("Authentication required"));
        let question = asked(&mut talk).await;
        let values = json!({"TEST_KEY": KEY, "sign-in.keep": "memory"});
        answer(&talk, &turn, &question, values);
        ends_well(&mut talk, "hello").await;
    }
}

#[tokio::test]
async fn keys_in_memory_end_with_the_host_and_those_in_the_file_do_not() {
    for (keep, is_there) in [("memory", false), ("file", true)] {
        let door = Door::on("session/new");
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        give_key(&mut talk, &turn, KEY, keep).await;
        ends_well(&mut talk, "hello").await;
        // Another agent on the same directory is the next life of the host.
        let known = door.agent().get_to_know().await;
        assert_eq!(known.is_ok(), is_there, "{keep}: {known:?}");
        let file = std::fs::read_to_string(door.path("data/test.env"));
        let expected = is_there.then(|| format!("TEST_KEY={KEY}\n"));
        assert_eq!(file.ok(), expected);
    }
}

#[tokio::test]
async fn what_the_agent_shows_while_it_signs_in_is_shown_in_the_turn() {
    let mut door = Door::on("session/new");
    let link = "https://sign.in.example/device";
    door.more = json!({
        "lines": [
            format!("Open {link} and enter \u{1b}[1mABCD\u{1b}[0m"),
            format!("{link}?{}", "x".repeat(2_000)),
            "x".repeat(30_000),
        ],
        "ask": {"mode": "url", "message": "Sign in", "url": link, "elicitationId": "e",
                "sessionId": "s"},
    });
    let mut talk = door.opened().await;
    let turn = talk.prompt("hello");
    choose(&mut talk, &turn, "device").await;
    let mut shown = Vec::new();
    let asked = loop {
        let event = talk.next().await;
        match of_turn(&event) {
            Some(TurnEvent::Notice(notice)) => shown.push(notice.to_string()),
            Some(TurnEvent::Ask(request)) => break (**request).clone(),
            _ => panic!("{event:?}"),
        }
    };
    assert_eq!(asked.url.as_deref(), Some(link));
    let answer = Decision::Answer {
        request: asked.id,
        response: ChatInputResponseKind::Accept,
        answers: HashMap::new(),
    };
    talk.decide(&turn, answer);
    loop {
        let event = talk.next().await;
        match of_turn(&event) {
            Some(TurnEvent::Notice(notice)) => shown.push(notice.to_string()),
            Some(TurnEvent::Completed) => break,
            _ => {}
        }
    }
    let code = format!("Open {link} and enter ABCD");
    assert!(shown.contains(&code), "{shown:?}");
    let long = |line: &String| line.starts_with(link) && line.len() > 2_000;
    assert!(shown.iter().any(long), "a long address is whole: {shown:?}");
    assert!(shown.iter().all(|line| line.len() <= 4_096));
}

#[tokio::test]
async fn a_turn_is_cancelled_in_the_middle_of_a_sign_in_and_the_next_asks_again() {
    for (on, at) in [
        ("session/new", 0),
        ("session/new", 1),
        ("session/prompt", 1),
    ] {
        let mut door = Door::on(on);
        door.more = json!({"hangs": true, "lines": ["waiting"]});
        let mut talk = door.opened().await;
        let turn = talk.prompt("hello");
        if at == 0 {
            asked(&mut talk).await;
        } else {
            choose(&mut talk, &turn, "device").await;
            until_line(&mut talk, "notice: waiting").await;
        }
        talk.cancel(&turn);
        assert_eq!(talk.rest().await, ["cancelled"]);
        let turn = talk.prompt("hello again");
        give_key(&mut talk, &turn, KEY, "memory").await;
        ends_well(&mut talk, "hello again").await;
    }
}

#[tokio::test]
async fn whoever_does_not_want_to_sign_in_gets_an_error_that_can_be_retried() {
    let door = Door::on("session/new");
    let mut talk = door.opened().await;
    let turn = talk.prompt("hello");
    let question = asked(&mut talk).await;
    let declined = Decision::Answer {
        request: question.request,
        response: ChatInputResponseKind::Decline,
        answers: HashMap::new(),
    };
    talk.decide(&turn, declined);
    let rest = talk.rest().await;
    let last = rest.last().unwrap();
    assert!(
        last.starts_with("failed (resumable): agentSignInRequired: test needs you to sign in"),
        "{last}"
    );
    assert!(last.contains("/bin/sh -c") && last.contains("set TEST_KEY"));
    // Somebody has signed in elsewhere meanwhile: nobody is asked.
    std::fs::write(door.path("signed-in"), "").unwrap();
    talk.prompt("hello again");
    ends_well(&mut talk, "hello again").await;
}

#[tokio::test]
async fn a_command_that_fails_leads_back_to_the_question() {
    let door = Door::on("session/new");
    let mut talk = door.opened().await;
    let turn = talk.prompt("hello");
    choose(&mut talk, &turn, "tui").await;
    run_command(&mut talk, &turn, exited(7, "no")).await;
    let again = choose(&mut talk, &turn, "device").await;
    assert!(again.refused.unwrap().ends_with("status 7"));
    ends_well(&mut talk, "hello").await;
}

#[tokio::test]
async fn a_person_is_not_asked_without_end() {
    let door = Door::on("session/new");
    let mut talk = door.opened().await;
    let turn = talk.prompt("hello");
    for _ in 0..5 {
        give_key(&mut talk, &turn, "wrong", "memory").await;
    }
    let rest = talk.rest().await;
    let expected = "failed (resumable): agentSignInRequired: Signing in to test did not work: \
                    Authentication required. Try again to choose another way.";
    assert_eq!(rest.last().map(String::as_str), Some(expected));
}

#[tokio::test]
async fn an_agent_without_a_way_says_what_to_do_and_can_be_asked_again() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("signed-in");
    let mut talk = with(json!({"signIn": {"on": "session/new", "file": file}})).await;
    let rest = talk.say("hello").await;
    let last = rest.last().unwrap();
    assert!(last.contains("offers no way of doing so here"), "{last}");
    std::fs::write(&file, "").unwrap();
    talk.prompt("hello again");
    ends_well(&mut talk, "hello again").await;
}

#[tokio::test]
async fn a_value_of_several_lines_is_refused() {
    let door = Door::on("session/new");
    let mut talk = door.opened().await;
    let turn = talk.prompt("hello");
    give_key(&mut talk, &turn, "a\nPATH=/evil", "file").await;
    let again = asked(&mut talk).await;
    assert_eq!(
        again.refused.as_deref(),
        Some("TEST_KEY: the value must be one line")
    );
    assert!(!door.path("data/test.env").exists());
}

#[tokio::test]
async fn a_way_for_people_in_the_configuration_is_not_given_to_authenticate() {
    let door = Door::on("session/new");
    let agent = AcpAgent::new(AcpOptions {
        auth_method: Some("tui".to_owned()),
        ..options(&json!({
            "initialize": {"authMethods": [
                {"id": "tui", "name": "T", "type": "terminal", "args": ["login"]},
            ]},
            "journal": door.path("journal"),
        }))
    });
    let mut talk = opened(agent, asked_to_open()).await;
    talk.prompt("hello");
    ends_well(&mut talk, "hello").await;
    assert_eq!(door.times("authenticate"), 0);
}

#[tokio::test]
async fn a_token_of_a_client_reaches_the_agent_that_can_use_it() {
    let behaviour = |name: &str, value: &str| json!({"signIn": {"on": "session/prompt", "variable": name, "value": value}});
    let token = |token: &str| Credential {
        resource: "https://api.github.com".to_owned(),
        token: token.to_owned(),
    };
    let mut program = options(&behaviour("GH_TOKEN", KEY)).program;
    program.args = Vec::new();
    let agent = AcpAgent::new(AcpOptions::new("copilot", program));
    let resources = agent.profile().info.protected_resources.unwrap();
    assert_eq!(resources[0].required, Some(false), "nobody is kept out");
    let open = OpenBackend {
        provider: "copilot".to_owned(),
        credentials: vec![token("an old one")],
        ..asked_to_open()
    };
    let mut talk = opened(agent, open).await;
    talk.command(AgentCommand::Authenticate {
        backend: BACKEND,
        credential: token(KEY),
    });
    talk.prompt("hello");
    ends_well(&mut talk, "hello").await;
}
