//! The store in memory: for hosts that are to leave nothing behind, and for
//! tests. It does what the one on disk does, and is over with its process.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use innkeeper_protocol::newest::state::Annotation;
use innkeeper_protocol::record::pressed::Pressed;
use innkeeper_protocol::record::search::{SearchPage, SearchQuery, UsagePage, UsageQuery};
use innkeeper_protocol::record::store::{
    Archive, DisposedRow, Journal, Notify, Store, StoreFault, Tended,
};
use innkeeper_protocol::record::{
    AutomationRecord, AutomationRunRecord, Boot, CatalogueRow, ChatRecord, ClientRecord,
    ContentRecord, Epoch, Excerpts, LoadedChat, LoadedSession, LogEntry, Sequenced, SessionRecord,
    StoreBatch, StoreOp,
};
use innkeeper_protocol::snapshot::StoredTurn;
use innkeeper_protocol::{ChannelUri, ClientId, Seq, Timestamp, TurnId};
use serde_json::Value;

use crate::days::{DAY, HostDays};
use crate::sequence::Sequence;
use crate::{StoreError, StoreOptions, Writer};

mod search;

/// What lasts as long as somebody holds it, as a disk would. Clones are the
/// same disk.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk {
    kept: Arc<RwLock<Kept>>,
}

impl MemoryDisk {
    /// Opens the store that is on it. As with a directory, only one of those
    /// that are open should be written to.
    pub fn open(&self, options: StoreOptions) -> MemoryStore {
        MemoryStore {
            disk: self.clone(),
            options,
            ran_today: Duration::ZERO,
        }
    }

