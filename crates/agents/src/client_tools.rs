//! The tools of clients and of the MCP servers that the host runs, offered to an
//! agent that is a program: MCP servers of the conversation's own, each on a Unix
//! socket that only this user can open. An agent reaches one through a small
//! program that connects its standard input and output with the socket, because
//! that is what the agents' protocol obliges all of them to start. Some refuse,
//! and reach the servers over HTTP.
//!
//! - [`mcp`]: what is said, in every revision of the protocol, without I/O;
//! - [`content`]: tools and results in its words;
//! - [`serving`]: one connection, with its bounds;
//! - [`http`]: likewise over HTTP;
//! - [`leftovers`]: sockets that a host which was killed has left behind.
//!
//! *Boundary*: what a call means is not decided here. It is handed to the
//! backend with a place for its result.

mod content;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod http;
pub(crate) mod leftovers;
mod mcp;
mod serving;

use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use innkeeper_protocol::agent::ClientTool;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::ToolCallResult;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, JoinSet};

pub use http::HttpTools;

/// What agents call the server that has the tools of clients.
pub(crate) const SERVER_NAME: &str = "innkeeper";

/// Connections at a time. An agent needs one, and some start more.
const MOST_CONNECTIONS: usize = 16;

/// A call that an agent has made.
#[derive(Debug)]
pub(crate) struct ClientCall {
    pub(crate) tool: ClientTool,
    pub(crate) input: JsonObject,
    /// Dropped without an answer, the agent hears that nobody ran the tool.
    pub(crate) answer: oneshot::Sender<ToolCallResult>,
}

/// The server of one conversation. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ToolServer {
    place: Place,
    tools: watch::Sender<Arc<[ClientTool]>>,
    calls: mpsc::Receiver<ClientCall>,
}

/// Where a server is.
#[derive(Debug)]
enum Place {
    Socket(Socket),
    Http(http::Address),
}

#[derive(Debug)]
struct Socket {
    directory: TempDir,
    serving: JoinHandle<()>,
}

/// How a server is reached.
#[derive(Debug, PartialEq)]
pub(crate) enum Way {
    /// The program in between connects to this.
    Socket(PathBuf),
    Http {
        url: String,
        authorization: String,
    },
}

const SOCKET: &str = "tools";

impl ToolServer {
    /// A server that agents know by this name.
    pub(crate) fn start(name: &str, tools: Arc<[ClientTool]>) -> io::Result<Self> {
        Self::at(name, tools, |offer| Socket::open(offer).map(Place::Socket))
    }

    /// Likewise, over HTTP.
    pub(crate) fn start_over(
        http: &HttpTools,
        name: &str,
        tools: Arc<[ClientTool]>,
    ) -> io::Result<Self> {
        Self::at(name, tools, |offer| http.open(offer).map(Place::Http))
    }

    fn at(
        name: &str,
        tools: Arc<[ClientTool]>,
        open: impl FnOnce(Offer) -> io::Result<Place>,
    ) -> io::Result<Self> {
        let tools = watch::Sender::new(tools);
        let (sender, calls) = mpsc::channel(16);
        let offer = Offer {
            server: name.into(),
            tools: tools.subscribe(),
            calls: sender,
        };
        Ok(Self {
            place: open(offer)?,
            tools,
            calls,
        })
    }

    pub(crate) fn way(&self) -> Way {
        match &self.place {
            Place::Socket(socket) => Way::Socket(socket.directory.path().join(SOCKET)),
            Place::Http(address) => Way::Http {
                url: address.url(),
                authorization: address.authorization().to_owned(),
            },
        }
    }

    pub(crate) fn has_tools(&self) -> bool {
        !self.tools.borrow().is_empty()
    }

    /// These are all tools from now on.
    pub(crate) fn offer(&self, tools: Arc<[ClientTool]>) {
        self.tools.send_replace(tools);
    }

    pub(crate) async fn next_call(&mut self) -> Option<ClientCall> {
        self.calls.recv().await
    }
}

impl Socket {
    fn open(offer: Offer) -> io::Result<Self> {
        // Nobody else can enter it, whatever the umask.
        let directory = tempfile::Builder::new()
            .prefix(&leftovers::prefix())
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()?;
        let listener = UnixListener::bind(directory.path().join(SOCKET))?;
        Ok(Self {
            directory,
            serving: tokio::spawn(serve(listener, offer)),
        })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: UnixListener, offer: Offer) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        if connections.len() < MOST_CONNECTIONS {
            connections.spawn(serving::serve(stream, offer.clone()));
        }
    }
}

