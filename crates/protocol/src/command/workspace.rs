//! What a client may ask about the machine that the host runs on: files,
//! watches, terminals.

use serde_json::value::RawValue;

use super::decode;
use crate::newest::commands::{
    CreateResourceWatchParams, CreateTerminalParams, DisposeTerminalParams,
};
use crate::resource_call::ResourceCall;
use crate::rpc::RpcError;

#[derive(Debug)]
pub enum WorkspaceCommand {
    Resource(ResourceCall),
    Watch(CreateResourceWatchParams),
    CreateTerminal(CreateTerminalParams),
    DisposeTerminal(DisposeTerminalParams),
}

impl WorkspaceCommand {
    /// `None` if the method is none of these.
    pub(super) fn decode(
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Result<Self, RpcError>> {
        Some(match method {
            "createResourceWatch" => decode(method, params).map(Self::Watch),
            "createTerminal" => decode(method, params).map(Self::CreateTerminal),
            "disposeTerminal" => decode(method, params).map(Self::DisposeTerminal),
            _ => ResourceCall::decode(method, params)?.map(Self::Resource),
        })
    }

    /// The channel that it is about: a session's directories may be meant.
    pub fn channel(&self) -> &str {
        match self {
            Self::Resource(call) => call.channel(),
            Self::Watch(params) => &params.channel,
            Self::CreateTerminal(params) => &params.channel,
            Self::DisposeTerminal(params) => &params.channel,
        }
    }
}
