//! A request about files on its way to an answer. What comes of it is put into
//! JSON on the thread that touched the file, so that neither the engine nor
//! anybody else waits for that.

use std::sync::Arc;

use innkeeper_engine::{Input, Ticket};
use innkeeper_protocol::newest::commands::ContentEncoding;
use innkeeper_protocol::outgoing::Finished;
use innkeeper_protocol::workspace::resource::{ResourceDone, ResourceError, TakenContent};

use super::Reports;
use crate::delivery::{AnswerRoom, Share};

/// Who waits for the answer, and in what encoding.
pub(super) struct Asked {
    ticket: Ticket,
    room: Option<Arc<AnswerRoom>>,
    encoding: Option<ContentEncoding>,
}

impl Asked {
    pub(super) fn new(
        ticket: Ticket,
        room: Option<Arc<AnswerRoom>>,
        encoding: Option<ContentEncoding>,
    ) -> Self {
        Self {
            ticket,
            room,
            encoding,
        }
    }

    /// Does the work when there is room for an answer of up to so many bytes,
    /// and holds on to `held` bytes until then. If nobody is there any more,
    /// only what matters is done.
    pub(super) fn answer(
        self,
        reports: &Reports,
        (most_bytes, held): (usize, usize),
        matters: bool,
        work: impl FnOnce() -> Result<ResourceDone, ResourceError> + Send + 'static,
    ) {
        let Self {
            ticket,
            room,
            encoding,
        } = self;
        reports.answering(room, most_bytes, held, move |share| {
            if share.is_none() && !matters {
                return None;
            }
            let outcome = work().and_then(|done| finished(done, encoding, share));
            Some(Input::ResourceDone { ticket, outcome })
        });
    }

    /// Likewise takes in so many bytes that a client brings. The answer keeps
    /// its share of the room until it has gone out, when they are stored.
    pub(super) fn take(
        self,
        reports: &Reports,
        bytes: usize,
        work: impl FnOnce(Option<Share>) -> Result<TakenContent, ResourceError> + Send + 'static,
    ) {
        let Self { ticket, room, .. } = self;
        reports.answering(room, bytes, bytes, move |share| {
            let outcome = work(share);
            Some(Input::ContentTaken { ticket, outcome })
        });
    }
}

/// The answer, which keeps its share of the room while there is any of it.
fn finished(
    done: ResourceDone,
    encoding: Option<ContentEncoding>,
    mut share: Option<Share>,
) -> Result<Finished, ResourceError> {
    let json = done.into_json(encoding)?;
    if let Some(share) = &mut share {
        share.settle(json.get().len());
    }
    Ok(Finished::new(json, share))
}
