//! The database goes away: restarted, cut off, slow, full, or another one in
//! its place. Nothing that was reported is lost, and nothing is stored twice.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::{Archive, CommitNo, Journal, JournalEvent, Store};
use innkeeper_store::PostgresStore;
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::cluster::Cluster;
use innkeeper_store_conformance::records::{batch, log_of, put_session, title};
use tempfile::TempDir;

use crate::common::{LEASE, address, is_there, options};

const PATIENCE: Duration = Duration::from_secs(60);

fn said(seq: u64) -> StoreBatch {
    batch([title(seq, "ahp-root://", &seq.to_string())])
}

/// A journal on a database, and what it reports.
struct Running {
    journal: Box<dyn Journal>,
    events: mpsc::Receiver<JournalEvent>,
    archive: Arc<dyn Archive>,
    _dir: TempDir,
}

impl Running {
    fn on(url: &str, lease: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opening = Opening::default();
        let mut store = PostgresStore::open(&address(url), options(&dir, lease, &opening)).unwrap();
        store.begin().unwrap();
        let (told, events) = mpsc::channel();
        let archive = store.archive().unwrap();
        let notify = Box::new(move |event| told.send(event).unwrap_or(()));
        Self {
            journal: Box::new(store).start(notify).unwrap(),
            events,
            archive,
            _dir: dir,
        }
    }

    fn next(&self) -> JournalEvent {
        self.events.recv_timeout(PATIENCE).unwrap()
    }

    fn until_committed(&self, number: CommitNo) -> Vec<JournalEvent> {
        let mut seen = Vec::new();
        loop {
            match self.next() {
                JournalEvent::Committed(done) if done >= number => return seen,
                JournalEvent::Committed(_) => {}
                other => seen.push(other),
            }
        }
    }

    fn stored(&self) -> Vec<u64> {
        let log = log_of(&*self.archive, 0, u64::MAX);
        log.iter().map(|entry| entry.last.get()).collect()
    }
}

#[test]
fn a_database_that_is_restarted_costs_nothing() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    running.until_committed(running.journal.submit(said(1), true));
    cluster.stop();
    running.journal.submit(said(2), true);
    let JournalEvent::Failing { reason } = running.next() else {
        panic!("it should fail");
    };
    assert!(reason.contains("cannot be reached"), "{reason}");
    running.journal.submit(said(3), true);
    cluster.restart();
    let seen = running.until_committed(CommitNo(3));
    assert_eq!(seen, [JournalEvent::Recovered]);
    assert_eq!(running.stored(), [1, 2, 3]);
    running.journal.close().unwrap();
}

#[test]
fn an_idle_host_says_that_the_database_is_away_and_goes_on_by_itself() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    cluster.stop();
    assert!(matches!(running.next(), JournalEvent::Failing { .. }));
    cluster.restart();
    assert_eq!(running.next(), JournalEvent::Recovered);
}

/// What a proxy does with what it is given.
const PASS: u8 = 0;
/// It passes on what hosts say, and keeps the answers to itself.
const SWALLOW: u8 = 1;
const HOLD: u8 = 2;

