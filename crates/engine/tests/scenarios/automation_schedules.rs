//! When automations run by their schedules, and when they stop. Time begins on
//! 1 January 1970 at midnight, a Thursday.

use std::time::Duration;

use innkeeper_engine::Limits;
use innkeeper_protocol::agent::TurnEvent;
use serde_json::{Value, json};

use crate::automation_runs::{latest, status, turn_ends};
use crate::automations::{create, definition, entry, host, scheduled, update};
use crate::host::Host;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn count(host: &mut Host) -> usize {
    entry(host)["runs"].as_array().unwrap().len()
}

/// The run under way is over.
fn complete(host: &mut Host) {
    host.opened();
    turn_ends(host, TurnEvent::Completed);
    assert_eq!(status(host), "completed");
}

#[test]
fn an_automation_runs_when_its_schedule_says_and_shows_when_that_is_next() {
    let mut host = host();
    create(&mut host, scheduled("30 * * * *"));
    assert_eq!(entry(&mut host)["nextRunAt"], "1970-01-01T00:30:00.000Z");
    host.wait(MINUTE * 29);
    assert_eq!(count(&mut host), 0);
    host.wait(MINUTE);
    assert_eq!(count(&mut host), 1);
    assert_eq!(
        latest(&mut host)["origin"],
        json!({
            "kind": "trigger", "triggerId": "s", "scheduledFor": "1970-01-01T00:30:00.000Z",
        })
    );
    assert_eq!(entry(&mut host)["nextRunAt"], "1970-01-01T01:30:00.000Z");
    host.wait(MINUTE);
    assert_eq!(count(&mut host), 1);
}

#[test]
fn a_schedule_is_followed_in_its_time_zone() {
    let mut host = host();
    let mut berlin = scheduled("0 9 * * *");
    berlin["triggers"][0]["schedule"]["timeZone"] = "Europe/Berlin".into();
    create(&mut host, berlin);
    assert_eq!(entry(&mut host)["nextRunAt"], "1970-01-01T08:00:00.000Z");
}

#[test]
fn a_schedule_that_never_occurs_is_accepted_and_never_runs() {
    let mut host = host();
    assert_eq!(create(&mut host, scheduled("0 0 31 2 *")), "");
    assert_eq!(entry(&mut host).get("nextRunAt"), None);
}

#[test]
fn a_host_that_was_off_follows_the_policy_for_what_it_missed() {
    let (at_one, at_two) = ("1970-01-01T01:00:00.000Z", "1970-01-01T02:00:00.000Z");
    // The policy, how long the host was off, and which run there is then.
    let cases = [
        (None, MINUTE * 150, Some((at_one, true))),
        (Some("runOnce"), MINUTE * 150, Some((at_one, true))),
        (Some("skip"), MINUTE * 150, None),
        // In time for the second hour: that is the one run there is.
        (Some("runOnce"), HOUR * 2, Some((at_two, false))),
        (Some("skip"), HOUR * 2 + MINUTE / 2, Some((at_two, false))),
        (Some("runOnce"), MINUTE * 30, None),
    ];
    for (policy, off, expected) in cases {
        let mut host = host();
        let mut hourly = scheduled("0 * * * *");
        if let Some(policy) = policy {
            hourly["triggers"][0]["misfirePolicy"] = policy.into();
        }
        create(&mut host, hourly);
        host.pass(off);
        host.restart(Limits::default());
        host.wait(Duration::ZERO);
        let case = format!("{policy:?} after {off:?}");
        assert_eq!(count(&mut host), usize::from(expected.is_some()), "{case}");
        if let Some((scheduled_for, catches_up)) = expected {
            let origin = latest(&mut host)["origin"].clone();
            assert_eq!(origin["scheduledFor"], scheduled_for, "{case}");
            assert_eq!(origin.get("catchUp").is_some(), catches_up, "{case}");
        }
        let next = entry(&mut host)["nextRunAt"].clone();
        let hour = off.as_secs() / 3_600 + 1;
        assert_eq!(next, format!("1970-01-01T0{hour}:00:00.000Z"), "{case}");
    }
}

#[test]
fn a_run_that_has_begun_does_not_begin_again_after_a_restart() {
    let mut host = host();
    create(&mut host, scheduled("0 * * * *"));
    host.wait(HOUR);
    complete(&mut host);
    host.restart(Limits::default());
    host.wait(Duration::ZERO);
    assert_eq!(count(&mut host), 1);
}

#[test]
fn a_disabled_automation_does_not_run_and_has_missed_nothing_when_it_is_enabled() {
    let mut host = host();
    create(&mut host, scheduled("0 * * * *"));
    update(&mut host, json!({"enabled": false}));
    assert_eq!(entry(&mut host).get("nextRunAt"), None);
    host.wait(HOUR * 3 + MINUTE * 5);
    update(&mut host, json!({"enabled": true}));
    host.wait(Duration::ZERO);
    assert_eq!(count(&mut host), 0);
    assert_eq!(entry(&mut host)["nextRunAt"], "1970-01-01T04:00:00.000Z");
}

