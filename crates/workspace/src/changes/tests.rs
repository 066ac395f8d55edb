//! Changes, with a real git in directories of their own.

mod before_turns;
mod branches;
mod checkpoints;
mod directories;
mod hostile;
mod kept_working;
mod leftovers;
mod operations;
mod pushing;
mod stage;
mod take_backs;
mod views;
mod worktrees;
