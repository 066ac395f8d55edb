//! Watches: a channel each, for changes of files. A watch lives as long as
//! somebody listens; whoever creates one has a moment to begin.

use innkeeper_protocol::house::actions::{ResourceWatchChangedAction, StateAction};
use innkeeper_protocol::house::commands::{CreateResourceWatchParams, CreateResourceWatchResult};
use innkeeper_protocol::house::state::{ResourceChange, ResourceChangeType, ResourceWatchState};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::watch::{
    OpenWatch, WatchCommand, WatchEvent, WatchId, WatchReport,
};
use innkeeper_protocol::{ChannelUri, Timestamp};
use serde_json::{Value, json};
use std::time::Duration;

use crate::client_resources::CLIENT_SCHEME;
use crate::resources::rpc_error;
use crate::{ConnectionId, Effect, Engine};

/// How long a watch waits for its first subscriber.
const UNHEARD: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(crate) struct Watch {
    id: WatchId,
    pub(crate) state: ResourceWatchState,
    /// Who waits for it to begin.
    opening: Option<(ConnectionId, RequestId)>,
    /// It goes then, unless somebody listens.
    pub(crate) goes_at: Option<Timestamp>,
}

impl Engine {
    pub(crate) fn create_watch(
        &mut self,
        connection: ConnectionId,
        id: RequestId,
        params: CreateResourceWatchParams,
    ) {
        if params.uri.starts_with(CLIENT_SCHEME) {
            let error = "this host watches what is on its own machine, not what clients have";
            return self.fail(connection, Some(id), RpcError::invalid_params(error));
        }
        let limit = self.config.limits.watches;
        if self.watches.len() >= limit {
            let error = RpcError::internal(format!(
                "this host keeps at most {limit} watches; unsubscribe from some, or raise \
                 limits.watches"
            ));
            return self.fail(connection, Some(id), error);
        }
        let (includes, excludes) = (patterns(&params.includes), patterns(&params.excludes));
        let (Some(includes), Some(excludes)) = (includes, excludes) else {
            let error = RpcError::invalid_params(
                "`includes` and `excludes` must be objects with `items`, an array of patterns",
            );
            return self.fail(connection, Some(id), error);
        };
        self.last_watch += 1;
        let watch = WatchId(self.last_watch);
        let nonce = &self.config.nonce;
        let uri = ChannelUri::from(format!("ahp-resource-watch:/{nonce}-{}", watch.0));
        let open = OpenWatch {
            uri: params.uri.clone(),
            recursive: params.recursive.unwrap_or(false),
            includes,
            excludes,
            scope: self.scope_of(connection),
        };
        let state = ResourceWatchState {
            root: params.uri,
            recursive: open.recursive,
            excludes: params.excludes,
            includes: params.includes,
        };
        self.watches.insert(
            uri.clone(),
            Watch {
                id: watch,
                state,
                opening: Some((connection, id)),
                goes_at: Some(self.now.after(UNHEARD)),
            },
        );
        self.watch_ids.insert(watch, uri);
        let open = Box::new(open);
        let command = WatchCommand::Open { watch, open };
        self.step.effects.push(Effect::Watch(command));
    }

    pub(crate) fn watch_reported(&mut self, report: WatchReport) {
        let Some(uri) = self.watch_ids.get(&report.watch).cloned() else {
            return;
        };
        match report.event {
            WatchEvent::Opened => {
                let waits = self.watches.get_mut(&uri).and_then(|w| w.opening.take());
                if let Some((connection, id)) = waits {
                    let channel = uri.to_string();
                    let result = CreateResourceWatchResult { channel };
                    self.reply(connection, id, Reply::CreateResourceWatch(result));
                }
            }
            WatchEvent::OpenFailed(error) => {
                self.watch_ids.remove(&report.watch);
                let watch = self.watches.remove(&uri);
                if let Some((connection, id)) = watch.and_then(|watch| watch.opening) {
                    let error = rpc_error(error, &ChannelUri::root());
                    self.fail(connection, Some(id), error);
                }
            }
            WatchEvent::Changed(changes) => {
                if !changes.is_empty() {
                    self.emit_changes(&uri, json!({ "items": changes }));
                }
            }
            WatchEvent::Overflowed => {
                // The protocol has no word for it. That everything below the
                // root may have changed is what it means.
                let Some(watch) = self.watches.get(&uri) else {
                    return;
                };
                let everything = ResourceChange {
                    uri: watch.state.root.clone(),
                    r#type: ResourceChangeType::Updated,
                };
                self.emit_changes(&uri, json!({ "items": [everything], "rescan": true }));
            }
        }
    }

    fn emit_changes(&mut self, uri: &ChannelUri, changes: Value) {
        let action = ResourceWatchChangedAction { changes };
        self.emit(uri, StateAction::ResourceWatchChanged(action), None);
    }

    /// Somebody listens: the watch stays until nobody does.
    pub(crate) fn watch_is_heard(&mut self, uri: &ChannelUri) {
        if let Some(watch) = self.watches.get_mut(uri) {
            watch.goes_at = None;
        }
    }

    pub(crate) fn release_watch(&mut self, uri: &ChannelUri) {
        if let Some(watch) = self.watches.remove(uri) {
            self.watch_ids.remove(&watch.id);
            let close = WatchCommand::Close { watch: watch.id };
            self.step.effects.push(Effect::Watch(close));
            if let Some((connection, id)) = watch.opening {
                let error = RpcError::internal("watching did not begin in time; try again");
                self.fail(connection, Some(id), error);
            }
        }
    }

    pub(crate) fn release_unheard_watches(&mut self) {
        let now = self.now;
        let unheard = self.watches.iter();
        let unheard: Vec<ChannelUri> = unheard
            .filter(|(_, watch)| watch.goes_at.is_some_and(|at| at <= now))
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in unheard {
            self.release_watch(&uri);
        }
    }
}

/// The patterns of `{items: […]}`; none if nothing is said.
fn patterns(wrapped: &Option<Value>) -> Option<Vec<String>> {
    let Some(wrapped) = wrapped.as_ref().filter(|value| !value.is_null()) else {
        return Some(Vec::new());
    };
    let items = wrapped.get("items")?.as_array()?;
    let text = |item: &Value| item.as_str().map(str::to_owned);
    items.iter().map(text).collect()
}
