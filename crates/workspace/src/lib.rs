//! What touches the user's machine, behind effects and inputs of the engine as
//! agents are.
//!
//! - [`FileFinder`]: the files of a directory that match what somebody types.
//!
//! *Boundary*: nothing here decides; it does what the engine asks for.

mod finder;

pub use finder::FileFinder;
