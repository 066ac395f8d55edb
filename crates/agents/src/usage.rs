//! What `_meta` of a usage report says besides tokens, in the same words for
//! every agent.

use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::newest::state::UsageInfo;
use serde_json::{Value, json};

/// How many tokens the agent's memory holds, and how many it could hold.
pub(crate) const CONTEXT_USED: &str = "contextUsed";
pub(crate) const CONTEXT_WINDOW: &str = "contextWindow";
/// What the turn has cost, and what the whole conversation has.
const COST: &str = "cost";
const SESSION_COST: &str = "sessionCost";
/// The tokens of the turn by model, as editors in the field sum them up.
const TURN_TOTALS: &str = "turnTokenTotals";

/// An amount of money in `meta`, of the turn and of the whole conversation:
/// whichever is known.
pub(crate) fn tell_cost(
    meta: &mut JsonObject,
    currency: &str,
    of_turn: Option<f64>,
    of_session: Option<f64>,
) {
    for (key, amount) in [(COST, of_turn), (SESSION_COST, of_session)] {
        if let Some(amount) = amount.filter(|amount| amount.is_finite() && *amount >= 0.0) {
            let cost = json!({"amount": amount, "currency": currency});
            meta.insert(key.to_owned(), cost);
        }
    }
}

/// Adds the totals by model, if it is known which model it was.
pub(crate) fn with_totals(mut usage: UsageInfo) -> UsageInfo {
    let Some(model) = usage.model.clone() else {
        return usage;
    };
    let totals = json!([{
        "model": model,
        "inputTokens": count(usage.input_tokens),
        "cachedTokens": count(usage.cache_read_tokens),
        "outputTokens": count(usage.output_tokens),
    }]);
    let meta = usage.meta.get_or_insert_default();
    meta.insert(TURN_TOTALS.to_owned(), totals);
    usage
}

fn count(tokens: Option<i64>) -> Value {
    tokens.unwrap_or_default().max(0).into()
}
