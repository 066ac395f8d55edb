//! Automations and their runs.

use innkeeper_protocol::record::{AutomationRecord, AutomationRunRecord, StoreOp};
use serde_json::json;

use crate::records::{iso, of};
use crate::{Stage, Subject};

fn put(id: &str, title: &str) -> StoreOp {
    let message = json!({"text": "Go", "origin": {"kind": "automation"}});
    let entry = json!({
        "resource": format!("ahp-automation:/{id}"), "runs": [], "operations": ["run"],
        "createdAt": iso(1), "modifiedAt": iso(2),
        "definition": {
            "title": title, "message": message, "session": {}, "enabled": true, "triggers": [],
        },
    });
    StoreOp::PutAutomation(Box::new(AutomationRecord {
        entry: of(entry),
        notes: of(json!({"followed": 7, "shown": 20})),
    }))
}

fn put_run(id: &str, automation: &str, status: &str) -> StoreOp {
    let state = json!({
        "resource": format!("ahp-automation-run:/{id}"),
        "automation": format!("ahp-automation:/{automation}"),
        "origin": {"kind": "manual"}, "sessions": [],
        "lifecycle": {
            "status": status, "createdAt": iso(1), "startedAt": iso(2), "completedAt": iso(3),
        },
    });
    StoreOp::PutAutomationRun(Box::new(AutomationRunRecord {
        state: of(state),
        notes: of(json!({"request": "r"})),
    }))
}

fn remove(id: &str) -> StoreOp {
    StoreOp::RemoveAutomation {
        automation: format!("ahp-automation:/{id}").into(),
    }
}

fn remove_run(id: &str) -> StoreOp {
    StoreOp::RemoveAutomationRun {
        run: format!("ahp-automation-run:/{id}").into(),
    }
}

/// What the next life is told: titles, and runs with their status.
fn told<S: Subject>(stage: Stage<S>) -> (Stage<S>, Vec<String>, Vec<String>) {
    let stage = stage.restart();
    let automations = stage.boot.automations.iter();
    let titles = automations.map(|it| it.entry.definition.title.clone());
    let runs = stage.boot.automation_runs.iter().map(|run| {
        let state = serde_json::to_value(&run.state).unwrap();
        let uri = state["resource"].as_str().unwrap();
        let status = state["lifecycle"]["status"].as_str().unwrap();
        format!("{} {status}", uri.rsplit('/').next().unwrap())
    });
    let (titles, runs) = (titles.collect(), runs.collect());
    (stage, titles, runs)
}

pub fn automations_and_runs_come_back_in_the_order_in_which_they_were_created<S: Subject>(
    subject: impl Fn() -> S,
) {
    let mut stage = Stage::new(subject());
    stage.apply([put("b", "B"), put("a", "A"), put("c", "C")]);
    stage.apply([put_run("2", "b", "pending"), put_run("1", "b", "pending")]);
    stage.apply([put("b", "B again"), put_run("2", "b", "completed")]);
    stage.apply([remove("a"), put("a", "A anew"), remove("none")]);
    let (stage, titles, runs) = told(stage);
    assert_eq!(titles, ["B again", "C", "A anew"]);
    assert_eq!(runs, ["2 completed", "1 pending"]);
    let notes = &stage.boot.automations[0].notes;
    assert_eq!((notes.followed.as_millis(), notes.shown), (7, 20));
    let request = stage.boot.automation_runs[0].notes.request.as_deref();
    assert_eq!(request, Some("r"));
}

pub fn an_automation_takes_its_runs_along_when_it_goes<S: Subject>(subject: impl Fn() -> S) {
    let mut stage = Stage::new(subject());
    stage.apply([put("a", "A"), put("b", "B")]);
    stage.apply([
        put_run("1", "a", "completed"),
        put_run("2", "b", "completed"),
        put_run("3", "b", "completed"),
    ]);
    stage.apply([remove("a"), remove_run("3"), remove_run("none")]);
    let (_, titles, runs) = told(stage);
    assert_eq!(
        (titles, runs),
        (vec!["B".to_owned()], vec!["2 completed".to_owned()])
    );
}
