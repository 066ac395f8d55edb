//! What agents say beside their turns, and what they are told for next time.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{
    AgentCommand, AgentEvent, AgentProfile, AgentReport, Approval, ApprovalRequest, ToolReady,
    ToolStart, TurnEvent,
};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat, killed, killed_idle};

/// What the agent was last given for finding its conversation again.
fn resume_of_last_open(host: &Host) -> Option<Value> {
    let mut commands = host.commands.iter().rev();
    commands.find_map(|command| match command {
        AgentCommand::Open(open) => Some(open.resume.clone()),
        _ => None,
    })?
}

fn opened_as(host: &mut Host, id: &str) {
    let resume = Some(json!(id));
    host.report(AgentEvent::Opened { resume });
}

#[test]
fn what_is_said_again_about_resuming_replaces_what_was_said_before() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t1");
    opened_as(&mut host, "first");
    opened_as(&mut host, "second");
    // The turn goes on as if nothing had happened.
    host.in_turn("t1", TurnEvent::Completed);
    assert_eq!(host.state(&chat())["turns"][0]["state"], "complete");
    host.report(killed());
    host.start_turn(1, "t2");
    assert_eq!(resume_of_last_open(&host), Some(json!("second")));
}

/// How often an agent was opened, and how often it was given a turn.
fn opened_and_prompted(host: &Host) -> (usize, usize) {
    let count = |wanted: fn(&AgentCommand) -> bool| {
        let commands = host.commands.iter();
        commands.filter(|&command| wanted(command)).count()
    };
    (
        count(|command| matches!(command, AgentCommand::Open(_))),
        count(|command| matches!(command, AgentCommand::Prompt(_))),
    )
}

#[test]
fn a_turn_that_was_on_its_way_to_an_agent_that_is_gone_is_given_to_the_next() {
    let mut host = Host::with_session(Limits::default());
    opened_as(&mut host, "conversation");
    host.start_turn(1, "t");
    assert_eq!(opened_and_prompted(&host), (1, 1));
    host.report(killed_idle());
    assert_eq!(opened_and_prompted(&host), (2, 1));
    assert_eq!(resume_of_last_open(&host), Some(json!("conversation")));
    opened_as(&mut host, "conversation");
    assert_eq!(opened_and_prompted(&host), (2, 2));
    host.in_turn("t", TurnEvent::Completed);
    assert_eq!(host.state(&chat())["turns"][0]["state"], "complete");
}

#[test]
fn a_turn_is_given_to_a_second_agent_and_not_to_a_third() {
    let mut host = Host::with_session(Limits::default());
    opened_as(&mut host, "conversation");
    host.start_turn(1, "t");
    host.report(killed_idle());
    opened_as(&mut host, "conversation");
    host.report(killed_idle());
    assert_eq!(opened_and_prompted(&host), (2, 2));
    let turn = host.state(&chat())["turns"][0].clone();
    assert_eq!(
        turn["responseParts"][0]["error"]["errorType"],
        "agentExited"
    );
}

#[test]
fn a_cut_chat_is_not_resumed_as_it_was() {
    let mut host = Host::with_session(Limits::default());
    opened_as(&mut host, "before the cut");
    host.whole_turns(2);
    host.report(killed());
    let cut = json!({"type": "chat/truncated", "turnId": "t1"});
    host.dispatch(1, &chat(), cut);
    host.start_turn(1, "t3");
    assert_eq!(resume_of_last_open(&host), None);
}

#[test]
fn an_agent_is_told_what_a_cut_has_left() {
    let mut host = Host::with_session(Limits::default());
    opened_as(&mut host, "conversation");
    host.whole_turns(3);
    let cut = json!({"type": "chat/truncated", "turnId": "t2"});
    host.dispatch(1, &chat(), cut);
    let left = host
        .commands
        .iter()
        .rev()
        .find_map(|command| match command {
            AgentCommand::Truncate { transcript, .. } => Some(transcript),
            _ => None,
        });
    let left: Vec<&str> = left.unwrap().iter().map(|turn| &*turn.id).collect();
    assert_eq!(left, ["t1", "t2"]);
}

/// What the agent was last given to copy its conversation from.
fn fork_of_last_open(host: &Host) -> Option<Value> {
    let mut commands = host.commands.iter().rev();
    commands.find_map(|command| match command {
        AgentCommand::Open(open) => Some(open.fork_of.clone()),
        _ => None,
    })?
}

