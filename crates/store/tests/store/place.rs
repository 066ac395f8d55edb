//! Files that somebody removes or replaces while a store has them open, and
//! another host that comes upon them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::store::{Archive as _, Store as _, StoreFault};
use innkeeper_store::{
    BACKUPS_DIRECTORY, DATABASE_FILE, LOCK_FILE, SqliteStore, StoreError, StoreOptions,
    open_read_only, restore,
};
use innkeeper_store_conformance::records::*;
use rusqlite::Connection;
use tempfile::TempDir;

/// A data directory in a directory of its own, so that what is put next to it
/// goes with the test.
struct Inn {
    home: TempDir,
    store: SqliteStore,
}

impl Inn {
    fn open() -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut store =
            SqliteStore::open(&home.path().join("data"), StoreOptions::default()).unwrap();
        store.begin().unwrap();
        store
            .apply(&[batch([put_session("s:/1", "S", 1)])])
            .unwrap();
        Self { home, store }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.data().join(name)
    }

    fn apply_another(&mut self) -> StoreFault {
        let another = batch([put_session("s:/2", "S", 1)]);
        self.store.apply(&[another]).unwrap_err()
    }

    /// The copies that were saved, wherever they are.
    fn rescued(&self) -> Vec<PathBuf> {
        let places = [self.file(BACKUPS_DIRECTORY), self.home.path().to_owned()];
        let files = places.iter().flat_map(|dir| fs::read_dir(dir).into_iter());
        let files = files.flatten().map(|file| file.unwrap().path());
        files
            .filter(|path| path.to_str().unwrap().ends_with("-rescue.db"))
            .collect()
    }
}

fn sessions_in(dir: &Path) -> usize {
    open_read_only(dir).unwrap().catalogue().unwrap().len()
}

/// Exchanges a file for another with the same bytes.
fn replace(file: &Path) {
    let copy = file.with_extension("copy");
    fs::copy(file, &copy).unwrap();
    fs::rename(copy, file).unwrap();
}

const SECOND: Duration = Duration::from_secs(1);

type Harm = fn(&Inn);

const HARMS: [(&str, Harm); 7] = [
    ("database", |inn| {
        fs::remove_file(inn.file(DATABASE_FILE)).unwrap();
    }),
    ("database", |inn| replace(&inn.file(DATABASE_FILE))),
    ("write-ahead log", |inn| {
        fs::remove_file(inn.file("innkeeper.db-wal")).unwrap();
    }),
    ("index", |inn| {
        fs::remove_file(inn.file("innkeeper.db-shm")).unwrap();
    }),
    ("lock file", |inn| {
        fs::remove_file(inn.file(LOCK_FILE)).unwrap();
    }),
    ("data directory", |inn| {
        fs::remove_dir_all(inn.data()).unwrap();
    }),
    ("data directory", |inn| {
        fs::rename(inn.data(), inn.home.path().join("moved")).unwrap();
        fs::create_dir(inn.data()).unwrap();
    }),
];

#[test]
fn a_commit_whose_files_are_gone_is_not_reported_and_all_that_was_stored_is_saved() {
    for (what, harm) in HARMS {
        let mut inn = Inn::open();
        harm(&inn);
        let fault = inn.apply_another();
        assert!(fault.is_lost(), "{fault}");
        assert!(fault.to_string().contains(what), "{fault}");
        assert!(inn.rescued().is_empty(), "first of all it is told");
        let said = inn.store.tend(SECOND).unwrap_err().to_string();
        for part in [what, "stop", "start"] {
            assert!(said.contains(part), "{part:?} in {said:?}");
        }
        let rescued = inn.rescued();
        assert_eq!(rescued.len(), 1, "{said}");
        assert!(said.contains(rescued[0].to_str().unwrap()), "{said}");
        let elsewhere = tempfile::tempdir().unwrap();
        restore(elsewhere.path(), &rescued[0], Timestamp::default()).unwrap();
        assert_eq!(sessions_in(elsewhere.path()), 2, "{what}");
    }
}

#[test]
fn a_loss_is_noticed_while_nothing_is_written() {
    for (what, harm) in HARMS {
        let mut inn = Inn::open();
        inn.store.tend(SECOND).unwrap();
        harm(&inn);
        let fault = inn.store.tend(SECOND).unwrap_err();
        assert!(fault.is_lost(), "{fault}");
        assert!(fault.to_string().contains(what), "{fault}");
    }
}

