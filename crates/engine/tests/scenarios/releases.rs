//! Clients that have stayed at a release of their version.

use innkeeper_engine::Limits;
use innkeeper_protocol::version::Version;
use serde_json::json;

use crate::host::{Host, ROOT, SESSION, chat};

#[test]
fn a_client_is_served_in_the_release_that_it_offers() {
    for (release, version) in [
        ("0.5.0", Version::V0_5_0),
        ("0.5.1", Version::V0_5_1),
        ("0.5.2", Version::V0_5),
    ] {
        let mut host = Host::new();
        host.connect(1);
        let offer = json!({
            "clientId": "a", "protocolVersions": [release, "0.4.0"],
            "initialSubscriptions": [ROOT],
        });
        let welcome = host.ok(1, "initialize", offer);
        assert_eq!(welcome["protocolVersion"], release);
        // Hosts say who they are from 0.5.2 on.
        let says_who = welcome.get("serverInfo").is_some();
        assert_eq!(says_who, version == Version::V0_5, "{release}");
        host.restart(Limits::default());
        assert_eq!(host.client_versions["a"], version, "after a restart");
    }
}

#[test]
fn history_comes_as_the_release_knows_it() {
    for version in [Version::V0_5_0, Version::V0_5_1, Version::V0_5] {
        let mut host = Host::with_session(Limits::default());
        host.whole_turns(2);
        host.enter_as(version, 2, "old", &[SESSION, &chat()]);
        let page = host.ok(2, "fetchTurns", json!({"channel": chat()}));
        let turns = page["turns"].as_array().map(Vec::len);
        let expected = (version == Version::V0_5_0).then_some(2);
        assert_eq!(turns, expected, "{version}");
    }
}
