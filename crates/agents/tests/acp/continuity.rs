//! Conversations that outlive their process: taken up again, told again, cut.

use super::testing::stored_turn;
use super::*;

fn again(resume: Option<Value>) -> OpenBackend {
    let mut open = asked_to_open();
    open.resume = resume;
    open.transcript = vec![stored_turn("t1", "the first question")];
    open
}

fn resume() -> Option<Value> {
    Some(json!({"acp": "session-7"}))
}

#[tokio::test]
async fn what_an_agent_is_found_by_is_given_to_the_engine() {
    let mut conversation = Conversation::with(AcpAgent::new(options(&json!({}))), 8);
    conversation.command(AgentCommand::Open(Box::new(asked_to_open())));
    let resume = until(&mut conversation, |event| match event {
        AgentEvent::Opened { resume } => resume.clone(),
        _ => None,
    })
    .await;
    assert_eq!(resume, json!({"acp": "session-1"}));
}

#[tokio::test]
async fn a_conversation_is_loaded_and_its_history_not_repeated() {
    let chunk = json!({"sessionUpdate": "agent_message_chunk",
                       "content": {"type": "text", "text": "old"}});
    let title = json!({"sessionUpdate": "session_info_update", "title": "Old times"});
    let behaviour = json!({
        "initialize": {"agentCapabilities": {"loadSession": true}},
        "updates": {"session/load": [chunk, title]},
    });
    let agent = AcpAgent::new(options(&behaviour));
    let mut conversation = opened(agent, again(resume())).await;
    let heard = conversation.say("go on").await;
    assert_eq!(
        heard,
        [
            "title: Old times",
            "text: go on",
            "because: end_turn",
            "completed"
        ]
    );
}

#[tokio::test]
async fn resuming_is_tried_before_loading() {
    let can = json!({"loadSession": true, "sessionCapabilities": {"resume": {}}});
    let behaviour = json!({
        "initialize": {"agentCapabilities": can},
        "errors": {"session/resume": {"code": -32603, "message": "no"}},
    });
    let agent = AcpAgent::new(options(&behaviour));
    let mut conversation = opened(agent, again(resume())).await;
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    let (resumed, loaded) = (
        heard[0].find("session/resume"),
        heard[0].find("session/load"),
    );
    assert!(resumed.is_some() && resumed < loaded, "{heard:?}");
    assert!(!heard[0].contains("session/new"));
}

#[tokio::test]
async fn where_taking_up_fails_the_user_is_told_and_the_agent_given_the_transcript() {
    let behaviour = json!({
        "initialize": {"agentCapabilities": {"loadSession": true}},
        "errors": {"session/load": {"code": -32002, "message": "no such session"}},
    });
    let agent = AcpAgent::new(options(&behaviour));
    let mut conversation = opened(agent, again(resume())).await;
    let heard = conversation.say("go on").await;
    assert_eq!(
        heard[0],
        "notice: test did not resume its earlier conversation (no such session). It received the \
         transcript instead."
    );
    assert!(heard[1].contains("the first question"), "{heard:?}");
    assert!(heard[1].ends_with("go on"), "{heard:?}");
    // Once is enough.
    let heard = conversation.say("and on").await;
    assert_eq!(heard[0], "text: and on");
}

#[tokio::test]
async fn a_fork_begins_with_the_transcript() {
    let mut conversation = opened(AcpAgent::new(options(&json!({}))), again(None)).await;
    let heard = conversation.say("another way").await;
    assert!(heard[0].contains("the first question"), "{heard:?}");
    assert!(heard[0].ends_with("another way"), "{heard:?}");
}

/// A chat that begins as an exact copy of another one.
fn copy() -> OpenBackend {
    let mut open = again(None);
    open.fork_of = resume();
    open
}

#[tokio::test]
async fn an_agent_that_can_fork_copies_its_own_conversation() {
    let behaviour = json!({
        "initialize": {"agentCapabilities": {"sessionCapabilities": {"fork": {}}}},
    });
    let mut conversation = opened(AcpAgent::new(options(&behaviour)), copy()).await;
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    let requests: Value = serde_json::from_str(heard[0].strip_prefix("text: ").unwrap()).unwrap();
    assert_eq!(requests[1]["method"], "session/fork");
    assert_eq!(requests[1]["params"]["sessionId"], "session-7");
    let prompt = requests[2]["params"]["prompt"].as_array().unwrap();
    assert_eq!(prompt.len(), 1, "it is not told what it knows");
}

#[tokio::test]
async fn where_forking_fails_the_agent_is_given_the_transcript() {
    let behaviour = json!({
        "initialize": {"agentCapabilities": {"sessionCapabilities": {"fork": {}}}},
        "errors": {"session/fork": {"code": -32603, "message": "not now"}},
    });
    let mut conversation = opened(AcpAgent::new(options(&behaviour)), copy()).await;
    let heard = conversation.say("another way").await;
    assert!(heard[0].contains("not now"), "{heard:?}");
    assert!(heard[1].contains("the first question"), "{heard:?}");
}

