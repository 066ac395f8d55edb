//! Who asked to be told how far something is. What an agent does while it starts
//! is not known, so the making of a session has two frames: one when the work
//! begins, one when it is over, however it ended.

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::bounds::MAX_ID_BYTES;
use innkeeper_protocol::newest::notifications::ProgressParams;
use innkeeper_protocol::outgoing::{HostMessage, Notification};
use innkeeper_protocol::rpc::RpcError;

use super::Core;
use crate::effect::{ConnectionId, Effect};

/// The sessions that are being made for somebody who asked.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    waiting: HashMap<ChannelUri, (ConnectionId, String)>,
}

impl Core {
    pub(crate) fn begin_progress(
        &mut self,
        session: &ChannelUri,
        (to, token): (ConnectionId, String),
        message: String,
    ) {
        self.tell_progress(to, &token, (0, None), Some(message));
        self.progress.waiting.insert(session.clone(), (to, token));
    }

    pub(crate) fn end_progress(&mut self, session: &ChannelUri) {
        if let Some((to, token)) = self.progress.waiting.remove(session) {
            self.tell_progress(to, &token, (1, Some(1)), None);
        }
    }

    pub(crate) fn tell_progress(
        &mut self,
        to: ConnectionId,
        token: &str,
        (progress, total): (i64, Option<i64>),
        message: Option<String>,
    ) {
        let params = ProgressParams {
            channel: ChannelUri::root().to_string(),
            progress_token: token.to_owned(),
            progress,
            total,
            message,
        };
        let message = HostMessage::Notification(Box::new(Notification::Progress(params)));
        self.effect(Effect::Send { to, message });
    }
}

/// It is sent back with every frame.
pub(crate) fn check_progress_token(token: Option<&str>) -> Result<(), RpcError> {
    match token.is_some_and(|token| token.len() > MAX_ID_BYTES) {
        true => Err(RpcError::invalid_params(format!(
            "a `progressToken` has at most {MAX_ID_BYTES} bytes; choose a shorter one"
        ))),
        false => Ok(()),
    }
}
