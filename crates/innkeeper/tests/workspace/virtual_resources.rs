//! What one client has, read by another.

use serde_json::{Value, json};

use crate::common::{Inn, ROOT, in_time};

/// A client that answers for itself, message by message.
struct Owner(innkeeper::HostConnection);

impl Owner {
    async fn arrive(inn: &Inn) -> Self {
        let owner = Self(inn.host.connect());
        owner
            .say(json!({"id": 1, "method": "initialize", "params": {
                "channel": ROOT, "clientId": "owner", "protocolVersions": ["1.0.0"],
            }}))
            .await;
        owner.hear().await;
        owner
    }

    async fn say(&self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.0.receive(&message.to_string()).await;
    }

    async fn hear(&self) -> Value {
        let texts = in_time("a message", self.0.next()).await.unwrap();
        serde_json::from_str(&texts[0]).unwrap()
    }
}

#[tokio::test]
async fn what_a_client_has_is_asked_of_it() {
    let inn = Inn::open().await;
    let owner = Owner::arrive(&inn).await;
    let guest = inn.guest("a").await;
    let read = |name: &str| {
        let params = json!({"uri": format!("virtual://owner/{name}")});
        guest.request("resourceRead", params)
    };
    let answers = async {
        for round in 0..3 {
            let question = owner.hear().await;
            assert_eq!(question["method"], "resourceRead");
            let uri = question["params"]["uri"].as_str().unwrap();
            assert!(uri.starts_with("virtual://owner/"));
            let id = &question["id"];
            // Somebody who was not asked cannot answer.
            let answer = match round {
                0 => json!({"id": id, "result": {"data": "mine", "encoding": "utf-8"}}),
                1 => json!({"id": id, "error": {"code": -32008, "message": "no such thing"}}),
                _ => json!({"id": id, "result": {"nonsense": true}}),
            };
            owner.say(answer).await;
        }
    };
    let reads = async {
        assert_eq!(read("file").await.unwrap()["data"], "mine");
        assert_eq!(read("missing").await.unwrap_err().0, -32008);
        assert_eq!(read("odd").await.unwrap_err().0, -32603);
    };
    tokio::join!(answers, reads);
    let nobody = json!({"uri": "virtual://nobody/x"});
    assert_eq!(
        guest.request("resourceRead", nobody).await.unwrap_err().0,
        -32008
    );

    // It leaves without an answer.
    let leaves = async {
        owner.hear().await;
        drop(owner);
    };
    let (left, ()) = tokio::join!(read("file"), leaves);
    assert!(left.unwrap_err().1.contains("does not answer"));
    inn.close().await;
}
