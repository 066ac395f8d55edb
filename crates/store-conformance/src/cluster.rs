//! A PostgreSQL of a test's own: in a temporary directory, on a Unix socket,
//! gone with the process that started it, however that ends. Where PostgreSQL
//! is not installed there is none, and tests say so.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Quick rather than safe: what is committed survives the server, but not the
/// machine.
const SETTINGS: &str = "
listen_addresses = ''
fsync = off
full_page_writes = off
max_connections = 80
shared_buffers = 16MB
autovacuum = off
log_min_messages = fatal
max_wal_senders = 4
";

const PORT: u16 = 5432;

/// What the directories of clusters are called.
const PREFIX: &str = "innkeeper-pg-";

/// A file in each of them, which is locked as long as its process lives.
const OWNER: &str = "owner";

/// Runs a server until its input ends, as it does when whoever started it is
/// gone. Unless it was told to keep the directory, that goes with it.
const GUARD: &str = "\"$0\" -D \"$1\" -k \"$2\" >\"$2/log\" 2>&1 & it=$!; read -r word; \
                     kill -s QUIT $it; wait $it; [ \"$word\" = keep ] || rm -rf -- \"$2\"";

/// Runs a guard with the tables on a small file system of their own, in a
/// namespace that goes with it: `$3` is its size, `$4` and `$5` who the server
/// is. What comes before the database is written is not on it: a server that
/// finds no room for that ends.
const ON_SMALL_DISK: &str = "set -e; cp -a \"$1/base\" \"$2/base\"; \
    mount -t tmpfs -o \"size=$3,mode=700\" small \"$1/base\"; cp -a \"$2/base/.\" \"$1/base\"; \
    if [ -n \"$4\" ]; then chown \"$4:$5\" \"$1/base\"; \
    exec setpriv --reuid \"$4\" --regid \"$5\" --clear-groups /bin/sh -c \"$6\" \"$0\" \"$1\" \"$2\"; fi; \
    exec unshare --user --map-user=1000 --map-group=1000 /bin/sh -c \"$6\" \"$0\" \"$1\" \"$2\"";

/// A running cluster.
#[derive(Debug)]
pub struct Cluster {
    directory: TempDir,
    postmaster: Option<Child>,
    port: u16,
    /// How large the disk of its tables is, if that is its own.
    disk: Option<&'static str>,
    _owner: File,
}

/// Where the programs of PostgreSQL are, the newest first; nothing if it is not
/// installed.
fn programs() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
            .ok()?
            .flatten()
            .filter_map(|entry| {
                let version = entry.file_name().to_str()?.parse().ok()?;
                Some((version, entry.path().join("bin")))
            })
            .filter(|(_, bin)| bin.join("initdb").exists() && bin.join("postgres").exists())
            .collect();
        found.sort();
        found.pop().map(|(_, bin)| bin)
    };
    FOUND.get_or_init(find).as_deref()
}

/// Whether there is a PostgreSQL; says so if there is not.
pub fn is_there() -> bool {
    let there = programs().is_some();
    if !there {
        eprintln!("SKIPPED: PostgreSQL is not installed (Debian: apt-get install postgresql)");
    }
    there
}

