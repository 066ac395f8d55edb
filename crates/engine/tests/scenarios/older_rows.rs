//! What older versions say of a session in the catalogue, and today's does not:
//! up to 0.4 the model and the agent, in 0.2 the changesets.

use innkeeper_engine::{Input, Limits};
use innkeeper_judges::{mirror, name_of};
use innkeeper_protocol::newest::state::ChangesSummary;
use innkeeper_protocol::version::Version;
use innkeeper_protocol::workspace::changes::{ChangesEvent, ChangesTask, ViewId, ViewNews};
use serde_json::{Value, json};

use crate::host::{Host, ROOT, SESSION, agents, chat};
use crate::selections::{What, select, with_agents};
use crate::words::place;

/// The row of a session as connection 2 lists it.
fn row(host: &mut Host, session: &str) -> Value {
    let listed = host.ok(2, "listSessions", json!({"channel": ROOT}));
    let mut rows = listed["items"].as_array().unwrap().iter();
    rows.find(|row| row["resource"] == session).unwrap().clone()
}

/// What a connection was told about rows: `added` or `summaryChanged`.
fn told(host: &Host, connection: u64, what: &str) -> Vec<Value> {
    let method = format!("root/session{what}");
    let in_draft = format!("notify/session{what}");
    let heard = host.heard.get(&connection).into_iter().flatten();
    let news = heard.filter_map(|frame| {
        let wrapped = &frame["params"]["notification"];
        if frame["method"] == *method {
            Some(frame["params"].clone())
        } else if wrapped["type"] == *in_draft {
            Some(wrapped.clone())
        } else {
            None
        }
    });
    news.collect()
}

#[test]
fn what_is_selected_stands_in_the_catalogue_also_after_a_restart() {
    for (version, what) in What::in_versions() {
        let mut host = with_agents(version);
        select(&mut host, version, what, "large");
        let selected = what.selection("large");
        let case = format!("{version}: {what:?}");
        let changed = told(&host, 2, "SummaryChanged");
        assert_eq!(changed.len(), 1, "{case}: {changed:?}");
        let mut expected = json!({});
        expected[what.key()] = selected.clone();
        assert_eq!(changed[0]["changes"], expected, "{case}");
        assert_eq!(row(&mut host, SESSION)[what.key()], selected, "{case}");
        host.restart(Limits::default());
        host.enter_as(version, 2, "old", &[]);
        assert_eq!(row(&mut host, SESSION)[what.key()], selected, "{case}");
    }
}

#[test]
fn a_selection_is_no_change_of_the_row_where_messages_select() {
    for version in Version::ALL
        .into_iter()
        .filter(|it| it.selects_per_message())
    {
        let mut host = with_agents(version);
        let draft = json!({"text": "", "origin": {"kind": "user"}, "model": {"id": "large"}});
        let draft = json!({"type": "chat/draftChanged", "draft": draft});
        host.dispatch(1, &chat(), draft);
        assert_eq!(
            told(&host, 2, "SummaryChanged"),
            [] as [Value; 0],
            "{version}"
        );
        assert!(row(&mut host, SESSION).get("model").is_none(), "{version}");
    }
}

#[test]
fn a_session_is_announced_with_the_model_that_it_begins_with() {
    for version in Version::ALL {
        let mut host = with_agents(version);
        let params = json!({"channel": "x:new", "session": "x:new", "model": {"id": "large"}});
        host.ok(2, "createSession", params);
        let added = told(&host, 2, "Added");
        let model = added[0]["summary"].get("model");
        let large = json!({"id": "large"});
        let expected = Some(&large).filter(|_| !version.selects_per_message());
        assert_eq!(model, expected, "{version}");
    }
}

