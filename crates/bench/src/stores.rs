//! A store in PostgreSQL next to one in a data directory, in one run: what a
//! commit costs clients, what many hosts on one database hold, and how long
//! nobody is served when a host is killed.
//!
//! The database is a cluster on this machine that writes to its disk as one
//! does by default. The two kinds take turns, and the medians count.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use innkeeper_protocol::record::store::Store;
use innkeeper_store::{
    PostgresAddress, PostgresOptions, PostgresStore, SqliteStore, StoreOptions, SyncMode,
};
use innkeeper_store_conformance::cluster::{Cluster, is_there};
use innkeeper_store_conformance::records::{batch, delta, reserve};
use tempfile::TempDir;

use crate::process::Server;
use crate::wire::WireClient;
use crate::{fanout, latency};

const ROUNDS: usize = 5;
const ECHOES: usize = 1_000;
const SUBSCRIBERS: [usize; 3] = [1, 10, 100];
const HOSTS: [usize; 3] = [1, 10, 100];

/// How long hosts commit.
const COMMITTING: Duration = Duration::from_secs(4);

const LEASE_SECONDS: u64 = 5;

/// As PostgreSQL is by default, and with room for all.
const SETTINGS: &str = "fsync = on\nfull_page_writes = on\nautovacuum = on\n\
                        shared_buffers = 128MB\nmax_connections = 400";

const FULL: &str = "[store]\nsync = \"full\"\n";

/// All of it, or one of `echo`, `deliveries`, `commits` and `takeover`.
pub(crate) async fn run(part: Option<&str>) -> Result<()> {
    if !is_there() {
        println!("\nStores: skipped, as PostgreSQL is not installed");
        return Ok(());
    }
    let mut cluster = Cluster::start();
    cluster.configure(SETTINGS);
    cluster.restart();
    let bench = Bench { cluster };
    let parts = ["echo", "deliveries", "commits", "takeover"];
    if part.is_some_and(|part| !parts.contains(&part)) {
        bail!("a part is one of {}", parts.join(", "));
    }
    let is_wanted = |name: &str| part.is_none_or(|part| part == name);
    if is_wanted("echo") {
        bench.echoes().await?;
    }
    if is_wanted("deliveries") {
        bench.deliveries().await?;
    }
    if is_wanted("commits") {
        bench.commits()?;
    }
    if is_wanted("takeover") {
        bench.takeovers().await?;
    }
    Ok(())
}

struct Bench {
    cluster: Cluster,
}

impl Bench {
    /// The configuration of a host in a schema of its own.
    fn config(&self, schema: &str) -> String {
        let url = self.cluster.address(schema);
        format!("[store]\nurl = \"{url}\"\nlease_seconds = {LEASE_SECONDS}\n")
    }

    async fn echoes(&self) -> Result<()> {
        println!("\nFrom dispatch to echo, {ECHOES} one after the other (medians of {ROUNDS})\n");
        println!("| store | p50 µs | p99 µs | p50, compared with SQLite |");
        println!("| --- | ---: | ---: | ---: |");
        let names = ["SQLite", "SQLite, sync = full", "PostgreSQL"];
        let mut found = names.map(|_| (Vec::new(), Vec::new()));
        for round in 0..ROUNDS {
            let database = self.config(&format!("echo_{round}"));
            for (config, found) in ["", FULL, &database].into_iter().zip(&mut found) {
                let (p50, p99) = latency::measure_host(config, ECHOES, false).await?;
                found.0.push(p50);
                found.1.push(p99);
            }
        }
        let found = found.map(|(half, most)| (median(half), median(most)));
        for (name, (half, most)) in names.iter().zip(found) {
            println!(
                "| {name} | {half:.0} | {most:.0} | {:.1} |",
                half / found[0].0
            );
        }
        Ok(())
    }

