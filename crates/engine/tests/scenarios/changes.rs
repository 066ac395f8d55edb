//! Changes in a session's directory: what is offered, and what becomes of
//! changesets.

use innkeeper_engine::{Input, Leftovers};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::AgentCommand;
use innkeeper_protocol::newest::state::ChangesSummary;
use innkeeper_protocol::workspace::changes::{
    ChangesError, ChangesEvent, ChangesReport, ChangesTask, GitState, Moment, Operation,
    OperationDone, OperationId, PushError, Pushed, Sent, ViewId, ViewNews, component,
};
use serde_json::{Value, json};

use crate::host::{Host, SESSION, chat};

impl Host {
    /// A session in a directory, client `a` watching everything of it.
    pub(crate) fn in_a_directory() -> Self {
        let mut host = Self::with_changes();
        host.enter(1, "a", &[]);
        let params = json!({"channel": SESSION, "workingDirectories": ["file:///w"]});
        host.ok(1, "createSession", params);
        host.opened();
        for channel in [SESSION, &chat()] {
            host.ok(1, "subscribe", json!({"channel": channel}));
        }
        host.changes_reported(ChangesEvent::Found {
            git: true,
            has_own_work: true,
            undo: false,
        });
        host.heard.clear();
        host
    }

    pub(crate) fn changes_reported(&mut self, event: ChangesEvent) {
        let session = ChannelUri::from(SESSION);
        self.feed(Input::Changes(ChangesReport { session, event }));
    }

    pub(crate) fn tasks(&mut self) -> Vec<ChangesTask> {
        let commands = self.changes.drain(..);
        commands.map(|command| command.task).collect()
    }

    pub(crate) fn prompts(&self) -> usize {
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
    host.changes_reported(ChangesEvent::View { view, news });
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
    let all = ["uncommitted", "branch", "session", "turn", "compare-turns"];
    assert_eq!(kinds(host.state(SESSION)), all);
    assert_eq!(kinds(host.state(&chat())), of_chat);
}

#[test]
fn a_branch_is_offered_while_it_has_something_of_its_own() {
    let mut host = Host::in_a_directory();
    let offers_branch = |host: &mut Host| {
        let catalogue = host.state(SESSION)["changesets"].take();
        let mut catalogue = catalogue.as_array().unwrap().iter();
        catalogue.any(|entry| entry["changeKind"] == "branch")
    };
    for has_own_work in [false, true, false] {
        let branch = Some("main".to_owned());
        host.changes_reported(ChangesEvent::Git(GitState {
            branch,
            has_own_work,
            ..GitState::default()
        }));
        assert_eq!(offers_branch(&mut host), has_own_work);
    }
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
    told(
        &mut host,
        ViewNews::Failed(ChangesError::Other("no git".to_owned())),
    );
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
        base: Some("main".to_owned()),
        has_own_work: true,
    };
    host.changes_reported(ChangesEvent::Git(git.clone()));
    host.changes_reported(ChangesEvent::Git(git));
    assert_eq!(host.news(1), ["session/metaChanged"], "said once");
    let expected = json!({
        "branch": "main", "branchName": "main", "base": "main", "baseBranchName": "main",
        "dirty": true, "uncommittedChanges": 2,
    });
    assert_eq!(host.state(SESSION)["_meta"]["git"], expected);
}

#[test]
fn changesets_are_named_in_the_language_of_whoever_created_the_session() {
    let mut host = in_two_languages();
    let state = host.state(SESSION);
    assert_eq!(state["changesets"][2]["label"], "Änderungen der Sitzung");
    let channel = host.channel("session");
    let operations = host.state(&channel)["operations"].take();
    let labels = [&operations[0]["label"], &operations[1]["label"]];
    assert_eq!(labels, ["Verwerfen", "Rückgängig machen"]);
}

