//! What is known of an agent that is a program. Most of it is learned from the
//! agent itself, the first time that it runs, and remembered for the next start
//! of the host.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use innkeeper_protocol::agent::AgentProfile;
use innkeeper_protocol::newest::state::{
    AgentCapabilities, AgentInfo, MultipleChatsCapability, MultipleWorkingDirectoriesCapability,
    SessionConfigSchema, SessionModelInfo,
};
use innkeeper_protocol::settings::{INTERACTIVE, MODE, Synonym};
use innkeeper_protocol::workspace::customization::Reach;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::{private, session_config};

#[derive(Debug)]
pub(crate) struct Knowledge {
    provider: String,
    display_name: String,
    command: String,
    file: Option<PathBuf>,
    learned: Mutex<Learned>,
    changes: watch::Sender<u64>,
    first_start: tokio::sync::Mutex<()>,
    /// How many wait for the first start to be over.
    waiting: AtomicUsize,
}

/// The form of what is remembered.
const FORM: u32 = 2;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Learned {
    /// Of which form this is: another is not what this host would have learned.
    #[serde(default)]
    form: u32,
    /// What it calls itself; unknown until it ran.
    version: Option<String>,
    #[serde(default)]
    models: Vec<SessionModelInfo>,
    #[serde(default)]
    config: Option<SessionConfigSchema>,
    /// What it calls the mode that clients know as `interactive`.
    #[serde(default)]
    interactive: Option<String>,
    #[serde(default)]
    abilities: Abilities,
    /// Why it did not start, the last time.
    #[serde(default)]
    trouble: Option<String>,
}

/// What not every agent can do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Abilities {
    /// Work in more than one directory.
    pub(crate) several_directories: bool,
    /// Take up a conversation that it had before.
    pub(crate) resumes: bool,
}

