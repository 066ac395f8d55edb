//! What clients that were away can be given one by one: the most recent
//! actions in memory, and behind them the stored log.

use std::collections::VecDeque;

use innkeeper_protocol::record::{Boot, Epoch, LogEntry, Sequenced};
use innkeeper_protocol::{ChannelUri, Seq};

#[derive(Debug)]
pub(crate) struct ReplayWindow {
    entries: VecDeque<LogEntry>,
    /// How many entries have left `entries` at its front.
    dropped: u64,
    weight: usize,
    limit: usize,
    /// Everything after this number is in `entries`.
    in_memory_after: Seq,
    /// The oldest number from which the stored log is complete.
    log_start: Seq,
    /// The lives of the host before this one.
    epochs: Vec<Epoch>,
    first_of_this_life: Seq,
}

/// The entry that the next piece of a channel's stream may be merged into,
/// counted from the first entry that ever was. It stands with the channel.
#[derive(Debug, Default)]
pub(super) struct OpenStream(Option<u64>);

/// How a client that has seen everything up to a number catches up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CatchUp {
    /// From memory.
    Memory,
    /// From the stored log, then from memory.
    Log,
    /// Not one by one.
    Snapshot,
}

impl ReplayWindow {
    pub(crate) fn new(boot: &Boot, limit: usize) -> Self {
        let first_of_this_life = boot.next_seq.max(Seq::new(1));
        Self {
            entries: VecDeque::new(),
            dropped: 0,
            weight: 0,
            limit,
            in_memory_after: first_of_this_life,
            log_start: boot.log_start.max(Seq::new(1)),
            epochs: boot.epochs.clone(),
            first_of_this_life,
        }
    }

    pub(crate) fn log_start(&self) -> Seq {
        self.log_start
    }

    pub(super) fn push(&mut self, action: &Sequenced, open: &mut OpenStream) {
        if self.absorbed(action, open) {
            return;
        }
        let entry = LogEntry::from(action);
        self.weight += entry.weight();
        open.0 = Some(self.dropped + self.entries.len() as u64);
        self.entries.push_back(entry);
        while self.weight > self.limit && self.entries.len() > 1 {
            self.drop_oldest();
        }
    }

    fn absorbed(&mut self, action: &Sequenced, open: &OpenStream) -> bool {
        let index = open.0.and_then(|at| at.checked_sub(self.dropped));
        let Some(entry) = index.and_then(|index| self.entries.get_mut(index as usize)) else {
            return false;
        };
        let before = entry.weight();
        let absorbed = entry.absorb(action);
        self.weight += entry.weight() - before;
        absorbed
    }

    fn drop_oldest(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.weight -= entry.weight();
            self.dropped += 1;
            self.in_memory_after = self.in_memory_after.max(entry.last);
        }
    }

    /// The store was told to forget what is below this number.
    pub(crate) fn trimmed(&mut self, below: Seq) {
        self.log_start = self.log_start.max(below);
        self.epochs.retain(|epoch| epoch.last >= below);
    }

    /// Some of what happened up to this number is lost: nobody who saw no more
    /// than that can be given the rest one by one.
    pub(crate) fn forget(&mut self, up_to: Seq) {
        while !self.entries.is_empty() {
            self.drop_oldest();
        }
        self.in_memory_after = up_to;
        self.trimmed(up_to.next());
    }

    /// How somebody who has seen everything up to `seen` of `last` catches up.
    pub(crate) fn catch_up(&self, seen: Seq, last: Seq) -> CatchUp {
        if seen > last || seen + 1 < self.log_start {
            return CatchUp::Snapshot;
        }
        let in_this_life = seen >= self.first_of_this_life;
        if in_this_life && seen >= self.in_memory_after {
            return CatchUp::Memory;
        }
        // A number between two lives was given out and lost: whoever saw it
        // holds state that the host does not have.
        let in_earlier_life = |epoch: &Epoch| epoch.first <= seen.next() && seen <= epoch.last;
        if in_this_life || self.epochs.iter().any(in_earlier_life) {
            CatchUp::Log
        } else {
            CatchUp::Snapshot
        }
    }

    /// The actions of these channels after a number, in order.
    pub(crate) fn after(&self, seen: Seq, wants: impl Fn(&ChannelUri) -> bool) -> Vec<Sequenced> {
        pick(self.entries.iter(), seen, Seq::MAX, wants)
    }

    /// Up to which number only the stored log knows what happened.
    pub(crate) fn in_memory_after(&self) -> Seq {
        self.in_memory_after
    }
}

