//! The model and the agent that are selected for a session, as they are up to
//! 0.4: a message is for what is selected when its turn begins.

use innkeeper_engine::{Input, Limits};
use innkeeper_protocol::agent::{AgentCommand, TurnEvent};
use innkeeper_protocol::newest::state::Message;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};
use crate::words::{in_words_of, of_session, place};

/// What can be selected for a session.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Model,
    Agent,
}

impl What {
    /// What each version can select.
    pub(crate) fn in_versions() -> Vec<(Version, Self)> {
        let all = Version::ALL.into_iter();
        let old = all.filter(|version| !version.selects_per_message());
        let both = old.flat_map(|version| [(version, Self::Model), (version, Self::Agent)]);
        // Draft 1 has no agents to select.
        both.filter(|(version, what)| {
            version.names_channels_in_envelopes() || matches!(what, Self::Model)
        })
        .collect()
    }

    pub(crate) fn selection(self, name: &str) -> Value {
        match self {
            Self::Model => json!({"id": name}),
            Self::Agent => json!({"uri": format!("x:{name}")}),
        }
    }

    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Agent => "agent",
        }
    }

    fn of(self, message: &Message) -> Value {
        let selected = match self {
            Self::Model => serde_json::to_value(&message.model),
            Self::Agent => serde_json::to_value(&message.agent),
        };
        selected.unwrap()
    }

    /// The action that selects it.
    fn selected(self, version: Version, name: &str) -> Value {
        let mut action = json!({"type": format!("session/{}Changed", self.key())});
        action[self.key()] = self.selection(name);
        of_session(version, action)
    }
}

/// There are custom agents to choose from.
fn offer_agents(host: &mut Host) {
    let mut profiles = agents();
    let agent = |name: &str| {
        json!({"type": "agent", "id": format!("x:{name}"), "uri": format!("x:{name}"),
               "name": name})
    };
    let plugin = json!({"type": "plugin", "id": "x:p", "uri": "x:p", "name": "P",
                        "children": [agent("small"), agent("large")]});
    profiles[0].info.customizations = Some(vec![serde_json::from_value(plugin).unwrap()]);
    host.feed(Input::AgentsChanged(profiles));
}

/// Connection 1 is of today, connection 2 of the version.
pub(crate) fn with_agents(version: Version) -> Host {
    let mut host = Host::new();
    offer_agents(&mut host);
    host.enter(1, "a", &[ROOT]);
    host.ok(1, "createSession", json!({"channel": SESSION}));
    host.opened();
    for channel in [SESSION, &chat()] {
        host.ok(1, "subscribe", json!({"channel": channel}));
    }
    host.enter_as(version, 2, "old", &[ROOT, SESSION, &place(version)]);
    host.heard.clear();
    host
}

fn say(host: &mut Host, version: Version, verb: &str, action: Value) {
    let action = in_words_of(version, verb, action);
    host.dispatch(2, &place(version), action);
    assert_eq!(host.rejection(2), "", "{version}: {verb}");
}

fn start(host: &mut Host, version: Version, turn: &str) {
    let message = json!({"text": turn, "origin": {"kind": "user"}});
    say(
        host,
        version,
        "turnStarted",
        json!({"turnId": turn, "message": message}),
    );
}

fn wait(host: &mut Host, version: Version, kind: &str, id: &str) {
    let message = json!({"text": id, "origin": {"kind": "user"}});
    let set = json!({"kind": kind, "id": id, "message": message});
    say(host, version, "pendingMessageSet", set);
}

pub(crate) fn select(host: &mut Host, version: Version, what: What, name: &str) {
    host.dispatch(2, SESSION, what.selected(version, name));
    assert_eq!(host.rejection(2), "", "{version}: {what:?}");
}

/// The message of the last turn that the agent was given.
fn prompted(host: &Host) -> &Message {
    let mut commands = host.commands.iter().rev();
    let prompt = commands.find_map(|command| match command {
        AgentCommand::Prompt(prompt) => Some(&prompt.message),
        _ => None,
    });
    prompt.unwrap()
}

/// What connection 2 was told is selected, one after the other.
fn told(host: &Host, what: What) -> Vec<Value> {
    let kind = format!("session/{}Changed", what.key());
    let all = host.actions(2).into_iter();
    let selections = all.filter(|(_, action)| action["type"] == *kind);
    selections
        .map(|(_, mut action)| action[what.key()].take())
        .collect()
}

#[test]
fn a_message_that_was_queued_before_does_not_undo_a_selection() {
    for (version, what) in What::in_versions() {
        for earlier in [None, Some("small")] {
            let case = format!("{version}: {what:?} after {earlier:?}");
            let mut host = with_agents(version);
            if let Some(earlier) = earlier {
                select(&mut host, version, what, earlier);
            }
            start(&mut host, version, "t1");
            wait(&mut host, version, "queued", "q");
            let queued = host.state(&chat())["queuedMessages"][0]["message"].take();
            assert!(queued.get(what.key()).is_none(), "{case}: {queued}");
            host.heard.clear();
            select(&mut host, version, what, "large");
            host.in_turn("t1", TurnEvent::Completed);
            assert_eq!(what.of(prompted(&host)), what.selection("large"), "{case}");
            assert_eq!(told(&host, what), [what.selection("large")], "{case}");
            let active = host.state(&chat())["activeTurn"]["message"].take();
            assert_eq!(active["text"], "q", "{case}");
            assert_eq!(active[what.key()], what.selection("large"), "{case}");
        }
    }
}

