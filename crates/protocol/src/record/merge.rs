//! Streamed text is many small appends to one part. Wherever it waits (in the
//! log, in the replay window, in the queue of a slow client) neighbouring
//! appends become one, so that what is kept has the size of the conversation.
//!
//! *Invariant*: a merged entry reduces to the same state as its pieces, and
//! remembers where they met, so that a client that saw some of them can be
//! given exactly the rest.

use std::sync::Arc;

use crate::newest::actions::{ActionOrigin, StateAction};
use crate::record::{GateFacts, Sequenced, weight_of_excerpts};
use crate::{ChannelUri, Seq};

/// Merged content stops growing here: a frame must stay digestible.
pub const MAX_MERGED_BYTES: usize = 64 * 1024;

/// So does the number of pieces, however small they are: each is remembered,
/// and takes more room than a letter does. With both limits, a merged entry
/// takes less than 1 MiB in the log, whatever it says.
pub const MAX_MERGED_PIECES: usize = 16 * 1024;

/// One or more neighbouring actions, as they are kept for replay.
#[derive(Debug, Clone, PartialEq)]
pub struct LogEntry {
    pub first: Seq,
    pub last: Seq,
    pub channel: ChannelUri,
    pub action: StateAction,
    pub origin: Option<ActionOrigin>,
    pub facts: GateFacts,
    /// Where the pieces before the last one end; empty if nothing was merged.
    pub cuts: Vec<Cut>,
}

/// After the piece numbered `seq`, `len` bytes of the content were known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub seq: Seq,
    pub len: u32,
}

impl LogEntry {
    /// Takes `next` into this entry if both append to the same part.
    pub fn absorb(&mut self, next: &Sequenced) -> bool {
        let has_room = self.cuts.len() + 1 < MAX_MERGED_PIECES;
        let known = known_if_joined(&self.channel, &self.origin, &self.action, next);
        let Some(known) = known.filter(|_| has_room) else {
            return false;
        };
        self.cuts.push(Cut {
            seq: self.last,
            len: u32::try_from(known).unwrap_or(u32::MAX),
        });
        append(&mut self.action, &next.action);
        self.last = next.seq;
        true
    }

    /// What somebody who saw everything up to `seq` still lacks of this entry.
    pub fn after(&self, seq: Seq) -> Option<Sequenced> {
        self.between(seq, Seq::MAX)
    }

    /// The pieces of this entry that are numbered after one number and not
    /// after another, as one action.
    pub fn between(&self, after: Seq, up_to: Seq) -> Option<Sequenced> {
        let last_cut = |limit: Seq| self.cuts.iter().rev().find(|cut| cut.seq <= limit);
        let (seq, end) = if self.last <= up_to {
            (self.last, None)
        } else {
            last_cut(up_to).map(|cut| (cut.seq, Some(cut.len as usize)))?
        };
        if seq <= after {
            return None;
        }
        let mut action = self.action.clone();
        if let Some(text) = appended_text_mut(&mut action) {
            text.truncate(end.unwrap_or(text.len()));
            if let Some(seen) = last_cut(after) {
                text.drain(..(seen.len as usize).min(text.len()));
            }
        }
        Some(Sequenced {
            seq,
            channel: self.channel.clone(),
            action,
            origin: self.origin.clone(),
            facts: self.facts.clone(),
        })
    }

    /// About how much memory the entry takes.
    pub fn weight(&self) -> usize {
        const FIXED: usize = 256;
        let text = appended_text(&self.action).map_or(FIXED, str::len);
        let inputs = self.facts.extra.as_deref();
        let inputs = inputs.map_or(0, |extra| weight_of_excerpts(&extra.inputs));
        FIXED + text + inputs + self.cuts.len() * size_of::<Cut>()
    }
}

impl From<&Sequenced> for LogEntry {
    fn from(one: &Sequenced) -> Self {
        Self {
            first: one.seq,
            last: one.seq,
            channel: one.channel.clone(),
            action: one.action.clone(),
            origin: one.origin.clone(),
            facts: one.facts.clone(),
            cuts: Vec::new(),
        }
    }
}

/// Takes `next` into an action that waits to be sent, if both append to the
/// same part. It is copied only if somebody else holds it too.
pub fn absorb(known: &mut Arc<Sequenced>, next: &Sequenced) -> bool {
    let joined = known_if_joined(&known.channel, &known.origin, &known.action, next).is_some();
    if joined {
        let known = Arc::make_mut(known);
        append(&mut known.action, &next.action);
        known.seq = next.seq;
    }
    joined
}

/// How much text is known already, if `next` may become one with it.
fn known_if_joined(
    channel: &ChannelUri,
    origin: &Option<ActionOrigin>,
    action: &StateAction,
    next: &Sequenced,
) -> Option<usize> {
    let joins = *channel == next.channel
        && origin.is_none()
        && next.origin.is_none()
        && continues(action, &next.action);
    let known = appended_text(action).filter(|_| joins)?.len();
    let more = appended_text(&next.action)?.len();
    (known + more <= MAX_MERGED_BYTES).then_some(known)
}

/// Whether `next` appends to the very part that `action` appends to.
pub fn continues(action: &StateAction, next: &StateAction) -> bool {
    match (action, next) {
        (StateAction::ChatDelta(a), StateAction::ChatDelta(b)) => {
            a.part_id == b.part_id && a.turn_id == b.turn_id && a.meta.is_none() && b.meta.is_none()
        }
        (StateAction::ChatReasoning(a), StateAction::ChatReasoning(b)) => {
            a.part_id == b.part_id && a.turn_id == b.turn_id && a.meta.is_none() && b.meta.is_none()
        }
        (StateAction::TerminalData(_), StateAction::TerminalData(_)) => true,
        _ => false,
    }
}

