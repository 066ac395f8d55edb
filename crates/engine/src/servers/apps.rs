//! MCP apps: tools whose results a page of the server's own shows. The host
//! says where the page is and passes on what it asks; it shows none itself.

use innkeeper_protocol::mcp::hosted::McpOffer;
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::{
    AhpMcpUiHostCapabilities, McpServerCustomizationApps, ToolDefinition,
};
use serde_json::{Value, json};

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

/// What the pages of a server can ask of it through the host, if it has any.
pub(super) fn apps_of(offer: &McpOffer) -> Option<McpServerCustomizationApps> {
    offer.tools.iter().find_map(app_of)?;
    let offered = |name: &str| {
        let capability = offer.capabilities.get(name)?;
        let says_changes = capability.get("listChanged") == Some(&Value::Bool(true));
        Some(match says_changes {
            true => json!({"listChanged": true}),
            false => json!({}),
        })
    };
    Some(McpServerCustomizationApps {
        capabilities: AhpMcpUiHostCapabilities {
            server_tools: offered("tools"),
            server_resources: offered("resources"),
            logging: offered("logging").map(|_| JsonObject::new()),
            // The host has no model to ask.
            sampling: None,
        },
    })
}
