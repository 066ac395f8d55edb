//! What is written about files, over a real socket, with real files.

use innkeeper_protocol::newest::state::AnnotationsState;
use serde_json::{Value, json};

use super::{session_in, uri};
use crate::common::{Inn, InnOptions, Watch};
use crate::stage::{Stage, act, until};

const SESSION: &str = "ahp-session:/a";
const CHANNEL: &str = "ahp-session:/a/annotations";

fn lines(first: i64, last: i64) -> Value {
    json!({"start": {"line": first, "character": 0}, "end": {"line": last, "character": 1}})
}

#[tokio::test]
async fn a_comment_follows_its_line_and_survives_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("menu.txt");
    std::fs::write(&file, "soup\nbread\n").unwrap();
    let inn = Inn::open_with(InnOptions::default()).await;
    let guest = inn.guest("a").await;
    session_in(&guest, directory.path(), SESSION).await;
    let mut stage = Stage::on(inn, guest, SESSION.to_owned()).await;
    let mut watch: Watch<AnnotationsState> = stage.guest.watch(CHANNEL, None).await;
    let annotation = json!({
        "id": "a", "origin": {"session": SESSION}, "resource": uri(&file), "range": lines(1, 1),
        "resolved": false, "entries": [{"id": "e", "text": "Which?"}],
    });
    let set = json!({"type": "annotations/set", "annotation": annotation});
    act(&stage.guest, CHANNEL, set).await;
    let quoted =
        |state: &Value| state["annotations"][0]["_meta"]["innkeeper"]["lines"] == json!(["bread"]);
    until(&mut watch, "the quoted line", quoted).await;

    let content = "water\nsoup\nbread\n";
    let edit = json!({"edit": {"path": "menu.txt", "content": content, "confirm": "none"}});
    stage.play("t", json!([edit])).await;
    stage.end("t").await;
    let moved = |state: &Value| state["annotations"][0]["range"] == lines(2, 2);
    until(&mut watch, "the line where it is now", moved).await;

    let stage = stage.reopen().await;
    let after: AnnotationsState = stage.guest.snapshot(CHANNEL).await;
    assert_eq!(after, watch.state);
    stage.close().await;
}
