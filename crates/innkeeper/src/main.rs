//! The `innkeeper` program: a command line around the library.

mod cli;
mod config;

use std::process::ExitCode;

/// Large answers come and go on many threads, and what they took is to go back
/// to the system. That of the C library keeps most of it.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::main()
}
