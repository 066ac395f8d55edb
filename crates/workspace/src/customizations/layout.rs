//! Where people keep customizations: in the directories of the tools that
//! they use already. Each directory of one kind is a container; what stands
//! alone (`AGENTS.md`, `.mcp.json`) has one for its kind.

use innkeeper_protocol::newest::state::{
    Customization, CustomizationErrorState, CustomizationLoadState, CustomizationType,
    DirectoryCustomization,
};
use innkeeper_protocol::workspace::customization::FoundCustomization;
use serde_json::Value;

use super::contents::{Contents, Kind};
use super::plugin::{self, Published};
use super::servers::Variables;
use super::tree::{Tree, join};

/// What is looked for below one directory.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) directories: &'static [(&'static str, Kind)],
    /// Files of instructions that always hold.
    pub(super) instructions: &'static [&'static str],
    /// Files with MCP servers.
    pub(super) servers: &'static [&'static str],
    /// Files with `hooks` in them, among other things.
    pub(super) hooks: &'static [&'static str],
    /// Directories with plugins in them.
    pub(super) plugins: &'static [&'static str],
    /// Whether clients may put new files there: working directories are open
    /// to them.
    pub(super) writable: bool,
}

/// A working directory.
pub(super) const PROJECT: Layout = Layout {
    directories: &[
        (".agents/agents", Kind::Agents),
        (".agents/skills", Kind::Skills),
        (".agents/commands", Kind::Commands),
        (".agents/rules", Kind::Rules),
        (".claude/agents", Kind::Agents),
        (".claude/skills", Kind::Skills),
        (".claude/commands", Kind::Commands),
        (".claude/rules", Kind::Rules),
        (".github/agents", Kind::Agents),
        (".github/chatmodes", Kind::Agents),
        (".github/skills", Kind::Skills),
        (".github/prompts", Kind::Prompts),
        (".github/instructions", Kind::Rules),
        (".github/hooks", Kind::Hooks),
        (".cursor/agents", Kind::Agents),
        (".cursor/skills", Kind::Skills),
        (".cursor/commands", Kind::Commands),
        (".cursor/rules", Kind::Rules),
    ],
    instructions: &[
        "AGENTS.md",
        "CLAUDE.md",
        "CLAUDE.local.md",
        "GEMINI.md",
        ".cursorrules",
        ".claude/CLAUDE.md",
        ".github/copilot-instructions.md",
    ],
    servers: &[".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json"],
    hooks: &[
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".cursor/hooks.json",
    ],
    plugins: &[".agents/plugins"],
    writable: true,
};

/// The user's home directory.
pub(super) const USER: Layout = Layout {
    directories: &[
        (".agents/agents", Kind::Agents),
        (".agents/skills", Kind::Skills),
        (".agents/commands", Kind::Commands),
        (".claude/agents", Kind::Agents),
        (".claude/skills", Kind::Skills),
        (".claude/commands", Kind::Commands),
        (".claude/rules", Kind::Rules),
        (".copilot/agents", Kind::Agents),
        (".copilot/skills", Kind::Skills),
        (".cursor/agents", Kind::Agents),
        (".cursor/skills", Kind::Skills),
        (".cursor/commands", Kind::Commands),
    ],
    instructions: &[
        ".agents/AGENTS.md",
        ".claude/CLAUDE.md",
        ".codex/AGENTS.md",
        ".copilot/copilot-instructions.md",
    ],
    servers: &[".cursor/mcp.json"],
    hooks: &[".claude/settings.json", ".cursor/hooks.json"],
    plugins: &[".agents/plugins"],
    writable: false,
};

impl Layout {
    /// All that is there, in the order of the layout.
    pub(super) fn read(&self, tree: &dyn Tree, variables: &Variables) -> Vec<FoundCustomization> {
        let mut found = Vec::new();
        found.extend(self.read_instructions(tree));
        for (path, kind) in self.directories {
            if let Some(container) = read_directory(tree, *kind, path, self.writable) {
                found.push(container);
            }
        }
        found.extend(self.hooks.iter().filter_map(|path| read_hooks(tree, path)));
        for path in self.servers.iter().filter(|path| tree.has_file(path)) {
            let mut contents = Contents::default();
            contents.add_servers_of(tree, path, variables);
            found.push(directory(
                tree,
                path,
                CustomizationType::McpServer,
                false,
                contents,
            ));
        }
        for place in self.plugins {
            found.extend(read_plugins(tree, place, variables));
        }
        found
    }

