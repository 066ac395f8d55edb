//! Who listens to what. The list of a channel's subscribers is shared with
//! every message that goes to them, so publishing copies nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use foldhash::HashMap;
use innkeeper_protocol::ChannelUri;

use crate::effect::{ConnectionId, Subscriber};

#[derive(Debug)]
pub(crate) struct Subscriptions {
    /// How many channels one connection may listen to.
    limit: usize,
    by_channel: HashMap<ChannelUri, Arc<[Subscriber]>>,
    by_connection: HashMap<ConnectionId, BTreeSet<ChannelUri>>,
    /// Connections that are told of the catalogue without having subscribed.
    told_anyway: BTreeSet<ConnectionId>,
    /// Channels that the last subscriber has left.
    left: Vec<ChannelUri>,
}

/// How long delivery of each channel may be held back, where a client said so.
pub(crate) type Latencies = HashMap<ChannelUri, Duration>;

impl Subscriptions {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            by_channel: HashMap::default(),
            by_connection: HashMap::default(),
            told_anyway: BTreeSet::new(),
            left: Vec::new(),
        }
    }

    /// The subscribers of a channel, if it has any.
    pub(crate) fn of_channel(&self, channel: &ChannelUri) -> Option<Arc<[Subscriber]>> {
        self.by_channel.get(channel).cloned()
    }

    /// From now on the connection is told of the catalogue.
    pub(crate) fn tell_anyway(&mut self, connection: ConnectionId) {
        self.told_anyway.insert(connection);
    }

    /// Everybody who is told of the catalogue: those who listen to the root,
    /// and those who are told anyway.
    pub(crate) fn of_catalogue(&self) -> Option<Arc<[Subscriber]>> {
        let root = ChannelUri::root();
        if self.told_anyway.is_empty() {
            return self.of_channel(&root);
        }
        let listening = self.by_channel.get(&root);
        let listening = listening.into_iter().flat_map(|all| all.iter().copied());
        let others = self
            .told_anyway
            .iter()
            .filter(|&&it| !self.contains(it, &root));
        let others = others.map(|&connection| Subscriber {
            connection,
            max_latency: None,
        });
        Some(listening.chain(others).collect())
    }

    /// All channels that somebody listens to.
    pub(crate) fn channels(&self) -> impl Iterator<Item = &ChannelUri> {
        self.by_channel.keys()
    }

    pub(crate) fn has_channel(&self, channel: &ChannelUri) -> bool {
        self.by_channel.contains_key(channel)
    }

    pub(crate) fn contains(&self, connection: ConnectionId, channel: &ChannelUri) -> bool {
        self.by_connection
            .get(&connection)
            .is_some_and(|channels| channels.contains(channel))
    }

    /// Adds a subscription, or changes how an existing one is delivered.
    /// Returns whether the connection may have it.
    pub(crate) fn add(&mut self, channel: &ChannelUri, subscriber: Subscriber) -> bool {
        let channels = self.by_connection.entry(subscriber.connection).or_default();
        if channels.len() >= self.limit && !channels.contains(channel) {
            return false;
        }
        channels.insert(channel.clone());
        let others = self.others(channel, subscriber.connection);
        let all = others.into_iter().chain([subscriber]).collect();
        self.by_channel.insert(channel.clone(), all);
        true
    }

    /// Returns whether there was such a subscription.
    pub(crate) fn remove(&mut self, connection: ConnectionId, channel: &ChannelUri) -> bool {
        let removed = self
            .by_connection
            .get_mut(&connection)
            .is_some_and(|channels| channels.remove(channel));
        if removed {
            self.drop_subscriber(channel, connection);
        }
        removed
    }

    pub(crate) fn remove_channel(&mut self, channel: &ChannelUri) {
        for subscriber in self
            .by_channel
            .remove(channel)
            .iter()
            .flat_map(|all| all.iter())
        {
            if let Some(channels) = self.by_connection.get_mut(&subscriber.connection) {
                channels.remove(channel);
            }
        }
    }

    /// Returns what the connection wanted of its subscriptions.
    pub(crate) fn remove_connection(&mut self, connection: ConnectionId) -> Latencies {
        self.told_anyway.remove(&connection);
        let mut latencies = Latencies::default();
        for channel in self.by_connection.remove(&connection).unwrap_or_default() {
            let all = self.by_channel.get(&channel);
            let this = all.and_then(|all| all.iter().find(|one| one.connection == connection));
            let latency = this.and_then(|this| this.max_latency);
            self.drop_subscriber(&channel, connection);
            latencies.extend(latency.map(|latency| (channel, latency)));
        }
        latencies
    }

    /// Whether there are channels that nobody listens to any more.
    pub(crate) fn has_left(&self) -> bool {
        !self.left.is_empty()
    }

    /// The channels that nobody listens to any more since the last time.
    pub(crate) fn take_left(&mut self) -> Vec<ChannelUri> {
        std::mem::take(&mut self.left)
    }

    fn drop_subscriber(&mut self, channel: &ChannelUri, connection: ConnectionId) {
        let others = self.others(channel, connection);
        if others.is_empty() {
            self.by_channel.remove(channel);
            self.left.push(channel.clone());
        } else {
            self.by_channel.insert(channel.clone(), others.into());
        }
    }

    fn others(&self, channel: &ChannelUri, connection: ConnectionId) -> Vec<Subscriber> {
        let all = self.by_channel.get(channel).map_or(&[][..], |all| &all[..]);
        all.iter()
            .filter(|other| other.connection != connection)
            .copied()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriber(connection: u64) -> Subscriber {
        Subscriber {
            connection: ConnectionId(connection),
            max_latency: None,
        }
    }

    #[test]
    fn subscribing_twice_is_subscribing_once() {
        let mut table = Subscriptions::new(1);
        let channel = ChannelUri::root();
        assert!(table.add(&channel, subscriber(1)));
        assert!(table.add(&channel, subscriber(1)));
        assert!(!table.add(&"x:other".into(), subscriber(1)));
        assert_eq!(table.of_channel(&channel).unwrap().len(), 1);
        assert!(table.remove(ConnectionId(1), &channel));
        assert!(!table.remove(ConnectionId(1), &channel));
        assert!(!table.has_channel(&channel));
    }

    #[test]
    fn who_is_told_of_the_catalogue_anyway_is_told_once_and_until_it_goes() {
        let mut table = Subscriptions::new(1);
        let told = |table: &Subscriptions| table.of_catalogue().map_or(0, |all| all.len());
        assert_eq!(told(&table), 0);
        table.tell_anyway(ConnectionId(1));
        table.add(&ChannelUri::root(), subscriber(2));
        assert_eq!(told(&table), 2);
        table.add(&ChannelUri::root(), subscriber(1));
        assert_eq!(told(&table), 2);
        table.remove(ConnectionId(1), &ChannelUri::root());
        assert_eq!(told(&table), 2);
        table.remove_connection(ConnectionId(1));
        assert_eq!(told(&table), 1);
    }

    #[test]
    fn a_connection_that_ends_leaves_the_others_alone() {
        let mut table = Subscriptions::new(2);
        let (a, b) = (ChannelUri::from("x:a"), ChannelUri::from("x:b"));
        table.add(&a, subscriber(1));
        table.add(&a, subscriber(2));
        let max_latency = Some(Duration::from_millis(9));
        let patient = Subscriber {
            max_latency,
            ..subscriber(1)
        };
        table.add(&b, patient);
        let wanted = table.remove_connection(ConnectionId(1));
        assert_eq!((wanted.len(), wanted.get(&b).copied()), (1, max_latency));
        assert_eq!(&table.of_channel(&a).unwrap()[..], [subscriber(2)]);
        assert!(!table.has_channel(&b));
        assert!(!table.contains(ConnectionId(1), &a));
    }
}