#[test]
fn a_file_that_was_looked_at_stays_marked_until_it_changes() {
    let mut host = Host::in_a_directory();
    let state = host.state(SESSION);
    let offered = &state["changesets"][0]["capabilities"];
    assert_eq!(*offered, json!({"review": {}}));
    let channel = host.channel("uncommitted");
    host.ok(1, "subscribe", json!({"channel": channel}));
    let known = |names: &[&str]| -> Vec<_> {
        let files = names.iter().map(|name| file(name));
        files
            .map(|it| serde_json::from_value(it).unwrap())
            .collect()
    };
    told(&mut host, ViewNews::Files(known(&["a", "b"])));
    let review = |names: &[&str], reviewed: bool| {
        let files: Vec<String> = names.iter().map(|it| format!("file:///w/{it}")).collect();
        json!({"type": "changeset/filesReviewChanged", "files": files, "reviewed": reviewed})
    };
    host.dispatch(1, &channel, review(&["a", "b"], true));
    assert_eq!(host.rejection(1), "");
    host.dispatch(1, &channel, review(&["c"], true));
    assert_ne!(host.rejection(1), "", "there is no such file");
    // Everybody leaves, and comes back.
    host.say(
        1,
        &json!({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": channel}})
            .to_string(),
    );
    host.ok(1, "subscribe", json!({"channel": channel}));
    let mut changed = file("b");
    changed["edit"]["after"]["content"]["nonce"] = "2".into();
    let mut files = known(&["a"]);
    files.push(serde_json::from_value(changed).unwrap());
    let view = ViewId(2);
    let news = ViewNews::Files(files);
    host.changes_reported(ChangesEvent::View { view, news });
    let marks = |host: &mut Host| {
        let files = host.state(&channel)["files"].take();
        [files[0]["reviewed"].clone(), files[1]["reviewed"].clone()]
    };
    assert_eq!(marks(&mut host), [json!(true), Value::Null]);
    host.dispatch(1, &channel, review(&["a"], false));
    assert_eq!(marks(&mut host), [json!(false), Value::Null]);
    host.dispatch(1, &channel, json!({"type": "changeset/cleared"}));
    assert_ne!(host.rejection(1), "", "that is the host's to say");
}

/// A host with a session in a working tree of its own.
fn isolated() -> Host {
    let mut host = Host::with_changes();
    host.enter(1, "a", &[]);
    let config = json!({"isolation": "worktree"});
    let directories = ["file:///w"];
    let params = json!({
        "channel": SESSION, "workingDirectories": directories, "config": config,
    });
    host.ok(1, "createSession", params);
    host.changes_reported(ChangesEvent::Isolated(
        Ok("file:///trees/1/part".to_owned()),
    ));
    host.opened();
    host
}

/// The session goes; returns the working trees that go with it.
fn trees_that_go_with(host: &mut Host, session: &str) -> Vec<String> {
    host.tasks();
    host.ok(1, "disposeSession", json!({"channel": session}));
    let tasks = host.tasks();
    let forget = tasks.into_iter().find_map(|task| match task {
        ChangesTask::Forget { trees, .. } => Some(trees),
        _ => None,
    });
    forget.unwrap()
}

#[test]
fn a_working_tree_goes_with_the_last_session_that_works_in_it() {
    let tree = ["file:///trees/1"];
    assert_eq!(trees_that_go_with(&mut isolated(), SESSION), tree);
    let mut host = isolated();
    let other = "ahp-session:/other";
    let directories = ["file:///trees/1"];
    let params = json!({"channel": other, "workingDirectories": directories});
    host.ok(1, "createSession", params);
    let elsewhere = "ahp-session:/elsewhere";
    let params = json!({"channel": elsewhere, "workingDirectories": ["file:///trees/10"]});
    host.ok(1, "createSession", params);
    assert!(trees_that_go_with(&mut host, SESSION).is_empty());
    assert_eq!(trees_that_go_with(&mut host, other), tree);
}

#[test]
fn working_trees_that_nobody_has_any_more_go_when_the_host_begins() {
    let mut host = isolated();
    let found = [
        "file:///trees/1",
        "file:///trees/2",
        "file:///trees/ahp-session_3a_2f1",
    ];
    host.feed(Input::LeftoversFound(Leftovers {
        trees: found.map(str::to_owned).to_vec(),
        ..Leftovers::default()
    }));
    assert_eq!(host.removed.len(), 1);
    assert_eq!(host.removed[0].trees, ["file:///trees/2"]);
}

#[test]
fn states_that_are_kept_for_nobody_go_when_the_host_begins() {
    let mut host = Host::in_a_directory();
    let mine = component(SESSION);
    let kept = |names: &[&str]| Leftovers {
        kept: names.iter().map(|name| (*name).to_owned()).collect(),
        ..Leftovers::default()
    };
    host.feed(Input::LeftoversFound(kept(&[&mine])));
    assert!(host.removed.is_empty());
    host.feed(Input::LeftoversFound(kept(&[
        &mine,
        "ahp-session_3a_2fgone",
    ])));
    assert_eq!(host.removed, [kept(&["ahp-session_3a_2fgone"])]);
}

#[test]
fn a_copy_of_a_session_takes_over_the_checkpoints_of_its_turns() {
    let mut host = Host::in_a_directory();
    for turn in ["t1", "t2"] {
        host.start_turn(1, turn);
        let at = Moment::BeforeTurn(turn.to_owned());
        let failure = None;
        host.changes_reported(ChangesEvent::Checkpointed { at, failure });
        host.in_turn(turn, innkeeper_protocol::agent::TurnEvent::Completed);
    }
    host.tasks();
    let copy = "ahp-session:/copy";
    let fork = json!({"session": SESSION, "turnId": "t1"});
    host.ok(1, "createSession", json!({"channel": copy, "fork": fork}));
    let about = |event| {
        let session = ChannelUri::from(copy);
        Input::Changes(ChangesReport { session, event })
    };
    let found = || ChangesEvent::Found {
        git: true,
        has_own_work: false,
        undo: false,
    };
    host.feed(about(found()));
    let inherit = ChangesTask::Inherit {
        from: ChannelUri::from(SESSION),
        directories: vec!["file:///w".to_owned()],
        turns: vec!["t1".to_owned()],
    };
    assert!(host.tasks().contains(&inherit));
    // Until it is done, it is asked for again; then no more.
    host.feed(about(found()));
    assert!(host.tasks().contains(&inherit));
    let from = ChannelUri::from(SESSION);
    host.feed(about(ChangesEvent::Inherited { from }));
    host.feed(about(found()));
    assert!(!host.tasks().contains(&inherit));
}

/// The message of the commit that is asked for, if it is.
fn commit_asked(host: &mut Host, channel: &str, meta: Value) -> Option<String> {
    host.tasks();
    let call = json!({
        "jsonrpc": "2.0", "id": 900, "method": "invokeChangesetOperation",
        "params": {"channel": channel, "operationId": "commit", "_meta": meta},
    });
    host.say(1, &call.to_string());
    let operated = host.tasks().into_iter().find_map(|task| match task {
        ChangesTask::Operate { operation, what } => Some((operation, what)),
        _ => None,
    });
    let (operation, what) = operated?;
    host.changes_reported(ChangesEvent::Operated {
        operation,
        outcome: Ok(Vec::new()),
        undo: false,
    });
    match what {
        Operation::Commit { message } => Some(message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_commit_proposes_the_title_and_what_was_asked_for_and_takes_another_message() {
    let mut host = Host::in_a_directory();
    for kind in ["uncommitted", "branch"] {
        let channel = host.channel(kind);
        host.ok(1, "subscribe", json!({"channel": channel}));
        let proposed = |host: &mut Host| {
            let operations = host.state(&channel)["operations"].take();
            let mut operations = operations.as_array().unwrap().iter();
            let commit = operations.find(|it| it["id"] == "commit").unwrap();
            commit["description"].as_str().unwrap().to_owned()
        };
        let renamed = json!({"type": "session/titleChanged", "title": format!("Fix {kind}")});
        host.dispatch(1, SESSION, renamed);
        assert!(proposed(&mut host).starts_with(&format!("Fix {kind}")));
        host.start_turn(1, kind);
        let asked = host.state(&chat())["activeTurn"]["message"]["text"].take();
        let proposal = format!("Fix {kind}\n\n{}", asked.as_str().unwrap());
        assert_eq!(proposed(&mut host), proposal);
        host.in_turn(kind, innkeeper_protocol::agent::TurnEvent::Completed);
        assert_eq!(proposed(&mut host), proposal);
        let message = commit_asked(&mut host, &channel, json!({}));
        assert_eq!(message.as_deref(), Some(proposal.as_str()));
        let message = commit_asked(&mut host, &channel, json!({"message": " Mine\n\nAll\n"}));
        assert_eq!(message.as_deref(), Some("Mine\n\nAll"));
        let long = "x".repeat(64 * 1024 + 1);
        let message = commit_asked(&mut host, &channel, json!({"message": long}));
        assert_eq!(message, None, "too long");
    }
}

#[test]
fn lines_of_a_file_are_discarded_where_the_range_makes_sense() {
    let mut host = Host::in_a_directory();
    let channel = host.channel("uncommitted");
    host.ok(1, "subscribe", json!({"channel": channel}));
    let files = vec![serde_json::from_value(file("a")).unwrap()];
    told(&mut host, ViewNews::Files(files));
    for (start, end, character, side, expected) in [
        (2, 2, 3, json!("after"), Some((2..3, false))),
        (2, 4, 0, json!(null), Some((2..4, false))),
        (0, 1, 1, json!("before"), Some((0..2, true))),
        (3, 2, 1, json!(null), None),
        (-1, 2, 1, json!(null), None),
        (1, 2, 1, json!("middle"), None),
    ] {
        host.tasks();
        let range = json!({
            "start": {"line": start, "character": 0},
            "end": {"line": end, "character": character},
        });
        let mut target = json!({"kind": "range", "resource": "file:///w/a", "range": range});
        if side.is_string() {
            target["side"] = side;
        }
        let call = json!({
            "jsonrpc": "2.0", "id": 902, "method": "invokeChangesetOperation",
            "params": {"channel": channel, "operationId": "discard", "target": target},
        });
        host.say(1, &call.to_string());
        let asked = host.tasks().into_iter().find_map(|task| match task {
            ChangesTask::Operate { operation, what } => Some((operation, what)),
            _ => None,
        });
        let lines = asked.map(|(operation, what)| {
            let outcome = Ok(vec![OperationDone::PlacesAsBefore(1)]);
            host.changes_reported(ChangesEvent::Operated {
                operation,
                outcome,
                undo: true,
            });
            match what {
                Operation::DiscardLines { lines, .. } => (lines.range, lines.counted_before),
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(lines, expected, "{start} {end}");
    }
}

/// Connection 1 asks for an operation on the branch; the task that comes of it.
fn ask_of_branch(host: &mut Host, operation: &str) -> (OperationId, Operation) {
    let channel = host.channel("branch");
    host.ok(1, "subscribe", json!({"channel": channel}));
    host.tasks();
    let call = json!({
        "jsonrpc": "2.0", "id": 901, "method": "invokeChangesetOperation",
        "params": {"channel": channel, "operationId": operation},
    });
    host.say(1, &call.to_string());
    let mut tasks = host.tasks().into_iter();
    let operated = tasks.find_map(|task| match task {
        ChangesTask::Operate { operation, what } => Some((operation, what)),
        _ => None,
    });
    operated.unwrap()
}

#[test]
fn the_result_of_a_pull_request_leads_to_its_page() {
    let mut host = Host::in_a_directory();
    let (operation, what) = ask_of_branch(&mut host, "create-pr");
    assert!(matches!(what, Operation::CreatePullRequest { .. }));
    let pushed = Pushed {
        branch: "topic".to_owned(),
        remote: "origin".to_owned(),
        is_up_to_date: false,
        hook_left_out: true,
        page: Some("https://github.com/o/r/pull/new/topic".to_owned()),
    };
    let url = "https://github.com/o/r/pull/7".to_owned();
    let done = [
        Sent::Pushed(pushed),
        Sent::PullRequest { url, is_new: true },
    ];
    host.changes_reported(ChangesEvent::Operated {
        operation,
        outcome: Ok(done.map(OperationDone::Sent).into()),
        undo: false,
    });
    let heard = host.heard[&1].iter();
    let answer = heard.rev().find(|frame| frame["id"] == 901).unwrap();
    let expected = json!({
        "message": "Pushed `topic` to `origin`. The repository's `pre-push` hook was not run. \
            Created a pull request: https://github.com/o/r/pull/7",
        "followUp": {
            "content": {"uri": "https://github.com/o/r/pull/7", "contentType": "text/html"},
            "external": true,
        },
    });
    assert_eq!(answer["result"], expected);
    let listed = &host.state(SESSION)["_meta"]["agentHost/sessionArtifacts"];
    assert_eq!(listed[0]["label"], "o/r#7");
    assert_eq!(listed[0]["type"], "pullRequest");
    let rows = host.ok(1, "listSessions", json!({}));
    let row = &rows["items"][0]["_meta"]["agentHost/sessionArtifacts"];
    assert_eq!(row, listed);
}

#[test]
fn a_push_is_ended_when_whoever_asked_for_it_leaves() {
    let mut host = Host::in_a_directory();
    let (operation, _) = ask_of_branch(&mut host, "push");
    host.leave(1);
    assert!(host.tasks().contains(&ChangesTask::Cancel { operation }));
    host.changes_reported(ChangesEvent::Operated {
        operation,
        outcome: Err(PushError::Cancelled.into()),
        undo: false,
    });
}

#[test]
fn a_summary_says_how_much_has_changed() {
    let mut host = Host::in_a_directory();
    host.ok(1, "subscribe", json!({"channel": "ahp-root://"}));
    host.changes_reported(ChangesEvent::Counted(ChangesSummary {
        additions: Some(3),
        deletions: Some(1),
        files: Some(2),
    }));
    let expected = json!({"additions": 3, "deletions": 1, "files": 2});
    let heard = host.heard[&1].iter();
    let mut changes = heard.filter(|frame| frame["method"] == "root/sessionSummaryChanged");
    let told = changes.next_back().unwrap();
    assert_eq!(told["params"]["changes"]["changes"], expected);
    let listed = host.ok(1, "listSessions", json!({}));
    assert_eq!(listed["items"][0]["changes"], expected);
}

/// A session that a German created, in which connection 2 asks in French.
fn in_two_languages() -> Host {
    let mut host = Host::with_changes();
    for (connection, client, locale) in [(1, "a", "de-AT"), (2, "b", "fr")] {
        host.connect(connection);
        let params = json!({"clientId": client, "protocolVersions": ["1.0.0"], "locale": locale});
        host.ok(connection, "initialize", params);
    }
    let params = json!({"channel": SESSION, "workingDirectories": ["file:///w"]});
    host.ok(1, "createSession", params);
    host.opened();
    host.changes_reported(ChangesEvent::Found {
        git: true,
        has_own_work: true,
        undo: true,
    });
    host
}

/// What connection 2 hears when an operation that it asked for ends so.
fn answer_to_operation(
    host: &mut Host,
    number: u64,
    outcome: Result<Vec<OperationDone>, ChangesError>,
) -> Value {
    let channel = host.channel("uncommitted");
    host.ok(2, "subscribe", json!({"channel": channel}));
    let params = json!({"channel": channel, "operationId": "undo"});
    let call = json!({
        "jsonrpc": "2.0", "id": 1000 + number, "method": "invokeChangesetOperation",
        "params": params,
    });
    host.say(2, &call.to_string());
    host.changes_reported(ChangesEvent::Operated {
        operation: OperationId(number),
        outcome,
        undo: true,
    });
    let heard = host.heard.remove(&2).unwrap();
    let mut answers = heard.into_iter();
    answers.find(|frame| frame["id"] == 1000 + number).unwrap()
}

#[test]
fn what_an_operation_did_is_said_in_the_language_of_who_asked() {
    let mut host = in_two_languages();
    let done = vec![
        OperationDone::CommitTakenBack,
        OperationDone::FilesAsBefore(2),
    ];
    let answer = answer_to_operation(&mut host, 1, Ok(done));
    assert_eq!(
        answer["result"]["message"],
        "Le commit est annulé ; ses modifications sont toujours là. 2 fichiers sont comme avant."
    );
    let answer = answer_to_operation(&mut host, 2, Err(ChangesError::NewerCommits));
    let said = "il y a des commits plus récents ; le commit ne peut pas être annulé";
    assert_eq!(answer["error"]["message"], said);
    // What all see is in the language of the session.
    let channel = host.channel("uncommitted");
    let state = host.state(&channel);
    let operations = state["operations"].as_array().unwrap();
    let undo = operations.iter().find(|it| it["id"] == "undo").unwrap();
    assert_eq!(
        undo["error"]["message"],
        "es gibt neuere Commits; der Commit kann nicht zurückgenommen werden"
    );
    // What others say stays as it is.
    let hook = ChangesError::Other("a hook said no".to_owned());
    let answer = answer_to_operation(&mut host, 3, Err(hook));
    assert_eq!(answer["error"]["message"], "a hook said no");
}

#[test]
fn why_a_changeset_cannot_be_told_is_said_in_the_language_of_the_session() {
    let mut host = in_two_languages();
    let channel = host.channel("session");
    host.ok(2, "subscribe", json!({"channel": channel}));
    told(&mut host, ViewNews::Failed(ChangesError::NotKept));
    assert_eq!(
        host.state(&channel)["error"]["message"],
        "die Dateien wurden zu diesem Zeitpunkt nicht aufbewahrt"
    );
}

#[test]
fn the_settings_for_isolation_follow_the_language() {
    let mut host = in_two_languages();
    let resolved = host.ok(2, "resolveSessionConfig", json!({}));
    let isolation = &resolved["schema"]["properties"]["isolation"];
    assert_eq!(isolation["description"], "Où la session travaille.");
    let labels = json!(["Dans le dossier", "Dans un arbre de travail git"]);
    assert_eq!(isolation["enumLabels"], labels);
    assert_eq!(
        resolved["schema"]["properties"]["branch"]["title"],
        "Branche"
    );
    let properties = &host.state(SESSION)["config"]["schema"]["properties"];
    assert_eq!(properties["isolation"]["title"], "Abschottung");
}

#[test]
fn who_comes_back_to_a_changeset_that_was_opened_anew_is_given_all_of_it() {
    let mut host = Host::in_a_directory();
    let channel = host.channel("session");
    host.ok(1, "subscribe", json!({"channel": channel}));
    let seen = host.engine.server_seq();
    host.leave(1);
    // The first time it is opened anew, and nothing is numbered before the second.
    for connection in [5, 6] {
        host.connect(connection);
        let params = json!({
            "clientId": "a", "lastSeenServerSeq": seen, "subscriptions": [channel],
        });
        let answer = host.ok(connection, "reconnect", params);
        assert_eq!(answer["type"], "snapshot", "{answer}");
    }
}