    fn read_instructions(&self, tree: &dyn Tree) -> Option<FoundCustomization> {
        let mut contents = Contents::default();
        for path in self.instructions.iter().filter(|path| tree.has_file(path)) {
            contents.add_instructions(tree, path);
        }
        let nothing = contents.children.is_empty() && contents.warnings.is_empty();
        // The directory itself is open to clients for other reasons, or not.
        (!nothing).then(|| directory(tree, "", CustomizationType::Rule, false, contents))
    }

    /// Whether a change at this path may matter.
    pub(super) fn concerns(&self, changed: &str) -> bool {
        let files = [self.instructions, self.servers, self.hooks, self.plugins];
        let files = files.iter().flat_map(|list| list.iter().copied());
        let directories = self.directories.iter().map(|(path, _)| *path);
        let below = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut all = directories.chain(files);
        all.any(|path| below(path, changed) || below(changed, path))
    }

    /// The directories in which something that is looked for may appear.
    pub(super) fn parents(&self) -> Vec<&'static str> {
        let files = [self.instructions, self.servers, self.hooks, self.plugins];
        let files = files.iter().flat_map(|list| list.iter().copied());
        let all = self.directories.iter().map(|(path, _)| *path).chain(files);
        let mut parents: Vec<&str> = all
            .map(|path| path.rsplit_once('/').map_or("", |(parent, _)| parent))
            .chain(self.plugins.iter().copied())
            .collect();
        parents.sort_unstable();
        parents.dedup();
        parents
    }
}

fn read_directory(
    tree: &dyn Tree,
    kind: Kind,
    path: &str,
    writable: bool,
) -> Option<FoundCustomization> {
    match tree.list(path) {
        Ok(_) => {
            let mut contents = Contents::default();
            contents.add_directory(tree, kind, path);
            let of = kind.of_children();
            Some(directory(tree, path, of, writable, contents))
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let mut found = directory(tree, path, kind.of_children(), false, Contents::default());
            if let Customization::Directory(directory) = &mut found.customization {
                directory.children = None;
                directory.load = Some(CustomizationLoadState::Error(CustomizationErrorState {
                    message: format!("it cannot be read: {error}"),
                }));
            }
            Some(found)
        }
        Err(_) => None,
    }
}

/// Files of settings that need not be about hooks.
fn read_hooks(tree: &dyn Tree, path: &str) -> Option<FoundCustomization> {
    if !tree.has_file(path) {
        return None;
    }
    let mut contents = Contents::default();
    match tree.read(path) {
        Ok(text) => match serde_json::from_str::<Value>(&text) {
            Ok(value) => {
                let hooks = value.get("hooks").filter(|it| !it.is_null())?;
                contents.add_hook_value(&tree.uri(path), "", path, Some(hooks));
            }
            Err(error) => contents.warn(path, format!("it is not JSON: {error}")),
        },
        Err(error) => contents.warn(path, error),
    }
    Some(directory(
        tree,
        path,
        CustomizationType::Hook,
        false,
        contents,
    ))
}

fn read_plugins(tree: &dyn Tree, place: &str, variables: &Variables) -> Vec<FoundCustomization> {
    let entries = tree.list(place).unwrap_or_default();
    let directories = entries
        .into_iter()
        .filter(|it| it.is_directory && !it.name.starts_with('.'));
    let plugins = directories.filter_map(|entry| {
        let path = join(place, &entry.name);
        let root = super::tree::Disk::new(&tree.local(&path)?);
        let uri = tree.uri(&path);
        let published = Published {
            id: uri.clone(),
            uri,
            name: &entry.name,
            client_id: None,
        };
        Some(plugin::read(&root, published, variables))
    });
    plugins.collect()
}

fn directory(
    tree: &dyn Tree,
    path: &str,
    of: CustomizationType,
    writable: bool,
    contents: Contents,
) -> FoundCustomization {
    let contents = contents.bounded();
    let uri = tree.uri(path);
    let name = match path.is_empty() {
        true => "Instructions".to_owned(),
        false => path.to_owned(),
    };
    let directory = DirectoryCustomization {
        id: uri.clone(),
        uri,
        name,
        icons: None,
        range: None,
        meta: None,
        client_id: None,
        load: Some(contents.load_state()),
        children: Some(contents.children),
        enabled: true,
        contents: of,
        writable,
    };
    FoundCustomization {
        customization: Customization::Directory(directory),
        servers: contents.servers,
        texts: Default::default(),
    }
}