#[test]
fn who_comes_back_is_told_what_was_selected_meanwhile() {
    for version in [Version::V0_2, Version::V0_3, Version::V0_4] {
        let mut host = with_agents(version);
        host.leave(2);
        let draft = json!({"text": "", "origin": {"kind": "user"}, "model": {"id": "large"}});
        let draft = json!({"type": "chat/draftChanged", "draft": draft});
        host.dispatch(1, &chat(), draft);
        host.connect(2);
        let back = json!({"clientId": "old", "lastSeenServerSeq": 1, "subscriptions": [ROOT]});
        host.ok(2, "reconnect", back);
        let changed = told(&host, 2, "SummaryChanged");
        assert_eq!(
            changed[0]["changes"]["model"],
            json!({"id": "large"}),
            "{version}"
        );
    }
}

#[test]
fn a_chat_that_is_shown_as_a_session_has_its_own_model() {
    let side = "custom:side";
    for version in Version::ALL.into_iter().filter(|it| !it.has_chats()) {
        let mut host = Host::new();
        let mut profiles = agents();
        let several = json!({"multipleChats": {"fork": true}});
        profiles[0].info.capabilities = Some(serde_json::from_value(several).unwrap());
        host.feed(Input::AgentsChanged(profiles));
        host.enter(1, "new", &[ROOT]);
        host.enter_as(version, 2, "old", &[ROOT]);
        host.ok(1, "createSession", json!({"channel": SESSION}));
        host.opened();
        host.ok(1, "createChat", json!({"channel": SESSION, "chat": side}));
        host.heard.clear();
        let draft = json!({"text": "", "origin": {"kind": "user"}, "model": {"id": "large"}});
        host.dispatch(
            1,
            side,
            json!({"type": "chat/draftChanged", "draft": draft}),
        );
        let changed = told(&host, 2, "SummaryChanged");
        assert_eq!(changed.len(), 1, "{version}: {changed:?}");
        assert_eq!(changed[0]["session"], side, "{version}");
        let large = json!({"id": "large"});
        assert_eq!(changed[0]["changes"], json!({"model": large}), "{version}");
        assert_eq!(row(&mut host, side)["model"], large, "{version}");
        assert!(row(&mut host, SESSION).get("model").is_none(), "{version}");
    }
}

fn counted(host: &mut Host, additions: i64) {
    host.changes_reported(ChangesEvent::Counted(ChangesSummary {
        additions: Some(additions),
        deletions: Some(2),
        files: Some(1),
    }));
}

/// What a list of changesets says of the whole session's.
fn counts(changesets: &Value) -> Value {
    let mut all = changesets.as_array().into_iter().flatten();
    let of_session = |it: &&Value| it["uriTemplate"].as_str().unwrap().ends_with("/session");
    let found = all.find(of_session).cloned().unwrap_or_default();
    json!([found["additions"], found["deletions"], found["files"]])
}

#[test]
fn changesets_stand_in_the_rows_of_0_2_with_what_was_counted() {
    for version in Version::ALL {
        let mut host = Host::in_a_directory();
        host.enter_as(version, 2, "old", &[ROOT, SESSION]);
        host.heard.clear();
        counted(&mut host, 7);
        let changed = told(&host, 2, "SummaryChanged");
        let row = row(&mut host, SESSION);
        if version != Version::V0_2 {
            let mut rows = changed
                .iter()
                .map(|params| &params["changes"])
                .chain([&row]);
            assert!(rows.all(|row| row.get("changesets").is_none()), "{version}");
            continue;
        }
        assert_eq!(changed.len(), 1, "{changed:?}");
        assert_eq!(
            counts(&changed[0]["changes"]["changesets"]),
            json!([7, 2, 1])
        );
        assert_eq!(counts(&row["changesets"]), json!([7, 2, 1]));
        assert_eq!(row["changesets"].as_array().unwrap().len(), 5);
        // No kind of its own is known in 0.2.
        assert!(row["changesets"][0].get("changeKind").is_none());
    }
}