#[tokio::test]
async fn after_a_cut_the_agent_knows_what_is_left() {
    let mut conversation = with(json!({})).await;
    conversation.say("keep this").await;
    conversation.say("forget this").await;
    conversation.command(AgentCommand::Truncate {
        backend: BACKEND,
        transcript: vec![stored_turn("turn-1", "keep this")],
    });
    let heard = conversation.say("now").await;
    assert_eq!(heard[0], "opened");
    assert!(
        heard[1].contains("keep this") && !heard[1].contains("forget this"),
        "{heard:?}"
    );
}

#[tokio::test]
async fn a_turn_that_was_interrupted_is_taken_up() {
    let parts = json!([
        {"kind": "markdown", "id": "p", "content": "half an ans"},
        {"kind": "toolCall", "toolCall": {
            "status": "running", "toolCallId": "c", "toolName": "t", "displayName": "Build",
            "invocationMessage": "Build", "confirmed": "user-action"}},
    ]);
    let behaviour = json!({"initialize": {"agentCapabilities": {"loadSession": true}}});
    let agent = AcpAgent::new(options(&behaviour));
    let mut conversation = opened(agent, again(resume())).await;
    conversation.resume(&"turn-9".into(), "the question", parts);
    let heard = conversation.rest().await;
    assert_eq!(heard[0], "interrupted: c");
    assert!(
        heard[1].contains("half an ans") && heard[1].contains("Build: approved"),
        "{heard:?}"
    );
    assert!(!heard[1].contains("the question"), "{heard:?}");
}

/// An agent with a conversation of its own.
fn with_a_past() -> AcpAgent {
    let chunk = |kind: &str, text: &str| json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
    let can = json!({"loadSession": true, "sessionCapabilities": {"list": {}}});
    let about = |id: &str, title: &str| json!({"sessionId": id, "cwd": "/w", "title": title});
    AcpAgent::new(options(&json!({
        "initialize": {"agentCapabilities": can},
        "list": {"sessions": [about("s-1", "About beer"), about("s-2", "About wine")]},
        "updates": {"session/load": [
            chunk("user_message_chunk", "What is beer?"),
            chunk("agent_message_chunk", "A drink."),
        ]},
    })))
}

fn asked_to_continue(id: &str) -> OpenBackend {
    let mut open = asked_to_open();
    open.chat = ChannelUri::default_chat_of(open.session.as_str());
    open.config.insert("continue".to_owned(), json!(id));
    open
}

#[tokio::test]
async fn the_conversations_of_an_agent_are_offered_to_go_on_with() {
    let agent = with_a_past();
    agent.get_to_know().await.unwrap();
    let setting = agent.profile().config.unwrap().properties["continue"].clone();
    assert_eq!(setting.enum_dynamic, Some(true));
    let query = ConfigQuery {
        provider: "test".to_owned(),
        directory: None,
        config: Default::default(),
        property: "continue".to_owned(),
        query: "beer".to_owned(),
    };
    let items = agent.complete_config(query).await;
    let items: Vec<_> = items.iter().map(|it| (&*it.value, &*it.label)).collect();
    assert_eq!(items, [("s-1", "About beer")]);
}

#[tokio::test]
async fn a_session_goes_on_with_a_conversation_that_the_agent_had_alone() {
    let mut conversation = Conversation::with(with_a_past(), 1024);
    conversation.command(AgentCommand::Open(Box::new(asked_to_continue("s-1"))));
    assert_eq!(line(&conversation.next().await), "past: What is beer?");
    assert_eq!(line(&conversation.next().await), "opened");
    let heard = conversation.play(json!([{"echo": "requests"}])).await;
    let requests: Value = serde_json::from_str(heard[0].strip_prefix("text: ").unwrap()).unwrap();
    assert_eq!(requests[1]["method"], "session/load");
    assert_eq!(requests[1]["params"]["sessionId"], "s-1");
    assert_eq!(requests[2]["params"]["sessionId"], "s-1");
}

#[tokio::test]
async fn a_conversation_that_is_not_there_is_not_replaced_by_another_one() {
    let agent = AcpAgent::new(options(&json!({
        "initialize": {"agentCapabilities": {"loadSession": true}},
        "errors": {"session/load": {"code": -32002, "message": "no such session"}},
    })));
    let mut conversation = Conversation::with(agent, 1024);
    conversation.command(AgentCommand::Open(Box::new(asked_to_continue("s-9"))));
    let answer = line(&conversation.next().await);
    assert!(answer.starts_with("open failed"), "{answer}");
    assert!(answer.contains("no such session"), "{answer}");
}

#[tokio::test]
async fn an_agent_is_told_that_a_conversation_rests_or_is_not_wanted_any_more() {
    for (can, forget, told) in [
        (json!({"close": {}, "delete": {}}), false, "session/close"),
        (json!({"close": {}, "delete": {}}), true, "session/delete"),
        (json!({"close": {}}), true, "session/close"),
        (json!({}), true, "session/new"),
    ] {
        let journal = tempfile::NamedTempFile::new().unwrap();
        let behaviour = json!({
            "initialize": {"agentCapabilities": {"sessionCapabilities": can}},
            "journal": journal.path(),
        });
        let agent = AcpAgent::new(options(&behaviour));
        let conversation = opened(agent, asked_to_open()).await;
        let backend = asked_to_open().backend;
        if forget {
            conversation.command(AgentCommand::Forget { backend });
        }
        conversation.command(AgentCommand::Close { backend });
        conversation.agents.shutdown().await;
        let methods = std::fs::read_to_string(journal.path()).unwrap();
        assert_eq!(methods.lines().last(), Some(told), "{methods}");
    }
}

