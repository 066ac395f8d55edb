//! Plugins that clients bring to a session. One that is on this machine is
//! read where it is, if its client may read there; one that only the client
//! has (`virtual:`) is fetched from it, file by file, and read then. A new
//! nonce means that it is to be read anew.
//!
//! Whoever needs a plugin when its client is gone has a copy made of it; what
//! came of that is told as [`Copied`].

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::newest::commands::{
    ContentEncoding, ResourceListParams, ResourceListResult, ResourceReadParams,
};
use innkeeper_protocol::newest::state::{
    Customization, CustomizationErrorState, CustomizationLoadState, PluginCustomization,
};
use innkeeper_protocol::resource_call::ResourceCall;
use innkeeper_protocol::rpc::RpcError;
use innkeeper_protocol::workspace::customization::{
    ClientPlugin, CopyFrom, CopyId, CustomizationCommand, CustomizationPlace, FoundCustomization,
    GivenFiles, SourceId,
};
use innkeeper_protocol::workspace::resource::{GrantedRoot, Scope};
use serde_json::Value;

use super::CustomizationsMut;
use crate::client_calls::{CLIENT_SCHEME, HostAnswer, client_that_has, content};
use crate::config::GrantPolicy;
use crate::effect::{ConnectionId, Effect};

/// How many files and directories of a plugin are asked for.
const MOST_VISITS: usize = 1_000;

/// How many of them at once.
const MOST_AT_ONCE: usize = 16;

/// How deep directories are looked into.
const DEEPEST: usize = 5;

/// The most that the files of a plugin have together.
const MOST_BYTES: usize = 4 * 1024 * 1024;

/// What came of a copy: what is in it, under its own address, or why there is
/// none.
pub(crate) type Copied = (CopyId, Result<Box<PluginCustomization>, String>);

/// What a plugin is fetched for.
#[derive(Debug)]
enum Purpose {
    Session,
    /// With the name of the copy.
    Copy(CopyId, String),
}

/// A plugin that is being fetched from its client.
#[derive(Debug)]
pub(super) struct Fetching {
    plugin: ClientPlugin,
    purpose: Purpose,
    from: ConnectionId,
    /// What is still to be asked for.
    waiting: Vec<Visit>,
    asked: usize,
    visits: usize,
    bytes: usize,
    files: GivenFiles,
}

/// One file or directory of a plugin.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    source: SourceId,
    /// Within the plugin, with `/` between segments.
    path: String,
    is_directory: bool,
}

