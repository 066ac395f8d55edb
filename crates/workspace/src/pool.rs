//! Threads for many that each do one thing after the other and mostly have
//! nothing to do: a host has thousands of sessions, and a thread for each is
//! too many.
//!
//! An [`Actor`] has a [`Seat`]. Whoever has work for it tells it so
//! ([`Seat::tell`]), and it works on some thread until it wants to rest.
//!
//! *Invariants*: an actor works on one thread at a time. What it is told after
//! it began to rest wakes it. Nobody's rest takes a thread, but for
//! one that keeps the time for all.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// How many work at once. Most of their time they wait for another process or
/// a disk, so there are more than a machine has cores; one that hangs does not
/// hold up the others.
const MOST_THREADS: usize = 64;

/// A thread that nobody needs for this long ends.
const IDLE: Duration = Duration::from_secs(10);

pub(crate) trait Actor: Send {
    /// Does what there is to do, and says when to look again.
    fn work(&mut self) -> Rest;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    UntilTold,
    /// Until it is told, or until then.
    Until(Instant),
    /// It is done for good.
    Over,
}

/// All threads. Clones are the same.
#[derive(Clone)]
pub(crate) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    desk: Mutex<Desk>,
    /// There is something in the queue.
    news: Condvar,
    /// There is an earlier alarm.
    time: Condvar,
}

#[derive(Default)]
struct Desk {
    queue: VecDeque<Arc<Place>>,
    alarms: BinaryHeap<Alarm>,
    threads: usize,
    idle: usize,
    /// Besides these threads, there is one that keeps the time.
    has_clock: bool,
}

/// Where an actor is while it rests. When the last clone goes, so does the
/// actor: on a thread of the pool, as whoever drops this may hold locks.
#[derive(Clone)]
pub(crate) struct Seat(Arc<Owner>);

/// How an actor is told that there is something to do. It keeps no actor in its
/// seat.
#[derive(Clone)]
pub(crate) struct Bell(Arc<Place>);

struct Owner(Arc<Place>);

impl Drop for Owner {
    fn drop(&mut self) {
        lock(&self.0.state).is_left = true;
        Bell(Arc::clone(&self.0)).ring();
    }
}

struct Place {
    pool: Pool,
    actor: Mutex<Option<Box<dyn Actor>>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    phase: Phase,
    /// Nobody has the seat any more.
    is_left: bool,
    /// The next time that it will be looked at by itself.
    alarm: Option<Instant>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Resting,
    Queued,
    Working,
    /// And there is more.
    WorkingAndTold,
    Over,
}

/// The earliest is the greatest, for the heap.
struct Alarm(Reverse<Instant>, Weak<Place>);

