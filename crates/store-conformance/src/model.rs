//! Random batches in random groups, against a model that merges nothing and
//! never commits: what is read must not depend on how it was written.

use std::collections::BTreeMap;

use innkeeper_protocol::record::store::Archive;
use innkeeper_protocol::record::{Sequenced, StoreBatch, StoreOp};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use crate::records::*;
use crate::{Stage, Subject};

const SESSIONS: [&str; 2] = ["s:/0", "s:/1"];
const CHATS: [(&str, &str); 3] = [("c:/0", "s:/0"), ("c:/1", "s:/0"), ("c:/2", "s:/1")];

/// A step of the imagined engine; the model turns it into operations that a
/// real one would send at that point.
#[derive(Debug, Clone)]
enum Step {
    Delta {
        chat: usize,
        part: bool,
        text: String,
    },
    Title {
        chat: usize,
    },
    PutSession {
        session: usize,
    },
    PutChat {
        chat: usize,
        active: bool,
    },
    DeleteChat {
        chat: usize,
    },
    Turn {
        chat: usize,
    },
    Truncate {
        chat: usize,
        keep: u64,
    },
    Dispose {
        session: usize,
    },
    Restore {
        session: usize,
    },
    Content {
        session: usize,
    },
    Trim {
        back: u64,
    },
    /// The batch ends here.
    Batch,
    /// The commit ends here.
    Commit,
    /// The host restarts, after a crash or cleanly.
    Restart {
        clean: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let (chat, session) = (0..CHATS.len(), 0..SESSIONS.len());
    prop_oneof![
        12 => (chat.clone(), any::<bool>(), "[aé😀]{0,3}")
            .prop_map(|(chat, part, text)| Step::Delta { chat, part, text }),
        2 => chat.clone().prop_map(|chat| Step::Title { chat }),
        2 => session.clone().prop_map(|session| Step::PutSession { session }),
        3 => (chat.clone(), any::<bool>())
            .prop_map(|(chat, active)| Step::PutChat { chat, active }),
        1 => chat.clone().prop_map(|chat| Step::DeleteChat { chat }),
        3 => chat.clone().prop_map(|chat| Step::Turn { chat }),
        1 => (chat, 0..4u64).prop_map(|(chat, keep)| Step::Truncate { chat, keep }),
        1 => session.clone().prop_map(|session| Step::Dispose { session }),
        1 => session.clone().prop_map(|session| Step::Restore { session }),
        1 => session.prop_map(|session| Step::Content { session }),
        1 => (0..8u64).prop_map(|back| Step::Trim { back }),
        6 => Just(Step::Batch),
        4 => Just(Step::Commit),
        1 => any::<bool>().prop_map(|clean| Step::Restart { clean }),
    ]
}

#[derive(Default)]
struct Model {
    log: Vec<Sequenced>,
    log_start: u64,
    next: u64,
    /// The highest number that was stored.
    last: u64,
    reserved: u64,
    sessions: BTreeMap<&'static str, ModelSession>,
    modified_at: i64,
}

#[derive(Default)]
struct ModelSession {
    modified_at: i64,
    disposed: bool,
    contents: bool,
    /// In the order of creation.
    chats: Vec<(&'static str, ModelChat)>,
}

#[derive(Default)]
struct ModelChat {
    seq: u64,
    active: bool,
    turns: Vec<String>,
}

impl Model {
    fn living(&mut self, session: &str) -> Option<&mut ModelSession> {
        self.sessions
            .get_mut(session)
            .filter(|session| !session.disposed)
    }

    fn chat(&mut self, chat: usize) -> Option<&mut ModelChat> {
        let (uri, session) = CHATS[chat];
        let chats = &mut self.living(session)?.chats;
        chats
            .iter_mut()
            .find(|(known, _)| *known == uri)
            .map(|(_, chat)| chat)
    }

    fn append(&mut self, ops: &mut Vec<StoreOp>, make: impl Fn(u64) -> StoreOp) {
        let op = make(self.next);
        if self.reserved < self.next {
            self.reserved = self.next + 4;
            ops.push(reserve(self.reserved));
        }
        self.last = self.next;
        self.next += 1;
        if let StoreOp::Append(sequenced) = &op {
            self.log.push(Sequenced::clone(sequenced));
        }
        ops.push(op);
    }

