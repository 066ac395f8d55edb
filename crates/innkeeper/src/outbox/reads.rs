//! What the engine wants to know of the store. Each is read on a thread that
//! may block, and none waits for another.

use std::sync::Arc;

use innkeeper_engine::{Input, Ticket};
use innkeeper_protocol::record::search::Lookup;
use innkeeper_protocol::record::store::{Archive, StoreFault};
use innkeeper_protocol::workspace::resource::{
    ResourceDone, ResourceError, TakenContent, WriteData,
};
use innkeeper_protocol::{ChannelUri, Seq};

use super::{Asked, Reports};

pub(crate) struct Reads {
    archive: Arc<dyn Archive>,
    reports: Reports,
}

impl Reads {
    pub(crate) fn new(archive: Arc<dyn Archive>, reports: Reports) -> Self {
        Self { archive, reports }
    }

    pub(super) fn session(&self, session: ChannelUri) {
        self.ask(move |archive| {
            let loaded = archive.load_session(&session);
            let loaded = loaded.map(|loaded| loaded.map(Box::new));
            Input::SessionLoaded {
                session,
                loaded: explained(loaded),
            }
        });
    }

    pub(super) fn log(&self, ticket: Ticket, after: Seq, up_to: Seq) {
        self.ask(move |archive| Input::LogLoaded {
            ticket,
            entries: explained(archive.log_between(after, up_to)),
        });
    }

    pub(super) fn look_up(&self, ticket: Ticket, lookup: Lookup) {
        self.ask(move |archive| Input::LookedUp {
            ticket,
            outcome: explained(lookup.in_archive(archive)),
        });
    }

    pub(super) fn content(&self, ticket: Ticket, uri: String) {
        self.ask(move |archive| Input::ContentLoaded {
            ticket,
            content: explained(archive.content(&uri)),
        });
    }

    /// Content for a client.
    pub(super) fn content_for(&self, asked: Asked, uri: String, most_bytes: usize) {
        let archive = Arc::clone(&self.archive);
        asked.answer(
            &self.reports,
            (most_bytes, 0),
            false,
            move || match archive.content(&uri) {
                Ok(content) => ResourceDone::kept(&uri, content),
                Err(fault) => Err(not_read(uri, &fault)),
            },
        );
    }

    /// Content that a client brings.
    pub(super) fn take_content(
        &self,
        asked: Asked,
        uri: String,
        data: WriteData,
        most_bytes: usize,
    ) {
        let archive = Arc::clone(&self.archive);
        asked.take(&self.reports, data.len(), move |share| {
            match archive.content(&uri) {
                Ok(known) => TakenContent::new(&uri, known.as_ref(), data, most_bytes, share),
                Err(fault) => Err(not_read(uri, &fault)),
            }
        });
    }

    fn ask(&self, ask: impl FnOnce(&dyn Archive) -> Input + Send + 'static) {
        let archive = Arc::clone(&self.archive);
        self.reports.blocking(move || ask(&*archive));
    }
}

fn not_read(uri: String, fault: &StoreFault) -> ResourceError {
    ResourceError::Failed {
        uri,
        reason: format!("the content cannot be read: {fault}"),
    }
}

fn explained<T>(outcome: Result<T, StoreFault>) -> Result<T, String> {
    outcome.map_err(|fault| fault.to_string())
}
