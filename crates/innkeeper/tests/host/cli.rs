//! The program as its users call it: the real binary, in data directories of
//! its own, on free ports.

mod ending;
mod harness;
mod private;
mod run;
mod serve;
mod sessions;
mod usage;
