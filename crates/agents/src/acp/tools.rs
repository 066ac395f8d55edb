//! The tools of clients: how an agent that runs already is told of them, and
//! its calls.

use agent_client_protocol_schema::v1::AGENT_METHOD_NAMES;
use innkeeper_protocol::agent::AgentNotice;
use tokio::time::Instant;

use super::rpc::Incoming;
use super::speech::{Said, Talk};
use crate::child::{Readiness, Speech as _};
use crate::client_tools::ClientCall;

/// How much an agent may say while a conversation begins that is kept for it.
const MEANWHILE: usize = 256;

impl Talk {
    /// The agent uses a tool of a client.
    pub(super) async fn call_client(&mut self, call: ClientCall) {
        if self.is_at_work() {
            let events = self.speech.client_calls.begin(call);
            self.tell(events).await;
        }
    }

    /// Whether there is no way from the agent to the tools that are offered. The
    /// user is told, once.
    pub(super) fn cannot_have_tools(&mut self) -> bool {
        let can = &self.session.can().mcp_capabilities;
        let servers = &self.speech.tool_servers;
        let cannot = servers.are_over_http() && !can.http && servers.have_tools();
        if cannot && !std::mem::replace(&mut self.speech.told_of_no_tools, true) {
            let agent = self.access.name.clone();
            self.notices.push(AgentNotice::NoTools { agent });
        }
        cannot
    }

    /// Lets an agent that runs already know of the tools of clients. Nothing
    /// may be forgotten for that: it takes another conversation where nothing
    /// was said yet, else a new process that takes this one up.
    pub(super) async fn make_aware_of_tools(&mut self) -> Readiness {
        let is_new = self.transcript.is_empty();
        if is_new && self.begin_another().await {
            return Readiness::Ready;
        }
        if is_new {
            return Readiness::InNewConversation;
        }
        if self.session.can_be_taken_up() {
            return Readiness::InNewProcess;
        }
        self.speech.unaware_of_tools = false;
        let agent = self.access.name.clone();
        self.notices.push(AgentNotice::NoToolsAnyMore { agent });
        Readiness::Ready
    }

    /// Begins another conversation with the agent that runs. Returns whether
    /// it did.
    async fn begin_another(&mut self) -> bool {
        let wanted = self.speech.wanted.again(None);
        let params = self.session.beginning(&wanted);
        let method = AGENT_METHOD_NAMES.session_new;
        let request = self.session.peer.request(method, &params);
        let deadline = Instant::now() + self.access.patience.opening;
        let mut meanwhile = Vec::new();
        let opened = loop {
            match tokio::time::timeout_at(deadline, self.session.peer.next()).await {
                Ok(Some(Incoming::Response { to, result })) if to == request => break result.ok(),
                // It may be about the conversation that is just beginning.
                Ok(Some(said @ Incoming::Notification { .. })) if meanwhile.len() < MEANWHILE => {
                    meanwhile.push(said);
                }
                Ok(Some(other)) => self.hear(Said::Message(other)).await,
                Ok(None) | Err(_) => break None,
            }
        };
        let id = opened.as_ref().and_then(|it| it["sessionId"].as_str());
        let Some((opened, id)) = opened.as_ref().zip(id.map(str::to_owned)) else {
            return false;
        };
        self.session.has_begun(&wanted, id, opened);
        self.speech.unaware_of_tools = false;
        self.remembers = false;
        self.opened().await;
        for said in meanwhile {
            self.hear(Said::Message(said)).await;
        }
        super::speech::AcpSpeech::configure(self);
        true
    }
}
