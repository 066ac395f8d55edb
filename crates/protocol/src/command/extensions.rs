//! What this host does and the protocol does not know: requests whose names
//! begin with `innkeeper/`. They are the same in every version; `docs` has a
//! page on each of them.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::decode;
use crate::record::search::{SearchCursor, SearchField, SearchFilter, SearchQuery, UsageQuery};
use crate::rpc::RpcError;
use crate::{ChannelUri, Timestamp};

/// Each with the number of its form, as clients are told.
const INSTALLING: &[(&str, u32)] = &[(INSTALLABLE, 1), (INSTALL, 1), (CANCEL_INSTALL, 1)];

/// Likewise, those of every host.
const EXTENSIONS: &[(&str, u32)] = &[(SEARCH, 1), (USAGE, 1), (TAKE_BACK, 1), (UNDO_TAKE_BACK, 1)];

const SEARCH: &str = "innkeeper/searchSessions";
const USAGE: &str = "innkeeper/usage";
const TAKE_BACK: &str = "innkeeper/takeBack";
const UNDO_TAKE_BACK: &str = "innkeeper/undoTakeBack";
const INSTALLABLE: &str = "innkeeper/installableAgents";
const INSTALL: &str = "innkeeper/installAgent";
const CANCEL_INSTALL: &str = "innkeeper/cancelInstallAgent";

/// The longest query, and how many hits an answer has.
const MOST_QUERY_BYTES: usize = 1024;
const HITS: usize = 20;
const MOST_HITS: usize = 50;

/// How long one search may take.
const SEARCH_TIME: Duration = Duration::from_secs(2);

/// How many rows an answer about usage has.
const MOST_USAGE_ROWS: usize = 1_000;

/// What `_meta.innkeeper.extensions` of a host says, which may be one that
/// installs agents.
pub fn announced(installs_agents: bool) -> Value {
    let installing = if installs_agents { INSTALLING } else { &[] };
    let extensions = EXTENSIONS.iter().chain(installing);
    let extensions = extensions.map(|(name, form)| ((*name).to_owned(), json!(form)));
    Value::Object(extensions.collect::<Map<_, _>>())
}

#[derive(Debug)]
pub enum ExtensionCommand {
    Search(Box<SearchQuery>),
    Usage(UsageQuery),
    TakeBack(TakeBack),
    UndoTakeBack(UndoTakeBack),
    InstallableAgents,
    InstallAgent(InstallAgent),
    CancelInstallAgent(CancelInstallAgent),
}

/// A chat goes back to before one of its turns.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TakeBack {
    pub channel: ChannelUri,
    /// The first turn that is taken back.
    pub turn_id: String,
    /// The name of a new chat that keeps all of it.
    pub fork: ChannelUri,
    /// Whether the files go back, too.
    pub files: bool,
}

/// A chat that such a request has kept takes the place of the one it cut.
#[derive(Debug, Clone, Deserialize)]
pub struct UndoTakeBack {
    pub channel: ChannelUri,
}

/// An agent is to be installed in the version that the host knows.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstallAgent {
    pub provider: String,
    /// For notifications about how far it is.
    #[serde(default)]
    pub progress_token: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct CancelInstallAgent {
    pub provider: String,
}

impl ExtensionCommand {
    /// `None` if the method is none of these.
    pub(super) fn decode(
        method: &str,
        params: Option<&RawValue>,
    ) -> Option<Result<Self, RpcError>> {
        let explain = |why: String| RpcError::invalid_params(format!("`{method}`: {why}"));
        Some(match method {
            SEARCH => decode::<SearchParams>(method, params)
                .and_then(|params| params.query().map_err(explain))
                .map(|query| Self::Search(Box::new(query))),
            USAGE => decode::<UsageParams>(method, params)
                .and_then(|params| params.query().map_err(explain))
                .map(Self::Usage),
            TAKE_BACK => decode(method, params).map(Self::TakeBack),
            UNDO_TAKE_BACK => decode(method, params).map(Self::UndoTakeBack),
            INSTALLABLE => Ok(Self::InstallableAgents),
            INSTALL => decode(method, params).map(Self::InstallAgent),
            CANCEL_INSTALL => decode(method, params).map(Self::CancelInstallAgent),
            _ => return None,
        })
    }
}

#[derive(Debug, Deserialize)]
struct SearchParams {
    query: String,
    #[serde(rename = "in", default)]
    fields: Option<Vec<SearchField>>,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    session: Option<ChannelUri>,
    #[serde(default)]
    provider: Option<String>,
    #[serde(default)]
    directory: Option<String>,
    #[serde(default)]
    archived: Option<bool>,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    before: Option<String>,
}