    async fn deliveries(&self) -> Result<()> {
        println!("\nDeliveries a second, nothing merged (medians of {ROUNDS})\n");
        println!("| subscribers | SQLite | PostgreSQL | of SQLite |");
        println!("| ---: | ---: | ---: | ---: |");
        for count in SUBSCRIBERS {
            let (mut file, mut database) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                file.push(fanout::unmerged("", count).await?);
                let config = self.config(&format!("fanout_{count}_{round}"));
                database.push(fanout::unmerged(&config, count).await?);
            }
            let (file, database) = (median(file), median(database));
            let ratio = database / file;
            println!("| {count} | {file:.0} | {database:.0} | {ratio:.2} |");
        }
        Ok(())
    }

    /// The stores of so many hosts, each with a thread that commits one action
    /// after the other.
    fn commits(&self) -> Result<()> {
        println!("\nCommits a second of one action each (medians of {ROUNDS})\n");
        println!("| hosts | SQLite | SQLite, sync = full | PostgreSQL | each host |");
        println!("| ---: | ---: | ---: | ---: | ---: |");
        for count in HOSTS {
            let mut found = [const { Vec::new() }; 3];
            for round in 0..ROUNDS {
                let places = places(count)?;
                let files = |sync| {
                    places
                        .iter()
                        .map(move |at| on_disk(at.path(), sync))
                        .collect()
                };
                found[0].push(rate(files(SyncMode::Normal))?);
                let places = self::places(count)?;
                let files = |sync| {
                    places
                        .iter()
                        .map(move |at| on_disk(at.path(), sync))
                        .collect()
                };
                found[1].push(rate(files(SyncMode::Full))?);
                let named = |(host, at): (usize, &TempDir)| {
                    self.in_database(&format!("commits_{count}_{round}_{host}"), at.path())
                };
                found[2].push(rate(places.iter().enumerate().map(named).collect())?);
            }
            let [file, full, database] = found.map(median);
            let each = database / count as f64;
            println!("| {count} | {file:.0} | {full:.0} | {database:.0} | {each:.0} |");
        }
        Ok(())
    }

    fn in_database(&self, schema: &str, dir: &Path) -> Result<Box<dyn Store>> {
        let address = PostgresAddress::parse(&self.cluster.address(schema), |_| None)?;
        let options = PostgresOptions {
            store: StoreOptions::default(),
            // Others are opened meanwhile.
            lease: Duration::from_secs(600),
            dir: dir.to_owned(),
            advertise: String::new(),
        };
        Ok(Box::new(PostgresStore::open(&address, options)?))
    }

    async fn takeovers(&self) -> Result<()> {
        println!("\nFrom kill -9 to the first client served, in ms ({ROUNDS} times each)\n");
        println!("| what follows | median | most |");
        println!("| --- | ---: | ---: |");
        let (mut started, mut taken_over) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let data = tempfile::tempdir()?;
            let host = Server::host(data.path(), "").await?;
            serves(&host.url).await?;
            drop(host);
            let killed = Instant::now();
            let host = Server::host(data.path(), "").await?;
            serves(&host.url).await?;
            started.push(killed.elapsed().as_secs_f64() * 1e3);

            let config = self.config(&format!("takeover_{round}"));
            let (one, two) = (tempfile::tempdir()?, tempfile::tempdir()?);
            let owner = Server::host(one.path(), &config).await?;
            serves(&owner.url).await?;
            let standby = Server::host(two.path(), &config).await?;
            drop(owner);
            let killed = Instant::now();
            serves(&standby.url).await?;
            taken_over.push(killed.elapsed().as_secs_f64() * 1e3);
        }
        let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        for (what, times) in [
            ("SQLite: the host is started again", started),
            ("PostgreSQL: another host takes over", taken_over),
        ] {
            let most = most(&times);
            println!("| {what} | {:.0} | {most:.0} |", median(times));
        }
        println!("\nThe lease is {LEASE_SECONDS} s long.");
        Ok(())
    }
}

/// Waits until a client is let in, and answered by a host that works.
async fn serves(url: &str) -> Result<()> {
    let tries = async {
        loop {
            if let Ok(mut client) = WireClient::connect(url).await
                && client.initialize("client", &[]).await.is_ok()
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let served = tokio::time::timeout(Duration::from_secs(60), tries).await;
    served.context("nobody is served")
}

fn places(count: usize) -> Result<Vec<TempDir>> {
    let places = (0..count).map(|_| tempfile::tempdir());
    Ok(places.collect::<Result<_, _>>()?)
}

fn on_disk(dir: &Path, sync: SyncMode) -> Result<Box<dyn Store>> {
    let options = StoreOptions {
        sync,
        ..StoreOptions::default()
    };
    Ok(Box::new(SqliteStore::open(dir, options)?))
}

/// Commits a second of all of them together.
fn rate(stores: Vec<Result<Box<dyn Store>>>) -> Result<f64> {
    let mut stores = stores.into_iter().collect::<Result<Vec<_>>>()?;
    for store in &mut stores {
        store.begin()?;
        store.apply(&[batch([reserve(1_000_000)])])?;
    }
    let ready = Barrier::new(stores.len());
    let committed = thread::scope(|scope| {
        let hosts: Vec<_> = (stores.iter_mut())
            .map(|store| scope.spawn(|| commit(&mut **store, &ready)))
            .collect();
        let ended = hosts.into_iter().map(|host| match host.join() {
            Ok(rate) => rate,
            Err(_) => bail!("a thread ended unexpectedly"),
        });
        ended.sum::<Result<f64>>()
    });
    for store in stores {
        store.close()?;
    }
    committed
}

fn commit(store: &mut dyn Store, ready: &Barrier) -> Result<f64> {
    ready.wait();
    let began = Instant::now();
    let mut commits = 0;
    while began.elapsed() < COMMITTING {
        commits += 1;
        store.apply(&[batch([delta(commits, "c:/1", "part", "some words ")])])?;
    }
    Ok(commits as f64 / began.elapsed().as_secs_f64())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