    /// A disk with what is on this one now: what a process leaves that dies at
    /// this moment.
    pub fn copy(&self) -> Self {
        Self {
            kept: Arc::new(RwLock::new(self.read().clone())),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Kept> {
        self.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Kept> {
        self.kept.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The open store.
#[derive(Debug)]
pub struct MemoryStore {
    disk: MemoryDisk,
    options: StoreOptions,
    /// How long it has been open on this day of the host.
    ran_today: Duration,
}

impl Default for MemoryStore {
    /// A store of its own, that is gone when it is dropped.
    fn default() -> Self {
        MemoryDisk::default().open(StoreOptions::default())
    }
}

impl Store for MemoryStore {
    fn begin(&mut self) -> Result<Boot, StoreFault> {
        let StoreOptions {
            now,
            keep_disposed_days,
            ..
        } = self.options;
        Ok(self.disk.write().begin(now, keep_disposed_days))
    }

    fn archive(&self) -> Result<Arc<dyn Archive>, StoreFault> {
        Ok(Arc::new(self.disk.clone()))
    }

    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreFault> {
        Ok(self.disk.write().apply(batches)?)
    }

    fn tend(&mut self, ran: Duration) -> Result<Tended, StoreFault> {
        self.ran_today += ran;
        let mut kept = self.disk.write();
        while self.ran_today >= DAY {
            self.ran_today -= DAY;
            kept.days.pass(self.options.now);
            kept.purge_disposed(self.options.keep_disposed_days);
        }
        Ok(Tended::default())
    }

    fn set_aside(&mut self, _: &StoreBatch, _: &str) -> Result<String, StoreFault> {
        Ok("nowhere, as this store is in memory only".to_owned())
    }

    fn restore(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        let mut kept = self.disk.write();
        let disposed = kept.sessions.get_mut(session);
        Ok(disposed.is_some_and(|session| session.disposed.take().is_some()))
    }

    fn delete(&mut self, session: &ChannelUri) -> Result<bool, StoreFault> {
        let mut kept = self.disk.write();
        kept.forget_log(session);
        Ok(kept.purge(session))
    }

    fn start(self: Box<Self>, notify: Notify) -> Result<Box<dyn Journal>, StoreFault> {
        let group_commit = self.options.group_commit;
        Ok(Box::new(Writer::spawn(self, group_commit, notify)?))
    }

    fn close(self: Box<Self>) -> Result<(), StoreFault> {
        Ok(())
    }
}

impl Archive for MemoryDisk {
    fn load_session(&self, session: &ChannelUri) -> Result<Option<LoadedSession>, StoreFault> {
        Ok(self.read().load(session))
    }

    fn log_between(&self, after: Seq, up_to: Seq) -> Result<Vec<LogEntry>, StoreFault> {
        let kept = self.read();
        let log = kept.log.range(after.next()..);
        let log = log.map(|(_, entry)| entry);
        Ok(log.filter(|entry| entry.first <= up_to).cloned().collect())
    }

    fn content(&self, uri: &str) -> Result<Option<ContentRecord>, StoreFault> {
        Ok(self.read().content(uri))
    }

    fn catalogue(&self) -> Result<Vec<CatalogueRow>, StoreFault> {
        Ok(self.read().catalogue())
    }

    fn disposed(&self) -> Result<Vec<DisposedRow>, StoreFault> {
        Ok(self.read().disposed())
    }

    fn search(&self, query: &SearchQuery) -> Result<SearchPage, StoreFault> {
        Ok(self.read().search(query))
    }

    fn usage(&self, query: &UsageQuery) -> Result<UsagePage, StoreFault> {
        Ok(self.read().usage(query))
    }
}

/// All that is stored.
#[derive(Debug, Clone, Default)]
struct Kept {
    /// By the last number of each entry.
    log: BTreeMap<Seq, LogEntry>,
    /// While batches are applied: the entry of each channel that may grow.
    open: BTreeMap<ChannelUri, LogEntry>,
    sequence: Sequence,
    epochs: Vec<Epoch>,
    sessions: BTreeMap<ChannelUri, KeptSession>,
    chats: BTreeMap<ChannelUri, KeptChat>,
    chats_made: u64,
    days: HostDays,
    contents: BTreeMap<String, ContentRecord>,
    /// Sessions that have a content of another one.
    shares: BTreeSet<(String, ChannelUri)>,
    annotations: BTreeMap<ChannelUri, Vec<Annotation>>,
    automations: Vec<AutomationRecord>,
    automation_runs: Vec<AutomationRunRecord>,
    clients: BTreeMap<ClientId, ClientRecord>,
    root_config: Option<Value>,
    switches: Option<Value>,
    /// What turns have used, by when they began and their ids.
    usage: BTreeMap<(Timestamp, TurnId), search::Used>,
}

#[derive(Debug, Clone)]
struct KeptSession {
    record: SessionRecord,
    summary: Stored,
    /// When it was disposed, and on which day of the host.
    disposed: Option<(Timestamp, u64)>,
}

/// A session's row in the catalogue, as it is stored.
#[derive(Debug, Clone)]
struct Stored {
    summary: Pressed,
    facts: Option<Pressed>,
}

impl Stored {
    fn of(record: &SessionRecord) -> serde_json::Result<Self> {
        let facts = Some(&record.facts).filter(|facts| !facts.is_empty());
        Ok(Self {
            summary: Pressed::of(&serde_json::to_string(&record.summary)?),
            facts: facts
                .map(serde_json::to_string)
                .transpose()?
                .map(|facts| Pressed::of(&facts)),
        })
    }
}

impl KeptSession {
    fn modified_at(&self) -> Timestamp {
        Timestamp::parse(&self.record.summary.modified_at).unwrap_or_default()
    }

    fn row(&self) -> CatalogueRow {
        CatalogueRow {
            session: self.record.uri.clone(),
            modified_at: self.modified_at(),
            summary: self.summary.summary.clone(),
            facts: self.summary.facts.clone(),
        }
    }
}

#[derive(Debug, Clone)]
struct KeptChat {
    /// Where it stands in the order of creation.
    place: u64,
    record: ChatRecord,
    turns: BTreeMap<u64, StoredTurn>,
}

impl Kept {
    fn begin(&mut self, now: Timestamp, keep_days: u64) -> Boot {
        self.days.start(now);
        self.purge_disposed(keep_days);
        self.sequence = self.sequence.begin_life(&mut self.epochs);
        Boot {
            next_seq: self.sequence.next(),
            log_start: self.sequence.log_start,
            epochs: self.epochs.clone(),
            catalogue: self.catalogue(),
            chats: self.further_chats(),
            interrupted: self.interrupted(),
            without_turns: self.without_turns(),
            clients: self.clients.values().cloned().collect(),
            root_config: self.root_config.clone(),
            switches: self.switches.clone(),
            automations: self.automations.clone(),
            automation_runs: self.automation_runs.clone(),
        }
    }

    // Writing

    fn apply(&mut self, batches: &[StoreBatch]) -> Result<(), StoreError> {
        let summaries = self.check(batches)?;
        let mut summaries = summaries.into_iter();
        for op in batches.iter().flat_map(|batch| &batch.ops) {
            self.op(op, &mut summaries);
        }
        self.end_entries();
        Ok(())
    }

    /// Finds what cannot be stored before anything is: from there on, nothing
    /// can fail. Returns the summaries that are put, as they are stored.
    fn check(&self, batches: &[StoreBatch]) -> Result<Vec<Stored>, StoreError> {
        let mut numbers = BTreeSet::new();
        let mut summaries = Vec::new();
        for op in batches.iter().flat_map(|batch| &batch.ops) {
            match op {
                StoreOp::Append(action) => {
                    if self.log.contains_key(&action.seq) || !numbers.insert(action.seq) {
                        return Err(StoreError::NumberTaken(action.seq));
                    }
                }
                StoreOp::PutSession(record) => {
                    let what = "summary";
                    let stored = Stored::of(record);
                    let stored =
                        stored.map_err(|source| StoreError::Unwritable { what, source })?;
                    summaries.push(stored);
                }
                StoreOp::DisposeSession { .. }
                | StoreOp::PutChat(_)
                | StoreOp::DeleteChat { .. }
                | StoreOp::AppendTurn { .. }
                | StoreOp::TruncateTurns { .. }
                | StoreOp::PutClient(_)
                | StoreOp::ForgetClient { .. }
                | StoreOp::PutRootConfig { .. }
                | StoreOp::PutSwitches { .. }
                | StoreOp::PutContent(_)
                | StoreOp::ShareContent { .. }
                | StoreOp::PutAnnotation { .. }
                | StoreOp::RemoveAnnotation { .. }
                | StoreOp::PutAutomation(_)
                | StoreOp::RemoveAutomation { .. }
                | StoreOp::PutAutomationRun(_)
                | StoreOp::RemoveAutomationRun { .. }
                | StoreOp::ReserveSeq { .. }
                | StoreOp::TrimLog { .. }
                | StoreOp::Reread { .. } => {}
            }
        }
        Ok(summaries)
    }

    fn op(&mut self, op: &StoreOp, summaries: &mut impl Iterator<Item = Stored>) {
        match op {
            StoreOp::Append(action) => {
                self.sequence.last = self.sequence.last.max(action.seq);
                self.append(action);
            }
            StoreOp::PutSession(record) => {
                if let Some(summary) = summaries.next() {
                    self.put_session(record, summary);
                }
            }
            StoreOp::DisposeSession { session, at } => {
                self.forget_log(session);
                let day = self.days.day;
                if let Some(session) = self.sessions.get_mut(session) {
                    session.disposed.get_or_insert((*at, day));
                }
            }
            StoreOp::PutChat(record) => self.put_chat(record),
            StoreOp::DeleteChat { chat } => {
                self.chats.remove(chat);
            }
            StoreOp::AppendTurn { chat, index, turn } => {
                if let Some(chat) = self.chats.get_mut(chat) {
                    chat.turns.insert(*index, turn.clone());
                    let session = chat.record.session.clone();
                    self.count_usage(session, turn);
                }
            }
            StoreOp::TruncateTurns { chat, keep } => {
                if let Some(chat) = self.chats.get_mut(chat) {
                    chat.turns.split_off(keep);
                }
            }
            StoreOp::PutClient(client) => {
                let id = client.client_id.clone();
                self.clients.insert(id, client.clone());
            }
            StoreOp::ForgetClient { client_id } => {
                self.clients.remove(client_id);
            }
            StoreOp::PutRootConfig { values } => self.root_config = Some(values.clone()),
            StoreOp::PutSwitches { values } => self.switches = Some(values.clone()),
            StoreOp::PutContent(content) => {
                self.contents.insert(content.uri.clone(), content.clone());
            }
            StoreOp::ShareContent { from, with } => self.share(from, with),
            StoreOp::PutAnnotation {
                session,
                annotation,
            } => {
                let known = self.annotations.entry(session.clone()).or_default();
                match known.iter_mut().find(|it| it.id == annotation.id) {
                    Some(known) => known.clone_from(annotation),
                    None => known.push((**annotation).clone()),
                }
            }
            StoreOp::RemoveAnnotation { session, id } => {
                if let Some(known) = self.annotations.get_mut(session) {
                    known.retain(|annotation| annotation.id != *id);
                }
            }
            StoreOp::PutAutomation(record) => {
                let all = &mut self.automations;
                let uri = &record.entry.resource;
                match all.iter_mut().find(|it| it.entry.resource == *uri) {
                    Some(known) => known.clone_from(record),
                    None => all.push((**record).clone()),
                }
            }
            StoreOp::RemoveAutomation { automation } => {
                let uri = automation.as_str();
                self.automations.retain(|it| it.entry.resource != uri);
                self.automation_runs
                    .retain(|run| run.state.automation != uri);
            }
            StoreOp::PutAutomationRun(record) => {
                let all = &mut self.automation_runs;
                let uri = &record.state.resource;
                match all.iter_mut().find(|it| it.state.resource == *uri) {
                    Some(known) => known.clone_from(record),
                    None => all.push((**record).clone()),
                }
            }
            StoreOp::RemoveAutomationRun { run } => {
                self.automation_runs
                    .retain(|it| it.state.resource != run.as_str());
            }
            StoreOp::ReserveSeq { until } => self.sequence.reserved = *until,
            StoreOp::Reread { below, .. } => {
                self.sequence.last = self.sequence.last.max(below.back(1));
                self.sequence.trimmed(*below);
            }
            StoreOp::TrimLog { below } => {
                self.end_entries();
                self.log = self.log.split_off(below);
                self.sequence.trimmed(*below);
            }
        }
    }

    /// Streamed text becomes one entry, as it does on disk.
    fn append(&mut self, action: &Sequenced) {
        if let Some(open) = self.open.get_mut(&action.channel)
            && open.absorb(action)
        {
            return;
        }
        let entry = LogEntry::from(action);
        if let Some(ended) = self.open.insert(action.channel.clone(), entry) {
            self.log.insert(ended.last, ended);
        }
    }

    fn end_entries(&mut self) {
        let ended = std::mem::take(&mut self.open).into_values();
        self.log.extend(ended.map(|entry| (entry.last, entry)));
    }

    fn put_session(&mut self, record: &SessionRecord, summary: Stored) {
        if self.is_disposed(&record.uri) {
            self.purge(&record.uri);
        }
        let session = KeptSession {
            record: record.clone(),
            summary,
            disposed: None,
        };
        self.sessions.insert(record.uri.clone(), session);
    }

    fn put_chat(&mut self, record: &ChatRecord) {
        // The name may be that of a chat in a disposed session: it begins
        // afresh here. In a living session it is a chat that moves.
        if let Some(known) = self.chats.get(&record.uri)
            && known.record.session != record.session
            && self.is_disposed(&known.record.session)
        {
            self.chats.remove(&record.uri);
        }
        match self.chats.get_mut(&record.uri) {
            Some(known) => known.record = record.clone(),
            None => {
                self.chats_made += 1;
                let chat = KeptChat {
                    place: self.chats_made,
                    record: record.clone(),
                    turns: BTreeMap::new(),
                };
                self.chats.insert(record.uri.clone(), chat);
            }
        }
    }

    fn share(&mut self, from: &ChannelUri, with: &ChannelUri) {
        let own = self.contents.values().filter(|it| it.session == *from);
        let own = own.map(|content| content.uri.clone());
        let shared = self.shares.iter().filter(|(_, session)| session == from);
        let shared = shared.map(|(content, _)| content.clone());
        let all: Vec<String> = own.chain(shared).collect();
        let shares = all.into_iter().map(|content| (content, with.clone()));
        self.shares.extend(shares);
    }

    /// Removes the log of a session's own channel, of its chats and of its
    /// annotations.
    fn forget_log(&mut self, session: &ChannelUri) {
        self.end_entries();
        let annotations = ChannelUri::annotations_of(session.as_str());
        let chats = &self.chats;
        let is_of_session = |channel: &ChannelUri| {
            let chat = chats.get(channel);
            channel == session
                || *channel == annotations
                || chat.is_some_and(|chat| chat.record.session == *session)
        };
        self.log.retain(|_, entry| !is_of_session(&entry.channel));
    }

    /// Removes the sessions that were disposed too long ago.
    fn purge_disposed(&mut self, keep_days: u64) {
        let over = self.disposed().into_iter();
        for disposed in over.filter(|row| row.is_over(keep_days)) {
            self.purge(&disposed.row.session);
        }
    }

    /// Removes a session with all that it owns but its log.
    fn purge(&mut self, session: &ChannelUri) -> bool {
        self.chats.retain(|_, chat| chat.record.session != *session);
        self.annotations.remove(session);
        self.forget_usage_of(session);
        self.shares.retain(|(_, with)| with != session);
        let shares = &mut self.shares;
        self.contents.retain(|uri, content| {
            if content.session != *session {
                return true;
            }
            // What it shares goes over to one of those that it is shared with.
            let heir = shares.iter().find(|(shared, _)| shared == uri).cloned();
            heir.is_some_and(|heir| {
                shares.remove(&heir);
                content.session = heir.1;
                true
            })
        });
        self.sessions.remove(session).is_some()
    }

    // Reading

    fn is_disposed(&self, session: &ChannelUri) -> bool {
        let session = self.sessions.get(session);
        session.is_some_and(|session| session.disposed.is_some())
    }

    fn living(&self) -> impl Iterator<Item = (&ChannelUri, &KeptSession)> {
        let sessions = self.sessions.iter();
        sessions.filter(|(_, session)| session.disposed.is_none())
    }

    fn chats_of(&self, session: &ChannelUri) -> Vec<&KeptChat> {
        let chats = self.chats.values();
        let mut chats: Vec<_> = chats
            .filter(|chat| chat.record.session == *session)
            .collect();
        chats.sort_unstable_by_key(|chat| chat.place);
        chats
    }

    fn load(&self, session: &ChannelUri) -> Option<LoadedSession> {
        let kept = self.sessions.get(session)?;
        if kept.disposed.is_some() {
            return None;
        }
        let chats = self.chats_of(session).into_iter().map(|chat| {
            let log = self.log.range(chat.record.seq.next()..);
            let log = log.filter(|(_, entry)| entry.channel == chat.record.uri);
            LoadedChat {
                record: chat.record.clone(),
                turns: chat.turns.values().cloned().collect(),
                log: log.map(|(_, entry)| entry.clone()).collect(),
            }
        });
        Some(LoadedSession {
            session: kept.record.clone(),
            chats: chats.collect(),
            annotations: self.annotations.get(session).cloned().unwrap_or_default(),
            excerpts: self.excerpts_of(session),
        })
    }

    fn excerpts_of(&self, session: &ChannelUri) -> Excerpts {
        let has = |content: &ContentRecord| {
            let share = (content.uri.clone(), session.clone());
            content.session == *session || self.shares.contains(&share)
        };
        let contents = self.contents.values().filter(|content| has(content));
        let excerpt = |it: &ContentRecord| Some((it.uri.clone(), it.excerpt.clone()?));
        contents.filter_map(excerpt).collect()
    }

    fn content(&self, uri: &str) -> Option<ContentRecord> {
        let content = self.contents.get(uri)?;
        let lives = |session| {
            let session = self.sessions.get(session);
            session.is_some_and(|session| session.disposed.is_none())
        };
        let mut shares = self.shares.iter();
        let shared = shares.any(|(shared, with)| shared == uri && lives(with));
        (shared || !self.is_disposed(&content.session)).then(|| content.clone())
    }

    fn catalogue(&self) -> Vec<CatalogueRow> {
        let rows = self.living().map(|(_, session)| session.row());
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by_key(|row| Reverse(row.modified_at));
        rows
    }

    fn disposed(&self) -> Vec<DisposedRow> {
        let disposed = self.sessions.values().filter_map(|session| {
            let (disposed_at, day) = session.disposed?;
            Some(DisposedRow {
                row: session.row(),
                disposed_at,
                host_days: self.days.day.saturating_sub(day),
            })
        });
        let mut disposed: Vec<_> = disposed.collect();
        disposed.sort_by_key(|row| Reverse(row.disposed_at));
        disposed
    }

    fn further_chats(&self) -> Vec<(ChannelUri, ChannelUri)> {
        let chats = self.chats.values().map(|chat| &chat.record);
        let further = chats.filter(|chat| {
            let session = self.sessions.get(&chat.session);
            let lives = session.is_some_and(|session| session.disposed.is_none());
            lives && chat.uri != ChannelUri::default_chat_of(chat.session.as_str())
        });
        let further = further.map(|chat| (chat.uri.clone(), chat.session.clone()));
        further.collect()
    }

    fn interrupted(&self) -> Vec<ChannelUri> {
        let chats = self.chats.values().map(|chat| &chat.record);
        let running = chats.filter(|chat| chat.head.active_turn.is_some());
        let sessions: BTreeSet<_> = running.map(|chat| &chat.session).collect();
        let living = self.living().map(|(uri, _)| uri);
        let interrupted = living.filter(|uri| sessions.contains(uri));
        interrupted.cloned().collect()
    }

    fn without_turns(&self) -> Vec<ChannelUri> {
        let untouched = self.living().filter(|(uri, session)| {
            let created_at = Timestamp::parse(&session.record.summary.created_at);
            created_at.is_some_and(|at| session.modified_at() <= at)
                && (self.chats_of(uri).iter()).all(|chat| chat.turns.is_empty())
        });
        untouched.map(|(uri, _)| uri.clone()).collect()
    }
}