/// One more who waits, as long as this is there.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn counted(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Knowledge {
    /// Begins with what was remembered in the directory.
    pub(crate) fn new(
        provider: String,
        display_name: String,
        command: String,
        directory: Option<&Path>,
    ) -> Self {
        let file = directory.map(|directory| directory.join(format!("{provider}.json")));
        let stored = file.as_ref().and_then(|file| std::fs::read(file).ok());
        let learned = stored.and_then(|stored| serde_json::from_slice(&stored).ok());
        let learned = learned.map(|learned: Learned| match learned.form {
            FORM => learned,
            _ => Learned {
                trouble: learned.trouble,
                ..Learned::default()
            },
        });
        Self {
            provider,
            display_name,
            command,
            file,
            learned: Mutex::new(learned.unwrap_or_default()),
            changes: watch::Sender::new(0),
            first_start: tokio::sync::Mutex::new(()),
            waiting: AtomicUsize::new(0),
        }
    }

    /// As long as the agent never ran, waits until nobody else starts it: some
    /// prepare their home the first time, and do not expect company. One that
    /// hangs is not waited for longer than its start may take.
    pub(crate) async fn alone_at_first(
        &self,
        patience: Duration,
    ) -> Option<tokio::sync::MutexGuard<'_, ()>> {
        if self.is_complete() {
            return None;
        }
        let waits = Waits::counted(&self.waiting);
        let alone = tokio::time::timeout(patience, self.first_start.lock()).await;
        drop(waits);
        alone.ok().filter(|_| !self.is_complete())
    }

    /// Whether somebody waits for the first start to be over.
    pub(crate) fn is_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn provider(&self) -> &str {
        &self.provider
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.lock().version.is_some()
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.lock().trouble.clone()
    }

    pub(crate) fn profile(&self) -> AgentProfile {
        let learned = self.lock().clone();
        let description = match (&learned.trouble, &learned.version) {
            (Some(trouble), _) => trouble.clone(),
            (None, Some(version)) => format!("{version} (`{}`)", self.command),
            (None, None) => format!("`{}`", self.command),
        };
        let nothing_special = || session_config::schema(HashMap::new());
        // Its process begins in the first directory, and stays there.
        let several_directories = MultipleWorkingDirectoriesCapability {
            immutable_primary: Some(true),
            primary_replacement: None,
        };
        AgentProfile {
            works: learned.trouble.is_none(),
            resumes: learned.abilities.resumes,
            reach: Reach::default(),
            info: AgentInfo {
                provider: self.provider.clone(),
                display_name: self.display_name.clone(),
                description,
                models: learned.models,
                protected_resources: None,
                customizations: None,
                capabilities: Some(AgentCapabilities {
                    multiple_chats: Some(MultipleChatsCapability {
                        fork: Some(true),
                        side_chat: Some(true),
                    }),
                    multiple_working_directories: learned
                        .abilities
                        .several_directories
                        .then_some(several_directories),
                }),
            },
            config: Some(learned.config.unwrap_or_else(nothing_special)),
            synonyms: learned
                .interactive
                .iter()
                .map(|mode| Synonym::new(MODE, INTERACTIVE, mode))
                .collect(),
        }
    }

    /// What the agent calls the mode that clients know as `interactive`.
    pub(crate) fn interactive(&self) -> Option<String> {
        self.lock().interactive.clone()
    }

    pub(crate) fn learn(
        &self,
        version: Option<String>,
        models: Vec<SessionModelInfo>,
        config: SessionConfigSchema,
        interactive: Option<String>,
        abilities: Abilities,
    ) {
        self.change(|learned| {
            *learned = Learned {
                form: FORM,
                version: Some(version.unwrap_or_else(|| self.display_name.clone())),
                models,
                config: Some(config),
                interactive,
                abilities,
                trouble: None,
            };
        });
    }

    pub(crate) fn failed(&self, why: String) {
        self.change(|learned| {
            learned.form = FORM;
            learned.trouble = Some(why);
        });
    }

    /// It ran and ended by itself; that is worth a line in the log.
    pub(crate) fn ended(&self, reason: &str) {
        tracing::warn!(agent = self.provider, reason, "an agent's process is gone");
    }

    fn change(&self, change: impl FnOnce(&mut Learned)) {
        let mut learned = self.lock();
        let before = learned.clone();
        change(&mut learned);
        if *learned == before {
            return;
        }
        if let Some(file) = &self.file {
            // Without it, the agent is asked again the next time.
            let directory = file.parent().map_or(Ok(()), private::create_directory);
            let json = serde_json::to_vec_pretty(&*learned).unwrap_or_default();
            if let Err(error) = directory.and_then(|()| private::write(file, &json)) {
                tracing::debug!(%error, file = %file.display(), "not remembered");
            }
        }
        drop(learned);
        self.changes.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_learned_is_known_after_a_restart() {
        let directory = tempfile::tempdir().unwrap();
        let kept = directory.path().join("agents");
        let begin = || {
            let name = || "x".to_owned();
            Knowledge::new(name(), name(), name(), Some(&kept))
        };
        let knowledge = begin();
        let changes = knowledge.changes();
        assert!(!knowledge.is_complete());
        let config = session_config::schema(HashMap::new());
        let abilities = Abilities {
            several_directories: true,
            resumes: true,
        };
        let version = Some("X 1".to_owned());
        knowledge.learn(version, Vec::new(), config.clone(), None, abilities);
        assert!(changes.has_changed().unwrap());
        let again = begin();
        assert!(again.is_complete());
        let profile = again.profile();
        assert_eq!(profile.info.description, "X 1 (`x`)");
        let can = profile.info.capabilities.unwrap();
        assert!(can.multiple_working_directories.is_some() && profile.resumes);
        again.failed("no disk".to_owned());
        assert_eq!(begin().trouble().as_deref(), Some("no disk"));
        // A good start is the end of the trouble.
        let version = Some("X 1".to_owned());
        again.learn(version, Vec::new(), config, None, Abilities::default());
        assert_eq!(begin().trouble(), None);
    }

    #[tokio::test]
    async fn the_first_start_has_no_company() {
        let name = || "x".to_owned();
        let knowledge = Knowledge::new(name(), name(), name(), None);
        let first = knowledge.alone_at_first(Duration::MAX).await;
        assert!(first.is_some());
        let mut second = Box::pin(knowledge.alone_at_first(Duration::MAX));
        assert!(futures_util::poll!(&mut second).is_pending());
        let schema = session_config::schema(HashMap::new());
        knowledge.learn(None, Vec::new(), schema, None, Abilities::default());
        drop(first);
        assert!(second.await.is_none(), "it is known now");
        assert!(knowledge.alone_at_first(Duration::MAX).await.is_none());
    }
}
