//! Where a session can be created, on a real machine.

use serde_json::json;

use crate::common::{Inn, ROOT};

#[tokio::test]
async fn a_session_needs_a_working_directory_that_is_one() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("file"), "text").unwrap();
    let uri = |name: &str| format!("file://{}", place.path().join(name).display());
    for (name, why) in [
        ("nowhere", "does not exist"),
        ("file", "is not a directory"),
    ] {
        let params = json!({
            "channel": "ahp-session:/s", "provider": "script", "workingDirectories": [uri(name)],
        });
        let refused = guest.request("createSession", params).await;
        let reason = format!("{:?}", refused.unwrap_err());
        assert!(reason.contains(why), "{name}: {reason}");
        assert!(reason.contains(&uri(name)), "{name}: {reason}");
        let listed = guest
            .request("listSessions", json!({"channel": ROOT}))
            .await;
        assert_eq!(listed.unwrap()["items"], json!([]), "{name}");
    }
    let params = json!({
        "channel": "ahp-session:/s", "provider": "script", "workingDirectories": [uri("")],
    });
    guest.request("createSession", params).await.unwrap();
    inn.close().await;
}