/// The servers refuse to run as root: then it is somebody with few rights.
fn user() -> Option<(u32, u32)> {
    if !is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let of = |name: &str| {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    of("postgres").or_else(|| of("nobody"))
}

/// Starts something in a namespace in which it can mount.
fn unshare() -> Command {
    let mut command = Command::new("unshare");
    if !is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.arg("--mount");
    command
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}

fn program(name: &str) -> Command {
    let mut command = Command::new(programs().unwrap().join(name));
    command
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C");
    if let Some((user, group)) = user() {
        command.uid(user).gid(group);
    }
    command
}

impl Cluster {
    /// A new cluster with nothing in it.
    pub fn start() -> Self {
        Self::start_on(None)
    }

    /// The same with its tables on a disk of this size, such as `48m`, which is
    /// empty after a restart; nothing where this system does not allow that.
    pub fn start_on_disk_of(size: &'static str) -> Option<Self> {
        let mount = "mount -t tmpfs -o \"size=$0\" small \"$1\"";
        let tried = unshare()
            .args(["/bin/sh", "-c", mount, size, "/mnt"])
            .output();
        match tried {
            Ok(output) if output.status.success() => Some(Self::start_on(Some(size))),
            other => {
                eprintln!("SKIPPED: there can be no small disk here: {other:?}");
                None
            }
        }
    }

    fn start_on(disk: Option<&'static str>) -> Self {
        sweep();
        let (directory, owner) = directory();
        let data = directory.path().join("data");
        copy(&template(), &data).unwrap();
        fs::write(data.join("postgresql.conf"), SETTINGS).unwrap();
        own(directory.path());
        let mut cluster = Self {
            directory,
            postmaster: None,
            port: PORT,
            disk,
            _owner: owner,
        };
        cluster.restart();
        cluster
    }

    /// A copy of this one that follows it, until it is promoted.
    pub fn standby(&self) -> Self {
        let (directory, owner) = directory();
        own(directory.path());
        let data = directory.path().join("data");
        run(program("pg_basebackup")
            .args(["-U", "postgres", "-X", "stream", "-R", "-c", "fast", "-h"])
            .arg(self.socket())
            .arg("-D")
            .arg(data));
        let mut cluster = Self {
            directory,
            postmaster: None,
            port: PORT,
            disk: None,
            _owner: owner,
        };
        cluster.restart();
        cluster
    }

    /// Makes a primary of a standby.
    pub fn promote(&self) {
        run(program("pg_ctl")
            .args(["promote", "-w", "-D"])
            .arg(self.data()));
    }

    /// An address of this machine that no other process uses.
    pub fn own_loopback() -> Ipv4Addr {
        let [_, high, middle, low] = std::process::id().to_be_bytes();
        Ipv4Addr::new(127, 64 | (high & 63), middle, low)
    }

    /// From here on it can be reached over TCP, too, with this certificate.
    pub fn listen_with_tls(&mut self, certificate: &str, key: &str) -> SocketAddr {
        let address = SocketAddr::from((Self::own_loopback(), 0));
        let free = TcpListener::bind(address).and_then(|it| it.local_addr());
        let address = free.unwrap();
        for (name, text) in [("server.crt", certificate), ("server.key", key)] {
            let file = self.data().join(name);
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
        let access = "local all all trust\nhostssl all all 127.0.0.0/8 trust\n";
        fs::write(self.data().join("pg_hba.conf"), access).unwrap();
        let (at, port) = (address.ip(), address.port());
        self.configure(&format!(
            "listen_addresses = '{at}'\nport = {port}\nssl = on"
        ));
        own(self.directory.path());
        self.port = port;
        self.restart();
        address
    }

    /// Whoever comes over TCP has to know this password.
    pub fn want_password(&self, password: &str) {
        self.sql(&format!("ALTER ROLE postgres PASSWORD '{password}'"));
        let access = "local all all trust\nhostssl all all 127.0.0.0/8 scram-sha-256\n";
        fs::write(self.data().join("pg_hba.conf"), access).unwrap();
        self.sql("SELECT pg_reload_conf()");
    }

    /// More settings, which hold from the next start on.
    pub fn configure(&self, settings: &str) {
        let file = self.data().join("postgresql.conf");
        let before = fs::read_to_string(&file).unwrap();
        fs::write(file, format!("{before}\n{settings}\n")).unwrap();
    }

    /// Starts it, or starts it again.
    pub fn restart(&mut self) {
        self.stop();
        let mut shell = match self.disk {
            None => Command::new("/bin/sh"),
            Some(_) => {
                let mut shell = unshare();
                shell.arg("/bin/sh");
                shell
            }
        };
        shell
            .args(["-c", self.disk.map_or(GUARD, |_| ON_SMALL_DISK)])
            .arg(programs().unwrap().join("postgres"));
        shell.arg(self.data()).arg(self.socket()).env_clear();
        shell
            .env("LC_ALL", "C")
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        match (self.disk, user()) {
            (None, None) => {}
            (None, Some((user, group))) => {
                shell.uid(user).gid(group);
            }
            (Some(size), None) => {
                shell.args([size, "", "", GUARD]);
            }
            (Some(size), Some((user, group))) => {
                shell.args([size, &user.to_string(), &group.to_string(), GUARD]);
            }
        }
        shell
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.postmaster = Some(shell.spawn().unwrap());
        let began = Instant::now();
        while !self.ask("SELECT 1").status.success() {
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "PostgreSQL did not start: {}",
                fs::read_to_string(self.socket().join("log")).unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once, as a crash would.
    pub fn stop(&mut self) {
        if let Some(mut postmaster) = self.postmaster.take() {
            if let Some(mut input) = postmaster.stdin.take() {
                let _ = input.write_all(b"keep\n");
            }
            let _ = postmaster.wait();
        }
    }

    /// The address of a store in one of its schemas.
    pub fn address(&self, schema: &str) -> String {
        let socket = self.socket().to_str().unwrap().replace('/', "%2F");
        let port = self.port;
        format!("postgres://postgres@{socket}:{port}/postgres?schema={schema}")
    }

    /// The file of its socket, for whoever stands between.
    pub fn socket_file(&self) -> PathBuf {
        self.socket().join(format!(".s.PGSQL.{}", self.port))
    }

    /// What the database says to a statement.
    #[track_caller]
    pub fn sql(&self, sql: &str) -> String {
        let output = self.ask(sql);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn ask(&self, sql: &str) -> Output {
        program("psql")
            .args([
                "-U",
                "postgres",
                "-d",
                "postgres",
                "-qAtX",
                "-v",
                "ON_ERROR_STOP=1",
                "-h",
            ])
            .arg(self.socket())
            .args(["-p", &self.port.to_string(), "-c", sql])
            .output()
            .unwrap()
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    fn socket(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A directory for a cluster, and what says that it is used. The path of a
/// socket has to be short, wherever temporary files are kept.
fn directory() -> (TempDir, File) {
    let directory = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir_in("/tmp")
        .unwrap();
    let owner = File::create(directory.path().join(OWNER)).unwrap();
    owner.lock().unwrap();
    (directory, owner)
}

/// Removes what is left of clusters whose guard was killed with their owner.
/// A server that still runs there ends when it finds its files gone.
fn sweep() {
    let entries = fs::read_dir("/tmp").into_iter().flatten().flatten();
    for entry in entries {
        let is_cluster = entry
            .file_name()
            .to_str()
            .is_some_and(|it| it.starts_with(PREFIX));
        // One that has no such file is only just being made.
        let Some(owner) = is_cluster
            .then(|| File::open(entry.path().join(OWNER)).ok())
            .flatten()
        else {
            continue;
        };
        if owner.try_lock().is_ok() {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// A cluster that was never started, made once for all tests.
fn template() -> PathBuf {
    let version = programs().unwrap().parent().and_then(Path::file_name);
    let version = version.and_then(OsStr::to_str).unwrap();
    let program = std::env::current_exe().unwrap();
    let place = program
        .parent()
        .unwrap()
        .join(format!("postgres-{version}"));
    if place.exists() {
        return place;
    }
    let (made, _owner) = directory();
    own(made.path());
    let data = made.path().join("data");
    run(program_initdb().arg("-D").arg(&data));
    let unfinished = place.with_extension(std::process::id().to_string());
    copy(&data, &unfinished).unwrap();
    // Somebody else may have been quicker.
    if fs::rename(&unfinished, &place).is_err() {
        let _ = fs::remove_dir_all(unfinished);
    }
    place
}

fn program_initdb() -> Command {
    let mut initdb = program("initdb");
    initdb.args([
        "-U",
        "postgres",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--no-sync",
        "--locale=C",
        "--wal-segsize=1",
    ]);
    initdb
}

#[track_caller]
fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type()?.is_dir() {
            true => copy(&from, &to)?,
            false => drop(fs::copy(&from, &to)?),
        }
    }
    Ok(())
}

/// Gives a directory to whoever runs the servers.
fn own(directory: &Path) {
    let Some((user, group)) = user() else {
        return;
    };
    chown(directory, Some(user), Some(group)).unwrap();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => own(&entry.path()),
            false => chown(entry.path(), Some(user), Some(group)).unwrap(),
        }
    }
}
