//! What is in a container: the files of each kind, with what their front
//! matter says. A file that cannot be read or understood is a warning; the
//! others are there all the same.

use innkeeper_protocol::newest::state::{
    AgentCustomization, ChildCustomization, CustomizationDegradedState, CustomizationLoadState,
    CustomizationLoadedState, CustomizationType, HookCustomization, PromptCustomization,
    RuleCustomization, SkillCustomization,
};
use innkeeper_protocol::workspace::customization::McpServerSpec;
use serde_json::{Value, json};

use super::front_matter::FrontMatter;
use super::tree::{Entry, Tree, join};

/// How deep directories are looked into.
const DEEPEST: usize = 5;

/// How many children a container has at most.
const MOST_CHILDREN: usize = 500;

/// How many warnings are told one by one.
const MOST_WARNINGS: usize = 5;

/// What a directory holds, and so how its files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Agents,
    /// A directory each, with `SKILL.md` in it.
    Skills,
    /// A file each: skills that are called by name.
    Commands,
    Prompts,
    Rules,
    Hooks,
}

impl Kind {
    pub(super) fn of_children(self) -> CustomizationType {
        match self {
            Self::Agents => CustomizationType::Agent,
            Self::Skills | Self::Commands => CustomizationType::Skill,
            Self::Prompts => CustomizationType::Prompt,
            Self::Rules => CustomizationType::Rule,
            Self::Hooks => CustomizationType::Hook,
        }
    }

    fn takes(self, file: &str) -> bool {
        let lower = file.to_ascii_lowercase();
        let is_page = lower.ends_with(".md") && lower != "readme.md";
        match self {
            Self::Agents | Self::Commands | Self::Prompts => is_page,
            Self::Skills => lower == "skill.md",
            Self::Rules => is_page || lower.ends_with(".mdc"),
            Self::Hooks => lower.ends_with(".json"),
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) children: Vec<ChildCustomization>,
    pub(super) servers: Vec<McpServerSpec>,
    pub(super) warnings: Vec<String>,
}

impl Contents {
    pub(super) fn load_state(&self) -> CustomizationLoadState {
        if self.warnings.is_empty() {
            return CustomizationLoadState::Loaded(CustomizationLoadedState {});
        }
        let mut message = self.warnings[..self.warnings.len().min(MOST_WARNINGS)].join("; ");
        if self.warnings.len() > MOST_WARNINGS {
            message += &format!("; and {} more", self.warnings.len() - MOST_WARNINGS);
        }
        CustomizationLoadState::Degraded(CustomizationDegradedState { message })
    }

    pub(super) fn warn(&mut self, path: &str, why: impl std::fmt::Display) {
        self.warnings.push(format!("{path}: {why}"));
    }

    pub(super) fn push(&mut self, child: ChildCustomization) {
        match self.children.len() {
            MOST_CHILDREN => {
                let why = format!("there are more than {MOST_CHILDREN}; the rest is left out");
                self.warnings.push(why);
            }
            more if more > MOST_CHILDREN => return,
            _ => {}
        }
        self.children.push(child);
    }

    /// Drops what was counted beyond the limit.
    pub(super) fn bounded(mut self) -> Self {
        self.children.truncate(MOST_CHILDREN);
        self
    }

    /// Adds everything of a kind that is in a directory.
    pub(super) fn add_directory(&mut self, tree: &dyn Tree, kind: Kind, path: &str) {
        self.walk(tree, kind, path, path, 0);
    }

    fn walk(&mut self, tree: &dyn Tree, kind: Kind, base: &str, path: &str, depth: usize) {
        if self.children.len() > MOST_CHILDREN {
            return;
        }
        let entries = match tree.list(path) {
            Ok(entries) => entries,
            Err(error) => return self.warn(path, error),
        };
        let skill = |it: &Entry| !it.is_directory && Kind::Skills.takes(&it.name);
        // What is below a skill belongs to it.
        let is_skill = kind == Kind::Skills && entries.iter().any(skill);
        for entry in entries {
            let inner = join(path, &entry.name);
            if entry.is_directory {
                if depth < DEEPEST && !is_skill && !entry.name.starts_with('.') {
                    self.walk(tree, kind, base, &inner, depth + 1);
                }
            } else if kind.takes(&entry.name) {
                self.add_file(tree, kind, base, &inner);
            }
        }
    }