impl SearchParams {
    fn query(self) -> Result<SearchQuery, String> {
        let bytes = self.query.len();
        if bytes > MOST_QUERY_BYTES {
            return Err(format!(
                "the query has {bytes} bytes, and a query has at most {MOST_QUERY_BYTES}; use \
                 fewer words"
            ));
        }
        if self.query.trim().is_empty() {
            return Err("`query` must not be empty".to_owned());
        }
        let limit = self.limit.unwrap_or(HITS);
        if !(1..=MOST_HITS).contains(&limit) {
            return Err(format!("`limit` must be a number from 1 to {MOST_HITS}"));
        }
        let cursor = self.cursor.map(|it| it.parse::<SearchCursor>());
        // Each field once, in the order in which snippets prefer them; what an
        // agent thought is looked through only if somebody asks for it.
        let fields = SearchField::ALL
            .into_iter()
            .filter(|field| match &self.fields {
                Some(wanted) => wanted.contains(field),
                None => *field != SearchField::Reasoning,
            });
        Ok(SearchQuery {
            fields: fields.collect(),
            text: self.query,
            filter: SearchFilter {
                session: self.session,
                provider: self.provider,
                directory: self.directory,
                archived: self.archived,
                after: time("after", self.after.as_deref())?,
                before: time("before", self.before.as_deref())?,
            },
            limit,
            cursor: cursor.transpose().map_err(|error| error.to_string())?,
            time: SEARCH_TIME,
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageParams {
    #[serde(default)]
    from: Option<String>,
    #[serde(default)]
    to: Option<String>,
    #[serde(default)]
    session: Option<ChannelUri>,
    #[serde(default)]
    utc_offset_minutes: Option<i32>,
}

impl UsageParams {
    fn query(self) -> Result<UsageQuery, String> {
        let utc_offset_minutes = self.utc_offset_minutes.unwrap_or(0);
        // No place on Earth is further away.
        if !(-14 * 60..=14 * 60).contains(&utc_offset_minutes) {
            return Err("`utcOffsetMinutes` must be a number from -840 to 840".to_owned());
        }
        Ok(UsageQuery {
            from: time("from", self.from.as_deref())?,
            to: time("to", self.to.as_deref())?,
            session: self.session,
            utc_offset_minutes,
            limit: MOST_USAGE_ROWS,
        })
    }
}

fn time(field: &str, iso: Option<&str>) -> Result<Option<Timestamp>, String> {
    let Some(iso) = iso else {
        return Ok(None);
    };
    let at = Timestamp::parse(iso);
    at.map(Some)
        .ok_or_else(|| format!("`{field}` must be a time such as `2026-03-10T18:42:03Z`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(method: &str, params: &Value) -> Result<ExtensionCommand, RpcError> {
        let params = serde_json::value::to_raw_value(params).unwrap();
        ExtensionCommand::decode(method, Some(&params)).unwrap()
    }

    #[test]
    fn every_extension_that_is_announced_is_there() {
        let announced = announced(true);
        let all = EXTENSIONS.len() + INSTALLING.len();
        assert_eq!(announced.as_object().unwrap().len(), all);
        for method in announced.as_object().unwrap().keys() {
            assert!(ExtensionCommand::decode(method, None).is_some(), "{method}");
        }
        assert!(ExtensionCommand::decode("innkeeper/nothing", None).is_none());
    }

    #[test]
    fn a_search_has_sensible_defaults() {
        let Ok(ExtensionCommand::Search(query)) = decoded(SEARCH, &json!({"query": "inn"})) else {
            panic!("a search");
        };
        assert_eq!((query.limit, query.time), (20, SEARCH_TIME));
        assert_eq!(query.fields.len(), 4);
        assert!(!query.fields.contains(&SearchField::Reasoning));
        assert_eq!(query.filter, SearchFilter::default());
    }

    #[test]
    fn what_cannot_be_searched_for_is_refused_with_the_reason() {
        for (params, why) in [
            (json!({}), "missing field `query`"),
            (json!({"query": "  "}), "must not be empty"),
            (json!({"query": "x".repeat(1025)}), "use fewer words"),
            (json!({"query": "x", "limit": 0}), "from 1 to 50"),
            (json!({"query": "x", "limit": 51}), "from 1 to 50"),
            (json!({"query": "x", "limit": -1}), "invalid value"),
            (
                json!({"query": "x", "cursor": "y"}),
                "begin again without one",
            ),
            (json!({"query": "x", "in": ["nowhere"]}), "unknown variant"),
            (
                json!({"query": "x", "after": "yesterday"}),
                "`after` must be a time",
            ),
            (
                json!({"query": "x", "before": ""}),
                "`before` must be a time",
            ),
        ] {
            let error = decoded(SEARCH, &params).unwrap_err();
            assert!(error.message.contains(why), "{params}: {}", error.message);
            assert_eq!(error.code, -32602);
        }
        for (params, why) in [
            (json!({"from": 3}), "expected a string"),
            (json!({"to": "x"}), "`to` must be a time"),
            (json!({"utcOffsetMinutes": 841}), "-840 to 840"),
        ] {
            let error = decoded(USAGE, &params).unwrap_err();
            assert!(error.message.contains(why), "{params}: {}", error.message);
        }
    }
}
