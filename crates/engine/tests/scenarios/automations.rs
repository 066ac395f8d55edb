//! Automations: who may define what, who is told, what stays.

use innkeeper_engine::Limits;
use innkeeper_judges::{mirror, name_of};
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::host::{Host, ROOT};

pub(crate) const CATALOGUE: &str = "ahp-automations://";
pub(crate) const A: &str = "ahp-automation:/a";

/// Connection 1 follows all automations.
pub(crate) fn host() -> Host {
    with(Limits::default())
}

pub(crate) fn with(limits: Limits) -> Host {
    let mut host = Host::with(limits);
    host.enter(1, "a", &[ROOT, CATALOGUE]);
    host
}

pub(crate) fn definition() -> Value {
    json!({
        "title": "Tidy", "message": {"text": "Tidy up", "origin": {"kind": "automation"}},
        "session": {}, "enabled": true, "triggers": [],
    })
}

pub(crate) fn scheduled(expression: &str) -> Value {
    let schedule = json!({"expression": expression, "timeZone": "UTC"});
    let mut definition = definition();
    definition["triggers"] = json!([{"kind": "schedule", "id": "s", "schedule": schedule}]);
    definition
}

/// Returns the rejection, which is empty if it was accepted.
pub(crate) fn create(host: &mut Host, definition: Value) -> String {
    create_as(host, A, definition)
}

pub(crate) fn create_as(host: &mut Host, resource: &str, definition: Value) -> String {
    let action = json!({
        "type": "automation/createRequested", "resource": resource, "definition": definition,
    });
    host.dispatch(1, CATALOGUE, action);
    host.rejection(1)
}

pub(crate) fn update(host: &mut Host, changes: Value) -> String {
    let action = json!({
        "type": "automation/updateRequested", "resource": A, "changes": changes,
    });
    host.dispatch(1, CATALOGUE, action);
    host.rejection(1)
}

pub(crate) fn remove(host: &mut Host) -> String {
    host.dispatch(
        1,
        CATALOGUE,
        json!({"type": "automation/removed", "resource": A}),
    );
    host.rejection(1)
}

pub(crate) fn entries(host: &mut Host) -> Vec<Value> {
    let state = host.state(CATALOGUE);
    state["entries"].as_array().unwrap().clone()
}

/// The automation, of which there is one.
pub(crate) fn entry(host: &mut Host) -> Value {
    let mut entries = entries(host);
    assert_eq!(entries.len(), 1);
    entries.remove(0)
}

#[test]
fn a_host_says_what_it_can_do_about_automations() {
    let mut host = Host::new();
    let hello = host.enter(1, "a", &[]);
    let can = json!({
        "create": {}, "schedules": {}, "runCancellation": {}, "runHistoryLimit": 100,
    });
    assert_eq!(hello["automations"], can);
    assert_eq!(host.state(CATALOGUE), json!({"entries": []}));
}

#[test]
fn an_automation_is_created_updated_and_removed() {
    let mut host = host();
    host.news(1);
    assert_eq!(create(&mut host, definition()), "");
    let made = entry(&mut host);
    assert_eq!(made["definition"], definition());
    assert_eq!(made["operations"], json!(["update", "remove", "run"]));
    assert_eq!(
        update(&mut host, json!({"title": "Clean", "triggers": []})),
        ""
    );
    let mut changed = definition();
    changed["title"] = "Clean".into();
    assert_eq!(entry(&mut host)["definition"], changed);
    assert_eq!(remove(&mut host), "");
    assert_eq!(entries(&mut host), Vec::<Value>::new());
    let told = host.news(1);
    let told: Vec<&String> = told
        .iter()
        .filter(|it| it.starts_with("automation/"))
        .collect();
    assert_eq!(
        told,
        [
            "automation/createRequested",
            "automation/set",
            "automation/updateRequested",
            "automation/set",
            "automation/removed"
        ]
    );
}

#[test]
fn others_hear_of_an_automation_and_not_of_the_request() {
    let mut host = host();
    host.enter(2, "b", &[CATALOGUE]);
    create(&mut host, definition());
    assert_eq!(host.news(2), ["automation/set"]);
}