    fn step(&mut self, step: &Step, ops: &mut Vec<StoreOp>) {
        match step {
            Step::Delta { chat, part, text } => {
                let part = if *part { "p" } else { "q" };
                self.append(ops, |seq| delta(seq, CHATS[*chat].0, part, text));
            }
            Step::Title { chat } => {
                self.append(ops, |seq| title(seq, CHATS[*chat].0, &format!("T{seq}")));
            }
            Step::PutSession { session } => {
                let uri = SESSIONS[*session];
                self.modified_at += 1;
                let modified_at = self.modified_at;
                if self.living(uri).is_none() {
                    self.sessions.insert(uri, ModelSession::default());
                }
                self.sessions.get_mut(uri).unwrap().modified_at = modified_at;
                ops.push(put_session(uri, "S", modified_at));
            }
            Step::PutChat { chat, active } => {
                let ((uri, session), seq) = (CHATS[*chat], self.next - 1);
                if self.living(session).is_none() {
                    return;
                }
                if self.chat(*chat).is_none() {
                    let chats = &mut self.living(session).unwrap().chats;
                    chats.push((uri, ModelChat::default()));
                }
                let known = self.chat(*chat).unwrap();
                (known.seq, known.active) = (seq, *active);
                ops.push(put_chat(uri, session, seq, active.then_some("t")));
            }
            Step::DeleteChat { chat } => {
                let (uri, session) = CHATS[*chat];
                if let Some(session) = self.living(session) {
                    session.chats.retain(|(known, _)| *known != uri);
                    ops.push(StoreOp::DeleteChat { chat: uri.into() });
                }
            }
            Step::Turn { chat } => {
                if let Some(known) = self.chat(*chat) {
                    let (index, id) = (known.turns.len() as u64, format!("t{}", known.seq));
                    ops.push(turn(CHATS[*chat].0, index, &id));
                    known.turns.push(id);
                }
            }
            Step::Truncate { chat, keep } => {
                if let Some(known) = self.chat(*chat) {
                    known.turns.truncate(*keep as usize);
                    let chat = CHATS[*chat].0.into();
                    ops.push(StoreOp::TruncateTurns { chat, keep: *keep });
                }
            }
            Step::Dispose { session } => {
                let uri = SESSIONS[*session];
                if let Some(session) = self.living(uri) {
                    session.disposed = true;
                    let gone: Vec<_> = session.chats.iter().map(|(chat, _)| *chat).collect();
                    self.log
                        .retain(|entry| !gone.contains(&entry.channel.as_str()));
                    ops.push(dispose(uri, 1));
                }
            }
            Step::Content { session } => {
                if let Some(known) = self.living(SESSIONS[*session]) {
                    known.contents = true;
                    let uri = format!("x:{}", SESSIONS[*session]);
                    ops.push(content(&uri, SESSIONS[*session], "data"));
                }
            }
            Step::Trim { back } => {
                let below = self.next.saturating_sub(*back);
                self.log_start = self.log_start.max(below.min(self.last + 1));
                ops.push(trim(below));
            }
            Step::Restore { .. } | Step::Batch | Step::Commit | Step::Restart { .. } => {}
        }
    }

