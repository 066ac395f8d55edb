//! The database goes away: restarted, cut off, slow, full, or another one in
//! its place. Nothing that was reported is lost, and nothing is stored twice.

use std::io;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use innkeeper_protocol::record::StoreBatch;
use innkeeper_protocol::record::store::{Archive, CommitNo, Journal, JournalEvent, Store, Tenure};
use innkeeper_store::PostgresStore;
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::cluster::Cluster;
use innkeeper_store_conformance::records::{batch, log_of, put_session, reserve, title};
use tempfile::TempDir;

use crate::common::{LEASE, address, is_there, options};

const PATIENCE: Duration = Duration::from_secs(60);

/// For tests in which a lease runs out.
const SHORT_LEASE: Duration = Duration::from_secs(5);

fn said(seq: u64) -> StoreBatch {
    batch([title(seq, "ahp-root://", &seq.to_string())])
}

/// A journal on a database, and what it reports.
struct Running {
    journal: Option<Box<dyn Journal>>,
    events: mpsc::Receiver<JournalEvent>,
    archive: Arc<dyn Archive>,
    tenure: Arc<dyn Tenure>,
    dir: TempDir,
}

impl Running {
    fn on(url: &str, lease: Duration) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let opening = Opening::default();
        let mut store = PostgresStore::open(&address(url), options(&dir, lease, &opening)).unwrap();
        store.begin().unwrap();
        let (told, events) = mpsc::channel();
        let (archive, tenure) = (store.archive().unwrap(), store.tenure().unwrap());
        let notify = Box::new(move |event| told.send(event).unwrap_or(()));
        Self {
            journal: Some(Box::new(store).start(notify).unwrap()),
            events,
            archive,
            tenure,
            dir,
        }
    }

    fn submit(&self, batch: StoreBatch, urgent: bool) -> CommitNo {
        self.journal.as_ref().unwrap().submit(batch, urgent)
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

    /// It stops while nobody else can have begun: whenever one looks, more is left
    /// of the lease than the host believes. How long it takes to look does not
    /// matter.
    fn is_lost_in_time(&self, cluster: &Cluster) {
        let (left, asked) = (self.tenure.left(), Instant::now());
        let lasts = "SELECT extract(epoch FROM until - clock_timestamp()) FROM house.lease";
        let lasts: f64 = cluster.sql(lasts).parse().unwrap();
        let lasts = lasts + asked.elapsed().as_secs_f64();
        let at_its_end = lasts - left.as_secs_f64();
        assert!(
            left.is_zero() || at_its_end >= (SHORT_LEASE * 29 / 100).as_secs_f64(),
            "{at_its_end} s are left to the agents"
        );
        let mut events = std::iter::from_fn(|| self.events.recv_timeout(PATIENCE).ok());
        let reason = events.find_map(|event| match event {
            JournalEvent::Lost { reason } => Some(reason),
            _ => None,
        });
        let reason = reason.unwrap();
        assert!(reason.contains("ran out"), "{reason}");
        assert!(self.tenure.left().is_zero());
    }

    fn stored(&self) -> Vec<u64> {
        let log = log_of(&*self.archive, 0, u64::MAX);
        log.iter().map(|entry| entry.last.get()).collect()
    }
}

/// Its thread writes to the directory until the end.
impl Drop for Running {
    fn drop(&mut self) {
        // A store that was lost says so once more.
        let _ = self.journal.take().map(Journal::close);
    }
}

