//! What requests about files may reach, and what it takes to say so.

use std::sync::Arc;

use serde_json::json;

use crate::host::{Host, SESSION};

const OTHER: &str = "ahp-session:/2";

impl Host {
    /// The places that a request of client `a` may reach, in order.
    fn reach(&mut self) -> Vec<String> {
        let list = json!({"jsonrpc": "2.0", "id": 77, "method": "resourceList",
                          "params": {"uri": "file:///anywhere"}});
        self.say(1, &list.to_string());
        let scope = self.scopes.last().unwrap();
        let mut uris: Vec<String> = scope.roots().map(|root| root.uri.clone()).collect();
        uris.sort();
        uris
    }

    fn begin_in(&mut self, session: &str, directory: &str) {
        let params = json!({"channel": session, "workingDirectories": [directory]});
        self.ok(1, "createSession", params);
    }
}

#[test]
fn a_client_reaches_the_directories_of_the_sessions_that_there_are() {
    let mut host = Host::new();
    host.enter(1, "a", &[]);
    assert!(host.reach().is_empty());
    host.begin_in(SESSION, "file:///w");
    assert_eq!(host.reach(), ["file:///w"]);
    host.begin_in(OTHER, "file:///v");
    assert_eq!(host.reach(), ["file:///v", "file:///w"]);
    host.ok(1, "disposeSession", json!({"channel": SESSION}));
    assert_eq!(host.reach(), ["file:///v"]);
    let wanted = json!({"channel": "ahp-root://", "uri": "file:///g", "read": true});
    host.ok(1, "resourceRequest", wanted);
    assert_eq!(host.reach(), ["file:///g", "file:///v"]);
}

/// Requests come by the hundred, and sessions by the thousand.
#[test]
fn requests_share_what_they_may_reach_until_it_changes() {
    let mut host = Host::new();
    host.enter(1, "a", &[]);
    for number in 0..100 {
        host.begin_in(
            &format!("ahp-session:/{number}"),
            &format!("file:///{number}"),
        );
    }
    assert_eq!(host.reach().len(), 100);
    host.reach();
    let [.., before, after] = &host.scopes[..] else {
        panic!("two requests");
    };
    let lists = before.lists.iter().zip(&after.lists);
    assert!(
        lists
            .into_iter()
            .all(|(one, other)| Arc::ptr_eq(one, other))
    );
}
