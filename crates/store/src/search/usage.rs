//! What a stored turn says that it has used, and the sums of that.

use std::borrow::Cow;

use innkeeper_protocol::Timestamp;
use innkeeper_protocol::record::search::{Cost as Sum, UsageRow};
use serde::Deserialize;

/// The tokens and the cost of a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct TurnUsage {
    pub(crate) at: Timestamp,
    pub(crate) model: Option<String>,
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    /// The amount and its currency.
    pub(crate) cost: Option<(f64, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Turn<'a> {
    #[serde(borrow)]
    started_at: Cow<'a, str>,
    #[serde(borrow)]
    usage: Usage<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Usage<'a> {
    #[serde(default)]
    input_tokens: Option<i64>,
    #[serde(default)]
    output_tokens: Option<i64>,
    #[serde(default)]
    cache_read_tokens: Option<i64>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "_meta", default)]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, default)]
    cost: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Cost {
    amount: f64,
    currency: String,
}

impl TurnUsage {
    /// Nothing, if the agent did not say.
    pub(crate) fn of_turn(json: &str) -> Option<Self> {
        let Turn { started_at, usage } = serde_json::from_str(json).ok()?;
        let tokens = |count: Option<i64>| u64::try_from(count.unwrap_or(0)).unwrap_or(0);
        let cost = usage.meta.and_then(|meta| meta.cost);
        let cost = cost.and_then(|cost| serde_json::from_str::<Cost>(cost.get()).ok());
        let cost = cost.filter(|cost| cost.amount.is_finite() && cost.amount >= 0.0);
        Some(Self {
            at: Timestamp::parse(&started_at)?,
            model: usage.model.map(Cow::into_owned),
            input: tokens(usage.input_tokens),
            output: tokens(usage.output_tokens),
            cached: tokens(usage.cache_read_tokens),
            cost: cost.map(|cost| (cost.amount, cost.currency)),
        })
    }
}

/// What was used on a day, of a provider and a model, as a database sums it up:
/// turns, input, output and cached tokens, and the cost in one currency.
pub(crate) fn row(
    (day, provider, model): (String, String, Option<String>),
    sums: [i64; 4],
    (amount, currency): (Option<f64>, Option<String>),
) -> UsageRow {
    let [turns, input_tokens, output_tokens, cache_read_tokens] =
        sums.map(|sum| u64::try_from(sum).unwrap_or(0));
    let cost = amount.zip(currency);
    UsageRow {
        day,
        provider,
        model,
        turns,
        input_tokens,
        output_tokens,
        cache_read_tokens,
        cost: cost.map(|(amount, currency)| Sum { amount, currency }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn usage(usage: &Value) -> Option<TurnUsage> {
        let turn = json!({
            "id": "t", "startedAt": "1970-01-01T00:00:00.007Z", "message": {"text": ""},
            "responseParts": [{"kind": "markdown", "content": "{"}], "usage": usage,
        });
        TurnUsage::of_turn(&turn.to_string())
    }

    #[test]
    fn a_turn_says_what_it_used() {
        let said = usage(&json!({
            "inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 3, "model": "m",
            "_meta": {"cost": {"amount": 0.25, "currency": "USD"}, "other": [1]},
        }));
        let expected = TurnUsage {
            at: Timestamp::from_millis(7),
            model: Some("m".into()),
            input: 10,
            output: 5,
            cached: 3,
            cost: Some((0.25, "USD".into())),
        };
        assert_eq!(said, Some(expected));
    }

    #[test]
    fn what_makes_no_sense_counts_for_nothing() {
        assert_eq!(usage(&Value::Null), None);
        let nothing = TurnUsage {
            at: Timestamp::from_millis(7),
            ..TurnUsage::default()
        };
        for said in [
            json!({}),
            json!({"inputTokens": -5, "_meta": {"cost": 3}}),
            json!({"_meta": {"cost": {"amount": -1.0, "currency": "USD"}}}),
        ] {
            assert_eq!(usage(&said), Some(nothing.clone()), "{said}");
        }
    }
}
