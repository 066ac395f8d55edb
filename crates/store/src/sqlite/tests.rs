//! What needs a hand inside: a disk that is full, for the store and for the
//! writer. The cause is SQLite's own: it may not add another page.

use std::sync::mpsc;
use std::time::Duration;

use innkeeper_protocol::Seq;
use innkeeper_protocol::newest::actions::{StateAction, TerminalDataAction};
use innkeeper_protocol::record::store::{CommitNo, JournalEvent};
use innkeeper_protocol::record::{GateFacts, Sequenced, StoreOp};

use super::*;
use crate::writer;

/// More than a page, so that it cannot hide in the room that is left.
fn text(seq: u64) -> StoreBatch {
    let action = Sequenced {
        seq: seq.into(),
        channel: "ahp-terminal:/1".into(),
        action: StateAction::TerminalData(TerminalDataAction { data: padded(seq) }),
        origin: None,
        facts: GateFacts::default(),
    };
    StoreBatch {
        ops: vec![StoreOp::Append(Arc::new(action))],
    }
}

fn padded(seq: u64) -> String {
    format!("{seq:8192}")
}

fn set_max_pages(db: &Mutex<Connection>, pages: i64) {
    let sql = format!("PRAGMA max_page_count = {pages}");
    lock(db).query_row(&sql, [], |_| Ok(())).unwrap();
}

fn fill_disk(db: &Mutex<Connection>) {
    let pages = lock(db)
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    set_max_pages(db, pages);
}

fn free_disk(db: &Mutex<Connection>) {
    set_max_pages(db, 1 << 30);
}

/// The numbers in the log, each checked to have its text.
fn stored(reader: &dyn Archive) -> Vec<u64> {
    let log = reader.log_between(Seq::ZERO, Seq::MAX).unwrap();
    let mut seqs = Vec::new();
    for entry in &log {
        let ends = entry.cuts.iter().map(|cut| cut.seq).chain([entry.last]);
        let mut from = entry.first.back(1);
        for seq in ends {
            let rest = entry.after(from).unwrap().action;
            let StateAction::TerminalData(data) = rest else {
                panic!("a terminal's data was meant")
            };
            assert!(data.data.starts_with(&padded(seq.get())));
            seqs.push(seq.get());
            from = seq;
        }
    }
    seqs
}

#[test]
fn a_full_disk_loses_nothing_and_storing_works_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    store.apply(&[text(1)]).unwrap();
    fill_disk(&store.db);
    let waiting = [text(2), text(3)];
    for _ in 0..3 {
        let error = store.apply(&waiting).unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(stored(&*store.archive().unwrap()), [1]);
    }
    free_disk(&store.db);
    store.apply(&waiting).unwrap();
    drop(store);
    let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
    let boot = store.begin().unwrap();
    assert_eq!(stored(&*store.archive().unwrap()), [1, 2, 3]);
    assert_eq!(boot.next_seq, 4.into());
}

struct Running {
    dir: tempfile::TempDir,
    journal: Box<dyn Journal>,
    events: mpsc::Receiver<JournalEvent>,
    archive: Arc<dyn Archive>,
    db: Arc<Mutex<Connection>>,
}

fn running(group_commit: Duration) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        group_commit,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(dir.path(), options).unwrap();
    let (archive, db) = (store.archive().unwrap(), Arc::clone(&store.db));
    let (told, events) = mpsc::channel();
    let notify = move |event| told.send(event).unwrap_or(());
    let journal = Box::new(store).start(Box::new(notify)).unwrap();
    Running {
        dir,
        journal,
        events,
        archive,
        db,
    }
}

