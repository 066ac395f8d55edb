//! What deliveries cost at the pace at which agents talk: each delta by itself,
//! far enough from the next that nothing can be sent together.
//!
//! Two floors, in the same run: a loop that writes one ready frame to each
//! socket and sleeps until the next; and, for one subscriber behind an agent
//! that is a process of its own, a program that copies each line of the agent's
//! pipe into a ready frame. What counts is the server's CPU time.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::bare::FRAME;
use crate::process::Server;
use crate::wire::{WireClient, find};

const SUBSCRIBERS: [usize; 4] = [1, 20, 100, 1_000];
const RATES: [u64; 2] = [50, 500];

/// How long each measurement streams.
const SECONDS: u64 = 2;

/// How often each is measured, in turn; the median counts.
const ROUNDS: usize = 3;

/// How long a web page lets text wait.
const COLLECTED_MS: u64 = 16;

const SESSION: &str = "ahp-session:/bench";
const DELTA: &[u8] = br#""type":"chat/delta""#;
const END: &[u8] = br#""type":"chat/turnComplete""#;

pub(crate) async fn run() -> Result<()> {
    run_sockets(&SUBSCRIBERS).await?;
    run_pipe().await
}

/// So many subscribers each, without a pipe.
pub(crate) async fn run_sockets(subscribers: &[usize]) -> Result<()> {
    println!("\nCPU time a delivery at an agent's pace (median of {ROUNDS})\n");
    println!("| subscribers | deltas /s | loop µs | host µs | of the loop | collected µs |");
    println!("| ---: | ---: | ---: | ---: | ---: | ---: |");
    for &count in subscribers {
        for rate in RATES {
            let (mut floors, mut hosts, mut collected) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                floors.push(floor("loop-server", count, rate).await?);
                hosts.push(host(count, rate, None).await?);
                collected.push(host(count, rate, Some(COLLECTED_MS)).await?);
            }
            let (floor, host) = (median(floors), median(hosts));
            println!(
                "| {count} | {rate} | {floor:.1} | {host:.1} | {:.2} | {:.1} |",
                host / floor,
                median(collected)
            );
        }
    }
    println!("\nCollected: subscribers that let text wait for {COLLECTED_MS} ms. Deliveries are");
    println!("counted as the agent made them, however many went out together.");
    Ok(())
}

/// One subscriber, and an agent that is a process of its own.
pub(crate) async fn run_pipe() -> Result<()> {
    println!("\nWith an agent behind a pipe, one subscriber\n");
    println!("| deltas /s | copying µs | host µs | of copying |");
    println!("| ---: | ---: | ---: | ---: |");
    for rate in RATES {
        let (mut floors, mut hosts) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            floors.push(floor("copy-server", 1, rate).await?);
            hosts.push(behind_a_pipe(rate).await?);
        }
        let (floor, host) = (median(floors), median(hosts));
        println!("| {rate} | {floor:.1} | {host:.1} | {:.2} |", host / floor);
    }
    Ok(())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied().unwrap_or_default()
}

/// The CPU time of a server for each of so many deliveries, in microseconds.
fn each(server: &Server, before: Duration, deliveries: u64) -> Result<f64> {
    let spent = server.cpu()?.saturating_sub(before);
    Ok(spent.as_secs_f64() * 1e6 / deliveries as f64)
}

async fn floor(name: &str, subscribers: usize, rate: u64) -> Result<f64> {
    let server = Server::floor(name).await?;
    let mut clients = Vec::new();
    for _ in 0..subscribers {
        let mut client = WireClient::connect(&server.url).await?;
        client.send("hello").await?;
        client.next().await?;
        clients.push(client);
    }
    let frames = rate * SECONDS;
    let before = server.cpu()?;
    let starter = clients.first_mut().context("a subscriber")?;
    starter
        .send(&format!("go {frames} {}", 1_000_000 / rate))
        .await?;
    let mut tasks: JoinSet<Result<WireClient>> = JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move {
            for _ in 0..frames {
                client.next().await?;
            }
            Ok(client)
        });
    }
    // Whoever goes takes the time of its thread along.
    let mut stay = Vec::new();
    while let Some(done) = tasks.join_next().await {
        stay.push(done??);
    }
    each(&server, before, frames * subscribers as u64)
}