#[test]
fn a_copy_of_all_that_was_said_can_be_made_by_the_agent_itself() {
    let mut host = Host::with_session(Limits::default());
    opened_as(&mut host, "original");
    host.whole_turns(2);
    let fork = |turn: &str| {
        let channel = format!("ahp-session:/fork-at-{turn}");
        json!({"channel": channel, "fork": {"session": SESSION, "turnId": turn}})
    };
    host.ok(1, "createSession", fork("t2"));
    assert_eq!(fork_of_last_open(&host), Some(json!("original")));
    // It knows what came after an earlier turn, so that is told anew.
    host.ok(1, "createSession", fork("t1"));
    assert_eq!(fork_of_last_open(&host), None);
}

/// The backends that were closed.
fn closed(host: &Host) -> Vec<u64> {
    let commands = host.commands.iter();
    let closed = commands.filter_map(|command| match command {
        AgentCommand::Close { backend } => Some(backend.0),
        _ => None,
    });
    closed.collect()
}

#[test]
fn a_copy_up_to_a_turn_that_still_runs_is_refused_as_that() {
    let mut host = Host::with_session(Limits::default());
    let mut profiles = agents();
    let can = json!({"multipleChats": {"fork": true}});
    profiles[0].info.capabilities = serde_json::from_value(can).unwrap();
    host.feed(Input::AgentsChanged(profiles));
    host.whole_turns(1);
    host.start_turn(1, "runs");
    for (turn, code) in [("runs", -32004), ("never", -32602)] {
        let fork = json!({"session": SESSION, "turnId": turn});
        let params = json!({"channel": "ahp-session:/fork", "fork": fork});
        assert_eq!(host.refused(1, "createSession", params), code);
        let source = json!({"kind": "fork", "chat": chat(), "turnId": turn});
        let params = json!({"channel": SESSION, "chat": "ahp-chat:/fork", "source": source});
        assert_eq!(host.refused(1, "createChat", params), code);
    }
    let fork = json!({"session": SESSION, "turnId": "t1"});
    host.ok(
        1,
        "createSession",
        json!({"channel": "ahp-session:/fork", "fork": fork}),
    );
}

#[test]
fn the_longest_unused_agent_makes_room_for_another_one() {
    let limits = Limits {
        backends: 2,
        ..Limits::default()
    };
    let mut host = Host::with_session(limits);
    // The first is at work, so the second has to go for the third.
    host.start_turn(1, "t1");
    for session in ["ahp-session:/2", "ahp-session:/3"] {
        host.ok(1, "createSession", json!({"channel": session}));
        host.opened();
    }
    let second = host.commands.iter().find_map(|command| match command {
        AgentCommand::Open(open) if open.session.as_str() == "ahp-session:/2" => Some(open.backend),
        _ => None,
    });
    assert_eq!(closed(&host), [second.unwrap().0]);
}

#[test]
fn the_longest_unused_agents_end_when_all_hold_too_much_memory() {
    let limits = Limits {
        backend_bytes: 100,
        ..Limits::default()
    };
    let mut host = Host::with_session(limits);
    // The first is at work, and stays whatever it holds.
    host.start_turn(1, "t1");
    let mut backends = Vec::new();
    for session in ["ahp-session:/2", "ahp-session:/3", "ahp-session:/4"] {
        host.ok(1, "createSession", json!({"channel": session}));
        host.opened();
        backends.push(host.backend());
        host.report(AgentEvent::Memory { bytes: 40 });
    }
    let [second, third, last] = backends[..] else {
        panic!("three were opened");
    };
    assert_eq!(closed(&host), [second.0]);
    // It would have to go as well, but somebody has just used it.
    let event = AgentEvent::Memory { bytes: 101 };
    let backend = last;
    host.feed(Input::Agent(AgentReport { backend, event }));
    assert_eq!(closed(&host), [second.0, third.0]);
}

#[test]
fn why_a_turn_ended_is_kept_with_its_end() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    host.heard.clear();
    host.in_turn("t", TurnEvent::StopReason("max_tokens".to_owned()));
    host.in_turn("t", TurnEvent::Completed);
    let heard = host.heard.remove(&1).unwrap();
    let end = heard
        .iter()
        .find(|frame| frame["params"]["action"]["type"] == "chat/turnComplete");
    let meta = &end.unwrap()["params"]["action"]["_meta"];
    assert_eq!(*meta, json!({"stopReason": "max_tokens"}));
}

