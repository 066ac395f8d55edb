//! What one client has, read and changed by another.

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ahp::ResourceRequestHandlers;
use innkeeper_engine::Limits;
use innkeeper_protocol::newest::commands::{
    ContentEncoding, DirectoryEntry, ResourceCopyParams, ResourceCopyResult, ResourceDeleteParams,
    ResourceDeleteResult, ResourceListParams, ResourceListResult, ResourceMkdirParams,
    ResourceMkdirResult, ResourceMoveParams, ResourceMoveResult, ResourceReadParams,
    ResourceReadResult, ResourceRequestParams, ResourceRequestResult, ResourceResolveParams,
    ResourceResolveResult, ResourceType, ResourceWriteParams, ResourceWriteResult,
};
use innkeeper_protocol::newest::messages::JsonRpcError;
use serde_json::{Value, json};

use crate::common::{Guest, Inn, InnOptions, ROOT, in_time};

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

/// What a client keeps: text by URI, and `None` for a directory.
type Drawer = Arc<Mutex<BTreeMap<String, Option<String>>>>;

/// The protocol's own client, with something to ask it for.
async fn owner_of(drawer: &Drawer, inn: &Inn, name: &str) -> Guest {
    /// An answer that looks into the drawer.
    fn from<P, R, F>(
        drawer: &Drawer,
        answer: F,
    ) -> impl Fn(P) -> Ready<Result<R, JsonRpcError>> + use<P, R, F>
    where
        F: Fn(&mut BTreeMap<String, Option<String>>, P) -> Result<R, JsonRpcError>,
    {
        let drawer = Arc::clone(drawer);
        move |params| ready(answer(&mut drawer.lock().unwrap(), params))
    }
    let handlers = ResourceRequestHandlers::new()
        .on_resource_read(from(drawer, |drawer, asked: ResourceReadParams| {
            let text = drawer.get(&asked.uri).cloned().flatten();
            Ok(ResourceReadResult {
                data: text.ok_or_else(|| error(-32008, "it is not there"))?,
                encoding: ContentEncoding::Utf8,
                content_type: None,
            })
        }))
        .on_resource_write(from(drawer, |drawer, asked: ResourceWriteParams| {
            if asked.if_match.is_some_and(|etag| etag != "current") {
                return Err(error(-32011, "it has changed"));
            }
            drawer.insert(asked.uri, Some(asked.data));
            Ok(ResourceWriteResult {})
        }))
        .on_resource_list(from(drawer, |drawer, asked: ResourceListParams| {
            let within = drawer.iter().filter_map(|(uri, text)| {
                let name = uri.strip_prefix(&asked.uri)?.strip_prefix('/')?;
                let r#type = if text.is_some() { "file" } else { "directory" };
                Some(DirectoryEntry {
                    name: name.to_owned(),
                    r#type: r#type.to_owned(),
                })
            });
            let entries = within.collect();
            Ok(ResourceListResult { entries })
        }))
        .on_resource_resolve(from(drawer, |drawer, asked: ResourceResolveParams| {
            let found = drawer.get(&asked.uri);
            let found = found.ok_or_else(|| error(-32008, "it is not there"))?;
            Ok(ResourceResolveResult {
                uri: asked.uri,
                r#type: match found {
                    Some(_) => ResourceType::File,
                    None => ResourceType::Directory,
                },
                size: None,
                mtime: None,
                ctime: None,
                content_type: None,
                etag: Some("current".to_owned()),
            })
        }))
        .on_resource_mkdir(from(drawer, |drawer, asked: ResourceMkdirParams| {
            drawer.insert(asked.uri, None);
            Ok(ResourceMkdirResult {})
        }))
        .on_resource_copy(from(drawer, |drawer, asked: ResourceCopyParams| {
            let text = drawer.get(&asked.source).cloned();
            let text = text.ok_or_else(|| error(-32008, "it is not there"))?;
            drawer.insert(asked.destination, text);
            Ok(ResourceCopyResult {})
        }))
        .on_resource_move(from(drawer, |drawer, asked: ResourceMoveParams| {
            let text = drawer.remove(&asked.source);
            let text = text.ok_or_else(|| error(-32008, "it is not there"))?;
            drawer.insert(asked.destination, text);
            Ok(ResourceMoveResult {})
        }))
        .on_resource_delete(from(drawer, |drawer, asked: ResourceDeleteParams| {
            drawer.remove(&asked.uri);
            Ok(ResourceDeleteResult {})
        }))
        .on_resource_request(from(
            drawer,
            |_, asked: ResourceRequestParams| match asked.write {
                Some(true) => Err(error(-32009, "this is not for you to change")),
                _ => Ok(ResourceRequestResult {}),
            },
        ));
    let guest = Guest::arrive(&inn.url, name).await;
    guest.client.set_resource_request_handlers(handlers);
    guest.initialize(&[]).await;
    guest
}