impl Running {
    fn event(&self) -> JournalEvent {
        self.events.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

#[test]
fn while_the_disk_is_full_batches_wait_and_it_is_told_once() {
    let running = running(Duration::ZERO);
    fill_disk(&running.db);
    running.journal.submit(text(1), true);
    let JournalEvent::Failing { reason } = running.event() else {
        panic!("it should fail")
    };
    assert!(reason.contains("the disk is full"), "{reason}");
    running.journal.submit(text(2), true);
    assert!(running.events.recv_timeout(2 * writer::RETRY).is_err());
    free_disk(&running.db);
    assert_eq!(running.event(), JournalEvent::Recovered);
    assert_eq!(running.event(), JournalEvent::Committed(CommitNo(2)));
    assert_eq!(stored(&*running.archive), [1, 2]);
}

/// The database answers as it does when its disk has become read-only, which
/// a test can bring about only where file permissions bind it.
#[test]
fn while_the_directory_is_read_only_batches_wait_and_are_stored_afterwards() {
    let running = running(Duration::ZERO);
    let set_read_only = |only: bool| {
        let db = lock(&running.db);
        db.pragma_update(None, "query_only", only).unwrap();
    };
    set_read_only(true);
    running.journal.submit(text(1), true);
    let JournalEvent::Failing { reason } = running.event() else {
        panic!("it should fail")
    };
    assert!(reason.contains("mounted read-only"), "{reason}");
    set_read_only(false);
    assert_eq!(running.event(), JournalEvent::Recovered);
    assert_eq!(running.event(), JournalEvent::Committed(CommitNo(1)));
    assert_eq!(stored(&*running.archive), [1]);
}

#[test]
fn closing_on_a_full_disk_gives_up_and_says_why() {
    let running = running(Duration::ZERO);
    fill_disk(&running.db);
    running.journal.submit(text(1), false);
    let error = running.journal.close().unwrap_err();
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert!(stored(&*running.archive).is_empty());
}

#[test]
fn a_database_that_is_removed_is_told_at_once_and_again_when_it_is_saved() {
    let running = running(Duration::ZERO);
    let file = running.dir.path().join(DATABASE_FILE);
    std::fs::remove_file(&file).unwrap();
    let JournalEvent::Lost { reason } = running.event() else {
        panic!("it should be lost")
    };
    assert!(reason.contains(file.to_str().unwrap()), "{reason}");
    assert!(!reason.contains("innkeeper restore"), "{reason}");
    let JournalEvent::Lost { reason } = running.event() else {
        panic!("it should be lost")
    };
    assert!(reason.contains("innkeeper restore"), "{reason}");
    running.journal.submit(text(1), true);
    let next = running.events.recv_timeout(2 * writer::RETRY);
    assert!(next.is_err(), "{next:?}");
    let error = running.journal.close().unwrap_err();
    assert!(error.is_lost(), "{error}");
}

/// Submits 20 batches, lets something be done behind each, and says how many of
/// them were committed by whoever submitted them.
fn committed_by_hand(urgent: bool, behind_each: impl Fn(&dyn Journal)) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        group_commit: Duration::ZERO,
        ..StoreOptions::default()
    };
    let store = SqliteStore::open(dir.path(), options).unwrap();
    let (told, events) = mpsc::channel();
    let notify = move |event| {
        let by = std::thread::current().id();
        told.send((event, by)).unwrap_or(());
    };
    let journal = Box::new(store).start(Box::new(notify)).unwrap();
    behind_each(&*journal);
    let here = std::thread::current().id();
    let by_hand = (1..=20).filter(|&number| {
        journal.submit(text(number), urgent);
        behind_each(&*journal);
        let (event, by) = events.recv_timeout(Duration::from_secs(20)).unwrap();
        assert_eq!(event, JournalEvent::Committed(CommitNo(number)));
        by == here
    });
    by_hand.count()
}

// The thread looks after the store now and then, and a slow disk is its own: not
// all of them are.

#[test]
fn what_is_urgent_is_committed_by_whoever_submits_it_while_nothing_else_is() {
    assert!(committed_by_hand(true, |_| ()) > 0);
}

#[test]
fn what_has_waited_is_committed_by_whoever_attends_to_the_journal() {
    let attend = |journal: &dyn Journal| assert_eq!(journal.attend(), None);
    assert!(committed_by_hand(false, attend) > 0);
}

#[test]
fn whoever_attends_is_told_when_to_come_back_while_batches_wait_for_company() {
    let long = Duration::from_secs(3600);
    let running = running(long);
    assert_eq!(running.journal.attend(), None, "nothing waits");
    running.journal.submit(text(1), false);
    let rest = running.journal.attend().unwrap();
    assert!(rest > long / 2 && rest <= long, "{rest:?}");
    running.journal.submit(text(2), true);
    assert_eq!(running.event(), JournalEvent::Committed(CommitNo(2)));
    assert_eq!(running.journal.attend(), None, "nothing waits any more");
}

#[test]
fn batches_of_whoever_attended_and_stays_away_are_committed_all_the_same() {
    let running = running(Duration::from_millis(20));
    assert_eq!(running.journal.attend(), None);
    running.journal.submit(text(1), false);
    assert_eq!(running.event(), JournalEvent::Committed(CommitNo(1)));
}

#[test]
fn the_write_ahead_log_is_moved_while_the_store_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, _) = directory::connect(dir.path(), SyncMode::Normal).unwrap();
    let moving = Checkpoints::of(&mut writer, dir.path(), SyncMode::Normal).unwrap();
    let size = || {
        std::fs::metadata(dir.path().join(DATABASE_FILE))
            .unwrap()
            .len()
    };
    writer.execute_batch("CREATE TABLE t (x)").unwrap();
    let before = size();
    for _ in 0..20 {
        let sql = "INSERT INTO t VALUES (zeroblob(300000))";
        writer.execute_batch(sql).unwrap();
    }
    // It does what it was asked for before it ends.
    drop(moving);
    assert!(size() > before + 1_000 * 4_096, "{} {before}", size());
}
