//! What the host writes itself is in the language of whoever reads it.

use serde_json::json;

use crate::common::{Guest, default_chat, script};
use crate::stage::{Stage, last_call, until};

async fn title_in(stage: &Stage, locale: &str) -> (String, String) {
    let guest = Guest::arrive(&stage.inn.url, &format!("guest-{locale}")).await;
    let params = json!({
        "channel": "ahp-root://", "clientId": format!("guest-{locale}"),
        "protocolVersions": ["1.0.0"], "locale": locale,
    });
    guest.request("initialize", params).await.unwrap();
    let session = format!("ahp-session:/{locale}");
    let params = json!({"channel": session, "provider": "script"});
    guest.request("createSession", params).await.unwrap();
    let mut watch = guest.watch_session(&session).await;
    let state = until(&mut watch, "ready", |s| s["lifecycle"] == "ready").await;
    let chat = default_chat(&session);
    let tool = json!({"name": "run", "title": "X", "input": "ls", "confirm": "ask"});
    let mut chat_watch = guest.watch_chat(&chat).await;
    guest
        .say(&chat, "t", &script(json!([{"tool": tool}])))
        .await;
    let asks =
        |chat: &serde_json::Value| last_call(&chat["activeTurn"])["confirmationTitle"].is_string();
    let chat = until(&mut chat_watch, "a confirmation", asks).await;
    let asked = last_call(&chat["activeTurn"])["confirmationTitle"]
        .as_str()
        .unwrap()
        .to_owned();
    (state["title"].as_str().unwrap().to_owned(), asked)
}

#[tokio::test]
async fn labels_follow_the_locale_of_the_client() {
    let stage = Stage::open().await;
    let cases = [
        ("en-GB", ("New session", "Run X?")),
        ("de", ("Neue Sitzung", "X ausführen?")),
        ("fr-CA", ("Nouvelle session", "Exécuter X ?")),
        ("es", ("Nueva sesión", "¿Ejecutar X?")),
        ("xx", ("New session", "Run X?")),
    ];
    for (locale, (session, tool)) in cases {
        let written = title_in(&stage, locale).await;
        assert_eq!(written, (session.to_owned(), tool.to_owned()), "{locale}");
    }
    stage.close().await;
}