/// The text that an action appends, if appending is what it does. The table in
/// `action_traits` says the same (a test compares them); here are only the few
/// types that are merged, because this is asked of every delta four times.
pub fn appended_text(action: &StateAction) -> Option<&str> {
    match action {
        StateAction::ChatDelta(a) => Some(&a.content),
        StateAction::ChatReasoning(a) => Some(&a.content),
        StateAction::TerminalData(a) => Some(&a.data),
        _ => None,
    }
}

fn appended_text_mut(action: &mut StateAction) -> Option<&mut String> {
    match action {
        StateAction::ChatDelta(a) => Some(&mut a.content),
        StateAction::ChatReasoning(a) => Some(&mut a.content),
        StateAction::TerminalData(a) => Some(&mut a.data),
        _ => None,
    }
}

/// Appends the text of `next` to that of `action`; see [`continues`].
fn append(action: &mut StateAction, next: &StateAction) {
    if let (Some(text), Some(more)) = (appended_text_mut(action), appended_text(next)) {
        text.push_str(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::newest::actions::{ChatDeltaAction, ChatUsageAction};

    fn delta(seq: u64, part: &str, content: &str) -> Sequenced {
        Sequenced {
            seq: seq.into(),
            channel: "ahp-chat:/1".into(),
            action: StateAction::ChatDelta(ChatDeltaAction {
                turn_id: "t".into(),
                part_id: part.into(),
                content: content.into(),
                meta: None,
            }),
            origin: None,
            facts: GateFacts::default(),
        }
    }

    fn rest(entry: &LogEntry, seen: u64) -> Option<String> {
        let lacking = entry.after(seen.into())?;
        appended_text(&lacking.action).map(str::to_owned)
    }

    #[test]
    fn neighbouring_deltas_merge_and_can_be_cut_where_they_met() {
        let mut entry = LogEntry::from(&delta(4, "p", "ab"));
        assert!(entry.absorb(&delta(5, "p", "c")));
        assert!(entry.absorb(&delta(9, "p", "déf")));
        assert_eq!((entry.first, entry.last), (4.into(), 9.into()));
        assert_eq!(rest(&entry, 3).as_deref(), Some("abcdéf"));
        assert_eq!(rest(&entry, 4).as_deref(), Some("cdéf"));
        assert_eq!(rest(&entry, 5).as_deref(), Some("déf"));
        assert_eq!(rest(&entry, 8).as_deref(), Some("déf"));
        assert_eq!(rest(&entry, 9), None);
        let middle = entry.between(4.into(), 6.into()).unwrap();
        assert_eq!(middle.seq, 5.into());
        assert_eq!(appended_text(&middle.action), Some("c"));
        assert_eq!(entry.between(5.into(), 8.into()), None);
        assert_eq!(entry.between(0.into(), 3.into()), None);
    }

    #[test]
    fn other_parts_channels_and_kinds_do_not_merge() {
        let mut entry = LogEntry::from(&delta(1, "p", "x"));
        assert!(!entry.absorb(&delta(2, "q", "y")));
        let mut elsewhere = delta(2, "p", "y");
        elsewhere.channel = "ahp-chat:/2".into();
        assert!(!entry.absorb(&elsewhere));
        let mut usage = delta(2, "p", "y");
        usage.action = StateAction::ChatUsage(ChatUsageAction {
            turn_id: "t".into(),
            usage: Default::default(),
            meta: None,
        });
        assert!(!entry.absorb(&usage));
        assert_eq!(entry.last, 1.into());
    }

    #[test]
    fn an_action_that_somebody_else_holds_is_not_changed_by_merging() {
        let held = Arc::new(delta(1, "p", "x"));
        let mut waiting = Arc::clone(&held);
        assert!(absorb(&mut waiting, &delta(2, "p", "y")));
        assert!(!absorb(&mut waiting, &delta(3, "q", "z")));
        assert_eq!(held.seq, 1.into());
        assert_eq!(appended_text(&held.action), Some("x"));
        assert_eq!(waiting.seq, 2.into());
        assert_eq!(appended_text(&waiting.action), Some("xy"));
    }

    #[test]
    fn merged_content_stops_growing_at_its_limit() {
        let mut entry = LogEntry::from(&delta(1, "p", &"x".repeat(MAX_MERGED_BYTES - 1)));
        assert!(entry.absorb(&delta(2, "p", "y")));
        assert!(!entry.absorb(&delta(3, "p", "z")));
    }
    #[test]
    fn a_merged_entry_takes_less_than_a_mebibyte_however_small_its_pieces_are() {
        let first = 9_000_000_000_000_000;
        let mut entry = LogEntry::from(&delta(first, "p", "\u{1}"));
        let mut pieces = 1;
        while entry.absorb(&delta(first + pieces, "p", "\u{1}")) {
            pieces += 1;
        }
        let cuts: Vec<(Seq, u32)> = entry.cuts.iter().map(|cut| (cut.seq, cut.len)).collect();
        let cuts = serde_json::to_string(&cuts).unwrap();
        let action = serde_json::to_string(&entry.action).unwrap();
        let bytes = cuts.len() + action.len();
        assert!(bytes < 1024 * 1024, "{pieces} pieces took {bytes} bytes");
    }
}