#[test]
fn a_setting_that_the_agent_changes_is_shown_and_not_sent_back() {
    let mut host = Host::new();
    let mut profiles = agents();
    let mode = json!({"type": "string", "title": "Mode", "enum": ["ask", "code"],
                      "default": "ask", "sessionMutable": true});
    let schema = json!({"type": "object", "properties": {"mode": mode}});
    profiles[0].config = Some(serde_json::from_value(schema).unwrap());
    host.feed(Input::AgentsChanged(profiles));
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    let before = host.commands.len();
    let values = json!({"mode": "code", "unknown": 1})
        .as_object()
        .unwrap()
        .clone();
    host.report(AgentEvent::Configured(values));
    let config = host.state(SESSION)["config"]["values"].take();
    assert_eq!(config, json!({"mode": "code"}));
    assert_eq!(host.commands.len(), before);
}

/// The agents of the host, the first of which has a mode and something that can
/// be set for new sessions only.
fn agents_with_mode() -> Vec<AgentProfile> {
    let mut profiles = agents();
    let mode = json!({"type": "string", "title": "Mode", "enum": ["ask", "code"],
                      "default": "ask", "sessionMutable": true});
    let fixed = json!({"type": "string", "title": "Continue"});
    let schema = json!({"type": "object", "properties": {"mode": mode, "continue": fixed}});
    profiles[0].config = Some(serde_json::from_value(schema).unwrap());
    profiles
}

#[test]
fn settings_that_come_to_be_known_reach_open_sessions() {
    let mut host = Host::new();
    let mut unknown = agents_with_mode();
    unknown[0].config =
        Some(serde_json::from_value(json!({"type": "object", "properties": {}})).unwrap());
    host.feed(Input::AgentsChanged(unknown));
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    let change = json!({"type": "session/configChanged", "config": {"mode": "code"}});
    host.dispatch(1, SESSION, change.clone());
    assert_eq!(host.rejection(1), "the session has no setting `mode`");

    host.feed(Input::AgentsChanged(agents_with_mode()));
    let state = host.state(SESSION);
    let later = &state["_meta"]["innkeeper"]["settings"]["properties"];
    assert_eq!(later["mode"]["enum"], json!(["ask", "code"]));
    assert!(later.get("continue").is_none(), "{later}");
    assert_eq!(state["config"]["values"], json!({"mode": "ask"}));

    host.dispatch(1, SESSION, change);
    assert_eq!(
        host.state(SESSION)["config"]["values"],
        json!({"mode": "code"})
    );
    let configured = host
        .commands
        .iter()
        .rev()
        .find_map(|command| match command {
            AgentCommand::Configure { values, .. } => Some(json!(values)),
            _ => None,
        });
    assert_eq!(configured, Some(json!({"mode": "code"})));
    let wrong = json!({"type": "session/configChanged", "config": {"mode": "fly"}});
    host.dispatch(1, SESSION, wrong);
    assert_ne!(host.rejection(1), "");
    let values = json!({"mode": "ask"}).as_object().unwrap().clone();
    host.report(AgentEvent::Configured(values));
    assert_eq!(
        host.state(SESSION)["config"]["values"],
        json!({"mode": "ask"})
    );

    // It is still so in the next life of the host.
    host.start_turn(1, "t");
    host.restart(Limits::default());
    host.feed(Input::AgentsChanged(agents_with_mode()));
    let state = host.state(SESSION);
    assert_eq!(
        state["_meta"]["innkeeper"]["settings"]["properties"]["mode"]["title"],
        "Mode"
    );
    assert_eq!(state["config"]["values"], json!({"mode": "ask"}));
}

#[test]
fn the_text_of_an_edit_is_kept_beside_the_state() {
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let (call, name) = ("c".to_owned(), "Edit".to_owned());
    host.in_turn(
        "t",
        TurnEvent::ToolStarted(Box::new(ToolStart {
            call: call.clone().into(),
            name: name.clone(),
            display_name: name.clone(),
            intention: None,
            contributor: None,
            meta: None,
        })),
    );
    let side = json!({"uri": "file:///a", "content": {"uri": "data:text/plain;base64,aGk="}});
    let edits = json!({"items": [{"after": side}]});
    host.in_turn(
        "t",
        TurnEvent::ToolReady(Box::new(ToolReady {
            call: call.into(),
            input: None,
            message: name.into(),
            approval: Approval::Needed(ApprovalRequest {
                edits: Some(serde_json::from_value(edits).unwrap()),
                ..ApprovalRequest::default()
            }),
            meta: None,
        })),
    );
    let state = host.state(&chat());
    let call = &state["activeTurn"]["responseParts"][0]["toolCall"];
    let kept = &call["edits"]["items"][0]["after"]["content"];
    assert_eq!(kept["sizeHint"], 2);
    let read = host.ok(
        1,
        "resourceRead",
        json!({"channel": SESSION, "uri": kept["uri"]}),
    );
    assert_eq!(read["data"], "hi", "{read}");
}

