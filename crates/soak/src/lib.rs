//! The real host under everything that may happen to it: clients of several
//! protocol versions, agents that die, clients that stall and flood, a full
//! disk, and `kill -9` at any instant. Whatever it told must still be so in
//! every later life, and what it used and started must go.
//!
//! - `world`: the lives of one host; `ending`: how a world ends;
//! - `load`: what clients do; `speaker`: a client of one version; `words`: what
//!   it says;
//! - `ledger`: what was told, and whether it is so; `table`: what came of it;
//! - `relay`: several hosts on one database that take over from each other;
//! - `host`: the process; `disk`: a disk that can be full; `choices`: what the
//!   seed decides.
//!
//! *Invariant*: every choice follows from the seed. The instants at which
//! things meet do not: they are the machine's.

mod choices;
mod disk;
mod ending;
mod host;
mod ledger;
mod load;
mod relay;
mod speaker;
mod table;
mod words;
mod world;

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;

pub use disk::enter as enter_small_disk;
pub use disk::inside as small_disk;
pub use table::{Promise, Report, Violation};

use host::Setup;
use relay::Relay;
use speaker::Shared;
use world::World;

/// How long a run goes on.
#[derive(Debug, Clone, Copy)]
pub enum Extent {
    /// One world after another, until so much time has passed.
    For(Duration),
    /// One world with so many lives.
    Lives(u64),
}

/// What to do.
#[derive(Debug)]
pub struct Plan {
    /// The host's program.
    pub binary: PathBuf,
    /// A directory for everything; on a small disk if `can_fill`.
    pub place: PathBuf,
    pub can_fill: bool,
    pub seed: u64,
    pub extent: Extent,
    /// Whether hosts take over from each other, on a database.
    pub takeover: bool,
}

/// The lives of a world, if there are several worlds.
const LIVES: u64 = 12;
const CLIENTS: usize = 5;

/// Runs the plan. A world's seed is one more than that of the world before, so
/// that a run with that seed begins with that world.
///
/// # Errors
///
/// If this machine does not let it: programs that are missing, files that
/// cannot be written. What the host does wrong is in the report.
pub async fn run(plan: &Plan) -> Result<Report> {
    let began = Instant::now();
    let mut report = Report::default();
    let agent = plan.binary.with_file_name("examples").join("test-agent");
    let agent = agent.exists().then_some(agent);
    if agent.is_none() {
        report
            .skipped
            .push("agents that are programs: build the examples of innkeeper-agents".to_owned());
    }
    if !plan.can_fill {
        report
            .skipped
            .push("a full disk: the data is on a disk of others".to_owned());
    }
    let database = match plan.takeover {
        true => Some(relay::database()?),
        false => None,
    };
    for world in 0.. {
        let shared = Rc::new(Shared::default());
        shared.report.replace(report);
        let place = plan.place.join(format!("world-{world}"));
        let setup = Setup {
            binary: plan.binary.clone(),
            place: place.clone(),
            agent: agent.clone(),
            database: (database.as_ref()).map(|it| it.address(&format!("world_{world}"))),
            host: None,
        };
        let one = World {
            relay: plan.takeover.then(|| RefCell::new(Relay::new(&setup))),
            setup,
            seed: plan.seed.wrapping_add(world),
            lives: match plan.extent {
                Extent::For(_) => LIVES,
                Extent::Lives(lives) => lives,
            },
            clients: CLIENTS,
            can_fill: plan.can_fill,
            shared: Rc::clone(&shared),
        };
        shared.count("worlds");
        let lived = one.run().await;
        report = shared.report.take();
        lived?;

        if !report.violations.is_empty() {
            keep_log(&one.setup.log(), &mut report);
        }
        std::fs::remove_dir_all(&place)?;
        let goes_on = match plan.extent {
            Extent::For(duration) => began.elapsed() < duration,
            Extent::Lives(_) => false,
        };
        if !goes_on || !report.violations.is_empty() {
            break;
        }
    }
    Ok(report)
}

/// Keeps what the host said, where there is something to find out.
fn keep_log(log: &Path, report: &mut Report) {
    let kept = std::env::temp_dir().join(format!("innkeeper-soak-{}.log", std::process::id()));
    if std::fs::copy(log, &kept).is_ok() {
        report.skipped.push(format!(
            "nothing more after that; the host's log is in {}",
            kept.display()
        ));
    }
}
