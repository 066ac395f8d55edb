//! Which parts of the machine must be watched to notice that what was found
//! at a place is no longer true.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use innkeeper_protocol::workspace::customization::CustomizationPlace;
use notify::RecursiveMode;

use super::CustomizationOptions;
use super::layout::{Layout, PROJECT, USER};
use crate::resources::place::path_of_uri;

/// The directories of a plugin that have components in them. The rest of a
/// plugin may be large and does not matter.
const PLUGIN_PARTS: [&str; 8] = [
    ".plugin",
    ".claude-plugin",
    ".cursor-plugin",
    "agents",
    "skills",
    "commands",
    "rules",
    "hooks",
];

/// What is watched for one place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Points {
    /// By their real paths; whether all that is below matters too.
    paths: BTreeMap<PathBuf, bool>,
    /// Directories of which only the places of a layout matter.
    laid_out: Vec<(PathBuf, Laid)>,
    /// Plugins: what is directly in them matters.
    plugins: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Laid {
    Project,
    User,
}

impl Laid {
    fn out(self) -> &'static Layout {
        match self {
            Self::Project => &PROJECT,
            Self::User => &USER,
        }
    }
}

impl Points {
    pub(super) fn of(place: &CustomizationPlace, options: &CustomizationOptions) -> Self {
        let mut points = Self::default();
        match place {
            CustomizationPlace::Directory(uri) => {
                if let Ok(path) = path_of_uri(uri) {
                    points.add_layout(&path, Laid::Project);
                }
            }
            CustomizationPlace::Host => {
                if let Some(home) = &options.home {
                    points.add_layout(home, Laid::User);
                }
                for plugin in &options.plugins {
                    points.add_plugin(plugin);
                }
            }
            // A client says by a new nonce that its plugin has changed.
            CustomizationPlace::Plugin(_) | CustomizationPlace::Files { .. } => {}
        }
        points
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = (&Path, RecursiveMode)> {
        self.paths.iter().map(|(path, deep)| match deep {
            true => (path.as_path(), RecursiveMode::Recursive),
            false => (path.as_path(), RecursiveMode::NonRecursive),
        })
    }

    /// Whether something that changed may matter.
    pub(super) fn concern(&self, changed: &Path) -> bool {
        let deep = |path: &PathBuf| changed.starts_with(path);
        if self.paths.iter().any(|(path, all)| *all && deep(path)) {
            return true;
        }
        for (root, laid) in &self.laid_out {
            if let Ok(inner) = changed.strip_prefix(root) {
                let inner = inner.to_string_lossy();
                if !inner.is_empty() && laid.out().concerns(&inner) {
                    return true;
                }
            }
        }
        let parent = changed.parent();
        let in_it = |plugin: &PathBuf| parent == Some(plugin) || changed == plugin;
        self.plugins.iter().any(in_it)
    }

    fn add_layout(&mut self, root: &Path, laid: Laid) {
        let layout = laid.out();
        for parent in layout.parents() {
            self.add(&root.join(parent), false);
        }
        for (path, _) in layout.directories {
            self.add(&root.join(path), true);
        }
        for plugins in layout.plugins {
            let entries = std::fs::read_dir(root.join(plugins)).into_iter().flatten();
            for plugin in entries.flatten() {
                self.add_plugin(&plugin.path());
            }
        }
        if let Ok(real) = root.canonicalize() {
            self.laid_out.push((real, laid));
        }
    }

    fn add_plugin(&mut self, root: &Path) {
        self.plugins.extend(root.canonicalize());
        self.add(root, false);
        for part in PLUGIN_PARTS {
            self.add(&root.join(part), true);
        }
    }

    fn add(&mut self, path: &Path, deep: bool) {
        if let Ok(real) = path.canonicalize()
            && real.is_dir()
        {
            *self.paths.entry(real).or_default() |= deep;
        }
    }
}
