//! The end of the log while it grows: how actions become rows, whatever the
//! rows are kept in.

use std::sync::Arc;

use foldhash::HashMap;
use innkeeper_protocol::newest::actions::{ActionOrigin, StateAction};
use innkeeper_protocol::record::merge::{appended_text, continues};
use innkeeper_protocol::record::{Cut, GateFacts, LogEntry, Sequenced};
use innkeeper_protocol::{ChannelUri, Seq};

use crate::StoreError;
use crate::sqlite::json::json;

/// Where rows go.
pub(crate) trait LogSink {
    fn write(&mut self, row: LogRow<'_>) -> Result<(), StoreError>;
}

/// One row of the log.
#[derive(Debug)]
pub(crate) struct LogRow<'a> {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    pub(crate) channel: &'a ChannelUri,
    pub(crate) action: String,
    pub(crate) origin: Option<String>,
    pub(crate) facts: Option<String>,
    pub(crate) cuts: Option<String>,
}

impl<'a> LogRow<'a> {
    fn new(
        (first, last): (Seq, Seq),
        channel: &'a ChannelUri,
        action: &StateAction,
        origin: Option<&ActionOrigin>,
        facts: &GateFacts,
        cuts: &[Cut],
    ) -> Result<Self, StoreError> {
        let facts = match facts {
            GateFacts {
                session: None,
                is_default_chat: false,
                extra: None,
            } => None,
            facts => Some(json("log entry", facts)?),
        };
        Ok(Self {
            first,
            last,
            channel,
            action: json("action", action)?,
            origin: origin.map(|origin| json("origin", origin)).transpose()?,
            facts,
            cuts: write_cuts(cuts)?,
        })
    }

    fn bytes(&self) -> u64 {
        let small =
            [&self.origin, &self.facts, &self.cuts].map(|it| it.as_ref().map_or(0, String::len));
        (self.action.len() + small.iter().sum::<usize>()) as u64
    }
}

/// The end of the log while a transaction adds to it: for each channel the
/// entry that may still grow.
#[derive(Debug, Default)]
pub(crate) struct Tail {
    open: HashMap<ChannelUri, Open>,
    /// How many bytes were written.
    pub(crate) bytes: u64,
}

#[derive(Debug)]
enum Open {
    /// Most entries stay alone, and are written without having been copied.
    One(Arc<Sequenced>),
    Many(Box<LogEntry>),
}

impl Tail {
    pub(crate) fn append(
        &mut self,
        log: &mut impl LogSink,
        next: &Arc<Sequenced>,
    ) -> Result<(), StoreError> {
        if let Some(open) = self.open.get_mut(&next.channel) {
            if open.absorb(next) {
                return Ok(());
            }
            if let Some(closed) = self.open.remove(&next.channel) {
                self.bytes += closed.write(log)?;
            }
        }
        if next.origin.is_none() && appended_text(&next.action).is_some() {
            let open = Open::One(Arc::clone(next));
            self.open.insert(next.channel.clone(), open);
            return Ok(());
        }
        self.bytes += Open::One(Arc::clone(next)).write(log)?;
        Ok(())
    }

    /// Writes what is still open. Call it before the log's rows are looked at,
    /// and before the transaction ends.
    pub(crate) fn flush(&mut self, log: &mut impl LogSink) -> Result<(), StoreError> {
        let mut open: Vec<Open> = self.open.drain().map(|(_, open)| open).collect();
        open.sort_unstable_by_key(Open::last);
        for open in &open {
            self.bytes += open.write(log)?;
        }
        Ok(())
    }
}

impl Open {
    fn absorb(&mut self, next: &Sequenced) -> bool {
        match self {
            Self::Many(entry) => entry.absorb(next),
            Self::One(one) => {
                if !continues(&one.action, &next.action) {
                    return false;
                }
                let mut entry = LogEntry::from(&**one);
                let absorbed = entry.absorb(next);
                if absorbed {
                    *self = Self::Many(Box::new(entry));
                }
                absorbed
            }
        }
    }

    fn last(&self) -> Seq {
        match self {
            Self::One(one) => one.seq,
            Self::Many(entry) => entry.last,
        }
    }

    /// Returns how many bytes that were.
    fn write(&self, log: &mut impl LogSink) -> Result<u64, StoreError> {
        let row = match self {
            Self::One(one) => LogRow::new(
                (one.seq, one.seq),
                &one.channel,
                &one.action,
                one.origin.as_ref(),
                &one.facts,
                &[],
            ),
            Self::Many(entry) => LogRow::new(
                (entry.first, entry.last),
                &entry.channel,
                &entry.action,
                entry.origin.as_ref(),
                &entry.facts,
                &entry.cuts,
            ),
        }?;
        let bytes = row.bytes();
        log.write(row)?;
        Ok(bytes)
    }
}

fn write_cuts(cuts: &[Cut]) -> Result<Option<String>, StoreError> {
    if cuts.is_empty() {
        return Ok(None);
    }
    let pairs: Vec<(Seq, u32)> = cuts.iter().map(|cut| (cut.seq, cut.len)).collect();
    json("log entry", &pairs).map(Some)
}
