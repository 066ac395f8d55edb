//! What touches the user's machine, behind effects and inputs of the engine as
//! agents are.
//!
//! - [`ChangesService`]: what differs in the directories of sessions, and what was kept of it;
//! - [`CustomizationService`]: agents, skills, rules and the like that people have;
//! - [`FileFinder`]: the files of a directory that match what somebody types;
//! - [`Hub`]: the one watcher of files that the others listen to;
//! - [`ResourceService`]: files and directories, within the roots that were granted;
//! - [`TerminalService`]: a pty each, with a shell or a command in it;
//! - [`WatchService`]: what changes below a directory, in batches.
//!
//! *Boundary*: nothing here decides; it does what the engine asks for.

mod changes;
mod customizations;
mod finder;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod hub;
#[cfg(not(feature = "terminals"))]
mod no_terminals;
mod pool;
mod resources;
mod terminal_options;
#[cfg(feature = "terminals")]
mod terminals;
mod watches;

pub use changes::{ChangesService, ChangesSink, LEAST_GIT, judge_git, kept_in, trees_in};
pub use customizations::{CustomizationOptions, CustomizationService, CustomizationSink};
pub use finder::FileFinder;
pub use hub::Hub;
#[cfg(not(feature = "terminals"))]
pub use no_terminals::TerminalService;
pub use resources::ResourceService;
pub use resources::place::{path_of_uri, uri_of_path, why_not_directory};
pub use terminal_options::{TerminalOptions, TerminalSink};
#[cfg(feature = "terminals")]
pub use terminals::{TerminalService, shell_of_user};
pub use watches::{WatchService, WatchSink};