#[test]
fn a_steering_message_that_becomes_a_turn_gets_what_is_selected_by_then() {
    for (version, what) in What::in_versions() {
        let mut host = with_agents(version);
        select(&mut host, version, what, "small");
        start(&mut host, version, "t1");
        wait(&mut host, version, "steering", "s");
        select(&mut host, version, what, "large");
        host.in_turn("t1", TurnEvent::Completed);
        let message = prompted(&host);
        assert_eq!(message.text, "s", "{version}");
        assert_eq!(what.of(message), what.selection("large"), "{version}");
    }
}

#[test]
fn a_queued_message_waits_for_its_selection_over_a_restart() {
    for (version, what) in What::in_versions() {
        let mut host = with_agents(version);
        select(&mut host, version, what, "small");
        start(&mut host, version, "t1");
        wait(&mut host, version, "queued", "q1");
        host.restart(Limits::default());
        offer_agents(&mut host);
        host.enter_as(version, 2, "old", &[ROOT, SESSION, &place(version)]);
        select(&mut host, version, what, "large");
        // The queue goes on when somebody touches it.
        wait(&mut host, version, "queued", "q2");
        host.opened();
        let message = prompted(&host);
        assert_eq!(message.text, "q1", "{version}");
        assert_eq!(what.of(message), what.selection("large"), "{version}");
    }
}

#[test]
fn a_queued_message_that_names_its_model_keeps_it() {
    for version in Version::ALL
        .into_iter()
        .filter(|it| it.selects_per_message())
    {
        let mut host = with_agents(version);
        host.start_turn(1, "t1");
        let message = json!({"text": "q", "origin": {"kind": "user"}, "model": {"id": "small"},
                             "agent": {"uri": "x:small"}});
        let set = json!({"kind": "queued", "id": "q", "message": message});
        say(&mut host, version, "pendingMessageSet", set);
        let draft = json!({"text": "", "origin": {"kind": "user"}, "model": {"id": "large"}});
        say(&mut host, version, "draftChanged", json!({"draft": draft}));
        host.in_turn("t1", TurnEvent::Completed);
        let message = prompted(&host);
        assert_eq!(What::Model.of(message), json!({"id": "small"}), "{version}");
        assert_eq!(
            What::Agent.of(message),
            json!({"uri": "x:small"}),
            "{version}"
        );
    }
}

/// From 0.5 on a message without an agent is for none, and one without a model
/// for the agent's own: nothing is put into it, whoever selected something.
#[test]
fn a_queued_message_of_today_without_a_selection_stays_without_one() {
    let mut host = with_agents(Version::V0_4);
    select(&mut host, Version::V0_4, What::Model, "small");
    start(&mut host, Version::V0_4, "t1");
    wait(&mut host, Version::V0_4, "queued", "q");
    // Rewritten by a client of today, it is one of today.
    let message = json!({"text": "mine", "origin": {"kind": "user"}});
    let set = json!({"type": "chat/pendingMessageSet", "kind": "queued", "id": "q",
                     "message": message});
    host.dispatch(1, &chat(), set);
    host.in_turn("t1", TurnEvent::Completed);
    let message = prompted(&host);
    assert_eq!((message.text.as_str(), &message.model), ("mine", &None));
}

#[test]
fn a_selection_that_changes_nothing_is_echoed() {
    for (version, what) in What::in_versions() {
        for during_turn in [false, true] {
            let mut host = with_agents(version);
            select(&mut host, version, what, "large");
            start(&mut host, version, "t1");
            if !during_turn {
                host.in_turn("t1", TurnEvent::Completed);
            }
            host.heard.clear();
            select(&mut host, version, what, "large");
            select(&mut host, version, what, "large");
            if during_turn {
                host.in_turn("t1", TurnEvent::Completed);
            }
            let expected = vec![what.selection("large"); 2];
            assert_eq!(told(&host, what), expected, "{version}: {during_turn}");
        }
    }
}

#[test]
fn a_selection_is_confirmed_to_who_follows_only_the_session() {
    let mut host = with_agents(Version::V0_4);
    host.leave(2);
    host.enter_as(Version::V0_4, 2, "old", &[SESSION]);
    host.heard.clear();
    select(&mut host, Version::V0_4, What::Model, "large");
    assert_eq!(told(&host, What::Model), [json!({"id": "large"})]);
}

#[test]
fn selections_that_wait_for_the_end_of_a_turn_are_limited() {
    let mut host = with_agents(Version::V0_4);
    start(&mut host, Version::V0_4, "t1");
    host.heard.clear();
    for _ in 0..100 {
        select(&mut host, Version::V0_4, What::Model, "small");
    }
    host.dispatch(2, SESSION, What::Model.selected(Version::V0_4, "large"));
    assert!(host.rejection(2).contains("when it has ended"));
    host.heard.clear();
    host.in_turn("t1", TurnEvent::Completed);
    assert_eq!(told(&host, What::Model).len(), 100);
}
