//! Customizations: agents, skills, prompts, rules, hooks and MCP servers that
//! people keep in their projects, in their home directory and in plugins.
//!
//! One thread reads what the engine asks for (`layout` says where things are,
//! `contents`, `servers` and `plugin` how they are read) and watches it. What
//! has changed is read again and reported if it is different now. A file that
//! cannot be understood degrades its container, and nothing else.

mod contents;
mod copies;
mod follow;
mod front_matter;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod layout;
mod plugin;
mod servers;
mod spans;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use innkeeper_protocol::workspace::customization::{
    ClientPlugin, CopyFrom, CopyId, CustomizationCommand, CustomizationPlace, CustomizationReport,
    FoundCustomization, GivenFiles, SourceId,
};
use notify::{Config, Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use crate::resources::place::{path_of_uri, uri_of_path};
use follow::Points;
use plugin::Published;
use servers::Variables;
use tree::{Disk, Given, Tree as _};

/// How much text of what a client has given is kept for agents: of one file,
/// and of a plugin.
const MOST_TEXT: usize = 16 * 1024;
const MOST_TEXTS: usize = 256 * 1024;

/// What changed is read again when nothing has happened for this long,
const QUIET: Duration = Duration::from_millis(50);

/// or when it has been going on for this long.
const LONGEST: Duration = Duration::from_millis(500);

/// How often a place is looked over for what has to be watched, if it changes
/// all the time.
const MOST_LOOKS: usize = 16;

/// Where reports go. Returns whether anybody is still there to hear.
pub type CustomizationSink = Arc<dyn Fn(CustomizationReport) -> bool + Send + Sync>;

/// Where a host looks for customizations besides the directories of sessions.
#[derive(Debug, Clone, Default)]
pub struct CustomizationOptions {
    /// The user's home directory, if what is there is wanted.
    pub home: Option<PathBuf>,
    /// Directories of plugins that hold in every session.
    pub plugins: Vec<PathBuf>,
    /// What `${NAME}` stands for where an MCP server is declared.
    pub variables: BTreeMap<String, String>,
    /// Where copies of plugins are kept, if any are.
    pub copies: Option<PathBuf>,
}

/// Looks after all places that the engine wants to know about, until it is
/// dropped.
pub struct CustomizationService {
    messages: Sender<Message>,
}

impl std::fmt::Debug for CustomizationService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CustomizationService")
            .finish_non_exhaustive()
    }
}

enum Message {
    Command(CustomizationCommand),
    Changed(notify::Result<Event>),
    End,
}

impl Drop for CustomizationService {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::End);
    }
}

impl CustomizationService {
    pub fn new(options: CustomizationOptions, sink: CustomizationSink) -> Self {
        let (messages, inbox) = channel();
        let of_watcher = messages.clone();
        let run = move || {
            // Links are not followed: they may lead anywhere.
            let config = Config::default().with_follow_symlinks(false);
            let tell = move |event| {
                let _ = of_watcher.send(Message::Changed(event));
            };
            let watcher = RecommendedWatcher::new(tell, config);
            if let Err(error) = &watcher {
                tracing::warn!(%error, "customizations are not watched");
            }
            let mut keeper = Keeper {
                options,
                sink,
                watcher: watcher.ok(),
                watched: HashMap::new(),
                sources: BTreeMap::new(),
            };
            keeper.run(&inbox);
        };
        let thread = std::thread::Builder::new().name("customizations".to_owned());
        if let Err(error) = thread.spawn(run) {
            tracing::error!(%error, "a thread cannot be started");
        }
        Self { messages }
    }

    /// Carries out a command. Returns at once.
    pub fn command(&self, command: CustomizationCommand) {
        // The thread ends only with the host.
        let _ = self.messages.send(Message::Command(command));
    }
}

/// A source that is followed, and what was last said about it.
struct FollowedSource {
    place: CustomizationPlace,
    points: Points,
    told: Option<Vec<FoundCustomization>>,
}

