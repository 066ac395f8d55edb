//! One connection to the server: lines of JSON in and out, and the calls that
//! are open.
//!
//! *Invariant*: a line, and the number of open calls, are bounded, so that no
//! agent can make the host grow. A call that was cancelled is not answered.

use std::collections::HashMap;
use std::io;

use innkeeper_protocol::rpc::{RequestId, RpcError};
use serde_json::Value;
use tokio::io::{
    AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, ReadHalf,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};

use super::mcp::{Call, Heard, Peer, refusal};
use super::{ClientCall, Offer, content};

/// The longest message: what a tool is given may hold a file.
pub(super) const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Calls of one connection at a time. Agents call a handful at once.
pub(super) const MOST_CALLS: usize = 64;

/// Serves a connection until it ends.
pub(super) async fn serve(stream: impl AsyncRead + AsyncWrite, offer: Offer) {
    // Whoever does not read or write any more needs no answer.
    let _ = converse(stream, offer).await;
}

async fn converse(stream: impl AsyncRead + AsyncWrite, offer: Offer) -> io::Result<()> {
    let (reading, mut writing) = tokio::io::split(stream);
    let mut lines = Lines::new(reading);
    let mut tools = offer.tools;
    tools.mark_unchanged();
    let mut peer = Peer::new(offer.server);
    let mut calls = Calls::new(offer.calls);
    loop {
        let said = tokio::select! {
            line = lines.next() => match line? {
                None => return Ok(()),
                Some(line) => {
                    let tools = tools.borrow().clone();
                    let heard = match line {
                        Line::Whole(line) => peer.hear(&line, &tools),
                        Line::Bad(error) => Heard::Say(refusal(None, &error)),
                    };
                    calls.follow(heard).into_iter().collect()
                }
            },
            Some(ended) = calls.running.join_next_with_id() => {
                calls.ended(ended).into_iter().collect()
            }
            Ok(()) = tools.changed() => peer.news(),
        };
        for message in said {
            let line = format!("{message}\n");
            writing.write_all(line.as_bytes()).await?;
        }
    }
}

/// The calls that wait for their results.
#[derive(Debug)]
struct Calls {
    to_backend: mpsc::Sender<ClientCall>,
    running: JoinSet<Value>,
    open: HashMap<RequestId, AbortHandle>,
}

impl Calls {
    fn new(to_backend: mpsc::Sender<ClientCall>) -> Self {
        Self {
            to_backend,
            running: JoinSet::new(),
            open: HashMap::new(),
        }
    }

    /// Does what a message asks for; returns what is to be said at once.
    fn follow(&mut self, heard: Heard) -> Option<Value> {
        match heard {
            Heard::Nothing => None,
            Heard::Say(message) => Some(message),
            Heard::Cancelled(id) => {
                if let Some(task) = self.open.remove(&id) {
                    task.abort();
                }
                None
            }
            Heard::Call(call) => {
                let id = call.asked.id.clone();
                let begun = self.begin(*call);
                begun.err().map(|error| refusal(Some(&id), &error))
            }
        }
    }

    fn begin(&mut self, call: Call) -> Result<(), RpcError> {
        let id = call.asked.id.clone();
        if self.open.contains_key(&id) {
            return Err(RpcError::invalid_request("this `id` is in use"));
        }
        if self.open.len() >= MOST_CALLS {
            let message = format!("{MOST_CALLS} calls are open already; wait for one to end");
            return Err(RpcError::internal(message));
        }
        let task = self.running.spawn(run(call, self.to_backend.clone()));
        self.open.insert(id, task);
        Ok(())
    }

    /// A call has ended; returns the answer, if somebody waits for it.
    fn ended(&mut self, ended: Result<(Id, Value), JoinError>) -> Option<Value> {
        let task = match &ended {
            Ok((task, _)) => *task,
            Err(error) => error.id(),
        };
        let mut open = self.open.iter();
        let (id, _) = open.find(|(_, known)| known.id() == task)?;
        let id = id.clone();
        self.open.remove(&id);
        ended.ok().map(|(_, answer)| answer)
    }
}

pub(super) async fn run(call: Call, to_backend: mpsc::Sender<ClientCall>) -> Value {
    let Call { asked, tool, input } = call;
    let (answer, answered) = oneshot::channel();
    let call = ClientCall {
        tool,
        input,
        answer,
    };
    let result = match to_backend.send(call).await {
        Ok(()) => answered.await.ok(),
        Err(_) => None,
    };
    let result = result.as_ref().map(content::told);
    asked.answer(result.unwrap_or_else(content::nobody_ran_it))
}

/// What stood on one line.
#[derive(Debug)]
enum Line {
    Whole(String),
    /// It cannot be read at all.
    Bad(RpcError),
}

/// Lines up to a length. Waiting for one may be given up at any time: what was
/// read of it is kept.
#[derive(Debug)]
struct Lines<S> {
    reader: BufReader<ReadHalf<S>>,
    line: Vec<u8>,
    is_too_long: bool,
}

impl<S: AsyncRead> Lines<S> {
    fn new(reading: ReadHalf<S>) -> Self {
        Self {
            reader: BufReader::new(reading),
            line: Vec::new(),
            is_too_long: false,
        }
    }

    /// The next line that is not empty; `None` at the end.
    async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let read = self.reader.fill_buf().await?;
            if read.is_empty() {
                return Ok(None);
            }
            let end = read.iter().position(|&byte| byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            if self.line.len() + part.len() > LONGEST_LINE {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some()
                && let Some(line) = self.ended()
            {
                return Ok(Some(line));
            }
        }
    }

    fn ended(&mut self) -> Option<Line> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            let message = format!("a message may have at most {LONGEST_LINE} bytes");
            return Some(Line::Bad(RpcError::invalid_request(message)));
        }
        if line.trim_ascii().is_empty() {
            return None;
        }
        Some(match String::from_utf8(line) {
            Ok(line) => Line::Whole(line),
            Err(_) => Line::Bad(RpcError::parse("not UTF-8")),
        })
    }
}

#[cfg(test)]
mod tests;
