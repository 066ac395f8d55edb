//! What is answered to what, in every revision.

use innkeeper_protocol::agent::ToolOwner;

use super::*;

const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";

fn fresh() -> Peer {
    Peer::new(SERVER_NAME.into())
}

fn tool(client: &str, name: &str) -> ClientTool {
    let definition = json!({"name": name, "description": format!("of {client}")});
    ClientTool {
        owner: ToolOwner::Client(client.into()),
        definition: serde_json::from_value(definition).unwrap(),
    }
}

fn hear(peer: &mut Peer, message: &Value) -> Heard {
    peer.hear(&message.to_string(), &[tool("a", "look"), tool("b", "go")])
}

fn say(peer: &mut Peer, message: Value) -> Value {
    match hear(peer, &message) {
        Heard::Say(said) => said,
        other => panic!("{message} led to {other:?}"),
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// `params` of a request that says for itself what it speaks.
fn stateless(mut params: Value) -> Value {
    params["_meta"] = json!({PROTOCOL_VERSION: STATELESS, CLIENT_CAPABILITIES: {}});
    params
}

fn initialized(version: &str) -> Peer {
    let mut peer = fresh();
    let hello = json!({"protocolVersion": version, "capabilities": {},
                       "clientInfo": {"name": "agent", "version": "1"}});
    let answer = say(&mut peer, request("initialize", hello));
    let agreed = match HANDSHAKES.contains(&version) {
        true => version,
        false => "2025-11-25",
    };
    let expected = json!({
        "protocolVersion": agreed,
        "capabilities": {"tools": {"listChanged": true}},
        "serverInfo": {"name": "innkeeper", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    });
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": 7, "result": expected})
    );
    let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    assert!(matches!(hear(&mut peer, &done), Heard::Nothing));
    peer
}

fn check_error(peer: &mut Peer, message: Value, code: i32) {
    let said = say(peer, message.clone());
    assert_eq!(said["error"]["code"], code, "{message} led to {said}");
    assert_eq!(said["id"], 7, "{message}");
    assert_eq!(said["jsonrpc"], "2.0");
}

#[test]
fn every_revision_with_a_handshake_is_spoken() {
    for version in HANDSHAKES {
        let mut peer = initialized(version);
        assert_eq!(
            say(&mut peer, request("ping", json!({})))["result"],
            json!({})
        );
        let listed = say(&mut peer, request("tools/list", json!({})));
        let schema = json!({"type": "object"});
        assert_eq!(
            listed["result"],
            json!({"tools": [
                {"name": "look", "description": "of a", "inputSchema": schema},
                {"name": "go", "description": "of b", "inputSchema": schema},
            ]}),
            "nothing more than this revision knows"
        );
        let news = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        assert_eq!(peer.news(), [news]);
        for of_the_other_era in ["server/discover", "subscriptions/listen"] {
            check_error(&mut peer, request(of_the_other_era, json!({})), -32601);
        }
    }
}

#[test]
fn who_wants_another_revision_is_offered_the_newest_with_a_handshake() {
    for version in [STATELESS, "2024-10-07", "2099-01-01", "", "DRAFT"] {
        initialized(version);
    }
    for hello in [json!({}), json!({"protocolVersion": 3})] {
        check_error(&mut fresh(), request("initialize", hello), -32602);
    }
}

#[test]
fn the_newest_revision_needs_no_handshake() {
    let mut peer = fresh();
    let server = json!({SERVER_INFO: server_info(SERVER_NAME)});
    let found = say(&mut peer, request("server/discover", stateless(json!({}))));
    assert_eq!(
        found["result"],
        json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
            "capabilities": {"tools": {"listChanged": true}},
            "instructions": INSTRUCTIONS,
            "ttlMs": 0,
            "cacheScope": "private",
            "_meta": server,
        })
    );
    let listed = say(&mut peer, request("tools/list", stateless(json!({}))));
    let listed = &listed["result"];
    assert_eq!(listed["tools"][1]["name"], "go");
    let said = |key: &str| listed[key].clone();
    assert_eq!(
        [
            said("resultType"),
            said("ttlMs"),
            said("cacheScope"),
            said("_meta")
        ],
        [json!("complete"), json!(0), json!("private"), server]
    );
    check_error(&mut peer, request("ping", stateless(json!({}))), -32601);
    assert!(peer.news().is_empty(), "nobody listens");
}

#[test]
fn both_eras_may_share_a_connection() {
    let mut peer = initialized("2025-06-18");
    let modern = say(&mut peer, request("tools/list", stateless(json!({}))));
    assert_eq!(modern["result"]["resultType"], "complete");
    let older = say(&mut peer, request("tools/list", json!({})));
    assert!(older["result"].get("resultType").is_none());
    let told = json!({"_meta": {PROTOCOL_VERSION: "2025-11-25"}});
    let told = say(&mut fresh(), request("tools/list", told));
    assert!(told["result"].get("resultType").is_none());
}

