//! Files over the wire: what is open, what is granted, and the errors.

use std::fs;

use serde_json::{Value, json};

use super::{stage, uri};
use crate::common::{Guest, Inn, InnOptions};

async fn ask(guest: &Guest, method: &str, params: Value) -> Result<Value, i32> {
    let answer = guest.request(method, params).await;
    answer.map_err(|(code, _)| code)
}

#[tokio::test]
async fn a_session_opens_its_directory_and_nothing_beside_it() {
    let (stage, directory) = stage().await;
    let guest = &stage.guest;
    let file = |name: &str| format!("{}/{name}", uri(directory.path()));
    let write = json!({"uri": file("a/b.txt"), "data": "grün", "encoding": "utf-8"});
    assert_eq!(
        ask(guest, "resourceWrite", write.clone()).await,
        Ok(json!({}))
    );
    let read = ask(guest, "resourceRead", json!({"uri": file("a/b.txt")})).await;
    let expected = json!({"data": "grün", "encoding": "utf-8", "contentType": "text/plain"});
    assert_eq!(read, Ok(expected));
    let base64 = json!({"uri": file("a/b.txt"), "encoding": "base64"});
    let read = ask(guest, "resourceRead", base64).await.unwrap();
    assert_eq!(read["data"], "Z3LDvG4=");

    let listed = ask(guest, "resourceList", json!({"uri": file("a")}))
        .await
        .unwrap();
    assert_eq!(
        listed["entries"],
        json!([{"name": "b.txt", "type": "file"}])
    );
    let resolve = json!({"uri": file("a/b.txt")});
    let resolved = ask(guest, "resourceResolve", resolve).await.unwrap();
    assert_eq!(
        (&resolved["type"], &resolved["size"]),
        (&json!("file"), &json!(5))
    );

    let mut late = write.clone();
    late["ifMatch"] = json!("another");
    assert_eq!(ask(guest, "resourceWrite", late).await, Err(-32011));
    let mut only_new = write;
    only_new["createOnly"] = json!(true);
    assert_eq!(ask(guest, "resourceWrite", only_new).await, Err(-32010));
    let missing = json!({"uri": file("missing")});
    assert_eq!(
        ask(guest, "resourceRead", missing.clone()).await,
        Err(-32008)
    );
    assert_eq!(ask(guest, "resourceResolve", missing).await, Err(-32008));

    let beside = tempfile::tempdir().unwrap();
    fs::write(beside.path().join("secret"), "s").unwrap();
    let secret = format!("{}/secret", uri(beside.path()));
    std::os::unix::fs::symlink(beside.path(), directory.path().join("link")).unwrap();
    for sneaky in [
        secret,
        file("link/secret"),
        file("..%2F..%2F..%2Fetc%2Fpasswd"),
    ] {
        let refused = ask(guest, "resourceRead", json!({ "uri": sneaky })).await;
        assert!(matches!(refused, Err(-32009 | -32602)), "{refused:?}");
    }
    stage.close().await;
}

#[tokio::test]
async fn what_is_refused_says_what_to_ask_for_and_a_grant_helps() {
    let inn = Inn::open().await;
    let guest = inn.guest("a").await;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("f"), "x").unwrap();
    let file = format!("{}/f", uri(directory.path()));
    let read = json!({"channel": "ahp-root://", "uri": file});
    let request = guest
        .client
        .request::<_, Value>("resourceRead", read.clone());
    let Err(ahp::ClientError::Rpc(error)) = request.await else {
        panic!("refused");
    };
    assert_eq!(error.code, -32009);
    let wanted = error.data.unwrap()["request"].clone();
    assert_eq!(wanted["uri"], json!(file));
    assert_eq!(ask(&guest, "resourceRequest", wanted).await, Ok(json!({})));
    assert_eq!(
        ask(&guest, "resourceRead", read).await.unwrap()["data"],
        "x"
    );

    // Reading is granted, writing is not, and another client has to ask too.
    let write = json!({"uri": file, "data": "y", "encoding": "utf-8"});
    assert_eq!(ask(&guest, "resourceWrite", write).await, Err(-32009));
    let more = json!({"uri": file, "write": true});
    assert_eq!(ask(&guest, "resourceRequest", more).await, Err(-32009));
    let other = inn.guest("b").await;
    assert_eq!(
        ask(&other, "resourceRead", json!({"uri": file})).await,
        Err(-32009)
    );
    inn.close().await;
}

#[tokio::test]
async fn roots_of_the_configuration_are_open_to_everybody() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = InnOptions::default();
    options.workspace.roots = vec![directory.path().to_owned()];
    let inn = Inn::open_with(options).await;
    let guest = inn.guest("a").await;
    let at = |name: &str| format!("{}/{name}", uri(directory.path()));
    assert_eq!(
        ask(&guest, "resourceMkdir", json!({"uri": at("d/e")})).await,
        Ok(json!({}))
    );
    let write = json!({"uri": at("d/f"), "data": "1", "encoding": "utf-8"});
    ask(&guest, "resourceWrite", write).await.unwrap();
    let copy = json!({"source": at("d"), "destination": at("copy")});
    assert_eq!(ask(&guest, "resourceCopy", copy).await, Ok(json!({})));
    let rename = json!({"source": at("copy/f"), "destination": at("g"), "failIfExists": true});
    assert_eq!(ask(&guest, "resourceMove", rename).await, Ok(json!({})));
    assert_eq!(fs::read_to_string(directory.path().join("g")).unwrap(), "1");
    let delete = |recursive| json!({"uri": at("d"), "recursive": recursive});
    assert_eq!(
        ask(&guest, "resourceDelete", delete(false)).await,
        Err(-32602)
    );
    assert_eq!(
        ask(&guest, "resourceDelete", delete(true)).await,
        Ok(json!({}))
    );
    inn.close().await;
}
