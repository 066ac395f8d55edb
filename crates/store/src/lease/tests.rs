//! Two hosts, one database, and a pause at every point of what they say to each
//! other. The statements of `postgres/lease.rs` are functions here, each of
//! which happens at one moment, as a transaction does; the tests there hold
//! both to be the same.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{LONGEST, Terms, Watch};

const LENGTH: u64 = 10_000;
const TICK: u64 = 50;
/// How often the host looks at what is left, which is what a host that was
/// paused may do something in.
const LOOK: u64 = 250;
/// How many numbers a life reserves at a time.
const BLOCK: u64 = 8;

/// The row of the lease, and what is stored under it.
#[derive(Debug, Default)]
pub(crate) struct Database {
    pub(crate) life: u64,
    owner: Option<usize>,
    pub(crate) until: u64,
    pub(crate) commits: u64,
    reserved: u64,
    log: Vec<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Asked {
    Take,
    Renew {
        life: u64,
    },
    Store {
        life: u64,
        commits: u64,
        number: u64,
        reserve: u64,
    },
    /// After an answer that did not come: did it happen?
    Look {
        life: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Taken { life: u64, first: u64, commits: u64 },
    Done,
    Counted(u64),
    Refused,
}

impl Database {
    pub(crate) fn answer(&mut self, by: usize, asked: Asked, now: u64) -> Answer {
        let holds = |database: &Self, life| database.life == life && database.owner == Some(by);
        match asked {
            Asked::Take if self.owner.is_none() || self.until < now => {
                self.life += 1;
                (self.owner, self.until) = (Some(by), now + LENGTH);
                let last = self.log.last().copied().unwrap_or(0);
                Answer::Taken {
                    life: self.life,
                    first: self.reserved.max(last) + 1,
                    commits: self.commits,
                }
            }
            Asked::Renew { life } if holds(self, life) => {
                self.until = now + LENGTH;
                Answer::Done
            }
            Asked::Store {
                life,
                commits,
                number,
                reserve,
            } if holds(self, life) && self.commits == commits => {
                self.until = now + LENGTH;
                self.commits += 1;
                self.reserved = self.reserved.max(reserve);
                self.log.push(number);
                Answer::Done
            }
            Asked::Look { life } if holds(self, life) => Answer::Counted(self.commits),
            Asked::Take | Asked::Renew { .. } | Asked::Store { .. } | Asked::Look { .. } => {
                Answer::Refused
            }
        }
    }
}

/// Where a host is in what it does. Asking is three points: it notes the time,
/// the database does what was asked, and the answer is heard.
#[derive(Debug, Clone, Copy)]
enum Point {
    Rest {
        until: u64,
    },
    Noted {
        asked: Asked,
        sent: u64,
    },
    Reached {
        asked: Asked,
        sent: u64,
        answer: Answer,
        is_lost: bool,
    },
    /// What is stored is about to be told.
    Tell {
        number: u64,
    },
}

#[derive(Debug)]
struct Host {
    id: usize,
    point: Point,
    tenure: Option<Tenure>,
    agents: bool,
    looked: u64,
    told: Vec<u64>,
    steps: u64,
    /// Each fourth answer does not come.
    loses_answers: bool,
    questions: u64,
}

#[derive(Debug, Clone, Copy)]
struct Tenure {
    life: u64,
    renewed: u64,
    next: u64,
    reserved: u64,
    commits: u64,
    /// A number of which it is not known whether it was stored.
    open: Option<u64>,
}

impl Host {
    fn new(id: usize, loses_answers: bool) -> Self {
        Self {
            id,
            point: Point::Rest { until: 0 },
            tenure: None,
            agents: false,
            looked: 0,
            told: Vec::new(),
            steps: 0,
            loses_answers,
            questions: 0,
        }
    }

    fn left(&self, now: u64) -> u64 {
        let terms = Terms::new(Duration::from_millis(LENGTH));
        self.tenure.map_or(0, |tenure| {
            let since = Duration::from_millis(now - tenure.renewed);
            u64::try_from(terms.left_after(since).as_millis()).unwrap()
        })
    }

    /// The thread that watches over the tenure.
    fn look(&mut self, now: u64) {
        if now - self.looked < LOOK {
            return;
        }
        self.looked = now;
        if self.tenure.is_some() && self.left(now) == 0 {
            self.end(now);
        }
    }

    fn end(&mut self, now: u64) {
        self.agents = false;
        self.tenure = None;
        self.point = Point::Rest { until: now + 500 };
    }

    /// One point further.
    fn step(&mut self, database: &mut Database, now: u64) {
        self.steps += 1;
        self.point = match self.point {
            Point::Rest { until } if now < until => return,
            Point::Rest { .. } => {
                self.questions += 1;
                let asked = self.next_question();
                Point::Noted { asked, sent: now }
            }
            Point::Noted { asked, sent } => Point::Reached {
                asked,
                sent,
                answer: database.answer(self.id, asked, now),
                is_lost: self.loses_answers && self.questions.is_multiple_of(4),
            },
            Point::Reached {
                asked,
                sent,
                answer,
                is_lost,
            } => {
                match is_lost {
                    true => self.hear_nothing(asked),
                    false => self.hear(asked, sent, answer, now),
                }
                return;
            }
            Point::Tell { number } => {
                // Nothing goes out once the time is over.
                if self.left(now) > 0 {
                    self.told.push(number);
                }
                Point::Rest { until: now + 100 }
            }
        };
    }

    fn next_question(&self) -> Asked {
        let Some(tenure) = self.tenure else {
            return Asked::Take;
        };
        let life = tenure.life;
        if tenure.open.is_some() {
            return Asked::Look { life };
        }
        if self.questions.is_multiple_of(5) {
            return Asked::Renew { life };
        }
        let reserve = match tenure.next > tenure.reserved {
            true => tenure.next + BLOCK,
            false => tenure.reserved,
        };
        Asked::Store {
            life,
            commits: tenure.commits,
            number: tenure.next,
            reserve,
        }
    }

    fn hear(&mut self, asked: Asked, sent: u64, answer: Answer, now: u64) {
        self.point = Point::Rest { until: now };
        match (answer, asked) {
            (
                Answer::Taken {
                    life,
                    first,
                    commits,
                },
                _,
            ) => {
                self.tenure = Some(Tenure {
                    life,
                    renewed: sent,
                    next: first,
                    reserved: 0,
                    commits,
                    open: None,
                });
                // Whether there is still time is looked at before.
                self.agents = self.left(now) > 0;
            }
            (Answer::Refused, Asked::Take) => self.point = Point::Rest { until: now + 500 },
            (Answer::Refused, _) => self.end(now),
            (Answer::Done | Answer::Counted(_), _) => {
                let Some(tenure) = &mut self.tenure else {
                    return;
                };
                match (answer, asked) {
                    (
                        Answer::Done,
                        Asked::Store {
                            number, reserve, ..
                        },
                    ) => {
                        tenure.renewed = tenure.renewed.max(sent);
                        tenure.commits += 1;
                        tenure.reserved = reserve;
                        tenure.next += 1;
                        self.point = Point::Tell { number };
                    }
                    (Answer::Counted(commits), _) => {
                        if let Some(number) = tenure.open.take()
                            && commits > tenure.commits
                        {
                            tenure.commits = commits;
                            tenure.next += 1;
                            self.point = Point::Tell { number };
                        }
                    }
                    _ => tenure.renewed = tenure.renewed.max(sent),
                }
            }
        }
    }

    fn hear_nothing(&mut self, asked: Asked) {
        self.point = Point::Rest { until: 0 };
        if let (Asked::Store { number, .. }, Some(tenure)) = (asked, &mut self.tenure) {
            tenure.open = Some(number);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pause {
    /// Of the host's process: its agents go on, and so does the warden.
    Process,
    /// Of the machine: nothing on it goes on.
    Machine,
    /// Of one question on its way to the database: its host hears nothing, and
    /// has given up long before the question arrives.
    Question,
}

/// Runs both hosts, the first of which is paused at one of its points.
fn run(paused_at: u64, length: u64, pause: Pause, loses_answers: bool) {
    let mut database = Database::default();
    let mut hosts = [Host::new(0, loses_answers), Host::new(1, loses_answers)];
    let (mut began, mut resumed) = (None, None);
    let mut on_its_way = None;
    let what = format!("{pause:?} at {paused_at} for {length}, {loses_answers}");
    for now in (TICK..12 * LENGTH).step_by(usize::try_from(TICK).unwrap()) {
        if began.is_none() && hosts[0].steps == paused_at {
            began = Some(now);
        }
        if pause == Pause::Question
            && began == Some(now)
            && let Point::Noted { asked, .. } = hosts[0].point
        {
            on_its_way = Some((asked, now + length));
            hosts[0].hear_nothing(asked);
        }
        if let Some((asked, arrives)) = on_its_way
            && arrives <= now
        {
            on_its_way = None;
            database.answer(0, asked, now);
        }
        let is_paused = pause != Pause::Question && began.is_some_and(|began| now < began + length);
        if began.is_some() && !is_paused {
            resumed.get_or_insert(now);
        }
        for (id, host) in hosts.iter_mut().enumerate() {
            if id == 0 && is_paused {
                // The warden has the deadline of the last look.
                if pause == Pause::Process && host.left(now) == 0 {
                    host.agents = false;
                }
                continue;
            }
            host.look(now);
            host.step(&mut database, now);
        }
        let frozen = is_paused && pause == Pause::Machine;
        let waking = resumed.is_some_and(|resumed| now <= resumed + LOOK);
        let working = [hosts[0].agents && !frozen, hosts[1].agents];
        assert!(
            waking || working != [true, true],
            "two agents at {now}: {what}"
        );
    }
    let stored: BTreeSet<u64> = database.log.iter().copied().collect();
    assert_eq!(stored.len(), database.log.len(), "a number twice: {what}");
    assert!(database.log.is_sorted(), "a number went back: {what}");
    let told: Vec<u64> = hosts.iter().flat_map(|host| host.told.clone()).collect();
    let once: BTreeSet<u64> = told.iter().copied().collect();
    assert_eq!(once.len(), told.len(), "told twice: {what}");
    assert!(once.is_subset(&stored), "told and not stored: {what}");
    assert!(told.len() > 20, "nothing happened: {what}");
}

#[test]
fn nothing_told_is_lost_or_doubled_and_no_two_agents_run_wherever_a_host_is_paused() {
    for paused_at in 0..120 {
        for length in [
            TICK,
            LENGTH / 2,
            LENGTH * 7 / 10,
            LENGTH,
            LENGTH + TICK,
            3 * LENGTH,
        ] {
            for pause in [Pause::Process, Pause::Machine, Pause::Question] {
                for loses_answers in [false, true] {
                    run(paused_at, length, pause, loses_answers);
                }
            }
        }
    }
}

#[test]
fn a_lease_that_nobody_renews_runs_out_even_if_the_database_says_that_it_lasts() {
    let seconds = Duration::from_secs;
    let hour = seconds(3_600);
    let mut watch = Watch::new(seconds(5));
    assert!(!watch.has_run_out("1", seconds(10), seconds(100)));
    // The clock of the database was set back by an hour.
    for now in [105, 110, 111] {
        assert!(!watch.has_run_out("1", hour, seconds(now)), "{now}");
    }
    assert!(watch.has_run_out("1", hour, seconds(112)));
    // One that is renewed does not, however little was left.
    for now in 113..200 {
        assert!(!watch.has_run_out(&now.to_string(), seconds(0), seconds(now)));
    }
    // One that was renewed once more lasts as long as any that was seen.
    assert!(!watch.has_run_out("2", hour, seconds(200)));
    assert!(!watch.has_run_out("2", hour, seconds(211)));
    assert!(watch.has_run_out("2", hour, seconds(212)));
    // Leases last up to ten minutes.
    assert!(!watch.has_run_out("3", LONGEST, seconds(300)));
    assert!(!watch.has_run_out("3", LONGEST, seconds(901)));
    assert!(watch.has_run_out("3", LONGEST, seconds(902)));
}
