//! What was asked of servers, and for whom.
//!
//! *Invariant*: whoever asked is answered once, whatever becomes of the server;
//! what nobody waits for any more is cancelled.

use std::time::Duration;

use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::mcp::hosted::{
    BearerToken, McpCallError, McpCallId, McpCommand, ServerRun,
};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::McpAuthRequirement;
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::{CallId, ChannelUri, Timestamp, TurnId};
use serde_json::{Value, json};

use super::{Phase, Place, Servers};
use crate::core::Core;
use crate::effect::{ConnectionId, Effect};

/// What one connection may have asked of servers at a time.
const MOST_OF_CONNECTION: usize = 32;

/// How much a server may say of how far a call is, and how often that is shown.
const MOST_WORDS: usize = 1_000;
const BETWEEN: Duration = Duration::from_secs(1);

/// A call of a tool in a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolCaller {
    pub(crate) chat: ChannelUri,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
}

/// Who waits for an answer.
#[derive(Debug)]
pub(super) struct Caller {
    run: ServerRun,
    who: Who,
}

#[derive(Debug)]
enum Who {
    Tool {
        caller: ToolCaller,
        place: Place,
        /// To ask again, when somebody has signed in.
        params: JsonObject,
        /// When it was last shown how far it is.
        shown: Option<Timestamp>,
    },
    Client {
        connection: ConnectionId,
        id: RequestId,
    },
}

/// A tool call that waits for somebody to sign in.
#[derive(Debug)]
pub(super) struct Blocked {
    pub(super) caller: ToolCaller,
    pub(super) place: Place,
    pub(super) wants: Box<McpAuthRequirement>,
    /// What the server was not content with.
    refused: Option<BearerToken>,
    params: JsonObject,
}

/// What came of a tool call.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) caller: ToolCaller,
    pub(crate) outcome: Outcome,
}

#[derive(Debug)]
pub(crate) enum Outcome {
    /// The result, in the words of MCP.
    Done(Value),
    Failed(String),
    /// It goes on when somebody has signed in.
    AuthRequired(Box<McpAuthRequirement>),
    /// Somebody has, and it goes on.
    GoesOn,
    /// How far it is, for people.
    Progress(String),
}

/// What a server says of how far it is.
fn in_words(params: &JsonObject) -> Option<String> {
    let number = |key: &str| params.get(key).filter(|it| it.is_number());
    let far = match (number("progress"), number("total")) {
        (Some(progress), Some(total)) => Some(format!("{progress} of {total}")),
        (Some(progress), None) => Some(progress.to_string()),
        (None, _) => None,
    };
    let message = params.get("message").and_then(Value::as_str);
    let message = message.map(|text| cut(text.trim(), MOST_WORDS));
    match (message.filter(|text| !text.is_empty()), far) {
        (Some(message), Some(far)) => Some(format!("{message} ({far})")),
        (Some(message), None) => Some(message.to_owned()),
        (None, far) => far,
    }
}

impl Servers {
    /// Calls a tool of a server that a session has; or says why that cannot be.
    pub(crate) fn call_tool(
        &mut self,
        core: &mut Core,
        (session, id): (&ChannelUri, &str),
        caller: ToolCaller,
        params: JsonObject,
    ) -> Result<(), String> {
        let place = self.used.get(session).and_then(|used| used.get(id));
        let place = place.ok_or("the MCP server of this tool has been stopped; start it again")?;
        let place = place.clone();
        self.call_tool_at(core, place, caller, params)
    }

    fn call_tool_at(
        &mut self,
        core: &mut Core,
        place: Place,
        caller: ToolCaller,
        params: JsonObject,
    ) -> Result<(), String> {
        let server = self.known.get(&place);
        let ready = server.filter(|server| server.phase == Phase::Ready);
        let run = ready.and_then(|server| server.run);
        let run = run.ok_or("the MCP server of this tool is not ready; see how it is")?;
        let who = Who::Tool {
            caller,
            place,
            params: params.clone(),
            shown: None,
        };
        self.ask(core, run, who, "tools/call".to_owned(), Some(params));
        Ok(())
    }

    /// Asks a server something for a client.
    pub(super) fn ask_for_client(
        &mut self,
        core: &mut Core,
        run: ServerRun,
        (connection, id): (ConnectionId, RequestId),
        (method, params): (String, Option<JsonObject>),
    ) -> Result<(), RpcError> {
        let is_own =
            |who: &Who| matches!(who, Who::Client { connection: of, .. } if *of == connection);
        let open = self.calls.values().filter(|caller| is_own(&caller.who));
        if open.count() >= MOST_OF_CONNECTION {
            return Err(RpcError::internal(format!(
                "{MOST_OF_CONNECTION} requests to MCP servers are open already; wait for one"
            )));
        }
        self.ask(core, run, Who::Client { connection, id }, method, params);
        Ok(())
    }

    fn ask(
        &mut self,
        core: &mut Core,
        run: ServerRun,
        who: Who,
        method: String,
        mut params: Option<JsonObject>,
    ) {
        self.last_call += 1;
        let call = McpCallId(self.last_call);
        if let (Who::Tool { .. }, Some(params)) = (&who, &mut params) {
            // So that the server says how far it is.
            params.insert("_meta".to_owned(), json!({"progressToken": call.0}));
        }
        self.calls.insert(call, Caller { run, who });
        core.effect(Effect::Mcp(McpCommand::Call {
            run,
            call,
            method,
            params,
        }));
    }