struct Keeper {
    options: CustomizationOptions,
    sink: CustomizationSink,
    watcher: Option<RecommendedWatcher>,
    watched: HashMap<PathBuf, RecursiveMode>,
    sources: BTreeMap<SourceId, FollowedSource>,
}

impl Keeper {
    /// Runs until nobody listens any more.
    fn run(&mut self, inbox: &Receiver<Message>) {
        while let Ok(message) = inbox.recv() {
            let mut changed = BTreeSet::new();
            if !self.take(message, &mut changed) {
                return;
            }
            let until = Instant::now() + LONGEST;
            while !changed.is_empty() {
                let left = until.saturating_duration_since(Instant::now());
                let message = match inbox.recv_timeout(QUIET.min(left)) {
                    Ok(message) => message,
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                if !self.take(message, &mut changed) {
                    return;
                }
                if left.is_zero() {
                    break;
                }
            }
            for source in changed {
                if !self.look(source) {
                    return;
                }
            }
        }
    }

    /// Takes in a message; returns whether to go on.
    fn take(&mut self, message: Message, changed: &mut BTreeSet<SourceId>) -> bool {
        match message {
            Message::End => false,
            Message::Command(CustomizationCommand::Follow { source, place }) => {
                let points = Points::default();
                let entry = FollowedSource {
                    place,
                    points,
                    told: None,
                };
                self.sources.insert(source, entry);
                self.look(source)
            }
            Message::Command(CustomizationCommand::Forget { source }) => {
                self.sources.remove(&source);
                changed.remove(&source);
                self.watch_what_matters();
                true
            }
            Message::Command(CustomizationCommand::Copy {
                copy,
                plugin,
                name,
                from,
            }) => {
                self.copy(copy, plugin, name, from);
                true
            }
            Message::Command(CustomizationCommand::KeepCopies { copies }) => {
                if let Some(root) = &self.options.copies {
                    copies::keep_only(root, &copies);
                }
                true
            }
            Message::Command(CustomizationCommand::RemoveCopy { copy }) => {
                if let Some(root) = &self.options.copies {
                    copies::remove(root, &copy);
                }
                true
            }
            Message::Changed(Ok(event)) => {
                // Reading is not a change; else each look would lead to another.
                if !event.kind.is_access() {
                    let lost = event.need_rescan();
                    let paths = &event.paths;
                    let concerned = self.sources.iter().filter(|(_, source)| {
                        lost || paths.iter().any(|path| source.points.concern(path))
                    });
                    changed.extend(concerned.map(|(id, _)| *id));
                }
                true
            }
            Message::Changed(Err(error)) => {
                tracing::warn!(%error, "changes of customizations may have been missed");
                changed.extend(self.sources.keys());
                true
            }
        }
    }

    /// Makes a copy on a thread of its own: what is copied may be slow to read.
    fn copy(&self, copy: CopyId, plugin: ClientPlugin, name: String, from: CopyFrom) {
        let (options, sink) = (self.options.clone(), Arc::clone(&self.sink));
        let run = move || {
            let outcome = copies::make(&options, plugin, &name, &from);
            let outcome = outcome.map(Box::new);
            sink(CustomizationReport::Copied { copy, outcome });
        };
        let thread = std::thread::Builder::new().name("plugin copy".to_owned());
        if let Err(error) = thread.spawn(run) {
            let outcome = Err(format!("a thread cannot be started: {error}"));
            (self.sink)(CustomizationReport::Copied { copy, outcome });
        }
    }

    /// Reads a source, and says what is there if that is news.
    fn look(&mut self, id: SourceId) -> bool {
        // Watched before it is read, so that no change falls between. What has
        // appeared meanwhile may have to be watched as well.
        for _ in 0..MOST_LOOKS {
            let Some(source) = self.sources.get_mut(&id) else {
                return true;
            };
            let points = Points::of(&source.place, &self.options);
            if points == source.points {
                break;
            }
            source.points = points;
            self.watch_what_matters();
        }
        let Some(source) = self.sources.get_mut(&id) else {
            return true;
        };
        let found = read(&source.place, &self.options);
        if source.told.as_ref() == Some(&found) {
            return true;
        }
        source.told = Some(found.clone());
        (self.sink)(CustomizationReport::Found { source: id, found })
    }

    fn watch_what_matters(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let mut wanted: HashMap<&Path, RecursiveMode> = HashMap::new();
        for source in self.sources.values() {
            for (path, mode) in source.points.watched() {
                let known = wanted.entry(path).or_insert(mode);
                if mode == RecursiveMode::Recursive {
                    *known = mode;
                }
            }
        }
        self.watched.retain(|path, mode| {
            let stays = wanted.get(path.as_path()) == Some(mode);
            if !stays {
                // It may be gone, and then nobody watches it.
                let _ = watcher.unwatch(path);
            }
            stays
        });
        for (path, mode) in wanted {
            if self.watched.contains_key(path) {
                continue;
            }
            match watcher.watch(path, mode) {
                Ok(()) => {
                    self.watched.insert(path.to_owned(), mode);
                }
                Err(error) => tracing::warn!(%error, "customizations cannot be watched"),
            }
        }
    }
}

/// All that is at a place.
fn read(place: &CustomizationPlace, options: &CustomizationOptions) -> Vec<FoundCustomization> {
    let variables = &options.variables;
    match place {
        CustomizationPlace::Directory(uri) => {
            let Ok(path) = path_of_uri(uri) else {
                return Vec::new();
            };
            let mut variables = variables.clone();
            let name = path.to_string_lossy().into_owned();
            variables.insert("workspaceFolder".to_owned(), name);
            layout::PROJECT.read(&Disk::new(&path), &variables)
        }
        CustomizationPlace::Host => {
            let home = options.home.as_deref();
            let home = home.map(|home| layout::USER.read(&Disk::new(home), variables));
            let plugins = options.plugins.iter().map(|path| {
                let uri = uri_of_path(path).unwrap_or_default();
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let published = Published {
                    id: uri.clone(),
                    uri,
                    name: &name,
                    client_id: None,
                };
                plugin::read(&Disk::new(path), published, variables)
            });
            home.into_iter().flatten().chain(plugins).collect()
        }
        CustomizationPlace::Plugin(plugin) => vec![read_plugin(plugin, variables)],
        CustomizationPlace::Files { plugin, files } => {
            let uri = &plugin.uri;
            let tree = Given { uri, files };
            let mut found = plugin::read(&tree, of_client(plugin), variables);
            found.texts = texts(&tree, files);
            vec![found]
        }
    }
}

/// A plugin in a directory of this machine.
fn read_plugin(plugin: &ClientPlugin, variables: &Variables) -> FoundCustomization {
    let path = path_of_uri(&plugin.uri).unwrap_or_default();
    plugin::read(&Disk::new(&path), of_client(plugin), variables)
}

/// The text of what a client has given, for agents: they cannot ask the client.
fn texts(tree: &Given<'_>, files: &GivenFiles) -> BTreeMap<String, Arc<str>> {
    let texts = files.iter().filter_map(|(path, text)| {
        let text = text.as_ref().ok()?;
        let is_told = path.ends_with(".md") || path.ends_with(".mdc");
        let fits = is_told && text.len() <= MOST_TEXT;
        fits.then(|| (tree.uri(path), Arc::<str>::from(text.as_str())))
    });
    let mut room = MOST_TEXTS;
    let mut kept = BTreeMap::new();
    for (uri, text) in texts {
        if let Some(left) = room.checked_sub(text.len()) {
            room = left;
            kept.insert(uri, text);
        }
    }
    kept
}

fn of_client(plugin: &ClientPlugin) -> Published<'_> {
    Published {
        id: plugin.id.clone(),
        uri: plugin.uri.clone(),
        name: &plugin.name,
        client_id: plugin.client_id.clone(),
    }
}
