//! Changes, with a real git in directories of their own.

mod before_turns;
mod checkpoints;
mod directories;
mod hostile;
mod kept_working;
mod leftovers;
mod operations;
mod stage;
mod views;
mod worktrees;