#[test]
fn a_definition_that_cannot_be_followed_is_refused_with_the_reason() {
    let trigger = |trigger: Value| json!({"triggers": [trigger]});
    let schedule = |expression: &str, zone: &str| {
        let schedule = json!({"expression": expression, "timeZone": zone});
        trigger(json!({"kind": "schedule", "id": "s", "schedule": schedule}))
    };
    let event = |kind: &str, event: &str| {
        let events = json!([{"id": event, "title": ""}]);
        trigger(json!({"kind": "event", "id": "e", "type": kind, "title": "", "events": events}))
    };
    let conditions = |conditions: Value| json!({"disableConditions": conditions});
    let text =
        |text: &str, kind: &str| json!({"message": {"text": text, "origin": {"kind": kind}}});
    let runs = json!({"kind": "afterRuns", "max": 1});
    let twice = json!([
        {"kind": "schedule", "id": "s", "schedule": {"expression": "* * * * *", "timeZone": "UTC"}},
        {"kind": "schedule", "id": "s", "schedule": {"expression": "* * * * *", "timeZone": "UTC"}},
    ]);
    let policy = trigger(json!({
        "kind": "schedule", "id": "s", "misfirePolicy": "twice",
        "schedule": {"expression": "* * * * *", "timeZone": "UTC"},
    }));
    let outside = json!({
        "session": {"workingDirectories": ["file:///a"]},
        "triggers": [{
            "kind": "event", "id": "e", "type": "files", "title": "",
            "events": [{"id": "updated", "title": ""}],
            "config": {"glob": "*", "directory": "file:///ab"},
        }],
    });
    let plugin = json!({"session": {"customizations": [
        {"type": "plugin", "id": "p", "uri": "x:p", "name": "P"},
    ]}});
    let many: Vec<Value> = (0..21)
        .map(|id| {
            let schedule = json!({"expression": "* * * * *", "timeZone": "UTC"});
            json!({"kind": "schedule", "id": id.to_string(), "schedule": schedule})
        })
        .collect();
    let cases = [
        (json!({"title": " "}), "needs a title"),
        (json!({"title": "x".repeat(1025)}), "title has at most 1024"),
        (text("", "automation"), "needs a message"),
        (text("Do it", "user"), "must be `automation`"),
        (
            text(&"x".repeat(64 * 1024), "automation"),
            "one has at most 65536",
        ),
        (schedule("@daily", "UTC"), "five fields"),
        (schedule("61 * * * *", "UTC"), "`61` is not a minute"),
        (
            schedule("* * * * *", "Mars/Base"),
            "`Mars/Base` is not a time zone",
        ),
        (policy, "`twice` is not a policy"),
        (json!({"triggers": twice}), "two triggers have the id `s`"),
        (json!({ "triggers": many }), "at most 20"),
        (event("mail", "came"), "no events of the type `mail`"),
        (event("session", "began"), "no event `began`"),
        (event("files", "updated"), "needs a `glob`"),
        (outside, "not within a working directory"),
        (conditions(json!([runs, runs])), "only once"),
        (
            conditions(json!([{"kind": "afterRuns", "max": 0}])),
            "positive",
        ),
        (
            conditions(json!([{"kind": "afterDate", "date": "soon"}])),
            "not a date",
        ),
        (
            json!({"_meta": {"innkeeper": {"patienceSeconds": 0}}}),
            "patienceSeconds",
        ),
        (plugin, "plugins"),
    ];
    let mut host = host();
    create_as(&mut host, "ahp-automation:/b", definition());
    for (changes, why) in cases {
        let mut wrong = definition();
        for (key, value) in changes.as_object().unwrap() {
            wrong[key] = value.clone();
        }
        let refused = create(&mut host, wrong.clone());
        assert!(refused.contains(why), "{wrong}: {refused}");
        assert_eq!(entries(&mut host).len(), 1, "{wrong}");
    }
    for name in ["ahp-automation:", "ahp-automation:/", "ahp-session:/a", "a"] {
        assert!(
            create_as(&mut host, name, definition()).contains("cannot name"),
            "{name}"
        );
    }
}

#[test]
fn an_update_is_checked_like_a_new_automation() {
    let mut host = host();
    create(&mut host, definition());
    assert!(update(&mut host, json!({"title": ""})).contains("needs a title"));
    assert_eq!(entry(&mut host)["definition"], definition());
    remove(&mut host);
    assert!(update(&mut host, json!({"title": "x"})).contains("no longer exists"));
}

#[test]
fn what_was_asked_before_is_confirmed_and_another_automation_of_that_name_refused() {
    let mut host = host();
    create(&mut host, definition());
    let before = entry(&mut host);
    assert_eq!(create(&mut host, definition()), "");
    assert_eq!(entry(&mut host), before);
    let mut other = definition();
    other["title"] = "Other".into();
    assert!(create(&mut host, other).contains("already"));
    assert_eq!(entry(&mut host), before);
}

