//! Tokens for what agents need.

use ahp::ClientError;
use serde_json::{Value, json};

use crate::common::{Inn, InnOptions, ROOT, in_time};

const RESOURCE: &str = "https://models.example/api";

async fn inn() -> Inn {
    Inn::open_with(InnOptions {
        protected: Some(RESOURCE.to_owned()),
        ..InnOptions::default()
    })
    .await
}

fn token(token: &str) -> Value {
    json!({"channel": ROOT, "resource": RESOURCE, "token": token})
}

fn session(name: &str) -> Value {
    json!({"channel": format!("ahp-session:/{name}"), "provider": "script"})
}

#[tokio::test]
async fn a_session_needs_the_tokens_that_its_agent_needs() {
    let inn = inn().await;
    let guest = inn.guest("a").await;
    let refused = guest
        .client
        .request::<_, Value>("createSession", session("1"))
        .await;
    let Err(ClientError::Rpc(error)) = refused else {
        panic!("refused: {refused:?}");
    };
    assert_eq!(error.code, -32007);
    assert_eq!(error.data.unwrap()["resources"][0]["resource"], RESOURCE);
    guest
        .request("authenticate", token("secret"))
        .await
        .unwrap();
    guest.request("createSession", session("1")).await.unwrap();
    inn.close().await;
}

#[tokio::test]
async fn a_token_for_something_that_nobody_needs_is_refused() {
    let inn = inn().await;
    let guest = inn.guest("a").await;
    let params = json!({"channel": ROOT, "resource": "https://other.example", "token": "t"});
    assert_eq!(
        guest.request("authenticate", params).await.unwrap_err().0,
        -32602
    );
    inn.close().await;
}

#[tokio::test]
async fn an_empty_token_revokes() {
    let inn = inn().await;
    let guest = inn.guest("a").await;
    guest
        .request("authenticate", token("secret"))
        .await
        .unwrap();
    guest.request("authenticate", token("")).await.unwrap();
    let refused = guest.request("createSession", session("1")).await;
    assert_eq!(refused.unwrap_err().0, -32007);
    inn.close().await;
}

#[tokio::test]
async fn clients_are_told_when_a_token_expires() {
    let inn = inn().await;
    let guest = inn.guest("a").await;
    let (_, mut root) = guest.client.subscribe(ROOT.to_owned()).await.unwrap();
    let mut expiring = token("secret");
    expiring["expiresIn"] = json!(1);
    guest.request("authenticate", expiring).await.unwrap();
    let told = async {
        loop {
            let event = root.recv().await.expect("the connection is alive");
            let event = format!("{event:?}");
            if event.contains("AuthRequired") {
                return event;
            }
        }
    };
    let event = in_time("the notification", told).await;
    assert!(
        event.contains(RESOURCE) && event.contains("Expired"),
        "{event}"
    );
    let refused = guest.request("createSession", session("1")).await;
    assert_eq!(refused.unwrap_err().0, -32007);
    inn.close().await;
}
