//! Files and directories: what is asked, within which roots, and the answers.

mod json;

use std::any::Any;
use std::sync::Arc;

use bytes::Bytes;

use crate::newest::commands::{DirectoryEntry, ResourceResolveResult, ResourceWriteMode};
use crate::outgoing::Finished;
use crate::record::ContentRecord;

/// What somebody may reach: everything below these, and nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// Lists that others share: there may be thousands of roots, and every
    /// request has a scope.
    pub lists: Vec<Roots>,
    /// The largest content that is read or written in one go.
    pub most_bytes: usize,
}

/// Places that somebody may reach.
pub type Roots = Arc<Vec<GrantedRoot>>;

impl Scope {
    pub fn new(roots: Vec<GrantedRoot>, most_bytes: usize) -> Self {
        Self {
            lists: vec![Arc::new(roots)],
            most_bytes,
        }
    }

    pub fn roots(&self) -> impl Iterator<Item = &GrantedRoot> + Clone {
        self.lists.iter().flat_map(|list| list.iter())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedRoot {
    /// A `file:` URI, of a directory or of a single file.
    pub uri: String,
    pub writable: bool,
}

/// One thing to do with files.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceTask {
    Read { uri: String },
    Write(WriteTask),
    List { uri: String },
    Copy(TransferTask),
    Move(TransferTask),
    Delete { uri: String, recursive: bool },
    Resolve { uri: String, follow_symlinks: bool },
    Mkdir { uri: String },
}

impl ResourceTask {
    /// Whether it is more than a question.
    pub fn changes_something(&self) -> bool {
        match self {
            Self::Read { .. } | Self::List { .. } | Self::Resolve { .. } => false,
            Self::Write(_)
            | Self::Copy(_)
            | Self::Move(_)
            | Self::Delete { .. }
            | Self::Mkdir { .. } => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct WriteTask {
    pub uri: String,
    pub data: WriteData,
    pub create_only: bool,
    pub mode: ResourceWriteMode,
    pub position: u64,
    pub if_match: Option<String>,
}

/// What is written, as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteData {
    Plain(Bytes),
    Base64(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferTask {
    pub source: String,
    pub destination: String,
    pub fail_if_exists: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceDone {
    Done,
    Content {
        data: Bytes,
        content_type: Option<String>,
    },
    Entries(Vec<DirectoryEntry>),
    Resolved(ResourceResolveResult),
}

impl ResourceDone {
    /// What the host keeps under a URI of its own.
    pub fn kept(uri: &str, content: Option<ContentRecord>) -> Result<Self, ResourceError> {
        match content {
            Some(content) => Ok(Self::Content {
                data: content.data,
                content_type: Some(content.content_type),
            }),
            None => Err(ResourceError::NotFound {
                uri: uri.to_owned(),
            }),
        }
    }
}

/// Content that a client brought, as it will be kept, and the answer to that.
#[derive(Debug)]
pub struct TakenContent {
    pub data: Bytes,
    pub answer: Finished,
}

impl TakenContent {
    /// Content of at most so many bytes, for a name that `known` has if anybody
    /// has it. The answer holds on to `held`.
    pub fn new(
        uri: &str,
        known: Option<&ContentRecord>,
        data: WriteData,
        most_bytes: usize,
        held: impl Any + Send + Sync,
    ) -> Result<Self, ResourceError> {
        let uri = || uri.to_owned();
        if known.is_some() {
            return Err(ResourceError::AlreadyExists { uri: uri() });
        }
        let data = match data {
            WriteData::Plain(data) => data,
            WriteData::Base64(_) => Bytes::from(data.decoded()?.into_owned()),
        };
        if data.len() > most_bytes {
            let (uri, most) = (uri(), most_bytes);
            return Err(ResourceError::TooLarge { uri, most });
        }
        let answer = Finished::new(ResourceDone::Done.into_json(None)?, held);
        Ok(Self { data, answer })
    }
}

/// Why it could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    #[error("`{uri}` does not exist")]
    NotFound { uri: String },
    /// Outside of the scope. A grant for `uri` would help.
    #[error("`{uri}` is not among what this host shows to clients; ask with `resourceRequest`")]
    OutOfScope { uri: String, write: bool },
    /// Refused whatever is granted, by the system or because a link leads
    /// elsewhere.
    #[error("`{uri}` is out of reach: {reason}")]
    Refused { uri: String, reason: String },
    #[error("`{uri}` exists already")]
    AlreadyExists { uri: String },
    #[error("`{uri}` has changed since it was resolved; resolve it again")]
    Conflict { uri: String },
    #[error(
        "`{uri}` has more than {most} bytes, the most that goes over the wire at once; raise \
         limits.resource_bytes"
    )]
    TooLarge { uri: String, most: usize },
    #[error("{0}")]
    Invalid(String),
    #[error("`{uri}`: {reason}")]
    Failed { uri: String, reason: String },
}