impl CustomizationsMut<'_> {
    /// Begins to read a plugin that a client has published.
    pub(super) fn read_client_plugin(&mut self, source: SourceId, plugin: ClientPlugin) {
        if plugin.uri.starts_with("file:///") {
            let client = plugin.client_id.as_deref();
            if client.is_some_and(|client| self.client_may_read(client, &plugin.uri)) {
                let place = CustomizationPlace::Plugin(plugin);
                return self.follow(source, place);
            }
            let why = "it is not granted; open a session there, add it to workspace.roots, or \
                       raise workspace.grants";
            return self.plugin_failed(source, plugin, why.to_owned());
        }
        if let Err((plugin, why)) = self.fetch(source, plugin, Purpose::Session) {
            self.plugin_failed(source, plugin, why);
        }
    }

    /// Begins to ask a client for a plugin that only it has.
    fn fetch(
        &mut self,
        source: SourceId,
        plugin: ClientPlugin,
        purpose: Purpose,
    ) -> Result<(), (ClientPlugin, String)> {
        if !plugin.uri.starts_with(CLIENT_SCHEME) {
            let why = "this host reads plugins from `file:` and `virtual:` URIs only";
            return Err((plugin, why.to_owned()));
        }
        let Some(from) = client_that_has(self.clients, &plugin.uri) else {
            let why = "the client that has it is not connected";
            return Err((plugin, why.to_owned()));
        };
        let fetching = Fetching {
            plugin,
            purpose,
            from,
            waiting: vec![Visit {
                source,
                path: String::new(),
                is_directory: true,
            }],
            asked: 0,
            visits: 1,
            bytes: 0,
            files: GivenFiles::new(),
        };
        self.own.fetching.insert(source, fetching);
        self.fetch_more(source);
        Ok(())
    }

    /// Has a copy of a client's plugin made, for when the client is gone.
    pub(crate) fn make_copy(&mut self, plugin: ClientPlugin) -> CopyId {
        self.own.last += 1;
        let (copy, source) = (CopyId(self.own.last), SourceId(self.own.last));
        let name = format!("{}-{}", self.core.config.nonce, copy.0);
        if plugin.uri.starts_with("file:///") {
            let scope = self.scope_for_copies(plugin.client_id.as_deref());
            self.copy_from(copy, plugin, name, CopyFrom::Directory(scope));
        } else if let Err((_, why)) = self.fetch(source, plugin, Purpose::Copy(copy, name)) {
            self.own.copied.push((copy, Err(why)));
        }
        copy
    }

    fn copy_from(&mut self, copy: CopyId, plugin: ClientPlugin, name: String, from: CopyFrom) {
        let command = CustomizationCommand::Copy {
            copy,
            plugin,
            name,
            from,
        };
        self.core.effect(Effect::Customization(command));
    }

    /// What a client may have copied: what it may read, now or if it asks.
    fn scope_for_copies(&self, client: Option<&str>) -> Scope {
        let mut scope = self.resources.scope_of(self.core, client);
        if self.core.config.workspace.grants != GrantPolicy::None {
            scope.lists.push(Arc::new(vec![GrantedRoot {
                uri: "file:///".to_owned(),
                writable: false,
            }]));
        }
        scope
    }

    /// Removes copies that nobody needs any more.
    pub(crate) fn remove_copies(&mut self, copies: impl IntoIterator<Item = String>) {
        for copy in copies {
            let command = CustomizationCommand::RemoveCopy { copy };
            self.core.effect(Effect::Customization(command));
        }
    }

    fn client_may_read(&self, client_id: &str, uri: &str) -> bool {
        let (core, resources) = (&*self.core, self.resources);
        core.config.workspace.grants != GrantPolicy::None
            || (self.clients.connection_of(client_id).is_some()
                && resources.is_open_to(core, Some(client_id), uri, false))
    }

    fn fetch_more(&mut self, source: SourceId) {
        let Some(fetching) = self.own.fetching.get_mut(&source) else {
            return;
        };
        if fetching.asked == 0 && fetching.waiting.is_empty() {
            if let Some(fetched) = self.own.fetching.remove(&source) {
                self.fetched(source, fetched);
            }
            return;
        }
        let room = MOST_AT_ONCE.saturating_sub(fetching.asked);
        let first = fetching.waiting.len().saturating_sub(room);
        let next = fetching.waiting.split_off(first);
        fetching.asked += next.len();
        let (from, base) = (fetching.from, fetching.plugin.uri.clone());
        for visit in next {
            let uri = match visit.path.is_empty() {
                true => base.clone(),
                false => format!("{}/{}", base.trim_end_matches('/'), visit.path),
            };
            let channel = ChannelUri::root().to_string();
            let ask = match visit.is_directory {
                true => ResourceCall::List(Box::new(ResourceListParams {
                    channel,
                    meta: None,
                    uri,
                })),
                false => ResourceCall::Read(Box::new(ResourceReadParams {
                    channel,
                    meta: None,
                    uri,
                    encoding: Some(ContentEncoding::Utf8),
                })),
            };
            match self.calls.ask(self.core, self.clients, from, ask) {
                Ok(call) => {
                    self.own.visits.insert(call, visit);
                }
                Err(error) => self.visited(visit, Err(error)),
            }
        }
    }

    fn fetched(&mut self, source: SourceId, fetched: Fetching) {
        let Fetching {
            plugin,
            purpose,
            files,
            ..
        } = fetched;
        let (copy, name) = match purpose {
            Purpose::Session => {
                return self.follow(source, CustomizationPlace::Files { plugin, files });
            }
            Purpose::Copy(copy, name) => (copy, name),
        };
        // A copy is whole, or there is none.
        let files = files.into_iter().map(|(path, text)| match text {
            Ok(text) => Ok((path, text)),
            Err(why) => Err(format!("`{path}` cannot be read: {why}")),
        });
        match files.collect::<Result<BTreeMap<_, _>, _>>() {
            Ok(files) => self.copy_from(copy, plugin, name, CopyFrom::Files(files)),
            Err(why) => self.own.copied.push((copy, Err(why))),
        }
    }

    /// A client has said what it has.
    pub(crate) fn call_answered(&mut self, (call, outcome): HostAnswer) {
        if let Some(visit) = self.own.visits.remove(&call) {
            self.visited(visit, outcome);
        }
    }

    fn visited(&mut self, visit: Visit, outcome: Result<Value, RpcError>) {
        let source = visit.source;
        let Some(fetching) = self.own.fetching.get_mut(&source) else {
            return;
        };
        fetching.asked -= 1;
        let taken = match visit.is_directory {
            true => outcome
                .map_err(|error| error.message)
                .and_then(|value| fetching.add_entries(&visit, value)),
            false => {
                let text = outcome.and_then(|value| content(&visit.path, value));
                let text = text.map_err(|error| error.message);
                let text = text.and_then(|it| as_text(it.data, it.encoding));
                fetching.add_file(&visit, text);
                Ok(())
            }
        };
        match taken {
            Err(why) if visit.path.is_empty() => {
                let fetched = self.own.fetching.remove(&source);
                if let Some(Fetching {
                    plugin, purpose, ..
                }) = fetched
                {
                    let why = format!("it cannot be read: {why}");
                    match purpose {
                        Purpose::Session => self.plugin_failed(source, plugin, why),
                        Purpose::Copy(copy, _) => self.own.copied.push((copy, Err(why))),
                    }
                }
                return;
            }
            Err(why) => {
                fetching.files.insert(visit.path, Err(why));
            }
            Ok(()) => {}
        }
        self.fetch_more(source);
    }

    fn plugin_failed(&mut self, source: SourceId, plugin: ClientPlugin, message: String) {
        let error = CustomizationErrorState { message };
        let load = CustomizationLoadState::Error(error);
        let found = FoundCustomization {
            customization: Customization::Plugin(bare(plugin, load)),
            servers: Vec::new(),
            texts: Default::default(),
        };
        self.found(source, vec![found]);
    }
}

