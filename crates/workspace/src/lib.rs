//! What touches the user's machine: files, watches, terminals, changes.
//!
//! So far the host shows nothing of the machine that it runs on; what will is
//! built here, behind effects and inputs of the engine as agents are.