    /// Adds one file of a kind. `base` is the directory that names begin at.
    pub(super) fn add_file(&mut self, tree: &dyn Tree, kind: Kind, base: &str, path: &str) {
        let text = match tree.read(path) {
            Ok(text) => text,
            Err(error) => return self.warn(path, error),
        };
        if kind == Kind::Hooks {
            return self.add_hooks(tree, path, &text);
        }
        let front = FrontMatter::of(&text).unwrap_or_else(|why| {
            self.warn(path, why);
            FrontMatter::default()
        });
        let uri = tree.uri(path);
        let name = || front.text(&["name"]).unwrap_or_else(|| stem(path));
        let description = front.text(&["description"]);
        let disable_model_invocation = no_invocation_by_models(&front);
        let disable_user_invocation = front
            .flag(&["user-invocable", "user-invokable", "userInvocable"])
            .filter(|may| !may)
            .map(|may| !may);
        let child = match kind {
            Kind::Agents => ChildCustomization::Agent(AgentCustomization {
                id: uri.clone(),
                uri,
                name: name(),
                icons: None,
                range: None,
                meta: None,
                enabled: None,
                description,
                model: front.text(&["model"]),
                tools: front.list(&["tools"]),
                disable_model_invocation,
                disable_user_invocation,
            }),
            Kind::Skills | Kind::Commands => ChildCustomization::Skill(SkillCustomization {
                id: uri.clone(),
                uri,
                name: match kind {
                    Kind::Skills => front.text(&["name"]).unwrap_or_else(|| directory_of(path)),
                    _ => command_name(base, path),
                },
                icons: None,
                range: None,
                meta: None,
                enabled: None,
                description,
                disable_model_invocation,
                disable_user_invocation,
            }),
            Kind::Prompts => ChildCustomization::Prompt(PromptCustomization {
                id: uri.clone(),
                uri,
                name: name(),
                icons: None,
                range: None,
                meta: None,
                enabled: None,
                description,
            }),
            Kind::Rules | Kind::Hooks => {
                ChildCustomization::Rule(rule(uri, name(), description, &front))
            }
        };
        self.push(child);
    }

    /// A file of instructions that always holds, such as `AGENTS.md`.
    pub(super) fn add_instructions(&mut self, tree: &dyn Tree, path: &str) {
        let before = self.children.len();
        self.add_file(tree, Kind::Rules, "", path);
        if let Some(ChildCustomization::Rule(rule)) = self.children.get_mut(before) {
            rule.name = path.to_owned();
            if rule.globs.is_none() {
                rule.always_apply = Some(true);
            }
        }
    }

    /// A file of hooks: JSON with `hooks`, by event.
    pub(super) fn add_hooks(&mut self, tree: &dyn Tree, path: &str, text: &str) {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => self.add_hook_value(&tree.uri(path), "", path, value.get("hooks")),
            Err(error) => self.warn(path, format!("it is not JSON: {error}")),
        }
    }

    pub(super) fn add_hook_value(
        &mut self,
        uri: &str,
        suffix: &str,
        path: &str,
        hooks: Option<&Value>,
    ) {
        let Some(Value::Object(hooks)) = hooks else {
            return self.warn(path, "it has no `hooks` by event");
        };
        let events: Vec<&String> = hooks.keys().collect();
        let name = path.rsplit('/').next().unwrap_or(path);
        self.push(ChildCustomization::Hook(HookCustomization {
            id: format!("{uri}{suffix}"),
            uri: uri.to_owned(),
            name: name.to_owned(),
            icons: None,
            range: None,
            meta: json!({"events": events}).as_object().cloned(),
            enabled: None,
        }));
    }
}

fn no_invocation_by_models(front: &FrontMatter) -> Option<bool> {
    let said = front.flag(&["disable-model-invocation", "disableModelInvocation"]);
    // An older way to say it.
    let said = said.or_else(|| front.flag(&["infer"]).map(|may| !may));
    said.filter(|disabled| *disabled)
}

fn rule(
    uri: String,
    name: String,
    description: Option<String>,
    front: &FrontMatter,
) -> RuleCustomization {
    let globs = front.list(&["globs", "applyTo", "paths"]);
    let everything = |globs: &Vec<String>| globs.iter().any(|glob| glob == "**" || glob == "**/*");
    let always = front.flag(&["alwaysApply"]);
    RuleCustomization {
        id: uri.clone(),
        uri,
        name,
        icons: None,
        range: None,
        meta: None,
        enabled: None,
        description,
        always_apply: always.or_else(|| globs.as_ref().filter(|it| everything(it)).map(|_| true)),
        globs,
    }
}

/// `reviewer` for `agents/reviewer.agent.md`.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    for kind in [".agent", ".chatmode", ".prompt", ".instructions"] {
        if let Some(stem) = name.strip_suffix(kind) {
            return stem.to_owned();
        }
    }
    name.to_owned()
}

fn directory_of(path: &str) -> String {
    let mut segments = path.rsplit('/');
    let file = segments.next().unwrap_or(path);
    segments.next().unwrap_or(file).to_owned()
}

/// `git:commit` for `commands/git/commit.md`.
fn command_name(base: &str, path: &str) -> String {
    let inner = path.strip_prefix(base).unwrap_or(path);
    let inner = inner.trim_start_matches('/');
    match inner.rsplit_once('/') {
        Some((group, _)) => format!("{}:{}", group.replace('/', ":"), stem(inner)),
        None => stem(inner),
    }
}