#[test]
fn nothing_is_written_again_when_the_file_comes_back() {
    let mut inn = Inn::open();
    let (file, away) = (inn.file(DATABASE_FILE), inn.file("away"));
    fs::rename(&file, &away).unwrap();
    assert!(inn.apply_another().is_lost());
    fs::rename(&away, &file).unwrap();
    assert!(inn.apply_another().is_lost());
    assert!(inn.store.delete(&"s:/1".into()).unwrap_err().is_lost());
    for _ in 0..40 {
        assert!(inn.store.tend(SECOND).unwrap_err().is_lost());
    }
    assert_eq!(inn.rescued().len(), 1, "one copy is enough");
}

#[test]
fn a_store_that_is_closed_when_its_files_are_gone_saves_what_it_has() {
    let inn = Inn::open();
    fs::remove_file(inn.file(DATABASE_FILE)).unwrap();
    let backups = inn.file(BACKUPS_DIRECTORY);
    let error = Box::new(inn.store).close().unwrap_err();
    assert!(error.is_lost(), "{error}");
    let copy = fs::read_dir(backups).unwrap().next().unwrap().unwrap();
    let copy = copy.path();
    assert!(
        error.to_string().contains(copy.to_str().unwrap()),
        "{error}"
    );
}

/// SQLite removes its log by name when a database is closed.
#[test]
fn a_store_that_is_lost_leaves_the_files_of_its_successor_alone() {
    let mut inn = Inn::open();
    fs::rename(inn.data(), inn.home.path().join("moved")).unwrap();
    let mut successor = SqliteStore::open(&inn.data(), StoreOptions::default()).unwrap();
    successor.begin().unwrap();
    let first = batch([put_session("s:/new", "S", 1)]);
    successor.apply(&[first]).unwrap();
    assert!(inn.apply_another().is_lost());
    let Inn { home, store } = inn;
    drop(store);
    let second = batch([put_session("s:/newer", "S", 1)]);
    successor.apply(&[second]).unwrap();
    assert_eq!(sessions_in(&home.path().join("data")), 2);
}

#[test]
fn a_second_host_is_refused_though_the_lock_file_is_gone() {
    let mut inn = Inn::open();
    fs::remove_file(inn.file(LOCK_FILE)).unwrap();
    let refused = SqliteStore::open(&inn.data(), StoreOptions::default()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
    // And the first says that anything may happen now.
    let fault = inn.apply_another();
    assert!(fault.to_string().contains("lock file"), "{fault}");
}

#[test]
fn a_second_host_is_refused_on_a_link_to_the_database() {
    let inn = Inn::open();
    let other = inn.home.path().join("other");
    fs::create_dir(&other).unwrap();
    std::os::unix::fs::symlink(inn.file(DATABASE_FILE), other.join(DATABASE_FILE)).unwrap();
    let refused = SqliteStore::open(&other, StoreOptions::default()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { .. }), "{refused}");
}

/// As it is where locks do not work: the other host has begun a life.
#[test]
fn a_host_that_was_overtaken_writes_nothing_more() {
    let mut inn = Inn::open();
    let other = Connection::open(inn.file(DATABASE_FILE)).unwrap();
    let begun = other.execute("UPDATE sequence SET life = life + 1", []);
    assert_eq!(begun.unwrap(), 1);
    for _ in 0..2 {
        let fault = inn.apply_another();
        assert!(fault.is_lost(), "{fault}");
        assert!(fault.to_string().contains("another host"), "{fault}");
    }
    assert_eq!(sessions_in(&inn.data()), 1);
    assert!(inn.rescued().is_empty(), "nothing is lost");
}

#[test]
fn each_life_has_a_number_of_its_own_even_if_it_stores_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut lives: Vec<i64> = Vec::new();
    for _ in 0..3 {
        let mut store = SqliteStore::open(dir.path(), StoreOptions::default()).unwrap();
        store.begin().unwrap();
        Box::new(store).close().unwrap();
        let database = Connection::open(dir.path().join(DATABASE_FILE)).unwrap();
        let life = database.query_row("SELECT life FROM sequence", [], |row| row.get(0));
        lives.push(life.unwrap());
    }
    assert_eq!(lives, [1, 2, 3]);
}