fn error(code: i32, message: &str) -> JsonRpcError {
    JsonRpcError {
        code,
        message: message.to_owned(),
        data: None,
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
    inn.close().await;
}

#[tokio::test]
async fn what_a_client_has_is_changed_by_it() {
    let inn = Inn::open().await;
    let drawer = Drawer::default();
    let _owner = owner_of(&drawer, &inn, "owner").await;
    let guest = inn.guest("a").await;
    let there = |name: &str| format!("virtual://owner/{name}");
    let ask = async |method: &str, params: Value| guest.request(method, params).await;
    let text = |name: &str, etag: Value| json!({"uri": there(name), "data": "new", "encoding": "utf-8", "ifMatch": etag});

    let directory = json!({"uri": there("d")});
    ask("resourceMkdir", directory.clone()).await.unwrap();
    ask("resourceWrite", text("d/a", Value::Null))
        .await
        .unwrap();
    let resolved = ask("resourceResolve", json!({"uri": there("d/a")})).await;
    let etag = resolved.unwrap()["etag"].clone();
    ask("resourceWrite", text("d/a", etag)).await.unwrap();
    let stale = ask("resourceWrite", text("d/a", json!("stale"))).await;
    assert_eq!(stale.unwrap_err().0, -32011);
    let copy = json!({"source": there("d/a"), "destination": there("d/b")});
    ask("resourceCopy", copy).await.unwrap();
    let rename = json!({"source": there("d/a"), "destination": there("d/c")});
    ask("resourceMove", rename.clone()).await.unwrap();
    assert_eq!(ask("resourceMove", rename).await.unwrap_err().0, -32008);
    let listed = ask("resourceList", directory).await.unwrap();
    let file = |name: &str| json!({"name": name, "type": "file"});
    assert_eq!(listed["entries"], json!([file("b"), file("c")]));
    ask("resourceDelete", json!({"uri": there("d/b")}))
        .await
        .unwrap();
    let left = [(there("d"), None), (there("d/c"), Some("new".to_owned()))];
    assert_eq!(*drawer.lock().unwrap(), BTreeMap::from(left));

    // Whether somebody may is for the client to say.
    let may = |write: bool| json!({"uri": there("d"), "read": true, "write": write});
    ask("resourceRequest", may(false)).await.unwrap();
    assert_eq!(
        ask("resourceRequest", may(true)).await.unwrap_err().0,
        -32009
    );
    inn.close().await;
}

#[tokio::test]
async fn nothing_is_carried_from_one_place_to_another() {
    let inn = Inn::open().await;
    let drawer = Drawer::default();
    let uri = "virtual://owner/a".to_owned();
    drawer.lock().unwrap().insert(uri, Some("mine".to_owned()));
    let _owner = owner_of(&drawer, &inn, "owner").await;
    let _other = owner_of(&drawer, &inn, "other").await;
    let guest = inn.guest("a").await;
    let ends = [
        ("virtual://owner/a", "virtual://other/a"),
        ("virtual://owner/a", "file:///tmp/a"),
        ("file:///tmp/a", "virtual://owner/a"),
    ];
    for (source, destination) in ends {
        for method in ["resourceCopy", "resourceMove"] {
            let params = json!({"source": source, "destination": destination});
            let (code, why) = guest.request(method, params).await.unwrap_err();
            assert_eq!(code, -32602, "{source} {destination}");
            assert!(why.contains("read the one and write the other"), "{why}");
        }
    }
    let params = json!({"uri": "virtual://owner/a"});
    let watched = guest.request("createResourceWatch", params).await;
    assert!(watched.unwrap_err().1.contains("not what clients have"));
    assert_eq!(drawer.lock().unwrap().len(), 1);
    inn.close().await;
}

/// What comes of a write to a client that hears of it and then does `then`.
async fn write_to(
    inn: &Inn,
    then: impl AsyncFnOnce(Owner) -> Option<Owner>,
) -> (Result<Value, (i32, String)>, Option<Owner>) {
    let owner = Owner::arrive(inn).await;
    let guest = inn.guest("a").await;
    let params = json!({"uri": "virtual://owner/a", "data": "new", "encoding": "utf-8"});
    let hears = async {
        assert_eq!(owner.hear().await["method"], "resourceWrite");
        then(owner).await
    };
    tokio::join!(guest.request("resourceWrite", params), hears)
}

#[tokio::test]
async fn a_client_that_leaves_is_answered_for() {
    let inn = Inn::open().await;
    let (outcome, _) = write_to(&inn, async |owner| {
        drop(owner);
        None
    })
    .await;
    assert!(outcome.unwrap_err().1.contains("does not answer"));
    inn.close().await;
}

#[tokio::test]
async fn a_client_that_says_nothing_is_answered_for() {
    let limits = Limits {
        client_answer: Duration::from_millis(1),
        ..Limits::default()
    };
    let inn = Inn::open_with(InnOptions {
        limits,
        ..InnOptions::default()
    })
    .await;
    let (outcome, owner) = write_to(&inn, async |owner| Some(owner)).await;
    let (code, why) = outcome.unwrap_err();
    assert_eq!(code, -32603);
    assert!(why.contains("does not answer"), "{why}");
    // It is still a client like any other.
    let owner = owner.unwrap();
    owner.say(json!({"id": 2, "method": "ping"})).await;
    assert_eq!(owner.hear().await["id"], 2);
    inn.close().await;
}
