//! The attacks. Each gets ready, says so, and strikes until it is over or
//! nobody measures any more.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::Stage;
use crate::wire::WireClient;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Attack {
    Nothing,
    UnreadPages,
    SilentClients,
    UnfinishedMessages,
    UnreadFiles,
    ManySessions,
    Completions,
    Watches,
    TerminalTitles,
    SessionTitles,
    LargeMessage,
}

pub(crate) const ALL: &[(&str, Attack)] = &[
    ("nothing", Attack::Nothing),
    ("300 connections read no pages", Attack::UnreadPages),
    ("990 clients say nothing", Attack::SilentClients),
    (
        "40 messages of 16 MiB are not finished",
        Attack::UnfinishedMessages,
    ),
    ("400 reads of 8 MiB are not read", Attack::UnreadFiles),
    ("200 lists with 3,000 sessions", Attack::ManySessions),
    ("40 completions among 100,000 files", Attack::Completions),
    ("100 watches and 20,000 new files", Attack::Watches),
    (
        "a terminal changes its title all the time",
        Attack::TerminalTitles,
    ),
    ("10,000 changes of a title", Attack::SessionTitles),
    ("a message of 10 MiB", Attack::LargeMessage),
];

type Ready = oneshot::Sender<()>;

impl Attack {
    pub(crate) async fn strike(self, stage: &Stage, ready: Ready) -> Result<()> {
        match self {
            Self::Nothing => begin(ready),
            Self::UnreadPages => unread_pages(stage, ready).await,
            Self::SilentClients => silent_clients(stage, ready).await,
            Self::UnfinishedMessages => unfinished_messages(stage, ready).await,
            Self::UnreadFiles => unread_files(stage, ready).await,
            Self::ManySessions => many_sessions(stage, ready).await,
            Self::Completions => completions(stage, ready).await,
            Self::Watches => watches(stage, ready).await,
            Self::TerminalTitles => terminal_titles(stage, ready).await,
            Self::SessionTitles => session_titles(stage, ready).await,
            Self::LargeMessage => large_message(stage, ready).await,
        }
    }
}

fn begin(ready: Ready) -> Result<()> {
    ready.send(()).ok().context("nobody measures")
}

/// Whatever was begun goes on until nobody measures any more.
async fn stay<T>(_held: T) -> Result<()> {
    std::future::pending().await
}

async fn unread_pages(stage: &Stage, ready: Ready) -> Result<()> {
    let url = &stage.host.url;
    let authority = url
        .strip_prefix("ws://")
        .and_then(|rest| rest.split('/').next());
    let authority = authority.context("an address")?.to_owned();
    let request = format!("GET / HTTP/1.1\r\nHost: {authority}\r\n\r\n").repeat(400);
    begin(ready)?;
    let mut connections = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(&authority).await?;
        let _ = stream.write_all(request.as_bytes()).await;
        connections.push(stream);
    }
    stay(connections).await
}

async fn silent_clients(stage: &Stage, ready: Ready) -> Result<()> {
    begin(ready)?;
    let mut clients = Vec::new();
    for _ in 0..990 {
        clients.push(WireClient::connect(&stage.host.url).await?);
    }
    stay(clients).await
}

async fn unfinished_messages(stage: &Stage, ready: Ready) -> Result<()> {
    begin(ready)?;
    let part = vec![b'x'; 15 << 20];
    let mut clients = Vec::new();
    for _ in 0..40 {
        let mut client = WireClient::connect(&stage.host.url).await?;
        // The host may not want to hear all of it.
        let _ = client.send_part(&part, 16 << 20).await;
        clients.push(client);
    }
    stay(clients).await
}

async fn unread_files(stage: &Stage, ready: Ready) -> Result<()> {
    fs::write(stage.yard.path().join("large"), vec![0xff; 8 << 20])?;
    let mut client = stage.client("reader", &[]).await?;
    begin(ready)?;
    let read = json!({"uri": stage.uri(Path::new("large"))});
    for id in 0..400 {
        client.ask(id, "resourceRead", &read).await?;
    }
    stay(client).await
}

