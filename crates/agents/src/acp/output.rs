//! Output of commands that the agent runs in terminals of its own, which some
//! agents put into `_meta` along with a tool call.

use innkeeper_protocol::newest::common::JsonObject;
use serde_json::Value;

/// What is kept of it: the end says more than the beginning.
const KEPT: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct Output {
    text: String,
    exit_code: Option<i64>,
}

impl Output {
    pub(super) fn take_in(&mut self, meta: &JsonObject) {
        for key in ["terminal_output", "terminal_output_delta"] {
            if let Some(data) = meta.get(key).and_then(|output| output["data"].as_str()) {
                self.add(data);
            }
        }
        if let Some(code) = meta.get("terminal_exit").map(|exit| &exit["exit_code"]) {
            self.exit_code = code.as_i64().or(self.exit_code);
        }
    }

    /// Some send what is new, some all that there is.
    fn add(&mut self, data: &str) {
        if !self.text.is_empty() && data.len() > self.text.len() && data.starts_with(&self.text) {
            self.text.clear();
        }
        self.text.push_str(data);
        if self.text.len() > KEPT {
            keep_end(&mut self.text, KEPT);
        }
    }

    pub(super) fn text(&self) -> Option<String> {
        (!self.text.is_empty()).then(|| self.text.clone())
    }

    pub(super) fn exit_code(&self) -> Option<i64> {
        self.exit_code
    }
}

/// Shortens a text to its last `most` bytes, or a little less.
pub(super) fn keep_end(text: &mut String, most: usize) {
    let mut cut = text.len().saturating_sub(most);
    while !text.is_char_boundary(cut) {
        cut += 1;
    }
    text.drain(..cut);
}

/// What a client says that understands this.
pub(super) fn announcement() -> JsonObject {
    let keys = ["terminal_output", "terminal_output_delta"];
    keys.into_iter()
        .map(|key| (key.to_owned(), Value::Bool(true)))
        .collect()
}
