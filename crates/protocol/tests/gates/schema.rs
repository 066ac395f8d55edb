//! Everything that a client of 0.2.0 is sent fits the published JSON schemas,
//! where those are at hand.

use innkeeper_judges::Schemas;
use innkeeper_protocol::gates::down;
use innkeeper_protocol::version::Version;
use serde_json::{Value, json};

use crate::model_host::{CHANGESET, ModelHost, ROOT, SESSION, SIDE, TERMINAL};

const VERSION: Version = Version::V0_2;

#[test]
fn what_a_client_of_0_2_is_sent_fits_its_schemas() {
    let Some(schemas) = Schemas::at_hand() else {
        println!("skipped: there are no schemas of 0.2.0 in ../shared/spec/0.2.0");
        return;
    };
    for seed in 0..60 {
        let mut host = ModelHost::new(seed);
        for _ in 0..40 {
            host.step();
        }
        for event in &host.events {
            for mut act in down::action(VERSION, &event.channel, event.action.clone(), &event.facts)
            {
                // The schemas have lost that `null` unsets the active client.
                if act.action.get("activeClient") == Some(&Value::Null) {
                    act.action.remove("activeClient");
                }
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
            let state = down::snapshot(VERSION, host.snapshot(channel)).state;
            schemas.check_state(name, &state.into()).unwrap();
        }
        let summary = host.summary();
        let added = json!({"channel": ROOT, "summary": summary});
        let changed = json!({"channel": ROOT, "session": SESSION, "changes": summary});
        for (method, params) in [
            ("root/sessionAdded", added),
            ("root/sessionSummaryChanged", changed),
        ] {
            let (method, params) = down::notification(VERSION, method, params).unwrap();
            schemas.check_news(&method, &params.into()).unwrap();
        }
    }
}