/// The actions of some channels after one number and up to another, in order.
pub(crate) fn pick<'a>(
    entries: impl Iterator<Item = &'a LogEntry>,
    after: Seq,
    up_to: Seq,
    wants: impl Fn(&ChannelUri) -> bool,
) -> Vec<Sequenced> {
    let mut picked: Vec<Sequenced> = entries
        .filter(|entry| wants(&entry.channel))
        .filter_map(|entry| entry.between(after, up_to))
        .collect();
    picked.sort_by_key(|action| action.seq);
    picked
}

#[cfg(test)]
mod tests {
    use super::*;
    use innkeeper_protocol::newest::actions::{ChatDeltaAction, StateAction};
    use innkeeper_protocol::record::{GateFacts, merge};

    fn window(limit: usize) -> ReplayWindow {
        let boot = Boot {
            next_seq: 101.into(),
            log_start: 11.into(),
            epochs: vec![epoch(1, 40), epoch(61, 90)],
            ..Boot::default()
        };
        ReplayWindow::new(&boot, limit)
    }

    fn epoch(first: u64, last: u64) -> Epoch {
        let (first, last) = (first.into(), last.into());
        Epoch { first, last }
    }

    fn delta(seq: u64, channel: &str, content: &str) -> Sequenced {
        Sequenced {
            seq: seq.into(),
            channel: channel.into(),
            action: StateAction::ChatDelta(ChatDeltaAction {
                turn_id: "t".into(),
                part_id: "p".into(),
                content: content.into(),
                meta: None,
            }),
            origin: None,
            facts: GateFacts::default(),
        }
    }

    #[test]
    fn numbers_that_were_lost_with_a_process_need_a_snapshot() {
        let window = window(1 << 20);
        let log = CatchUp::Log;
        for (seen, expected) in [
            (9, &CatchUp::Snapshot),
            (10, &log),
            (40, &log),
            (41, &CatchUp::Snapshot),
            (59, &CatchUp::Snapshot),
            (60, &log),
            (90, &log),
            (91, &CatchUp::Snapshot),
            (99, &CatchUp::Snapshot),
            (100, &CatchUp::Snapshot),
            (101, &CatchUp::Memory),
            (105, &CatchUp::Memory),
            (106, &CatchUp::Snapshot),
        ] {
            let caught_up = window.catch_up(seen.into(), 105.into());
            assert_eq!(&caught_up, expected, "seen {seen}");
        }
    }

    #[test]
    fn streams_of_two_chats_merge_side_by_side() {
        let mut window = window(1 << 20);
        let mut open = [OpenStream::default(), OpenStream::default()];
        for (seq, which) in (102..=109).zip([0, 1].into_iter().cycle()) {
            let channel = ["x:even", "x:odd"][which];
            let text = format!("{seq} ");
            window.push(&delta(seq, channel, &text), &mut open[which]);
        }
        assert_eq!(window.entries.len(), 2);
        let missed = window.after(105.into(), |_| true);
        let texts: Vec<_> = missed
            .iter()
            .map(|a| (a.seq.get(), merge::appended_text(&a.action).unwrap()))
            .collect();
        assert_eq!(texts, [(108, "106 108 "), (109, "107 109 ")]);
    }

    #[test]
    fn what_leaves_memory_is_left_to_the_log() {
        let mut window = window(2_000);
        for seq in 102..=120 {
            let open = &mut OpenStream::default();
            window.push(&delta(seq, &format!("x:{seq}"), "text"), open);
        }
        assert!(window.weight <= 2_000);
        let first = window.entries.front().unwrap().first;
        assert_eq!(window.in_memory_after(), first.back(1));
        assert_eq!(window.catch_up(first.back(1), 120.into()), CatchUp::Memory);
        assert_eq!(window.catch_up(first.back(2), 120.into()), CatchUp::Log);
    }
}