/// The directories of a session as an agent is given them, when it begins and
/// when it is taken up again.
#[tokio::test]
async fn an_agent_that_takes_several_directories_is_given_them_whenever_it_is_opened() {
    for (resume, method) in [(None, "session/new"), (resume(), "session/load")] {
        for takes_several in [true, false] {
            let mut can = json!({"loadSession": true, "sessionCapabilities": {}});
            if takes_several {
                can["sessionCapabilities"]["additionalDirectories"] = json!({});
            }
            let behaviour = json!({"initialize": {"agentCapabilities": can}});
            let agent = AcpAgent::new(options(&behaviour));
            agent.get_to_know().await.unwrap();
            let profile = agent.profile();
            let can = profile.info.capabilities.unwrap();
            assert_eq!(can.multiple_working_directories.is_some(), takes_several);
            assert!(profile.resumes);
            let mut open = again(resume.clone());
            let temporary = std::env::temp_dir();
            open.directories = vec![
                format!("file://{}", temporary.display()),
                "file:///srv".into(),
            ];
            let mut conversation = opened(agent, open).await;
            let heard = conversation.play(json!([{"echo": "requests"}])).await;
            let requests = heard[0].strip_prefix("text: ").unwrap();
            let requests: Value = serde_json::from_str(requests).unwrap();
            assert_eq!(requests[1]["method"], method);
            let expected = takes_several.then(|| json!(["/srv"]));
            let given = requests[1]["params"].get("additionalDirectories");
            assert_eq!(given, expected.as_ref());
        }
    }
}

#[tokio::test]
async fn getting_to_know_an_agent_leaves_no_conversation_behind() {
    let journal = tempfile::NamedTempFile::new().unwrap();
    let agent = AcpAgent::new(options(&json!({
        "initialize": {"agentCapabilities": {"sessionCapabilities": {"delete": {}}}},
        "journal": journal.path(),
    })));
    agent.get_to_know().await.unwrap();
    let asked = std::fs::read_to_string(journal.path()).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked, ["initialize", "session/new", "session/delete"]);
}

#[tokio::test]
async fn an_agent_that_a_session_gets_to_know_is_not_started_once_more() {
    let journal = tempfile::NamedTempFile::new().unwrap();
    let agent = AcpAgent::new(options(&json!({"journal": journal.path()})));
    let (sender, mut reports) = tokio::sync::mpsc::channel(16);
    let agents = Supervisor::new(vec![Arc::new(agent)], sender);
    agents.command(AgentCommand::Open(Box::new(asked_to_open())));
    tokio::task::yield_now().await;
    // The session has begun, so this waits.
    let mut known = Box::pin(agents.get_to_know());
    assert!(futures_util::poll!(&mut known).is_pending());
    assert_eq!(line(&reports.recv().await.unwrap().event), "opened");
    known.await;
    let asked = std::fs::read_to_string(journal.path()).unwrap();
    let asked: Vec<&str> = asked.lines().collect();
    assert_eq!(asked, ["initialize", "session/new"]);
}

#[tokio::test]
async fn whoever_types_a_directory_starts_no_agent_for_each_letter() {
    let directory = tempfile::tempdir().unwrap();
    let journal = directory.path().join("journal");
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let agent = AcpAgent::new(options(&json!({
        "journal": journal,
        "initialize": {"agentCapabilities": {
            "loadSession": true, "sessionCapabilities": {"list": {}},
        }},
        "list": {"sessions": [
            {"sessionId": "s-1", "cwd": inner, "title": "About beer"},
            {"sessionId": "s-2", "cwd": inner, "title": "About wine"},
        ]},
    })));
    let ask = |path: &Path, query: &str| {
        agent.complete_config(ConfigQuery {
            provider: "test".to_owned(),
            directory: Some(format!("file://{}", path.display())),
            config: Default::default(),
            property: "continue".to_owned(),
            query: query.to_owned(),
        })
    };
    let (first, missing, typed, again) = tokio::join!(
        ask(directory.path(), ""),
        ask(&directory.path().join("inn"), ""),
        ask(&inner, ""),
        ask(&inner, "wine"),
    );
    assert_eq!([first.len(), missing.len()], [0, 0]);
    // The one before the last had not been answered when the last was asked.
    assert!(typed.len() <= 2 && again.len() == 1, "{typed:?} {again:?}");
    assert_eq!(ask(&inner, "").await.len(), 2, "it is known for a while");
    let started = std::fs::read_to_string(&journal).unwrap();
    let started = started.lines().filter(|it| *it == "initialize").count();
    assert_eq!(started, 1);
}
