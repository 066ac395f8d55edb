//! `innkeeper man`: the manual pages, written from what `--help` says.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, CommandFactory as _};

use super::{Cli, Outcome};

#[derive(Debug, Args)]
pub(crate) struct ManualArgs {
    /// Directory to write to; it is created if it does not exist
    directory: PathBuf,
}

/// One page for the program and one for each command, except hidden ones.
pub(crate) fn write(args: &ManualArgs) -> Outcome {
    let directory = &args.directory;
    let unwritten = || {
        let directory = directory.display();
        format!("the manual pages cannot be written to {directory}; name another directory")
    };
    std::fs::create_dir_all(directory).with_context(unwritten)?;
    clap_mangen::generate_to(Cli::command(), directory).with_context(unwritten)?;
    Ok(())
}