async fn host(subscribers: usize, rate: u64, collected_ms: Option<u64>) -> Result<f64> {
    let data = tempfile::tempdir()?;
    let server = Server::host(data.path(), "[limits]\nconnections = 2000\n").await?;
    let deltas = rate * SECONDS;
    let flood = json!({"deltas": deltas, "bytes": 20, "everyUs": 1_000_000 / rate});
    let steps = json!([{"flood": flood}]);
    streamed(&server, subscribers, collected_ms, "script", steps, deltas).await
}

async fn behind_a_pipe(rate: u64) -> Result<f64> {
    let data = tempfile::tempdir()?;
    let command = json!(std::env::current_exe()?.display().to_string());
    let config = format!("[agents.paced]\ncommand = {command}\nargs = ['paced-agent']\n");
    let server = Server::host_with(data.path(), &config, "paced").await?;
    let deltas = rate * SECONDS;
    let steps = json!([deltas, 1_000_000 / rate]);
    streamed(&server, 1, None, "paced", steps, deltas).await
}

/// What a turn costs a host, for each delivery.
async fn streamed(
    server: &Server,
    subscribers: usize,
    collected_ms: Option<u64>,
    agent: &str,
    steps: Value,
    deltas: u64,
) -> Result<f64> {
    let mut starter = WireClient::connect(&server.url).await?;
    starter.initialize("starter", &[]).await?;
    let chat = starter.new_session_with(SESSION, agent).await?;
    let mut clients = Vec::new();
    for index in 0..subscribers {
        let mut client = WireClient::connect(&server.url).await?;
        client.initialize(&format!("client-{index}"), &[]).await?;
        let mut params = json!({"channel": chat});
        if let Some(ms) = collected_ms {
            params["delivery"] = json!({"maxLatencyMs": ms});
        }
        client.request("subscribe", params).await?;
        clients.push(client);
    }
    // An agent that starts is not what is measured.
    let (mut told, before) = (false, server.cpu()?);
    starter.start_turn(&chat, "turn-1", steps).await?;
    let mut tasks: JoinSet<Result<()>> = JoinSet::new();
    let mut first = Duration::ZERO;
    let mut clients = clients.into_iter();
    let mut watcher = clients.next().context("a subscriber")?;
    for mut client in clients {
        tasks.spawn(async move {
            while find(client.next().await?, END).is_none() {}
            Ok(())
        });
    }
    loop {
        let frame = watcher.next().await?;
        if !told && find(frame, DELTA).is_some() {
            (told, first) = (true, server.cpu()?);
        }
        if find(frame, END).is_some() {
            break;
        }
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    each(server, first.max(before), deltas * subscribers as u64)
}

/// Writes one ready frame to each socket, at a pace.
pub(crate) fn serve_loop(ready_file: &str) -> Result<()> {
    let everybody: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
    accept(ready_file, |stream| {
        let everybody = Arc::clone(&everybody);
        std::thread::spawn(move || guest(stream, &everybody));
    })
}

fn guest(mut stream: TcpStream, everybody: &Mutex<Vec<TcpStream>>) -> Result<()> {
    let ready = frame();
    while let Some((frames, pause)) = asked(&mut stream, &ready)? {
        if frames == 0 {
            let mut everybody = everybody.lock().unwrap_or_else(PoisonError::into_inner);
            everybody.push(stream.try_clone()?);
            continue;
        }
        let mut everybody = everybody.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Instant::now();
        for _ in 0..frames {
            next += pause;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
            for socket in everybody.iter_mut() {
                socket.write_all(&ready)?;
            }
        }
    }
    Ok(())
}

/// Copies each line that an agent writes into a ready frame.
pub(crate) fn serve_copies(ready_file: &str) -> Result<()> {
    accept(ready_file, |stream| {
        std::thread::spawn(move || copies(stream));
    })
}

fn copies(mut stream: TcpStream) -> Result<()> {
    let ready = frame();
    while let Some((frames, pause)) = asked(&mut stream, &ready)? {
        if frames == 0 {
            continue;
        }
        let mut agent = Command::new(std::env::current_exe()?)
            .arg("paced-agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let text = json!({"steps": [frames, pause.as_micros()]}).to_string();
        let params = json!({"prompt": [{"type": "text", "text": text}]});
        let prompt = json!({"id": 1, "method": "session/prompt", "params": params});
        let mut input = agent.stdin.take().context("a pipe")?;
        writeln!(input, "{prompt}")?;
        let mut lines = BufReader::new(agent.stdout.take().context("a pipe")?);
        let mut line = Vec::new();
        for _ in 0..frames {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            stream.write_all(&ready)?;
        }
        drop(input);
        agent.wait()?;
    }
    Ok(())
}

pub(crate) fn accept(ready_file: &str, meet: impl Fn(TcpStream)) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let ready = format!(r#"{{"url":"ws://{address}/"}}"#);
    std::fs::write(format!("{ready_file}.new"), ready)?;
    std::fs::rename(format!("{ready_file}.new"), ready_file)?;
    loop {
        let (mut stream, _) = listener.accept()?;
        stream.set_nodelay(true)?;
        let mut request = Vec::new();
        while find(&request, b"\r\n\r\n").is_none() {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            request.extend(byte);
        }
        let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\
                      Connection: Upgrade\r\n\r\n";
        stream.write_all(answer.as_bytes())?;
        meet(stream);
    }
}

/// What a client asks for: so many frames, with such pauses. A greeting is
/// answered, and asks for none.
fn asked(stream: &mut TcpStream, ready: &[u8]) -> Result<Option<(u64, Duration)>> {
    let mut header = [0; 6];
    if stream.read_exact(&mut header).is_err() {
        return Ok(None);
    }
    let mut text = vec![0; usize::from(header[1] & 0x7f)];
    stream.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    let Some(order) = text.strip_prefix("go ") else {
        stream.write_all(ready)?;
        return Ok(Some((0, Duration::ZERO)));
    };
    let (frames, pause) = order.split_once(' ').context("frames and a pause")?;
    Ok(Some((
        frames.parse()?,
        Duration::from_micros(pause.parse()?),
    )))
}

fn frame() -> Vec<u8> {
    let length = u16::try_from(FRAME.len()).unwrap_or(u16::MAX);
    let mut frame = vec![0x81, 126];
    frame.extend(length.to_be_bytes());
    frame.extend(FRAME.as_bytes());
    frame
}

/// An agent behind the Agent Client Protocol that answers every prompt with as
/// many pieces as it says, and such pauses between them.
pub(crate) fn agent() -> Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let result = match message["method"].as_str() {
            Some("initialize") => json!({"protocolVersion": 1}),
            Some("session/new") => json!({"sessionId": "s"}),
            Some("session/prompt") => {
                let text = message["params"]["prompt"][0]["text"].as_str();
                let order: Value = serde_json::from_str(text.context("a prompt")?)?;
                let (Some(pieces), Some(micros)) =
                    (order["steps"][0].as_u64(), order["steps"][1].as_u64())
                else {
                    bail!("not an order: {order}");
                };
                let content = json!({"type": "text", "text": "the quick brown fox "});
                let update = json!({"sessionUpdate": "agent_message_chunk", "content": content});
                let params = json!({"sessionId": "s", "update": update});
                let said = json!({"jsonrpc": "2.0", "method": "session/update", "params": params});
                let said = format!("{said}\n");
                let mut next = Instant::now();
                for _ in 0..pieces {
                    next += Duration::from_micros(micros);
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                    out.write_all(said.as_bytes())?;
                    out.flush()?;
                }
                json!({"stopReason": "end_turn"})
            }
            _ => json!({}),
        };
        if !message["id"].is_null() {
            writeln!(
                out,
                "{}",
                json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
            )?;
            out.flush()?;
        }
    }
    Ok(())
}
