//! What a server says that it has, within bounds: a page of tools at a time.

use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::ToolDefinition;
use serde_json::{Value, json};

/// The most tools of one server. Agents are given all of them to choose from.
pub(super) const MOST_TOOLS: usize = 256;

/// The most pages that are asked for, however few tools they have.
const MOST_PAGES: usize = 64;

/// The largest description of a tool, schemas included.
const LARGEST_TOOL: usize = 64 * 1024;

/// The longest name of a tool: agents take no longer ones.
const LONGEST_NAME: usize = 128;

/// The tools of a server while they are being asked for.
#[derive(Debug, Default)]
pub(super) struct Listing {
    tools: Vec<ToolDefinition>,
    pages: usize,
    /// Tools that were left out.
    left_out: usize,
}

/// Whether there is more to ask for.
#[derive(Debug)]
pub(super) enum Listed {
    /// Ask again, with this.
    More(JsonObject),
    All(Vec<ToolDefinition>),
}

impl Listing {
    /// Takes in one page.
    pub(super) fn add(&mut self, mut page: Value) -> Listed {
        self.pages += 1;
        if let Value::Array(tools) = page["tools"].take() {
            for tool in tools {
                match read(tool) {
                    Some(tool) if self.has_room_for(&tool) => self.tools.push(tool),
                    _ => self.left_out += 1,
                }
            }
        }
        let cursor = page["nextCursor"].take();
        let goes_on = self.pages < MOST_PAGES && self.tools.len() < MOST_TOOLS;
        if let Value::String(cursor) = cursor
            && goes_on
        {
            let mut params = JsonObject::new();
            params.insert("cursor".to_owned(), json!(cursor));
            return Listed::More(params);
        }
        if self.left_out > 0 {
            let left_out = self.left_out;
            tracing::warn!(
                left_out,
                "tools of an MCP server are left out: too many, too large or without a usable name"
            );
        }
        Listed::All(std::mem::take(&mut self.tools))
    }

    fn has_room_for(&self, tool: &ToolDefinition) -> bool {
        let is_new = self.tools.iter().all(|known| known.name != tool.name);
        is_new && self.tools.len() < MOST_TOOLS
    }
}

fn read(tool: Value) -> Option<ToolDefinition> {
    if tool.to_string().len() > LARGEST_TOOL {
        return None;
    }
    let tool: ToolDefinition = serde_json::from_value(tool).ok()?;
    let is_named = !tool.name.is_empty() && tool.name.len() <= LONGEST_NAME;
    is_named.then_some(tool)
}