impl PartialEq for Alarm {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Alarm {}

impl PartialOrd for Alarm {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Alarm {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl Pool {
    pub(crate) fn new(name: &'static str) -> Self {
        let shared = Shared {
            name,
            desk: Mutex::default(),
            news: Condvar::new(),
            time: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// A place for an actor that is still to come.
    pub(crate) fn seat(&self) -> Seat {
        Seat(Arc::new(Owner(Arc::new(Place {
            pool: self.clone(),
            actor: Mutex::default(),
            state: Mutex::default(),
        }))))
    }

    /// Does something once.
    pub(crate) fn run(&self, work: impl FnOnce() + Send + 'static) {
        // It keeps its own seat until it is done.
        struct Once<F> {
            work: Option<F>,
            _seat: Seat,
        }
        impl<F: FnOnce() + Send> Actor for Once<F> {
            fn work(&mut self) -> Rest {
                if let Some(work) = self.work.take() {
                    work();
                }
                Rest::Over
            }
        }
        let seat = self.seat();
        let once = Once {
            work: Some(work),
            _seat: seat.clone(),
        };
        seat.take(Box::new(once));
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        lock(&self.shared.desk)
    }

    fn push(&self, place: Arc<Place>) {
        let mut desk = self.desk();
        self.queue(&mut desk, place);
    }

    fn queue(&self, desk: &mut Desk, place: Arc<Place>) {
        desk.queue.push_back(place);
        if desk.queue.len() > desk.idle && desk.threads < MOST_THREADS {
            desk.threads += usize::from(self.start(Self::serve));
        }
        self.shared.news.notify_one();
    }

    fn wake_at(&self, at: Instant, place: &Arc<Place>) {
        let mut desk = self.desk();
        let is_next = desk.next_alarm().is_none_or(|next| at < next);
        desk.alarms.push(Alarm(Reverse(at), Arc::downgrade(place)));
        if !desk.has_clock {
            desk.has_clock = self.start(Self::keep_time);
        } else if is_next {
            self.shared.time.notify_one();
        }
    }

    /// Returns whether there is another thread.
    fn start(&self, run: fn(&Self)) -> bool {
        let pool = self.clone();
        let thread = std::thread::Builder::new().name(self.shared.name.to_owned());
        let started = thread.spawn(move || run(&pool));
        if let Err(error) = &started {
            // Those that there are go on; with none, the next one tries again.
            tracing::error!(%error, "a thread cannot be started");
        }
        started.is_ok()
    }

    fn serve(&self) {
        while let Some(place) = self.next() {
            place.work();
        }
    }

    /// Waits for something to do; not for ever.
    fn next(&self) -> Option<Arc<Place>> {
        let since = Instant::now();
        let mut desk = self.desk();
        loop {
            if let Some(place) = desk.queue.pop_front() {
                return Some(place);
            }
            let patience = IDLE.saturating_sub(since.elapsed());
            if patience.is_zero() {
                desk.threads -= 1;
                return None;
            }
            desk.idle += 1;
            desk = wait(&self.shared.news, desk, patience);
            desk.idle -= 1;
        }
    }

    /// Queues whoever wanted to be woken by now, as long as there are any.
    fn keep_time(&self) {
        let mut desk = self.desk();
        let mut since = Instant::now();
        loop {
            let now = Instant::now();
            while let Some(place) = desk.due(now) {
                if place.is_to_work(Some(now)) {
                    self.queue(&mut desk, place);
                }
            }
            let patience = match desk.next_alarm() {
                Some(at) => {
                    since = now;
                    at.saturating_duration_since(now)
                }
                None => IDLE.saturating_sub(since.elapsed()),
            };
            if patience.is_zero() && desk.alarms.is_empty() {
                desk.has_clock = false;
                return;
            }
            desk = wait(&self.shared.time, desk, patience);
        }
    }
}

impl Desk {
    fn next_alarm(&self) -> Option<Instant> {
        self.alarms.peek().map(|alarm| alarm.0.0)
    }

    /// Whoever wanted to be woken by now.
    fn due(&mut self, now: Instant) -> Option<Arc<Place>> {
        while self.next_alarm().is_some_and(|at| at <= now) {
            if let Some(place) = self.alarms.pop().and_then(|alarm| alarm.1.upgrade()) {
                return Some(place);
            }
        }
        None
    }
}

impl Seat {
    /// Sits down, and looks what there is to do.
    pub(crate) fn take(&self, actor: Box<dyn Actor>) {
        *lock(&self.0.0.actor) = Some(actor);
        self.tell();
    }

    /// There is something to do. Returns whether anybody is there.
    pub(crate) fn tell(&self) -> bool {
        self.bell().ring()
    }

    pub(crate) fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.0.0))
    }
}

impl Bell {
    /// Likewise.
    pub(crate) fn ring(&self) -> bool {
        let place = &self.0;
        if place.is_to_work(None) {
            place.pool.push(Arc::clone(place));
        }
        lock(&place.state).phase != Phase::Over
    }
}

impl Place {
    /// There is something to do, or it is `time`. Returns whether the caller is
    /// to see to it that it is done.
    fn is_to_work(&self, time: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        if let Some(time) = time
            && state.alarm.is_some_and(|alarm| alarm <= time)
        {
            state.alarm = None;
        }
        match state.phase {
            Phase::Resting => {
                state.phase = Phase::Queued;
                true
            }
            Phase::Working => {
                state.phase = Phase::WorkingAndTold;
                false
            }
            Phase::Queued | Phase::WorkingAndTold | Phase::Over => false,
        }
    }

    fn work(self: Arc<Self>) {
        lock(&self.state).phase = Phase::Working;
        let mut seated = lock(&self.actor);
        let is_left = lock(&self.state).is_left;
        let rest = match seated.as_mut().filter(|_| !is_left) {
            // One that panics takes neither the thread nor others along.
            Some(actor) => catch_unwind(AssertUnwindSafe(|| actor.work())).unwrap_or(Rest::Over),
            None if is_left => Rest::Over,
            None => Rest::UntilTold,
        };
        if rest == Rest::Over {
            let gone = seated.take();
            drop(seated);
            // Before it is gone: who finds that out is not to find it at work.
            lock(&self.state).phase = Phase::Over;
            drop(gone);
            return;
        }
        drop(seated);
        let mut state = lock(&self.state);
        let was_told = state.phase == Phase::WorkingAndTold;
        state.phase = match was_told {
            true => Phase::Queued,
            false => Phase::Resting,
        };
        match rest {
            Rest::Over => {}
            // Others first.
            _ if was_told => {
                drop(state);
                let pool = self.pool.clone();
                pool.push(self);
            }
            Rest::Until(at) if state.alarm.is_none_or(|alarm| at < alarm) => {
                state.alarm = Some(at);
                drop(state);
                self.pool.wake_at(at, &self);
            }
            Rest::Until(_) | Rest::UntilTold => {}
        }
    }
}

fn wait<'a>(news: &Condvar, desk: MutexGuard<'a, Desk>, time: Duration) -> MutexGuard<'a, Desk> {
    let waited = news.wait_timeout(desk, time);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Says what it does; what it was told, it does first.
    struct Scribe {
        told: Receiver<Rest>,
        said: Sender<&'static str>,
        rest: Rest,
    }

