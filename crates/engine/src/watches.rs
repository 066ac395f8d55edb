//! Watches: a channel each, for changes of files. A watch lives as long as
//! somebody listens; whoever creates one has a moment to begin.

use std::time::Duration;

use foldhash::{HashMap, HashSet};
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::actions::{ResourceWatchChangedAction, StateAction};
use innkeeper_protocol::newest::commands::{CreateResourceWatchParams, CreateResourceWatchResult};
use innkeeper_protocol::newest::state::{ResourceChange, ResourceChangeType, ResourceWatchState};
use innkeeper_protocol::outgoing::Reply;
use innkeeper_protocol::rpc::{RequestId, RpcError};
use innkeeper_protocol::workspace::resource::Scope;
use innkeeper_protocol::workspace::watch::{
    OpenWatch, WatchCommand, WatchEvent, WatchId, WatchReport,
};
use serde_json::{Value, json};

use crate::client_calls::CLIENT_SCHEME;
use crate::core::channels::{Channel, Ephemeral};
use crate::core::{Core, Deadline, WATCH_SCHEME};
use crate::effect::{ConnectionId, Effect};
use crate::resources::rpc_error;

/// How long a watch waits for its first subscriber.
const UNHEARD: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct Watches {
    known: HashMap<ChannelUri, Watch>,
    by_id: HashMap<WatchId, ChannelUri>,
    /// Those that the host itself listens to.
    own: HashSet<WatchId>,
    last: u64,
}

/// What the host knows of a watch besides its state.
#[derive(Debug)]
struct Watch {
    id: WatchId,
    /// Who waits for it to begin.
    opening: Option<(ConnectionId, RequestId)>,
}

impl Watches {
    /// Begins to watch for a client; it is answered when that has begun.
    pub(crate) fn create(
        &mut self,
        core: &mut Core,
        scope: Scope,
        (connection, id): (ConnectionId, RequestId),
        params: CreateResourceWatchParams,
    ) {
        let (includes, excludes) = match self.check_new(core, &params) {
            Ok(patterns) => patterns,
            Err(error) => return core.fail(connection, Some(id), error),
        };
        let (watch, uri) = self.new_name(core);
        let open = OpenWatch {
            uri: params.uri.clone(),
            recursive: params.recursive.unwrap_or(false),
            includes,
            excludes,
            scope,
        };
        let state = ResourceWatchState {
            root: params.uri,
            recursive: open.recursive,
            excludes: params.excludes,
            includes: params.includes,
        };
        let born = core.server_seq();
        let channel = Channel::Watch(Box::new(Ephemeral { state, born }));
        core.channels.insert(uri.clone(), channel);
        let known = Watch {
            id: watch,
            opening: Some((connection, id)),
        };
        let unheard = Deadline::WatchIsUnheard(uri.clone());
        core.deadlines.set(unheard, core.now.after(UNHEARD));
        self.known.insert(uri.clone(), known);
        self.by_id.insert(watch, uri);
        let open = Box::new(open);
        core.effect(Effect::Watch(WatchCommand::Open { watch, open }));
    }

    fn check_new(
        &self,
        core: &Core,
        params: &CreateResourceWatchParams,
    ) -> Result<(Vec<String>, Vec<String>), RpcError> {
        if params.uri.starts_with(CLIENT_SCHEME) {
            return Err(RpcError::invalid_params(
                "this host watches what is on its own machine, not what clients have",
            ));
        }
        self.check_count(core).map_err(RpcError::internal)?;
        let includes = patterns(&params.includes);
        includes.zip(patterns(&params.excludes)).ok_or_else(|| {
            RpcError::invalid_params(
                "`includes` and `excludes` must be objects with `items`, an array of patterns",
            )
        })
    }

    fn check_count(&self, core: &Core) -> Result<(), String> {
        let limit = core.config.limits.watches;
        match self.known.len() + self.own.len() < limit {
            true => Ok(()),
            false => Err(format!(
                "this host keeps at most {limit} watches; unsubscribe from some, or raise \
                 limits.watches"
            )),
        }
    }

