//! Annotations: what people, and agents, write about lines of files. Each session
//! has a channel of them, beside its own.
//!
//! *Invariant*: an annotation has at least one entry.

mod judging;
mod telling;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::StateAction;

use crate::core::{Core, Sender};

pub(crate) use telling::told;

/// What follows from an action that was accepted.
#[derive(Debug)]
pub(crate) enum After {
    Nothing,
    /// The annotation with this id stands in another place.
    Anchor(String),
}

/// Takes what a client dispatched to the annotations of a session.
pub(crate) fn dispatched(
    core: &mut Core,
    channel: &ChannelUri,
    action: StateAction,
    sender: Sender,
) {
    let Some(known) = core.channels.annotations(channel) else {
        return;
    };
    let verdict = judging::judge(known, action);
    core.carry_out(channel, sender, verdict);
}

/// The counts of a session's annotations follow what there is.
pub(crate) fn settle(core: &mut Core, session: &ChannelUri) {
    let uri = ChannelUri::annotations_of(session.as_str());
    let summary = core.channels.annotations(&uri).map(|it| it.summary());
    let known = core.channels.session_mut(session);
    if let Some((known, summary)) = known.zip(summary) {
        // Once there were any, also that there are none any more.
        let is_news = summary.annotation_count > 0 || known.annotations.is_some();
        known.annotations = is_news.then_some(summary);
    }
}
