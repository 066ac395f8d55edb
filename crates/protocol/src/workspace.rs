//! The vocabulary between the engine and what touches the user's machine. The
//! engine says what is wanted and within which roots; whoever carries it out
//! knows the machine, and decides nothing.

pub mod changes;
pub mod customization;
pub mod lines;
pub mod resource;
pub mod terminal;
pub mod watch;

/// A file or directory that matches what somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    pub uri: String,
    /// Relative to the directory that was searched, with `/` between segments.
    pub path: String,
    pub is_directory: bool,
}
