//! What a client may say to an agent.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::MAX_MESSAGE_BYTES;
use innkeeper_protocol::newest::state::{
    ChatInteractivity, ChatState, ChildCustomization, Customization, Message, MessageKind,
};
use innkeeper_protocol::outgoing::RejectionCode;

use super::attachments::check_references;
use super::shapes::check_attachments;
use crate::agents::{Agents, check_model};
use crate::core::channels::length_of_json;
use crate::core::{Core, Refusal};
use crate::customizations::{child_is_on, children_of, is_on};

pub(crate) fn check_takes_messages(chat: &ChatState) -> Result<(), String> {
    match chat.interactivity {
        None | Some(ChatInteractivity::Full) => Ok(()),
        Some(ChatInteractivity::ReadOnly | ChatInteractivity::Hidden) => {
            Err("this chat takes no messages".to_owned())
        }
    }
}

/// Whether a message can be given to the agent of a session, or why not.
pub(crate) fn check_message(
    core: &Core,
    agents: &Agents,
    session: &ChannelUri,
    message: &Message,
) -> Result<(), Refusal> {
    if message.origin.kind != MessageKind::User {
        return Err("a client may only send messages of the user".into());
    }
    let bytes = length_of_json(message);
    if bytes > MAX_MESSAGE_BYTES {
        let reason = format!(
            "the message has {bytes} bytes with what is attached to it, and a message has at \
             most {MAX_MESSAGE_BYTES}; write large attachments with `resourceWrite` and refer \
             to them"
        );
        return Err(Refusal::new(RejectionCode::LimitReached, reason));
    }
    check_attachments(message)?;
    check_references(core, message)?;
    let Some(session) = core.channels.session(session) else {
        return Ok(());
    };
    let Some(agent) = agents.of_session(&session.state) else {
        return Ok(());
    };
    let name = &agent.info.display_name;
    check_model(agent, message.model.as_ref())?;
    if let Some(custom) = &message.agent {
        let of_session = session.state.customizations.iter().flatten();
        let mut known = of_session.flat_map(custom_agents);
        if !known.any(|uri| uri == custom.uri) {
            return Err(format!("{name} has no custom agent `{}`", custom.uri).into());
        }
    }
    Ok(())
}

/// The custom agents that a customization offers to users, by URI.
fn custom_agents(customization: &Customization) -> impl Iterator<Item = &str> {
    let on = is_on(customization);
    let children = children_of(customization).iter().filter(move |_| on);
    children
        .filter(|child| child_is_on(child))
        .filter_map(|child| match child {
            ChildCustomization::Agent(agent) if agent.disable_user_invocation != Some(true) => {
                Some(agent.uri.as_str())
            }
            _ => None,
        })
}
