//! Watches: directories and files whose changes somebody wants to hear of.

use crate::newest::state::ResourceChange;
use crate::workspace::resource::{ResourceError, Scope};

/// One watch. The engine gives these out, each only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WatchId(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub enum WatchCommand {
    Open {
        watch: WatchId,
        open: Box<OpenWatch>,
    },
    Close {
        watch: WatchId,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenWatch {
    pub uri: String,
    pub recursive: bool,
    /// Globs or paths, relative to `uri`; everything, if there are none.
    pub includes: Vec<String>,
    pub excludes: Vec<String>,
    pub scope: Scope,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WatchReport {
    pub watch: WatchId,
    pub event: WatchEvent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum WatchEvent {
    Opened,
    OpenFailed(ResourceError),
    Changed(Vec<ResourceChange>),
    /// Changes were lost: whoever watches must look for itself.
    Overflowed,
}
