//! Isolation: a session may work in a git working tree of its own instead of
//! the folder that it was created for. The host offers that for every agent;
//! the agent finds itself in the working tree and need not know.

use std::collections::{BTreeSet, HashSet};

use innkeeper_protocol::ChannelUri;
use innkeeper_protocol::agent::{AgentProfile, setting};
use innkeeper_protocol::house::actions::{SessionWorkingDirectoryReplacedAction, StateAction};
use innkeeper_protocol::house::common::JsonObject;
use innkeeper_protocol::house::state::{
    SessionConfigPropertySchema, SessionConfigSchema, SessionLifecycle, SessionState,
};
use innkeeper_protocol::workspace::changes::{ChangesTask, component};
use serde_json::Value;

use crate::labels::{IsolationLabel, Locale};
use crate::turns::error_info;
use crate::{Effect, Engine};

const ISOLATION: &str = "isolation";
const WORKTREE: &str = "worktree";
pub(crate) const BRANCH: &str = "branch";

impl Engine {
    /// The settings of sessions with an agent: the agent's, and the host's own.
    pub(crate) fn session_schema(
        &self,
        agent: &AgentProfile,
        locale: Locale,
    ) -> Option<SessionConfigSchema> {
        if !self.config.workspace.changes {
            return agent.config.clone();
        }
        let nothing = || SessionConfigSchema {
            r#type: "object".to_owned(),
            properties: Default::default(),
            required: None,
        };
        let mut schema = agent.config.clone().unwrap_or_else(nothing);
        for (name, setting) in own_settings(locale) {
            let theirs = schema.properties.get(&name);
            // An agent that names it too means the same; what it is called is
            // for the host to say. If it means something else, it keeps that.
            let is_same = |it: &SessionConfigPropertySchema| {
                it.r#enum == setting.r#enum && it.enum_dynamic == setting.enum_dynamic
            };
            if theirs.is_none_or(is_same) {
                schema.properties.insert(name, setting);
            }
        }
        Some(schema)
    }

    /// The settings of a session that its agent knows.
    pub(crate) fn settings_of_agent(&self, state: &SessionState) -> JsonObject {
        let mut agents = self.agents.iter();
        let agent = agents.find(|agent| agent.info.provider == state.provider);
        let schema = agent.and_then(|agent| agent.config.as_ref());
        let known = |key: &str| {
            let is_own = key == ISOLATION || key == BRANCH;
            !is_own || schema.is_some_and(|schema| schema.properties.contains_key(key))
        };
        let values = state.config.iter().flat_map(|config| &config.values);
        let values = values.filter(|(key, _)| known(key));
        values
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Whether a session still needs the working tree that it is to work in.
    pub(crate) fn awaits_worktree(&self, session: &ChannelUri) -> bool {
        let Some(session) = self.sessions.get(session) else {
            return false;
        };
        let setting = |key: &str| session.state.config.as_ref()?.values.get(key)?.as_str();
        self.config.workspace.changes
            && session.state.lifecycle == SessionLifecycle::Creating
            && session.notes.worktree.is_none()
            && setting(ISOLATION) == Some(WORKTREE)
    }

    /// Gets a new session going: where it works, then who works.
    pub(crate) fn begin_session(&mut self, uri: &ChannelUri) {
        if !self.awaits_worktree(uri) {
            return self.open_backend(&ChannelUri::default_chat_of(uri.as_str()));
        }
        let Some(state) = self.sessions.get(uri).map(|session| &session.state) else {
            return;
        };
        let directories = state.working_directories.as_ref();
        let directory = directories.and_then(|directories| directories.first());
        let Some(directory) = directory.filter(|uri| uri.starts_with("file:")).cloned() else {
            let why = "a session in a working tree of its own needs a working directory that is \
                       in a git repository";
            self.session_failed(uri, &error_info("isolationFailed", why));
            return;
        };
        let config = state.config.as_ref();
        let branch = config.and_then(|config| config.values.get(BRANCH)?.as_str());
        let branch = branch.filter(|name| !name.is_empty()).map(str::to_owned);
        self.tell_desk(uri, ChangesTask::Isolate { directory, branch });
    }

    pub(crate) fn isolated(&mut self, uri: &ChannelUri, outcome: Result<String, String>) {
        if !self.awaits_worktree(uri) {
            return;
        }
        let replacement = match outcome {
            Ok(directory) => directory,
            Err(reason) => {
                self.session_failed(uri, &error_info("isolationFailed", reason));
                return;
            }
        };
        let Some(session) = self.sessions.get_mut(uri) else {
            return;
        };
        session.notes.worktree = Some(replacement.clone());
        session.dirty = true;
        self.touched.insert(uri.clone());
        let directories = session.state.working_directories.iter().flatten();
        if let Some(directory) = directories.into_iter().next().cloned() {
            let action = SessionWorkingDirectoryReplacedAction {
                directory,
                replacement,
            };
            let action = StateAction::SessionWorkingDirectoryReplaced(action);
            self.emit(uri, action, None);
        }
        self.open_backend(&ChannelUri::default_chat_of(uri.as_str()));
    }

    /// The working trees that these directories are in and that no session
    /// works in.
    pub(crate) fn abandoned_trees<'a>(
        &self,
        directories: impl Iterator<Item = &'a String>,
    ) -> Vec<String> {
        let Some(home) = &self.config.workspace.worktrees else {
            return Vec::new();
        };
        let tree_of = |directory: &String| {
            let name = directory.strip_prefix(home)?.strip_prefix('/')?;
            let name = name.split('/').next().filter(|name| !name.is_empty())?;
            Some(format!("{home}/{name}"))
        };
        let trees: BTreeSet<String> = directories.filter_map(tree_of).collect();
        let trees = trees.into_iter();
        trees
            .filter(|tree| !self.catalogue.works_in(tree))
            .collect()
    }

    /// A host begins, and these working trees are there. Those whose last
    /// session went when the host could not remove them go now.
    pub(crate) fn trees_found(&mut self, found: &[String]) {
        if !self.config.workspace.changes {
            return;
        }
        let mut trees = self.abandoned_trees(found.iter());
        // One that was just made is not yet known to its session.
        let makers: HashSet<String> = self
            .catalogue
            .sessions()
            .map(|session| component(session.as_str()))
            .collect();
        let maker = |tree: &String| tree.rsplit('/').next().map(str::to_owned);
        trees.retain(|tree| maker(tree).is_some_and(|name| !makers.contains(&name)));
        if !trees.is_empty() {
            self.step.effects.push(Effect::RemoveTrees { trees });
        }
    }
}

fn own_settings(locale: Locale) -> [(String, SessionConfigPropertySchema); 2] {
    use IsolationLabel as L;
    let property = |title: L, description: L| SessionConfigPropertySchema {
        description: Some(description.text(locale)),
        ..setting("string", &title.text(locale))
    };
    let choices = |values: [&str; 2]| values.map(Value::from).to_vec();
    let isolation = SessionConfigPropertySchema {
        default: Some(Value::from("folder")),
        r#enum: Some(choices(["folder", WORKTREE])),
        enum_labels: Some(
            [L::InFolder, L::InWorktree]
                .map(|it| it.text(locale))
                .to_vec(),
        ),
        ..property(L::Isolation, L::IsolationMeans)
    };
    let branch = SessionConfigPropertySchema {
        enum_dynamic: Some(true),
        ..property(L::Branch, L::BranchMeans)
    };
    [
        (ISOLATION.to_owned(), isolation),
        (BRANCH.to_owned(), branch),
    ]
}
