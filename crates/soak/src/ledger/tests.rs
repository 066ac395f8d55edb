//! What the ledger finds, and what it lets pass.

use super::*;
use serde_json::json;

const S: &str = "x:s";

fn told(seq: u64, action: Value) -> Value {
    json!({"serverSeq": seq, "action": action, "origin": {"clientId": "c", "clientSeq": seq}})
}

/// Tells a ledger something, and shows it a chat and a session.
fn judged(heard: &[Value], session: Value, chats: &[Value]) -> Vec<Promise> {
    let (mut ledger, mut report) = (Ledger::default(), Report::default());
    ledger.asks_to_create(S);
    ledger.created(S, true);
    for envelope in heard {
        let said = ("c".to_owned(), envelope["serverSeq"].as_u64().unwrap());
        ledger.said(S, said, &envelope["action"]);
        ledger.heard(S, envelope, &mut report);
    }
    for chat in chats {
        ledger.judge(S, 99, (&session, chat), &mut report);
    }
    report.violations.iter().map(|it| it.promise).collect()
}

fn turn(id: &str, state: &str, text: &str) -> Value {
    json!({"id": id, "state": state, "message": {"text": text}})
}

#[test]
fn what_is_not_as_it_was_told_is_found() {
    let started = told(1, json!({"type": "chat/turnStarted", "turnId": "t"}));
    let complete = told(2, json!({"type": "chat/turnComplete", "turnId": "t"}));
    let failed = told(3, json!({"type": "session/error", "turnId": "t"}));
    let title = told(1, json!({"type": "session/titleChanged", "title": "new"}));
    let archived = told(
        1,
        json!({"type": "session/isArchivedChanged", "isArchived": true}),
    );
    let draft = told(
        1,
        json!({"type": "chat/draftChanged", "draft": {"text": "new"}}),
    );
    let queued = told(
        1,
        json!({
            "type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": {"text": "m"},
        }),
    );
    let nothing = json!({"turns": []});
    let one = |state: &str| json!({"turns": [turn("t", state, "m")]});
    let twice = json!({"turns": [turn("a", "complete", "m"), turn("b", "complete", "m")]});
    let old = json!({"title": "old", "status": 0});
    let cases = [
        (
            vec![started.clone()],
            vec![nothing.clone(), nothing.clone()],
            vec![Promise::Turns],
        ),
        (vec![started.clone()], vec![one("error")], vec![]),
        (
            vec![complete.clone()],
            vec![one("error"), one("error")],
            vec![Promise::Ends],
        ),
        (
            vec![complete.clone(), failed],
            vec![one("error")],
            vec![Promise::Ends],
        ),
        (vec![complete.clone()], vec![one("complete")], vec![]),
        (
            vec![complete],
            vec![
                one("complete"),
                json!({"turns": [turn("t", "complete", "else")]}),
            ],
            vec![Promise::Ends],
        ),
        (vec![title], vec![nothing.clone()], vec![Promise::Titles]),
        (
            vec![archived],
            vec![nothing.clone()],
            vec![Promise::Archived],
        ),
        (vec![draft], vec![nothing.clone()], vec![Promise::Drafts]),
        (vec![queued.clone()], vec![nothing], vec![Promise::Queued]),
        (vec![queued.clone()], vec![twice], vec![Promise::RunOnce]),
        (
            vec![queued.clone()],
            vec![json!({"turns": [turn("a", "complete", "m")], "queuedMessages": [{"id": "q"}]})],
            vec![Promise::RunOnce],
        ),
        (
            vec![queued],
            vec![json!({"turns": [], "queuedMessages": [{"id": "q"}]})],
            vec![],
        ),
    ];
    for (heard, chats, expected) in cases {
        let found = judged(&heard, old.clone(), &chats);
        assert_eq!(found, expected, "{heard:?} {chats:?}");
    }
}

#[test]
fn what_was_not_echoed_may_be_there_or_not() {
    for kept in ["old", "new"] {
        let (mut ledger, mut report) = (Ledger::default(), Report::default());
        ledger.asks_to_create(S);
        ledger.created(S, true);
        let action = |title: &str| json!({"type": "session/titleChanged", "title": title});
        ledger.heard(S, &told(1, action("old")), &mut report);
        ledger.said(S, ("c".to_owned(), 2), &action("new"));
        let states = (&json!({"title": kept}), &json!({"turns": []}));
        ledger.judge(S, 5, states, &mut report);
        assert!(report.violations.is_empty(), "{kept}: {report}");
    }
}

#[test]
fn sessions_are_where_they_were_told_to_be() {
    // Created and disposed of: asked, answered; whether it is listed.
    let cases = [
        (true, None, false, 1),
        (true, None, true, 0),
        (false, None, false, 0),
        (true, Some(true), true, 1),
        (true, Some(true), false, 0),
        (true, Some(false), true, 0),
    ];
    for (created, disposed, listed, violations) in cases {
        let (mut ledger, mut report) = (Ledger::default(), Report::default());
        ledger.asks_to_create(S);
        if created {
            ledger.created(S, true);
        }
        if let Some(answered) = disposed {
            ledger.asks_to_dispose(S);
            if answered {
                ledger.disposed(S, true);
            }
        }
        ledger.listed(S, listed, &mut report);
        assert_eq!(
            report.violations.len(),
            violations,
            "{created} {disposed:?} {listed}"
        );
    }
}

#[test]
fn a_number_that_goes_back_is_found() {
    let (mut ledger, mut report) = (Ledger::default(), Report::default());
    ledger.begins_at(10, &mut report);
    ledger.begins_at(9, &mut report);
    assert_eq!(report.violations.len(), 1);
}

#[test]
fn a_title_that_the_host_took_from_a_message_need_not_be_heard_of() {
    let started = json!({"type": "chat/turnStarted", "turnId": "t",
                         "message": {"text": "Tidy up the kitchen"}});
    let renamed = told(1, json!({"type": "session/titleChanged", "title": "Mine"}));
    for (heard, broken) in [(vec![], vec![]), (vec![renamed], vec![Promise::Titles])] {
        let (mut ledger, mut report) = (Ledger::default(), Report::default());
        ledger.asks_to_create(S);
        ledger.created(S, true);
        let chat = json!({"turns": []});
        ledger.judge(S, 1, (&json!({"title": "New session"}), &chat), &mut report);
        for envelope in &heard {
            ledger.heard(S, envelope, &mut report);
        }
        ledger.said(S, ("c".to_owned(), 2), &started);
        let shown = json!({"title": "Tidy up…"});
        ledger.judge(S, 3, (&shown, &chat), &mut report);
        let found: Vec<Promise> = report.violations.iter().map(|it| it.promise).collect();
        assert_eq!(found, broken);
    }
}