    /// A server says how far a call is: it is shown now and then.
    pub(super) fn goes_on(&mut self, core: &Core, run: ServerRun, params: &JsonObject) {
        let token = params.get("progressToken").and_then(Value::as_u64);
        let of_run = token.and_then(|token| self.calls.get_mut(&McpCallId(token)));
        let Some(Caller { who, .. }) = of_run.filter(|caller| caller.run == run) else {
            return;
        };
        let (Who::Tool { caller, shown, .. }, Some(text)) = (who, in_words(params)) else {
            return;
        };
        if shown.is_some_and(|at| core.now < at.after(BETWEEN)) {
            return;
        }
        *shown = Some(core.now);
        let (caller, outcome) = (caller.clone(), Outcome::Progress(text));
        self.news.answered.push(Answered { caller, outcome });
    }

    /// A server answered.
    pub(super) fn answered(
        &mut self,
        core: &mut Core,
        call: McpCallId,
        outcome: Result<Value, McpCallError>,
    ) {
        let Some(Caller { who, .. }) = self.calls.remove(&call) else {
            return;
        };
        match who {
            Who::Client { connection, id } => {
                let outcome = outcome.map(Reply::Mcp).map_err(|error| match error {
                    McpCallError::Said(error) => error,
                    McpCallError::AuthRequired(wants) => self.challenged(&wants),
                    McpCallError::Lost(why) => RpcError::internal(why),
                });
                core.answer(connection, Some(id), outcome);
            }
            Who::Tool {
                caller,
                place,
                params,
                shown: _,
            } => {
                let outcome = match outcome {
                    Ok(result) => Outcome::Done(result),
                    Err(McpCallError::Said(error)) => Outcome::Failed(error.message),
                    Err(McpCallError::Lost(why)) => Outcome::Failed(why),
                    Err(McpCallError::AuthRequired(wants)) => {
                        let resource = wants.resource.resource.clone();
                        let refused = self.tokens.get(&resource);
                        let refused = refused.map(|granted| granted.token.clone());
                        self.challenged(&wants);
                        if let Some(server) = self.known.get_mut(&place) {
                            server.resource = Some(resource);
                        }
                        self.blocked.push(Blocked {
                            caller: caller.clone(),
                            place,
                            wants: wants.clone(),
                            refused,
                            params,
                        });
                        Outcome::AuthRequired(wants)
                    }
                };
                self.news.answered.push(Answered { caller, outcome });
            }
        }
    }

    /// Calls again what waited for a sign-in, where somebody has signed in and
    /// the server is ready.
    pub(super) fn call_again(&mut self, core: &mut Core) {
        let all = std::mem::take(&mut self.blocked).into_iter();
        let (again, still): (Vec<_>, Vec<_>) = all.partition(|it| {
            let server = self.known.get(&it.place);
            let is_ready = server.is_some_and(|server| server.phase == Phase::Ready);
            let granted = self.tokens.get(&it.wants.resource.resource);
            let may_do = granted.is_some_and(|granted| {
                Some(&granted.token) != it.refused.as_ref() && granted.satisfies(&it.wants)
            });
            is_ready && may_do
        });
        self.blocked = still;
        for blocked in again {
            let caller = blocked.caller.clone();
            let goes_on = Answered {
                caller: caller.clone(),
                outcome: Outcome::GoesOn,
            };
            self.news.answered.push(goes_on);
            let again = self.call_tool_at(core, blocked.place, blocked.caller, blocked.params);
            if let Err(why) = again {
                let outcome = Outcome::Failed(why);
                self.news.answered.push(Answered { caller, outcome });
            }
        }
    }

    /// A server is gone for good, and with it what waited for it.
    pub(super) fn give_up_blocked(&mut self, place: &Place) {
        let all = std::mem::take(&mut self.blocked).into_iter();
        let (over, still): (Vec<_>, Vec<_>) = all.partition(|it| it.place == *place);
        self.blocked = still;
        let answered = over.into_iter().map(|it| Answered {
            caller: it.caller,
            outcome: Outcome::Failed("the MCP server was stopped".to_owned()),
        });
        self.news.answered.extend(answered);
    }

    /// A turn is over: nobody waits for its calls.
    pub(crate) fn end_calls_of(&mut self, core: &mut Core, chat: &ChannelUri) {
        self.blocked.retain(|it| it.caller.chat != *chat);
        self.cancel(
            core,
            |who| matches!(who, Who::Tool { caller, .. } if caller.chat == *chat),
        );
    }

    /// Somebody ended a call that waited for a sign-in.
    pub(crate) fn unblock(&mut self, chat: &ChannelUri, call: &str) {
        self.blocked
            .retain(|it| it.caller.chat != *chat || &*it.caller.call != call);
    }

    pub(crate) fn forget_connection(&mut self, core: &mut Core, connection: ConnectionId) {
        self.cancel(
            core,
            |who| matches!(who, Who::Client { connection: of, .. } if *of == connection),
        );
    }

    fn cancel(&mut self, core: &mut Core, is_over: impl Fn(&Who) -> bool) {
        // Most of the time nothing is asked of any server.
        let over = self.calls.iter().filter(|(_, caller)| is_over(&caller.who));
        let over: Vec<(McpCallId, ServerRun)> = over.map(|(id, it)| (*id, it.run)).collect();
        for (call, run) in over {
            self.calls.remove(&call);
            core.effect(Effect::Mcp(McpCommand::Cancel { run, call }));
        }
    }

    /// A run is over: whoever waits for it hears so.
    pub(super) fn fail_calls_of(&mut self, core: &mut Core, run: ServerRun) {
        let over = self.calls.iter().filter(|(_, caller)| caller.run == run);
        let mut over: Vec<McpCallId> = over.map(|(id, _)| *id).collect();
        over.sort();
        for call in over {
            let why = "the MCP server was stopped".to_owned();
            self.answered(core, call, Err(McpCallError::Lost(why)));
        }
    }
}
