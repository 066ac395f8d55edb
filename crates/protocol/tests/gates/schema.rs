//! Everything that a client of 0.1.0 or 0.2.0 is sent fits the JSON schemas of
//! that version, where those are at hand.

use innkeeper_judges::{Schemas, name_of};
use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::json;

use crate::model_host::{CHANGESET, ModelHost, ROOT, SESSION, SIDE, TERMINAL};
use crate::square::channels;

#[test]
fn what_a_client_of_0_1_is_sent_fits_its_schemas() {
    check(Version::V0_1);
}

#[test]
fn what_a_client_of_0_2_is_sent_fits_its_schemas() {
    check(Version::V0_2);
}

fn check(version: Version) {
    let Some(schemas) = Schemas::of(&name_of(version)) else {
        println!("skipped: there are no schemas in ../shared/spec/{version}");
        return;
    };
    for seed in 0..60 {
        let mut host = ModelHost::new(seed);
        for _ in 0..40 {
            host.step();
        }
        for event in &host.events {
            for act in down::action(version, &event.channel, event.action.clone(), &event.facts) {
                schemas.check_action(&act.action.into()).unwrap();
            }
        }
        for (channel, name) in [
            (ROOT, "RootState"),
            (SESSION, "SessionState"),
            (SIDE, "SessionState"),
            (TERMINAL, "TerminalState"),
            (CHANGESET, "ChangesetState"),
        ] {
            if !channels(version).iter().any(|it| it == channel) {
                continue;
            }
            let state = down::snapshot(version, host.snapshot(channel)).state;
            schemas.check_state(name, &state.into()).unwrap();
        }
        let summary = host.summary();
        let added = json!({"channel": ROOT, "summary": summary});
        let changed = json!({"channel": ROOT, "session": SESSION, "changes": summary});
        for (method, params) in [
            ("root/sessionAdded", added),
            ("root/sessionSummaryChanged", changed),
        ] {
            let (method, params) = down::notification(version, method, params).unwrap();
            schemas.check_news(&method, &params.into()).unwrap();
        }
    }
}
