//! A connection as an agent sees it: its calls, and its bounds.

use std::sync::Arc;

use innkeeper_protocol::agent::{ClientTool, ToolOwner};
use innkeeper_protocol::newest::state::ToolCallResult;
use serde_json::json;
use tokio::io::{DuplexStream, Lines as TokioLines, ReadHalf, WriteHalf};
use tokio::sync::watch;

use super::*;

/// An agent at one end, a backend at the other.
struct Wire {
    lines: TokioLines<BufReader<ReadHalf<DuplexStream>>>,
    writing: WriteHalf<DuplexStream>,
    calls: mpsc::Receiver<ClientCall>,
    tools: watch::Sender<Arc<[ClientTool]>>,
}

impl Wire {
    async fn new() -> Self {
        let (agent, host) = tokio::io::duplex(64 * 1024);
        let tools = watch::Sender::new(vec![tool()].into());
        let (to_backend, calls) = mpsc::channel(MOST_CALLS + 1);
        let offer = Offer {
            server: "innkeeper".into(),
            tools: tools.subscribe(),
            calls: to_backend,
        };
        tokio::spawn(serve(host, offer));
        let (reading, writing) = tokio::io::split(agent);
        let lines = BufReader::new(reading).lines();
        let mut wire = Self {
            lines,
            writing,
            calls,
            tools,
        };
        let hello = json!({"protocolVersion": "2025-11-25"});
        wire.send(&json!({"id": 0, "method": "initialize", "params": hello}))
            .await;
        assert_eq!(wire.next().await["id"], 0);
        wire
    }

    async fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.writing.write_all(bytes).await.unwrap();
    }

    async fn next(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap();
        serde_json::from_str(&line.expect("the connection has ended")).unwrap()
    }

    async fn call(&mut self, id: impl Into<Value>) {
        let params = json!({"name": "look"});
        let id = id.into();
        self.send(&json!({"id": id, "method": "tools/call", "params": params}))
            .await;
    }

    async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({"requestId": id.into()});
        self.send(&json!({"method": "notifications/cancelled", "params": params}))
            .await;
    }

    /// The connection still works, and nothing else was said on it.
    async fn ping(&mut self) {
        self.send(&json!({"id": "ping", "method": "ping"})).await;
        assert_eq!(
            self.next().await,
            json!({"jsonrpc": "2.0", "id": "ping", "result": {}})
        );
    }
}

fn tool() -> ClientTool {
    ClientTool {
        owner: ToolOwner::Client("a".into()),
        definition: serde_json::from_value(json!({"name": "look"})).unwrap(),
    }
}

fn result(text: &str) -> ToolCallResult {
    let result = json!({"success": true, "pastTenseMessage": text});
    serde_json::from_value(result).unwrap()
}

#[tokio::test]
async fn calls_are_answered_when_they_end_and_not_in_turn() {
    let mut wire = Wire::new().await;
    wire.call("first").await;
    wire.call("second").await;
    let first = wire.calls.recv().await.unwrap();
    let second = wire.calls.recv().await.unwrap();
    wire.ping().await;
    second.answer.send(result("2")).unwrap();
    let said = wire.next().await;
    assert_eq!(said["id"], "second");
    assert_eq!(said["result"]["content"][0]["text"], "2");
    drop(first);
    let said = wire.next().await;
    assert_eq!(said["id"], "first");
    assert_eq!(said["result"]["isError"], true);
}

#[tokio::test]
async fn a_cancelled_call_is_given_up_and_its_id_is_free_again() {
    let mut wire = Wire::new().await;
    wire.call(1).await;
    let mut call = wire.calls.recv().await.unwrap();
    wire.cancel(1).await;
    call.answer.closed().await;
    wire.ping().await;
    wire.call(1).await;
    let again = wire.calls.recv().await.unwrap();
    again.answer.send(result("again")).unwrap();
    assert_eq!(wire.next().await["result"]["content"][0]["text"], "again");
    // It is over, and others never were.
    wire.cancel(1).await;
    wire.cancel("nothing").await;
    wire.ping().await;
}

#[tokio::test]
async fn an_id_in_use_and_too_many_calls_are_refused() {
    let mut wire = Wire::new().await;
    wire.call(0).await;
    wire.call(0).await;
    assert_eq!(wire.next().await["error"]["code"], -32600);
    for id in 1..MOST_CALLS {
        wire.call(id).await;
    }
    wire.call("one more").await;
    let said = wire.next().await;
    assert_eq!(
        (&said["id"], &said["error"]["code"]),
        (&json!("one more"), &json!(-32603))
    );
    for _ in 0..MOST_CALLS {
        drop(wire.calls.recv().await.unwrap());
        assert_eq!(wire.next().await["result"]["isError"], true);
    }
    wire.call("now").await;
    drop(wire.calls.recv().await.unwrap());
    assert_eq!(wire.next().await["id"], "now");
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_the_rest_is_served() {
    let mut wire = Wire::new().await;
    let long = vec![b'x'; LONGEST_LINE + 1];
    for (bytes, code) in [
        (&b"{\n"[..], -32700),
        (b"\xff\xfe\n", -32700),
        (b"[1]\n", -32600),
    ] {
        wire.write(bytes).await;
        assert_eq!(wire.next().await["error"]["code"], code);
    }
    wire.write(&long).await;
    wire.write(b"yz\n\n \r\n").await;
    let said = wire.next().await;
    assert_eq!(said["error"]["code"], -32600);
    assert!(said.get("id").is_none());
    wire.ping().await;

    let padding = "x".repeat(LONGEST_LINE - 100);
    let large = json!({"id": "large", "method": "ping", "params": {"_meta": {"x": padding}}});
    assert!(large.to_string().len() <= LONGEST_LINE);
    wire.send(&large).await;
    assert_eq!(wire.next().await["id"], "large");
}

#[tokio::test]
async fn the_connection_ends_with_the_agent_and_so_do_its_calls() {
    let mut wire = Wire::new().await;
    wire.call(1).await;
    let mut call = wire.calls.recv().await.unwrap();
    wire.tools.send_replace(vec![].into());
    assert_eq!(
        wire.next().await["method"],
        "notifications/tools/list_changed"
    );
    wire.writing.shutdown().await.unwrap();
    call.answer.closed().await;
    assert!(wire.lines.next_line().await.unwrap().is_none());
}