    fn check(&self, reader: &dyn Archive) {
        let mut living: Vec<_> = self.sessions.iter().filter(|(_, s)| !s.disposed).collect();
        living.sort_by_key(|(_, session)| -session.modified_at);
        let catalogue = reader.catalogue().unwrap();
        assert_eq!(
            uris(catalogue.iter().map(|row| &row.session)),
            living.iter().map(|(uri, _)| **uri).collect::<Vec<_>>()
        );

        let log = log_of(reader, 0, u64::MAX);
        assert!(log.is_sorted_by_key(|entry| entry.last));
        let first_known = self.log_start.saturating_sub(1);
        for (chat, _) in CHATS {
            for after in first_known..self.next {
                assert_eq!(
                    told(&log, chat, after),
                    self.told(chat, after),
                    "{chat} {after}"
                );
            }
        }

        for (uri, model) in &self.sessions {
            let contents = reader.content(&format!("x:{uri}")).unwrap();
            assert_eq!(contents.is_some(), model.contents && !model.disposed);
            let loaded = reader.load_session(&(*uri).into()).unwrap();
            assert_eq!(loaded.is_some(), !model.disposed);
            let Some(loaded) = loaded else { continue };
            assert_eq!(loaded.session, session(uri, "S", model.modified_at));
            assert_eq!(
                uris(loaded.chats.iter().map(|chat| &chat.record.uri)),
                model
                    .chats
                    .iter()
                    .map(|(chat, _)| *chat)
                    .collect::<Vec<_>>()
            );
            for (got, (chat_uri, want)) in loaded.chats.iter().zip(&model.chats) {
                let active = want.active.then_some("t");
                assert_eq!(got.record, chat(chat_uri, uri, want.seq, active));
                let turns: Vec<_> = got.turns.iter().map(|turn| &*turn.id).collect();
                assert_eq!(turns, want.turns);
                let after = want.seq.max(first_known);
                assert_eq!(told(&got.log, chat_uri, after), self.told(chat_uri, after));
                assert!(got.log.iter().all(|entry| entry.last > want.seq.into()));
            }
        }
    }

    fn told(&self, channel: &str, after: u64) -> Vec<String> {
        let mut told = Told::default();
        for entry in &self.log {
            if entry.channel.as_str() == channel && entry.seq > after.into() {
                told.hear(&entry.action);
            }
        }
        told.lines
    }
}

fn run<S: Subject>(subject: S, steps: &[Step]) {
    let mut stage = Stage::new(subject);
    let mut model = Model {
        next: stage.boot.next_seq.get(),
        log_start: stage.boot.log_start.get(),
        ..Model::default()
    };
    let (mut batches, mut ops) = (Vec::<StoreBatch>::new(), Vec::new());
    for step in steps.iter().chain([&Step::Restart { clean: false }]) {
        model.step(step, &mut ops);
        let ends = matches!(
            step,
            Step::Commit | Step::Restart { .. } | Step::Restore { .. }
        );
        if ends || matches!(step, Step::Batch) {
            batches.push(batch(std::mem::take(&mut ops)));
        }
        if !ends {
            continue;
        }
        if let Step::Restart { clean: true } = step {
            model.reserved = model.next - 1;
            let until = model.reserved;
            batches.push(batch([reserve(until)]));
        }
        stage.apply_all(&std::mem::take(&mut batches));
        if let Step::Restore { session } = step {
            let uri = SESSIONS[*session];
            let known = model.sessions.get_mut(uri).filter(|known| known.disposed);
            assert_eq!(stage.store.restore(&uri.into()).unwrap(), known.is_some());
            if let Some(known) = known {
                known.disposed = false;
            }
        }
        if let Step::Restart { clean } = step {
            stage = if *clean {
                stage.restart()
            } else {
                stage.crash()
            };
            let boot = &stage.boot;
            assert_eq!(boot.next_seq.get(), model.next.max(model.reserved + 1));
            assert_eq!(boot.log_start.get(), model.log_start);
            for epochs in boot.epochs.windows(2) {
                assert!(epochs[0].last + 1 < epochs[1].first, "{:?}", boot.epochs);
            }
            for entry in model
                .log
                .iter()
                .filter(|entry| entry.seq >= model.log_start.into())
            {
                let within = |epoch: &&innkeeper_protocol::record::Epoch| {
                    (epoch.first..=epoch.last).contains(&entry.seq)
                };
                assert_eq!(boot.epochs.iter().filter(within).count(), 1);
            }
            model.next = boot.next_seq.get();
        }
        model.check(&*stage.archive);
    }
}

pub fn what_is_read_does_not_depend_on_how_it_was_grouped<S: Subject>(subject: impl Fn() -> S) {
    // Whoever runs the suite has no place for regressions of its own.
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(S::CASES)
    };
    let steps = prop::collection::vec(step(), 0..60);
    let tried = TestRunner::new(config).run(&steps, |steps| {
        run(subject(), &steps);
        Ok(())
    });
    if let Err(failure) = tried {
        panic!("{failure}");
    }
}
