//! What a session has brought about and people come back to, in `_meta` where
//! editors in the field look for it. The host knows of pull requests that it
//! was asked to create; it does not guess what else an agent has made.

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{SessionMetaChangedAction, StateAction};
use innkeeper_protocol::newest::common::JsonObject;
use innkeeper_protocol::workspace::changes::{OperationDone, Sent};
use serde_json::{Value, json};

use crate::core::Core;
use crate::core::channels::ARTIFACTS;

/// Of more than this, the latest are listed.
const MOST: usize = 20;

/// Lists what an operation of a session has brought about.
pub(super) fn note(core: &mut Core, session: &ChannelUri, done: &[OperationDone]) {
    let Some(known) = core.channels.session(session) else {
        return;
    };
    let before = known.state.meta.clone().unwrap_or_default();
    let after = with_artifacts(before.clone(), done.iter().filter_map(artifact));
    if after != before {
        let action = SessionMetaChangedAction { meta: Some(after) };
        core.emit(session, StateAction::SessionMetaChanged(action), None);
    }
}

fn with_artifacts(mut meta: JsonObject, new: impl Iterator<Item = Value>) -> JsonObject {
    let mut listed = match meta.remove(ARTIFACTS) {
        Some(Value::Array(listed)) => listed,
        _ => Vec::new(),
    };
    for artifact in new {
        if !listed.iter().any(|it| it["id"] == artifact["id"]) {
            listed.push(artifact);
        }
    }
    listed.drain(..listed.len().saturating_sub(MOST));
    if !listed.is_empty() {
        meta.insert(ARTIFACTS.to_owned(), Value::Array(listed));
    }
    meta
}

fn artifact(done: &OperationDone) -> Option<Value> {
    match done {
        OperationDone::Sent(Sent::PullRequest { url, .. }) => Some(json!({
            "id": url,
            "type": "pullRequest",
            "label": label_of(url),
            "isArtifact": true,
            "link": url,
            "isGitHub": is_github(url),
        })),
        OperationDone::Sent(Sent::Pushed(_) | Sent::PullRequestPage { .. })
        | OperationDone::FilesAsBefore(_)
        | OperationDone::PlacesAsBefore(_)
        | OperationDone::FilesAsThen(_)
        | OperationDone::Committed(_)
        | OperationDone::CommitTakenBack
        | OperationDone::Brought(_) => None,
    }
}

/// `owner/name#12`, if the address has that form.
fn label_of(url: &str) -> String {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let segments: Vec<&str> = path.trim_end_matches('/').split('/').skip(1).collect();
    match segments[..] {
        [owner, name, "pull", number] => format!("{owner}/{name}#{number}"),
        _ => url.to_owned(),
    }
}

fn is_github(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    host == "github.com" || host.ends_with(".github.com") || host.starts_with("github.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pull_request(number: usize) -> OperationDone {
        let url = format!("https://github.com/inn/keeper/pull/{number}");
        let is_new = true;
        OperationDone::Sent(Sent::PullRequest { url, is_new })
    }

    #[test]
    fn a_pull_request_is_listed_once_and_only_the_latest_are() {
        let mut meta = JsonObject::new();
        meta.insert("mine".to_owned(), json!(1));
        for number in (0..MOST + 5).chain([MOST + 4]) {
            meta = with_artifacts(meta, [pull_request(number)].iter().filter_map(artifact));
        }
        assert_eq!(meta["mine"], 1);
        let listed = meta[ARTIFACTS].as_array().unwrap();
        assert_eq!(listed.len(), MOST);
        let last = listed.last().unwrap();
        assert_eq!(last["label"], format!("inn/keeper#{}", MOST + 4));
        assert_eq!(last["isGitHub"], true);
    }

    #[test]
    fn what_leaves_nothing_to_come_back_to_is_not_listed() {
        let done = [
            OperationDone::FilesAsBefore(3),
            OperationDone::CommitTakenBack,
        ];
        let meta = with_artifacts(JsonObject::new(), done.iter().filter_map(artifact));
        assert!(meta.is_empty());
    }

    #[test]
    fn an_address_of_another_form_is_its_own_label() {
        let url = "https://forge.example.org/inn/keeper/-/merge_requests/7";
        assert_eq!(label_of(url), url);
        assert!(!is_github(url));
    }
}
