//! The program as its users call it: the real binary, in data directories of
//! its own, on free ports.

mod backup;
mod doctor;
mod ending;
mod harness;
mod leftovers;
mod private;
mod run;
mod search;
mod serve;
mod sessions;
mod usage;