    /// Begins to watch for the host itself, which is told what is reported.
    pub(crate) fn open_own(&mut self, core: &mut Core, open: OpenWatch) -> Result<WatchId, String> {
        self.check_count(core)?;
        self.last += 1;
        let watch = WatchId(self.last);
        self.own.insert(watch);
        let open = Box::new(open);
        core.effect(Effect::Watch(WatchCommand::Open { watch, open }));
        Ok(watch)
    }

    pub(crate) fn close_own(&mut self, core: &mut Core, watch: WatchId) {
        if self.own.remove(&watch) {
            core.effect(Effect::Watch(WatchCommand::Close { watch }));
        }
    }

    fn new_name(&mut self, core: &Core) -> (WatchId, ChannelUri) {
        loop {
            self.last += 1;
            let nonce = &core.config.nonce;
            let uri = ChannelUri::from(format!("{WATCH_SCHEME}/{nonce}-{}", self.last));
            if !core.channels.contains(&uri) {
                return (WatchId(self.last), uri);
            }
        }
    }

    /// Returns what is reported of a watch that the host itself listens to.
    pub(crate) fn reported(&mut self, core: &mut Core, report: WatchReport) -> Option<WatchReport> {
        if self.own.contains(&report.watch) {
            return Some(report);
        }
        let uri = self.by_id.get(&report.watch).cloned()?;
        self.tell(core, &uri, report.event);
        None
    }

    fn tell(&mut self, core: &mut Core, uri: &ChannelUri, event: WatchEvent) {
        match event {
            WatchEvent::Opened => {
                let waits = self.known.get_mut(uri).and_then(|it| it.opening.take());
                if let Some((connection, id)) = waits {
                    let channel = uri.to_string();
                    let result = CreateResourceWatchResult { channel };
                    core.reply(connection, id, Reply::CreateResourceWatch(result));
                }
            }
            WatchEvent::OpenFailed(error) => {
                let watch = self.remove(core, uri);
                if let Some((connection, id)) = watch.and_then(|watch| watch.opening) {
                    let error = rpc_error(error, &ChannelUri::root());
                    core.fail(connection, Some(id), error);
                }
            }
            WatchEvent::Changed(changes) => {
                if !changes.is_empty() {
                    tell_changes(core, uri, json!({ "items": changes }));
                }
            }
            WatchEvent::Overflowed => {
                // The protocol has no word for it. That everything below the
                // root may have changed is what it means.
                let Some(watch) = core.channels.watch(uri) else {
                    return;
                };
                let everything = ResourceChange {
                    uri: watch.state.root.clone(),
                    r#type: ResourceChangeType::Updated,
                };
                let changes = json!({ "items": [everything], "rescan": true });
                tell_changes(core, uri, changes);
            }
        }
    }

    /// Somebody listens: the watch stays until nobody does.
    pub(crate) fn heard(&self, core: &mut Core, uri: &ChannelUri) {
        if self.known.contains_key(uri) {
            core.deadlines.clear(&Deadline::WatchIsUnheard(uri.clone()));
        }
    }

    /// Nobody listens to a watch any more.
    pub(crate) fn release(&mut self, core: &mut Core, uri: &ChannelUri) {
        if let Some(watch) = self.remove(core, uri) {
            core.effect(Effect::Watch(WatchCommand::Close { watch: watch.id }));
            if let Some((connection, id)) = watch.opening {
                let error = RpcError::internal("watching did not begin in time; try again");
                core.fail(connection, Some(id), error);
            }
        }
    }

    fn remove(&mut self, core: &mut Core, uri: &ChannelUri) -> Option<Watch> {
        let watch = self.known.remove(uri)?;
        self.by_id.remove(&watch.id);
        core.channels.remove(uri);
        core.deadlines.clear(&Deadline::WatchIsUnheard(uri.clone()));
        Some(watch)
    }
}

fn tell_changes(core: &mut Core, uri: &ChannelUri, changes: Value) {
    let action = ResourceWatchChangedAction { changes };
    core.emit(uri, StateAction::ResourceWatchChanged(action), None);
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
