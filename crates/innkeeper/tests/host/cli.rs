//! The program as its users call it: the real binary, in data directories of
//! its own, on free ports.

mod background;
mod backup;
mod database;
mod doctor;
mod ending;
mod harness;
mod leftovers;
mod life;
mod private;
mod run;
mod scripts;
mod search;
mod serve;
mod sessions;
mod tokens;
mod usage;
