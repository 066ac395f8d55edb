//! Tokens that an agent counts with its answer to a prompt. The protocol leaves
//! open whether they are those of the turn or of all turns so far, and agents
//! differ: what they count tells.

use agent_client_protocol_schema::v1::Usage;

#[derive(Debug, Default)]
pub(super) struct Counting {
    last: Option<Usage>,
    /// It has counted less than before: it counts each turn by itself.
    is_by_turn: bool,
}

impl Counting {
    /// The tokens of the turn that has ended. A turn sends all that is in the
    /// context to the model at least once, so a difference that is much smaller
    /// than the context is not what a turn has taken.
    pub(super) fn of_turn(&mut self, told: Usage, context: Option<u64>) -> Usage {
        let before = self.last.replace(told.clone());
        let Some(before) = before.filter(|_| !self.is_by_turn) else {
            return told;
        };
        let Some(more) = difference(&told, &before).filter(|more| more.total_tokens > 0) else {
            self.is_by_turn = true;
            return told;
        };
        match context {
            Some(context) if more.total_tokens < context / 2 => told,
            _ => more,
        }
    }
}

/// What was counted since; nothing, if something is less.
fn difference(now: &Usage, before: &Usage) -> Option<Usage> {
    let part = |now: Option<u64>, before: Option<u64>| match (now, before) {
        (Some(now), Some(before)) => now.checked_sub(before).map(Some),
        (now, None) => Some(now),
        (None, Some(_)) => None,
    };
    let usage = Usage::new(
        now.total_tokens.checked_sub(before.total_tokens)?,
        now.input_tokens.checked_sub(before.input_tokens)?,
        now.output_tokens.checked_sub(before.output_tokens)?,
    );
    Some(
        usage
            .thought_tokens(part(now.thought_tokens, before.thought_tokens)?)
            .cached_read_tokens(part(now.cached_read_tokens, before.cached_read_tokens)?)
            .cached_write_tokens(part(now.cached_write_tokens, before.cached_write_tokens)?),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(turns: &[(u64, u64)], context: Option<u64>) -> Vec<(u64, u64)> {
        let mut counting = Counting::default();
        let turns = turns.iter().map(|(input, output)| {
            let told = Usage::new(input + output, *input, *output);
            let turn = counting.of_turn(told, context);
            (turn.input_tokens, turn.output_tokens)
        });
        turns.collect()
    }

    #[test]
    fn what_only_grows_is_counted_over_all_turns() {
        let turns = [(9_000, 200), (18_500, 250), (28_500, 500)];
        let expected = [(9_000, 200), (9_500, 50), (10_000, 250)];
        assert_eq!(counted(&turns, Some(9_000)), expected);
        assert_eq!(counted(&turns, None), expected);
    }

    #[test]
    fn what_becomes_less_or_stays_is_counted_by_turn() {
        for turns in [
            [(9_000, 200), (8_000, 250), (18_000, 300)],
            [(9_000, 200), (9_500, 100), (18_000, 300)],
            [(9_000, 200), (9_000, 200), (18_000, 300)],
        ] {
            assert_eq!(counted(&turns, None), turns);
        }
    }

    #[test]
    fn what_grows_by_less_than_a_request_is_counted_by_turn() {
        let turns = [(9_000, 200), (9_500, 210), (10_000, 220)];
        assert_eq!(counted(&turns, Some(9_000)), turns);
    }
}
