//! What needs a hand inside: a disk that is full, for the store and for the
//! writer. The cause is SQLite's own: it may not add another page.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use innkeeper_protocol::newest::actions::{StateAction, TerminalDataAction};
use innkeeper_protocol::record::{GateFacts, Sequenced, StoreOp};

use super::*;

/// More than a page, so that it cannot hide in the room that is left.
fn text(seq: u64) -> StoreBatch {
    let action = Sequenced {
        seq,
        channel: "ahp-terminal:/1".into(),
        action: StateAction::TerminalData(TerminalDataAction {
            data: format!("{seq:8192}"),
        }),
        origin: None,
        facts: GateFacts::default(),
    };
    StoreBatch {
        ops: vec![StoreOp::Append(Arc::new(action))],
    }
}

fn set_max_pages(db: &Db, pages: i64) {
    let sql = format!("PRAGMA max_page_count = {pages}");
    lock(db).query_row(&sql, [], |_| Ok(())).unwrap();
}

fn fill_disk(db: &Db) {
    let pages = lock(db)
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    set_max_pages(db, pages);
}

fn free_disk(db: &Db) {
    set_max_pages(db, 1 << 30);
}

/// The numbers in the log, each checked to have its text.
fn stored(reader: &Reader) -> Vec<u64> {
    let log = reader.log_between(0, u64::MAX).unwrap();
    let mut seqs = Vec::new();
    for entry in &log {
        let ends = entry.cuts.iter().map(|cut| cut.seq).chain([entry.last]);
        let mut from = entry.first - 1;
        for seq in ends {
            let rest = entry.after(from).unwrap().action;
            let StateAction::TerminalData(data) = rest else {
                panic!("a terminal's data was meant")
            };
            assert!(data.data.starts_with(&format!("{seq:8192}")));
            seqs.push(seq);
            from = seq;
        }
    }
    seqs
}

#[test]
fn a_full_disk_loses_nothing_and_storing_works_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let (mut store, _) = Store::open(dir.path(), StoreOptions::default()).unwrap();
    store.apply(&[text(1)]).unwrap();
    fill_disk(&store.db);
    let waiting = [text(2), text(3)];
    for _ in 0..3 {
        let error = store.apply(&waiting).unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(stored(&store.reader().unwrap()), [1]);
    }
    free_disk(&store.db);
    store.apply(&waiting).unwrap();
    drop(store);
    let (store, boot) = Store::open(dir.path(), StoreOptions::default()).unwrap();
    assert_eq!(stored(&store.reader().unwrap()), [1, 2, 3]);
    assert_eq!(boot.next_seq, 4);
}

struct Running {
    _dir: tempfile::TempDir,
    writer: Writer,
    events: mpsc::Receiver<WriterEvent>,
    reader: Reader,
    db: Db,
}

fn running(group_commit: Duration) -> Running {
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        group_commit,
        ..StoreOptions::default()
    };
    let (store, _) = Store::open(dir.path(), options).unwrap();
    let (reader, db) = (store.reader().unwrap(), Arc::clone(&store.db));
    let (told, events) = mpsc::channel();
    let writer = Writer::spawn(store, move |event| told.send(event).unwrap_or(())).unwrap();
    Running {
        _dir: dir,
        writer,
        events,
        reader,
        db,
    }
}

impl Running {
    fn event(&self) -> WriterEvent {
        self.events.recv_timeout(Duration::from_secs(20)).unwrap()
    }
}

const LONG: Duration = Duration::from_secs(3600);

#[test]
fn batches_wait_for_an_urgent_one_and_become_durable_with_it() {
    let running = running(LONG);
    for seq in 1..=5 {
        assert_eq!(running.writer.submit(text(seq), false), CommitNo(seq));
    }
    assert_eq!(running.writer.backlog(), 5);
    assert!(stored(&running.reader).is_empty());
    assert_eq!(running.writer.submit(text(6), true), CommitNo(6));
    assert_eq!(running.event(), WriterEvent::Committed(CommitNo(6)));
    assert_eq!(stored(&running.reader), [1, 2, 3, 4, 5, 6]);
    assert_eq!(running.writer.backlog(), 0);
}

#[test]
fn batches_that_are_not_urgent_become_durable_by_themselves() {
    let group_commit = Duration::from_millis(20);
    let running = running(group_commit);
    for seq in 1..=2 {
        let began = Instant::now();
        running.writer.submit(text(seq), false);
        assert_eq!(running.event(), WriterEvent::Committed(CommitNo(seq)));
        assert!(began.elapsed() >= group_commit);
    }
}

#[test]
fn closing_commits_what_is_queued() {
    let running = running(LONG);
    for seq in 1..=3 {
        running.writer.submit(text(seq), false);
    }
    running.writer.close().unwrap();
    assert_eq!(stored(&running.reader), [1, 2, 3]);
    assert_eq!(
        running.events.try_iter().collect::<Vec<_>>(),
        [WriterEvent::Committed(CommitNo(3))]
    );
}

#[test]
fn while_the_disk_is_full_batches_wait_and_it_is_told_once() {
    let running = running(Duration::ZERO);
    fill_disk(&running.db);
    running.writer.submit(text(1), true);
    let WriterEvent::Failing { reason } = running.event() else {
        panic!("it should fail")
    };
    assert!(reason.contains("the disk is full"), "{reason}");
    running.writer.submit(text(2), true);
    assert!(running.events.recv_timeout(2 * writer::RETRY).is_err());
    assert_eq!(running.writer.backlog(), 2);
    free_disk(&running.db);
    assert_eq!(running.event(), WriterEvent::Recovered);
    assert_eq!(running.event(), WriterEvent::Committed(CommitNo(2)));
    assert_eq!(stored(&running.reader), [1, 2]);
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
    running.writer.submit(text(1), true);
    let WriterEvent::Failing { reason } = running.event() else {
        panic!("it should fail")
    };
    assert!(reason.contains("mounted read-only"), "{reason}");
    set_read_only(false);
    assert_eq!(running.event(), WriterEvent::Recovered);
    assert_eq!(running.event(), WriterEvent::Committed(CommitNo(1)));
    assert_eq!(stored(&running.reader), [1]);
}

#[test]
fn closing_on_a_full_disk_gives_up_and_says_why() {
    let running = running(Duration::ZERO);
    fill_disk(&running.db);
    running.writer.submit(text(1), false);
    let error = running.writer.close().unwrap_err();
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(stored(&running.reader).is_empty());
}

#[test]
fn submissions_from_many_threads_keep_their_order() {
    let running = running(Duration::ZERO);
    let (writer, next) = (&running.writer, &Mutex::new(1));
    thread_scope(8, || {
        for _ in 0..25 {
            let mut next = next.lock().unwrap();
            let number = writer.submit(text(*next), *next % 5 == 0);
            assert_eq!(number, CommitNo(*next));
            *next += 1;
        }
    });
    running.writer.close().unwrap();
    assert_eq!(stored(&running.reader), (1..=200).collect::<Vec<_>>());
    let mut last = CommitNo(0);
    for event in running.events.try_iter() {
        let WriterEvent::Committed(number) = event else {
            panic!("unexpected {event:?}")
        };
        assert!(number > last);
        last = number;
    }
    assert_eq!(last, CommitNo(200));
}

fn thread_scope(threads: usize, work: impl Fn() + Copy + Send) {
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}