/// Stands between a host and the database.
struct Proxy {
    port: u16,
    mode: Arc<AtomicU8>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            mode: Arc::default(),
            open: Arc::default(),
        };
        let (mode, open) = (Arc::clone(&proxy.mode), Arc::clone(&proxy.open));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(database) = UnixStream::connect(&socket) else {
                    continue;
                };
                open.lock().unwrap().push(client.try_clone().unwrap());
                let (up, down) = (Arc::clone(&mode), Arc::clone(&mode));
                let ends = (client.try_clone().unwrap(), database.try_clone().unwrap());
                thread::spawn(move || copy(ends.0, ends.1, &up, |mode| mode == HOLD));
                thread::spawn(move || copy(database, client, &down, |mode| mode != PASS));
            }
        });
        proxy
    }

    fn address(&self, schema: &str) -> String {
        let port = self.port;
        format!("postgres://postgres@127.0.0.1:{port}/postgres?schema={schema}")
    }

    fn set(&self, mode: u8) {
        self.mode.store(mode, Ordering::SeqCst);
    }

    /// Ends what is open.
    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn copy(
    mut from: impl io::Read,
    mut to: impl io::Write,
    mode: &AtomicU8,
    is_lost: impl Fn(u8) -> bool,
) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_lost(mode.load(Ordering::SeqCst)) && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_commit_whose_answer_was_lost_is_not_made_twice() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let proxy = Proxy::before(cluster.socket_file());
    let running = Running::on(&proxy.address("house"), LEASE);
    running.until_committed(running.journal.submit(said(1), true));
    proxy.set(SWALLOW);
    running.journal.submit(said(2), true);
    // The database has it, and the host does not know.
    while cluster.sql("SELECT count(*) FROM house.log") != "2" {
        thread::sleep(Duration::from_millis(10));
    }
    running.journal.submit(said(3), false);
    proxy.cut();
    assert!(matches!(running.next(), JournalEvent::Failing { .. }));
    proxy.set(PASS);
    proxy.cut();
    let seen = running.until_committed(CommitNo(3));
    assert_eq!(seen, [JournalEvent::Recovered]);
    assert_eq!(running.stored(), [1, 2, 3]);
}

#[test]
fn a_host_that_is_cut_off_is_lost_before_its_lease_is_free() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let proxy = Proxy::before(cluster.socket_file());
    let running = Running::on(&proxy.address("house"), Duration::from_secs(5));
    proxy.set(HOLD);
    running.journal.submit(said(1), true);
    let lost = std::iter::from_fn(|| running.events.recv_timeout(PATIENCE).ok())
        .find(|event| matches!(event, JournalEvent::Lost { .. }));
    let Some(JournalEvent::Lost { reason }) = lost else {
        panic!("it should be lost");
    };
    assert!(reason.contains("ran out"), "{reason}");
    let is_held = cluster.sql("SELECT until > clock_timestamp() FROM house.lease");
    assert_eq!(is_held, "t", "somebody else could have begun by now");
}

#[test]
fn a_standby_of_the_database_that_is_promoted_takes_its_place() {
    if !is_there() {
        return;
    }
    let mut primary = Cluster::start();
    let standby = primary.standby();
    primary.configure("synchronous_standby_names = '*'\nsynchronous_commit = on");
    primary.restart();
    let in_url = |cluster: &Cluster| {
        let address = cluster.address("house");
        address.split(['@', '/']).nth(3).unwrap().to_owned()
    };
    let both = format!(
        "postgres://postgres@{},{}/postgres?schema=house",
        in_url(&primary),
        in_url(&standby)
    );
    let running = Running::on(&both, LEASE);
    for seq in 1..=5 {
        running.until_committed(running.journal.submit(said(seq), true));
    }
    primary.stop();
    running.journal.submit(said(6), true);
    assert!(matches!(running.next(), JournalEvent::Failing { .. }));
    standby.promote();
    running.until_committed(CommitNo(6));
    assert_eq!(running.stored(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_the_database_can_never_take_is_set_aside() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    // No text there can hold this character, and this is a name.
    running
        .journal
        .submit(batch([put_session("s:/\0", "T", 1)]), true);
    let seen = running.until_committed(CommitNo(1));
    assert!(matches!(&seen[..], [JournalEvent::SetAside(_)]), "{seen:?}");
    // In a title it can stand.
    let good = batch([put_session("s:/2", "\0", 1)]);
    let seen = running.until_committed(running.journal.submit(good, true));
    assert_eq!(seen, []);
    let loaded = running.archive.load_session(&"s:/2".into()).unwrap();
    assert_eq!(loaded.unwrap().session.summary.title, "\0");
}
