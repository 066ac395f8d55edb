//! What a client may ask about the machine that the host runs on: files,
//! watches, terminals.

use serde_json::value::RawValue;

use super::decode;
use crate::house::commands::{
    CreateResourceWatchParams, CreateTerminalParams, DisposeTerminalParams, ResourceCopyParams,
    ResourceDeleteParams, ResourceListParams, ResourceMkdirParams, ResourceMoveParams,
    ResourceRequestParams, ResourceResolveParams, ResourceWriteParams,
};
use crate::rpc::RpcError;

#[derive(Debug)]
pub enum WorkspaceCommand {
    Write(ResourceWriteParams),
    List(ResourceListParams),
    Copy(ResourceCopyParams),
    Move(ResourceMoveParams),
    Delete(ResourceDeleteParams),
    Resolve(ResourceResolveParams),
    Mkdir(ResourceMkdirParams),
    /// Asks to be allowed something.
    Request(ResourceRequestParams),
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
            "resourceWrite" => decode(method, params).map(Self::Write),
            "resourceList" => decode(method, params).map(Self::List),
            "resourceCopy" => decode(method, params).map(Self::Copy),
            "resourceMove" => decode(method, params).map(Self::Move),
            "resourceDelete" => decode(method, params).map(Self::Delete),
            "resourceResolve" => decode(method, params).map(Self::Resolve),
            "resourceMkdir" => decode(method, params).map(Self::Mkdir),
            "resourceRequest" => decode(method, params).map(Self::Request),
            "createResourceWatch" => decode(method, params).map(Self::Watch),
            "createTerminal" => decode(method, params).map(Self::CreateTerminal),
            "disposeTerminal" => decode(method, params).map(Self::DisposeTerminal),
            _ => return None,
        })
    }

    /// The channel that it is about: a session's directories may be meant.
    pub fn channel(&self) -> &str {
        match self {
            Self::Write(params) => &params.channel,
            Self::List(params) => &params.channel,
            Self::Copy(params) => &params.channel,
            Self::Move(params) => &params.channel,
            Self::Delete(params) => &params.channel,
            Self::Resolve(params) => &params.channel,
            Self::Mkdir(params) => &params.channel,
            Self::Request(params) => &params.channel,
            Self::Watch(params) => &params.channel,
            Self::CreateTerminal(params) => &params.channel,
            Self::DisposeTerminal(params) => &params.channel,
        }
    }
}
