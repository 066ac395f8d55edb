//! The requests of the `resource*` family, which is the same in both
//! directions: clients ask the host about files, and the host asks a client
//! about what that client has, in the words of the client's version.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::ChannelUri;
use crate::command::decode;
use crate::gates::{Object, down, tree};
use crate::newest::commands::{
    ResourceCopyParams, ResourceDeleteParams, ResourceListParams, ResourceMkdirParams,
    ResourceMoveParams, ResourceReadParams, ResourceRequestParams, ResourceResolveParams,
    ResourceWriteParams,
};
use crate::rpc::RpcError;
use crate::version::Version;

/// One request about one thing, or about two ends of the same.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum ResourceCall {
    Read(Box<ResourceReadParams>),
    List(Box<ResourceListParams>),
    Resolve(Box<ResourceResolveParams>),
    Write(Box<ResourceWriteParams>),
    Mkdir(Box<ResourceMkdirParams>),
    Copy(Box<ResourceCopyParams>),
    Move(Box<ResourceMoveParams>),
    Delete(Box<ResourceDeleteParams>),
    /// Asks to be allowed something.
    Request(Box<ResourceRequestParams>),
}

/// What the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Content,
    Entries,
    Resolved,
    /// That it is done.
    Nothing,
}

/// Does the same with the parameters of every call.
macro_rules! with_params {
    ($call:expr, $params:ident => $does:expr) => {
        match $call {
            ResourceCall::Read($params) => $does,
            ResourceCall::List($params) => $does,
            ResourceCall::Resolve($params) => $does,
            ResourceCall::Write($params) => $does,
            ResourceCall::Mkdir($params) => $does,
            ResourceCall::Copy($params) => $does,
            ResourceCall::Move($params) => $does,
            ResourceCall::Delete($params) => $does,
            ResourceCall::Request($params) => $does,
        }
    };
}

impl ResourceCall {
    /// `None` if the method is none of these.
    pub(crate) fn decode(
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Result<Self, RpcError>> {
        Some(match method {
            "resourceRead" => decode(method, params).map(Self::Read),
            "resourceList" => decode(method, params).map(Self::List),
            "resourceResolve" => decode(method, params).map(Self::Resolve),
            "resourceWrite" => decode(method, params).map(Self::Write),
            "resourceMkdir" => decode(method, params).map(Self::Mkdir),
            "resourceCopy" => decode(method, params).map(Self::Copy),
            "resourceMove" => decode(method, params).map(Self::Move),
            "resourceDelete" => decode(method, params).map(Self::Delete),
            "resourceRequest" => decode(method, params).map(Self::Request),
            _ => return None,
        })
    }

    pub fn method(&self) -> &'static str {
        match self {
            Self::Read(_) => "resourceRead",
            Self::List(_) => "resourceList",
            Self::Resolve(_) => "resourceResolve",
            Self::Write(_) => "resourceWrite",
            Self::Mkdir(_) => "resourceMkdir",
            Self::Copy(_) => "resourceCopy",
            Self::Move(_) => "resourceMove",
            Self::Delete(_) => "resourceDelete",
            Self::Request(_) => "resourceRequest",
        }
    }

    /// The channel that it is about: a session's directories may be meant.
    pub fn channel(&self) -> &str {
        with_params!(self, params => &params.channel)
    }

    /// What it is about, and the other end where there are two.
    pub fn uris(&self) -> (&str, Option<&str>) {
        match self {
            Self::Read(params) => (&params.uri, None),
            Self::List(params) => (&params.uri, None),
            Self::Resolve(params) => (&params.uri, None),
            Self::Write(params) => (&params.uri, None),
            Self::Mkdir(params) => (&params.uri, None),
            Self::Copy(params) => (&params.source, Some(&params.destination)),
            Self::Move(params) => (&params.source, Some(&params.destination)),
            Self::Delete(params) => (&params.uri, None),
            Self::Request(params) => (&params.uri, None),
        }
    }

    pub fn expected(&self) -> Expected {
        match self {
            Self::Read(_) => Expected::Content,
            Self::List(_) => Expected::Entries,
            Self::Resolve(_) => Expected::Resolved,
            Self::Write(_)
            | Self::Mkdir(_)
            | Self::Copy(_)
            | Self::Move(_)
            | Self::Delete(_)
            | Self::Request(_) => Expected::Nothing,
        }
    }

    /// How much content goes with it.
    pub fn content_bytes(&self) -> usize {
        match self {
            Self::Write(params) => params.data.len(),
            Self::Read(_)
            | Self::List(_)
            | Self::Resolve(_)
            | Self::Mkdir(_)
            | Self::Copy(_)
            | Self::Move(_)
            | Self::Delete(_)
            | Self::Request(_) => 0,
        }
    }

    /// The same, asked by the host: what another client meant by its channel
    /// is nothing that the asked one knows.
    #[must_use]
    pub fn of_host(mut self) -> Self {
        with_params!(&mut self, params => {
            params.channel = ChannelUri::root().to_string();
            params.meta = None;
        });
        self
    }

    /// Whether a client of that version can be asked this.
    pub fn can_be_asked_in(&self, version: Version) -> bool {
        version == Version::NEWEST || matches!(self.lowered(version), Ok(Some(_)))
    }

    pub(crate) fn lowered(&self, version: Version) -> serde_json::Result<Option<Object>> {
        let params = tree::build(self)?;
        Ok(down::question(version, self.method(), params))
    }
}
