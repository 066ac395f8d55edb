//! The statements of the lease on a real database, next to the functions that
//! stand for them in the simulation: whatever two hosts ask, with leases that
//! run out in between and lives that are long over, both answer the same.

use std::time::Duration;

use innkeeper_store_conformance::cluster::{Cluster, is_there};

use super::{FENCED, LOOK_AND_STAMP, LOOK_AND_WAIT, Seen, Terms, get};
use crate::lease::tests::{Answer, Asked, Database};
use crate::postgres::connection::{Connection, Driver, Manners, Said, Value};
use crate::postgres::{PostgresAddress, PostgresError, schema};
use innkeeper_protocol::record::store::Tenure as _;

const STEPS: usize = 600;
const HOSTS: [&str; 2] = ["one", "two"];

/// Numbers that look like chance, and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        let Self(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(*state >> 33).unwrap() % most
    }
}

/// The real one.
struct Real {
    connection: Connection,
    /// The lives that each host had.
    lives: [Vec<Terms>; 2],
}

impl Real {
    fn on(cluster: &Cluster) -> Self {
        let address = PostgresAddress::parse(&cluster.address("house"), |_| None).unwrap();
        let manners = Manners {
            call: Duration::from_secs(60),
            reads_only: false,
        };
        let connection = Connection::open(&Driver::start().unwrap(), &address, manners).unwrap();
        schema::prepare(&connection, "house").unwrap();
        Self {
            connection,
            lives: [Vec::new(), Vec::new()],
        }
    }

    fn terms(&self, by: usize, life: u64) -> &Terms {
        let found = self.lives[by].iter().find(|terms| terms.life == life);
        found.unwrap()
    }

    fn ask(&mut self, by: usize, asked: Asked) -> Answer {
        match asked {
            Asked::Take => self.take(by),
            Asked::Renew { life } => {
                let fence = self.terms(by, life).fence();
                let renewed = self.connection.query(fence.sql, fence.values);
                done(renewed.map(|_| ()))
            }
            Asked::Store {
                life,
                commits,
                number,
                ..
            } => {
                let fence = self.terms(by, life).fence_commit(commits);
                let number = Value::Int(i64::try_from(number).unwrap());
                let write = Said {
                    sql: "INSERT INTO stored VALUES ($1)",
                    values: vec![number],
                };
                let stored = self.connection.transaction("BEGIN", vec![fence, write]);
                done(stored.map(|_| ()))
            }
            Asked::Look { life } => {
                let rows = self.connection.query(LOOK_AND_WAIT, Vec::new()).unwrap();
                let seen = Seen::of(&rows[0]).unwrap();
                match self.terms(by, life).is_ours(&seen) {
                    true => Answer::Counted(seen.commits),
                    false => Answer::Refused,
                }
            }
        }
    }

    fn take(&mut self, by: usize) -> Answer {
        let length = Duration::from_secs(3_600);
        let take = Terms::take(HOSTS[by], length, "");
        let rows = self.connection.query(take.sql, take.values).unwrap();
        let Some(row) = rows.first() else {
            return Answer::Refused;
        };
        let seen = Seen::of(row).unwrap();
        let taken = Terms::taken(&seen, HOSTS[by], length, Duration::ZERO);
        self.lives[by].push(taken);
        Answer::Taken {
            life: seen.life,
            // Which numbers follow is not the lease's.
            first: 0,
            commits: seen.commits,
        }
    }
}

fn done(done: Result<(), PostgresError>) -> Answer {
    match done {
        Ok(()) => Answer::Done,
        Err(error) => {
            assert_eq!(error.code(), Some(FENCED), "{error}");
            Answer::Refused
        }
    }
}

#[test]
fn the_statements_answer_as_the_simulation_does() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let mut real = Real::on(&cluster);
    cluster.sql("CREATE TABLE house.stored (number bigint)");
    let (mut model, mut chance, now) = (Database::default(), Chance(1), 1);
    let mut stored = 0;
    let mut seen = [0; 4];
    for step in 0..STEPS {
        if chance.below(6) == 0 {
            cluster.sql("UPDATE house.lease SET until = '-infinity'");
            model.until = 0;
        }
        let by = chance.below(2);
        let known = real.lives[by].len();
        // The life that it has, or one that is over.
        let life = match known {
            0 => None,
            _ if chance.below(3) == 0 => Some(real.lives[by][chance.below(known)].life),
            _ => Some(real.lives[by][known - 1].life),
        };
        let commits = model.commits - u64::from(model.commits > 0 && chance.below(4) == 0);
        let asked = match (chance.below(5), life) {
            (0, _) | (_, None) => Asked::Take,
            (1, Some(life)) => Asked::Renew { life },
            (2, Some(life)) => Asked::Look { life },
            (_, Some(life)) => Asked::Store {
                life,
                commits,
                number: u64::try_from(step).unwrap(),
                reserve: 0,
            },
        };
        let expected = match model.answer(by, asked, now) {
            Answer::Taken { life, commits, .. } => Answer::Taken {
                life,
                first: 0,
                commits,
            },
            other => other,
        };
        assert_eq!(real.ask(by, asked), expected, "step {step}: {by} {asked:?}");
        stored += usize::from(expected == Answer::Done && matches!(asked, Asked::Store { .. }));
        seen[match expected {
            Answer::Taken { .. } => 0,
            Answer::Done => 1,
            Answer::Counted(_) => 2,
            Answer::Refused => 3,
        }] += 1;
    }
    assert!(seen.iter().all(|times| *times > 20), "{seen:?}");
    let rows = cluster.sql("SELECT count(*) FROM house.stored");
    assert_eq!(rows, stored.to_string());
}

#[test]
fn a_renewal_that_comes_late_does_not_take_the_address_back() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let mut real = Real::on(&cluster);
    let Answer::Taken { life, .. } = real.take(0) else {
        panic!("nobody has it");
    };
    let terms = real.terms(0, life);
    let late = terms.fence();
    terms.announce("http://one/");
    for said in [terms.fence(), late] {
        real.connection.query(said.sql, said.values).unwrap();
    }
    let rows = cluster.sql("SELECT address FROM house.lease");
    assert_eq!(rows, "http://one/");
}

#[test]
fn a_lease_that_was_not_renewed_can_be_taken_and_one_that_was_cannot() {
    if !is_there() {
        return;
    }
    let cluster = Cluster::start();
    let mut real = Real::on(&cluster);
    let Answer::Taken { life, .. } = real.take(0) else {
        panic!("nobody has it");
    };
    let stamp = |real: &mut Real| -> String {
        let rows = real.connection.query(LOOK_AND_STAMP, Vec::new()).unwrap();
        get(&rows[0], 5).unwrap()
    };
    let take = |real: &mut Real, stamp: &str| {
        let take = Terms::take_unmoved(HOSTS[1], Duration::from_secs(3_600), "", stamp);
        !real
            .connection
            .query(take.sql, take.values)
            .unwrap()
            .is_empty()
    };
    let seen = stamp(&mut real);
    assert_eq!(real.ask(0, Asked::Renew { life }), Answer::Done);
    assert!(!take(&mut real, &seen));
    assert_eq!(real.take(1), Answer::Refused);
    let seen = stamp(&mut real);
    assert!(take(&mut real, &seen));
    assert_eq!(real.ask(0, Asked::Renew { life }), Answer::Refused);
}
