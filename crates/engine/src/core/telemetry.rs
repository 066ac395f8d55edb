//! Telemetry: what took how long, and the channels on which clients hear of
//! it. The engine knows when turns, tools and agents begin and end; what the
//! host collects comes back in batches and goes to those who listen.
//!
//! These channels have no state: who subscribes hears what happens from then
//! on, and nobody is told again what they missed.

use std::sync::Arc;

use foldhash::HashMap;
use innkeeper_protocol::agent::BackendId;
use innkeeper_protocol::newest::actions::StateAction;
use innkeeper_protocol::newest::notifications::{
    OtlpExportLogsParams, OtlpExportMetricsParams, OtlpExportTracesParams,
};
use innkeeper_protocol::newest::state::TelemetryCapabilities;
use innkeeper_protocol::outgoing::{HostMessage, Notification};
use innkeeper_protocol::telemetry::{
    Attributes, LOGS_TEMPLATE, LogRecord, METRICS_CHANNEL, Severity, Span, SpanId, SpanKind,
    SpanOutcome, TRACES_CHANNEL, TelemetryBatch, Teller, TraceId,
};
use innkeeper_protocol::{ChannelUri, Timestamp};

use super::Core;
use crate::effect::Effect;

/// What is going on and will be told when it is over.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    last: u64,
    turns: HashMap<ChannelUri, Open>,
    tools: HashMap<(ChannelUri, String), Open>,
    agents: HashMap<BackendId, Open>,
}

#[derive(Debug)]
struct Open {
    trace: TraceId,
    span: SpanId,
    parent: Option<SpanId>,
    began: Timestamp,
    attributes: Attributes,
}

pub(crate) fn capabilities() -> TelemetryCapabilities {
    TelemetryCapabilities {
        logs: Some(LOGS_TEMPLATE.to_owned()),
        traces: Some(TRACES_CHANNEL.to_owned()),
        metrics: Some(METRICS_CHANNEL.to_owned()),
    }
}

impl Core {
    /// Turns and tools begin and end with actions.
    pub(super) fn trace_action(&mut self, channel: &ChannelUri, action: &StateAction) {
        match action {
            StateAction::ChatTurnStarted(_) | StateAction::ChatTurnResume(_) => {
                self.trace_turn(channel);
            }
            StateAction::ChatTurnComplete(_) => self.trace_turn_end(channel, SpanOutcome::Ok),
            StateAction::ChatTurnCancelled(_) | StateAction::ChatTruncated(_) => {
                self.trace_turn_end(channel, SpanOutcome::Cancelled);
            }
            StateAction::ChatError(_) => self.trace_turn_end(channel, SpanOutcome::Error),
            StateAction::ChatToolCallStart(start) => {
                self.trace_tool(channel, &start.tool_call_id, &start.tool_name);
            }
            StateAction::ChatToolCallComplete(complete) => {
                let outcome = match complete.result.success {
                    true => SpanOutcome::Ok,
                    false => SpanOutcome::Error,
                };
                self.trace_tool_end(channel, &complete.tool_call_id, outcome);
            }
            StateAction::ChatToolCallConfirmed(confirmed) if !confirmed.approved => {
                self.trace_tool_end(channel, &confirmed.tool_call_id, SpanOutcome::Cancelled);
            }
            _ => {}
        }
    }

    fn trace_turn(&mut self, chat: &ChannelUri) {
        let open = self.begun_by(chat);
        self.traces.turns.insert(chat.clone(), open);
    }

    /// Something of a chat that begins now, and a trace with it.
    fn begun_by(&mut self, chat: &ChannelUri) -> Open {
        let span = self.next_span();
        Open {
            trace: self.trace_of(span),
            span,
            parent: None,
            began: self.now,
            attributes: self.about_chat(chat),
        }
    }

    fn trace_turn_end(&mut self, chat: &ChannelUri, outcome: SpanOutcome) {
        let Some(turn) = self.traces.turns.remove(chat) else {
            return;
        };
        // What did not get to its end has ended with the turn.
        let tools = &mut self.traces.tools;
        let left: Vec<_> = tools.keys().filter(|(of, _)| of == chat).cloned().collect();
        let left: Vec<Open> = left.iter().filter_map(|key| tools.remove(key)).collect();
        for tool in left {
            self.span_ended(SpanKind::Tool, tool, SpanOutcome::Cancelled);
        }
        self.span_ended(SpanKind::Turn, turn, outcome);
    }

    fn trace_tool(&mut self, chat: &ChannelUri, call: &str, name: &str) {
        let span = self.next_span();
        let Some(turn) = self.traces.turns.get(chat) else {
            return;
        };
        let mut attributes = turn.attributes.clone();
        attributes.push(("gen_ai.tool.name", name.to_owned()));
        let open = Open {
            trace: turn.trace,
            span,
            parent: Some(turn.span),
            began: self.now,
            attributes,
        };
        let key = (chat.clone(), call.to_owned());
        self.traces.tools.insert(key, open);
    }

