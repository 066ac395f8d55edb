//! MCP apps: tools whose results a page of the server's own shows. The host
//! says where the page is and passes on what it asks; it shows none itself.

use innkeeper_protocol::newest::state::ToolDefinition;

/// A longer address is not taken for one.
const LONGEST_URI: usize = 2048;

/// The page of a tool. Servers of before the extension was settled put it in a
/// key of its own.
pub(super) fn app_of(tool: &ToolDefinition) -> Option<&str> {
    let meta = tool.meta.as_ref()?;
    let nested = meta.get("ui").and_then(|ui| ui.get("resourceUri"));
    let uri = nested.or_else(|| meta.get("ui/resourceUri"))?.as_str()?;
    (uri.starts_with("ui://") && uri.len() <= LONGEST_URI).then_some(uri)
}
