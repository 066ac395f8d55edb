//! Open Plugins: a directory with a manifest, or just with components in the
//! places where they are by default.

use innkeeper_protocol::newest::state::{
    Customization, CustomizationErrorState, CustomizationLoadState, PluginCustomization,
};
use innkeeper_protocol::workspace::customization::FoundCustomization;
use serde_json::{Map, Value, json};

use super::contents::{Contents, Kind};
use super::servers::Variables;
use super::spans;
use super::tree::{Tree, join};

/// Where a manifest may be, the standard's own place first.
const MANIFESTS: [&str; 4] = [
    ".plugin/plugin.json",
    ".claude-plugin/plugin.json",
    ".cursor-plugin/plugin.json",
    ".github/plugin/plugin.json",
];

/// The components that are files, the key of the manifest that says where
/// they are, and where they are if it does not.
const COMPONENTS: [(Kind, &str, &str); 4] = [
    (Kind::Agents, "agents", "agents"),
    (Kind::Skills, "skills", "skills"),
    (Kind::Commands, "commands", "commands"),
    (Kind::Rules, "rules", "rules"),
];

/// Who a plugin comes from, and what it is called if it does not say.
#[derive(Debug)]
pub(super) struct Published<'a> {
    pub(super) id: String,
    pub(super) uri: String,
    pub(super) name: &'a str,
    pub(super) client_id: Option<String>,
}

pub(super) fn read(
    tree: &dyn Tree,
    published: Published<'_>,
    variables: &Variables,
) -> FoundCustomization {
    let mut contents = Contents::default();
    let mut variables = variables.clone();
    if let Some(root) = tree.local("") {
        let root = root.to_string_lossy().into_owned();
        for name in ["PLUGIN_ROOT", "CLAUDE_PLUGIN_ROOT", "CURSOR_PLUGIN_ROOT"] {
            variables.insert(name.to_owned(), root.clone());
        }
    }
    let place = MANIFESTS.iter().find(|path| tree.has_file(path));
    let manifest = place.and_then(|path| match read_manifest(tree, path) {
        Ok(manifest) => Some(manifest),
        Err(why) => {
            contents.warn(path, why);
            None
        }
    });
    let manifest = manifest.unwrap_or_default();
    for (kind, key, default) in COMPONENTS {
        for path in paths(&mut contents, &manifest, key, default, tree) {
            match tree.has_file(&path) {
                true => contents.add_file(tree, kind, parent(&path), &path),
                false if tree.has_directory(&path) => contents.add_directory(tree, kind, &path),
                false => contents.warn(&path, "it is not there"),
            }
        }
    }
    add_hooks(&mut contents, tree, &manifest, place);
    add_servers(&mut contents, tree, &manifest, place, &variables);
    let contents = contents.bounded();
    let text = |key: &str| manifest.get(key).and_then(Value::as_str).map(str::to_owned);
    let nothing = place.is_none() && contents.children.is_empty() && contents.warnings.is_empty();
    let load = match nothing {
        true => CustomizationLoadState::Error(CustomizationErrorState {
            message: match tree.list("") {
                Ok(_) => "there is neither a manifest nor any component in it".to_owned(),
                Err(error) => format!("it cannot be read: {error}"),
            },
        }),
        false => contents.load_state(),
    };
    let description = text("description");
    let plugin = PluginCustomization {
        id: published.id,
        uri: published.uri,
        name: text("name").unwrap_or_else(|| published.name.to_owned()),
        icons: None,
        range: None,
        meta: description.and_then(|it| json!({"description": it}).as_object().cloned()),
        client_id: published.client_id,
        load: Some(load),
        children: Some(contents.children),
        enablement: None,
        version: text("version"),
    };
    FoundCustomization {
        customization: Customization::Plugin(plugin),
        servers: contents.servers,
        texts: Default::default(),
    }
}

fn read_manifest(tree: &dyn Tree, path: &str) -> Result<Map<String, Value>, String> {
    let text = tree.read(path).map_err(|error| error.to_string())?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(manifest)) => Ok(manifest),
        Ok(_) => Err("it is not a JSON object".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

/// Where a component is: what the manifest says, besides the default place.
fn paths(
    contents: &mut Contents,
    manifest: &Map<String, Value>,
    key: &str,
    default: &str,
    tree: &dyn Tree,
) -> Vec<String> {
    let mut paths = Vec::new();
    if tree.has_directory(default) {
        paths.push(default.to_owned());
    }
    let said = match manifest.get(key) {
        Some(Value::Array(items)) => items.iter().collect(),
        Some(Value::Object(it)) => it
            .get("paths")
            .or_else(|| it.get("path"))
            .into_iter()
            .collect(),
        other => other.into_iter().collect::<Vec<_>>(),
    };
    for said in said {
        match said.as_str().map(relative) {
            Some(Some(path)) if !paths.contains(&path) => paths.push(path),
            Some(Some(_)) => {}
            _ => contents.warn(key, "a path must be relative to the plugin and stay in it"),
        }
    }
    paths
}

/// A path of the manifest that cannot leave the plugin.
fn relative(path: &str) -> Option<String> {
    let path = path.trim_end_matches('/');
    let segments = path.split('/').filter(|it| !matches!(*it, "" | "."));
    let segments: Vec<&str> = segments.collect();
    let leaves = path.starts_with('/') || path.contains('\\') || segments.contains(&"..");
    (!leaves).then(|| segments.join("/"))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

fn add_hooks(
    contents: &mut Contents,
    tree: &dyn Tree,
    manifest: &Map<String, Value>,
    place: Option<&&str>,
) {
    let default = join("hooks", "hooks.json");
    let mut files = Vec::new();
    if tree.has_file(&default) {
        files.push(default);
    }
    match (manifest.get("hooks"), place) {
        (Some(Value::Object(inline)), Some(place)) => {
            let hooks = inline.get("hooks").cloned();
            let hooks = hooks.unwrap_or_else(|| Value::Object(inline.clone()));
            contents.add_hook_value(&tree.uri(place), "#hooks", place, Some(&hooks));
        }
        (Some(Value::String(path)), _) => match relative(path) {
            Some(path) if !files.contains(&path) => files.push(path),
            Some(_) => {}
            None => contents.warn(
                "hooks",
                "a path must be relative to the plugin and stay in it",
            ),
        },
        _ => {}
    }
    for path in files {
        contents.add_file(tree, Kind::Hooks, "", &path);
    }
}

fn add_servers(
    contents: &mut Contents,
    tree: &dyn Tree,
    manifest: &Map<String, Value>,
    place: Option<&&str>,
    variables: &Variables,
) {
    let default = ".mcp.json";
    if tree.has_file(default) {
        contents.add_servers_of(tree, default, variables);
    }
    match (manifest.get("mcpServers"), place) {
        (Some(inline @ Value::Object(_)), Some(place)) => {
            let text = tree.read(place).unwrap_or_default();
            let spans = spans::of_inline_servers(&text);
            contents.add_servers((&tree.uri(place), place), inline, &spans, variables);
        }
        (Some(Value::String(path)), _) => match relative(path) {
            Some(path) if path != default => contents.add_servers_of(tree, &path, variables),
            Some(_) => {}
            None => contents.warn(
                "mcpServers",
                "a path must be relative to the plugin and stay in it",
            ),
        },
        _ => {}
    }
}