#[test]
fn a_run_is_not_begun_while_another_one_waits() {
    let mut host = host();
    let mut other = scheduled("* * * * *");
    other["session"] = json!({"provider": "beta"});
    create(&mut host, other);
    for _ in 0..5 {
        host.wait(MINUTE);
    }
    assert_eq!(count(&mut host), 1);
    assert_eq!(status(&mut host), "pending");
}

#[test]
fn each_schedule_of_an_automation_begins_its_own_run() {
    let mut host = host();
    let schedule = |id: &str, expression: &str| {
        let schedule = json!({"expression": expression, "timeZone": "UTC"});
        json!({"kind": "schedule", "id": id, "schedule": schedule})
    };
    let mut both = definition();
    both["triggers"] = json!([schedule("a", "0 * * * *"), schedule("b", "0,30 * * * *")]);
    create(&mut host, both);
    host.wait(MINUTE * 30);
    assert_eq!(latest(&mut host)["origin"]["triggerId"], "b");
    host.wait(MINUTE * 30);
    assert_eq!(count(&mut host), 3);
}

fn limited(expression: &str, conditions: Value) -> Value {
    let mut definition = scheduled(expression);
    definition["disableConditions"] = conditions;
    definition
}

#[test]
fn an_automation_is_disabled_after_so_many_runs_by_itself() {
    let mut host = host();
    create(
        &mut host,
        limited("* * * * *", json!([{"kind": "afterRuns", "max": 2}])),
    );
    assert_eq!(entry(&mut host)["runCount"], 0);
    crate::automation_runs::run(&mut host, "by hand");
    complete(&mut host);
    assert_eq!(entry(&mut host)["runCount"], 0);
    for n in 1..=2 {
        host.wait(MINUTE);
        assert_eq!(entry(&mut host)["runCount"], n);
        complete(&mut host);
    }
    assert_eq!(entry(&mut host)["definition"]["enabled"], false);
    host.wait(MINUTE * 2);
    assert_eq!(count(&mut host), 3);
    // Whoever enables it again begins to count anew.
    update(&mut host, json!({"enabled": true}));
    assert_eq!(entry(&mut host)["runCount"], 0);
    assert_eq!(entry(&mut host)["definition"]["enabled"], true);
    update(&mut host, json!({"disableConditions": []}));
    assert_eq!(entry(&mut host).get("runCount"), None);
}

#[test]
fn an_automation_is_disabled_when_its_date_has_come() {
    let mut host = host();
    let date = json!([{"kind": "afterDate", "date": "1970-01-01T01:30:00Z"}]);
    create(&mut host, limited("0 * * * *", date));
    host.wait(HOUR);
    complete(&mut host);
    host.wait(MINUTE * 30);
    assert_eq!(entry(&mut host)["definition"]["enabled"], false);
    host.wait(HOUR);
    assert_eq!(count(&mut host), 1);
}

#[test]
fn what_was_missed_before_the_date_is_not_made_up_for_after_it() {
    let mut host = host();
    let date = json!([{"kind": "afterDate", "date": "1970-01-01T01:30:00Z"}]);
    create(&mut host, limited("0 * * * *", date));
    host.pass(HOUR * 2);
    host.restart(Limits::default());
    host.wait(Duration::ZERO);
    assert_eq!(count(&mut host), 0);
    assert_eq!(entry(&mut host)["definition"]["enabled"], false);
}

#[test]
fn nothing_is_begun_while_the_host_cannot_write_and_it_is_made_up_for() {
    use innkeeper_engine::Input;
    let mut host = host();
    create(&mut host, scheduled("0 * * * *"));
    let reason = "full".to_owned();
    host.feed(Input::StoreFailing { reason });
    host.wait(HOUR);
    host.wait(MINUTE * 5);
    host.feed(Input::StoreRecovered);
    assert_eq!(count(&mut host), 0);
    host.wait(MINUTE);
    assert_eq!(count(&mut host), 1);
    assert_eq!(latest(&mut host)["origin"]["catchUp"], true);
}

#[test]
fn a_clock_that_was_ahead_keeps_no_automation_from_its_work() {
    let mut host = host();
    create(&mut host, scheduled("0 * * * *"));
    host.wait(HOUR * 24 * 365);
    complete(&mut host);
    host.put_clock_back(HOUR * 24 * 365 - MINUTE * 30);
    host.restart(Limits::default());
    assert_eq!(entry(&mut host)["nextRunAt"], "1970-01-01T01:00:00.000Z");
    host.wait(MINUTE * 30);
    assert_eq!(count(&mut host), 2);
}
