//! The database is removed under a running host: nothing more is accepted,
//! everybody who asks is told, and nothing that was stored is lost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use innkeeper::{Host, HostOptions};
use innkeeper_protocol::newest::state::SessionState;
use innkeeper_protocol::record::store::{Archive, Journal, Notify, Store, StoreFault, Tended};
use innkeeper_protocol::record::{Boot, StoreBatch};
use innkeeper_protocol::{ChannelUri, Timestamp};
use innkeeper_store::{MemoryStore, Writer, restore};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::common::{Inn, InnOptions, in_time};

async fn get(inn: &Inn, path: &str) -> String {
    let address = inn.url.trim_start_matches("ws://");
    let address = address.split(['/', '?']).next().unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    in_time("an answer", stream.read_to_string(&mut answer))
        .await
        .unwrap();
    answer
}

/// Waits until the host cannot work; returns what it says.
async fn not_ready(inn: &Inn) -> String {
    let asked = async {
        loop {
            let answer = get(inn, "/readyz").await;
            if answer.starts_with("HTTP/1.1 503") {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    in_time("the host has noticed", asked).await
}

fn rescued(inn: &Inn) -> PathBuf {
    let mut files = fs::read_dir(inn.directory().join("backups")).unwrap();
    files.next().unwrap().unwrap().path()
}

#[tokio::test]
async fn a_host_that_can_work_says_so_to_everybody() {
    let inn = Inn::open().await;
    let answer = get(&inn, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
    inn.host.shutdown().await.unwrap();
    let answer = get(&inn, "/readyz").await;
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
}

#[tokio::test]
async fn without_its_database_a_host_accepts_nothing_and_says_where_the_copy_is() {
    let inn = Inn::open().await;
    let guest = inn.guest("guest").await;
    let session = guest.new_session().await;
    fs::remove_file(inn.directory().join("innkeeper.db")).unwrap();
    let told = not_ready(&inn).await;
    let dir = inn.directory().to_str().unwrap();
    assert!(told.contains("removed"), "{told}");
    assert!(!told.contains(dir), "it reveals nothing else: {told}");
    let healthy = get(&inn, "/healthz").await;
    assert!(healthy.starts_with("HTTP/1.1 200"), "{healthy}");

    let asked = async {
        loop {
            let params = json!({"channel": "ahp-session:/new", "provider": "script"});
            let (_, refusal) = guest.request("createSession", params).await.unwrap_err();
            assert!(refusal.contains("removed"), "{refusal}");
            if refusal.contains("innkeeper restore") {
                return refusal;
            }
        }
    };
    let refusal = in_time("there is a copy", asked).await;
    let copy = rescued(&inn);
    assert!(refusal.contains(copy.to_str().unwrap()), "{refusal}");

    let ended = inn.host.shutdown().await.unwrap_err();
    assert!(ended.to_string().contains("removed"), "{ended}");
    let put_back = |dir: &std::path::Path| {
        restore(dir, &copy, Timestamp::default()).unwrap();
    };
    let inn = inn.reopen_after(InnOptions::default(), put_back).await;
    let back = inn.guest("back").await;
    let state: SessionState = back.snapshot(&session).await;
    assert_eq!(state.provider, "script");
    inn.close().await;
}

/// A store whose disk is full now and then.
struct OnSmallDisk {
    store: MemoryStore,
    is_full: Arc<AtomicBool>,
}

impl Store for OnSmallDisk {
    fn begin(&mut self) -> Result<Boot, StoreFault> {
        self.store.begin()
    }

    fn archive(&self) -> Result<Arc<dyn Archive>, StoreFault> {
        self.store.archive()
    }

    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreFault> {
        match self.is_full.load(Ordering::SeqCst) {
            true => Err(StoreFault::new("/secret is full")),
            false => self.store.apply(batches),
        }
    }

    fn tend(&mut self, ran: Duration) -> Result<Tended, StoreFault> {
        self.store.tend(ran)
    }

    fn set_aside(&mut self, batch: &StoreBatch, reason: &str) -> Result<String, StoreFault> {
        self.store.set_aside(batch, reason)
    }

    fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        self.store.restore(session)
    }

    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        self.store.delete(session)
    }

    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault> {
        Ok(Box::new(Writer::spawn(self, Duration::ZERO, notify)?))
    }

    fn close(self: Box<Self>) -> Result<(), StoreFault> {
        Ok(())
    }
}

#[tokio::test]
async fn while_its_disk_is_full_a_host_is_not_ready_and_then_it_is_again() {
    let is_full = Arc::new(AtomicBool::new(false));
    let store = OnSmallDisk {
        store: MemoryStore::default(),
        is_full: Arc::clone(&is_full),
    };
    let host = Host::start(HostOptions::default(), Vec::new(), store)
        .await
        .unwrap();
    let says = async |words: Option<&str>| {
        let asked = async {
            loop {
                match (host.obstacle(), words) {
                    (None, None) => return,
                    (Some(said), Some(words)) if said.contains(words) => {
                        assert!(!said.contains("secret"), "{said}");
                        return;
                    }
                    _ => tokio::task::yield_now().await,
                }
            }
        };
        in_time("the host says what is in the way", asked).await;
    };
    says(None).await;
    is_full.store(true, Ordering::SeqCst);
    let connection = host.connect();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "channel": "ahp-root://", "clientId": "a", "protocolVersions": ["1.0.0"],
    }});
    connection.receive(&hello.to_string()).await;
    says(Some("cannot write")).await;
    is_full.store(false, Ordering::SeqCst);
    says(None).await;
    host.shutdown().await.unwrap();
    assert!(host.obstacle().is_some());
}
