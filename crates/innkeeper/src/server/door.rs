//! The places of those whom the host does not know yet. When all are taken,
//! whoever has been there longest gives way to whoever comes: nobody who says
//! nothing keeps others out. Requests that carry the token have places of
//! their own, so that strangers are not in their way at all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

#[derive(Debug)]
pub(crate) struct Door {
    /// For strangers, and as many again for those who are known.
    places: usize,
    visitors: Mutex<Visitors>,
}

#[derive(Debug, Default)]
struct Visitors {
    last: u64,
    /// By the order in which they came.
    strangers: BTreeMap<u64, Arc<Notify>>,
    known: BTreeMap<u64, Arc<Notify>>,
}

/// A place, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    door: Arc<Door>,
    number: u64,
    gives_way: Arc<Notify>,
}

/// By which a request says whose connection it came over.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    door: Arc<Door>,
    number: u64,
}

impl Door {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places: places.max(1),
            visitors: Mutex::default(),
        })
    }

    /// Takes a place, if need be that of the stranger who has been there
    /// longest.
    pub(crate) fn enter(self: &Arc<Self>) -> Place {
        let mut visitors = self.lock();
        if visitors.strangers.len() >= self.places {
            oldest_gives_way(&mut visitors.strangers);
        }
        visitors.last += 1;
        let number = visitors.last;
        let gives_way = Arc::new(Notify::new());
        visitors.strangers.insert(number, Arc::clone(&gives_way));
        drop(visitors);
        Place {
            door: Arc::clone(self),
            number,
            gives_way,
        }
    }

    /// Sends away the stranger who has been there longest, if there is one.
    pub(crate) fn make_room(&self) -> bool {
        oldest_gives_way(&mut self.lock().strangers)
    }

    fn lock(&self) -> MutexGuard<'_, Visitors> {
        self.visitors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn oldest_gives_way(visitors: &mut BTreeMap<u64, Arc<Notify>>) -> bool {
    let oldest = visitors.pop_first();
    oldest
        .map(|(_, gives_way)| gives_way.notify_one())
        .is_some()
}

impl Place {
    /// Waits until somebody else needs the place.
    pub(crate) fn is_needed(&self) -> impl Future<Output = ()> + use<> {
        let gives_way = Arc::clone(&self.gives_way);
        async move { gives_way.notified().await }
    }

    pub(crate) fn visitor(&self) -> Visitor {
        Visitor {
            door: Arc::clone(&self.door),
            number: self.number,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut visitors = self.door.lock();
        visitors.strangers.remove(&self.number);
        visitors.known.remove(&self.number);
    }
}

impl Visitor {
    /// The visitor is not a stranger.
    pub(crate) fn is_known(&self) {
        let mut visitors = self.door.lock();
        if let Some(gives_way) = visitors.strangers.remove(&self.number) {
            if visitors.known.len() >= self.door.places {
                oldest_gives_way(&mut visitors.known);
            }
            visitors.known.insert(self.number, gives_way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt as _;

    fn is_needed(place: &Place) -> bool {
        place.is_needed().now_or_never().is_some()
    }

    #[test]
    fn the_one_who_has_been_there_longest_gives_way() {
        let door = Door::new(2);
        let (first, second) = (door.enter(), door.enter());
        assert!(!is_needed(&first) && !is_needed(&second));
        let third = door.enter();
        assert!(is_needed(&first) && !is_needed(&second));
        drop(second);
        let _fourth = door.enter();
        assert!(!is_needed(&third), "there was a place");
    }

    #[test]
    fn strangers_do_not_take_the_places_of_those_who_are_known() {
        let door = Door::new(1);
        let known = door.enter();
        known.visitor().is_known();
        let strangers = [door.enter(), door.enter()];
        assert!(is_needed(&strangers[0]) && !is_needed(&known));
        strangers[1].visitor().is_known();
        assert!(is_needed(&known), "another one who is known");
    }

    #[test]
    fn room_is_made_while_there_is_somebody_to_send_away() {
        let door = Door::new(10);
        assert!(!door.make_room());
        let place = door.enter();
        assert!(door.make_room() && is_needed(&place));
        assert!(!door.make_room());
    }
}