#[test]
fn a_database_that_is_restarted_costs_nothing() {
    if !is_there() {
        return;
    }
    let mut cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    running.until_committed(running.submit(said(1), true));
    cluster.stop();
    running.submit(said(2), true);
    let JournalEvent::Failing { reason } = running.next() else {
        panic!("it should fail");
    };
    assert!(reason.contains("cannot be reached"), "{reason}");
    running.submit(said(3), true);
    cluster.restart();
    let seen = running.until_committed(CommitNo(3));
    assert_eq!(seen, [JournalEvent::Recovered]);
    assert_eq!(running.stored(), [1, 2, 3]);
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
    /// How long each piece of an answer takes, in milliseconds.
    delay: Arc<AtomicU64>,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn before(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let proxy = Self {
            port: listener.local_addr().unwrap().port(),
            mode: Arc::default(),
            delay: Arc::default(),
            open: Arc::default(),
        };
        let (mode, open) = (Arc::clone(&proxy.mode), Arc::clone(&proxy.open));
        let delay = Arc::clone(&proxy.delay);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(database) = UnixStream::connect(&socket) else {
                    continue;
                };
                open.lock().unwrap().push(client.try_clone().unwrap());
                let (up, down) = (Arc::clone(&mode), Arc::clone(&mode));
                let delay = Arc::clone(&delay);
                let ends = (client.try_clone().unwrap(), database.try_clone().unwrap());
                thread::spawn(move || copy(ends.0, ends.1, || up.load(Ordering::SeqCst) == HOLD));
                thread::spawn(move || {
                    copy(database, client, || {
                        thread::sleep(Duration::from_millis(delay.load(Ordering::SeqCst)));
                        down.load(Ordering::SeqCst) != PASS
                    });
                });
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

    /// The database takes so long for an answer.
    fn slow_down(&self, delay: Duration) {
        let millis = u64::try_from(delay.as_millis()).unwrap();
        self.delay.store(millis, Ordering::SeqCst);
    }

    /// Ends what is open.
    fn cut(&self) {
        for stream in self.open.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn copy(mut from: impl io::Read, mut to: impl io::Write, is_lost: impl Fn() -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_lost() && to.write_all(&bytes[..count]).is_err() {
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
    running.until_committed(running.submit(said(1), true));
    proxy.set(SWALLOW);
    running.submit(said(2), true);
    // The database has it, and the host does not know.
    while cluster.sql("SELECT count(*) FROM house.log") != "2" {
        thread::sleep(Duration::from_millis(10));
    }
    running.submit(said(3), false);
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
    let running = Running::on(&proxy.address("house"), SHORT_LEASE);
    proxy.set(HOLD);
    running.submit(said(1), true);
    running.is_lost_in_time(&cluster);
}

#[test]
fn a_slow_database_costs_time_and_not_the_lease() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let proxy = Proxy::before(cluster.socket_file());
    let running = Running::on(&proxy.address("house"), SHORT_LEASE);
    let delay = Duration::from_millis(250);
    proxy.slow_down(delay);
    // For longer than the lease lasts.
    let commits = 1 + SHORT_LEASE.as_millis() / delay.as_millis();
    for seq in 1..=u64::try_from(commits).unwrap() {
        let seen = running.until_committed(running.submit(said(seq), true));
        assert_eq!(seen, [], "at {seq}");
    }
    assert_eq!(cluster.sql("SELECT life FROM house.lease"), "1");
}

#[test]
fn a_host_whose_database_is_too_slow_for_the_lease_gives_it_up_in_time() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let proxy = Proxy::before(cluster.socket_file());
    let running = Running::on(&proxy.address("house"), SHORT_LEASE);
    // No answer comes while anybody waits for it.
    proxy.slow_down(SHORT_LEASE * 7 / 10);
    running.submit(said(1), true);
    let JournalEvent::Failing { reason } = running.next() else {
        panic!("it should say so");
    };
    assert!(reason.contains("did not answer"), "{reason}");
    running.is_lost_in_time(&cluster);
}

/// What PostgreSQL says when its disk is full, for whatever is written to a
/// table.
fn fill(cluster: &Cluster, table: &str) {
    cluster.sql(&format!(
        "CREATE FUNCTION house.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION 'could not extend file: No space left on device'
                 USING ERRCODE = 'disk_full';
         END $$;
         CREATE TRIGGER no_room BEFORE INSERT OR UPDATE ON house.{table}
             FOR EACH ROW EXECUTE FUNCTION house.no_room()"
    ));
}

/// Fills the disk with a table, page by page.
const FILL: &str = "CREATE TABLE public.filler (words text);
    ALTER TABLE public.filler ALTER words SET STORAGE PLAIN;
    DO $$ BEGIN LOOP BEGIN
        INSERT INTO public.filler SELECT repeat('x', 7000) FROM generate_series(1, 10);
    EXCEPTION WHEN disk_full THEN EXIT;
    END; END LOOP; END $$";

#[test]
fn a_host_whose_database_has_a_full_disk_keeps_its_lease_and_waits_for_room() {
    if !is_there() {
        return;
    }
    let Some(cluster) = Cluster::start_on_disk_of("48m") else {
        return;
    };
    let running = Running::on(&cluster.address("house"), SHORT_LEASE);
    running.until_committed(running.submit(said(1), true));
    cluster.sql(FILL);
    // No page that there is has room for this, and it cannot be made shorter.
    let chance = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let large: String = (0..20_000)
        .map(|number| format!("{:016x}", chance(number)))
        .collect();
    running.submit(batch([title(2, "ahp-root://", &large)]), true);
    let JournalEvent::Failing { reason } = running.next() else {
        panic!("it should fail");
    };
    assert!(reason.contains("No space left on device"), "{reason}");
    assert!(reason.contains("free some space"), "{reason}");
    running.submit(said(3), true);
    // The lease that it had would have run out by now.
    let lasts = "SELECT until - clock_timestamp() > interval '0' FROM house.lease";
    let full = Instant::now();
    while full.elapsed() < SHORT_LEASE {
        assert_eq!(cluster.sql(lasts), "t");
    }
    cluster.sql("DROP TABLE public.filler");
    let seen = running.until_committed(CommitNo(3));
    assert_eq!(seen, [JournalEvent::Recovered]);
    assert_eq!(running.stored(), [1, 2, 3]);
    assert_eq!(cluster.sql("SELECT life FROM house.lease"), "1");
}

#[test]
fn a_host_waits_until_there_is_room_on_the_disk_of_its_database() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    running.until_committed(running.submit(said(1), true));
    fill(&cluster, "log");
    running.submit(said(2), true);
    let JournalEvent::Failing { reason } = running.next() else {
        panic!("it should fail");
    };
    assert!(reason.contains("free some space"), "{reason}");
    running.submit(said(3), true);
    cluster.sql("DROP TRIGGER no_room ON house.log");
    let seen = running.until_committed(CommitNo(3));
    assert_eq!(seen, [JournalEvent::Recovered]);
    assert_eq!(running.stored(), [1, 2, 3]);
}

#[test]
fn a_host_whose_lease_cannot_be_written_for_want_of_room_gives_it_up_in_time() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), SHORT_LEASE);
    fill(&cluster, "lease");
    running.is_lost_in_time(&cluster);
}