#[test]
fn a_host_keeps_only_so_many_automations() {
    let limits = Limits {
        automations: 1,
        ..Limits::default()
    };
    let mut host = with(limits);
    assert_eq!(create(&mut host, definition()), "");
    let refused = create_as(&mut host, "ahp-automation:/b", definition());
    assert!(refused.contains("limits.automations"), "{refused}");
}

#[test]
fn removing_what_is_not_there_changes_nothing_and_is_answered() {
    let mut host = host();
    host.enter(2, "b", &[CATALOGUE]);
    host.news(1);
    assert_eq!(remove(&mut host), "");
    assert_eq!(host.news(1), ["automation/removed"]);
    assert_eq!(host.news(2), [""; 0]);
}

#[test]
fn what_only_the_host_says_is_not_accepted() {
    let mut host = host();
    create(&mut host, definition());
    let mut automation = entry(&mut host);
    automation["runCount"] = 7.into();
    host.dispatch(
        1,
        CATALOGUE,
        json!({"type": "automation/set", "automation": automation}),
    );
    assert!(host.rejection(1).contains("not accepted"));
}

#[test]
fn automations_are_there_after_a_restart_in_their_order() {
    let mut host = host();
    for name in ["c", "a", "b"] {
        let resource = format!("ahp-automation:/{name}");
        create_as(&mut host, &resource, scheduled("0 9 * * *"));
    }
    update(&mut host, json!({"title": "Other"}));
    let before = entries(&mut host);
    host.restart(Limits::default());
    assert_eq!(entries(&mut host), before);
}

#[test]
fn a_client_that_was_away_over_a_restart_is_given_what_it_missed() {
    let mut host = host();
    create(&mut host, definition());
    host.leave(1);
    host.enter(2, "b", &[]);
    let action = json!({"type": "automation/removed", "resource": A});
    host.dispatch(2, CATALOGUE, action);
    host.restart(Limits::default());
    host.connect(1);
    let back = json!({
        "clientId": "a", "lastSeenServerSeq": 0, "subscriptions": [CATALOGUE],
        "channel": ROOT,
    });
    let answer = host.ok(1, "reconnect", back);
    let told = answer.to_string();
    assert!(
        told.contains("automation/removed") || told.contains("\"entries\":[]"),
        "{told}"
    );
}

#[test]
fn no_session_can_have_the_name_of_an_automation() {
    let mut host = host();
    for name in [CATALOGUE, "ahp-automation:/x", "ahp-automation-run:/x"] {
        host.refused(1, "createSession", json!({"channel": name}));
    }
}

#[test]
fn clients_of_every_version_with_automations_hold_what_the_host_holds() {
    for version in Version::ALL {
        let mut host = host();
        let mut first = scheduled("* * * * *");
        first["disableConditions"] = json!([{"kind": "afterRuns", "max": 3}]);
        create(&mut host, first);
        let hello = host.enter_as(version, 2, "older", &[CATALOGUE]);
        assert_eq!(
            hello.get("automations").is_some(),
            version.has_automations(),
            "{version}"
        );
        let subscribe = json!({"channel": CATALOGUE, "resource": CATALOGUE});
        if !version.has_automations() {
            host.refused(2, "subscribe", subscribe);
            continue;
        }
        let snapshot = host.ok(2, "subscribe", subscribe.clone())["snapshot"].clone();
        let mut mirror = mirror(&name_of(version)).unwrap();
        mirror.load(CATALOGUE, snapshot["state"].clone()).unwrap();
        host.wait(std::time::Duration::from_secs(60));
        update(&mut host, json!({"title": "Other"}));
        for (channel, action) in host.actions(2) {
            if channel == CATALOGUE {
                mirror.apply(CATALOGUE, action).unwrap();
            }
        }
        host.enter_as(version, 3, "new", &[]);
        let fresh = host.ok(3, "subscribe", subscribe)["snapshot"].clone();
        let fresh = mirror.read(fresh["state"].clone()).unwrap();
        assert_eq!(mirror.state(CATALOGUE).unwrap(), fresh, "{version}");
        assert_eq!(
            fresh["entries"][0]["runs"].as_array().unwrap().len(),
            1,
            "{version}"
        );
    }
}
