//! The `innkeeper` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    innkeeper::cli::main()
}