/// What a connection to the server sees.
#[derive(Debug, Clone)]
struct Offer {
    server: Arc<str>,
    tools: watch::Receiver<Arc<[ClientTool]>>,
    calls: mpsc::Sender<ClientCall>,
}

#[cfg(test)]
mod tests {
    use innkeeper_protocol::agent::ToolOwner;
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn nobody_else_can_reach_the_socket() {
        let server = ToolServer::start(SERVER_NAME, Arc::from([])).unwrap();
        let socket = socket(&server);
        let directory = std::fs::metadata(socket.parent().unwrap()).unwrap();
        assert_eq!(directory.permissions().mode() & 0o777, 0o700);
        assert!(socket.exists());
    }

    fn socket(server: &ToolServer) -> PathBuf {
        match server.way() {
            Way::Socket(socket) => socket,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn tool(client: &str, name: &str) -> ClientTool {
        let definition = json!({"name": name, "description": format!("of {client}")});
        ClientTool {
            owner: ToolOwner::Client(client.into()),
            definition: serde_json::from_value(definition).unwrap(),
        }
    }

    /// An agent's side of the socket, in the protocol's plain words.
    struct Wire(BufReader<UnixStream>);

    impl Wire {
        async fn connect(server: &ToolServer) -> Self {
            let mut wire = Self(BufReader::new(
                UnixStream::connect(socket(server)).await.unwrap(),
            ));
            let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
                               "clientInfo": {"name": "agent", "version": "1"}});
            wire.send(json!({"id": 0, "method": "initialize", "params": hello}))
                .await;
            let answer = wire.next().await;
            assert_eq!(answer["result"]["serverInfo"]["name"], SERVER_NAME);
            wire.send(json!({"method": "notifications/initialized"}))
                .await;
            wire
        }

        async fn send(&mut self, mut message: Value) {
            message["jsonrpc"] = json!("2.0");
            let line = format!("{message}\n");
            self.0.get_mut().write_all(line.as_bytes()).await.unwrap();
        }

        async fn next(&mut self) -> Value {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            serde_json::from_str(&line).unwrap()
        }

        async fn tools(&mut self) -> Vec<String> {
            self.send(json!({"id": 1, "method": "tools/list"})).await;
            let answer = self.next().await;
            let tools = answer["result"]["tools"].as_array().unwrap().iter();
            let text = |tool: &Value, key: &str| tool[key].as_str().unwrap().to_owned();
            tools
                .map(|tool| format!("{} {}", text(tool, "name"), text(tool, "description")))
                .collect()
        }

        async fn call(&mut self, name: &str) {
            let params = json!({"name": name, "arguments": {"city": "Ulm"}});
            self.send(json!({"id": 2, "method": "tools/call", "params": params}))
                .await;
        }
    }

    #[tokio::test]
    async fn tools_of_clients_are_listed_and_news_of_them_told() {
        let tools = vec![tool("a", "look"), tool("b", "look"), tool("b", "go")];
        let server = ToolServer::start(SERVER_NAME, tools.into()).unwrap();
        let mut wire = Wire::connect(&server).await;
        assert_eq!(wire.tools().await, ["look of a", "go of b"]);
        server.offer(vec![tool("b", "go")].into());
        let news = wire.next().await;
        assert_eq!(news["method"], "notifications/tools/list_changed");
        assert_eq!(wire.tools().await, ["go of b"]);
    }

    #[tokio::test]
    async fn a_call_waits_for_its_result() {
        let mut server = ToolServer::start(SERVER_NAME, vec![tool("a", "weather")].into()).unwrap();
        let mut wire = Wire::connect(&server).await;
        wire.call("weather").await;
        let call = server.next_call().await.unwrap();
        assert_eq!(call.tool.owner, ToolOwner::Client("a".into()));
        assert_eq!(json!(call.input), json!({"city": "Ulm"}));
        let result = json!({"success": true, "pastTenseMessage": "Looked",
                            "content": [{"type": "text", "text": "fog"}]});
        call.answer
            .send(serde_json::from_value(result).unwrap())
            .unwrap();
        let result = &wire.next().await["result"];
        assert_eq!(result["content"], json!([{"type": "text", "text": "fog"}]));
        assert_eq!(result["isError"], false);

        wire.call("weather").await;
        drop(server.next_call().await.unwrap());
        assert_eq!(wire.next().await["result"]["isError"], true);
        wire.call("nothing").await;
        assert!(wire.next().await["error"]["message"].is_string());
    }

    #[tokio::test]
    async fn the_socket_goes_with_the_server() {
        let server = ToolServer::start(SERVER_NAME, Vec::new().into()).unwrap();
        let socket = socket(&server);
        assert!(socket.exists());
        drop(server);
        assert!(!socket.exists());
    }
}
