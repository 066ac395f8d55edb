//! The `innkeeper` program: a command line around the library.

mod cli;
mod config;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