impl Fetching {
    fn add_entries(&mut self, visit: &Visit, value: Value) -> Result<(), String> {
        let listed = serde_json::from_value::<ResourceListResult>(value);
        let listed = listed.map_err(|error| format!("the client's list is none: {error}"))?;
        let depth = visit.path.split('/').filter(|it| !it.is_empty()).count();
        for entry in listed.entries {
            let name = entry.name;
            let odd = name.is_empty() || name.contains('/') || name == "." || name == "..";
            let is_directory = entry.r#type == "directory";
            let wanted = match is_directory {
                true => depth < DEEPEST && name != "node_modules" && name != ".git",
                false => [".md", ".mdc", ".json"]
                    .iter()
                    .any(|end| name.ends_with(end)),
            };
            if odd || !wanted {
                continue;
            }
            if self.visits >= MOST_VISITS {
                return Err(format!("it has more than {MOST_VISITS} files"));
            }
            self.visits += 1;
            let path = match visit.path.is_empty() {
                true => name,
                false => format!("{}/{name}", visit.path),
            };
            self.waiting.push(Visit {
                source: visit.source,
                path,
                is_directory,
            });
        }
        Ok(())
    }

    fn add_file(&mut self, visit: &Visit, text: Result<String, String>) {
        let length = text.as_ref().map_or(0, String::len);
        let text = match self.bytes + length > MOST_BYTES {
            true => Err(format!("the plugin has more than {MOST_BYTES} bytes")),
            false => text,
        };
        self.bytes += text.as_ref().map_or(0, String::len);
        self.files.insert(visit.path.clone(), text);
    }
}

fn as_text(data: String, encoding: ContentEncoding) -> Result<String, String> {
    match encoding {
        ContentEncoding::Utf8 => Ok(data),
        ContentEncoding::Base64 => {
            let bytes = STANDARD.decode(data).map_err(|error| error.to_string())?;
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())
        }
    }
}

/// A plugin of which only its name is known.
pub(super) fn bare(plugin: ClientPlugin, load: CustomizationLoadState) -> PluginCustomization {
    PluginCustomization {
        id: plugin.id,
        uri: plugin.uri,
        name: plugin.name,
        icons: None,
        range: None,
        meta: None,
        client_id: plugin.client_id,
        load: Some(load),
        children: None,
        enablement: None,
        version: None,
    }
}