#[test]
fn a_request_that_does_not_say_what_it_speaks_is_refused() {
    let list = |meta: Value| request("tools/list", json!({"_meta": meta}));
    let cases = [
        (request("tools/list", json!({})), -32602),
        (request("tools/call", json!({"name": "look"})), -32602),
        (request("server/discover", json!({})), -32602),
        (list(json!({})), -32602),
        (list(json!("2026-07-28")), -32602),
        (
            list(json!({PROTOCOL_VERSION: 20_260_728, CLIENT_CAPABILITIES: {}})),
            -32602,
        ),
        (list(json!({PROTOCOL_VERSION: STATELESS})), -32602),
        (
            list(json!({PROTOCOL_VERSION: STATELESS, CLIENT_CAPABILITIES: []})),
            -32602,
        ),
        (
            list(json!({PROTOCOL_VERSION: "1900-01-01", CLIENT_CAPABILITIES: {}})),
            -32022,
        ),
    ];
    for (message, code) in cases {
        check_error(&mut fresh(), message, code);
    }
    let unknown = json!({"_meta": {PROTOCOL_VERSION: "1900-01-01"}});
    let said = say(&mut fresh(), request("server/discover", unknown));
    assert_eq!(said["error"]["data"]["requested"], "1900-01-01");
    assert_eq!(said["error"]["data"]["supported"][0], STATELESS);
    let ping = say(&mut fresh(), json!({"id": "p", "method": "ping"}));
    assert_eq!(ping, json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
}

#[test]
fn calls_are_handed_on_with_their_tool() {
    let params = json!({"name": "go", "arguments": {"to": "Ulm"}});
    for (mut peer, params, is_stateless) in [
        (initialized("2024-11-05"), params.clone(), false),
        (fresh(), stateless(params), true),
    ] {
        let Heard::Call(call) = hear(&mut peer, &request("tools/call", params)) else {
            panic!("no call");
        };
        assert_eq!(call.tool.owner, ToolOwner::Client("b".into()));
        assert_eq!(json!(call.input), json!({"to": "Ulm"}));
        let answer = call.asked.answer(content::nobody_ran_it());
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["result"]["isError"], true);
        assert_eq!(answer["result"].get("resultType").is_some(), is_stateless);
        assert!(answer["result"].get("ttlMs").is_none());
    }
    let peer = &mut initialized("2025-11-25");
    let bare = request("tools/call", json!({"name": "look", "arguments": null}));
    assert!(matches!(hear(peer, &bare), Heard::Call(call) if call.input.is_empty()));
    for params in [
        json!({"name": "fly"}),
        json!({"name": 3}),
        json!({}),
        json!({"name": "go", "arguments": [1]}),
    ] {
        check_error(peer, request("tools/call", params), -32602);
    }
}

#[test]
fn who_listens_is_told_and_nobody_else() {
    let mut peer = fresh();
    let listen = |id: Value, wanted: Value| {
        let params = stateless(json!({"notifications": wanted}));
        json!({"jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params})
    };
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true});
    let said = say(&mut peer, listen(json!("l"), wanted.clone()));
    let expected = json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {SUBSCRIPTION_ID: "l"}, "notifications": {"toolsListChanged": true}},
    });
    assert_eq!(said, expected);
    let said = say(
        &mut peer,
        listen(json!(8), json!({"toolsListChanged": false})),
    );
    assert_eq!(said["params"]["notifications"], json!({}));
    let news = json!({
        "jsonrpc": "2.0",
        "method": "notifications/tools/list_changed",
        "params": {"_meta": {SUBSCRIPTION_ID: "l"}},
    });
    assert_eq!(peer.news(), [news]);

    let said = say(&mut peer, listen(json!("l"), wanted.clone()));
    assert_eq!(said["error"]["code"], -32600);
    check_error(&mut peer, listen(json!(7), Value::Null), -32602);
    let done = json!({"method": "notifications/cancelled", "params": {"requestId": "l"}});
    assert!(matches!(hear(&mut peer, &done), Heard::Cancelled(_)));
    assert!(peer.news().is_empty());

    for id in 100..100 + MOST_LISTENING {
        say(&mut peer, listen(json!(id), wanted.clone()));
    }
    check_error(&mut peer, listen(json!(7), wanted), -32603);
    assert_eq!(peer.news().len(), MOST_LISTENING);
}

#[test]
fn what_is_not_known_is_an_error_if_it_was_asked_and_nothing_if_it_was_told() {
    for mut peer in [fresh(), initialized("2025-06-18")] {
        for method in [
            "prompts/list",
            "resources/list",
            "logging/setLevel",
            "tools",
            "",
        ] {
            check_error(&mut peer, request(method, json!({})), -32601);
        }
        check_error(&mut peer, request("tools/list", json!([1])), -32602);
        for nothing in [
            json!({"method": "notifications/roots/list_changed"}),
            json!({"method": "notifications/cancelled"}),
            json!({"method": "notifications/cancelled", "params": {"requestId": [1]}}),
            json!({"method": "tools/list"}),
            json!({"id": 3, "result": {}}),
            json!({"id": 3, "error": {"code": 1, "message": "no"}}),
        ] {
            assert!(
                matches!(hear(&mut peer, &nothing), Heard::Nothing),
                "{nothing}"
            );
        }
    }
    let peer = &mut initialized("2025-06-18");
    check_error(
        peer,
        request("tools/list", json!({"cursor": "next"})),
        -32602,
    );
}

#[test]
fn what_is_no_message_is_refused_without_an_id() {
    for (line, code) in [
        ("{", -32700),
        ("nonsense", -32700),
        ("[]", -32600),
        (r#" [1, "ping"]"#, -32600),
        (r#"[{"id":1,"method":"ping"}]"#, -32600),
        ("{}", -32600),
        ("7", -32600),
        (r#"{"id":1.5,"method":"ping"}"#, -32600),
        (r#"{"id":{},"method":"ping"}"#, -32600),
    ] {
        let Heard::Say(said) = fresh().hear(line, &[]) else {
            panic!("{line} was not answered");
        };
        assert_eq!(said["error"]["code"], code, "{line}");
        assert!(said.get("id").is_none(), "{line}");
    }
}
