//! Changes in a session's directory: what is offered, what turns wait for, and
//! what becomes of changesets.

use std::time::Duration;

use innkeeper_engine::Input;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::workspace::changes::{
    ChangesEvent, ChangesReport, ChangesTask, GitState, Moment, ViewId, ViewNews,
};
use serde_json::{Value, json};

use crate::host::{Host, SESSION, chat};

impl Host {
    /// A session in a directory, client `a` watching everything of it.
    fn in_a_directory() -> Self {
        let mut host = Self::with_changes();
        host.enter(1, "a", &[]);
        let params = json!({"channel": SESSION, "workingDirectories": ["file:///w"]});
        host.ok(1, "createSession", params);
        host.opened();
        for channel in [SESSION, &chat()] {
            host.ok(1, "subscribe", json!({"channel": channel}));
        }
        host.desk(ChangesEvent::Found {
            git: true,
            undo: false,
        });
        host.heard.clear();
        host
    }

    fn desk(&mut self, event: ChangesEvent) {
        let session = ChannelUri::from(SESSION);
        self.feed(Input::Changes(ChangesReport { session, event }));
    }

    fn tasks(&mut self) -> Vec<ChangesTask> {
        let commands = self.changes.drain(..);
        commands.map(|command| command.task).collect()
    }

    fn prompts(&self) -> usize {
        let commands = self.commands.iter();
        let prompts = commands.filter(|command| matches!(command, AgentCommand::Prompt(_)));
        prompts.count()
    }

    fn channel(&mut self, kind: &str) -> String {
        let session = self.state(SESSION);
        let catalogue = session["changesets"].as_array().unwrap();
        let entry = catalogue.iter().find(|entry| entry["changeKind"] == kind);
        entry.unwrap()["uriTemplate"].as_str().unwrap().to_owned()
    }
}

fn file(name: &str) -> Value {
    let uri = format!("file:///w/{name}");
    let side = json!({"uri": uri, "content": {"uri": uri}});
    json!({"id": uri, "edit": {"after": side, "diff": {"added": 1, "removed": 0}}})
}

fn told(host: &mut Host, news: ViewNews) {
    let view = ViewId(1);
    host.desk(ChangesEvent::View { view, news });
}

#[test]
fn a_turn_begins_when_the_state_before_it_is_kept() {
    let mut host = Host::in_a_directory();
    host.tasks();
    host.start_turn(1, "t1");
    let before = Moment::BeforeTurn("t1".to_owned());
    assert_eq!(host.tasks(), [ChangesTask::Checkpoint(before.clone())]);
    assert_eq!(host.prompts(), 0);
    host.desk(ChangesEvent::Checkpointed {
        at: before,
        failure: None,
    });
    assert_eq!(host.prompts(), 1);
    host.in_turn("t1", innkeeper_protocol::agent::TurnEvent::Completed);
    let after = Moment::AfterTurn("t1".to_owned());
    assert_eq!(host.tasks(), [ChangesTask::Checkpoint(after)]);
}

#[test]
fn a_turn_waits_for_a_slow_checkpoint_only_so_long() {
    let mut host = Host::in_a_directory();
    host.start_turn(1, "t1");
    host.wait(Duration::from_secs(4));
    assert_eq!(host.prompts(), 0);
    host.wait(Duration::from_secs(2));
    assert_eq!(host.prompts(), 1);
    host.desk(ChangesEvent::Checkpointed {
        at: Moment::BeforeTurn("t1".to_owned()),
        failure: None,
    });
    assert_eq!(host.prompts(), 1, "it is given to the agent once");
}

#[test]
fn a_turn_does_not_wait_where_no_changes_can_be_told() {
    let mut host = Host::in_a_directory();
    host.start_turn(1, "t1");
    let reason = "too large".to_owned();
    host.desk(ChangesEvent::Unavailable { reason });
    assert_eq!(host.prompts(), 1);
    assert_eq!(host.state(SESSION)["changesets"], Value::Null);
}

#[test]
fn sessions_and_chats_say_what_changesets_there_are() {
    let mut host = Host::in_a_directory();
    let kinds = |state: Value| -> Vec<String> {
        let catalogue = state["changesets"].as_array().cloned().unwrap_or_default();
        let kinds = catalogue.iter().map(|entry| entry["changeKind"].clone());
        kinds
            .map(|kind| kind.as_str().unwrap().to_owned())
            .collect()
    };
    let of_chat = ["turn", "compare-turns"];
    let all = ["uncommitted", "session", "turn", "compare-turns"];
    assert_eq!(kinds(host.state(SESSION)), all);
    assert_eq!(kinds(host.state(&chat())), of_chat);
}

#[test]
fn a_changeset_is_computed_while_somebody_listens() {
    let mut host = Host::in_a_directory();
    let channel = host.channel("uncommitted");
    host.tasks();
    host.ok(1, "subscribe", json!({"channel": channel}));
    assert!(matches!(host.tasks()[..], [ChangesTask::OpenView { .. }]));
    assert_eq!(host.state(&channel)["status"], "computing");
    let files = vec![serde_json::from_value(file("a")).unwrap()];
    told(&mut host, ViewNews::Files(files));
    let set = vec![serde_json::from_value(file("b")).unwrap()];
    let removed = vec!["file:///w/a".to_owned()];
    told(&mut host, ViewNews::Changed { set, removed });
    let state = host.state(&channel);
    assert_eq!(state["status"], "ready");
    assert_eq!(state["files"], json!([file("b")]));
    told(&mut host, ViewNews::Failed("no git".to_owned()));
    assert_eq!(host.state(&channel)["error"]["message"], "no git");
    told(&mut host, ViewNews::Files(Vec::new()));
    let state = host.state(&channel);
    assert_eq!(
        (&state["status"], &state["files"]),
        (&json!("ready"), &json!([]))
    );
    assert_eq!(
        host.news(1),
        [
            "changeset/contentChanged",
            "changeset/statusChanged",
            "changeset/fileRemoved",
            "changeset/fileSet",
            "changeset/statusChanged",
            "changeset/cleared",
            "changeset/statusChanged",
        ]
    );
    host.tasks();
    host.say(
        1,
        &json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
            .to_string(),
    );
    assert!(matches!(host.tasks()[..], [ChangesTask::CloseView { .. }]));
}

#[test]
fn what_git_says_is_told_beside_what_else_there_is() {
    let mut host = Host::in_a_directory();
    let git = GitState {
        branch: Some("main".to_owned()),
        upstream: None,
        ahead: None,
        behind: None,
        uncommitted: 2,
    };
    host.desk(ChangesEvent::Git(git.clone()));
    host.desk(ChangesEvent::Git(git));
    assert_eq!(host.news(1), ["session/metaChanged"], "said once");
    let expected = json!({
        "branch": "main", "branchName": "main", "dirty": true, "uncommittedChanges": 2,
    });
    assert_eq!(host.state(SESSION)["_meta"]["git"], expected);
}
