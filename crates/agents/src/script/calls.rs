//! The steps that wait for somebody: tool calls, questions, sub-agents.

use innkeeper_protocol::agent::{
    Approval, ApprovalRequest, Decision, Delegation, Teller, ToolReady, ToolStart, ToolVerdict,
    TurnEvent,
};
use innkeeper_protocol::newest::common::StringOrMarkdown;
use innkeeper_protocol::newest::state::{
    ChatInputRequest, ToolCallContributor, ToolCallResult, ToolCallState,
};
use innkeeper_protocol::{CallId, TurnId};
use serde_json::json;

use super::pieces::pieces;
use super::player::{Answers, Outcome, Player};
use super::progress::Remaining;
use super::step::{Step, Subagent};
use super::tool::{ClientCall, Tool, text_block};

impl Player<'_> {
    fn next_call(&mut self) -> CallId {
        self.calls += 1;
        self.part_open = true;
        CallId::from(format!("call-{}", self.calls))
    }

    pub(super) async fn start_call(
        &mut self,
        name: &str,
        display_name: &str,
        contributor: Option<ToolCallContributor>,
    ) -> CallId {
        let call = self.next_call();
        let start = ToolStart {
            call: call.clone(),
            name: name.to_owned(),
            display_name: display_name.to_owned(),
            intention: None,
            contributor,
            meta: None,
        };
        self.emit(TurnEvent::ToolStarted(Box::new(start))).await;
        call
    }

    pub(super) async fn ready(
        &self,
        call: &CallId,
        input: Option<String>,
        message: String,
        approval: Approval,
    ) {
        let ready = ToolReady {
            call: call.clone(),
            input,
            message: StringOrMarkdown::Plain(message),
            approval,
            meta: None,
        };
        self.emit(TurnEvent::ToolReady(Box::new(ready))).await;
    }

    pub(super) async fn finish(&self, call: &CallId, result: ToolCallResult, confirm: bool) {
        let (call, result) = (call.to_owned(), Box::new(result));
        let finished = TurnEvent::ToolFinished {
            call,
            result,
            confirm,
        };
        self.emit(finished).await;
    }

    /// Whether a call was allowed, once that is decided.
    pub(super) async fn allowed(&self, call: &CallId) -> bool {
        let decided = |decision: &Decision| match decision {
            Decision::Tool { call: of, verdict } if of == call => {
                Some(matches!(verdict, ToolVerdict::Approved { .. }))
            }
            _ => None,
        };
        self.inbox.decision(&self.turn, decided).await
    }

    async fn result_judged(&self, call: &CallId) {
        let judged = |decision: &Decision| match decision {
            Decision::ToolResult { call: of, .. } if of == call => Some(()),
            _ => None,
        };
        self.inbox.decision(&self.turn, judged).await;
    }

    pub(super) async fn tool(&mut self, tool: &Tool) {
        let call = self.start_call(&tool.name, tool.display_name(), None).await;
        let input = tool.input();
        if let Some(chunks) = tool.input_chunks {
            for piece in pieces(&input, Some(chunks)) {
                let (call, content) = (call.clone(), piece.to_owned());
                self.emit(TurnEvent::ToolInput { call, content }).await;
            }
        }
        let approval = tool.approval();
        let asks = matches!(approval, Approval::Needed(_));
        let message = tool.display_name().to_owned();
        self.ready(&call, Some(input), message, approval).await;
        if !asks || self.allowed(&call).await {
            self.run_tool(tool, &call).await;
        }
    }

    async fn run_tool(&mut self, tool: &Tool, call: &CallId) {
        let mut content = Vec::new();
        for piece in &tool.content {
            tokio::time::sleep(tool.pause()).await;
            content.push(text_block(piece.clone()));
            let (call, content) = (call.to_owned(), content.clone());
            self.emit(TurnEvent::ToolContent { call, content }).await;
        }
        tokio::time::sleep(tool.pause()).await;
        if let Some(message) = &tool.reconfirm {
            let approval = Approval::Needed(ApprovalRequest::default());
            self.ready(call, None, message.clone(), approval).await;
            if !self.allowed(call).await {
                return;
            }
        }
        self.finish(call, tool.result(), tool.confirm_result).await;
        if tool.confirm_result {
            self.result_judged(call).await;
        }
    }

    /// Goes on with a call that began before the turn was interrupted.
    pub(super) async fn take_up_call(&mut self, step: Step, state: ToolCallState) {
        let (call, runs) = match &state {
            ToolCallState::PendingConfirmation(state) => {
                let call = CallId::from(&state.tool_call_id);
                let allowed = self.allowed(&call).await;
                (call, allowed)
            }
            ToolCallState::Running(state) => (CallId::from(&state.tool_call_id), true),
            ToolCallState::PendingResultConfirmation(state) => {
                let call = CallId::from(&state.tool_call_id);
                return self.result_judged(&call).await;
            }
            _ => return,
        };
        if !runs {
            return;
        }
        match step {
            Step::Tool(tool) => self.run_tool(&tool, &call).await,
            Step::Edit(edit) => self.make_edit(&edit, &call).await,
            Step::Terminal(step) => self.run_in_terminal(&step, &call).await,
            _ => {}
        }
    }

    pub(super) async fn client_tool(&mut self, wanted: &ClientCall) {
        let owner = self.memory.lock().owner_of(&wanted.name);
        let Some((contributor, title)) = owner else {
            let call = self.start_call(&wanted.name, &wanted.name, None).await;
            let message = format!("No client offers the tool {}.", wanted.name);
            let result = ToolCallResult {
                success: false,
                past_tense_message: StringOrMarkdown::Plain(message.clone()),
                content: None,
                structured_content: None,
                error: Some(json!({ "message": message })),
            };
            return self.finish(&call, result, false).await;
        };
        let call = self
            .start_call(&wanted.name, &title, Some(contributor))
            .await;
        let input = serde_json::to_string(&wanted.input).unwrap_or_default();
        self.ready(&call, Some(input), title, Approval::NotNeeded)
            .await;
        let settled = |decision: &Decision| match decision {
            Decision::ClientTool { call: of, .. } | Decision::ToolResult { call: of, .. }
                if *of == call =>
            {
                Some(())
            }
            _ => None,
        };
        self.inbox.decision(&self.turn, settled).await;
    }

    pub(super) async fn await_answer(&mut self, request: ChatInputRequest) {
        self.part_open = true;
        let answered = |decision: &Decision| match decision {
            Decision::Answer {
                request: of,
                response,
                answers,
            } if *of == request.id => Some((*response, answers.clone())),
            _ => None,
        };
        let (response, given) = self.inbox.decision(&self.turn, answered).await;
        self.answers.add(&request, response, &given);
    }

    pub(super) async fn subagent(&mut self, subagent: Subagent) -> Option<Outcome> {
        let Subagent { title, steps } = subagent;
        let call = self.start_call("subagent", &title, None).await;
        let message = format!("Delegate to {title}");
        self.ready(&call, None, message, Approval::NotNeeded).await;
        let turn: TurnId = format!("{}/{call}", self.turn).into();
        let delegation = Delegation {
            call: call.clone(),
            turn: turn.clone(),
            title: title.clone(),
            agent_name: Some("script".to_owned()),
            description: None,
            message: title.clone(),
            told_by: Teller::Tool,
            in_background: false,
        };
        self.emit(TurnEvent::Delegated(Box::new(delegation))).await;
        let player = Player {
            events: self.events,
            turn: turn.clone(),
            message: self.message,
            memory: self.memory,
            inbox: self.inbox,
            part_open: false,
            calls: 0,
            answers: Answers::default(),
        };
        let ended = tokio::select! {
            biased;
            () = self.inbox.cancelled(&turn) => None,
            outcome = player.play(Remaining::all(steps)) => Some(outcome),
        };
        let (event, problem) = match ended {
            None => (TurnEvent::Cancelled, Some("was cancelled".to_owned())),
            Some(Outcome::Completed) => (TurnEvent::Completed, None),
            Some(Outcome::Crashed) => return Some(Outcome::Crashed),
            Some(Outcome::Failed(failure)) => {
                let problem = failure.message.clone();
                let failed = super::backend::failed(&failure.error_type, failure.message, false);
                (failed, Some(problem))
            }
        };
        self.events.turn(&turn, event).await;
        let result = ToolCallResult {
            success: problem.is_none(),
            past_tense_message: StringOrMarkdown::Plain(format!("Delegated to {title}")),
            content: None,
            structured_content: None,
            error: problem.map(|problem| json!({ "message": problem })),
        };
        self.finish(&call, result, false).await;
        None
    }
}