/// What a call shows in the end whose agent says that it did these edits: each
/// is a text before, if any, and a text after.
fn edits_shown(edits: &[(Option<&str>, &str)]) -> Vec<Value> {
    use base64::Engine as _;
    let side = |text: &str| {
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        json!({"uri": "file:///a", "content": {"uri": format!("data:text/plain;base64,{text}")}})
    };
    let block = |(before, after): &(Option<&str>, &str)| {
        let mut block = json!({"type": "fileEdit", "after": side(after)});
        if let Some(before) = before {
            block["before"] = side(before);
        }
        block
    };
    let content: Vec<Value> = edits.iter().map(block).collect();
    let mut host = Host::with_session(Limits::default());
    host.start_turn(1, "t");
    let (call, name) = ("c".to_owned(), "Write".to_owned());
    host.in_turn(
        "t",
        TurnEvent::ToolStarted(Box::new(ToolStart {
            call: call.clone().into(),
            name: name.clone(),
            display_name: name.clone(),
            intention: None,
            contributor: None,
            meta: None,
        })),
    );
    host.in_turn(
        "t",
        TurnEvent::ToolReady(Box::new(ToolReady {
            call: call.clone().into(),
            input: None,
            message: name.into(),
            approval: Approval::NotNeeded,
            meta: None,
        })),
    );
    let result = json!({"success": true, "pastTenseMessage": "Wrote", "content": content});
    host.in_turn(
        "t",
        TurnEvent::ToolFinished {
            call: call.into(),
            result: Box::new(serde_json::from_value(result).unwrap()),
            confirm: false,
        },
    );
    let state = host.state(&chat());
    let call = &state["activeTurn"]["responseParts"][0]["toolCall"];
    call["content"].as_array().unwrap().clone()
}

#[test]
fn the_lines_of_an_edit_are_counted_as_git_counts_them() {
    for (before, after, added, removed) in [
        (None, "1\n2\n", 2, 0),
        (Some("1\n2\n3\n"), "1\nTWO\n3\n", 1, 1),
        (Some("1\n2\n"), "2\n1\n", 1, 1),
    ] {
        let shown = edits_shown(&[(before, after)]);
        let expected = json!({"added": added, "removed": removed});
        assert_eq!(shown[0]["diff"], expected, "{before:?} {after:?}");
    }
}

#[test]
fn a_written_file_is_listed_once_however_often_its_agent_tells_of_it() {
    for (edits, listed) in [
        (&[(None, "1\n"), (None, "1\n")][..], 1),
        (&[(None, "1\n2\n"), (Some("1\n"), "1\n2\n")], 1),
        // Two places of one file, changed in the same way.
        (&[(Some("1\n"), "2\n"), (Some("1\n"), "2\n")], 2),
        (&[(None, "1\n"), (Some("1\n"), "2\n")], 2),
    ] {
        assert_eq!(edits_shown(edits).len(), listed, "{edits:?}");
    }
}

#[test]
fn an_agent_that_does_not_start_is_not_the_default_unless_somebody_chose_it() {
    let known = |works: [bool; 2]| -> Vec<AgentProfile> {
        let agent = |provider: &str, works| {
            let mut profile = agents().remove(0);
            profile.info.provider = provider.to_owned();
            profile.works = works;
            profile
        };
        vec![agent("alpha", works[0]), agent("beta", works[1])]
    };
    let default = |host: &mut Host| host.state(ROOT)["config"]["values"]["defaultAgent"].clone();
    let mut host = Host::new();
    host.enter(1, "a", &[ROOT]);
    host.feed(Input::AgentsChanged(known([true, true])));
    assert_eq!(default(&mut host), "alpha");
    host.feed(Input::AgentsChanged(known([false, true])));
    assert_eq!(default(&mut host), "beta");
    // It stays while it works, although the other does again.
    host.feed(Input::AgentsChanged(known([true, true])));
    assert_eq!(default(&mut host), "beta");
    // What is stored for another reason does not make it a choice.
    let dark = json!({"type": "root/configChanged", "config": {"appearance": "dark"}});
    host.dispatch(1, ROOT, dark);
    host.feed(Input::AgentsChanged(known([true, false])));
    assert_eq!(default(&mut host), "alpha");
    let chosen = json!({"type": "root/configChanged", "config": {"defaultAgent": "beta"}});
    host.dispatch(1, ROOT, chosen);
    assert_eq!(default(&mut host), "beta");
}