async fn many_sessions(stage: &Stage, ready: Ready) -> Result<()> {
    let mut client = stage.client("crowd", &[]).await?;
    for number in 0..3_000 {
        let directory = stage.yard.path().join(number.to_string());
        fs::create_dir(&directory)?;
        let session = format!("ahp-session:/{number}");
        let directories = [stage.uri(&directory)];
        let create = json!({"channel": session, "provider": "script",
                            "workingDirectories": directories});
        client.request("createSession", create).await?;
        client
            .request("subscribe", json!({"channel": session}))
            .await?;
    }
    begin(ready)?;
    let list = json!({"uri": stage.uri(Path::new("7"))});
    loop {
        repeat(&mut client, 200, "resourceList", &list).await?;
    }
}

async fn completions(stage: &Stage, ready: Ready) -> Result<()> {
    crate::files::plant(stage.yard.path())?;
    let mut client = stage.client("typist", &[]).await?;
    let session = "ahp-session:/tree";
    let directories = [stage.uri(Path::new(""))];
    let create = json!({"channel": session, "provider": "script",
                        "workingDirectories": directories});
    client.request("createSession", create).await?;
    let subscribed = client
        .request("subscribe", json!({"channel": session}))
        .await?;
    let chat = subscribed["snapshot"]["state"]["defaultChat"].clone();
    begin(ready)?;
    let complete = json!({"channel": chat, "kind": "userMessage", "text": "@d7", "offset": 3});
    repeat(&mut client, 40, "completions", &complete).await
}

async fn watches(stage: &Stage, ready: Ready) -> Result<()> {
    let mut client = stage.client("watcher", &[]).await?;
    for _ in 0..100 {
        let create = json!({"channel": "ahp-root://", "uri": stage.uri(Path::new("")),
                            "recursive": true});
        let watch = client.request("createResourceWatch", create).await?;
        client
            .request("subscribe", json!({"channel": watch["channel"]}))
            .await?;
    }
    begin(ready)?;
    let yard = stage.yard.path().to_owned();
    let making = tokio::task::spawn_blocking(move || {
        (0..20_000).try_for_each(|number| fs::write(yard.join(format!("f{number}")), "x"))
    });
    let reading = async { while client.next().await.is_ok() {} };
    let (made, ()) = tokio::join!(making, reading);
    Ok(made??)
}

async fn terminal_titles(stage: &Stage, ready: Ready) -> Result<()> {
    let terminal = "ahp-terminal:/titles";
    let mut client = stage.client("typist", &["ahp-root://"]).await?;
    let claim = json!({"kind": "client", "clientId": "typist"});
    let create = json!({"channel": terminal, "claim": claim});
    client.request("createTerminal", create).await?;
    begin(ready)?;
    let line = "i=0; while :; do i=$((i+1)); printf '\\033]0;title %d\\007' $i; done\r";
    let action = json!({"type": "terminal/input", "data": line});
    client.dispatch(terminal, 1, action).await?;
    while client.next().await.is_ok() {}
    Ok(())
}

async fn session_titles(stage: &Stage, ready: Ready) -> Result<()> {
    let mut client = stage.client("namer", &[]).await?;
    let session = "ahp-session:/names";
    client.new_session(session).await?;
    begin(ready)?;
    for number in 0..10_000 {
        let action = json!({"type": "session/titleChanged", "title": format!("title {number}")});
        client.dispatch(session, number, action).await?;
    }
    while client.next().await.is_ok() {}
    Ok(())
}

async fn large_message(stage: &Stage, ready: Ready) -> Result<()> {
    let mut client = stage.client("talker", &[]).await?;
    let chat = client.new_session("ahp-session:/large").await?;
    client
        .request("subscribe", json!({"channel": chat}))
        .await?;
    begin(ready)?;
    let message = json!({"text": "x".repeat(10 << 20), "origin": {"kind": "user"}});
    let action = json!({"type": "chat/turnStarted", "turnId": "t", "message": message});
    client.dispatch(&chat, 1, action).await?;
    while client.next().await.is_ok() {}
    Ok(())
}

/// Asks the same many times at once, and reads all answers.
async fn repeat(client: &mut WireClient, times: i64, method: &str, params: &Value) -> Result<()> {
    for id in 0..times {
        client.ask(id, method, params).await?;
    }
    for _ in 0..times {
        while !crate::wire::is_answer(client.next().await?) {}
    }
    Ok(())
}
