//! Annotations: what people, and agents, write about lines of files. Each session
//! has a channel of them, besides its own. They follow their lines when files
//! change ([`Anchoring`]).
//!
//! *Invariant*: an annotation has at least one entry.

mod anchor;
mod anchoring;
mod judging;
mod telling;

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::state::AnnotationsSummary;

use crate::core::Core;
use crate::core::channels::Annotations;

pub(crate) use anchoring::Anchoring;
pub(crate) use judging::check_answer;
pub(crate) use telling::told;

/// What follows from an action that was accepted.
#[derive(Debug)]
enum After {
    Nothing,
    /// Somebody said where the annotation with this id stands. If it was moved,
    /// what was noted of its lines is about others.
    Placed {
        id: String,
        moved: bool,
    },
}

/// The counts of a session's annotations follow what there is.
/// Returns whether the first one has come, or the last one has gone.
pub(crate) fn settle(core: &mut Core, session: &ChannelUri) -> bool {
    let uri = ChannelUri::annotations_of(session.as_str());
    let summary = core.channels.annotations(&uri).map(Annotations::summary);
    let known = core.channels.session_mut(session);
    if let Some((known, summary)) = known.zip(summary) {
        // Once there were any, also that there are none any more.
        let is_news = summary.annotation_count > 0 || known.annotations.is_some();
        let has_any =
            |it: &Option<AnnotationsSummary>| it.as_ref().is_some_and(|it| it.annotation_count > 0);
        let had_any = has_any(&known.annotations);
        known.annotations = is_news.then_some(summary);
        return had_any != has_any(&known.annotations);
    }
    false
}
