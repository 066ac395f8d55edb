//! What clients have: how long they are waited for, and how much they are
//! asked at once.

use innkeeper_engine::Limits;
use serde_json::{Value, json};

use crate::host::Host;

/// Client `owner` on connection 2, and `a` on connection 1.
fn with_owner(limits: Limits) -> Host {
    let mut host = Host::with(limits);
    host.enter(1, "a", &[]);
    host.enter(2, "owner", &[]);
    host.heard.clear();
    host
}

fn write(host: &mut Host, id: u64, data: &str) {
    let params = json!({"uri": "virtual://owner/a", "data": data, "encoding": "utf-8"});
    let call = json!({"jsonrpc": "2.0", "id": id, "method": "resourceWrite", "params": params});
    host.say(1, &call.to_string());
}

fn answers(host: &mut Host) -> Vec<Value> {
    host.heard.remove(&1).unwrap_or_default()
}

#[test]
fn a_client_has_its_time_to_answer_and_no_longer() {
    let limits = Limits::default();
    let patience = limits.client_answer;
    let mut host = with_owner(limits);
    write(&mut host, 1001, "text");
    host.wait(patience / 2);
    write(&mut host, 1002, "text");
    assert_eq!(host.news(2), ["resourceWrite", "resourceWrite"]);
    assert!(answers(&mut host).is_empty());
    host.wait(patience / 2);
    let heard = answers(&mut host);
    assert_eq!(heard.len(), 1);
    assert_eq!(heard[0]["id"], 1001);
    assert_eq!(heard[0]["error"]["code"], -32603);
    // The one comes too late, the other in time.
    for question in [1, 2] {
        let answer = json!({"jsonrpc": "2.0", "id": question, "result": {}});
        host.say(2, &answer.to_string());
    }
    let heard = answers(&mut host);
    assert_eq!(heard, [json!({"jsonrpc": "2.0", "id": 1002, "result": {}})]);
}

#[test]
fn a_client_that_does_not_answer_is_not_asked_without_end() {
    let limits = Limits {
        resource_bytes: 10,
        ..Limits::default()
    };
    for (data, most) in [("", 256), ("12345", 2)] {
        let mut host = with_owner(limits.clone());
        for id in 0..=most {
            write(&mut host, 1001 + id, data);
        }
        let asked = host.news(2).len() as u64;
        assert_eq!(asked, most, "with {data:?}");
        let refused = answers(&mut host);
        let why = refused[0]["error"]["message"].as_str().unwrap();
        assert!(why.contains("too much at once"), "{why}");
    }
}