    fn trace_tool_end(&mut self, chat: &ChannelUri, call: &str, outcome: SpanOutcome) {
        let key = (chat.clone(), call.to_owned());
        if let Some(tool) = self.traces.tools.remove(&key) {
            self.span_ended(SpanKind::Tool, tool, outcome);
        }
    }

    pub(crate) fn trace_agent(&mut self, backend: BackendId, chat: &ChannelUri) {
        let open = self.begun_by(chat);
        self.traces.agents.insert(backend, open);
    }

    pub(crate) fn trace_agent_end(&mut self, backend: BackendId, outcome: SpanOutcome) {
        if let Some(agent) = self.traces.agents.remove(&backend) {
            self.span_ended(SpanKind::Agent, agent, outcome);
        }
    }

    fn span_ended(&mut self, kind: SpanKind, open: Open, outcome: SpanOutcome) {
        let span = Span {
            kind,
            trace: open.trace,
            span: open.span,
            parent: open.parent,
            began: open.began,
            ended: self.now,
            outcome,
            attributes: open.attributes,
        };
        self.step.effects.push(Effect::Span(Box::new(span)));
    }

    /// Names that the protocol has anyway, and nothing that anybody said.
    fn about_chat(&self, chat: &ChannelUri) -> Attributes {
        let session = self.channels.session_of(chat);
        let known = session.as_ref().and_then(|uri| self.channels.session(uri));
        let provider = known.map(|session| session.state.provider.clone());
        let mut attributes = Attributes::new();
        attributes.extend(provider.map(|provider| ("gen_ai.agent.name", provider)));
        attributes.extend(session.map(|uri| ("innkeeper.session", uri.to_string())));
        attributes.push(("innkeeper.chat", chat.to_string()));
        attributes
    }

    /// Different from all others: by a number within this life of the host,
    /// by the nonce among all lives.
    fn next_span(&mut self) -> SpanId {
        self.traces.last += 1;
        SpanId(self.traces.last ^ (self.life_number() << 32))
    }

    fn trace_of(&self, span: SpanId) -> TraceId {
        TraceId((u128::from(self.life_number()) << 64) | u128::from(span.0))
    }

    fn life_number(&self) -> u64 {
        let nonce = self.config.nonce.get(..16).unwrap_or(&self.config.nonce);
        u64::from_str_radix(nonce, 16).unwrap_or(1).max(1)
    }

    /// Gives what was collected to those who listen.
    pub(crate) fn telemetry_collected(&mut self, batch: TelemetryBatch) {
        let teller = self.teller();
        if !batch.logs.is_empty() {
            for channel in self.logs_channels() {
                let least = Severity::of_channel(channel.as_str());
                let heard = |it: &&LogRecord| Some(it.severity) >= least;
                if batch.logs.iter().any(|record| heard(&record)) {
                    let params = OtlpExportLogsParams {
                        channel: channel.to_string(),
                        payload: teller.logs(batch.logs.iter().filter(heard)),
                    };
                    self.tell(&channel, Notification::OtlpLogs(params));
                }
            }
        }
        let traces = ChannelUri::from(TRACES_CHANNEL);
        if !batch.spans.is_empty() && self.subscriptions.has_channel(&traces) {
            let params = OtlpExportTracesParams {
                channel: traces.to_string(),
                payload: teller.traces(&batch.spans),
            };
            self.tell(&traces, Notification::OtlpTraces(params));
        }
        let metrics = ChannelUri::from(METRICS_CHANNEL);
        if let Some(payload) = batch.metrics {
            let channel = metrics.to_string();
            let params = OtlpExportMetricsParams { channel, payload };
            self.tell(&metrics, Notification::OtlpMetrics(params));
        }
    }

    /// The logs channels that somebody listens to: how they wrote the level is
    /// their choice.
    fn logs_channels(&self) -> Vec<ChannelUri> {
        let all = self.subscriptions.channels();
        all.filter(|channel| Severity::of_channel(channel.as_str()).is_some())
            .cloned()
            .collect()
    }

    fn tell(&mut self, channel: &ChannelUri, notification: Notification) {
        if let Some(to) = self.subscriptions.of_channel(channel) {
            let message = HostMessage::Notification(Box::new(notification));
            self.step.effects.push(Effect::Publish {
                to: Arc::clone(&to),
                message,
            });
        }
    }

    fn teller(&self) -> Teller {
        let info = &self.config.server_info;
        Teller {
            name: info.name.clone(),
            version: info.version.clone().unwrap_or_default(),
            instance: self.config.nonce.clone(),
        }
    }
}
