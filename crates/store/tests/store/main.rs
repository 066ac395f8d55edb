//! The store through its public face, one file a concern.

mod common;
mod directory;
mod log;
mod migrations;
mod model;
mod sequence;
mod sessions;
