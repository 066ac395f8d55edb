//! `--json` of the commands that do something: what they did, in a sentence for
//! people or as an object for programs.

use clap::Args;
use serde_json::Value;

use super::{Outcome, print};

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DoneArgs {
    /// Print the result as a JSON object
    #[arg(long)]
    json: bool,
}

impl DoneArgs {
    pub(crate) fn say(self, sentences: &str, object: &Value) -> Outcome {
        match self.json {
            true => print(&(serde_json::to_string_pretty(object)? + "\n")),
            false => print(&format!("{sentences}\n")),
        }
    }

    pub(crate) fn is_json(self) -> bool {
        self.json
    }
}
