//! The vocabulary between the engine and what touches the user's machine.

/// A file or directory that matches what somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub uri: String,
    /// Relative to the directory that was searched, with `/` between segments.
    pub path: String,
    pub is_directory: bool,
}
