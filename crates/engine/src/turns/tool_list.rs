//! The tools that a session shows as those of the server: the ones that its
//! agents say they have, the host's own, and those of the MCP servers that the
//! host runs for it. Without what they take and return, which agents are told
//! and people do not read.

use std::collections::HashSet;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{ClientTool, ToolOwner};
use innkeeper_protocol::bounds::cut;
use innkeeper_protocol::newest::actions::{SessionServerToolsChangedAction, StateAction};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::ToolDefinition;
use serde_json::json;

use super::{TurnsMut, host_tools};

/// How many are shown, and how much of what each says about itself.
const MOST_TOOLS: usize = 1_000;
const MOST_DESCRIPTION: usize = 1_000;

impl TurnsMut<'_> {
    /// The agent of a chat says which tools it has.
    pub(super) fn agent_has_tools(&mut self, chat: &ChannelUri, tools: Vec<ToolDefinition>) {
        let Some(session) = self.core.channels.session_of(chat) else {
            return;
        };
        if let Some(conversation) = self.own.conversations.get_mut(chat) {
            conversation.tools = tools;
        }
        self.list_tools(&session);
    }

    /// Shows the tools of a session, if others are shown.
    pub(super) fn list_tools(&mut self, uri: &ChannelUri) {
        let Some(session) = self.core.channels.session(uri) else {
            return;
        };
        let mut tools: Vec<ToolDefinition> = Vec::new();
        for chat in session.chat_uris() {
            let conversation = self.own.conversations.get(&chat);
            let of_agent = conversation.map_or(&[][..], |it| &it.tools);
            tools.extend(of_agent.iter().cloned());
        }
        let of_host = host_tools::tools_of(session).into_iter();
        tools.extend(of_host.chain(self.servers.tools_of(uri)).map(shown));
        // The chats of a session have the same agent.
        let mut seen = HashSet::new();
        tools.retain(|tool| seen.insert(tool.name.clone()));
        tools.truncate(MOST_TOOLS);
        if session.state.server_tools.as_deref().unwrap_or_default() != tools {
            let action = SessionServerToolsChangedAction { tools };
            let action = StateAction::SessionServerToolsChanged(action);
            self.core.emit(uri, action, None);
        }
    }
}

fn shown(tool: ClientTool) -> ToolDefinition {
    let ClientTool { owner, definition } = tool;
    let description = definition.description.as_deref();
    let meta = match owner {
        ToolOwner::Client(_) => None,
        ToolOwner::Server { name, .. } => {
            let server = ("mcpServerName".to_owned(), json!(name));
            Some(JsonObject::from_iter([server]))
        }
    };
    ToolDefinition {
        description: description.map(|text| cut(text, MOST_DESCRIPTION).to_owned()),
        input_schema: None,
        output_schema: None,
        meta,
        ..definition
    }
}
