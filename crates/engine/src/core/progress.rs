//! Who asked to be told how far the making of a session is. What an agent does
//! while it starts is not known, so there are two frames: one when the work
//! begins, one when it is over, however it ended.

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::notifications::ProgressParams;
use innkeeper_protocol::outgoing::{HostMessage, Notification};

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

    fn tell_progress(
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