    impl Actor for Scribe {
        fn work(&mut self) -> Rest {
            let mut worked = false;
            while let Ok(rest) = self.told.try_recv() {
                self.rest = rest;
                worked = true;
            }
            let _ = self.said.send(if worked { "told" } else { "woke" });
            std::mem::replace(&mut self.rest, Rest::UntilTold)
        }
    }

    struct Boss {
        seat: Seat,
        orders: Sender<Rest>,
        said: Receiver<&'static str>,
    }

    impl Boss {
        fn new(pool: &Pool) -> Self {
            let (orders, told) = channel();
            let (says, said) = channel();
            let seat = pool.seat();
            seat.take(Box::new(Scribe {
                told,
                said: says,
                rest: Rest::UntilTold,
            }));
            assert_eq!(said.recv(), Ok("woke"), "it looks once");
            Self { seat, orders, said }
        }

        fn order(&self, rest: Rest) {
            self.orders.send(rest).unwrap();
            self.seat.tell();
            while self.said.recv() != Ok("told") {}
        }
    }

    #[test]
    fn an_actor_works_when_it_is_told_and_when_its_time_has_come() {
        let desk = Boss::new(&Pool::new("test"));
        desk.order(Rest::UntilTold);
        desk.order(Rest::Until(Instant::now()));
        assert_eq!(desk.said.recv(), Ok("woke"));
        // A later time gives way to an earlier one.
        desk.order(Rest::Until(Instant::now() + Duration::from_secs(3_600)));
        desk.order(Rest::Until(Instant::now() + Duration::from_millis(1)));
        assert_eq!(desk.said.recv(), Ok("woke"));
    }

    #[test]
    fn one_that_is_over_is_gone() {
        let desk = Boss::new(&Pool::new("test"));
        desk.order(Rest::Over);
        assert!(desk.said.recv().is_err(), "it was dropped");
        assert!(!desk.seat.tell());
    }

    /// Whoever lets go of a seat may hold locks that the actor needs to end.
    #[test]
    fn one_whose_seat_is_left_ends_on_a_thread_of_the_pool() {
        struct Ends(Sender<Option<String>>);
        impl Actor for Ends {
            fn work(&mut self) -> Rest {
                Rest::UntilTold
            }
        }
        impl Drop for Ends {
            fn drop(&mut self) {
                let name = std::thread::current().name().map(str::to_owned);
                let _ = self.0.send(name);
            }
        }
        let (says, ended) = channel();
        let seat = Pool::new("of the pool").seat();
        seat.take(Box::new(Ends(says)));
        let bell = seat.bell();
        drop(seat);
        assert_eq!(ended.recv(), Ok(Some("of the pool".to_owned())));
        while bell.ring() {}
    }

    #[test]
    fn many_that_rest_share_a_few_threads() {
        let pool = Pool::new("test");
        let desks: Vec<Boss> = (0..1_000).map(|_| Boss::new(&pool)).collect();
        for desk in &desks {
            desk.order(Rest::Until(Instant::now() + Duration::from_secs(3_600)));
        }
        let threads = pool.desk().threads;
        assert!(threads <= MOST_THREADS, "{threads}");
    }

    #[test]
    fn those_that_are_busy_hold_up_nobody() {
        let pool = Pool::new("test");
        let (free, hold) = channel::<()>();
        let hold = Arc::new(Mutex::new(hold));
        let (says, ready) = channel();
        for _ in 0..MOST_THREADS - 2 {
            let (hold, says) = (Arc::clone(&hold), says.clone());
            pool.run(move || {
                says.send(()).unwrap();
                let _ = lock(&hold).recv();
            });
        }
        (0..MOST_THREADS - 2).for_each(|_| ready.recv().unwrap());
        let desk = Boss::new(&pool);
        desk.order(Rest::Until(Instant::now()));
        assert_eq!(desk.said.recv(), Ok("woke"));
        drop(free);
    }

    #[test]
    fn one_that_panics_leaves_the_others_their_threads() {
        let pool = Pool::new("test");
        for _ in 0..2 * MOST_THREADS {
            pool.run(|| std::panic::resume_unwind(Box::new("oops")));
        }
        let desk = Boss::new(&pool);
        desk.order(Rest::UntilTold);
        assert!(pool.desk().threads <= MOST_THREADS);
    }
}
