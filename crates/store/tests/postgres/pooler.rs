//! A pooler between the host and the database: one that gives out whole sessions
//! is as good as the database, and any other is refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use innkeeper_protocol::record::store::Store as _;
use innkeeper_store::{PostgresError, PostgresStore, open_postgres_read_only};
use innkeeper_store_conformance::Opening;
use innkeeper_store_conformance::cluster::Cluster;
use innkeeper_store_conformance::records::{batch, title};
use tempfile::TempDir;

use crate::common::{LEASE, address, is_there, options};

const PROGRAM: &str = "/usr/sbin/pgbouncer";

/// What its socket is called after; nobody listens there over the network.
const PORT: u16 = 6432;

/// PgBouncer in front of a cluster.
struct Pooler {
    child: Child,
    files: TempDir,
}

impl Pooler {
    /// Nothing, if it is not installed.
    fn before(cluster: &Cluster, mode: &str) -> Option<Self> {
        if !Path::new(PROGRAM).exists() {
            eprintln!("SKIPPED: PgBouncer is not installed (Debian: apt-get install pgbouncer)");
            return None;
        }
        let files = tempfile::tempdir().unwrap();
        // It makes its socket there, as somebody with few rights.
        let all = fs::Permissions::from_mode(0o777);
        fs::set_permissions(files.path(), all).unwrap();
        let socket = cluster.socket_file();
        let (directory, file) = (socket.parent().unwrap(), socket.file_name().unwrap());
        let server_port = file.to_str().unwrap().rsplit('.').next().unwrap();
        let config = files.path().join("pgbouncer.ini");
        let users = files.path().join("users");
        fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\npostgres = host={} port={server_port}\n\
             [pgbouncer]\nlisten_addr =\nlisten_port = {PORT}\nunix_socket_dir = {}\n\
             auth_type = trust\nauth_file = {}\npool_mode = {mode}\n",
            directory.display(),
            files.path().display(),
            users.display()
        );
        fs::write(&config, text).unwrap();
        let mut command = Command::new(PROGRAM);
        // It refuses to run as root.
        if fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
            command.args(["-u", "postgres"]);
        }
        command.arg("-q").arg(&config);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let began = Instant::now();
        let own = files.path().join(format!(".s.PGSQL.{PORT}"));
        while UnixStream::connect(&own).is_err() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "it did not start"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(Self { child, files })
    }

    fn url(&self) -> String {
        let place = self.files.path().to_str().unwrap().replace('/', "%2F");
        format!("postgres://postgres@{place}:{PORT}/postgres?schema=house")
    }

    fn opened(&self) -> Result<PostgresStore, PostgresError> {
        let dir = tempfile::tempdir().unwrap();
        let options = options(&dir, LEASE, &Opening::default());
        PostgresStore::open(&address(&self.url()), options)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn through_a_pooler_of_sessions_a_host_works() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let Some(pooler) = Pooler::before(&cluster, "session") else {
        return;
    };
    let mut store = pooler.opened().unwrap();
    store.begin().unwrap();
    store
        .apply(&[batch([title(1, "ahp-root://", "T")])])
        .unwrap();
    open_postgres_read_only(&address(&pooler.url())).unwrap();
    Box::new(store).close().unwrap();
}

#[test]
fn a_pooler_of_transactions_is_refused_before_anything_is_changed() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let Some(pooler) = Pooler::before(&cluster, "transaction") else {
        return;
    };
    let refused = [
        pooler.opened().unwrap_err(),
        open_postgres_read_only(&address(&pooler.url())).unwrap_err(),
    ];
    for refused in refused {
        let said = refused.to_string();
        assert!(said.contains("session pooling"), "{said}");
    }
    let made = cluster.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'house'");
    assert_eq!(made, "0");
}