#[test]
fn the_state_of_0_2_says_what_was_counted_and_is_told_when_that_changes() {
    let version = Version::V0_2;
    let mut host = Host::in_a_directory();
    counted(&mut host, 7);
    host.enter_as(version, 2, "old", &[SESSION]);
    let snapshot = |host: &mut Host| {
        let mut reply = host.ok(2, "subscribe", json!({"channel": place(version)}));
        reply["snapshot"]["state"]["summary"]["changesets"].take()
    };
    assert_eq!(counts(&snapshot(&mut host)), json!([7, 2, 1]));
    host.heard.clear();
    counted(&mut host, 8);
    let told = host.actions(2);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].1["type"], "session/changesetsChanged");
    assert_eq!(told[0].1["changesets"], snapshot(&mut host));
    assert_eq!(counts(&told[0].1["changesets"]), json!([8, 2, 1]));
    assert_eq!(host.actions(1), [], "the list itself is the same");
}

#[test]
fn who_comes_back_in_0_2_is_told_what_was_counted_meanwhile() {
    let mut host = Host::in_a_directory();
    let welcome = host.enter_as(Version::V0_2, 2, "old", &[SESSION]);
    let seen = &welcome["serverSeq"];
    host.leave(2);
    counted(&mut host, 9);
    host.heard.clear();
    host.connect(2);
    let back = json!({"clientId": "old", "lastSeenServerSeq": seen, "subscriptions": [SESSION]});
    host.ok(2, "reconnect", back);
    let told = host.actions(2);
    let (_, last) = told.last().unwrap();
    assert_eq!(counts(&last["changesets"]), json!([9, 2, 1]));
}

fn changed_files(host: &mut Host, names: &[&str]) {
    let file = |name: &&str| {
        let uri = format!("file:///w/{name}");
        let content = json!({"uri": uri, "nonce": "n"});
        let edit = json!({
            "after": {"uri": uri, "content": content}, "diff": {"added": 1, "removed": 0},
        });
        serde_json::from_value(json!({"id": uri, "edit": edit})).unwrap()
    };
    let news = ViewNews::Files(names.iter().map(file).collect());
    let view = ViewId(1);
    host.changes_reported(ChangesEvent::View { view, news });
}

/// The drafts have no changesets: who follows a session is told in its row
/// which files have changed, and the host looks for them as long as somebody
/// does.
#[test]
fn the_drafts_are_told_which_files_have_changed() {
    for version in [Version::Draft1, Version::V0_1] {
        let mut host = Host::in_a_directory();
        host.enter_as(version, 2, "old", &[]);
        let mut mirror = mirror(&name_of(version)).unwrap();
        let snapshot = |host: &mut Host| {
            let mut reply = host.ok(2, "subscribe", json!({"resource": SESSION}));
            reply["snapshot"]["state"].take()
        };
        let opened = |host: &Host| {
            let tasks = host.changes.iter().map(|command| &command.task);
            tasks
                .filter(|task| matches!(task, ChangesTask::OpenView { .. }))
                .count()
        };
        mirror.load(SESSION, snapshot(&mut host)).unwrap();
        assert_eq!(opened(&host), 1, "{version}");
        for names in [&["a", "b"][..], &["b"], &[]] {
            host.heard.clear();
            changed_files(&mut host, names);
            for (_, action) in host.actions(2) {
                mirror.apply(SESSION, action).unwrap();
            }
            let told = told(&host, 2, "SummaryChanged");
            let now = mirror.read(snapshot(&mut host)).unwrap();
            let diffs = now["summary"]["diffs"].clone();
            assert_eq!(diffs.as_array().unwrap().len(), names.len(), "{version}");
            assert_eq!(mirror.state(SESSION).unwrap()["summary"]["diffs"], diffs);
            assert_eq!(told[0]["changes"]["diffs"], diffs, "{version}");
            assert_eq!(row(&mut host, SESSION)["diffs"], diffs, "{version}");
        }
        // Whoever leaves needs nothing to be looked for.
        let left = json!({"jsonrpc": "2.0", "method": "unsubscribe",
                          "params": {"resource": SESSION}});
        host.say(2, &left.to_string());
        let last = host.changes.last().map(|command| &command.task);
        assert!(
            matches!(last, Some(ChangesTask::CloseView { .. })),
            "{last:?}"
        );
    }
}