/// The address of two servers, of which one takes writes.
fn both(primary: &Cluster, standby: &Cluster) -> String {
    let in_url = |cluster: &Cluster| {
        let address = cluster.address("house");
        address.split(['@', '/']).nth(3).unwrap().to_owned()
    };
    let (primary, standby) = (in_url(primary), in_url(standby));
    format!("postgres://postgres@{primary},{standby}/postgres?schema=house")
}

#[test]
fn a_server_that_does_not_answer_is_not_in_the_way_of_the_next_one() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    // Whoever connects is let in by the system, and hears nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (silent, address) = (silent.local_addr().unwrap(), cluster.address("house"));
    let url = address.replacen('@', &format!("@{silent},"), 1);
    let url = format!("{url}&sslmode=disable");
    let running = Running::on(&url, SHORT_LEASE);
    running.until_committed(running.submit(said(1), true));
    assert_eq!(running.stored(), [1]);
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
    let running = Running::on(&both(&primary, &standby), LEASE);
    for seq in 1..=5 {
        running.until_committed(running.submit(said(seq), true));
    }
    primary.stop();
    running.submit(said(6), true);
    assert!(matches!(running.next(), JournalEvent::Failing { .. }));
    standby.promote();
    running.until_committed(CommitNo(6));
    assert_eq!(running.stored(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn where_a_promoted_standby_lacks_the_last_commits_no_number_is_given_out_again() {
    if !is_there() {
        return;
    }
    let mut primary = Cluster::start();
    let standby = primary.standby();
    let both = both(&primary, &standby);
    let mut running = Running::on(&both, LEASE);
    running.until_committed(running.submit(batch([reserve(10)]), true));
    running.until_committed(running.submit(said(1), true));
    let reached = primary.sql("SELECT pg_current_wal_lsn()");
    let follows = format!("SELECT pg_last_wal_replay_lsn() >= '{reached}'");
    while standby.sql(&follows) != "t" {
        thread::sleep(Duration::from_millis(10));
    }
    // It follows no longer, and nobody waits for it.
    standby.sql("ALTER SYSTEM SET primary_conninfo = ''");
    standby.sql("SELECT pg_reload_conf()");
    while standby.sql("SELECT count(*) FROM pg_stat_wal_receiver") != "0" {
        thread::sleep(Duration::from_millis(10));
    }
    running.until_committed(running.submit(batch([reserve(500)]), true));
    running.until_committed(running.submit(said(11), true));
    primary.stop();
    standby.promote();
    // What it would add is built on what is not there.
    running.submit(said(12), true);
    let mut events = std::iter::from_fn(|| running.events.recv_timeout(PATIENCE).ok());
    assert!(events.any(|event| matches!(event, JournalEvent::Lost { .. })));
    let _ = running.journal.take().map(Journal::close);
    assert_eq!(standby.sql("SELECT count(*) FROM house.log"), "1");

    standby.sql("UPDATE house.lease SET owner = NULL");
    let options = options(&running.dir, LEASE, &Opening::default());
    let mut store = PostgresStore::open(&address(&both), options).unwrap();
    let boot = store.begin().unwrap();
    assert!(boot.next_seq > 500.into(), "{:?}", boot.next_seq);
}

#[test]
fn what_the_database_can_never_take_is_set_aside() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let running = Running::on(&cluster.address("house"), LEASE);
    // No text there can hold this character, and this is a name.
    running.submit(batch([put_session("s:/\0", "T", 1)]), true);
    let seen = running.until_committed(CommitNo(1));
    assert!(matches!(&seen[..], [JournalEvent::SetAside(_)]), "{seen:?}");
    // In a title it can stand.
    let good = batch([put_session("s:/2", "\0", 1)]);
    let seen = running.until_committed(running.submit(good, true));
    assert_eq!(seen, []);
    let loaded = running.archive.load_session(&"s:/2".into()).unwrap();
    assert_eq!(loaded.unwrap().session.summary.title, "\0");
}
